//! The server's life: options, start, what it saw, stop.

use super::fault::Fault;
use super::lists::Lists;
use super::objects::Cluster;
use super::pki::{Key, Pair, Pki, Validity};
use super::rbac::Rbac;
use super::route::{Answer, Asked, answer};
use super::{connection, identity};
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::{TlsAcceptor, rustls};

/// TLS versions offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    Any,
    Only12,
    Only13,
    /// No key exchange but X25519, which no profile of OpenShift asks for.
    OnlyX25519,
}

#[derive(Debug, Clone)]
pub struct Options {
    /// Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Host that kubeconfigs name, and that the certificate is for.
    pub public: String,
    /// More names for the certificate.
    pub names: Vec<String>,
    pub key: Key,
    pub validity: Validity,
    pub tls: Tls,
    /// The CRD is installed.
    pub crd: bool,
    /// The Roles are.
    pub granted: bool,
    /// The one Node that has joined.
    pub node: String,
    /// Faults to begin with.
    pub faults: Vec<Fault>,
    /// What befalls every request whose path has such a part.
    pub broken: Vec<(&'static str, Fault)>,
    /// Requests answered in a second; what is beyond gets a 429 with `Retry-After: 1`, as from API
    /// priority and fairness.
    pub rate: Option<u32>,
    /// Every answer takes so long.
    pub delay: Duration,
    /// Every second request is answered with a 502 or 503, or not at all.
    pub half_broken: bool,
    /// What the administrator can read beside the objects that agents make.
    pub lists: Lists,
    /// Connections are refused for so long.
    pub refuse_for: Duration,
    /// Where requests are logged, one JSON line each.
    pub log: Option<PathBuf>,
    /// The directory with crd.yaml, role.yaml and quota.yaml; the admission policies are in
    /// `admission` beside it.
    pub manifests: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            public: "127.0.0.1".to_owned(),
            names: Vec::new(),
            key: Key::P256,
            validity: Validity::Good,
            tls: Tls::Any,
            crd: true,
            granted: true,
            node: "worker-0".to_owned(),
            faults: Vec::new(),
            broken: Vec::new(),
            rate: None,
            delay: Duration::ZERO,
            half_broken: false,
            lists: Lists::default(),
            refuse_for: Duration::ZERO,
            log: None,
            manifests: super::repository().join("dist/manifests/base"),
        }
    }
}

/// One request as it was seen.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Logged {
    /// When it was answered: seconds since the epoch.
    pub time: f64,
    /// Empty where the credentials are not known, or TLS failed.
    pub user: String,
    pub method: String,
    pub path: String,
    pub host: String,
    pub content_type: String,
    /// 0 where there was no answer.
    pub status: u16,
    pub body: Value,
    pub remarks: Vec<String>,
}

/// What the connections share.
pub struct Shared {
    cluster: Mutex<Cluster>,
    rbac: Rbac,
    faults: Mutex<VecDeque<Fault>>,
    broken: Vec<(&'static str, Fault)>,
    rate: Option<u32>,
    pub delay: Duration,
    half_broken: bool,
    asked: Mutex<usize>,
    /// The second that requests are counted in, and how many were answered.
    second: Mutex<(Instant, u32)>,
    seen: Mutex<Vec<Logged>>,
    log: Option<PathBuf>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Takes the next fault, if it is of this kind.
    pub fn next_fault(&self, kind: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let mut faults = lock(&self.faults);
        if faults.front().is_some_and(kind) {
            faults.pop_front()
        } else {
            None
        }
    }

    /// The fault of a path.
    pub fn fault_of(&self, path: &str) -> Option<Fault> {
        let mut all = self.broken.iter();
        let found = all.find(|(part, _)| path.contains(part));
        found.map(|(_, fault)| fault.clone())
    }

    /// Whether this request is beyond the rate; then a client is asked to come again in a second.
    pub fn is_beyond_rate(&self) -> bool {
        let Some(rate) = self.rate else { return false };
        let mut second = lock(&self.second);
        if second.0.elapsed() >= Duration::from_secs(1) {
            *second = (Instant::now(), 0);
        }
        second.1 += 1;
        second.1 > rate
    }

    /// A fault for every second request, where that is wanted.
    pub fn turns_bad(&self) -> Option<Fault> {
        let mut asked = lock(&self.asked);
        *asked += 1;
        let bad = [
            Fault::Status {
                code: 503,
                retry_after: Some(0),
            },
            Fault::Close,
            Fault::Page(502),
            Fault::Reset,
        ];
        bad.get(*asked / 2 % bad.len())
            .filter(|_| self.half_broken && *asked % 2 == 1)
            .cloned()
    }

    pub fn answer(&self, asked: &Asked) -> Answer {
        answer(&mut lock(&self.cluster), &self.rbac, asked)
    }

    pub fn log(&self, mut entry: Logged) {
        entry.time = UNIX_EPOCH
            .elapsed()
            .map(|since| since.as_secs_f64())
            .unwrap_or_default();
        let mut seen = lock(&self.seen);
        if let Some(path) = &self.log {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            writeln!(file, "{}", serde_json::to_string(&entry).unwrap()).unwrap();
        }
        seen.push(entry);
    }

    pub fn log_tls_failure(&self, error: &str) {
        self.log(Logged {
            remarks: vec![format!("no TLS: {error}")],
            ..Logged::default()
        });
    }
}

/// A running server; it ends when dropped.
pub struct ApiServer {
    pub address: SocketAddr,
    pub options: Options,
    pki: Pki,
    shared: Arc<Shared>,
    up: watch::Sender<Option<bool>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl ApiServer {
    pub fn start(options: Options) -> Self {
        let pki = Pki::new(options.key);
        let mut names = vec![options.public.clone()];
        names.extend(options.names.clone());
        let tls = acceptor(
            &pki,
            &pki.server(&names, options.key, options.validity),
            options.tls,
        );
        let mut cluster = Cluster::new(&options.manifests, options.crd, &options.node);
        cluster.lists = options.lists.clone();
        let shared = Arc::new(Shared {
            cluster: Mutex::new(cluster),
            rbac: Rbac::read(&options.manifests.join("role.yaml"), options.granted),
            faults: Mutex::new(options.faults.clone().into()),
            broken: options.broken.clone(),
            rate: options.rate,
            delay: options.delay,
            half_broken: options.half_broken,
            asked: Mutex::default(),
            second: Mutex::new((Instant::now(), 0)),
            seen: Mutex::default(),
            log: options.log.clone(),
        });
        // Bound at once, so that the port is known; a server that is to refuse lets go of it again.
        let socket = std::net::TcpListener::bind(options.listen)
            .unwrap_or_else(|error| panic!("{}: {error}", options.listen));
        let address = socket.local_addr().unwrap();
        let starts_up = options.refuse_for.is_zero();
        let socket = starts_up.then_some(socket);
        let (up, is_up) = watch::channel(Some(starts_up));
        let thread = std::thread::spawn({
            let (shared, refuse_for, up) = (Arc::clone(&shared), options.refuse_for, up.clone());
            move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async move {
                    if !starts_up {
                        tokio::spawn(async move {
                            tokio::time::sleep(refuse_for).await;
                            let _ = up.send(Some(true));
                        });
                    }
                    listen(socket, address, tls, shared, is_up).await;
                });
            }
        });
        Self {
            address,
            options,
            pki,
            shared,
            up,
            thread: Some(thread),
        }
    }

    /// `https://PUBLIC:PORT`.
    pub fn url(&self) -> String {
        let host = &self.options.public;
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.clone()
        };
        format!("https://{host}:{}", self.address.port())
    }

    /// Puts a fault behind those that wait.
    pub fn fault(&self, fault: Fault) {
        lock(&self.shared.faults).push_back(fault);
    }

    /// Refuses the next objects, so many of them, as of a namespace that is still being deleted.
    pub fn terminate(&self, objects: u32) {
        lock(&self.shared.cluster).terminating = objects;
    }

    /// Refuses connections and cuts those that are, or takes them again.
    pub fn set_up(&self, up: bool) {
        let _ = self.up.send(Some(up));
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Logged> {
        lock(&self.shared.seen).clone()
    }

    /// Namespaces of OpenShift's own that are not there, as in a hosted cluster.
    pub fn lacks_namespaces(&self, names: &[&str]) {
        lock(&self.shared.cluster).applied.lacks = names.iter().map(|&name| name.into()).collect();
    }

    /// The paths of what admins applied.
    pub fn applied(&self) -> Vec<String> {
        lock(&self.shared.cluster).applied.paths()
    }

    /// The answer to a request of the administrator, without the network.
    pub fn ask(&self, method: &str, uri: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let answer = self.shared.answer(&Asked {
            method: method.to_owned(),
            uri: uri.to_owned(),
            content_type: content_type.to_owned(),
            accept: "application/json".to_owned(),
            authorization: Some(format!("Bearer {}", identity::ADMIN_TOKEN)),
            certificate: None,
            body: body.to_string().into_bytes(),
        });
        (answer.status, answer.body)
    }

    /// The objects of one plural, such as `events`.
    pub fn objects(&self, plural: &str) -> Vec<Value> {
        lock(&self.shared.cluster)
            .stored
            .get(plural)
            .map(|objects| objects.values().cloned().collect())
            .unwrap_or_default()
    }

    pub fn ca_pem(&self) -> String {
        self.pki.ca_pem()
    }

    /// A client certificate for this user.
    pub fn client(&self, user: &str, group: &str) -> Pair {
        self.pki.client(user, group)
    }

    /// `kubeconfig` (bootstrap, token), `kubelet.kubeconfig` with `kubelet-client-current.pem`,
    /// `admin.kubeconfig`, `ca.crt`, all in `dir`. The kubelet's kubeconfig names its PEM where a
    /// node has it, in /var/lib/kubelet/pki.
    pub fn write_kubeconfigs(&self, dir: &Path) {
        let write = |name: &str, text: String| std::fs::write(dir.join(name), text).unwrap();
        write("ca.crt", self.ca_pem());
        write(
            "kubeconfig",
            self.kubeconfig(&format!("token: {}", identity::BOOTSTRAP_TOKEN)),
        );
        write(
            "admin.kubeconfig",
            self.kubeconfig(&format!("token: {}", identity::ADMIN_TOKEN)),
        );
        let pem = "/var/lib/kubelet/pki/kubelet-client-current.pem";
        write(
            "kubelet.kubeconfig",
            self.kubeconfig(&format!("client-certificate: {pem}\n    client-key: {pem}")),
        );
        let pair = self.client(
            &format!("system:node:{}", self.options.node),
            "system:nodes",
        );
        write(
            "kubelet-client-current.pem",
            format!("{}{}", pair.certificate, pair.key_sec1()),
        );
    }

    /// A kubeconfig in the shape of a node's, with these lines for the user.
    pub fn kubeconfig(&self, user: &str) -> String {
        let ca = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, self.ca_pem());
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: {ca}\n    server: {}\n  name: local\ncontexts:\n\
             - context:\n    cluster: local\n    user: kubelet\n  name: kubelet\ncurrent-context: kubelet\npreferences: {{}}\nusers:\n\
             - name: kubelet\n  user:\n    {user}\n",
            self.url()
        )
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        let _ = self.up.send(None);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn acceptor(pki: &Pki, pair: &Pair, tls: Tls) -> TlsAcceptor {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    let mut provider = rustls::crypto::ring::default_provider();
    if tls == Tls::OnlyX25519 {
        provider.kx_groups = vec![rustls::crypto::ring::kx_group::X25519];
    }
    let provider = Arc::new(provider);
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(pki.ca_pem().as_bytes()).unwrap())
        .unwrap();
    let clients = rustls::server::WebPkiClientVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::clone(&provider),
    );
    let versions: &[&rustls::SupportedProtocolVersion] = match tls {
        Tls::Any | Tls::OnlyX25519 => rustls::ALL_VERSIONS,
        Tls::Only12 => &[&rustls::version::TLS12],
        Tls::Only13 => &[&rustls::version::TLS13],
    };
    let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()];
    // Unlike with_single_cert, this does not mind a key that is not the certificate's.
    let key = provider
        .key_provider
        .load_private_key(PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap())
        .unwrap();
    let certified = rustls::sign::CertifiedKey::new(chain, key);
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_client_cert_verifier(clients.allow_unauthenticated().build().unwrap())
        .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(certified)));
    TlsAcceptor::from(Arc::new(config))
}

/// Takes connections while up; `None` ends it. Going down, or ending, cuts every connection there
/// is.
async fn listen(
    first: Option<std::net::TcpListener>,
    address: SocketAddr,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    mut up: watch::Receiver<Option<bool>>,
) {
    let mut first = first;
    loop {
        let state = *up.borrow_and_update();
        match state {
            None => return,
            Some(false) => {
                first = None;
                if up.changed().await.is_err() {
                    return;
                }
            }
            Some(true) => {
                let listener = match first.take() {
                    Some(socket) => {
                        socket.set_nonblocking(true).unwrap();
                        TcpListener::from_std(socket).unwrap()
                    }
                    None => TcpListener::bind(address)
                        .await
                        .unwrap_or_else(|error| panic!("{address}: {error}")),
                };
                let mut connections = tokio::task::JoinSet::new();
                loop {
                    tokio::select! {
                        changed = up.changed() => {
                            if changed.is_err() || *up.borrow() != Some(true) {
                                break;
                            }
                        }
                        accepted = listener.accept() => {
                            if let Ok((tcp, _)) = accepted {
                                connections.spawn(connection::serve(tcp, tls.clone(), Arc::clone(&shared)));
                            }
                        }
                        Some(_) = connections.join_next(), if !connections.is_empty() => {}
                    }
                }
            }
        }
    }
}
