//! The configuration that curl reads from stdin (pure). Only options of curl 7.61, which RHEL 8 has.

use crate::node::kubeconfig::Kubeconfig;
use crate::transport::{Limits, Request, USER_AGENT};
use std::fmt::Display;
use zeroize::Zeroizing;

/// What curl reads from other files. Each displays as its path.
pub(super) struct Files<File> {
    pub(super) ca: Option<File>,
    pub(super) certificate: Option<File>,
    pub(super) key: Option<File>,
    pub(super) body: Option<File>,
}

/// The beginning of the line that `write-out` adds; `outcome` reads it.
pub(super) const MARK: &str = "\nskewguard:";

/// The configuration. It holds the token, so dropping it wipes the memory.
pub(super) fn text(kubeconfig: &Kubeconfig, limits: &Limits, request: &Request, files: &Files<impl Display>) -> Zeroizing<String> {
    // Large enough never to be reallocated: the old memory would not be wiped.
    let token = kubeconfig.token.as_ref().map_or(0, |token| token.expose().len());
    let mut text = Zeroizing::new(String::with_capacity(8192 + 2 * token));
    for flag in ["silent", "show-error", "include", "globoff", "path-as-is", "http1.1", "tlsv1.2"] {
        text.push_str(flag);
        text.push('\n');
    }
    let mut set = |option: &str, value: &str| {
        text.push_str(option);
        text.push_str(" = \"");
        for c in value.chars() {
            if matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
        text.push_str("\"\n");
    };
    // TLS asks for the name in the URL and checks it. If that is not the server's own, `connect-to` says where to connect.
    let server = &kubeconfig.server;
    let named = kubeconfig.tls_server_name.as_ref().map(|name| server.at(name));
    set("url", &format!("{}{}", named.as_ref().unwrap_or(server), request.path));
    set("request", request.method);
    // Only TLS to this one server: no other protocol, no proxy. Redirects are off by default.
    set("proto", "=https");
    set("noproxy", "*");
    if let Some(named) = &named {
        let port = server.port();
        set("connect-to", &format!("{}:{port}:{}:{port}", named.host, server.bracketed_host()));
        set("header", &format!("Host: {}", server.authority()));
    }
    // Debian's curl would also trust the host's directory of CAs, so it is given one without certificates.
    set("capath", "/dev/null");
    for (option, file) in [("cacert", &files.ca), ("cert", &files.certificate), ("key", &files.key)] {
        if let Some(file) = file {
            set(option, &file.to_string());
        }
    }
    set("connect-timeout", &limits.connect.as_secs().max(1).to_string());
    set("max-time", &limits.total.as_secs().max(1).to_string());
    // Works only if the server sends a length; otherwise the answer is bounded where it is read.
    set("max-filesize", &limits.body.to_string());
    set("user-agent", USER_AGENT);
    set("header", &format!("Accept: {}", request.accept()));
    if let Some(body) = &files.body {
        set("data-binary", &format!("@{body}"));
        set("header", &format!("Content-Type: {}", request.content_type()));
        set("header", "Expect:");
    }
    if let Some(token) = &kubeconfig.token {
        let value = Zeroizing::new(format!("Authorization: Bearer {}", String::from_utf8_lossy(token.expose())));
        set("header", &value);
    }
    text.push_str("write-out = \"\\nskewguard:%{http_code} %{ssl_verify_result} %{time_appconnect}\"\n");
    if kubeconfig.insecure {
        text.push_str("insecure\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::kubeconfig::{Secret, Server};

    fn kubeconfig() -> Kubeconfig {
        Kubeconfig {
            path: "/etc/kubernetes/kubeconfig".to_owned(),
            server: Server::parse("https://api-int.c1.example.com:6443").unwrap(),
            ca: b"ca".to_vec(),
            tls_server_name: None,
            insecure: false,
            token: Some(Secret::new(br#"to"k\en"#.to_vec())),
            client: None,
        }
    }

    fn request() -> Request {
        Request { method: "POST", path: "/apis/x".to_owned(), body: b"{}".to_vec() }
    }

    #[test]
    fn says_everything_that_curl_must_not_decide_itself() {
        let files = Files { ca: Some("/proc/self/fd/3"), certificate: None, key: None, body: Some("/proc/self/fd/4") };
        let expected = format!(
            r#"silent
show-error
include
globoff
path-as-is
http1.1
tlsv1.2
url = "https://api-int.c1.example.com:6443/apis/x"
request = "POST"
proto = "=https"
noproxy = "*"
capath = "/dev/null"
cacert = "/proc/self/fd/3"
connect-timeout = "10"
max-time = "30"
max-filesize = "524288"
user-agent = "skewguard/{}"
header = "Accept: application/json"
data-binary = "@/proc/self/fd/4"
header = "Content-Type: application/json"
header = "Expect:"
header = "Authorization: Bearer to\"k\\en"
write-out = "\nskewguard:%{{http_code}} %{{ssl_verify_result}} %{{time_appconnect}}"
"#,
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(*text(&kubeconfig(), &Limits::default(), &request(), &files), expected);
    }

    #[test]
    fn another_name_for_tls_connects_to_the_same_server() {
        let mut kubeconfig = kubeconfig();
        kubeconfig.tls_server_name = Some("kubernetes.default".to_owned());
        let table = [
            ("https://10.0.0.1:6443", "https://kubernetes.default:6443", "10.0.0.1:6443", "kubernetes.default:6443:10.0.0.1:6443"),
            (
                "https://[fd00::1]:6443/k8s",
                "https://kubernetes.default:6443/k8s",
                "[fd00::1]:6443",
                "kubernetes.default:6443:[fd00::1]:6443",
            ),
            ("https://[fd00::1]", "https://kubernetes.default", "[fd00::1]", "kubernetes.default:443:[fd00::1]:443"),
        ];
        for (server, url, host, connect_to) in table {
            kubeconfig.server = Server::parse(server).unwrap();
            let text =
                text(&kubeconfig, &Limits::default(), &request(), &Files::<&str> { ca: None, certificate: None, key: None, body: None });
            for line in [format!("url = \"{url}/apis/x\""), format!("connect-to = \"{connect_to}\""), format!("header = \"Host: {host}\"")]
            {
                assert!(text.lines().any(|found| found == line), "{line}: {}", *text);
            }
        }
    }
}
