//! Targets that the programs in `fuzz/` call, one function a target, and `cargo test` replays on
//! their corpora. In no build that ships.
//!
//! A target takes bytes that somebody else may have written, and panics where something is not as
//! it has to be.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

use crate::console::message::{issue, kernel_log, motd, short};
use crate::console::{self, Context};
use crate::kubeconfig::{self, Allow, BOOTSTRAP_KUBECONFIG};
use crate::node::identity::Identity;
use crate::node::{self, Root};
use crate::report::answer::{Answer, Channel};
use crate::report::event::{Event, EventSubject, Regarding};
use crate::report::inventory::NodePatch;
use crate::report::ledger::Ledger;
use crate::report::objects::{BootImageReport, ReportInput};
use crate::report::{situation, stall};
use crate::text;
use crate::transport::{Response, read_curl};
use crate::verdict::{Action, ClusterKnows, Outcome, OverrideWord, PolicyInput, Verdict, decide};
use crate::version::{ImageVersion, compare_images};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

/// Starts a file in an input of [`tree`]: this byte, one of [`FILES`], a line break, then its
/// bytes.
const NEXT_FILE: u8 = 0x1e;

/// The files of an input of [`tree`], by the letter that names them.
const FILES: [(u8, &str); 18] = [
    (b'B', "boot/bootupd-state.json"),
    (b'P', "proc/cpuinfo"),
    (b'a', "sysroot/.coreos-aleph-version.json"),
    (b'b', "sysroot/.bootc-aleph.json"),
    (b'c', "proc/cmdline"),
    (b'd', "run/skewguard/console.json"),
    (b'e', "etc/ignition-machine-config-encapsulated.json"),
    (b'i', "etc/issue"),
    (b'k', "var/lib/skewguard/verdict.json"),
    (b'l', "run/skewguard/verdict.json"),
    (b'o', "etc/os-release"),
    (b'p', "etc/skewguard/policy.json"),
    (b'r', "etc/skewguard/boot-image.json"),
    (b's', "etc/mcs-machine-config-content.json"),
    (b't', "var/lib/skewguard/report-state.json"),
    (b'u', "var/lib/skewguard/issue.saved"),
    (b'v', "run/skewguard/override"),
    (b'z', "ostree/deploy/rhcos/deploy/abc.0.origin"),
];

/// Versions: decoding adds nothing to its input, and any three have one order.
pub fn version(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let versions: Vec<ImageVersion> = text.split('\n').take(3).map(ImageVersion::parse).collect();
    for version in &versions {
        assert_printable(&version.text);
        assert!(
            compare_images(version, version).is_none_or(|order| order.is_eq()),
            "{version:?}"
        );
    }
    for a in &versions {
        for b in &versions {
            assert_eq!(
                compare_images(a, b),
                compare_images(b, a).map(|order| order.reverse()),
                "{a:?} {b:?}"
            );
            for c in &versions {
                let (ab, bc) = (compare_images(a, b), compare_images(b, c));
                if ab.is_some_and(|order| order.is_lt()) && bc.is_some_and(|order| order.is_lt()) {
                    assert!(
                        compare_images(a, c).is_none_or(|order| order.is_lt()),
                        "{a:?} {b:?} {c:?}"
                    );
                }
            }
        }
    }
}

/// A node: whatever its files hold, it is decided about, and all that follows keeps its form.
pub fn tree(data: &[u8]) {
    let scratch = Scratch::new();
    for file in data.split(|byte| *byte == NEXT_FILE) {
        let Some((letter, [b'\n', content @ ..])) = file.split_first() else {
            continue;
        };
        if let Some((_, path)) = FILES.iter().find(|(named, _)| named == letter) {
            scratch.write(path, content);
        }
    }
    let root = &scratch.root;
    let node = node::Node::read(root);
    let facts =
        node::facts(&node, node::Inputs::default()).expect("only files of the caller's fail it");
    let verdict = decide(&facts);
    if verdict.action == Action::Block {
        assert!(
            matches!(verdict.verdict, Outcome::Refused | Outcome::Undetermined),
            "{verdict:?}"
        );
        assert!(
            matches!(facts.policy, PolicyInput::Valid { .. }),
            "what cannot be read does not block: {verdict:?}"
        );
        let word = facts.r#override.as_ref().map(|given| given.value);
        assert!(
            !matches!(word, Some(OverrideWord::Off | OverrideWord::Warn)),
            "{verdict:?}"
        );
    }
    let json = serde_json::to_string(&verdict).expect("a struct of strings always serialises");
    assert_eq!(
        serde_json::from_str::<Verdict>(&json).expect("what was written is read"),
        verdict
    );
    assert_messages(&verdict);
    // The report reads what `enforce` has written.
    assert_reports(
        &situation::bound(serde_json::from_str(&json).expect("what was written is read")),
        &Identity::from_files(root),
    );

    // What is kept from earlier runs.
    let _ = Ledger::load(root, &node.installation_id());
    situation::read(&node);
    let _ = Context::load(root, &verdict);

    // A message that was put on /etc/issue goes again, and leaves what was below it.
    let _ = console::restore(root);
    let before = root.read("/etc/issue", 1 << 20);
    if console::update(root, &verdict, &Context::default()).is_ok() {
        console::restore(root).expect("what was shown can be taken away");
        assert_eq!(root.read("/etc/issue", 1 << 20).ok(), before.ok());
    }
}

/// A verdict that another program wrote.
pub fn verdict(data: &[u8]) {
    let Ok(verdict) = serde_json::from_slice::<Verdict>(data) else {
        return;
    };
    let json = serde_json::to_string(&verdict).expect("a struct of strings always serialises");
    assert_eq!(
        serde_json::from_str::<Verdict>(&json).expect("what was written is read"),
        verdict
    );
    assert_messages(&verdict);
    let Ok(verdict) = serde_json::from_slice(data).map(situation::bound) else {
        return;
    };
    let words = || {
        [
            &verdict.message,
            &verdict.reason.to_string(),
            &verdict.action.to_string(),
        ]
        .map(|text| text::printable(text))
    };
    let [hostname, platform, address] = words();
    assert_reports(
        &verdict,
        &Identity {
            hostname: Some(hostname),
            platform: Some(platform),
            addresses: vec![address; verdict.warnings.len()],
            ..Identity::default()
        },
    );
}

/// Kubeconfigs: an error shows no value.
pub fn kubeconfig(data: &[u8]) {
    const SECRET: &str = "c2VjcmV0";
    let scratch = Scratch::new();
    scratch.write(BOOTSTRAP_KUBECONFIG.trim_start_matches('/'), data);
    scratch.write("etc/kubernetes/token", SECRET.as_bytes());
    match kubeconfig::load(
        &scratch.root,
        BOOTSTRAP_KUBECONFIG,
        Allow {
            insecure: data.len().is_multiple_of(2),
        },
    ) {
        Ok(read) => {
            let _ = (
                read.node_name(),
                read.by_public_name(),
                read.server.authority(),
            );
            assert!(!format!("{read:?}").contains(SECRET));
        }
        Err(error) => {
            assert_printable(&error.to_string());
            assert!(!error.to_string().contains(SECRET), "{error}");
        }
    }
}

/// A kubelet's client certificate, PEM; what is in no armour is DER.
pub fn certificate(data: &[u8]) {
    let _ = kubeconfig::node_name(data);
    let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, data);
    let pem = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
    if let Ok(name) = kubeconfig::node_name(pem.as_bytes()) {
        assert!(
            name.len() <= 253
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte)),
            "{name:?}"
        );
    }
}

/// An API server's answer: two bytes of status, then a body.
pub fn answer(data: &[u8]) {
    let [high, low, body @ ..] = data else { return };
    let status = u16::from_be_bytes([*high, *low]);
    for channel in [
        Channel::Report,
        Channel::Event,
        Channel::Node,
        Channel::Failure,
    ] {
        let response = Response {
            status,
            retry_after: Some(Duration::from_secs(u64::from(status))),
            body: body.to_vec(),
        };
        match Answer::read(channel, Ok(response)) {
            Answer::Delivered { uid, .. } => uid.iter().for_each(|uid| assert_printable(uid)),
            Answer::Failed { why, brief, .. } => {
                assert_printable(&why);
                assert_printable(&brief);
            }
        }
    }
}

/// A first boot that does not finish: what systemd and the journal say, apart by a zero byte. A
/// line of systemd's is a unit, its two states, `job` where it has one, and what it comes after.
/// Whatever the journal says, only the words of our own table are told.
pub fn stall(data: &[u8]) {
    let mut parts = data.split(|byte| *byte == 0);
    let mut next = || parts.next().unwrap_or_default();
    let shown = String::from_utf8_lossy(next());
    let unit = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        let mut unit = stall::Unit {
            id: word(),
            active: text::printable_up_to(&word(), 64),
            sub: text::printable_up_to(&word(), 64),
            has_job: word() == "job",
            ..stall::Unit::default()
        };
        unit.after = words.collect();
        unit
    };
    let units = shown.lines().map(unit);
    let units: stall::Units = units.map(|unit| (unit.id.clone(), unit)).collect();
    assert!(stall::to_ask(&units).len() <= 1000);
    let finding = stall::Finding::read(next(), stall::Phase::Rebase);
    let rebase = match data.len() % 3 {
        0 => stall::Rebase::ToCome,
        1 => stall::Rebase::Lost(node::LostRebase::NotFinalized),
        _ => stall::Rebase::Over,
    };
    let Some(waiting) = stall::waits_for(&units, rebase) else {
        return;
    };
    let times = stall::Times {
        now: UNIX_EPOCH + Duration::from_secs(1_772_323_200),
        uptime: Some(Duration::from_secs(600)),
    };
    let scratch = Scratch::new();
    let facts = node::facts(&node::Node::read(&scratch.root), node::Inputs::default())
        .expect("only files of the caller's fail it");
    let first_boot = stall::FirstBoot::default();
    let progress = stall::Progress::new(waiting, finding, &first_boot, times, &decide(&facts));
    assert_printable(&progress.sentence());
    assert_printable(&progress.remediation());
    assert_printable(&progress.note("").replace('\n', ""));
}

/// Output of curl: its exit status, then stdout and stderr, apart by a zero byte.
pub fn curl(data: &[u8]) {
    let Some((exit, said)) = data.split_first() else {
        return;
    };
    let (stdout, stderr) = said.split_at(
        said.iter()
            .position(|byte| *byte == 0)
            .unwrap_or(said.len()),
    );
    match read_curl(
        i32::from(*exit),
        stdout,
        &String::from_utf8_lossy(stderr),
        1024,
    ) {
        Ok(response) => assert!(response.body.len() <= 1024),
        Err(failure) => assert_printable(&failure.to_string()),
    }
}

/// gzip: no more comes out than was allowed.
pub fn gzip(data: &[u8]) {
    if let Ok(unpacked) = crate::gzip::unpack(data, 4096) {
        assert!(unpacked.len() <= 4096);
    }
}

/// A root of its own in memory, for one run of a target.
struct Scratch {
    path: PathBuf,
    root: Root,
}

impl Scratch {
    fn new() -> Self {
        let name = format!(
            "skewguard-fuzz-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        );
        let path = std::path::Path::new("/dev/shm").join(name);
        let _ = std::fs::remove_dir_all(&path);
        // Where the kernel argument ostree=/ostree/boot.1/rhcos/abc/0 leads.
        std::fs::create_dir_all(path.join("ostree/boot.1/rhcos/abc")).unwrap();
        std::fs::create_dir_all(path.join("ostree/deploy/rhcos/deploy/abc.0")).unwrap();
        std::fs::create_dir_all(path.join("etc")).unwrap();
        std::os::unix::fs::symlink(
            "../../../deploy/rhcos/deploy/abc.0",
            path.join("ostree/boot.1/rhcos/abc/0"),
        )
        .unwrap();
        let root = Root::open(&path).unwrap();
        Self { path, root }
    }

    fn write(&self, path: &str, content: &[u8]) {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn assert_printable(text: &str) {
    assert!(
        text.bytes().all(|byte| matches!(byte, b' '..=b'~')),
        "{text:?}"
    );
}

/// At most so many lines of 79 columns, in plain ASCII.
fn assert_page(text: &str, most: usize) {
    assert!(text.lines().count() <= most, "{text}");
    for line in text.lines() {
        assert!(line.len() <= 79, "{line}");
        assert_printable(line);
    }
}

/// Replaces escapes as agetty(8) does, with the longest addresses; an escape that is not ours is a
/// fault.
fn shown_by_agetty(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    while let Some(piece) = pieces.next() {
        let (makes, rest) = match piece.as_bytes().first() {
            Some(b'4') => ("255.255.255.255", piece.get(1..)),
            Some(b'6') => ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", piece.get(1..)),
            // Two backslashes: one, and what follows is text.
            None => ("\\", pieces.next()),
            Some(other) => panic!(
                "agetty would take \\{} for an escape in\n{text}",
                char::from(*other)
            ),
        };
        shown.push_str(makes);
        shown.push_str(rest.unwrap_or_default());
    }
    shown
}

fn assert_messages(verdict: &Verdict) {
    let kernel_log = kernel_log(verdict);
    assert!(kernel_log.len() <= 400);
    assert_printable(&kernel_log);
    let told = [
        ClusterKnows::NotYet,
        ClusterKnows::Told(None),
        ClusterKnows::CannotBeTold(verdict.message.clone()),
    ];
    for cluster in told {
        for address in [None, Some(verdict.message.clone())] {
            let context = Context {
                address,
                program: "/usr/bin/skewguard".to_owned(),
                boot: None,
                is_secret: false,
                cluster: cluster.clone(),
            };
            assert_page(&shown_by_agetty(&issue(verdict, &context)), 20);
            assert_page(&motd(verdict, &context), 20);
            assert_page(&short(verdict, &context), 6);
        }
    }
}

/// The bounds of the CustomResourceDefinition, of its admission policies, and of Events
/// (`tests/report/schemas.rs` holds them against these files).
fn assert_reports(verdict: &Verdict, identity: &Identity) {
    let observed = UNIX_EPOCH + Duration::from_secs(1_772_323_200);
    let remediation = &verdict.message;
    let input = ReportInput {
        progress: None,
        verdict,
        identity,
        remediation,
        installation: "00",
        observed,
    };
    let report = BootImageReport::new(&input);
    let json = serde_json::to_string(&report).unwrap();
    assert_printable(&json);
    assert!(json.len() <= 40_960, "{}", json.len());
    let event = Event::new(
        EventSubject::Verdict(verdict),
        &report.metadata.name,
        Regarding::namespace(),
        identity,
        observed,
    );
    let json = serde_json::to_value(&event).unwrap();
    for (field, most) in [
        ("note", 1024),
        ("reason", 128),
        ("action", 128),
        ("reportingInstance", 128),
    ] {
        let text = json.get(field).and_then(serde_json::Value::as_str).unwrap();
        assert_printable(text);
        assert!(text.len() <= most, "{field}: {text}");
    }
    assert_printable(&serde_json::to_string(&NodePatch::new(verdict)).unwrap());
}

#[cfg(test)]
#[path = "fuzzing_tests.rs"]
mod tests;
