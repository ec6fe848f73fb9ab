//! The configuration that curl reads from stdin (pure). Only options of curl 7.61, which RHEL 8
//! has.

use crate::kubeconfig::Kubeconfig;
use crate::transport::{Limits, Request, USER_AGENT};
use std::fmt::Display;
use std::time::Duration;
use zeroize::Zeroizing;

/// Files that curl reads. Each displays as its path.
pub(super) struct Files<File> {
    pub(super) ca: Option<File>,
    pub(super) certificate: Option<File>,
    pub(super) key: Option<File>,
    pub(super) body: Option<File>,
}

/// The beginning of the line that `write-out` adds; `outcome` reads it.
pub(super) const MARK: &str = "\nskewguard:";

/// Always set: quiet, but for errors; the answer's head too; paths as they are. Redirects are off
/// by default.
const FLAGS: &str = "silent\nshow-error\ninclude\ngloboff\npath-as-is\nhttp1.1\ntlsv1.2\n";

/// The configuration. It holds the token, so dropping it wipes the memory.
pub(super) fn text(
    kubeconfig: &Kubeconfig,
    limits: &Limits,
    request: &Request,
    files: &Files<impl Display>,
) -> Zeroizing<String> {
    // Large enough never to be reallocated: the old memory would not be wiped.
    let token = kubeconfig
        .token
        .as_ref()
        .map_or(0, |token| token.expose().len());
    let mut options = Options(Zeroizing::new(String::with_capacity(8192 + 2 * token)));
    options.0.push_str(FLAGS);
    options.server(kubeconfig, request);
    options.files(files);
    options.limits(limits);
    options.headers(request, files.body.as_ref());
    options.authorization(kubeconfig);
    options.0.push_str(
        "write-out = \"\\nskewguard:%{http_code} %{ssl_verify_result} %{time_appconnect}\"\n",
    );
    if kubeconfig.insecure {
        options.0.push_str("insecure\n");
    }
    options.0
}

/// A configuration in the making (curl(1), `--config`).
struct Options(Zeroizing<String>);

impl Options {
    fn set(&mut self, option: &str, value: &str) {
        let text = &mut self.0;
        text.push_str(option);
        text.push_str(" = \"");
        for c in value.chars() {
            if matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
        text.push_str("\"\n");
    }

    /// TLS to this one server: no other protocol, and no proxy.
    fn server(&mut self, kubeconfig: &Kubeconfig, request: &Request) {
        // TLS asks for the name in the URL and checks it. If that is not the server's own,
        // `connect-to` says where to connect.
        let server = &kubeconfig.server;
        let named = kubeconfig
            .tls_server_name
            .as_ref()
            .map(|name| server.at(name));
        let url = named.as_ref().unwrap_or(server);
        self.set("url", &format!("{url}{}", request.path));
        self.set("request", request.method);
        self.set("proto", "=https");
        self.set("noproxy", "*");
        if let Some(named) = &named {
            let (port, host) = (server.port(), server.bracketed_host());
            self.set(
                "connect-to",
                &format!("{}:{port}:{host}:{port}", named.host),
            );
            self.set("header", &format!("Host: {}", server.authority()));
        }
    }

    fn files(&mut self, files: &Files<impl Display>) {
        // Debian's curl would also trust the host's directory of CAs, so it is given one without
        // certificates.
        self.set("capath", "/dev/null");
        for (option, file) in [
            ("cacert", &files.ca),
            ("cert", &files.certificate),
            ("key", &files.key),
        ] {
            if let Some(file) = file {
                self.set(option, &file.to_string());
            }
        }
    }

    fn limits(&mut self, limits: &Limits) {
        let mut seconds =
            |option, time: Duration| self.set(option, &time.as_secs().max(1).to_string());
        seconds("connect-timeout", limits.connect);
        seconds("max-time", limits.total);
        // Works only if the server sends a length; otherwise the answer is bounded where it is
        // read.
        self.set("max-filesize", &limits.body.to_string());
    }

    fn headers(&mut self, request: &Request, body: Option<&impl Display>) {
        self.set("user-agent", USER_AGENT);
        self.set("header", &format!("Accept: {}", request.accept()));
        if let Some(body) = body {
            self.set("data-binary", &format!("@{body}"));
            let content_type = request.content_type();
            self.set("header", &format!("Content-Type: {content_type}"));
            self.set("header", "Expect:");
        }
    }

    fn authorization(&mut self, kubeconfig: &Kubeconfig) {
        if let Some(token) = &kubeconfig.token {
            let token = String::from_utf8_lossy(token.expose());
            let value = Zeroizing::new(format!("Authorization: Bearer {token}"));
            self.set("header", &value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeconfig::{Secret, Server};

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
        Request {
            method: "POST",
            path: "/apis/x".to_owned(),
            body: b"{}".to_vec(),
        }
    }

    #[test]
    fn says_everything_that_curl_must_not_decide_itself() {
        let files = Files {
            ca: Some("/proc/self/fd/3"),
            certificate: None,
            key: None,
            body: Some("/proc/self/fd/4"),
        };
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
        assert_eq!(
            *text(&kubeconfig(), &Limits::default(), &request(), &files),
            expected
        );
    }

    #[test]
    fn another_name_for_tls_connects_to_the_same_server() {
        let mut kubeconfig = kubeconfig();
        kubeconfig.tls_server_name = Some("kubernetes.default".to_owned());
        let table = [
            (
                "https://10.0.0.1:6443",
                "https://kubernetes.default:6443",
                "10.0.0.1:6443",
                "kubernetes.default:6443:10.0.0.1:6443",
            ),
            (
                "https://[fd00::1]:6443/k8s",
                "https://kubernetes.default:6443/k8s",
                "[fd00::1]:6443",
                "kubernetes.default:6443:[fd00::1]:6443",
            ),
            (
                "https://[fd00::1]",
                "https://kubernetes.default",
                "[fd00::1]",
                "kubernetes.default:443:[fd00::1]:443",
            ),
        ];
        for (server, url, host, connect_to) in table {
            kubeconfig.server = Server::parse(server).unwrap();
            let text = text(
                &kubeconfig,
                &Limits::default(),
                &request(),
                &Files::<&str> {
                    ca: None,
                    certificate: None,
                    key: None,
                    body: None,
                },
            );
            for line in [
                format!("url = \"{url}/apis/x\""),
                format!("connect-to = \"{connect_to}\""),
                format!("header = \"Host: {host}\""),
            ] {
                assert!(text.lines().any(|found| found == line), "{line}: {}", *text);
            }
        }
    }
}
