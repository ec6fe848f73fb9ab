//! The journal entry as journald gets it, and what happens where there is none.

use crate::inside::system::{allowed, refused, verdict};
use crate::journal;
use crate::support::world::alone;
use crate::verdict::{
    Action, Outcome, Override, OverrideSource, OverrideWord, Reason, RuleResult, Stage, Verdict,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

/// A `/run` of its own.
const RUN: &str = "mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/journal";

const SOCKET: &str = "/run/systemd/journal/socket";

const VERDICTS: [Outcome; 5] = [
    Outcome::Disabled,
    Outcome::NoPolicy,
    Outcome::Allowed,
    Outcome::Refused,
    Outcome::Undetermined,
];

/// Decodes journald's native protocol (systemd, "Native Journal Protocol"): `NAME=value\n`, or
/// `NAME\n`, a 64-bit length, value, `\n`.
fn decode(mut bytes: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    while !bytes.is_empty() {
        let end = bytes
            .iter()
            .position(|b| *b == b'\n')
            .expect("a field ends");
        let (name, value, rest) = match bytes[..end].iter().position(|b| *b == b'=') {
            Some(at) => (&bytes[..at], &bytes[at + 1..end], &bytes[end + 1..]),
            None => {
                let (length, rest) = bytes[end + 1..].split_at(8);
                let length =
                    usize::try_from(u64::from_le_bytes(length.try_into().unwrap())).unwrap();
                assert_eq!(rest[length], b'\n');
                (&bytes[..end], &rest[..length], &rest[length + 1..])
            }
        };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        fields.entry(text(name)).or_default().push(text(value));
        bytes = rest;
    }
    fields
}

/// Records the verdict and gives back what journald got, without what says where in our source it
/// was.
fn received(socket: &UnixDatagram, verdict: &Verdict) -> BTreeMap<String, Vec<String>> {
    let mut err = Vec::new();
    journal::record(verdict, true, &mut err);
    assert_eq!(String::from_utf8_lossy(&err), "", "nothing is said twice");
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = socket.recv(&mut buffer).expect("a datagram");
        // An empty one is how the sender asks whether anybody listens; journald drops it.
        if length > 0 {
            let mut fields = decode(&buffer[..length]);
            fields.retain(|name, _| !name.starts_with("CODE_"));
            return fields;
        }
    }
}

fn lines(fields: &BTreeMap<String, Vec<String>>) -> String {
    fields
        .iter()
        .map(|(name, values)| format!("{name}={}\n", values.join("|")))
        .collect()
}

#[test]
fn journald_gets_every_field_by_its_documented_name() {
    alone(
        "inside::system::journal::journald_gets_every_field_by_its_documented_name",
        &[],
        RUN,
        "",
        |_| {
            let socket = UnixDatagram::bind(SOCKET).expect("the socket");
            let mut verdict = refused();
            verdict.r#override = Some(Override {
                value: OverrideWord::Enforce,
                source: OverrideSource::KernelArgument,
            });
            verdict.warnings = vec!["/etc/os-release: is a FIFO, not a regular file".to_owned()];
            assert_eq!(
                lines(&received(&socket, &verdict)),
                "MESSAGE=Refused (BelowMinimumOCPVersion, Block): boot image is OCP 4.11; the minimum is 4.13.0\n\
             also BelowMinimumRHCOSVersion: boot image is RHEL 8.6; the minimum is 9.2\n\
             warning: /etc/os-release: is a FIFO, not a regular file\n\
             MESSAGE_ID=73553485504e4bb4bb2c904d59b78fdc\n\
             OBJECT_SYSTEMD_UNIT=skewguard.service\n\
             PRIORITY=3\n\
             SKEWGUARD_ACTION=Block\n\
             SKEWGUARD_BOOT_IMAGE=411.86.202308081056-0\n\
             SKEWGUARD_OCP=4.11\n\
             SKEWGUARD_OVERRIDE=enforce\n\
             SKEWGUARD_POLICY_DIGEST=sha256:0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d\n\
             SKEWGUARD_POOL=worker\n\
             SKEWGUARD_REASON=BelowMinimumOCPVersion\n\
             SKEWGUARD_RELEASE=4.21.3\n\
             SKEWGUARD_RHEL=8.6\n\
             SKEWGUARD_VERDICT=Refused\n\
             SYSLOG_IDENTIFIER=skewguard\n\
             TARGET=skewguard\n"
            );
            // Unknown fields are not sent, neither empty nor as "None".
            let unknown = verdict_unknown("Proceed");
            assert_eq!(
                lines(&received(&socket, &unknown)),
                "MESSAGE=Undetermined (BootImageUnknown, Proceed): no source on this node names the boot image\n\
             MESSAGE_ID=b328e1d9eb554f989c3bfaf674832ca6\n\
             OBJECT_SYSTEMD_UNIT=skewguard.service\n\
             PRIORITY=4\n\
             SKEWGUARD_ACTION=Proceed\n\
             SKEWGUARD_POLICY_DIGEST=sha256:0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d\n\
             SKEWGUARD_POOL=worker\n\
             SKEWGUARD_REASON=BootImageUnknown\n\
             SKEWGUARD_RELEASE=4.21.3\n\
             SKEWGUARD_VERDICT=Undetermined\n\
             SYSLOG_IDENTIFIER=skewguard\n\
             TARGET=skewguard\n"
            );
            let mut warned = refused();
            warned.action = Action::Proceed;
            let mut rebased = warned.clone();
            rebased.deployment.stage = Stage::Rebased;
            for (verdict, priority) in [
                (allowed(), "5"),
                (warned.clone(), "4"),
                (rebased, "5"),
                (verdict_unknown("Refuse"), "3"),
                (refused(), "3"),
            ] {
                assert_eq!(received(&socket, &verdict)["PRIORITY"], [priority]);
            }
            // With another root than the running system's nothing is sent.
            let mut err = Vec::new();
            journal::record(&allowed(), false, &mut err);
            assert_eq!(
                String::from_utf8_lossy(&err),
                "skewguard: Allowed (WithinLimits, Proceed): the boot image is within the policy's limits\n"
            );
            socket.set_nonblocking(true).expect("nonblocking");
            assert!(socket.recv(&mut [0; 16]).is_err(), "nothing was sent");
        },
    );
}

fn verdict_unknown(on_undetermined: &str) -> Verdict {
    verdict(
        None,
        &format!(r#""onUndetermined": "{on_undetermined}","#),
        r#""minimumOCPVersion": "4.13.0""#,
    )
}

#[test]
fn no_text_can_forge_a_field_and_a_flood_is_cut() {
    alone(
        "inside::system::journal::no_text_can_forge_a_field_and_a_flood_is_cut",
        &[],
        RUN,
        "",
        |_| {
            let socket = UnixDatagram::bind(SOCKET).expect("the socket");
            let forged = "x\nSKEWGUARD_VERDICT=Allowed\nPRIORITY=7\n_UID=0\n";
            let mut verdict = refused();
            verdict.message = forged.to_owned();
            verdict.target.pool = Some(forged.to_owned());
            verdict.warnings = vec!["w".repeat(100); 100_000];
            let fields = received(&socket, &verdict);
            assert_eq!(fields["SKEWGUARD_VERDICT"], ["Refused"]);
            assert_eq!(fields["PRIORITY"], ["3"]);
            assert_eq!(fields["SKEWGUARD_POOL"], [forged]);
            assert!(!fields.contains_key("_UID"));
            assert!(fields["MESSAGE"][0].len() < 17_000 && fields["MESSAGE"][0].ends_with("\n..."));
        },
    );
}

/// One line for a verdict without warnings.
const PLAIN: &str = "skewguard: Refused (BelowMinimumOCPVersion, Block): boot image is OCP 4.11; the minimum is 4.13.0\n\
    skewguard: also BelowMinimumRHCOSVersion: boot image is RHEL 8.6; the minimum is 9.2\n";

#[test]
fn a_refusal_that_only_warns_says_what_it_would_be() {
    let mut verdict = refused();
    verdict.action = Action::Proceed;
    let mut written = Vec::new();
    journal::write_plain(&verdict, &mut written).expect("written");
    assert_eq!(
        String::from_utf8(written).expect("text"),
        PLAIN.replace(
            "Refused (BelowMinimumOCPVersion, Block)",
            "Would be refused (BelowMinimumOCPVersion, Proceed)"
        )
    );
}

#[test]
fn without_a_journald_that_listens_the_lines_go_to_the_writer() {
    alone(
        "inside::system::journal::without_a_journald_that_listens_the_lines_go_to_the_writer",
        &[],
        RUN,
        "",
        |_| {
            let recorded = || {
                let mut err = Vec::new();
                journal::record(&refused(), true, &mut err);
                String::from_utf8(err).expect("text")
            };
            assert_eq!(recorded(), PLAIN, "no socket");
            fs::write(SOCKET, "").expect("written");
            assert_eq!(recorded(), PLAIN, "a file in its place");
            fs::remove_file(SOCKET).expect("removed");
            drop(UnixDatagram::bind(SOCKET).expect("bound"));
            assert_eq!(recorded(), PLAIN, "nobody listens any more");
            fs::remove_file(SOCKET).expect("removed");
            // A journald that never reads: once its queue is full, a blocking send would wait for
            // ever.
            let _deaf = UnixDatagram::bind(SOCKET).expect("bound");
            let sender = UnixDatagram::unbound().expect("a socket");
            sender.set_nonblocking(true).expect("nonblocking");
            while sender.send_to(b"FILL=1\n", SOCKET).is_ok() {}
            assert_eq!(recorded(), PLAIN, "a journald that hangs");
            fs::remove_dir_all("/run/systemd").expect("removed");
            assert_eq!(recorded(), PLAIN, "no directory");
        },
    );
}

#[test]
fn what_no_longer_decides_is_said_whole_and_not_as_a_second_failure() {
    let off = Verdict {
        verdict: Outcome::Disabled,
        action: Action::Proceed,
        reason: Reason::OverrideOff,
        message: "the override says off".to_owned(),
        ..refused()
    };
    assert_eq!(
        journal::message(&off),
        "Disabled (OverrideOff, Proceed): the override says off\n\
         disregarded: BelowMinimumOCPVersion: boot image is OCP 4.11; the minimum is 4.13.0\n\
         disregarded: BelowMinimumRHCOSVersion: boot image is RHEL 8.6; the minimum is 9.2"
    );
}

#[test]
fn a_known_issue_that_warns_is_said_beside_every_verdict() {
    let mut warned = refused();
    let finding = &mut warned.findings[1];
    finding.rule = Reason::KnownIssue;
    finding.result = RuleResult::Warn;
    finding.message = "boot image has known issue Hangs: it hangs".to_owned();
    let text = journal::message(&warned);
    assert!(
        text.contains("\nwarning: boot image has known issue Hangs: it hangs"),
        "{text}"
    );
    let allowed = Verdict {
        verdict: Outcome::Allowed,
        action: Action::Proceed,
        reason: Reason::WithinLimits,
        message: "the boot image is within the policy's limits".to_owned(),
        findings: warned.findings.split_off(1),
        warnings: Vec::new(),
        gate: None,
        ..warned
    };
    assert_eq!(
        journal::message(&allowed),
        "Allowed (WithinLimits, Proceed): the boot image is within the policy's limits; \
         warning: boot image has known issue Hangs: it hangs"
    );
}

/// A writer that fails, as a closed standard error does.
struct Closed;

impl std::io::Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn not_even_a_closed_standard_error_fails_the_job() {
    journal::record(&refused(), false, &mut Closed);
    assert!(journal::write_plain(&refused(), &mut Closed).is_err());
}

fn repository(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

#[test]
fn the_documentation_lists_the_identifiers_and_fields_in_use() {
    let docs = repository("docs/reference.md");
    for outcome in VERDICTS {
        let id = journal::message_id(outcome);
        assert!(
            id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
            "{id}"
        );
        assert_eq!(
            docs.lines()
                .filter(|line| line.starts_with(&format!("| `{id}` | `{outcome}` | ")))
                .count(),
            1,
            "{outcome}"
        );
    }
    let source = repository("src/journal.rs");
    for field in source
        .split_whitespace()
        .filter(|word| word.starts_with("SKEWGUARD_"))
    {
        assert!(
            docs.contains(&format!("\n| `{field}` | ")),
            "docs/reference.md does not name {field}"
        );
    }
}

#[test]
fn the_catalog_explains_every_identifier() {
    let root = tempfile::tempdir().expect("temporary directory");
    let catalogs = root.path().join("usr/lib/systemd/catalog");
    fs::create_dir_all(&catalogs).expect("made");
    fs::create_dir_all(root.path().join("var/lib/systemd/catalog")).expect("made");
    fs::write(
        catalogs.join("skewguard.catalog"),
        repository("dist/skewguard.catalog"),
    )
    .expect("written");
    let journalctl = |args: &[&str]| {
        let output = Command::new("journalctl")
            .arg(format!("--root={}", root.path().display()))
            .args(args)
            .output();
        let output = output
            .unwrap_or_else(|e| panic!("journalctl: {e}; install the Debian package systemd"));
        let [out, err] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success() && err.is_empty(), "{args:?}: {err}");
        out
    };
    journalctl(&["--update-catalog"]);
    assert_eq!(
        journalctl(&["--list-catalog"]).lines().count(),
        VERDICTS.len() + 1
    );
    let ids = VERDICTS.map(journal::message_id);
    for id in ids.into_iter().chain([journal::STALLED_ID]) {
        let entry = journalctl(&["--dump-catalog", id]);
        assert!(
            entry.contains("\nSubject: ") && entry.contains("\nDefined-By: skewguard\n"),
            "{id}: {entry}"
        );
        let (_, text) = entry.split_once("\n\n").expect("a text below the header");
        assert!(text.len() > 150, "{id}: {text}");
        // journalctl prints the name of a field that an entry lacks.
        let always = if id == journal::STALLED_ID {
            ["SKEWGUARD_PHASE", "SKEWGUARD_CAUSE"]
        } else {
            ["SKEWGUARD_ACTION", "SKEWGUARD_REASON"]
        };
        for field in entry.split('@').skip(1).step_by(2) {
            assert!(always.contains(&field), "{id}: {field}");
        }
    }
}
