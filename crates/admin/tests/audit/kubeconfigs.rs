//! Kubeconfigs as people have them, found, merged and read as `oc` does.

use crate::support::apiserver::{ADMIN_TOKEN, ADMIN_USER, ApiServer, Options};
use kube_client::Config;
use secrecy::ExposeSecret;
use skewguard_admin::cli::Exit;
use skewguard_admin::trouble::full_text;
use skewguard_cluster::connect::kubeconfigs;
use skewguard_cluster::connect::login::{Environment, Login, LoginRequest};
use std::ffi::OsString;
use std::path::Path;

const CA: &str = "/ca.crt";
const REMEDY: &str =
    "name one with --kubeconfig, or objects that `oc get -o json` printed with --from";

/// A kubeconfig with one cluster, context and user of this name, and these lines for the user.
fn config(name: &str, current: bool, user: &str) -> String {
    let current = if current {
        format!("current-context: {name}\n")
    } else {
        String::new()
    };
    format!(
        "apiVersion: v1\nkind: Config\n{current}clusters:\n- name: {name}\n  cluster:\n    server: https://api.{name}.example.com:6443\n    certificate-authority: ca.crt\n\
         contexts:\n- name: {name}\n  context: {{cluster: {name}, user: {name}, namespace: default}}\nusers:\n- name: {name}\n  user:\n    {user}\n"
    )
}

/// Logs in with these variables, on a host without a service account.
pub(crate) fn log_in(asked: LoginRequest<'_>, variables: &[(&str, &str)]) -> Result<Login, String> {
    load_now(
        asked,
        Environment {
            variable: &|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.into())
            },
            service_account: Path::new("/nonexistent"),
        },
    )
}

pub(crate) fn load_now(asked: LoginRequest<'_>, around: Environment<'_>) -> Result<Login, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let login = runtime.unwrap().block_on(kubeconfigs::load(asked, around));
    login.map_err(full_text)
}

fn load(
    file: Option<&Path>,
    list: Option<OsString>,
    home: Option<OsString>,
    context: Option<&str>,
) -> Result<Config, String> {
    let asked = LoginRequest {
        file,
        context,
        ..LoginRequest::default()
    };
    let text = |value: Option<OsString>| value.unwrap_or_default().into_string().unwrap();
    let (list, home) = (text(list), text(home));
    log_in(asked, &[("KUBECONFIG", &list), ("HOME", &home)]).map(|login| login.config)
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let ca = ApiServer::start(Options::default()).ca_pem();
        for dir in ["a", "b", ".kube"] {
            home.write(&format!("{dir}{CA}"), &ca);
        }
        home
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.0.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn load(&self, list: &[&str], context: Option<&str>) -> Result<Config, String> {
        let list = std::env::join_paths(list.iter().map(|file| self.0.path().join(file))).unwrap();
        load(None, Some(list), None, context).map_err(|error| self.short(&error))
    }

    fn short(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn token(config: &Config) -> &str {
    config.auth_info.token.as_ref().unwrap().expose_secret()
}

fn host(config: &Config) -> &str {
    config.cluster_url.host().unwrap()
}

#[test]
fn files_are_found_as_oc_finds_them() {
    let home = Home::new();
    home.write(".kube/config", &config("home", true, "token: t-home"));
    home.write("a/config", &config("a", true, "token: t-a"));
    let of_home = || Some(home.0.path().as_os_str().to_owned());
    let server = |loaded: Result<Config, String>| loaded.map(|config| host(&config).to_owned());
    assert_eq!(
        server(load(None, None, of_home(), None)),
        Ok("api.home.example.com".to_owned())
    );
    assert_eq!(
        server(load(None, Some("".into()), of_home(), None)),
        Ok("api.home.example.com".to_owned())
    );
    let a = home.0.path().join("a/config");
    assert_eq!(
        server(load(None, Some(a.clone().into()), of_home(), None)),
        Ok("api.a.example.com".to_owned())
    );
    assert_eq!(
        server(load(
            Some(&a),
            Some("/no/such/file".into()),
            of_home(),
            None
        )),
        Ok("api.a.example.com".to_owned())
    );
    assert_eq!(
        server(load(
            Some(Path::new("/no/such/file")),
            None,
            of_home(),
            None
        )),
        Err("/no/such/file: there is no such file".to_owned())
    );
    assert_eq!(
        server(load(None, Some("/no/such/file".into()), None, None)),
        Err(format!("/no/such/file: there is no such file: {REMEDY}"))
    );
    assert_eq!(
        server(load(None, None, None, None)),
        Err(format!("neither KUBECONFIG nor HOME is set: {REMEDY}"))
    );
}

/// clientcmd's rules: the first file that names a thing wins, so does the first current-context,
/// and missing files do not matter.
#[test]
fn several_files_are_merged() {
    let home = Home::new();
    home.write("a/config", &config("a", false, "tokenFile: token"));
    home.write("a/token", "t-a\n");
    home.write(
        "b/config",
        &format!(
            "{}- name: a\n  user: {{token: other}}\n",
            config("b", true, "token: t-b")
        ),
    );
    let list = ["missing", "a/config", "b/config"];
    let current = home.load(&list, None).unwrap();
    assert_eq!(
        (host(&current), token(&current)),
        ("api.b.example.com", "t-b")
    );
    // Paths are relative to the file that has them.
    let chosen = home.load(&list, Some("a")).unwrap();
    assert_eq!(host(&chosen), "api.a.example.com");
    assert_eq!(
        chosen.auth_info.token_file.map(|file| home.short(&file)),
        Some("a/token".to_owned())
    );
    let reversed = home.load(&["b/config", "a/config"], Some("a")).unwrap();
    assert_eq!(token(&reversed), "other");
    let error = home.load(&list, Some("c")).unwrap_err();
    assert_eq!(
        error,
        "missing:a/config:b/config: context c: there is no such context; there are a, b"
    );
    home.write("b/config", "{");
    // What cannot be read may be a secret.
    home.write("b/config", "users: {secret");
    assert_eq!(
        home.load(&list, None).unwrap_err(),
        "b/config: 1:8: is not valid YAML of a kubeconfig"
    );
}

#[test]
fn a_context_that_is_missing_is_named() {
    let home = Home::new();
    home.write("a/config", &config("a", false, "token: t-a"));
    let error = || home.load(&["a/config"], None).unwrap_err();
    assert_eq!(
        error(),
        "a/config: current-context is missing; choose one with --context"
    );
    let text = config("a", true, "token: t-a");
    home.write(
        "a/config",
        &text.replace("current-context: a", "current-context: b"),
    );
    assert_eq!(
        error(),
        "a/config: contexts[b] is missing; current-context names it"
    );
    home.write("a/config", &text.replace("cluster: a,", "cluster: b,"));
    assert_eq!(
        error(),
        "a/config: clusters[b] is missing; the context names it"
    );
    home.write("a/config", &text.replace("user: a,", "user: b,"));
    assert_eq!(
        error(),
        "a/config: users[b]: is missing; the context names it"
    );
}

#[test]
fn a_client_certificate_speaks_for_its_user() {
    let server = ApiServer::start(Options {
        lists: crate::support::apiserver::Lists::of([]),
        ..Options::default()
    });
    let dir = tempfile::tempdir().unwrap();
    let pair = server.client(ADMIN_USER, "system:masters");
    std::fs::write(dir.path().join("me.crt"), &pair.certificate).unwrap();
    std::fs::write(dir.path().join("me.key"), &pair.key).unwrap();
    let file = dir.path().join("config");
    std::fs::write(
        &file,
        server.kubeconfig("client-certificate: me.crt\n    client-key: me.key"),
    )
    .unwrap();
    let (_, err, _) = super::audit(&[
        "--policy",
        super::POLICY,
        "--kubeconfig",
        file.to_str().unwrap(),
    ]);
    assert!(err.contains("there is nothing to audit"), "{err}");
    assert!(server.seen().iter().all(|seen| seen.user == ADMIN_USER));
}

#[test]
fn a_program_gives_the_credentials() {
    let server = ApiServer::start(Options {
        lists: crate::support::apiserver::Lists::of([]),
        ..Options::default()
    });
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("bin")).unwrap();
    let program = dir.path().join("bin/login");
    let file = dir.path().join("config");
    let run = |text: &str, more: &str| {
        crate::support::script::script(&program, text);
        let user = format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: bin/login, args: [get, token], env: [{{name: REGION, value: r1}}]{more}}}"
        );
        std::fs::write(&file, server.kubeconfig(&user)).unwrap();
        let config = file.to_str().unwrap();
        super::audit(&["--policy", super::POLICY, "--kubeconfig", config])
    };
    // It is told how it is called, and about the cluster where it wants to be.
    let gives = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"TOKEN"}}"#
        .replace("TOKEN", ADMIN_TOKEN);
    let asks = |what: &str| {
        format!(
            "case \"$1-$2-$REGION-$KUBERNETES_EXEC_INFO\" in get-token-r1-*{what}*) echo '{gives}' ;; *) exit 9 ;; esac"
        )
    };
    for (what, more) in [
        ("\\\"interactive\\\":false", ""),
        (
            "\\\"interactive\\\":false",
            ", interactiveMode: IfAvailable",
        ),
        (
            "\\\"certificate-authority-data\\\"",
            ", provideClusterInfo: true",
        ),
    ] {
        let (_, err, exit) = run(&asks(what), more);
        assert!(
            exit == Exit::Failed && err.contains("there is nothing to audit"),
            "{more}: {err}"
        );
    }
    assert!(server.seen().iter().all(|seen| seen.user == ADMIN_USER));

    for (text, more, wanted) in [
        (
            "echo secret >&2; echo secret; exit 3",
            "",
            "exit status: 3; run it by hand to see why",
        ),
        (
            "echo secret",
            "",
            "did not print an ExecCredential with a status",
        ),
        (
            r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"}'"#,
            "",
            "did not print an ExecCredential with a status",
        ),
        (
            "",
            ", interactiveMode: Always",
            "wants to ask (interactiveMode: Always), and nobody is at a terminal: log in first, or use a token",
        ),
    ] {
        let (out, err, exit) = run(text, more);
        assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{more}");
        assert_eq!(
            err,
            format!(
                "skewguard: {}: users[kubelet].user.exec: {}: {wanted}\n",
                file.display(),
                program.display()
            )
        );
    }
    // A token in the file wins, and no program is run.
    let home = Home::new();
    home.write(
        "a/config",
        &config(
            "a",
            true,
            "exec: {apiVersion: x, command: /no/such/file}\n    token: here",
        ),
    );
    let read = home.load(&["a/config"], None).unwrap();
    assert_eq!(token(&read), "here");
    assert!(read.auth_info.exec.is_none());
}

#[test]
fn what_is_not_supported_is_said() {
    let home = Home::new();
    for (from, to, wanted) in [
        (
            "    certificate-authority: ca.crt\n",
            "    insecure-skip-tls-verify: true\n",
            "insecure-skip-tls-verify would send your credentials to any server that answers: remove it, and name the CA",
        ),
        (
            "    certificate-authority: ca.crt\n",
            "    certificate-authority: ca.crt\n    proxy-url: ftp://me:t-a@proxy.example.com\n",
            "a/config: proxy-url: is not supported: only a proxy that is reached by http, https or socks5 is",
        ),
        (
            "token: t-a",
            "auth-provider: {name: oidc}",
            "auth-provider: is not supported: use a token or a client certificate",
        ),
        (
            "token: t-a",
            "username: u\n    password: p",
            "username: is not supported",
        ),
        (
            "token: t-a",
            "token: t-a\n    as: admin",
            "as: is not supported",
        ),
    ] {
        home.write(
            "a/config",
            &config("a", true, "token: t-a").replace(from, to),
        );
        let error = home.load(&["a/config"], None).unwrap_err();
        assert!(error.contains(wanted), "{error}");
        assert!(
            !error.contains(ADMIN_TOKEN) && !error.contains("t-a"),
            "{error}"
        );
    }
}
