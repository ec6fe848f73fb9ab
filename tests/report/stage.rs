//! The stage for the driver: a cluster of a few lines, a node's files, and a log.

use crate::inside::report::sample;
use crate::node::Root;
use crate::report::answer::Channel;
use crate::report::client::Client;
use crate::report::output::{ClusterKnows, Level, Output};
use crate::report::run::{End, Env, run};
use crate::report::stall::Progress;
use crate::transport::{Failure, Request, Response, TransportError};
use crate::verdict::Verdict;
use serde_json::Value;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};
use tokio::time::Instant;

pub(crate) type Reply = Result<Response, TransportError>;
type Rule = dyn Fn(Duration, &str) -> Reply + Send + Sync;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub(crate) at: Duration,
    pub(crate) channel: Channel,
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// Answers by rule, and keeps what arrived.
#[derive(Clone)]
pub(crate) struct Cluster {
    rule: Arc<Rule>,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    pub(crate) node: Arc<Mutex<Option<&'static str>>>,
    started: Instant,
    /// How long an answer takes.
    pub(crate) patience: Duration,
}

impl Cluster {
    pub(crate) fn new(rule: impl Fn(Duration, &str) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            rule: Arc::new(rule),
            arrived: Arc::default(),
            node: Arc::default(),
            started: Instant::now(),
            patience: Duration::from_millis(10),
        }
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    pub(crate) fn forget(&self) {
        self.arrived.lock().unwrap().clear();
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.arrived()
            .into_iter()
            .map(|arrived| arrived.path)
            .collect()
    }
}

impl Client for Cluster {
    fn send(
        &self,
        channel: Channel,
        request: Request,
    ) -> impl Future<Output = Reply> + Send + 'static {
        let (cluster, at) = (self.clone(), self.started.elapsed());
        async move {
            tokio::time::sleep(cluster.patience).await;
            let body = if request.body.is_empty() {
                Value::Null
            } else {
                serde_json::from_slice(&request.body).unwrap()
            };
            cluster.arrived.lock().unwrap().push(Arrived {
                at,
                channel,
                path: request.path.clone(),
                body,
            });
            (cluster.rule)(at, &request.path)
        }
    }

    fn node_name(&self) -> Result<String, String> {
        self.node
            .lock()
            .unwrap()
            .map(str::to_owned)
            .ok_or_else(|| "/var/lib/kubelet/kubeconfig: is odd".to_owned())
    }
}

/// No server there.
pub(crate) fn refused() -> Reply {
    Err(TransportError {
        server: Some("https://api-int.c1.example.com:6443".to_owned()),
        failure: Failure::Refused,
    })
}

pub(crate) fn status(status: u16) -> Reply {
    let body = match status {
        200 | 201 => r#"{"metadata":{"name":"a","uid":"uid-1"}}"#,
        403 => {
            r#"{"kind":"Status","message":"a is forbidden: User \"b\" cannot create resource \"a\"","reason":"Forbidden"}"#
        }
        _ => r#"{"kind":"Status","message":"no","reason":"No"}"#,
    };
    Ok(Response {
        status,
        retry_after: None,
        body: body.into(),
    })
}

#[derive(Clone, Default)]
pub(crate) struct Log {
    pub(crate) lines: Arc<Mutex<Vec<(Level, String)>>>,
    pub(crate) knows: Arc<Mutex<Vec<ClusterKnows>>>,
    /// How often the console will be busy.
    pub(crate) busy: Arc<Mutex<usize>>,
    /// The phases in which the first boot hung; `None` where it went on.
    phases: Arc<Mutex<Vec<Option<&'static str>>>>,
    /// The entries about them for the journal.
    pub(crate) entries: Arc<Mutex<Vec<String>>>,
    /// The notes about them for the console.
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
    /// When the hold was looked at.
    pub(crate) looks: Arc<Mutex<Vec<Instant>>>,
    /// Each address that the console was told.
    pub(crate) addresses: Arc<Mutex<Vec<Option<String>>>>,
}

impl Log {
    pub(crate) fn phases(&self) -> Vec<Option<&'static str>> {
        self.phases.lock().unwrap().clone()
    }
}

impl Output for Log {
    fn line(&mut self, level: Level, line: &str) {
        self.lines.lock().unwrap().push((level, line.to_owned()));
    }
    fn cluster_knows(&mut self, _: &Verdict, knows: &ClusterKnows, address: Option<&str>) -> bool {
        let left = self.busy.lock().unwrap().checked_sub(1);
        if let Some(left) = left {
            *self.busy.lock().unwrap() = left;
            return false;
        }
        let mut known = self.knows.lock().unwrap();
        if known.last().unwrap_or(&ClusterKnows::NotYet) != knows {
            known.push(knows.clone());
        }
        self.addresses
            .lock()
            .unwrap()
            .push(address.map(str::to_owned));
        true
    }
    fn look_at_the_hold(&mut self, _: &[String]) {
        self.looks.lock().unwrap().push(Instant::now());
    }
    fn first_boot(&mut self, progress: Option<&Progress>) {
        let phase = progress.map(|progress| progress.phase.as_str());
        self.phases.lock().unwrap().push(phase);
        let entries = progress.map(Progress::sentence);
        self.entries.lock().unwrap().extend(entries);
        let notes = progress.map(|progress| progress.note(""));
        self.notes.lock().unwrap().extend(notes);
    }

    fn remediation(&self, _: &Verdict) -> String {
        "Set a newer AMI.".to_owned()
    }
}

/// A node's files.
pub(crate) struct Node {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) root: Root,
    made: Instant,
}

impl Node {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let node = Self {
            dir,
            root,
            made: Instant::now(),
        };
        node.write("/proc/sys/kernel/random/boot_id", "boot-1\n");
        node
    }

    pub(crate) fn refused() -> Self {
        let node = Self::new();
        node.write("/run/skewguard/verdict.json", sample::REFUSED);
        node.write("/run/skewguard/refused", "");
        node
    }

    pub(crate) fn with_verdict(verdict: &Verdict) -> Self {
        let node = Self::new();
        node.write(
            "/run/skewguard/verdict.json",
            &serde_json::to_string(verdict).unwrap(),
        );
        node
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.root.write(path, text.as_bytes(), 0o644).unwrap();
    }

    /// Writes a file of this installation below /var.
    pub(crate) fn keep(&self, path: &str, text: &str) {
        let mut kept: Value = serde_json::from_str(text).unwrap();
        let id = crate::node::Node::read(&self.root).installation_id();
        kept["installation"] = id.into();
        self.write(path, &kept.to_string());
    }

    pub(crate) fn parts<'a>(
        &'a self,
        cluster: &Cluster,
        log: &Log,
        now: &'a dyn Fn() -> std::time::SystemTime,
    ) -> Env<'a, Cluster, Log> {
        Env {
            root: &self.root,
            identity: sample::identity(),
            refresh: &|_| {},
            client: cluster.clone(),
            output: log.clone(),
            now,
            systemd: &|| None,
            journal: &|_| None,
            chance: &|| 0.5,
            once: false,
        }
    }

    /// Runs the report for that long; `None` if it has not ended by then.
    pub(crate) async fn run(&self, cluster: &Cluster, log: &Log, time: Duration) -> Option<End> {
        let now = || UNIX_EPOCH + Duration::from_secs(1_772_323_200) + self.made.elapsed();
        tokio::time::timeout(time, run(self.parts(cluster, log, &now)))
            .await
            .ok()
    }
}
