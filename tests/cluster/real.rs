//! A real cluster, as its administrator: what the suite needs there is made, and whatever was made
//! is taken away again, also when a test fails.

use crate::cluster::node::Node;
use crate::cluster::way::event;
use crate::support::apiserver::{ApiServer, Options};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use serde_json::{Value, json};
use skewguard::kubeconfig::{Allow, Kubeconfig, load};
use skewguard::node::Root;
use skewguard::transport::{CURL, Choice, Limits, Request, Transport};
use skewguard_admin::render::manifests::Manifests;
use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

const BOOTSTRAP_NAMESPACE: &str = "openshift-machine-config-operator";
const BOOTSTRAPPER: &str = "node-bootstrapper";
const REPORTS: &str = "/apis/skewguard.dev/v1alpha1/namespaces/skewguard/bootimagereports";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/skewguard/events";
const SIGNING_REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// How long a deletion may take: a namespace goes after everything in it.
const DELETION: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Real {
    kubeconfig: Kubeconfig,
    transport: Transport,
    runtime: tokio::runtime::Runtime,
    /// Paths of what was made, in order.
    made: RefCell<Vec<String>>,
}

/// Where objects of a kind live.
pub(crate) fn collection(object: &Value) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (version, namespace) = (text("/apiVersion"), text("/metadata/namespace"));
    let kind = text("/kind").to_lowercase();
    let plural = kind
        .strip_suffix('y')
        .map_or(format!("{kind}s"), |stem| format!("{stem}ies"));
    let root = if version.contains('/') {
        format!("/apis/{version}")
    } else {
        format!("/api/{version}")
    };
    if namespace.is_empty() {
        format!("{root}/{plural}")
    } else {
        format!("{root}/namespaces/{namespace}/{plural}")
    }
}

/// What an API server says of an object that is being deleted (409), and of a new one in a
/// namespace that is (403).
fn being_deleted(status: u16, answer: &Value) -> Option<&str> {
    let message = answer["message"].as_str()?;
    let is = (status == 409 && message.starts_with("object is being deleted: "))
        || (status == 403 && message.ends_with(" because it is being terminated"));
    is.then_some(message)
}

impl Real {
    pub(crate) fn new(path: &str) -> Self {
        let real = Self::connect(path);
        for object in serde_saphyr::from_multiple::<Value>(&Manifests::default().to_yaml()).unwrap()
        {
            real.make(&collection(&object), &object);
        }
        for _ in 0..60 {
            if real.send("GET", REPORTS, &Value::Null).0 == 200 {
                return real;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        panic!("{REPORTS} is not served half a minute after its CRD was made");
    }

    fn connect(path: &str) -> Self {
        let root = Root::open(Path::new("/")).unwrap();
        let path = std::path::absolute(path).unwrap();
        let kubeconfig = load(&root, path.to_str().unwrap(), Allow { insecure: false })
            .unwrap_or_else(|error| panic!("{error}"));
        let choice = if cfg!(feature = "tls") {
            Choice::Tls
        } else {
            Choice::Curl
        };
        let limits = Limits {
            body: 64 << 20,
            ..Limits::default()
        };
        let transport = Transport::new(choice, &kubeconfig, limits, CURL.into()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Self {
            kubeconfig,
            transport,
            runtime,
            made: RefCell::default(),
        }
    }

    pub(crate) fn send(&self, method: &'static str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() {
            Vec::new()
        } else {
            serde_json::to_vec(body).unwrap()
        };
        let request = Request {
            method,
            path: path.to_owned(),
            body,
        };
        let response = self
            .runtime
            .block_on(self.transport.send(&request))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        (
            response.status,
            serde_json::from_slice(&response.body).unwrap_or_default(),
        )
    }

    /// Makes an object that is not there, and remembers that. What is still being deleted, as after
    /// an earlier run, is waited for.
    pub(crate) fn make(&self, collection: &str, object: &Value) {
        let began = Instant::now();
        let (status, answer) = loop {
            let (status, answer) = self.send("POST", collection, object);
            let Some(what) = being_deleted(status, &answer).filter(|_| began.elapsed() < DELETION)
            else {
                break (status, answer);
            };
            eprintln!("cluster tests: waiting for up to {DELETION:?}: {what}");
            std::thread::sleep(PAUSE);
        };
        match status {
            409 if being_deleted(status, &answer).is_some() => {
                panic!("{collection}: after {DELETION:?}: {}", answer["message"])
            }
            200..=299 => self.made.borrow_mut().push(format!(
                "{collection}/{}",
                object["metadata"]["name"].as_str().unwrap()
            )),
            409 => {}
            404 if collection.contains("/validatingadmissionpolic") => {
                eprintln!(
                    "cluster tests: {collection} is not served, as before Kubernetes 1.30: without admission policies"
                );
            }
            _ => panic!("{collection}: {status}: {}", answer["message"]),
        }
    }

    fn kubeconfig_with(&self, user: &str) -> String {
        let ca = STANDARD.encode(&self.kubeconfig.ca);
        let name = self
            .kubeconfig
            .tls_server_name
            .as_ref()
            .map(|name| format!("    tls-server-name: {name}\n"))
            .unwrap_or_default();
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: local\n  cluster:\n    certificate-authority-data: {ca}\n{name}    server: {}\n\
             contexts:\n- name: local\n  context:\n    cluster: local\n    user: local\ncurrent-context: local\nusers:\n- name: local\n  user:\n\
             {user}",
            self.kubeconfig.server
        )
    }

    /// A token of an hour for the bootstrap identity, which is made where the cluster is no
    /// OpenShift.
    pub(crate) fn bootstrap_kubeconfig(&self) -> String {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": BOOTSTRAP_NAMESPACE } });
        self.make("/api/v1/namespaces", &namespace);
        let accounts = format!("/api/v1/namespaces/{BOOTSTRAP_NAMESPACE}/serviceaccounts");
        self.make(&accounts, &json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": BOOTSTRAPPER } }));
        let wanted = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 3600 } });
        let (status, answer) =
            self.send("POST", &format!("{accounts}/{BOOTSTRAPPER}/token"), &wanted);
        let token = answer["status"]["token"]
            .as_str()
            .unwrap_or_else(|| panic!("a token: {status}: {}", answer["message"]));
        self.kubeconfig_with(&format!("    token: {token}\n"))
    }

    /// A Node of the test's own, and a kubelet's certificate for it, signed by the cluster.
    pub(crate) fn join(&self, node: &Node) -> String {
        let name = std::fs::read_to_string(node.path("etc/hostname"))
            .unwrap()
            .trim()
            .to_owned();
        let labels = json!({ "kubernetes.io/os": "linux" });
        let object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels }, "spec": { "unschedulable": true } });
        self.make("/api/v1/nodes", &object);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "system:nodes");
        params
            .distinguished_name
            .push(DnType::CommonName, format!("system:node:{name}"));
        let request = params.serialize_request(&key).unwrap().pem().unwrap();
        let csr = json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": { "name": name },
            "spec": {
                "request": STANDARD.encode(request), "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
                "usages": ["key encipherment", "digital signature", "client auth"], "expirationSeconds": 3600
            }
        });
        self.make(SIGNING_REQUESTS, &csr);
        let path = format!("{SIGNING_REQUESTS}/{name}");
        let condition = json!({ "type": "Approved", "status": "True", "reason": "SkewguardTest", "message": "a test of skewguard" });
        let (status, answer) = self.send(
            "PATCH",
            &format!("{path}/approval"),
            &json!({ "status": { "conditions": [condition] } }),
        );
        assert!(status < 300, "approval: {status}: {}", answer["message"]);
        for _ in 0..60 {
            if let Some(certificate) =
                self.send("GET", &path, &Value::Null).1["status"]["certificate"].as_str()
            {
                let pem = String::from_utf8(STANDARD.decode(certificate).unwrap()).unwrap()
                    + &key.serialize_pem();
                node.write("var/lib/kubelet/pki/kubelet-client-current.pem", &pem);
                let file = "/var/lib/kubelet/pki/kubelet-client-current.pem";
                node.write(
                    "var/lib/kubelet/kubeconfig",
                    &self.kubeconfig_with(&format!(
                        "    client-certificate: {file}\n    client-key: {file}\n"
                    )),
                );
                return name;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        panic!("{path}: no certificate half a minute after the approval");
    }

    pub(crate) fn has_admission_policies(&self) -> bool {
        self.send(
            "GET",
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/skewguard-reports",
            &Value::Null,
        )
        .0 == 200
    }

    pub(crate) fn objects(&self, plural: &str) -> Vec<Value> {
        let path = if plural == "events" { EVENTS } else { REPORTS };
        let objects = self.send("GET", path, &Value::Null).1["items"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let named = |object: &Value| {
            object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let mut made = self.made.borrow_mut();
        for name in objects
            .iter()
            .map(named)
            .filter(|name| name.starts_with("skewguard-test-"))
        {
            let path = format!("{path}/{name}");
            if !made.contains(&path) {
                made.push(path);
            }
        }
        objects
    }

    pub(crate) fn node(&self, name: &str) -> Value {
        self.send("GET", &format!("/api/v1/nodes/{name}"), &Value::Null)
            .1
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Whatever the agent made that no test asked for.
            self.objects("bootimagereports");
            self.objects("events");
        }
        let made = self.made.borrow();
        for path in made.iter().rev() {
            let request = Request {
                method: "DELETE",
                path: path.clone(),
                body: Vec::new(),
            };
            let done = self.runtime.block_on(self.transport.send(&request));
            if !done
                .as_ref()
                .is_ok_and(|response| response.status < 300 || response.status == 404)
            {
                eprintln!("cluster tests: {path} could not be deleted: {done:?}");
            }
        }
    }
}

/// The suite, started again before its namespace of the last run is gone.
#[test]
fn what_an_earlier_run_left_is_waited_for() {
    let server = ApiServer::start(Options::default());
    let dir = tempfile::tempdir().unwrap();
    server.write_kubeconfigs(dir.path());
    let real = Real::connect(dir.path().join("admin.kubeconfig").to_str().unwrap());
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "skewguard" } });
    let event: Value = serde_json::from_slice(&event("event-1").body).unwrap();
    for (collection, object, refusal) in [
        ("/api/v1/namespaces", &namespace, 409),
        (EVENTS, &event, 403),
    ] {
        server.terminate(1);
        real.make(collection, object);
        let answers: Vec<u16> = server
            .seen()
            .iter()
            .filter(|seen| seen.path == collection)
            .map(|seen| seen.status)
            .collect();
        assert_eq!(answers, [refusal, 201], "{collection}");
    }
}
