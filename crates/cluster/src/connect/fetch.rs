//! Reads lists of the cluster from its API server, page by page.

pub use super::server::LONGEST;
use super::server::{NoAnswerKind, Response, Server};
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
use crate::trouble::{Help, Trouble};
use crate::unread::Unread;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Objects of a page; fewer where they are so large that the answer would be longer than is read.
const PAGE: usize = 250;

/// The most pages, and the most objects, of one list. A server may give fewer objects a page than are
/// asked for.
const MAX_PAGES: usize = 5_000;
const MAX_LISTED: usize = 100_000;

/// After so many requests in a row without any answer the server is not asked any more.
const MOST_SILENT: usize = 3;

/// The most tries of a request whose failure may pass.
const ATTEMPTS: u32 = 5;

/// The longest wait between two attempts, whatever the server asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The meaning of a 401.
const NOT_ACCEPTED: &str = "401: the server does not accept the credentials of the kubeconfig";

/// The meaning of a 404 of what every API server has.
const NOT_THERE: &str =
    "404: the server says that it has none of this kind, which every API server has";

/// A path that could not be read.
enum FetchError {
    /// The kind is not installed, or the object is not there.
    Absent,
    /// The continue token is too old; with a new one, if the server gives one.
    Expired(Option<String>),
    /// The account may not read it.
    Forbidden(Trouble),
    /// The answer is longer than is read.
    TooLong(Trouble),
    /// Any other reason.
    Failed(Trouble),
}

impl FetchError {
    /// What is said of it; `None` where nothing is missing.
    fn trouble(self) -> Option<Trouble> {
        match self {
            Self::Absent => None,
            Self::Expired(_) => Some(Help::TryAgain.after("the list expired while it was read")),
            Self::Forbidden(why) | Self::TooLong(why) | Self::Failed(why) => Some(why),
        }
    }
}

/// Progress of the reading.
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
) -> Result<Vec<Unread>, Trouble> {
    let mut reader = ListReader::new(server, objects, watch);
    reader.greet().await?;
    let is_wanted = |kind: &&Kind| kinds.is_none_or(|kinds| kinds.contains(&kind.kind));
    for resource in asked_for(Purpose::Sets).filter(is_wanted) {
        let before = reader.unread.len();
        reader.kind(resource).await;
        if let (SECRET, [name]) = (resource.kind, &*resource.names) {
            for unread in reader.unread.iter_mut().skip(before) {
                unread.what = format!("Secret {name}");
                unread.is_estimated = true;
            }
        }
    }
    if reader.objects.has_cluster_api() {
        let read = reader.infrastructure().await;
        reader.note(read, INFRASTRUCTURE.to_owned(), false);
    }
    if kinds.is_none() {
        reader.pool_configs().await;
        reader.served_configs().await;
    }
    match reader.unread.first() {
        Some(first) if reader.forbidden == reader.unread.len() && reader.objects.count == 0 => {
            let what = format!(
                "this account may read nothing that the audit reads: {}",
                first.why
            );
            Err(Help::Rights.after(what))
        }
        _ => Ok(reader.unread),
    }
}

/// Reads the kinds that say beside why a machine is no Node.
pub async fn fetch_for_nodes(
    server: &Server,
    objects: &mut Cluster,
    watch: &mut dyn FnMut(FetchProgress<'_>),
) -> Vec<Unread> {
    let mut reader = ListReader::new(server, objects, watch);
    for resource in asked_for(Purpose::Nodes).filter(|kind| kind.purpose == Purpose::Nodes) {
        reader.kind(resource).await;
    }
    reader.unread
}

/// Reads one list or object more.
pub async fn fetch_more(
    server: &Server,
    objects: &mut Cluster,
    request: &Request,
    watch: &mut dyn FnMut(FetchProgress<'_>),
) -> Vec<Unread> {
    let mut reader = ListReader::new(server, objects, watch);
    let read = reader.request(request).await;
    reader.note(read, request.name.clone(), false);
    reader.unread
}

/// Reads a text, such as a pod's log; `None` where it is not there.
///
/// # Errors
/// It cannot be read.
pub async fn fetch_text(
    server: &Server,
    path: &str,
    watch: &mut dyn FnMut(FetchProgress<'_>),
) -> Result<Option<Vec<u8>>, Trouble> {
    let mut objects = Cluster::default();
    match ListReader::new(server, &mut objects, watch).get(path).await {
        Ok(body) => Ok(Some(body)),
        Err(error) => error.trouble().map_or(Ok(None), Err),
    }
}

/// The path of a page of a list; `next` is what the server gave for it, and empty for the first one.
pub(super) fn page(path: &str, limit: usize, next: &str) -> String {
    let mark = if path.contains('?') { '&' } else { '?' };
    let page = format!("{path}{mark}limit={limit}");
    match next {
        "" => page,
        next => format!(
            "{page}&continue={}",
            utf8_percent_encode(next, NON_ALPHANUMERIC)
        ),
    }
}

struct ListReader<'a> {
    server: &'a Server,
    objects: &'a mut Cluster,
    watch: &'a mut dyn FnMut(FetchProgress<'_>),
    unread: Vec<Unread>,
    /// Number of these that the account may not read.
    forbidden: usize,
}

impl<'a> ListReader<'a> {
    fn new(
        server: &'a Server,
        objects: &'a mut Cluster,
        watch: &'a mut dyn FnMut(FetchProgress<'_>),
    ) -> Self {
        Self {
            server,
            objects,
            watch,
            unread: Vec::new(),
            forbidden: 0,
        }
    }

    /// Asks whether this is an API server, before anything is read of it.
    async fn greet(&mut self) -> Result<(), Trouble> {
        match self.answer(stranger::PATH).await {
            Ok(answer) => match (stranger(answer.status, &answer.body), answer.status) {
                (Some(why), _) => Err(why),
                (None, 429 | 500..=599) => Err(refusal(&answer).into()),
                (None, 401) => Err(NOT_ACCEPTED.into()),
                (None, _) => Ok(()),
            },
            Err(FetchError::Failed(why) | FetchError::TooLong(why)) => Err(why),
            Err(_) => Ok(()),
        }
    }

    /// Notes what could not be read.
    fn note(&mut self, read: Result<(), FetchError>, what: String, hides_sets: bool) {
        let Err(error) = read else { return };
        self.forbidden += usize::from(matches!(error, FetchError::Forbidden(_)));
        let why = error.trouble();
        let unread = why.map(|why| Unread::new(what, why).hiding_sets(hides_sets));
        self.unread.extend(unread);
    }

    /// Reads the objects of a kind, and notes those that could not be read.
    async fn kind(&mut self, kind: &Kind) {
        let version = match kind.version {
            Some(version) => version.to_owned(),
            None => match self.versions(kind.group).await {
                Ok(mut all) => all.swap_remove(0),
                Err(error) => return self.note(Err(error), kind.name(), kind.hides_sets),
            },
        };
        for request in kind.requests(&version) {
            let namespace = request.namespace.as_deref();
            if namespace == Some(CLUSTER_API_NAMESPACE) && !self.has_cluster_api_machines() {
                continue;
            }
            // Where skewguard is not installed nothing is missed.
            let is_installed = !self.objects.reports.is_empty();
            let is_missed = is_installed || namespace != Some(REPORTS_NAMESPACE);
            let read = match self.request(&request).await {
                Err(FetchError::Absent) if kind.is_everywhere() => {
                    Err(FetchError::Failed(NOT_THERE.into()))
                }
                read => read,
            };
            let before = self.unread.len();
            self.note(read, request.name, kind.hides_sets);
            if !is_missed {
                self.unread.truncate(before);
            }
            if self.unread.len() > before {
                self.objects.not_given.insert((kind.group, kind.kind));
            }
        }
    }

    /// Reads the ConfigMaps of `spec.config` of NodePools without a pin. Few accounts may: the audit says of the
    /// pool that they were not read.
    async fn pool_configs(&mut self) {
        for (namespace, name) in self.objects.pool_configs_to_read() {
            let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
            self.if_allowed(&path, ("v1", "ConfigMap")).await;
        }
    }

    /// Reads the MachineConfigs that pools serve which are paused or roll out another one. Few accounts may: the
    /// audit says of the sets that they were not read.
    async fn served_configs(&mut self) {
        for name in self.objects.served_configs_to_read() {
            let path = format!("/apis/machineconfiguration.openshift.io/v1/machineconfigs/{name}");
            let of = ("machineconfiguration.openshift.io/v1", "MachineConfig");
            self.if_allowed(&path, of).await;
        }
    }

    /// Reads an object that few accounts may read.
    async fn if_allowed(&mut self, path: &str, of: (&str, &'static str)) {
        if let Ok(body) = self.get(path).await {
            let _ = self.add(&body, of);
        }
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
        serde_json::from_slice(&self.get(path).await?).map_err(other)
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
                self.note(read, format!("{name}.{INFRASTRUCTURE}"), false);
            }
        }
        Ok(())
    }

    async fn pages(&mut self, name: &str, path: &str, of: (&str, &str)) -> Result<(), FetchError> {
        let (mut next, mut limit, mut expired) = (String::new(), PAGE, false);
        let (before, mut tokens) = (self.objects.count, BTreeSet::new());
        for _ in 0..MAX_PAGES {
            next = match self.get(&page(path, limit, &next)).await {
                Ok(body) => {
                    limit = PAGE.min(limit + limit / 8 + 1);
                    let token = self.page(&body, of, &mut tokens)?;
                    if self.objects.count - before > MAX_LISTED {
                        let why =
                            format!("there are more than {MAX_LISTED}: only the first were read");
                        return Err(FetchError::Failed(why.into()));
                    }
                    token
                }
                Err(FetchError::TooLong(_)) if limit > 1 => {
                    limit /= 2;
                    continue;
                }
                // Objects that changed meanwhile may be missed or seen as they are now, which is as good
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
        let why = format!("the server's list has more than {MAX_PAGES} pages");
        Err(FetchError::Failed(why.into()))
    }

    /// Adds a page, and gives back the token of the next one; those of all before are known by their hashes.
    fn page(
        &mut self,
        body: &[u8],
        of: (&str, &str),
        tokens: &mut BTreeSet<u64>,
    ) -> Result<String, FetchError> {
        // Those that were not read before.
        let new = |objects: &Cluster| objects.count - objects.doubles;
        let before = new(self.objects);
        let token = self.add(body, of)?;
        let mut hasher = DefaultHasher::new();
        token.hash(&mut hasher);
        let is_known = !tokens.insert(hasher.finish());
        if !token.is_empty() && (is_known || new(self.objects) == before) {
            let why = "the server's list has no end: a page has nothing new, or names one as the next that was read before";
            return Err(FetchError::Failed(why.into()));
        }
        Ok(token)
    }

    fn add(&mut self, body: &[u8], of: (&str, &str)) -> Result<String, FetchError> {
        let body = std::str::from_utf8(body).map_err(other)?;
        let added = add_page(self.objects, body, Some(of));
        added.map_err(|trouble| FetchError::Failed(trouble.printable()))
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
            401 => Err(FetchError::Failed(NOT_ACCEPTED.into())),
            403 => Err(FetchError::Forbidden(refusal(&answer).into())),
            _ => Err(FetchError::Failed(refusal(&answer).into())),
        }
    }

    /// The answer to one path. A failure that may pass is tried again, as long as one request may take. What
    /// did not answer keeps no other request waiting for long: the command has one deadline, and after
    /// [`MOST_SILENT`] in a row nothing is asked any more.
    async fn answer(&mut self, path: &str) -> Result<Response, FetchError> {
        let Server {
            deadline,
            silent,
            is_down,
            ..
        } = self.server;
        if silent.get() == MOST_SILENT {
            let why =
                format!("not asked: the server did not answer {MOST_SILENT} requests before it");
            return Err(FetchError::Failed(why.into()));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let minutes = LONGEST.as_secs() / 60;
            let why = format!("not asked: reading the cluster took longer than {minutes} minutes");
            return Err(FetchError::Failed(why.into()));
        }
        let end = Instant::now() + self.server.timeout().min(left);
        let mut attempt = 0;
        let answer = loop {
            attempt += 1;
            let within = end.saturating_duration_since(Instant::now());
            let answer = self.server.get(path, within).await;
            let (why, wait) = match &answer {
                Ok(answer) if matches!(answer.status, 429 | 500..=599) => {
                    (refusal(answer), answer.retry_after)
                }
                Err(error) if error.kind == NoAnswerKind::Passing => {
                    (error.trouble.what.clone(), None)
                }
                _ => {
                    is_down.set(is_down.get() && answer.is_err());
                    break answer;
                }
            };
            let wait = wait.unwrap_or(Duration::from_millis(100) * 2_u32.pow(attempt));
            let wait = wait.min(LONGEST_WAIT);
            if attempt == ATTEMPTS || is_down.get() || Instant::now() + wait >= end {
                is_down.set(true);
                break answer;
            }
            (self.watch)(FetchProgress::Again(&why));
            tokio::time::sleep(wait).await;
        };
        let answer = answer.map_err(|error| match error.kind {
            NoAnswerKind::TooLong => FetchError::TooLong(error.trouble),
            _ => FetchError::Failed(error.trouble),
        });
        let is_silent = matches!(answer, Err(FetchError::Failed(_)));
        silent.set(if is_silent { silent.get() + 1 } else { 0 });
        answer
    }
}

fn other(error: impl Display) -> FetchError {
    FetchError::Failed(printable(&error.to_string()).into())
}

/// A name that goes into a path.
fn plain(name: Option<&str>) -> Result<String, FetchError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match name {
        Some(name) if name.len() <= 253 && name.bytes().all(is_plain) => Ok(name.to_owned()),
        _ => Err(FetchError::Failed(
            "the server names a resource that no server has".into(),
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
