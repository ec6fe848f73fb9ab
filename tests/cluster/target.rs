//! The cluster under test: the test API server, or a real one.

use crate::cluster::node::Node;
use crate::cluster::real::Real;
use crate::support::apiserver::{ApiServer, Options};
use serde_json::Value;

/// Names a kubeconfig of an administrator of the cluster to use.
pub(crate) const VARIABLE: &str = "SKEWGUARD_TEST_KUBECONFIG";

pub(crate) enum Cluster {
    Test(Box<ApiServer>),
    Real(Box<Real>),
}

impl Cluster {
    pub(crate) fn new() -> Self {
        match std::env::var(VARIABLE) {
            Ok(path) if !path.is_empty() => {
                eprintln!("cluster tests: on the cluster of {VARIABLE}={path}");
                Self::Real(Box::new(Real::new(&path)))
            }
            _ => {
                eprintln!(
                    "cluster tests: on the test API server (the default; {VARIABLE} names another cluster)"
                );
                Self::Test(Box::new(ApiServer::start(Options::default())))
            }
        }
    }

    /// Puts the bootstrap identity on a node.
    pub(crate) fn prepare(&self, node: &Node) {
        match self {
            Self::Test(server) => bootstrap(server, node),
            Self::Real(real) => {
                node.write("etc/kubernetes/kubeconfig", &real.bootstrap_kubeconfig())
            }
        }
    }

    /// Whether it serves ValidatingAdmissionPolicies, as Kubernetes does from 1.30 on.
    pub(crate) fn has_admission_policies(&self) -> bool {
        match self {
            Self::Test(_) => true,
            Self::Real(real) => real.has_admission_policies(),
        }
    }

    /// Lets a node join, and gives its name in the cluster.
    pub(crate) fn join(&self, node: &Node) -> String {
        match self {
            Self::Test(server) => {
                join(server, node);
                server.options.node.clone()
            }
            Self::Real(real) => real.join(node),
        }
    }

    /// The objects of one plural in the namespace skewguard whose name starts with `host`.
    pub(crate) fn objects(&self, plural: &str, host: &str) -> Vec<Value> {
        let mut objects = match self {
            Self::Test(server) => server.objects(plural),
            Self::Real(real) => real.objects(plural),
        };
        objects.retain(|object| {
            object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .starts_with(host)
        });
        objects
    }

    pub(crate) fn node(&self, name: &str) -> Value {
        match self {
            Self::Test(server) => server
                .objects("nodes")
                .into_iter()
                .find(|node| node["metadata"]["name"] == name)
                .expect("there is that Node"),
            Self::Real(real) => real.node(name),
        }
    }
}

/// The test server's bootstrap identity.
pub(crate) fn bootstrap(server: &ApiServer, node: &Node) {
    let dir = tempfile::tempdir().unwrap();
    server.write_kubeconfigs(dir.path());
    node.write(
        "etc/kubernetes/kubeconfig",
        &std::fs::read_to_string(dir.path().join("kubeconfig")).unwrap(),
    );
}

/// The test server's Node.
pub(crate) fn join(server: &ApiServer, node: &Node) {
    let dir = tempfile::tempdir().unwrap();
    server.write_kubeconfigs(dir.path());
    for (file, path) in [
        ("kubelet.kubeconfig", "var/lib/kubelet/kubeconfig"),
        (
            "kubelet-client-current.pem",
            "var/lib/kubelet/pki/kubelet-client-current.pem",
        ),
    ] {
        node.write(
            path,
            &std::fs::read_to_string(dir.path().join(file)).unwrap(),
        );
    }
}
