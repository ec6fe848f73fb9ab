//! A journal entry for each verdict, over journald's native protocol.
//!
//! `MESSAGE_ID`s, fields and priorities are a stable interface: `docs/reference.md` lists them and
//! `dist/skewguard.catalog` explains them to `journalctl -x`. Where journald is missing or hangs,
//! the entry may be lost, and the boot waits for [`LIMIT`] at most.

use crate::verdict::words::Level;
use crate::verdict::{Fate, Outcome, Verdict};
use std::io::{Error, ErrorKind, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Subscriber, with_default};
use tracing::{Event, Metadata};
use tracing_journald::{Priority, PriorityMappings};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{Extensions, ExtensionsMut, LookupSpan, SpanData};

/// Time that journald may take. Writes to its socket block while its queue is full.
const LIMIT: Duration = Duration::from_secs(1);

/// `SYSLOG_IDENTIFIER`, the same whether systemd or a person started the process.
const IDENTIFIER: &str = "skewguard";

/// Longest `MESSAGE`, in bytes.
const MESSAGE_MAX: usize = 16 * 1024;

/// The `MESSAGE_ID` of a verdict. These never change.
pub(crate) fn message_id(verdict: Outcome) -> &'static str {
    match verdict {
        Outcome::Disabled => "1a6421be7e294ec2bf486f3ee1ed4279",
        Outcome::NoPolicy => "acd1bc3f13794fcfaf0b39c1665ba25d",
        Outcome::Allowed => "d66dfe623dc747c2b3bb5cc0b03e8cad",
        Outcome::Refused => "73553485504e4bb4bb2c904d59b78fdc",
        Outcome::Undetermined | Outcome::Other(_) => "b328e1d9eb554f989c3bfaf674832ca6",
    }
}

fn priority(verdict: &Verdict) -> Priority {
    match verdict.fate_words().level {
        _ if verdict.fate() == Fate::PastFirstBoot => Priority::Notice,
        Level::Error => Priority::Error,
        Level::Warning => Priority::Warning,
        Level::Info => Priority::Notice,
    }
}

/// The verdict as text: one line, then one each for every other failed rule, for what the gate
/// could not do, and for every warning.
pub(crate) fn message(verdict: &Verdict) -> String {
    let mut text = format!(
        "{} ({}, {}): {}",
        verdict.headline(),
        verdict.reason,
        verdict.action,
        verdict.sentence()
    );
    // The message of a refusal already is its first failure. Other verdicts disregard all of
    // theirs.
    let (said, also) = if verdict.verdict == Outcome::Refused {
        (1, "also")
    } else {
        (0, "disregarded:")
    };
    let failures = verdict
        .failures()
        .skip(said)
        .map(|finding| format!("{also} {}: {}", finding.rule, finding.message));
    // The first one stands in the first line already, but beside a refusal.
    let warned = verdict
        .warned()
        .skip(1 - said)
        .map(|finding| format!("warning: {}", finding.message));
    let gate = verdict.gate.iter().filter_map(|gate| {
        let what = if gate.held {
            "in doubt"
        } else {
            "not held back"
        };
        gate.error.as_ref().map(|error| format!("{what}: {error}"))
    });
    let warnings = verdict
        .warnings
        .iter()
        .map(|warning| format!("warning: {warning}"));
    for line in failures.chain(warned).chain(gate).chain(warnings) {
        if text.len() + line.len() > MESSAGE_MAX {
            text.push_str("\n...");
            break;
        }
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// Sends the verdict to the journal. Where there is no journald, or `live` is false because the
/// root is not the running system's, it is written to `err` as plain lines. Never fails: no trouble
/// with the journal may change what happens to the node.
pub(crate) fn record(verdict: &Verdict, live: bool, err: &mut dyn Write) {
    let entry = verdict.clone();
    let emit = move || emit(&entry);
    if !live || send(priority(verdict), Box::new(emit)).is_err() {
        let _ = write_plain(verdict, err);
    }
}

/// The verdict as plain lines, each prefixed with our name.
pub(crate) fn write_plain(verdict: &Verdict, err: &mut dyn Write) -> Result<(), Error> {
    for line in message(verdict).lines() {
        writeln!(err, "skewguard: {line}")?;
    }
    Ok(())
}

/// Sends one entry to journald, with this priority whatever its level is: a level would have to be a
/// constant.
///
/// # Errors
/// There is no journald (`NotFound`, `ConnectionRefused`), or it did not take the entry within
/// [`LIMIT`] (`TimedOut`).
fn send(priority: Priority, emit: Box<dyn FnOnce() + Send>) -> Result<(), Error> {
    let (done, waits) = (Arc::new(OnceLock::new()), std::thread::current());
    let sent = Arc::clone(&done);
    // A thread that hangs is abandoned; it ends with the process.
    std::thread::Builder::new().spawn(move || {
        let layer = tracing_journald::layer().map(|layer| {
            layer
                .with_field_prefix(None)
                .with_syslog_identifier(IDENTIFIER.to_owned())
                .with_priority_mappings(PriorityMappings {
                    info: priority,
                    ..PriorityMappings::new()
                })
        });
        let result = layer.map(|layer| with_default(NoSpans.with(layer), emit));
        let _ = sent.set(result.map_err(|error| error.kind()));
        waits.unpark();
    })?;
    let until = Instant::now() + LIMIT;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match done.get() {
            Some(result) => return result.map_err(Error::from),
            None if left.is_zero() => return Err(ErrorKind::TimedOut.into()),
            None => std::thread::park_timeout(left),
        }
    }
}

/// Takes single events. tracing's own registry would bring a store for spans, of which there are
/// none.
struct NoSpans;

impl Subscriber for NoSpans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl LookupSpan<'_> for NoSpans {
    type Data = Never;
    fn span_data(&self, _: &Id) -> Option<Never> {
        None
    }
}

/// A span of [`NoSpans`].
enum Never {}

impl SpanData<'_> for Never {
    fn id(&self) -> Id {
        match *self {}
    }
    fn metadata(&self) -> &'static Metadata<'static> {
        match *self {}
    }
    fn parent(&self) -> Option<&Id> {
        match *self {}
    }
    fn extensions(&self) -> Extensions<'_> {
        match *self {}
    }
    fn extensions_mut(&self) -> ExtensionsMut<'_> {
        match *self {}
    }
}

/// The `MESSAGE_ID` of a first boot that does not finish. It never changes.
pub(crate) const STALLED_ID: &str = "6f0d1f0a8a5c4bd39a4c1f2e7b90d5c3";

/// Sends what a first boot waits for to the journal; where there is none, to `err`.
pub(crate) fn record_stall(
    phase: &'static str,
    unit: Option<String>,
    cause: String,
    message: String,
    live: bool,
    err: &mut dyn Write,
) {
    let text = message.clone();
    let emit = move || {
        tracing::event!(
            target: "skewguard",
            tracing::Level::INFO,
            MESSAGE_ID = STALLED_ID,
            OBJECT_SYSTEMD_UNIT = "skewguard.service",
            SKEWGUARD_PHASE = phase,
            SKEWGUARD_UNIT = unit.as_deref(),
            SKEWGUARD_CAUSE = cause.as_str(),
            "{}",
            text
        );
    };
    let sent = live && send(Priority::Warning, Box::new(emit)).is_ok();
    if !sent {
        let _ = writeln!(err, "skewguard: {message}");
    }
}

fn emit(verdict: &Verdict) {
    let image = verdict.boot_image.as_ref();
    tracing::event!(
        target: "skewguard",
        tracing::Level::INFO,
        MESSAGE_ID = message_id(verdict.verdict),
        // journald reads the sender's unit from /proc, too late if the process has ended by then.
        // With this field `journalctl -u skewguard` finds the entry anyway
        // (systemd.journal-fields(7)).
        OBJECT_SYSTEMD_UNIT = "skewguard.service",
        SKEWGUARD_VERDICT = verdict.verdict.as_str(),
        SKEWGUARD_ACTION = verdict.action.as_str(),
        SKEWGUARD_REASON = verdict.reason.as_str(),
        SKEWGUARD_BOOT_IMAGE = image.map(|image| image.version.as_str()),
        SKEWGUARD_RHEL = image.and_then(|image| image.rhel_version.as_deref()),
        SKEWGUARD_OCP = image.and_then(|image| image.ocp_version.as_deref()),
        SKEWGUARD_RELEASE = verdict.target.release.as_deref(),
        SKEWGUARD_POOL = verdict.target.pool.as_deref(),
        SKEWGUARD_POLICY_DIGEST = verdict.policy.as_ref().and_then(|policy| policy.digest.as_deref()),
        SKEWGUARD_OVERRIDE = verdict.r#override.as_ref().map(|given| given.value.as_str()),
        "{}",
        message(verdict)
    );
}
