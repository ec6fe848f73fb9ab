//! A first boot that does not finish: what it waits for, in which words, and when it is told.

use crate::inside::report::sample;
use crate::inside::report::stage::{Cluster, Log, Node, Reply, refused, status};
use crate::report::run::{End, run};
use crate::report::stall::{Phase, lines, running_job, units, waits_for};
use crate::support::apiserver::Lists;
use crate::transport::Response;
use crate::verdict::{Action, GateStatus, Outcome, Verdict};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, UNIX_EPOCH};

const MINUTE: Duration = Duration::from_secs(60);

const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// Subject, source and line of what programs print on a first boot that does not finish.
fn messages() -> Vec<[String; 3]> {
    let text = std::fs::read_to_string("tests/report/messages.tsv").unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = |line: &str| line.splitn(3, '\t').map(str::to_owned).collect::<Vec<_>>();
    lines.map(|line| fields(line).try_into().unwrap()).collect()
}

/// By subject, what has to be left of a message: why it failed.
const MEANINGS: &[(&str, &str)] = &[
    ("wrong pull secret", "unauthorized"),
    ("unreachable mirror", "connect: connection refused"),
    (
        "x509 unknown authority",
        "x509: certificate signed by unknown authority",
    ),
    (
        "x509 not yet valid",
        "x509: certificate has expired or is not yet valid",
    ),
    ("no space left", "o space left on device"),
    (
        "signature required",
        "A signature was required, but no signature exists",
    ),
    ("rpm-ostree fails", ""),
    ("DNS", "no such host"),
    ("kubelet", "ertificate"),
];

#[test]
fn messages_of_real_programs_keep_their_meaning() {
    let mut kept = String::new();
    for [subject, source, message] in messages() {
        assert!(source.starts_with("https://github.com/"), "{source}");
        let (_, meaning) = MEANINGS.iter().find(|(of, _)| *of == subject).unwrap();
        let [line] = lines(&message).try_into().unwrap();
        assert!(line.contains(meaning), "{subject}: {line}");
        kept += &format!("{subject}: {line}\n");
    }
    for (subject, _) in MEANINGS {
        assert!(
            kept.contains(&format!("{subject}: ")),
            "no message: {subject}"
        );
    }
    crate::support::expected::assert_file("report/expected/messages.txt", &kept);
}

/// The same messages, with credentials where programs put them.
#[test]
fn messages_of_real_programs_lose_their_credentials() {
    let token = "sha256~Zx9kQmL0pR4tV7wY1aB3cD5eF7gH9iJ1kL3mN5oP7qR";
    for [subject, _, message] in messages() {
        let (_, meaning) = MEANINGS.iter().find(|(of, _)| *of == subject).unwrap();
        for (whole, secret) in [
            (
                message.replace("https://", "https://robot:hunter2@"),
                "hunter2",
            ),
            (format!("auth=cm9ib3Q6aHVudGVyMg== {message}"), "cm9ib3Q6"),
            (format!("Bearer {token}: {message}"), "Zx9kQmL0"),
            (format!("{token} {message}"), "Zx9kQmL0"),
            (format!("{{\"password\":\"hunter2\"}} {message}"), "hunter2"),
        ] {
            let [line] = lines(&whole).try_into().unwrap();
            assert!(!line.contains(secret), "{line}");
            // The longest lose more than their credentials.
            assert!(
                whole.len() > 200 || line.contains(meaning),
                "{subject}: {line}"
            );
        }
    }
}

#[test]
fn no_credential_is_left_in_a_line() {
    let token = "sha256~Zx9kQmL0pR4tV7wY1aB3cD5eF7gH9iJ1kL3mN5oP7qR";
    let auth = "cm9ib3Q6c3VwZXJzZWNyZXRwYXNzd29yZA==";
    for (message, kept) in [
        (
            format!("Authorization: Bearer {token} refused"),
            "Authorization: Bearer [cut] refused".to_owned(),
        ),
        (
            format!("request with bearer {token}"),
            "request with bearer [cut]".to_owned(),
        ),
        (
            format!("{{\"auths\":{{\"quay.io\":{{\"auth\":\"{auth}\"}}}}}}"),
            "{\"auths\":[cut]".to_owned(),
        ),
        (
            format!("\"auth\": \"{auth}\", more"),
            "\"auth\": [cut] more".to_owned(),
        ),
        (
            "Get https://robot:hunter2@mirror.example.com/v2/?token=abc&x=1: 401".to_owned(),
            "Get https://[cut]@mirror.example.com/v2/?[cut] 401".to_owned(),
        ),
        (
            "proxy http://user:p%40ss@10.0.0.1:3128 refused".to_owned(),
            "proxy http://[cut]@10.0.0.1:3128 refused".to_owned(),
        ),
        (
            "podman login --username robot --password hunter2 quay.io".to_owned(),
            "podman login --username robot --password [cut] quay.io".to_owned(),
        ),
        (
            "login password=hunter2,user=robot".to_owned(),
            "login password=[cut]".to_owned(),
        ),
        (
            "REGISTRY_PASSWORD=hunter2 set".to_owned(),
            "REGISTRY_PASSWORD=[cut] set".to_owned(),
        ),
        (
            format!("unexpected answer {auth} from it"),
            "unexpected answer [cut] from it".to_owned(),
        ),
        (
            "jwt eyJhbGciOi.eyJzdWIiOi.c2ln".to_owned(),
            "jwt [cut].[cut].c2ln".to_owned(),
        ),
        (
            "key 0123456789abcdef0123456789abcdef".to_owned(),
            "key [cut]".to_owned(),
        ),
    ] {
        assert_eq!(lines(&message), [kept], "{message}");
    }
}

#[test]
fn lines_are_few_short_and_printable() {
    let journal = (0..100).map(|n| format!("line {n} \u{1b}[31m\u{202e}{}\n", "a ".repeat(3000)));
    let kept = lines(&journal.collect::<String>());
    assert_eq!(kept.len(), 5);
    for (line, n) in kept.iter().zip(95..) {
        assert!(line.starts_with(&format!("line {n} ")), "{line}");
        assert_eq!(line.len(), 200);
        assert!(
            line.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
            "{line}"
        );
    }
    assert_eq!(lines("\n \n"), [""; 0]);
    assert_eq!(lines("a\n\nb\n"), ["a", "b"]);
}

proptest::proptest! {
    #[test]
    fn any_journal_gives_bounded_printable_lines(journal in ".{0,600}") {
        for line in lines(&journal) {
            proptest::prop_assert!(line.len() <= 200 && line.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        }
    }
}

/// What `systemctl show` prints (systemd 252).
fn shown(states: [(&str, &str); 4]) -> String {
    let names = [
        "machine-config-daemon-pull.service",
        "machine-config-daemon-firstboot.service",
        "kubelet.service",
        "crio.service",
    ];
    let blocks = names.iter().zip(states).map(|(name, (active, sub))| {
        format!("NRestarts=2\nId={name}\nActiveState={active}\nSubState={sub}\nStateChangeTimestampMonotonic=61000000\n")
    });
    blocks.collect::<Vec<_>>().join("\n")
}

const IDLE: (&str, &str) = ("inactive", "dead");
const EXITED: (&str, &str) = ("active", "exited");
const RUNS: (&str, &str) = ("active", "running");
const WORKS: (&str, &str) = ("activating", "start");
const FAILED: (&str, &str) = ("failed", "failed");

#[test]
fn a_phase_is_told_by_the_units() {
    let job =
        "122 NetworkManager-wait-online.service start running\n123 kubelet.service start waiting\n";
    assert_eq!(
        running_job(job).as_deref(),
        Some("NetworkManager-wait-online.service")
    );
    assert_eq!(running_job("1 --x.service start running\nx\n\n"), None);
    for (states, to_rebase, job, phase, unit) in [
        (
            [WORKS, IDLE, IDLE, IDLE],
            true,
            None,
            Phase::Pull,
            "machine-config-daemon-pull.service",
        ),
        (
            [EXITED, WORKS, IDLE, IDLE],
            true,
            None,
            Phase::Rebase,
            "machine-config-daemon-firstboot.service",
        ),
        (
            [EXITED, FAILED, IDLE, IDLE],
            true,
            None,
            Phase::Rebase,
            "machine-config-daemon-firstboot.service",
        ),
        // Wiring B: only the firstboot unit failed, and the kubelet runs on the old OS.
        (
            [FAILED, FAILED, RUNS, RUNS],
            true,
            None,
            Phase::Rebase,
            "machine-config-daemon-firstboot.service",
        ),
        (
            [FAILED, IDLE, IDLE, IDLE],
            true,
            None,
            Phase::Pull,
            "machine-config-daemon-pull.service",
        ),
        (
            [IDLE, IDLE, IDLE, IDLE],
            true,
            Some("a.service"),
            Phase::Other,
            "a.service",
        ),
        // The reboot is under way.
        (
            [EXITED, EXITED, IDLE, IDLE],
            true,
            Some("a.service"),
            Phase::Rebase,
            "machine-config-daemon-firstboot.service",
        ),
        (
            [IDLE, IDLE, RUNS, RUNS],
            false,
            None,
            Phase::Join,
            "kubelet.service",
        ),
        (
            [IDLE, IDLE, IDLE, FAILED],
            false,
            None,
            Phase::Join,
            "crio.service",
        ),
    ] {
        let (found, state) = waits_for(&units(&shown(states)), to_rebase, job);
        assert_eq!((found, state.id.as_str()), (phase, unit), "{states:?}");
    }
    // systemctl gave no answer.
    let (phase, unit) = waits_for(&units(""), true, None);
    assert_eq!((phase, unit.active.as_str()), (Phase::Rebase, ""));
}

fn allowed(policy: &str) -> Verdict {
    let mut verdict = sample::refused();
    (verdict.verdict, verdict.action) = (Outcome::Allowed, Action::Proceed);
    verdict.gate = None::<GateStatus>;
    verdict.findings.clear();
    verdict.policy = serde_json::from_str(policy).unwrap();
    verdict
}

const FIVE: &str = r#"{ "path": "/etc/skewguard/policy.json", "stalledAfterMinutes": 5 }"#;

fn first_boot(verdict: &Verdict) -> Node {
    let node = Node::with_verdict(verdict);
    node.write("/etc/ignition-machine-config-encapsulated.json", "{}");
    node.write("/etc/kubernetes/kubeconfig", "");
    node.write("/proc/uptime", "361.00 1000.00\n");
    node
}

/// A host whose units are in these states, one after the other.
struct Host<'a> {
    node: &'a Node,
    states: RefCell<[(&'static str, &'static str); 4]>,
    asked: Cell<usize>,
}

impl<'a> Host<'a> {
    fn new(node: &'a Node, states: [(&'static str, &'static str); 4]) -> Self {
        Self {
            node,
            states: RefCell::new(states),
            asked: Cell::new(0),
        }
    }

    async fn run(&self, cluster: &Cluster, log: &Log, time: Duration) -> Option<End> {
        let started = tokio::time::Instant::now();
        let now = || UNIX_EPOCH + Duration::from_secs(1_772_323_200) + started.elapsed();
        let program = |program: &str, args: &[&str]| {
            self.asked.set(self.asked.get() + 1);
            Some(match (program, args[0]) {
                ("systemctl", "show") => shown(*self.states.borrow()),
                ("systemctl", "list-jobs") => String::new(),
                ("journalctl", "-b") => {
                    assert_eq!(args[1], "-u");
                    format!("x509: of {} with password=hunter2\n", args[2])
                }
                other => panic!("{other:?}"),
            })
        };
        let mut parts = self.node.parts(cluster, log, &now);
        parts.program = &program;
        tokio::time::timeout(time, run(parts)).await.ok()
    }
}

fn bodies(cluster: &Cluster, what: &str) -> Vec<Value> {
    cluster
        .arrived()
        .into_iter()
        .filter(|arrived| arrived.path.ends_with(what))
        .map(|arrived| arrived.body)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_pull_that_loops_is_told_once_and_that_it_goes_on() {
    let verdict = allowed(FIVE);
    let (node, log) = (first_boot(&verdict), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.run(&cluster, &log, 4 * MINUTE).await;
    assert_eq!(
        (cluster.paths(), host.asked.get()),
        (vec![], 0),
        "silent before its time"
    );

    let cluster = Cluster::new(|_, _| status(201));
    host.run(&cluster, &log, 60 * MINUTE).await;
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    let progress = &report["report"]["progress"];
    assert_eq!(report["report"]["verdict"], "Allowed");
    assert_eq!(
        *progress,
        json!({
            "phase": "Pull", "unit": "machine-config-daemon-pull.service", "activeState": "activating", "subState": "start",
            "since": progress["since"], "restarts": 2, "minutes": 5,
            "lines": ["x509: of machine-config-daemon-pull.service with password=[cut]"],
        })
    );
    let since = progress["since"].as_str().unwrap();
    assert!(since.starts_with("2026-03-01T00:0"), "{since}");
    let [event] = bodies(&cluster, "/events").try_into().unwrap();
    assert_eq!(
        (
            &event["reason"],
            &event["type"],
            &event["regarding"]["name"]
        ),
        (
            &json!("FirstBootStalled"),
            &json!("Warning"),
            &report["metadata"]["name"]
        )
    );
    let note = event["note"].as_str().unwrap();
    assert!(
        note.contains("the first boot has not finished after 5 minutes; it waits in the phase Pull: machine-config-daemon-pull.service is activating (start) since "),
        "{note}"
    );
    assert_eq!(log.phases(), [Some("Pull")]);

    // The next boot of the same installation, the rebase done: it goes on, and waits for the
    // kubelet's certificate.
    let next = Cluster::new(|_, _| status(201));
    node.root
        .remove("/etc/ignition-machine-config-encapsulated.json")
        .unwrap();
    *host.states.borrow_mut() = [IDLE, IDLE, RUNS, RUNS];
    host.run(&next, &log, 90 * MINUTE).await;
    let events = bodies(&next, "/events");
    let reasons: Vec<_> = events
        .iter()
        .map(|event| event["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["FirstBootWentOn", "FirstBootStalled"]);
    assert_eq!(events[0]["regarding"]["name"], report["metadata"]["name"]);
    assert_eq!(events[0]["type"], "Normal");
    // The admission policy takes no other names (dist/manifests/admission).
    for event in &events {
        let name = event["metadata"]["name"].as_str().unwrap();
        let (_, number) = name.rsplit_once('.').unwrap();
        assert!(
            number.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{name}"
        );
    }
    let [joining] = bodies(&next, "/bootimagereports").try_into().unwrap();
    assert_ne!(joining["metadata"]["name"], report["metadata"]["name"]);
    let progress = &joining["report"]["progress"];
    assert_eq!(
        (&progress["phase"], &progress["unit"]),
        (&json!("Join"), &json!("kubelet.service"))
    );
    assert!(
        progress["minutes"].as_u64().unwrap() >= 60,
        "the time before the reboot counts: {progress}"
    );

    // It joins.
    let joined = Cluster::new(|_, _| status(201));
    *joined.node.lock().unwrap() = Some("worker-0");
    node.write(CERTIFICATE, "");
    node.write("/var/lib/kubelet/kubeconfig", "");
    host.run(&joined, &log, 60 * MINUTE).await;
    let [event] = bodies(&joined, "/events").try_into().unwrap();
    assert_eq!(event["reason"], "FirstBootWentOn");
    assert_eq!(log.phases(), [Some("Pull"), None, Some("Join"), None]);
}

#[tokio::test(start_paused = true)]
async fn a_stall_that_the_cluster_did_not_hear_of_is_told_on_the_next_boot() {
    let verdict = allowed(FIVE);
    let (node, log) = (first_boot(&verdict), Log::default());
    let host = Host::new(&node, [EXITED, FAILED, IDLE, IDLE]);
    let cluster = Cluster::new(|_, _| status(503));
    host.run(&cluster, &log, 20 * MINUTE).await;
    let first = bodies(&cluster, "/bootimagereports")[0]["metadata"]["name"].clone();
    let next = Cluster::new(|_, _| status(201));
    host.run(&next, &log, 20 * MINUTE).await;
    let [report] = bodies(&next, "/bootimagereports").try_into().unwrap();
    assert_eq!(report["metadata"]["name"], first);
    assert_eq!(report["report"]["progress"]["phase"], "Rebase");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_where_nothing_hangs_or_it_is_switched_off() {
    let finished = first_boot(&allowed(FIVE));
    finished.write(CERTIFICATE, "");
    let mut off = allowed(FIVE);
    off.verdict = Outcome::Disabled;
    let held = first_boot(&sample::refused());
    held.write("/run/skewguard/refused", "");
    let patient = first_boot(&allowed(r#"{ "path": "p", "stalledAfterMinutes": 1440 }"#));
    for (node, what) in [
        (finished, "joined"),
        (first_boot(&off), "switched off"),
        (held, "refused"),
        (patient, "the policy waits for a day"),
    ] {
        let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(201)));
        let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
        host.run(&cluster, &log, 240 * MINUTE).await;
        assert_eq!((host.asked.get(), log.phases()), (0, vec![]), "{what}");
        for report in bodies(&cluster, "/bootimagereports") {
            assert_eq!(report["report"]["progress"], Value::Null, "{what}");
        }
    }
}

/// No memory for a program, or none of the two answers in time.
#[tokio::test(start_paused = true)]
async fn a_stall_is_told_where_neither_systemctl_nor_journalctl_answers() {
    let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let started = tokio::time::Instant::now();
    let now = || UNIX_EPOCH + Duration::from_secs(1_772_323_200) + started.elapsed();
    let mut parts = node.parts(&cluster, &log, &now);
    parts.program = &|_, _| None;
    assert!(
        tokio::time::timeout(20 * MINUTE, run(parts)).await.is_err(),
        "it goes on looking"
    );
    let told = &bodies(&cluster, "/bootimagereports")[0]["report"]["progress"];
    assert_eq!(
        (&told["phase"], &told["activeState"], &told["lines"]),
        (&json!("Rebase"), &json!(""), &json!([])),
        "{told}"
    );
}

/// Another installation, whose /var was kept.
#[tokio::test(start_paused = true)]
async fn the_time_of_an_earlier_installation_does_not_count() {
    let node = first_boot(&allowed(FIVE));
    node.write(
        "/var/lib/skewguard/report-state.json",
        r#"{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState",
             "firstBoot": { "machineId": "ffffffffffffffffffffffffffffffff", "total": 90000, "waited": 90000 } }"#,
    );
    let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(201)));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.run(&cluster, &log, 4 * MINUTE).await;
    assert_eq!(cluster.paths(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_before_the_boot_image_was_built_is_named() {
    let mut verdict = allowed(FIVE);
    verdict.boot_image.as_mut().unwrap().build_date = Some("2027-01-01".to_owned());
    let (node, log) = (first_boot(&verdict), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.run(&cluster, &log, 20 * MINUTE).await;
    assert_eq!(
        bodies(&cluster, "/bootimagereports")[0]["report"]["progress"]["likelyCause"],
        "the clock says 2026-03-01, before the boot image was built (2027-01-01), so certificates are not yet valid"
    );
    let note = log.notes.lock().unwrap()[0].clone();
    assert!(note.lines().all(|line| line.len() <= 80), "{note}");
    assert!(note.starts_with("*** FIRST BOOT NOT FINISHED ***\nThe first boot has not finished after 5 minutes; it waits in the phase Pull:\n"), "{note}");
    assert!(
        note.ends_with("Read more with: journalctl -b -u machine-config-daemon-pull.service\n\n"),
        "{note}"
    );
}

/// CSRs that somebody approves by hand, after hours.
#[tokio::test(start_paused = true)]
async fn a_node_that_joins_after_hours_is_labelled() {
    let node = Node::with_verdict(&allowed(
        "{ \"path\": \"p\", \"stalledAfterMinutes\": 1440 }",
    ));
    node.write("/etc/kubernetes/kubeconfig", "");
    let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(200)));
    let running = node.run(&cluster, &log, 20 * 60 * MINUTE);
    let joining = async {
        tokio::time::sleep(9 * 60 * MINUTE).await;
        assert_eq!(cluster.paths(), [""; 0]);
        node.write("/var/lib/kubelet/kubeconfig", "");
        *cluster.node.lock().unwrap() = Some("worker-0");
    };
    let (end, ()) = tokio::join!(running, joining);
    assert!(end.is_some(), "it ends once the label is there");
    assert_eq!(cluster.paths(), ["/api/v1/nodes/worker-0"]);
    assert!(cluster.arrived()[0].at < (9 * 60 + 11) * MINUTE);
}

/// Certificate requests, as an API server lists them.
fn requests(items: &[Value], next: &str) -> Reply {
    let body = json!({ "kind": "CertificateSigningRequestList", "metadata": { "continue": next }, "items": items });
    Ok(Response {
        status: 200,
        retry_after: None,
        body: body.to_string().into(),
    })
}

fn request_of(name: &str, node: &str, made: &str, status: Value) -> Value {
    Lists::signing_request(name, node, made, status)
}

/// What is told of a kubelet that waits for its certificate, where the cluster answers so.
async fn told_of_join(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Value {
    let node = first_boot(&allowed(FIVE));
    node.root
        .remove("/etc/ignition-machine-config-encapsulated.json")
        .unwrap();
    // The kubelet writes it before it asks for a certificate.
    node.write("/var/lib/kubelet/kubeconfig", "");
    let log = Log::default();
    let cluster = Cluster::new(move |_, path| {
        if path.contains("certificatesigningrequests") {
            answer(path)
        } else {
            status(201)
        }
    });
    let host = Host::new(&node, [IDLE, IDLE, ("activating", "start"), RUNS]);
    host.run(&cluster, &log, 10 * MINUTE).await;
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    let [event] = bodies(&cluster, "/events").try_into().unwrap();
    let progress = report["report"]["progress"].clone();
    assert_eq!(progress["phase"], "Join");
    let server = progress["apiServer"].as_str().unwrap();
    let note = event["note"].as_str().unwrap();
    assert!(
        note.contains(&format!("; the API server is {server}")),
        "{note}"
    );
    progress
}

#[tokio::test(start_paused = true)]
async fn a_certificate_request_that_waits_is_found_on_any_page() {
    let progress = told_of_join(|path| {
        if path.ends_with("&continue=a%2Fb%3D") {
            let mine = request_of("csr-new", sample::HOST, "2026-03-01T00:02:00Z", json!({}));
            let old = request_of(
                "csr-old",
                sample::HOST,
                "2026-03-01T00:01:00Z",
                json!({ "conditions": [{ "type": "Denied" }] }),
            );
            requests(&[mine, old], "")
        } else {
            let other = request_of("csr-other", "other-node", "2026-03-01T00:09:00Z", json!({}));
            let broken =
                json!({ "metadata": { "name": "csr-broken" }, "spec": { "request": "bm8=" } });
            requests(&[other, broken], "a/b=")
        }
    })
    .await;
    assert_eq!(
        (&progress["apiServer"], &progress["certificateRequest"]),
        (
            &json!("reached"),
            &json!("its certificate request csr-new of 2026-03-01T00:02:00Z waits for approval")
        )
    );
}

#[tokio::test(start_paused = true)]
async fn what_became_of_a_certificate_request_is_told() {
    let approved = json!([{ "type": "Approved" }]);
    for (answer, server, request) in [
        (
            json!({ "conditions": [{ "type": "Denied" }] }),
            "reached",
            "is denied",
        ),
        (
            json!({ "conditions": approved }),
            "reached",
            "is approved and not signed yet",
        ),
        (
            json!({ "conditions": approved, "certificate": "eA==" }),
            "reached",
            "is approved and signed",
        ),
        (
            json!({ "conditions": [{ "type": "Approved" }, { "type": "Failed" }] }),
            "reached",
            "could not be signed",
        ),
    ] {
        let progress = told_of_join(move |_| {
            requests(
                &[request_of(
                    "csr-1",
                    sample::HOST,
                    "2026-03-01T00:02:00Z",
                    answer.clone(),
                )],
                "",
            )
        })
        .await;
        let text = format!("its certificate request csr-1 of 2026-03-01T00:02:00Z {request}");
        assert_eq!(
            (&progress["apiServer"], &progress["certificateRequest"]),
            (&json!(server), &json!(text))
        );
    }
    let none = told_of_join(|_| requests(&[], "")).await;
    assert_eq!(
        none["certificateRequest"],
        "it has no certificate request of this node"
    );
    let forbidden = told_of_join(|_| status(403)).await;
    assert_eq!(
        (&forbidden["apiServer"], &forbidden["certificateRequest"]),
        (&json!("reached, and answers 403"), &Value::Null)
    );
    let away = told_of_join(|_| refused()).await;
    assert!(
        away["apiServer"]
            .as_str()
            .unwrap()
            .starts_with("not reached: "),
        "{away}"
    );
    // A server that never comes to an end.
    let endless = told_of_join(|_| requests(&[], "again")).await;
    assert_eq!(
        endless["certificateRequest"],
        "it has no certificate request of this node"
    );
}

/// The record of the first run names a certificate that an earlier installation left on /var.
#[tokio::test(start_paused = true)]
async fn a_first_boot_on_the_var_of_an_earlier_installation_is_watched() {
    let node = first_boot(&allowed(FIVE));
    node.write(CERTIFICATE, "old");
    node.write("/var/lib/kubelet/kubeconfig", "");
    let meta = std::fs::metadata(node.dir.path().join(&CERTIFICATE[1..])).unwrap();
    let version = format!(
        "{}:{}:{}.{:09}",
        meta.ino(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec()
    );
    let record = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord", "earlierCertificate": version });
    node.write("/var/lib/skewguard/boot-image.json", &record.to_string());
    let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(201)));
    *cluster.node.lock().unwrap() = Some("worker-0");
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.run(&cluster, &log, 20 * MINUTE).await;
    assert_eq!(log.phases(), [Some("Pull")]);
}

/// `skewguard.service` was killed or failed.
#[tokio::test(start_paused = true)]
async fn a_first_boot_without_a_verdict_is_watched() {
    let node = Node::new();
    for (path, text) in [
        ("/run/ostree-booted", ""),
        ("/etc/ignition-machine-config-encapsulated.json", "{}"),
        ("/etc/kubernetes/kubeconfig", ""),
        (
            "/sysroot/.coreos-aleph-version.json",
            r#"{ "version": "413.92.202305021736-0" }"#,
        ),
    ] {
        node.write(path, text);
    }
    let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(201)));
    let host = Host::new(&node, [EXITED, WORKS, IDLE, IDLE]);
    host.run(&cluster, &log, 60 * MINUTE).await;
    assert_eq!(log.phases(), [Some("Rebase")]);
    let events = bodies(&cluster, "/events");
    let reasons: Vec<_> = events
        .iter()
        .map(|event| event["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["NoVerdict", "FirstBootStalled"]);
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    let report = &report["report"];
    assert_eq!(
        (&report["verdict"], &report["action"]),
        (&json!("NoPolicy"), &json!("Proceed"))
    );
    assert_eq!(report["bootImage"]["version"], "413.92.202305021736-0");
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains("skewguard.service left no verdict on this boot"),
        "{warnings}"
    );
    assert_eq!(report["progress"]["phase"], "Rebase");
}

/// Once the node has joined, the bootstrap identity may be gone.
#[tokio::test(start_paused = true)]
async fn a_node_that_may_not_say_that_it_went_on_gives_up() {
    for answer in [401, 403] {
        let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
        let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
        host.run(&Cluster::new(|_, _| status(201)), &log, 10 * MINUTE)
            .await;
        node.root
            .remove("/etc/ignition-machine-config-encapsulated.json")
            .unwrap();
        node.write(CERTIFICATE, "");
        node.write("/var/lib/kubelet/kubeconfig", "");
        let cluster = Cluster::new(move |_, path| {
            status(if path.contains("/nodes/") {
                200
            } else {
                answer
            })
        });
        *cluster.node.lock().unwrap() = Some("worker-0");
        let end = host.run(&cluster, &log, 24 * 60 * MINUTE).await;
        assert!(end.is_some(), "the run ends");
        let tries = bodies(&cluster, "/events").len();
        assert!((1..=4).contains(&tries), "{tries}");
        assert_eq!(bodies(&cluster, "/nodes/worker-0").len(), 1);
    }
}
