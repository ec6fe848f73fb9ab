//! Every node of a large cluster is refused at the same moment: what that does to its API server.
//!
//! `cargo run --release --example storm [NODES] [RATE]`: NODES (5,000) run the agent's own driver, each with its own TLS connections, against
//! the test API server, which answers RATE (400) requests a second and sends the others away with 429. Bounded to five minutes. Prints the
//! figures of docs/benchmarks.md; exit status 1 where one of them is over its budget.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/support/apiserver/mod.rs"]
mod apiserver;

use apiserver::{ApiServer, Options};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use skewguard::node::Root;
use skewguard::node::identity::Identity;
use skewguard::node::kubeconfig::{Allow, BOOTSTRAP_KUBECONFIG};
use skewguard::report::answer::Channel;
use skewguard::report::carrier::{Carrier, Network};
use skewguard::report::random::chance;
use skewguard::report::run::{Outside, run};
use skewguard::report::watch::{ClusterKnows, Level, Watcher};
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

/// Design: at most so many requests of one node on one channel in the first minute.
const REQUESTS_MAX: usize = 3;

/// One request of one node.
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

impl Carrier for Watched {
    fn send(&self, channel: Channel, request: Request) -> impl Future<Output = Result<Response, TransportError>> + Send + 'static {
        let (this, at) = (*self, self.started.elapsed());
        let is_report = request.path.ends_with("bootimagereports");
        let answer = self.network.send(channel, request);
        async move {
            let answer = answer.await;
            let status = answer.as_ref().ok().map(|response| response.status);
            this.sent.lock().unwrap().push(Sent { node: this.node, is_report, at, status });
            answer
        }
    }

    fn node_name(&self) -> Result<String, String> {
        Err("it never joins".to_owned())
    }
}

/// When each node's console could say that the cluster knows, and the reasons for failures, each once.
#[derive(Clone)]
struct Console {
    told: Rc<RefCell<Vec<Duration>>>,
    reasons: Rc<RefCell<BTreeSet<String>>>,
    started: Instant,
    is_told: bool,
}

impl Watcher for Console {
    fn line(&mut self, level: Level, line: &str) {
        if level != Level::Info && self.reasons.borrow().len() < 20 {
            self.reasons.borrow_mut().insert(line.split("; next try").next().unwrap_or_default().to_owned());
        }
    }
    fn cluster_knows(&mut self, _: &Verdict, knows: &ClusterKnows, _: Option<&str>) -> bool {
        if matches!(knows, ClusterKnows::Told(_)) && !std::mem::replace(&mut self.is_told, true) {
            self.told.borrow_mut().push(self.started.elapsed());
        }
        true
    }
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
    for (path, text) in [(BOOTSTRAP_KUBECONFIG, kubeconfig), ("/run/skewguard/verdict.json", verdict), ("/run/skewguard/refused", "")] {
        root.write(path, text.as_bytes(), 0o600).unwrap();
    }
    root
}

/// The server, a process of its own: both sides of five thousand connections are more files than one process may have.
struct Server {
    process: Child,
    out: BufReader<ChildStdout>,
}

/// What makes this program the server.
const SERVE: &str = "--serve";

impl Server {
    fn start(rate: u32, dir: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([SERVE, &rate.to_string()])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let mut server = Self { process, out };
        assert_eq!(server.line(), "ready");
        server
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// How many reports and Events it has.
    fn objects(&mut self) -> (usize, usize) {
        drop(self.process.stdin.take());
        let line = self.line();
        let (reports, events) = line.split_once(' ').unwrap();
        (reports.parse().unwrap(), events.parse().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The other process: serves until its standard input ends, then says what it has.
fn serve(rate: u32, dir: &Path) {
    let server = ApiServer::start(Options { rate: Some(rate), ..Options::default() });
    server.write_kubeconfigs(dir);
    println!("ready");
    let _ = std::io::stdin().read_to_string(&mut String::new());
    println!("{} {}", server.objects("bootimagereports").len(), server.objects("events").len());
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == SERVE) {
        serve(args[1].parse().unwrap(), Path::new(&args[2]));
        return ExitCode::SUCCESS;
    }
    let mut args = args.iter().map(|arg| arg.parse::<u32>().expect("a number"));
    let nodes = args.next().unwrap_or(5000);
    let rate = args.next().unwrap_or(400);
    // Each node has its root open, and a connection for each channel. What is refused for want of files would measure this program.
    let (files, (soft, hard)) = (3 * u64::from(nodes) + 100, getrlimit(Resource::RLIMIT_NOFILE).unwrap());
    if files > hard {
        eprintln!("{nodes} nodes take {files} open files, and a process may have {hard} here (ulimit -Hn)");
        return ExitCode::FAILURE;
    }
    setrlimit(Resource::RLIMIT_NOFILE, files.max(soft), hard).unwrap();
    let nodes = nodes as usize;
    // The nodes' files in memory: five thousand disks are not one disk.
    let shm = Path::new("/dev/shm");
    let dir = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap();
    let mut server = Server::start(rate, dir.path());
    let kubeconfig = std::fs::read_to_string(dir.path().join("kubeconfig")).unwrap();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/rhcos-4.12-refused");
    let verdict = skewguard::report::situation::decide_now(&Root::open(&tree).unwrap()).unwrap();
    let verdict = serde_json::to_string(&verdict).unwrap();
    let roots: Vec<_> = (0..nodes).map(|n| node(&dir.path().join(format!("node-{n}")), &kubeconfig, &verdict)).collect();

    let sent: &'static Mutex<Vec<Sent>> = leak(Mutex::default());
    let (told, reasons) = (Rc::<RefCell<Vec<Duration>>>::default(), Rc::<RefCell<BTreeSet<String>>>::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = Instant::now();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut running = tokio::task::JoinSet::new();
        for (n, root) in roots.into_iter().enumerate() {
            let network = leak(Network { root, kubeconfig: None, allow: Allow::default(), limits: Limits::default() });
            let identity =
                Identity { hostname: Some(format!("worker-{n}")), addresses: vec!["192.0.2.1".to_owned()], ..Identity::default() };
            let watcher = Console { told: Rc::clone(&told), reasons: Rc::clone(&reasons), started, is_told: false };
            running.spawn_local(async move {
                let carrier = Watched { node: n, network, sent, started };
                let (now, chance): (&dyn Fn() -> SystemTime, &dyn Fn() -> f64) = (&SystemTime::now, &chance);
                run(Outside { root, identity, refresh: &|_| {}, bus: None, carrier, watcher, now, chance, once: false }).await
            });
        }
        // Refused nodes go on for ever; it is over once both objects of each are there.
        while started.elapsed() < DEADLINE {
            let delivered = sent.lock().unwrap().iter().filter(|sent| matches!(sent.status, Some(201 | 409))).count();
            if delivered >= 2 * nodes && started.elapsed() >= FIRST_MINUTE {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        running.abort_all();
    });
    let figures = Figures::new(nodes, server.objects(), &sent.lock().unwrap(), &mut told.borrow_mut());
    figures.print(rate);
    for reason in reasons.borrow().iter() {
        eprintln!("seen: {reason}");
    }
    if figures.within_budget() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
    fn new(nodes: usize, (reports, events): (usize, usize), sent: &[Sent], told: &mut Vec<Duration>) -> Self {
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
        self.reports == self.nodes && self.events == self.nodes && self.most_in_first_minute <= REQUESTS_MAX
    }

    fn print(&self, rate: u32) {
        let at = |percent: usize| {
            let told = self.told.get((self.told.len() * percent / 100).saturating_sub(1));
            told.map_or("never".to_owned(), |told| format!("{:.1} s", told.as_secs_f64()))
        };
        let rows = [
            ("nodes refused at once", self.nodes.to_string(), String::new()),
            ("requests a second that the server answers", rate.to_string(), String::new()),
            ("reports in the cluster", self.reports.to_string(), format!("{}: all, none twice", self.nodes)),
            ("Events in the cluster", self.events.to_string(), format!("{}: all, none twice", self.nodes)),
            ("requests", self.requests.to_string(), String::new()),
            ("... answered 429", self.too_many.to_string(), String::new()),
            ("... without an answer", self.unanswered.to_string(), String::new()),
            ("most requests of a node and channel in the first minute", self.most_in_first_minute.to_string(), format!("{REQUESTS_MAX}")),
            ("half of the nodes told the cluster after", at(50), String::new()),
            ("99 % after", at(99), String::new()),
            ("all after", at(100), String::new()),
        ];
        println!("| figure | measured | budget |\n|---|---|---|");
        for (name, measured, budget) in rows {
            println!("| {name} | {measured} | {budget} |");
        }
    }
}
