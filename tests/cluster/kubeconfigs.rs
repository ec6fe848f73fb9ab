//! Kubeconfigs as nodes have them, and as they should not be.

use crate::cluster::way::{both, event, send};
use crate::support::apiserver::{ApiServer, BOOTSTRAP_TOKEN, Options};
use skewguard::kubeconfig::{Allow, Kubeconfig, load};
use skewguard::node::{FileError, Root};
use std::path::Path;

/// Loads `/etc/kubernetes/kubeconfig` of a root that has these files too.
fn load_with(text: &str, files: &[(&str, &str)]) -> Result<Kubeconfig, FileError> {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("etc/kubernetes/kubeconfig", text);
    files.iter().for_each(|(path, text)| write(path, text));
    load(
        &Root::open(dir.path()).unwrap(),
        "/etc/kubernetes/kubeconfig",
        Allow::default(),
    )
}

fn said(text: &str, files: &[(&str, &str)]) -> String {
    load_with(text, files).expect_err(text).to_string()
}

fn server() -> ApiServer {
    ApiServer::start(Options::default())
}

#[test]
fn the_kubelets_own_kubeconfig_and_pem() {
    let server = server();
    let dir = tempfile::tempdir().unwrap();
    server.write_kubeconfigs(dir.path());
    let put = |from: &str, to: &str| {
        let to = dir.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(dir.path().join(from), to).unwrap();
    };
    put("kubelet.kubeconfig", "var/lib/kubelet/kubeconfig");
    // The kubelet rotates: the name is a symlink to a file with a date.
    put(
        "kubelet-client-current.pem",
        "var/lib/kubelet/pki/kubelet-client-2026-01-02-03-04-05.pem",
    );
    let current = dir
        .path()
        .join("var/lib/kubelet/pki/kubelet-client-current.pem");
    std::os::unix::fs::symlink(
        "/var/lib/kubelet/pki/kubelet-client-2026-01-02-03-04-05.pem",
        current,
    )
    .unwrap();
    let kubeconfig = load(
        &Root::open(dir.path()).unwrap(),
        "/var/lib/kubelet/kubeconfig",
        Allow::default(),
    )
    .unwrap();
    for (n, choice) in both().into_iter().enumerate() {
        let response = send(choice, &kubeconfig, &event(&format!("event-{n}")));
        assert_eq!(
            response.map(|response| response.status),
            Ok(201),
            "{choice:?}"
        );
        assert_eq!(server.seen().pop().unwrap().user, "system:node:worker-0");
    }
}

#[test]
fn the_same_as_json_and_with_every_part_in_a_file() {
    let server = server();
    let yaml = load_with(
        &server.kubeconfig(&format!("token: {BOOTSTRAP_TOKEN}")),
        &[],
    )
    .unwrap();
    let json = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "b",
        "clusters": [
            { "name": "a", "cluster": { "server": "https://elsewhere.example.com" } },
            { "name": "b", "cluster": { "server": format!("{}/", server.url()), "certificate-authority": "pki/ca.crt" } },
        ],
        "contexts": [{ "name": "b", "context": { "cluster": "b", "user": "b", "namespace": "x" } }],
        "users": [{ "name": "b", "user": { "tokenFile": "/var/run/secrets/token", "token": "the-file-wins" } }],
    });
    let files = [
        ("etc/kubernetes/pki/ca.crt", server.ca_pem()),
        ("var/run/secrets/token", format!("{BOOTSTRAP_TOKEN}\n")),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    for text in [
        json.to_string(),
        serde_json::to_string_pretty(&json)
            .unwrap()
            .replace("  ", "\t"),
    ] {
        assert_eq!(load_with(&text, &files).unwrap(), yaml);
    }
}

#[test]
fn every_defect_names_the_file_the_field_and_the_remedy() {
    let server = server();
    let good = server.kubeconfig(&format!("token: {BOOTSTRAP_TOKEN}"));
    let ca_line = good
        .lines()
        .find(|line| line.contains("certificate-authority-data"))
        .unwrap();
    let server_line = format!("    server: {}", server.url());
    let token_line = format!("    token: {BOOTSTRAP_TOKEN}");
    let pair = server.client("u", "g");
    let two = (base64(&pair.certificate), base64(&pair.key));
    assert!(load_with(&good, &[]).is_ok());
    let table: [(&str, &str, &str); 27] = [
        (
            "current-context: kubelet\n",
            "",
            "current-context: is missing or empty",
        ),
        (
            "current-context: kubelet",
            "current-context: other",
            "contexts[other]: is missing; current-context names it",
        ),
        (
            "current-context: kubelet",
            "current-context: [a]",
            "current-context: is not a text",
        ),
        (
            "    cluster: local\n",
            "",
            "contexts[kubelet].context.cluster: is missing or empty",
        ),
        (
            "    user: kubelet\n",
            "    user: x\n",
            "users[x]: is missing; contexts[kubelet].context.user names it",
        ),
        ("clusters:", "clusters: {}\nx:", "clusters: is not a list"),
        (
            "kind: Config",
            "kind: Pod",
            "kind: is not Config: this is not a kubeconfig",
        ),
        (
            &server_line,
            "",
            "clusters[local].cluster.server: is missing or empty",
        ),
        (
            &server_line,
            "    server: http://10.0.0.1:6443",
            "clusters[local].cluster.server: does not start with https://: credentials are never sent in the clear",
        ),
        (
            &server_line,
            "    server: https://u:p@10.0.0.1",
            "clusters[local].cluster.server: has a user in it: credentials belong into users",
        ),
        (
            &server_line,
            "    server: https://10.0.0.1:70000",
            "clusters[local].cluster.server: is not an URL of the form https://host:port",
        ),
        (
            &server_line,
            "    server: https://10.0.0.1.2:6443",
            "clusters[local].cluster.server: is not an URL of the form https://host:port",
        ),
        (
            &server_line,
            "    server: \"https://a\\nurl = b\"",
            "clusters[local].cluster.server: has a control character or a line break",
        ),
        (
            &server_line,
            "    server: https://a?b",
            "clusters[local].cluster.server: is not an URL of the form https://host:port",
        ),
        (
            ca_line,
            "",
            "clusters[local].cluster.certificate-authority-data: is missing, and so is certificate-authority: only the CA named here is trusted, never the host's list",
        ),
        (
            ca_line,
            "    certificate-authority-data: '%%%'",
            "clusters[local].cluster.certificate-authority-data: is not base64",
        ),
        (
            ca_line,
            "    certificate-authority-data: aGVsbG8=",
            "clusters[local].cluster.certificate-authority-data: holds no certificate in PEM",
        ),
        (
            ca_line,
            "    certificate-authority: ca.crt",
            "clusters[local].cluster.certificate-authority: ca.crt: there is no such file",
        ),
        (
            ca_line,
            "    insecure-skip-tls-verify: true",
            "clusters[local].cluster.insecure-skip-tls-verify: would send the credentials to any server that answers; remove it and name the CA, or run with --insecure-skip-tls-verify",
        ),
        (
            ca_line,
            "    insecure-skip-tls-verify: 'yes'",
            "clusters[local].cluster.insecure-skip-tls-verify: is neither true nor false",
        ),
        (
            &server_line,
            &format!("{server_line}\n    proxy-url: http://proxy:3128"),
            "clusters[local].cluster.proxy-url: is not supported: the API server is always reached directly; remove it",
        ),
        (
            &server_line,
            &format!("{server_line}\n    tls-server-name: 10.0.0.1"),
            "clusters[local].cluster.tls-server-name: is not a DNS name",
        ),
        (
            &token_line,
            "    exec: {command: x}",
            "users[kubelet].user.exec: is not supported: use a token or a client certificate",
        ),
        (
            &token_line,
            "    client-key-data: aGVsbG8=",
            "users[kubelet].user.client-certificate-data: is missing, and so is client-certificate, but there is a client key",
        ),
        (
            &token_line,
            &format!("    client-certificate-data: {}", two.0),
            "users[kubelet].user.client-certificate-data: holds no private key in PEM",
        ),
        (
            &token_line,
            &format!(
                "    client-certificate-data: {0}\n    client-key-data: {0}",
                two.1
            ),
            "users[kubelet].user.client-certificate-data: holds no certificate in PEM",
        ),
        (
            &token_line,
            "    {}",
            "users[kubelet].user.token: is missing, and so is every other credential (tokenFile, client-certificate, client-certificate-data)",
        ),
    ];
    for (from, to, want) in table {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        assert_eq!(
            said(&text, &[]),
            format!("/etc/kubernetes/kubeconfig: {want}")
        );
    }
    assert_eq!(
        said(&good.replace(&token_line, "    token: \"a b\""), &[]),
        "/etc/kubernetes/kubeconfig: users[kubelet].user.token: is empty, or has characters that no bearer token has"
    );
    assert_eq!(
        said(&good.replace(&token_line, "    token: 12345678"), &[]),
        "/etc/kubernetes/kubeconfig: users[kubelet].user.token: is not a text"
    );
    for swallowed in [
        format!("kubelet\n  {BOOTSTRAP_TOKEN}"),
        BOOTSTRAP_TOKEN.to_owned(),
    ] {
        let text = good.replace(
            "current-context: kubelet",
            &format!("current-context: {swallowed}"),
        );
        assert_eq!(
            said(&text, &[]),
            "/etc/kubernetes/kubeconfig: contexts[...]: is missing; current-context names it"
        );
    }
    let in_file = good.replace(&token_line, "    tokenFile: /t");
    assert_eq!(
        said(&in_file, &[("t", "")]),
        "/etc/kubernetes/kubeconfig: users[kubelet].user.tokenFile: /t: is empty, or has characters that no bearer token has"
    );
    assert_eq!(
        said(&in_file, &[("t/x", "")]),
        "/etc/kubernetes/kubeconfig: users[kubelet].user.tokenFile: /t: is a directory, not a regular file"
    );
}

fn base64(text: &str) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text)
}

#[test]
fn hostile_yaml_is_bounded_and_never_quoted() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n";
    let deep = format!("a: {}", "[".repeat(200));
    let deep_block: String = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    let wide = format!("a: [{}]", "x,".repeat(20_000));
    let table = [
        (
            bomb,
            "has a YAML alias, which is not supported: line 2, column 8",
        ),
        (
            &deep,
            "is larger or deeper than any kubeconfig: line 1, column 35",
        ),
        (
            &deep_block,
            "is larger or deeper than any kubeconfig: line 33, column 33",
        ),
        (
            &wide,
            "is larger or deeper than any kubeconfig: line 1, column 20001",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "has a second YAML document: line 2, column 1",
        ),
        (
            "a: 1\na: 2\n",
            "has the same key twice in one mapping: line 2, column 4",
        ),
        ("[a]: 1\n", "has a key that is not text: line 1, column 3"),
        (
            "token: 'abc",
            "is not valid YAML (while scanning a quoted scalar, found unexpected end of stream): line 1, column 8",
        ),
        ("", "is not a mapping: this is not a kubeconfig"),
        ("- a\n", "is not a mapping: this is not a kubeconfig"),
        (
            "{\"token\": \"abc\"",
            "is not valid JSON: line 1, column 15",
        ),
    ];
    for (text, want) in table {
        let error = said(text, &[]);
        assert!(
            error.starts_with(&format!("/etc/kubernetes/kubeconfig: {want}")),
            "{error}"
        );
        assert!(!error.contains("abc"));
    }
    // The worst cases for the parser and for the tree, each as large as is read.
    let most =
        |unit: &str, open: &str| format!("{open}{}", unit.repeat((512 * 1024 - 16) / unit.len()));
    for (unit, open) in [
        (":,", "["),
        (":,\n", "a: ["),
        ("?,", "{ "),
        ("! ", "["),
        ("x #\n", "["),
        ("&a ", "["),
        ("{\"\":0},", "{\"a\":["),
        ("[],", "{\"a\":["),
    ] {
        assert_eq!(
            said(&most(unit, open), &[]),
            "/etc/kubernetes/kubeconfig: is larger or deeper than any kubeconfig",
            "{open}{unit}"
        );
    }
    let huge = format!("a: {}", "x".repeat(600_000));
    assert_eq!(
        said(&huge, &[]),
        "/etc/kubernetes/kubeconfig: is 600003 bytes long; at most 524288 are read"
    );
    let deep_json = "[".repeat(30_000);
    assert!(
        said(&format!("{{\"a\":{deep_json}"), &[]).contains("is not valid JSON: line 1, column")
    );
}

#[test]
fn the_public_name_is_only_for_the_internal_one() {
    let text = server().kubeconfig(&format!("token: {BOOTSTRAP_TOKEN}"));
    let line = text
        .lines()
        .find(|line| line.contains("    server: "))
        .unwrap();
    let table = [
        (
            "https://api-int.c1.example.com:6443",
            Some(("https://api.c1.example.com:6443", "api-int.c1.example.com")),
        ),
        (
            "https://api-int.c1.example.com",
            Some(("https://api.c1.example.com", "api-int.c1.example.com")),
        ),
        (
            "https://api-int.c1.example.com/k8s",
            Some(("https://api.c1.example.com/k8s", "api-int.c1.example.com")),
        ),
        ("https://api.c1.example.com:6443", None),
        ("https://api-internal.c1.example.com:6443", None),
        (
            "https://api-int.c1.example.com:6443\n    tls-server-name: kubernetes",
            None,
        ),
        ("https://[fd00::1]:6443", None),
    ];
    for (from, to) in table {
        let kubeconfig =
            load_with(&text.replace(line, &format!("    server: {from}")), &[]).unwrap();
        let public = kubeconfig.by_public_name();
        let found = public.as_ref().map(|public| {
            (
                public.server.to_string(),
                public.tls_server_name.as_deref().unwrap(),
            )
        });
        assert_eq!(
            found,
            to.map(|(server, name)| (server.to_owned(), name)),
            "{from}"
        );
        assert!(public.is_none_or(|public| (public.ca, public.token) == (kubeconfig.ca, kubeconfig.token)), "{from}");
    }
}

#[test]
fn a_kubeconfig_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let error = load(
        &Root::open(dir.path()).unwrap(),
        "/etc/kubernetes/kubeconfig",
        Allow::default(),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "/etc/kubernetes/kubeconfig: there is no such file"
    );
    assert!(
        Path::new("/etc").exists(),
        "and the host's own was not looked for"
    );
}

#[test]
fn an_unchecked_server_gets_credentials_only_when_asked_for() {
    use crate::cluster::node::{Node, transports};
    use crate::support::apiserver::Validity;
    for over in transports() {
        let server = ApiServer::start(Options {
            validity: Validity::UnknownCa,
            ..Options::default()
        });
        let node = Node::refused("worker-7", over);
        let text = server.kubeconfig(&format!("token: {BOOTSTRAP_TOKEN}"));
        let ca = text
            .lines()
            .find(|line| line.contains("certificate-authority-data"))
            .unwrap();
        node.write(
            "etc/kubernetes/kubeconfig",
            &text.replace(ca, "    insecure-skip-tls-verify: true"),
        );
        let (said, status) = node.report();
        assert!(
            said.contains("or run with --insecure-skip-tls-verify") && status == 1,
            "{over:?}: {said}"
        );
        assert!(server.seen().is_empty());
        let output = node
            .command()
            .args(["--once", "--insecure-skip-tls-verify"])
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{over:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(server.objects("events").len(), 1);
    }
}

proptest::proptest! {
    /// Whatever the file says: no panic, and no error that quotes it.
    #[test]
    fn damaged_kubeconfigs_are_errors_that_show_no_secret(at in 0_usize..900, with in "[\\PC\n\t]{0,6}", cut in 0_usize..40) {
        let good = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: QQ==\n    server: https://api:6443\n  name: a\n\
             contexts:\n- context:\n    cluster: a\n    user: a\n  name: a\ncurrent-context: a\nusers:\n- name: a\n  user:\n    token: {BOOTSTRAP_TOKEN}\n"
        );
        let at = at.min(good.len());
        let end = (at + cut).min(good.len());
        let text = format!("{}{with}{}", &good[..at], &good[end..]);
        let no_file = |_: &str| Err("there is no such file".to_owned());
        if let Err(defect) = skewguard::kubeconfig::parse("", &text, Allow::default(), &no_file) {
            proptest::prop_assert!(!defect.contains("eyJhbGciOi"), "{defect}");
        }
    }
}
