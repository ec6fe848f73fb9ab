//! Every node of a large cluster is refused at the same moment: what that does to its API server.
//!
//! `cargo run --release --example storm [NODES] [RATE]`: NODES (5,000) run the agent's own driver,
//! each with its own TLS connections, against the test API server, which answers RATE (400)
//! requests a second and sends the others away with 429. Bounded to five minutes. Prints the
//! figures of docs/dev/benchmarks.md; exit status 1 where one of them is over its budget.
//!
//! The server and every 5,000 nodes are processes of their own: connections are open files, and a
//! process may have only so many.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "../tests/support/apiserver/mod.rs"]
mod apiserver;

use apiserver::{ApiServer, Options};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use skewguard::kubeconfig::{Allow, BOOTSTRAP_KUBECONFIG};
use skewguard::node::Root;
use skewguard::node::identity::Identity;
use skewguard::report::answer::Channel;
use skewguard::report::client::{Client, Network};
use skewguard::report::output::{ClusterKnows, Level, Output};
use skewguard::report::random::chance;
use skewguard::report::run::{Env, run};
use skewguard::report::stall::Progress;
use skewguard::transport::{Limits, Request, Response, TransportError};
use skewguard::verdict::Verdict;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::rc::Rc;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

/// However it goes, it ends.
const DEADLINE: Duration = Duration::from_secs(300);

/// What budgets are about.
const FIRST_MINUTE: Duration = Duration::from_secs(60);

/// They take 15,100 open files.
const NODES_OF_A_PROCESS: usize = 5000;

/// Design: at most so many requests of one node on one channel in the first minute.
const REQUESTS_MAX: usize = 3;

/// One request of one node.
#[derive(Serialize, Deserialize)]
struct Sent {
    node: usize,
    is_report: bool,
    at: Duration,
    /// `None` where no answer came.
    status: Option<u16>,
}

/// The agent's own network, watched.
#[derive(Clone, Copy)]
struct Watched {
    node: usize,
    network: &'static Network<'static>,
    sent: &'static Mutex<Vec<Sent>>,
    started: Instant,
}

impl Client for Watched {
    fn send(
        &self,
        channel: Channel,
        request: Request,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send + 'static {
        let (this, at) = (*self, self.started.elapsed());
        let is_report = request.path.ends_with("bootimagereports");
        let answer = self.network.send(channel, request);
        async move {
            let answer = answer.await;
            let status = answer.as_ref().ok().map(|response| response.status);
            this.sent.lock().unwrap().push(Sent {
                node: this.node,
                is_report,
                at,
                status,
            });
            answer
        }
    }

    fn node_name(&self) -> Result<String, String> {
        Err("it never joins".to_owned())
    }
}

/// When each node's console could say that the cluster knows, and the reasons for failures, each
/// once.
#[derive(Clone)]
struct Console {
    told: Rc<RefCell<Vec<Duration>>>,
    reasons: Rc<RefCell<BTreeSet<String>>>,
    started: Instant,
    is_told: bool,
}

impl Output for Console {
    fn line(&mut self, level: Level, line: &str) {
        if level != Level::Info && self.reasons.borrow().len() < 20 {
            self.reasons.borrow_mut().insert(
                line.split("; next try")
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
    }
    fn cluster_knows(&mut self, _: &Verdict, knows: &ClusterKnows, _: Option<&str>) -> bool {
        if matches!(knows, ClusterKnows::Told(_)) && !std::mem::replace(&mut self.is_told, true) {
            self.told.borrow_mut().push(self.started.elapsed());
        }
        true
    }
    fn first_boot(&mut self, _: Option<&Progress>) {}
    fn remediation(&self, _: &Verdict) -> String {
        "Set a newer AMI in the MachineSet, then delete this Machine.".to_owned()
    }
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A refused node of its own tree.
fn node(dir: &Path, kubeconfig: &str, verdict: &str) -> &'static Root {
    std::fs::create_dir(dir).unwrap();
    let root = leak(Root::open(dir).unwrap());
    for (path, text) in [
        (BOOTSTRAP_KUBECONFIG, kubeconfig),
        ("/run/skewguard/verdict.json", verdict),
        ("/run/skewguard/refused", ""),
    ] {
        root.write(path, text.as_bytes(), 0o600).unwrap();
    }
    root
}

/// This program once more, as the server or as some of the nodes.
struct Part {
    process: Child,
    out: BufReader<ChildStdout>,
}

/// What makes this program the server, and what makes it nodes.
const SERVE: &str = "--serve";
const BE_NODES: &str = "--nodes";

impl Part {
    /// Started, and ready.
    fn start(role: &str, dir: &Path, numbers: [usize; 2]) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg(role)
            .arg(dir)
            .args(numbers.map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{role}");
        Self { process, out }
    }

    /// Ends its standard input: the server stops, nodes begin.
    fn go(&mut self) {
        drop(self.process.stdin.take());
    }

    /// What it found, once it is over.
    fn found<T: DeserializeOwned>(&mut self) -> T {
        serde_json::from_reader(&mut self.out).unwrap()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// May have as many open files as it can. Fails where these are fewer than `files`: what is refused
/// for want of them would measure this program.
fn open_files(files: usize) {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    assert!(
        files as u64 <= hard,
        "{files} open files are needed, and a process may have {hard} here (ulimit -Hn)"
    );
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
}

fn wait_for_go() {
    println!("ready");
    std::io::stdin().read_to_string(&mut String::new()).unwrap();
}

/// Serves until it is told to stop, then says how many reports and Events it has.
fn serve(dir: &Path, [rate, _]: [usize; 2]) {
    open_files(0);
    let server = ApiServer::start(Options {
        rate: Some(u32::try_from(rate).unwrap()),
        ..Options::default()
    });
    server.write_kubeconfigs(dir);
    wait_for_go();
    println!(
        "{}",
        json!([
            server.objects("bootimagereports").len(),
            server.objects("events").len()
        ])
    );
}

/// What some of the nodes found.
#[derive(Default, Serialize, Deserialize)]
struct Found {
    sent: Vec<Sent>,
    told: Vec<Duration>,
    reasons: BTreeSet<String>,
}

/// `count` nodes, from number `first` on.
fn be_nodes(dir: &Path, [first, count]: [usize; 2]) {
    // Each node has its root open, and a connection for each channel.
    open_files(3 * count + 100);
    let kubeconfig = std::fs::read_to_string(dir.join("kubeconfig")).unwrap();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/rhcos-4.12-refused");
    let verdict = skewguard::report::situation::decide_now(&Root::open(&tree).unwrap()).unwrap();
    let verdict = serde_json::to_string(&verdict).unwrap();
    let roots: Vec<_> = (first..first + count)
        .map(|n| {
            (
                n,
                node(&dir.join(format!("node-{n}")), &kubeconfig, &verdict),
            )
        })
        .collect();
    wait_for_go();

    let sent: &'static Mutex<Vec<Sent>> = leak(Mutex::default());
    let (told, reasons) = (
        Rc::<RefCell<Vec<Duration>>>::default(),
        Rc::<RefCell<BTreeSet<String>>>::default(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let started = Instant::now();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut running = tokio::task::JoinSet::new();
        for (n, root) in roots {
            let network = leak(Network {
                root,
                kubeconfig: None,
                allow: Allow::default(),
                limits: Limits::default(),
            });
            let identity = Identity {
                hostname: Some(format!("worker-{n}")),
                addresses: vec!["192.0.2.1".to_owned()],
                ..Identity::default()
            };
            let output = Console {
                told: Rc::clone(&told),
                reasons: Rc::clone(&reasons),
                started,
                is_told: false,
            };
            running.spawn_local(async move {
                let client = Watched {
                    node: n,
                    network,
                    sent,
                    started,
                };
                let (now, chance): (&dyn Fn() -> SystemTime, &dyn Fn() -> f64) =
                    (&SystemTime::now, &chance);
                run(Env {
                    systemd: &|| None,
                    journal: &|_| None,
                    root,
                    identity,
                    refresh: &|_| {},
                    client,
                    output,
                    now,
                    chance,
                    once: false,
                })
                .await
            });
        }
        // Refused nodes go on for ever; it is over once both objects of each are there.
        while started.elapsed() < DEADLINE {
            let delivered = sent
                .lock()
                .unwrap()
                .iter()
                .filter(|sent| matches!(sent.status, Some(201 | 409)))
                .count();
            if delivered >= 2 * count && started.elapsed() >= FIRST_MINUTE {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        running.abort_all();
    });
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    println!(
        "{}",
        json!(Found {
            sent,
            told: told.take(),
            reasons: reasons.take()
        })
    );
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [role, dir, a, b] = args.as_slice() {
        let part = if role == SERVE { serve } else { be_nodes };
        part(Path::new(dir), [a, b].map(|number| number.parse().unwrap()));
        return ExitCode::SUCCESS;
    }
    let mut args = args.iter().map(|arg| arg.parse().expect("a number"));
    let nodes = args.next().unwrap_or(NODES_OF_A_PROCESS);
    let rate = args.next().unwrap_or(400);
    // The nodes' files in memory: five thousand disks are not one disk.
    let shm = Path::new("/dev/shm");
    let dir = if shm.is_dir() {
        tempfile::tempdir_in(shm)
    } else {
        tempfile::tempdir()
    }
    .unwrap();
    let mut server = Part::start(SERVE, dir.path(), [rate, 0]);
    let firsts = (0..nodes).step_by(NODES_OF_A_PROCESS);
    let mut parts: Vec<_> = firsts
        .map(|first| {
            Part::start(
                BE_NODES,
                dir.path(),
                [first, NODES_OF_A_PROCESS.min(nodes - first)],
            )
        })
        .collect();
    parts.iter_mut().for_each(Part::go);
    let mut found = Found::default();
    for part in &mut parts {
        let mut more: Found = part.found();
        found.sent.append(&mut more.sent);
        found.told.append(&mut more.told);
        found.reasons.append(&mut more.reasons);
    }
    server.go();
    let figures = Figures::new(nodes, server.found(), &found.sent, &mut found.told);
    figures.print(rate);
    for reason in found.reasons {
        eprintln!("seen: {reason}");
    }
    if figures.within_budget() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Figures {
    nodes: usize,
    reports: usize,
    events: usize,
    requests: usize,
    too_many: usize,
    unanswered: usize,
    most_in_first_minute: usize,
    told: Vec<Duration>,
}

impl Figures {
    fn new(
        nodes: usize,
        (reports, events): (usize, usize),
        sent: &[Sent],
        told: &mut Vec<Duration>,
    ) -> Self {
        told.sort();
        let mut first_minute = vec![[0_usize; 2]; nodes];
        for sent in sent.iter().filter(|sent| sent.at < FIRST_MINUTE) {
            first_minute[sent.node][usize::from(sent.is_report)] += 1;
        }
        Self {
            nodes,
            reports,
            events,
            requests: sent.len(),
            too_many: sent.iter().filter(|sent| sent.status == Some(429)).count(),
            unanswered: sent.iter().filter(|sent| sent.status.is_none()).count(),
            most_in_first_minute: first_minute.iter().flatten().copied().max().unwrap_or(0),
            told: std::mem::take(told),
        }
    }

    fn within_budget(&self) -> bool {
        self.reports == self.nodes
            && self.events == self.nodes
            && self.most_in_first_minute <= REQUESTS_MAX
    }

    fn print(&self, rate: usize) {
        let at = |percent: usize| {
            let told = self
                .told
                .get((self.told.len() * percent / 100).saturating_sub(1));
            told.map_or("never".to_owned(), |told| {
                format!("{:.1} s", told.as_secs_f64())
            })
        };
        let rows = [
            (
                "nodes refused at once",
                self.nodes.to_string(),
                String::new(),
            ),
            (
                "requests a second that the server answers",
                rate.to_string(),
                String::new(),
            ),
            (
                "reports in the cluster",
                self.reports.to_string(),
                format!("{}: all, none twice", self.nodes),
            ),
            (
                "Events in the cluster",
                self.events.to_string(),
                format!("{}: all, none twice", self.nodes),
            ),
            ("requests", self.requests.to_string(), String::new()),
            ("... answered 429", self.too_many.to_string(), String::new()),
            (
                "... without an answer",
                self.unanswered.to_string(),
                String::new(),
            ),
            (
                "most requests of a node and channel in the first minute",
                self.most_in_first_minute.to_string(),
                format!("{REQUESTS_MAX}"),
            ),
            (
                "half of the nodes told the cluster after",
                at(50),
                String::new(),
            ),
            ("99 % after", at(99), String::new()),
            ("all after", at(100), String::new()),
        ];
        println!("| figure | measured | budget |\n|---|---|---|");
        for (name, measured, budget) in rows {
            println!("| {name} | {measured} | {budget} |");
        }
    }
}
