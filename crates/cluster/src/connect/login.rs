//! Logs in to a cluster as `oc` does: with the kubeconfigs of whoever runs the audit, or as a pod.
//!
//! kube reads and merges them, and asks the programs that they name for credentials. What it would
//! take silently and a person should know of is refused here first, with what to do instead.

use super::program::give;
use super::server::{NoAnswer, Server};
use crate::file::cause;
use crate::secrets::without_secrets;
use crate::text::printable;
use crate::trouble::{Help, Trouble};
use hyper_util::client::proxy::matcher::Matcher;
use kube_client::client::ClientBuilder;
use kube_client::config::{
    AuthInfo, Cluster, Config, ExecConfig, ExecInteractiveMode, KubeConfigOptions, Kubeconfig,
    KubeconfigError,
};
use kube_client::{Client, Error};
use secrecy::{ExposeSecret, SecretString};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// The time that a program may take to give credentials, where nobody is there to be asked.
const PATIENCE: Duration = Duration::from_secs(60);

/// For name resolution, TCP and TLS together.
const CONNECT: Duration = Duration::from_secs(10);

/// Parts of the process that decide how `oc` logs in.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The files of a pod's service account: `token` and `ca.crt`.
    pub service_account: &'a Path,
}

impl Environment<'_> {
    fn text(&self, names: &[&str]) -> Option<String> {
        names
            .iter()
            .filter_map(|name| (self.variable)(name)?.into_string().ok())
            .find(|value| !value.is_empty())
    }
}

/// The login that was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoginRequest<'a> {
    pub file: Option<&'a Path>,
    pub context: Option<&'a str>,
    /// The server's certificate is not checked.
    pub insecure: bool,
    /// Other clusters are asked at the same time: no program may ask a person.
    pub is_one_of_many: bool,
}

/// Ways to reach and to convince an API server.
#[derive(Debug)]
pub struct Login {
    pub config: Config,
    /// The files that say so, for errors.
    name: String,
    /// The name of the user of the context.
    user: String,
    /// The name of the context; `None` in a pod.
    pub context: Option<String>,
    /// Possible origins of an error of the connection: the host's list of CAs, a proxy.
    pub by_way_of: Vec<String>,
}

/// Logs in by a kubeconfig with one context, its cluster and its user.
pub async fn log_in(
    mut own: Kubeconfig,
    name: String,
    user: &str,
    asked: LoginRequest<'_>,
    around: Environment<'_>,
) -> Result<Login, Trouble> {
    let of_all = |trouble: Trouble| trouble.of(&name);
    let context = own.current_context.as_deref().map(printable);
    let mut by_way_of = Vec::new();
    let cluster = own.clusters.first_mut();
    let proxy = match cluster.and_then(|entry| entry.cluster.as_mut()) {
        Some(cluster) => trust(cluster, asked.insecure, around, &mut by_way_of).map_err(of_all)?,
        None => None,
    };
    let found = own.auth_infos.first_mut();
    let found = found.and_then(|entry| entry.auth_info.as_mut());
    let user = printable(user);
    check_user(found, &user, asked.is_one_of_many).map_err(of_all)?;
    let mut config = Config::from_custom_kubeconfig(own, &KubeConfigOptions::default())
        .await
        .map_err(|error| of_all(trouble_with(&error)))?;
    // kube compares NO_PROXY with the proxy's own name.
    config.proxy_url = None;
    if let Some((url, said_by)) = &proxy {
        by_way_of.push(format!("by the proxy that {said_by} names"));
        let url = url.parse();
        config.proxy_url =
            Some(url.map_err(|_| of_all(format!("{said_by}: is not an URL").into()))?);
    }
    // `fetch` has its own, which says so.
    config.default_retry = false;
    Ok(Login {
        config,
        name,
        user,
        context,
        by_way_of,
    })
}

impl Login {
    /// The address of the API server, without a user, a password or a trailing slash.
    pub fn server(&self) -> String {
        let url = without_secrets(&self.config.cluster_url.to_string());
        url.trim_end_matches('/').to_owned()
    }

    /// The API server, with these credentials. `timeout` is that of each request.
    ///
    /// # Errors
    /// They cannot be had.
    pub async fn connect(&mut self, timeout: Duration) -> Result<Server, Trouble> {
        // Before the time of the whole request is up: it says more.
        self.config.connect_timeout = Some(CONNECT.min(timeout - timeout / 10));
        Ok(Server::new(self.client().await?, timeout))
    }

    /// A client with these credentials. Programs that the kubeconfig names are run for them.
    ///
    /// # Errors
    /// They cannot be had. The text has nothing that a program printed.
    pub async fn client(&self) -> Result<Client, Trouble> {
        let mut config = self.config.clone();
        let of = |field: &str| format!("{}: users[{}].user.{field}", self.name, self.user);
        let from = match config.auth_info.exec.take() {
            Some(exec) => {
                let program = printable(exec.command.as_deref().unwrap_or_default());
                let from = of(&format!("exec: {program}"));
                config.auth_info = with_program(config.auth_info, exec)
                    .await
                    .map_err(|trouble| trouble.of(&from))?;
                from
            }
            None => match config
                .auth_info
                .token_file
                .take_if(|_| config.auth_info.token.is_none())
            {
                Some(file) => {
                    let from = of("tokenFile");
                    let text = std::fs::read_to_string(&file);
                    let text = text.map_err(|error| Trouble::from(cause(&error)).of(&from))?;
                    config.auth_info.token = Some(text.into());
                    from
                }
                None => of("token"),
            },
        };
        if let Some(token) = config.auth_info.token.take() {
            let token = plain_token(&token).map_err(|what| format!("{from}: {what}"))?;
            config.auth_info.token = Some(token);
        }
        let client = ClientBuilder::try_from(config).map(ClientBuilder::build);
        client.map_err(|error| match error {
            Error::Auth(error) => Trouble::from(printable(&error.to_string())).of(&self.name),
            error => NoAnswer::of(&error).trouble.of(&self.name),
        })
    }
}

/// Credentials of a program. One that asks a person may take as long as the person.
async fn with_program(mut user: AuthInfo, exec: ExecConfig) -> Result<AuthInfo, Trouble> {
    let patience = match exec.interactive_mode {
        Some(ExecInteractiveMode::Never) => PATIENCE,
        _ => Duration::MAX,
    };
    let given = tokio::task::spawn_blocking(move || give(&mut user, &exec).map(|()| user));
    match tokio::time::timeout(patience, given).await {
        Err(_) => Err(format!("did not end within {} seconds", PATIENCE.as_secs()).into()),
        Ok(ended) => ended.map_err(|error| error.to_string())?,
    }
}

/// A token as a header takes it, without the line break that an editor leaves behind it.
fn plain_token(token: &SecretString) -> Result<SecretString, &'static str> {
    let token = token.expose_secret().trim();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    match is_plain && !token.is_empty() {
        true => Ok(token.to_owned().into()),
        false => Err(
            "is no token: it is empty, or has a space, a line break or another character that none has",
        ),
    }
}

/// The login that a pod has (client-go, `rest.InClusterConfig`).
pub fn in_pod(around: Environment<'_>, insecure: bool) -> Option<Login> {
    let host = around.text(&["KUBERNETES_SERVICE_HOST"])?;
    let port = around.text(&["KUBERNETES_SERVICE_PORT"])?;
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    let token = around.service_account.join("token");
    let mut config = Config::new(format!("https://{host}:{port}").parse().ok()?);
    config.auth_info.token_file = Some(token.to_str()?.to_owned()).filter(|_| token.exists());
    config.auth_info.token_file.as_ref()?;
    config.accept_invalid_certs = insecure;
    config.root_cert_file = (!insecure).then(|| around.service_account.join("ca.crt"));
    config.default_retry = false;
    Some(Login {
        config,
        name: "the pod's service account".to_owned(),
        user: "pod".to_owned(),
        context: None,
        by_way_of: Vec::new(),
    })
}

/// Decides which server is trusted, and by which proxy it is reached: its URL, and what names it.
fn trust(
    cluster: &mut Cluster,
    insecure: bool,
    around: Environment<'_>,
    by_way_of: &mut Vec<String>,
) -> Result<Option<(String, &'static str)>, Trouble> {
    let is_set = |field: &Option<String>| field.as_deref().is_some_and(|value| !value.is_empty());
    let server = cluster.server.clone().unwrap_or_default();
    if !server.starts_with("https://") {
        return Err(
            "server: does not start with https://: credentials are never sent in the clear".into(),
        );
    }
    if insecure {
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = None;
        cluster.insecure_skip_tls_verify = Some(true);
    } else if cluster.insecure_skip_tls_verify == Some(true) {
        let what =
            "insecure-skip-tls-verify would send your credentials to any server that answers";
        return Err(Help::NameCa.after(what));
    } else if !is_set(&cluster.certificate_authority)
        && !is_set(&cluster.certificate_authority_data)
    {
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = None;
        by_way_of.push("the kubeconfig names no CA, so those of this host are trusted".to_owned());
    }
    let (url, said_by) = match cluster.proxy_url.take().filter(|url| !url.is_empty()) {
        Some(url) => (url, "proxy-url"),
        None => match around.text(&["HTTPS_PROXY", "https_proxy"]) {
            Some(url) if goes_by_proxy(&server, around) => (url, "HTTPS_PROXY"),
            _ => return Ok(None),
        },
    };
    let whole = if url.contains("://") {
        url
    } else {
        format!("http://{url}")
    };
    // The text does not quote it: there may be a password in it.
    let scheme = whole.split("://").next().unwrap_or_default();
    if ["http", "https", "socks5"].contains(&scheme) {
        Ok(Some((whole, said_by)))
    } else {
        let what = "is not supported: only a proxy that is reached by http, https or socks5 is";
        Err(Trouble::from(what).of(said_by))
    }
}

/// Tells whether `NO_PROXY` leaves this server to the proxy.
fn goes_by_proxy(server: &str, around: Environment<'_>) -> bool {
    // Go's programs never use one for this host (`golang.org/x/net/http/httpproxy`).
    let listed = around.text(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
    let without = format!("localhost,127.0.0.0/8,::1,{listed}");
    let matcher = Matcher::builder().https("http://proxy").no(without).build();
    server
        .parse()
        .is_ok_and(|server| matcher.intercept(&server).is_some())
}

/// Refuses what kube does not do, or does without asking.
fn check_user(
    user: Option<&mut AuthInfo>,
    name: &str,
    is_one_of_many: bool,
) -> Result<(), Trouble> {
    let wrong =
        |field: &str, trouble: Trouble| Err(trouble.of(format!("users[{name}].user.{field}")));
    let Some(user) = user else {
        return Err(format!("users[{name}]: is missing; the context names it").into());
    };
    for (field, is_set) in [
        ("auth-provider", user.auth_provider.is_some()),
        ("username", user.username.is_some()),
        ("password", user.password.is_some()),
        ("as", user.impersonate.is_some()),
    ] {
        if is_set {
            return wrong(field, Help::OtherCredentials.after("is not supported"));
        }
    }
    // As for client-go, a token or a certificate in the file wins over the program.
    let has_own = user.token.is_some()
        || user.token_file.is_some()
        || user.client_certificate.is_some()
        || user.client_certificate_data.is_some();
    match &mut user.exec {
        _ if has_own => user.exec = None,
        Some(exec) => {
            let program = printable(exec.command.as_deref().unwrap_or_default());
            return check_program(exec, is_one_of_many)
                .or_else(|trouble| wrong("exec", trouble.of(program)));
        }
        None => {
            let what = "is missing, and so is every other credential (tokenFile, client-certificate, exec)";
            return wrong("token", what.into());
        }
    }
    Ok(())
}

/// A program that gives credentials (client-go, `clientcmd/api/v1`, `ExecConfig`).
fn check_program(exec: &mut ExecConfig, is_one_of_many: bool) -> Result<(), Trouble> {
    let api_version = exec.api_version.as_deref().unwrap_or_default();
    if ![
        "client.authentication.k8s.io/v1",
        "client.authentication.k8s.io/v1beta1",
    ]
    .contains(&api_version)
    {
        return Err(
            "its apiVersion is not supported: only v1 and v1beta1 of client.authentication.k8s.io are".into(),
        );
    }
    if std::io::stdin().is_terminal() && !is_one_of_many {
        return Ok(());
    }
    if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
        let what = "wants to ask (interactiveMode: Always), and nobody is at a terminal";
        return Err(Help::LogInFirst.after(what));
    }
    exec.interactive_mode = Some(ExecInteractiveMode::Never);
    Ok(())
}

/// The trouble with a kubeconfig. What the parser says may quote it, tokens included.
pub fn trouble_with(error: &KubeconfigError) -> Trouble {
    let what = match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(at) => format!(
                "{}:{}: is not valid YAML of a kubeconfig",
                at.line(),
                at.column()
            ),
            None => "is not valid YAML of a kubeconfig".to_owned(),
        },
        KubeconfigError::ReadConfig(error, _)
            if error.kind() == std::io::ErrorKind::InvalidData =>
        {
            "is not UTF-8".to_owned()
        }
        KubeconfigError::ReadConfig(error, _) => cause(error),
        KubeconfigError::CurrentContextNotSet => {
            return Help::NameContext.after("current-context is missing");
        }
        KubeconfigError::LoadContext(name) => {
            format!(
                "contexts[{}] is missing; current-context names it",
                printable(name)
            )
        }
        KubeconfigError::LoadClusterOfContext(name) => {
            format!(
                "clusters[{}] is missing; the context names it",
                printable(name)
            )
        }
        other => printable(&other.to_string()),
    };
    what.into()
}
