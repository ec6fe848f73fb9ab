//! Where `oc` logs in, the audit does: the host's CAs, proxies, a pod's service account, and
//! without a check of the certificate.

use super::kubeconfigs::{load_now, log_in};
use super::served::serve;
use super::{POLICY, audit, fixture};
use crate::support::apiserver::{ADMIN_TOKEN, ApiServer, Lists, Options, Validity};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use skewguard_cluster::connect::login::{Environment, LoginRequest};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

fn lists() -> Lists {
    let list: Value = serde_json::from_str(&fixture("openstack.json")).unwrap();
    Lists::of(list["items"].as_array().unwrap().clone())
}

/// A kubeconfig for this server with this text in place of its CA.
fn without_ca(server: &ApiServer, instead: &str) -> String {
    let text = server.kubeconfig(&format!("token: {ADMIN_TOKEN}"));
    let line = text
        .lines()
        .find(|line| line.contains("certificate-authority-data"))
        .unwrap();
    text.replace(&format!("{line}\n"), instead)
}

/// ROSA and ARO: the kubeconfig names no CA, because the API server's certificate is from a public
/// one.
#[test]
fn the_hosts_list_is_trusted_where_the_kubeconfig_names_no_ca() {
    let server = ApiServer::start(Options {
        lists: lists(),
        ..Options::default()
    });
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("config"), without_ca(&server, "")).unwrap();
    std::fs::write(path("bundle.crt"), server.ca_pem()).unwrap();
    let other = ApiServer::start(Options::default()).ca_pem();
    std::fs::write(path("other.crt"), other).unwrap();
    let run = |list: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"))
            .args(["audit", "--policy", POLICY, "--kubeconfig"])
            .arg(path("config"))
            .env("SSL_CERT_FILE", path(list))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert_eq!(run("bundle.crt"), (Some(0), String::new()));
    let (code, err) = run("other.crt");
    assert_eq!(code, Some(1));
    assert!(
        err.ends_with("; the kubeconfig names no CA, so those of this host are trusted\n"),
        "{err}"
    );
}

#[test]
fn a_certificate_is_left_unchecked_only_when_asked_and_with_a_warning() {
    let served = serve(
        lists(),
        Options {
            validity: Validity::UnknownCa,
            ..Options::default()
        },
    );
    let config = served.kubeconfig.to_str().unwrap();
    let args = ["--policy", POLICY, "--kubeconfig", config];
    assert_eq!(audit(&args).2, Exit::Failed);
    let (out, err, exit) = audit(&[&args[..], &["--insecure-skip-tls-verify"]].concat());
    assert_eq!(exit, Exit::Done, "{out}");
    assert_eq!(
        err,
        "skewguard: warning: the server's certificate is not checked: whoever answers gets your credentials\n"
    );
}

/// A lab's certificate is often a CA that signed itself. Go accepts it as the CA and as the server's.
#[test]
fn a_certificate_that_is_its_own_ca_is_told_in_plain_words() {
    let served = serve(
        lists(),
        Options {
            validity: Validity::OwnCa,
            ..Options::default()
        },
    );
    let config = served.kubeconfig.to_str().unwrap();
    let (out, err, exit) = audit(&["--policy", POLICY, "--kubeconfig", config]);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    let wanted = "the server's certificate is a CA, its own one, which oc accepts and this program does not: give the API server a certificate that a \
                  CA signed, or gather with `oc skewguard audit --print-commands` and audit the files (--from)\n";
    assert!(err.ends_with(wanted) && err.lines().count() == 1, "{err}");
}

/// A proxy that connects wherever it is asked to, and what it was asked.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://me:secret@{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(mut client) = client else { return };
            let log = Arc::clone(&log);
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap_or(0) > 0 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let target = head
                    .split_whitespace()
                    .nth(1)
                    .unwrap_or_default()
                    .to_owned();
                log.lock().unwrap().push(head);
                let Ok(mut server) = TcpStream::connect(&target) else {
                    let _ = client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n");
                    return;
                };
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut up, &mut down));
                let _ = std::io::copy(&mut server, &mut client);
            });
        }
    });
    (url, asked)
}

#[test]
fn the_proxy_of_the_kubeconfig_is_used() {
    let server = ApiServer::start(Options {
        lists: lists(),
        ..Options::default()
    });
    let (url, asked) = proxy();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config");
    let text = server.kubeconfig(&format!("token: {ADMIN_TOKEN}"));
    let write = |url: &str| {
        let with_proxy = text.replace(
            "    server: ",
            &format!("    proxy-url: {url}\n    server: "),
        );
        std::fs::write(&file, with_proxy).unwrap();
    };
    write(&url);
    let args = ["--policy", POLICY, "--kubeconfig", file.to_str().unwrap()];
    let (out, err, exit) = audit(&args);
    assert_eq!((err.as_str(), exit), ("", Exit::Done), "{out}");
    {
        let asked = asked.lock().unwrap();
        let host = server.url().replace("https://", "");
        assert!(
            asked[0].starts_with(&format!("CONNECT {host} HTTP/1.1\r\n")),
            "{asked:?}"
        );
        let head = asked[0].to_ascii_lowercase();
        assert!(head.contains("proxy-authorization: basic "), "{asked:?}");
        assert!(
            !head.contains(&ADMIN_TOKEN.to_ascii_lowercase()),
            "the token is only inside TLS"
        );
    }
    // Nothing listens there.
    write("http://me:secret@127.0.0.1:1");
    let (_, err, exit) = audit(&args);
    assert_eq!(exit, Exit::Failed);
    assert!(
        err.ends_with("; by the proxy that proxy-url names\n") && !err.contains("secret"),
        "{err}"
    );
}

#[test]
fn the_proxy_of_the_environment_is_used_unless_it_says_otherwise() {
    let server = ApiServer::start(Options::default());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config");
    let text = server
        .kubeconfig("token: t")
        .replace(&server.url(), "https://api.c1.example.com:6443");
    std::fs::write(&file, text).unwrap();
    let asked = LoginRequest {
        file: Some(&file),
        ..LoginRequest::default()
    };
    let way = |variables: &[(&str, &str)]| log_in(asked, variables).map(|login| login.by_way_of);
    let by_proxy = Ok(vec!["by the proxy that HTTPS_PROXY names".to_owned()]);
    assert_eq!(way(&[]), Ok(Vec::new()));
    for (without, by_proxy) in [
        ("example.com", false),
        (".example.com", false),
        ("other.org, API.c1.example.com", false),
        ("*", false),
        ("1.example.com", true),
        ("10.0.0.0/8", true),
        (",", true),
    ] {
        let found = way(&[("HTTPS_PROXY", "proxy:3128"), ("NO_PROXY", without)]);
        assert_eq!(found.unwrap().len(), usize::from(by_proxy), "{without}");
    }
    assert_eq!(way(&[("HTTPS_PROXY", "proxy:3128")]), by_proxy);
    assert_eq!(way(&[("https_proxy", "http://proxy:3128")]), by_proxy);
    assert_eq!(
        way(&[
            ("HTTPS_PROXY", "proxy:3128"),
            ("NO_PROXY", "localhost,.example.com")
        ]),
        Ok(Vec::new())
    );
    let error = way(&[("HTTPS_PROXY", "ftp://u:secret@proxy")]).unwrap_err();
    assert!(
        error.ends_with(
            "config: HTTPS_PROXY: is not supported: only a proxy that is reached by http, https or socks5 is"
        ),
        "{error}"
    );
}

/// In a pod, without any kubeconfig.
#[test]
fn a_pod_uses_its_service_account() {
    let server = ApiServer::start(Options::default());
    let dir = tempfile::tempdir().unwrap();
    let log_in = |asked: LoginRequest<'_>, host: &'static str| {
        load_now(
            asked,
            Environment {
                variable: &|name| match name {
                    "KUBERNETES_SERVICE_HOST" => Some(host.into()),
                    "KUBERNETES_SERVICE_PORT" => Some("443".into()),
                    "HOME" => Some("/nonexistent".into()),
                    _ => None,
                },
                service_account: dir.path(),
            },
        )
    };
    let missing = "/nonexistent/.kube/config: there is no such file: name one with --kubeconfig, or objects that `oc get -o json` printed with --from";
    assert_eq!(
        log_in(LoginRequest::default(), "172.30.0.1").unwrap_err(),
        missing
    );
    std::fs::write(dir.path().join("token"), "t-pod\n").unwrap();
    std::fs::write(dir.path().join("ca.crt"), server.ca_pem()).unwrap();
    for (host, url) in [
        ("172.30.0.1", "https://172.30.0.1:443"),
        ("fd02::1", "https://[fd02::1]:443"),
    ] {
        let login = log_in(LoginRequest::default(), host).unwrap();
        assert_eq!(login.server(), url);
        let token = dir.path().join("token").to_string_lossy().into_owned();
        assert_eq!(login.config.auth_info.token_file, Some(token));
        assert_eq!(login.context, None);
    }
    let asked = LoginRequest {
        context: Some("admin"),
        ..LoginRequest::default()
    };
    assert_eq!(log_in(asked, "172.30.0.1").unwrap_err(), missing);
    assert!(
        log_in(
            LoginRequest {
                file: Some(Path::new("/nonexistent")),
                ..LoginRequest::default()
            },
            "172.30.0.1"
        )
        .is_err()
    );
}

#[test]
fn the_head_says_which_cluster_and_by_which_context() {
    let served = serve(lists(), Options::default());
    let (out, _, _) = audit(&[
        "--policy",
        POLICY,
        "-o",
        "json",
        "--kubeconfig",
        served.kubeconfig.to_str().unwrap(),
    ]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["origin"]["context"], json!("kubelet"));
}
