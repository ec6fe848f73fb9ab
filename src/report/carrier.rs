//! Sends requests as the identity that a channel belongs to. Kubeconfigs are read anew for every request: tokens and certificates rotate.

use super::answer::SendError;
use super::certificate::node_name;
use super::kubeconfig::{Allow, Kubeconfig, load};
use super::transport::{CURL, HostFacts, Limits, Request, Response, Transport, choose};
use crate::node::Root;
use std::future::Future;
use std::path::PathBuf;

/// The bootstrap identity, in the served config of every node.
pub const BOOTSTRAP_KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";

/// The kubelet's own identity; there once the node has joined.
pub const KUBELET_KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

/// As whom a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// Any node that has not joined.
    Bootstrap,
    /// This node.
    Kubelet,
}

/// What carries a request; a seam for tests with a clock of their own.
pub trait Carrier {
    /// Sends one request.
    fn send(&self, identity: Identity, request: Request) -> impl Future<Output = Result<Response, SendError>> + Send + 'static;

    /// The name of this node in the cluster; `None` while it has not joined.
    fn node_name(&self) -> Option<String>;
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
    pub fn kubeconfig(&self, identity: Identity) -> Result<Kubeconfig, SendError> {
        let (root, path) = self.kubeconfig.unwrap_or((
            self.root,
            match identity {
                Identity::Bootstrap => BOOTSTRAP_KUBECONFIG,
                Identity::Kubelet => KUBELET_KUBECONFIG,
            },
        ));
        load(root, path, self.allow).map_err(|error| SendError::Setup(error.to_string()))
    }

    fn transport(&self, identity: Identity) -> Result<Transport, SendError> {
        let kubeconfig = self.kubeconfig(identity)?;
        let host = host_facts(self.root);
        let choice = choose(host).map_err(|error| SendError::Setup(error.to_string()))?;
        Ok(Transport::new(choice, &kubeconfig, self.limits, PathBuf::from(CURL))?)
    }
}

impl Carrier for Network<'_> {
    fn send(&self, identity: Identity, request: Request) -> impl Future<Output = Result<Response, SendError>> + Send + 'static {
        let transport = self.transport(identity);
        async move { Ok(transport?.send(&request).await?) }
    }

    /// From the certificate of the kubelet's kubeconfig.
    fn node_name(&self) -> Option<String> {
        let client = self.kubeconfig(Identity::Kubelet).ok()?.client?;
        node_name(client.certificate.expose()).ok()
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
