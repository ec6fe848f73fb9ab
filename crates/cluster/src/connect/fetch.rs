//! Reads lists of the cluster from its API server, page by page.

use super::server::{Response, Server};
use super::stranger::{self, stranger};
use crate::cluster::Cluster;
use crate::files::documents::add_page;
use crate::kinds::fields::{list_at, str_at, text_at};
use crate::kinds::groups::{CLUSTER_API_NAMESPACE, INFRASTRUCTURE, REPORTS_NAMESPACE, SECRET};
use crate::kinds::kind::Purpose;
use crate::kinds::kind::{Kind, Request};
use crate::kinds::kind_table::asked_for;
use crate::kinds::machine::Machine;
use crate::text::printable;
use crate::unread::Unread;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Cluster of a page.
const PAGE: usize = 250;

/// The most pages of one list. A server may give fewer objects a page than are asked for.
const MAX_PAGES: usize = 5_000;

/// The longest time that reading may take altogether.
pub const LONGEST: Duration = Duration::from_secs(600);

/// How often a request is tried whose failure may pass.
const ATTEMPTS: u32 = 5;

/// The longest wait between two attempts, whatever the server asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What a 401 means.
const NOT_ACCEPTED: &str = "401: the server does not accept the credentials of the kubeconfig";

/// Why a path could not be read.
enum FetchError {
    /// The kind is not installed, or the object is not there.
    Absent,
    /// The continue token is too old; with a new one, if the server gives one.
    Expired(Option<String>),
    /// The account may not read it.
    Forbidden(String),
    /// Any other reason, for a person.
    Failed(String),
    /// Nothing at all can be read: the server cannot be reached, or does not accept the
    /// credentials.
    Fatal(String),
}

/// How far the reading is.
#[derive(Debug)]
pub enum FetchProgress<'a> {
    /// So many objects of a resource were read.
    Read(&'a str, usize),
    /// A request failed, and is tried again.
    Again(&'a str),
}

/// The kinds that say how a cluster is set up.
pub const SETTINGS: [&str; 4] = [
    "ClusterVersion",
    "MachineConfiguration",
    "MachineConfigPool",
    "OSImageStream",
];

/// Reads everything, or objects of these kinds only; `watch` is told of each page, and of each
/// request that failed and is tried again.
///
/// # Errors
/// The server cannot be reached, is no API server, does not accept the credentials, or lets them read
/// nothing.
pub async fn fetch(
    server: &Server,
    objects: &mut Cluster,
    kinds: Option<&[&str]>,
    watch: &mut dyn FnMut(FetchProgress<'_>),
) -> Result<Vec<Unread>, String> {
    let mut reader = ListReader::new(server, objects, watch);
    reader.greet().await?;
    let is_wanted = |kind: &&Kind| kinds.is_none_or(|kinds| kinds.contains(&kind.kind));
    for resource in asked_for(Purpose::Sets).filter(is_wanted) {
        let before = reader.unread.len();
        reader.kind(resource).await?;
        if let (SECRET, [name]) = (resource.kind, &*resource.names) {
            for unread in reader.unread.iter_mut().skip(before) {
                unread.what = format!("Secret {name}");
                unread.estimate();
            }
        }
    }
    if reader.objects.has_cluster_api() {
        let read = reader.infrastructure().await;
        reader.note(read, INFRASTRUCTURE.to_owned(), false)?;
    }
    if kinds.is_none() {
        reader.pool_configs().await?;
        reader.served_configs().await?;
    }
    match reader.unread.first() {
        Some(first) if reader.forbidden == reader.unread.len() && reader.objects.count == 0 => {
            Err(format!(
                "this account may read nothing that the audit reads: {}; `oc skewguard render manifests --auditor` prints the ClusterRole that it lacks",
                first.why
            ))
        }
        _ => Ok(reader.unread),
    }
}

/// Reads the kinds that say beside why a machine is no Node.
///
/// # Errors
/// The server cannot be reached any more.
pub async fn fetch_for_nodes(
    server: &Server,
    objects: &mut Cluster,
    watch: &mut dyn FnMut(FetchProgress<'_>),
) -> Result<Vec<Unread>, String> {
    let mut reader = ListReader::new(server, objects, watch);
    for resource in asked_for(Purpose::Nodes).filter(|kind| kind.purpose == Purpose::Nodes) {
        reader.kind(resource).await?;
    }
    Ok(reader.unread)
}

/// Reads one list or object more.
///
/// # Errors
/// The server cannot be reached any more.
pub async fn fetch_more(
    server: &Server,
    objects: &mut Cluster,
    request: &Request,
    watch: &mut dyn FnMut(FetchProgress<'_>),
) -> Result<Vec<Unread>, String> {
    let mut reader = ListReader::new(server, objects, watch);
    let read = reader.request(request).await;
    reader.note(read, request.name.clone(), false)?;
    Ok(reader.unread)
}

/// Reads a text, such as a pod's log; `None` where it is not there.
///
/// # Errors
/// It cannot be read.
pub async fn fetch_text(
    server: &Server,
    path: &str,
    watch: &mut dyn FnMut(FetchProgress<'_>),
) -> Result<Option<Vec<u8>>, String> {
    let mut objects = Cluster::default();
    match ListReader::new(server, &mut objects, watch).get(path).await {
        Ok(body) => Ok(Some(body)),
        Err(FetchError::Absent) => Ok(None),
        Err(FetchError::Failed(why) | FetchError::Forbidden(why) | FetchError::Fatal(why)) => {
            Err(why)
        }
        Err(FetchError::Expired(_)) => Err("it is gone".to_owned()),
    }
}

struct ListReader<'a> {
    deadline: Instant,
    server: &'a Server,
    objects: &'a mut Cluster,
    watch: &'a mut dyn FnMut(FetchProgress<'_>),
    /// The last path failed however often it was tried: the next one is tried once.
    is_down: bool,
    unread: Vec<Unread>,
    /// How many of these the account may not read.
    forbidden: usize,
}

impl<'a> ListReader<'a> {
    fn new(
        server: &'a Server,
        objects: &'a mut Cluster,
        watch: &'a mut dyn FnMut(FetchProgress<'_>),
    ) -> Self {
        Self {
            deadline: Instant::now() + LONGEST,
            is_down: false,
            server,
            objects,
            watch,
            unread: Vec::new(),
            forbidden: 0,
        }
    }

    /// Asks whether this is an API server, before anything is read of it.
    async fn greet(&mut self) -> Result<(), String> {
        match self.answer(stranger::PATH).await {
            Ok(answer) => match (stranger(answer.status, &answer.body), answer.status) {
                (Some(why), _) => Err(why),
                (None, 429 | 500..=599) => Err(refusal(&answer)),
                (None, 401) => Err(NOT_ACCEPTED.to_owned()),
                (None, _) => Ok(()),
            },
            Err(FetchError::Failed(why) | FetchError::Fatal(why)) => Err(why),
            Err(_) => Ok(()),
        }
    }

    /// Notes what could not be read; only what is fatal is an error.
    fn note(
        &mut self,
        read: Result<(), FetchError>,
        what: String,
        hides_sets: bool,
    ) -> Result<(), String> {
        let why = match read {
            Ok(()) | Err(FetchError::Absent) => return Ok(()),
            Err(FetchError::Fatal(why)) => return Err(why),
            Err(FetchError::Failed(why)) => why,
            Err(FetchError::Forbidden(why)) => {
                self.forbidden += 1;
                why
            }
            Err(FetchError::Expired(_)) => {
                "the list expired while it was read: try again".to_owned()
            }
        };
        self.unread
            .push(Unread::new(what, why).hiding_sets(hides_sets));
        Ok(())
    }

    /// Reads the objects of a kind, and notes those that could not be read; only what is fatal is an error.
    async fn kind(&mut self, kind: &Kind) -> Result<(), String> {
        let version = match kind.version {
            Some(version) => Ok(version.to_owned()),
            None => self
                .versions(kind.group)
                .await
                .map(|mut all| all.swap_remove(0)),
        };
        let version = match version {
            Ok(version) => version,
            Err(error) => return self.note(Err(error), kind.name(), kind.hides_sets),
        };
        for request in kind.requests(&version) {
            let namespace = request.namespace.as_deref();
            if namespace == Some(CLUSTER_API_NAMESPACE) && !self.has_cluster_api_machines() {
                continue;
            }
            // Where skewguard is not installed nothing is missed.
            let is_installed = !self.objects.reports.is_empty();
            let is_missed = is_installed || namespace != Some(REPORTS_NAMESPACE);
            let read = self.request(&request).await;
            let before = self.unread.len();
            self.note(read, request.name, kind.hides_sets)?;
            if !is_missed {
                self.unread.truncate(before);
            }
            if self.unread.len() > before {
                self.objects.not_given.insert((kind.group, kind.kind));
            }
        }
        Ok(())
    }

    /// Reads the ConfigMaps of `spec.config` of NodePools without a pin. Few accounts may: the audit says of the
    /// pool that they were not read.
    async fn pool_configs(&mut self) -> Result<(), String> {
        for (namespace, name) in self.objects.pool_configs_to_read() {
            let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
            self.if_allowed(&path, ("v1", "ConfigMap")).await?;
        }
        Ok(())
    }

    /// Reads the MachineConfigs that pools serve which are paused or roll out another one. Few accounts may: the
    /// audit says of the sets that they were not read.
    async fn served_configs(&mut self) -> Result<(), String> {
        for name in self.objects.served_configs_to_read() {
            let path = format!("/apis/machineconfiguration.openshift.io/v1/machineconfigs/{name}");
            let of = ("machineconfiguration.openshift.io/v1", "MachineConfig");
            self.if_allowed(&path, of).await?;
        }
        Ok(())
    }

    /// Reads an object that few accounts may read.
    async fn if_allowed(&mut self, path: &str, of: (&str, &'static str)) -> Result<(), String> {
        match self.get(path).await {
            Ok(body) => drop(self.add(&body, of)),
            Err(FetchError::Fatal(why)) => return Err(why),
            Err(_) => {}
        }
        Ok(())
    }

    fn has_cluster_api_machines(&self) -> bool {
        let mut machines = self.objects.all_machines();
        machines.any(Machine::is_of_cluster_api)
    }

    async fn request(&mut self, request: &Request) -> Result<(), FetchError> {
        let Request {
            name,
            path,
            api_version,
            kind,
            is_list,
            ..
        } = request;
        let of = (&**api_version, *kind);
        if *is_list {
            return self.pages(name, path, of).await;
        }
        let body = self.get(path).await?;
        self.add(&body, of).map(|_| ())
    }

    /// The versions of an API group, the preferred one first.
    async fn versions(&mut self, group: &str) -> Result<Vec<String>, FetchError> {
        let group = self.discovered(&format!("/apis/{group}")).await?;
        let preferred = str_at(&group, "/preferredVersion/version");
        let others = list_at(&group, "/versions")
            .iter()
            .map(|version| str_at(version, "/version"))
            .filter(|version| *version != preferred);
        std::iter::once(preferred)
            .chain(others)
            .map(plain)
            .collect()
    }

    async fn discovered(&mut self, path: &str) -> Result<Value, FetchError> {
        serde_json::from_slice(&self.get(path).await?).map_err(said)
    }

    /// Machines and templates of whatever providers are installed.
    async fn infrastructure(&mut self) -> Result<(), FetchError> {
        // Each provider has versions of its own in the one group.
        let mut seen = BTreeSet::new();
        for version in self.versions(INFRASTRUCTURE).await? {
            let api_version = format!("{INFRASTRUCTURE}/{version}");
            let list = self.discovered(&format!("/apis/{api_version}")).await?;
            for entry in list_at(&list, "/resources") {
                let (name, kind) = (
                    str_at(entry, "/name"),
                    str_at(entry, "/kind").unwrap_or_default(),
                );
                // `awsmachines/status` is part of another.
                let is_part = name.is_some_and(|name| name.contains('/'));
                let of_machines = ["Machine", "MachinePool", "MachineTemplate"]
                    .iter()
                    .any(|end| kind.ends_with(end));
                if is_part || !of_machines || !seen.insert(name.map(str::to_owned)) {
                    continue;
                }
                let name = plain(name)?;
                let read = self
                    .pages(
                        &name,
                        &format!("/apis/{api_version}/{name}"),
                        (&api_version, kind),
                    )
                    .await;
                self.note(read, format!("{name}.{INFRASTRUCTURE}"), false)
                    .map_err(FetchError::Fatal)?;
            }
        }
        Ok(())
    }

    async fn pages(&mut self, name: &str, path: &str, of: (&str, &str)) -> Result<(), FetchError> {
        let (mut next, mut expired, before) = (String::new(), false, self.objects.count);
        for _ in 0..MAX_PAGES {
            let token =
                percent_encoding::utf8_percent_encode(&next, percent_encoding::NON_ALPHANUMERIC);
            let mark = if path.contains('?') { '&' } else { '?' };
            let page = if next.is_empty() {
                format!("{path}{mark}limit={PAGE}")
            } else {
                format!("{path}{mark}limit={PAGE}&continue={token}")
            };
            next = match self.get(&page).await {
                Ok(body) => {
                    let count = self.objects.count;
                    let token = self.add(&body, of)?;
                    if !token.is_empty() && (token == next || self.objects.count == count) {
                        return Err(FetchError::Failed(
                            "the server's list has no end: a page is empty or names itself as the next one"
                                .to_owned(),
                        ));
                    }
                    token
                }
                // Cluster changed meanwhile may be missed or seen as they are now, which is as good
                // here.
                Err(FetchError::Expired(Some(token))) if !expired => {
                    expired = true;
                    token
                }
                Err(trouble) => return Err(trouble),
            };
            (self.watch)(FetchProgress::Read(name, self.objects.count - before));
            if next.is_empty() {
                return Ok(());
            }
        }
        Err(FetchError::Failed(format!(
            "the server's list has more than {MAX_PAGES} pages"
        )))
    }

    fn add(&mut self, body: &[u8], of: (&str, &str)) -> Result<String, FetchError> {
        let body = std::str::from_utf8(body).map_err(said)?;
        add_page(self.objects, body, Some(of)).map_err(said)
    }

    /// The content of one path.
    async fn get(&mut self, path: &str) -> Result<Vec<u8>, FetchError> {
        let answer = self.answer(path).await?;
        match answer.status {
            200 => Ok(answer.body),
            404 => Err(FetchError::Absent),
            410 => Err(FetchError::Expired(
                str_at(&status(&answer.body), "/metadata/continue").map(str::to_owned),
            )),
            401 => Err(FetchError::Fatal(NOT_ACCEPTED.to_owned())),
            403 => Err(FetchError::Forbidden(refusal(&answer))),
            _ => Err(FetchError::Failed(refusal(&answer))),
        }
    }

    /// The answer to one path. A failure that may pass is tried again, as long as one request may take.
    async fn answer(&mut self, path: &str) -> Result<Response, FetchError> {
        let end = Instant::now() + self.server.timeout();
        let mut attempt = 0;
        loop {
            if Instant::now() >= self.deadline {
                return Err(FetchError::Failed(format!(
                    "reading the cluster took longer than {} minutes",
                    LONGEST.as_secs() / 60
                )));
            }
            attempt += 1;
            let within = end.saturating_duration_since(Instant::now());
            let answer = self.server.get(path, within).await;
            let (why, wait) = match &answer {
                Ok(answer) if matches!(answer.status, 429 | 500..=599) => {
                    (refusal(answer), answer.retry_after)
                }
                Err(error) if error.is_passing => (error.to_string(), None),
                _ => {
                    self.is_down &= answer.is_err();
                    return answer.map_err(|error| FetchError::Fatal(error.to_string()));
                }
            };
            let wait = wait.unwrap_or(Duration::from_millis(100) * 2_u32.pow(attempt));
            let wait = wait.min(LONGEST_WAIT);
            if attempt == ATTEMPTS || self.is_down || Instant::now() + wait >= end {
                self.is_down = true;
                return answer.map_err(|_| FetchError::Fatal(why));
            }
            (self.watch)(FetchProgress::Again(&why));
            tokio::time::sleep(wait).await;
        }
    }
}

fn said(error: impl Display) -> FetchError {
    FetchError::Failed(printable(&error.to_string()))
}

/// A name that goes into a path.
fn plain(name: Option<&str>) -> Result<String, FetchError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match name {
        Some(name) if name.len() <= 253 && name.bytes().all(is_plain) => Ok(name.to_owned()),
        _ => Err(FetchError::Failed(
            "the server names a resource that no server has".to_owned(),
        )),
    }
}

/// `403: machinesets is forbidden: ...`
fn refusal(response: &Response) -> String {
    match text_at(&status(&response.body), "/message") {
        Some(message) => format!("{}: {message}", response.status),
        None => format!(
            "{}; the response is not from a Kubernetes API server",
            response.status
        ),
    }
}

/// A `Status` of the API server; null where it is none.
fn status(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}
