//! The kubeconfigs of the node: which API server, which CA to trust, which credentials.
//!
//! The format is client-go's (`k8s.io/client-go/tools/clientcmd/api/v1`). Where two fields set the
//! same thing, the one that wins in client-go wins here.

mod certificate;
mod parse;
mod server;
mod yaml;

pub(crate) use certificate::node_name;
pub use parse::parse;
pub use server::Server;

use crate::node::{FileError, Root};
use std::fmt;
use zeroize::Zeroizing;

/// The bootstrap identity, in the served config of every node.
pub const BOOTSTRAP_KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";

/// Largest kubeconfig, and largest file that one names, in bytes.
pub const MAX_BYTES: u64 = 512 * 1024;

pub const MISSING: &str = "there is no such file";

/// Everything needed to talk to one API server. Its `Debug` shows no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubeconfig {
    /// The file it was read from.
    pub path: String,
    pub server: Server,
    /// The CA certificates, PEM. Empty only with `insecure`.
    pub ca: Vec<u8>,
    /// The name to ask for and to check in the server's certificate, instead of the server's host.
    pub tls_server_name: Option<String>,
    /// The server's certificate is not checked at all.
    pub insecure: bool,
    /// The bearer token.
    pub token: Option<Secret>,
    pub client: Option<ClientCertificate>,
}

impl Kubeconfig {
    /// The same API server by its public name, `api.NAME` instead of `api-int.NAME`. TLS still asks
    /// for the certificate of `api-int.NAME`, which the server also has.
    ///
    /// A held node may need this. On platforms without DNS of their own (bare metal, vSphere,
    /// Nutanix, OpenStack) only `api.NAME` has to be in the site's DNS; `api-int.NAME` is served by
    /// a CoreDNS that the kubelet starts on every node, and on a held node no kubelet runs
    /// (openshift/installer, docs/design/baremetal/networking-infrastructure.md).
    #[must_use]
    pub fn by_public_name(&self) -> Option<Self> {
        let name = self
            .server
            .host
            .strip_prefix("api-int.")
            .filter(|_| self.tls_server_name.is_none())?;
        let server = self.server.at(&format!("api.{name}"));
        Some(Self {
            server,
            tls_server_name: Some(self.server.host.clone()),
            ..self.clone()
        })
    }

    /// The name of the Node that this kubelet's identity belongs to, from its client certificate.
    ///
    /// # Errors
    /// There is no client certificate, or it is not a node's; the text names the file.
    pub(crate) fn node_name(&self) -> Result<String, String> {
        let client = self
            .client
            .as_ref()
            .ok_or_else(|| format!("{}: has no client certificate", self.path))?;
        node_name(client.certificate.expose())
            .map_err(|error| format!("{}: its client certificate {error}", self.path))
    }
}

/// A client certificate and its key, each as PEM. Where one file holds both, each field has the
/// whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate and the rest of its chain.
    pub certificate: Secret,
    /// The key: PKCS#8, SEC 1 or PKCS#1.
    pub key: Secret,
}

/// Permissions for a kubeconfig's settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allow {
    /// `insecure-skip-tls-verify` is obeyed instead of refused.
    pub insecure: bool,
}

/// A bearer token or a private key. It has no `Display`, its `Debug` shows a placeholder, and
/// dropping it wipes the memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for the code that sends them. Never for a message.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Reads the kubeconfig at `path` and every file that its current context names, all within `root`.
///
/// # Errors
/// A file is missing or cannot be read, or a field is missing, wrong or unsupported. The text names
/// files and fields, but never a value.
pub fn load(root: &Root, path: &str, allow: Allow) -> Result<Kubeconfig, FileError> {
    let text = root
        .read_text(path, MAX_BYTES)?
        .ok_or_else(|| FileError::content(path, MISSING))?;
    let read = |file: &str| {
        let absolute = match path.rsplit_once('/') {
            Some((dir, _)) if !file.starts_with('/') => format!("{dir}/{file}"),
            _ => file.to_owned(),
        };
        let bytes = root
            .read(&absolute, MAX_BYTES)
            .map_err(|error| error.problem.to_string())?;
        bytes.map(Secret::new).ok_or_else(|| MISSING.to_owned())
    };
    parse(path, &Zeroizing::new(text), allow, &read)
        .map_err(|defect| FileError::content(path, defect))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows_its_content() {
        let secret = Secret::new(b"eyJhbGciOi".to_vec());
        assert_eq!(
            format!("{secret:?} {:?} {:#?}", Some(&secret), (&secret,)),
            "[secret] Some([secret]) (\n    [secret],\n)"
        );
        assert_eq!(secret.expose(), b"eyJhbGciOi");
    }
}
