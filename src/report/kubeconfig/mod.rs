//! The kubeconfig of the node: which API server, trusted by which CA, as whom.
//!
//! The format is client-go's (`k8s.io/client-go/tools/clientcmd/api/v1`); what wins where two fields say the same is as there.

mod parse;
mod yaml;

pub use parse::{Defect, Document, Material, Source, parse};

use crate::node::{FileError, Root};
use crate::report::secret::Secret;
use rustls_pki_types::pem::{PemObject, SectionKind};
use zeroize::Zeroizing;

/// A kubeconfig, and each file it names, is read up to this many bytes.
const MAX_BYTES: u64 = 512 * 1024;

/// Everything needed to talk to one API server. Its `Debug` shows no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubeconfig {
    /// The file it was read from.
    pub path: String,
    /// `https://host:port[/path]`, without a slash at the end.
    pub server: String,
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
        let rest = self.server.strip_prefix("https://api-int.").filter(|_| self.tls_server_name.is_none())?;
        let name = rest.split([':', '/']).next().unwrap_or_default();
        Some(Self { server: format!("https://api.{rest}"), tls_server_name: Some(format!("api-int.{name}")), ..self.clone() })
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

/// Why a kubeconfig cannot be used. No variant ever carries a value of the file, only names of fields.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The kubeconfig itself cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no such file.
    #[error("{path}: there is no such file")]
    Missing {
        /// The kubeconfig.
        path: String,
    },
    /// Not YAML or JSON, or not bounded as a kubeconfig is.
    #[error("{path}: {what}")]
    Syntax {
        /// The kubeconfig.
        path: String,
        /// What is wrong, with line and column where known.
        what: String,
    },
    /// One field is wrong or missing.
    #[error("{path}: {field}: {what}")]
    Field {
        /// The kubeconfig.
        path: String,
        /// The field, such as `users[node].user.token`.
        field: String,
        /// What is wrong with it.
        what: String,
    },
}

/// Reads the kubeconfig at `path` and every file that its current context names, all within `root`.
///
/// # Errors
/// A file is missing or cannot be read, or a field is missing, wrong or not supported.
pub fn load(root: &Root, path: &str, allow: Allow) -> Result<Kubeconfig, KubeconfigError> {
    let text = root.read_text(path, MAX_BYTES)?.ok_or_else(|| KubeconfigError::Missing { path: path.to_owned() })?;
    let text = Zeroizing::new(text);
    let document = parse(&text, allow.insecure).map_err(|defect| match defect {
        Defect::Syntax(what) => KubeconfigError::Syntax { path: path.to_owned(), what },
        Defect::Field { field, what } => KubeconfigError::Field { path: path.to_owned(), field, what },
    })?;
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
    fn wrong(&self, material: &Material, what: &str) -> KubeconfigError {
        let what = match &material.source {
            Source::Data(_) => what.to_owned(),
            Source::File(file) => format!("{}: {what}", crate::text::word(file)),
        };
        KubeconfigError::Field { path: self.path.to_owned(), field: material.field.clone(), what }
    }

    fn bytes(&self, material: &Material) -> Result<Secret, KubeconfigError> {
        let file = match &material.source {
            Source::Data(bytes) => return Ok(bytes.clone()),
            Source::File(file) if file.starts_with('/') => file.clone(),
            Source::File(file) => match self.path.rsplit_once('/') {
                Some((dir, _)) => format!("{dir}/{file}"),
                None => file.clone(),
            },
        };
        match self.root.read(&file, MAX_BYTES) {
            Ok(Some(bytes)) => Ok(Secret::new(bytes)),
            Ok(None) => Err(self.wrong(material, "there is no such file")),
            Err(error) => Err(self.wrong(material, &error.problem.to_string())),
        }
    }

    /// A PEM that has at least one block of this kind. Other blocks (`EC PARAMETERS`, a key beside the certificate) are no error.
    fn pem(&self, material: &Material, kind: &str, is: impl Fn(SectionKind) -> bool) -> Result<Secret, KubeconfigError> {
        let pem = self.bytes(material)?;
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.expose()) {
            match section {
                Ok((found, _)) if is(found) => return Ok(pem),
                Ok(_) => {}
                Err(_) => return Err(self.wrong(material, "is not valid PEM")),
            }
        }
        Err(self.wrong(material, &format!("holds no {kind} in PEM")))
    }

    fn token(&self, material: &Material) -> Result<Secret, KubeconfigError> {
        let bytes = self.bytes(material)?;
        let token = bytes.expose().trim_ascii();
        // What may stand in an HTTP header; anything else would be another header.
        if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
            return Err(self.wrong(material, "is empty, or has characters that no bearer token has"));
        }
        Ok(Secret::new(token.to_vec()))
    }

    /// The kubelet keeps certificate and key in one file and names it in both fields.
    fn client(&self, certificate: &Material, key: Option<&Material>) -> Result<Client, KubeconfigError> {
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
