//! Sends requests with the credentials of their channel. Kubeconfigs are read anew for every
//! request, because tokens and certificates rotate.

use super::answer::Channel;
use super::node_failure::{ANNOTATIONS_PATH, Annotations, CA_PATH};
use crate::json;
use crate::kubeconfig::{
    Allow, BOOTSTRAP_KUBECONFIG, Kubeconfig, MAX_BYTES, MISSING, Server, load,
};
use crate::node::{FileError, KUBELET_KUBECONFIG, Root};
use crate::transport::{
    CURL, Choice, Failure, Limits, Request, Response, Transport, TransportError,
};
use std::future::Future;

/// Sends requests. A trait, so that tests can replace the network.
pub trait Client {
    /// Sends one request with the credentials of its channel.
    fn send(
        &self,
        channel: Channel,
        request: Request,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send + 'static;

    /// The name of this node in the cluster, from its kubelet's certificate.
    ///
    /// # Errors
    /// There is no such name; the text says which file and field lacks it.
    fn node_name(&self) -> Result<String, String>;
}

/// The real network.
#[derive(Debug)]
pub struct Network<'a> {
    /// The node.
    pub root: &'a Root,
    /// A kubeconfig to use instead of the node's own two: the root that it is in, and its path.
    pub kubeconfig: Option<(&'a Root, &'a str)>,
    /// Permissions for a kubeconfig's settings.
    pub allow: Allow,
    /// Bounds of a request.
    pub limits: Limits,
}

impl Network<'_> {
    fn kubeconfig(&self, channel: Channel) -> Result<Kubeconfig, TransportError> {
        let own = match channel {
            // Every node has this one before it joins.
            Channel::Report | Channel::Event => BOOTSTRAP_KUBECONFIG,
            Channel::Node => KUBELET_KUBECONFIG,
            Channel::Failure => {
                return machine_config_server(self.root).map_err(TransportError::setup);
            }
        };
        let (root, path) = self.kubeconfig.unwrap_or((self.root, own));
        load(root, path, self.allow).map_err(TransportError::setup)
    }
}

/// The Machine Config Server, by the address and the CA that the daemon keeps.
fn machine_config_server(root: &Root) -> Result<Kubeconfig, FileError> {
    let read = |path| {
        let bytes = root.read(path, MAX_BYTES)?;
        bytes.ok_or_else(|| FileError::content(path, MISSING))
    };
    let wrong = |what| FileError::content(ANNOTATIONS_PATH, what);
    let Annotations { server } = json::read(&read(ANNOTATIONS_PATH)?)
        .map_err(|error| FileError::json(ANNOTATIONS_PATH, "cannot be read", &error))?;
    let server = server.ok_or_else(|| wrong("has no machineConfigServerURL"))?;
    Ok(Kubeconfig {
        path: ANNOTATIONS_PATH.to_owned(),
        // What follows the colon is about credentials, of which there are none.
        server: Server::parse(&server)
            .map_err(|why| wrong(why.split(": ").next().unwrap_or_default()))?,
        ca: read(CA_PATH)?,
        tls_server_name: None,
        insecure: false,
        token: None,
        client: None,
    })
}

/// The words of a failure that are about a kubeconfig, for a server that none names.
fn without_kubeconfig(error: TransportError) -> TransportError {
    let failure = match error.failure {
        Failure::UnknownCa(why) => {
            let what = format!("the server's certificate is not signed by a CA in {CA_PATH}");
            Failure::Tls(format!("{what} ({why})"))
        }
        Failure::WrongName(name) => {
            Failure::Tls(format!("the server's certificate is not for {name}"))
        }
        failure => failure,
    };
    TransportError { failure, ..error }
}

impl Client for Network<'_> {
    fn send(
        &self,
        channel: Channel,
        request: Request,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send + 'static {
        let connection = self
            .kubeconfig(channel)
            .and_then(|kubeconfig| Ok((kubeconfig, Choice::for_host(self.root)?)));
        let limits = self.limits;
        async move {
            let (kubeconfig, choice) = connection?;
            let is_unresolved = |answer: &Result<_, TransportError>| {
                answer
                    .as_ref()
                    .is_err_and(|e| matches!(e.failure, Failure::Resolve(..)))
            };
            let answer = Transport::new(choice, &kubeconfig, limits, CURL.into())?
                .send(&request)
                .await;
            if channel == Channel::Failure {
                return answer.map_err(without_kubeconfig);
            }
            let Some(public) = kubeconfig
                .by_public_name()
                .filter(|_| is_unresolved(&answer))
            else {
                return answer;
            };
            let other = Transport::new(choice, &public, limits, CURL.into())?
                .send(&request)
                .await;
            // If neither name resolves, the error is about the one in the kubeconfig.
            if is_unresolved(&other) { answer } else { other }
        }
    }

    fn node_name(&self) -> Result<String, String> {
        self.kubeconfig(Channel::Node)
            .map_err(|error| error.to_string())?
            .node_name()
    }
}
