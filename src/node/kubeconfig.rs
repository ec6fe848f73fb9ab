//! The kubeconfigs of the node: which API server, trusted by which CA, as whom.
//!
//! The format is client-go's (`k8s.io/client-go/tools/clientcmd/api/v1`); what wins where two fields say the same is as there.

mod certificate;
mod parse;
mod secret;
mod server;
mod yaml;

pub use certificate::{CertificateError, node_name};
pub use parse::parse;
pub use secret::Secret;
pub use server::Server;

use super::{FileError, Root};
use parse::{Content, Document, Field};
use rustls_pki_types::pem::{PemObject, SectionKind};
use zeroize::Zeroizing;

/// The bootstrap identity, in the served config of every node.
pub const BOOTSTRAP_KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";

/// The kubelet's own identity; there once the kubelet was started.
pub const KUBELET_KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

/// A kubeconfig, and each file it names, is read up to this many bytes.
const MAX_BYTES: u64 = 512 * 1024;

const MISSING: &str = "there is no such file";

/// Everything needed to talk to one API server. Its `Debug` shows no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubeconfig {
    /// The file it was read from.
    pub path: String,
    /// Where it is.
    pub server: Server,
    /// The CA certificates, PEM. Empty only with `insecure`.
    pub ca: Vec<u8>,
    /// The name to ask for and to check in the server's certificate, instead of the server's host.
    pub tls_server_name: Option<String>,
    /// Do not check the server's certificate at all.
    pub insecure: bool,
    /// A bearer token.
    pub token: Option<Secret>,
    /// A client certificate.
    pub client: Option<Client>,
}

impl Kubeconfig {
    /// The same API server by the cluster's public name: `api.NAME` instead of `api-int.NAME`, and still held to the certificate of
    /// `api-int.NAME`, which it has for whoever asks for that name. Where the installer brings its own DNS (bare metal, vSphere, Nutanix,
    /// OpenStack: openshift/installer, docs/design/baremetal/networking-infrastructure.md), only `api.NAME` has to be in the site's DNS:
    /// `api-int.NAME` is in a CoreDNS that the kubelet starts on every node, and on a node that is held nobody does.
    #[must_use]
    pub fn by_public_name(&self) -> Option<Self> {
        let name = self.server.host.strip_prefix("api-int.").filter(|_| self.tls_server_name.is_none())?;
        let server = self.server.at(&format!("api.{name}"));
        Some(Self { server, tls_server_name: Some(self.server.host.clone()), ..self.clone() })
    }

    /// The name of the Node that this kubelet's identity belongs to, from its client certificate.
    ///
    /// # Errors
    /// There is no client certificate, or it is not a node's; the text names the file.
    pub fn node_name(&self) -> Result<String, String> {
        let client = self.client.as_ref().ok_or_else(|| format!("{}: has no client certificate", self.path))?;
        node_name(client.certificate.expose()).map_err(|error| format!("{}: its client certificate {error}", self.path))
    }
}

/// A client certificate and its key, each as the PEM that holds it. Where both are kept in one file, both are that file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The certificate and what follows of its chain.
    pub certificate: Secret,
    /// The key: PKCS#8, SEC 1 or PKCS#1.
    pub key: Secret,
}

/// What the caller allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allow {
    /// Obey `insecure-skip-tls-verify` instead of refusing it.
    pub insecure: bool,
}

/// Reads the kubeconfig at `path` and every file that its current context names, all within `root`.
///
/// # Errors
/// A file is missing or cannot be read, or a field is missing, wrong or not supported. The text names files and fields, never a value.
pub fn load(root: &Root, path: &str, allow: Allow) -> Result<Kubeconfig, FileError> {
    let text = root.read_text(path, MAX_BYTES)?.ok_or_else(|| FileError::content(path, MISSING))?;
    let text = Zeroizing::new(text);
    let document = parse(&text, allow.insecure).map_err(|defect| FileError::content(path, defect))?;
    let from = Loader { root, path };
    let ca = match &document.ca {
        Some(ca) => from.pem(ca, "certificate", is_certificate)?.expose().to_vec(),
        None => Vec::new(),
    };
    let token = document.token.as_ref().map(|token| from.token(token)).transpose()?;
    let client = document.client.as_ref().map(|(certificate, key)| from.client(certificate, key.as_ref())).transpose()?;
    let Document { server, tls_server_name, insecure, .. } = document;
    Ok(Kubeconfig { path: path.to_owned(), server, ca, tls_server_name, insecure, token, client })
}

struct Loader<'a> {
    root: &'a Root,
    path: &'a str,
}

impl Loader<'_> {
    fn wrong(&self, field: &Field, what: &str) -> FileError {
        let within = match &field.content {
            Content::Here(_) => String::new(),
            Content::InFile(file) => format!("{}: ", crate::text::word(file)),
        };
        FileError::content(self.path, format_args!("{}: {within}{what}", field.name))
    }

    fn bytes(&self, field: &Field) -> Result<Secret, FileError> {
        let file = match &field.content {
            Content::Here(bytes) => return Ok(bytes.clone()),
            Content::InFile(file) if file.starts_with('/') => file.clone(),
            Content::InFile(file) => match self.path.rsplit_once('/') {
                Some((dir, _)) => format!("{dir}/{file}"),
                None => file.clone(),
            },
        };
        match self.root.read(&file, MAX_BYTES) {
            Ok(Some(bytes)) => Ok(Secret::new(bytes)),
            Ok(None) => Err(self.wrong(field, MISSING)),
            Err(error) => Err(self.wrong(field, &error.problem.to_string())),
        }
    }

    /// A PEM that has at least one block of this kind. Other blocks (`EC PARAMETERS`, a key beside the certificate) are no error.
    fn pem(&self, field: &Field, kind: &str, is: impl Fn(SectionKind) -> bool) -> Result<Secret, FileError> {
        let pem = self.bytes(field)?;
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.expose()) {
            match section {
                Ok((found, _)) if is(found) => return Ok(pem),
                Ok(_) => {}
                Err(_) => return Err(self.wrong(field, "is not valid PEM")),
            }
        }
        Err(self.wrong(field, &format!("holds no {kind} in PEM")))
    }

    fn token(&self, field: &Field) -> Result<Secret, FileError> {
        let bytes = self.bytes(field)?;
        let token = bytes.expose().trim_ascii();
        // What may stand in an HTTP header; anything else would be another header.
        if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
            return Err(self.wrong(field, "is empty, or has characters that no bearer token has"));
        }
        Ok(Secret::new(token.to_vec()))
    }

    /// The kubelet keeps certificate and key in one file and names it in both fields.
    fn client(&self, certificate: &Field, key: Option<&Field>) -> Result<Client, FileError> {
        let key = key.unwrap_or(certificate);
        Ok(Client { certificate: self.pem(certificate, "certificate", is_certificate)?, key: self.pem(key, "private key", is_key)? })
    }
}

fn is_certificate(kind: SectionKind) -> bool {
    matches!(kind, SectionKind::Certificate)
}

fn is_key(kind: SectionKind) -> bool {
    matches!(kind, SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey)
}
