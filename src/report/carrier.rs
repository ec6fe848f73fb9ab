//! Sends requests as the identity that a channel belongs to. Kubeconfigs are read anew for every request: tokens and certificates rotate.

use super::transport::{CURL, Choice, Failure, HostFacts, Limits, Request, Response, Transport, TransportError, choose};
use crate::node::Root;
use crate::node::kubeconfig::{Allow, BOOTSTRAP_KUBECONFIG, KUBELET_KUBECONFIG, Kubeconfig, load};
use std::future::Future;
use std::path::PathBuf;

/// As whom a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// Any node that has not joined.
    Bootstrap,
    /// This node.
    Kubelet,
}

/// What carries a request; a seam for tests with a clock of their own.
pub trait Carrier {
    /// Sends one request.
    fn send(&self, identity: Credentials, request: Request) -> impl Future<Output = Result<Response, TransportError>> + Send + 'static;

    /// The name of this node in the cluster, which has its kubelet's kubeconfig.
    ///
    /// # Errors
    /// The kubeconfig cannot be used, or is not a node's; the text names it, and the field.
    fn node_name(&self) -> Result<String, String>;
}

/// The real one.
#[derive(Debug)]
pub struct Network<'a> {
    /// The node.
    pub root: &'a Root,
    /// A kubeconfig to use instead of both of the node's own: the root it is in, and its path.
    pub kubeconfig: Option<(&'a Root, &'a str)>,
    /// What a kubeconfig may ask for.
    pub allow: Allow,
    /// Bounds of a request.
    pub limits: Limits,
}

impl Network<'_> {
    /// Reads the kubeconfig of that identity.
    ///
    /// # Errors
    /// It cannot be read or used; the text names file and field.
    pub fn kubeconfig(&self, identity: Credentials) -> Result<Kubeconfig, TransportError> {
        let (root, path) = self.kubeconfig.unwrap_or((
            self.root,
            match identity {
                Credentials::Bootstrap => BOOTSTRAP_KUBECONFIG,
                Credentials::Kubelet => KUBELET_KUBECONFIG,
            },
        ));
        load(root, path, self.allow).map_err(TransportError::setup)
    }

    fn connection(&self, identity: Credentials) -> Result<Connection, TransportError> {
        let kubeconfig = self.kubeconfig(identity)?;
        let choice = choose(host_facts(self.root)).map_err(TransportError::setup)?;
        Ok(Connection { kubeconfig, choice, limits: self.limits })
    }
}

/// All that one request needs.
struct Connection {
    kubeconfig: Kubeconfig,
    choice: Choice,
    limits: Limits,
}

impl Connection {
    /// Sends it; by the cluster's public name where the internal one is not known, see [`Kubeconfig::by_public_name`].
    async fn send(&self, request: &Request) -> Result<Response, TransportError> {
        let unresolved =
            |answer: &Result<_, TransportError>| matches!(answer, Err(error) if matches!(error.failure, Failure::Resolve { .. }));
        let answer = self.send_to(&self.kubeconfig, request).await;
        let Some(public) = self.kubeconfig.by_public_name().filter(|_| unresolved(&answer)) else { return answer };
        let other = self.send_to(&public, request).await;
        // The name to mend is the one in the kubeconfig.
        if unresolved(&other) { answer } else { other }
    }

    async fn send_to(&self, kubeconfig: &Kubeconfig, request: &Request) -> Result<Response, TransportError> {
        Transport::new(self.choice, kubeconfig, self.limits, PathBuf::from(CURL))?.send(request).await
    }
}

impl Carrier for Network<'_> {
    fn send(&self, identity: Credentials, request: Request) -> impl Future<Output = Result<Response, TransportError>> + Send + 'static {
        let connection = self.connection(identity);
        async move { connection?.send(&request).await }
    }

    /// From the certificate of the kubelet's kubeconfig.
    fn node_name(&self) -> Result<String, String> {
        self.kubeconfig(Credentials::Kubelet).map_err(|error| error.to_string())?.node_name()
    }
}

fn host_facts(root: &Root) -> HostFacts {
    let fips = root.read_text("/proc/sys/crypto/fips_enabled", 16).ok().flatten();
    HostFacts {
        tls_built: cfg!(feature = "tls"),
        fips: fips.is_some_and(|text| text.trim() == "1"),
        // Run from the host, whatever the root.
        curl: std::path::Path::new(CURL).exists(),
    }
}
