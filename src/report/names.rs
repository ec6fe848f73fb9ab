//! Names that Kubernetes accepts, made from what a node says about itself (pure).

use crate::text;
use crate::verdict::Verdict;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Longest host part of a name, in characters. A Linux host name has at most 64 (gethostname(2)).
const HOST_MAX: usize = 63;

/// Time after which a new Event is due, in seconds. OpenShift keeps Events for three hours.
pub(crate) const EVENT_INTERVAL: u64 = 2 * 60 * 60;

/// Fields that two verdicts must have in common to be the same report. Warnings and messages are
/// not part of it: they may differ from boot to boot without being news.
#[derive(Serialize)]
struct Key<'a> {
    verdict: &'a str,
    action: &'a str,
    reason: &'a str,
    held: Option<bool>,
    boot_image: Option<&'a str>,
    release: Option<&'a str>,
    pool: Option<&'a str>,
    machine_config: Option<&'a str>,
    os_image: Option<&'a str>,
    policy: Option<&'a str>,
    r#override: Option<&'a str>,
}

/// The name of a verdict's report: the host, `-`, and 16 hex digits of SHA-256 over the
/// installation's random id and the verdict. A node reports the same verdict under the same name,
/// so a retry gives a 409 and not a second report. Nobody else can guess the name.
pub(crate) fn report_name(host: &str, installation: &str, verdict: &Verdict) -> String {
    let key = Key {
        verdict: verdict.verdict.as_str(),
        action: verdict.action.as_str(),
        reason: verdict.reason.as_str(),
        held: verdict.gate.as_ref().map(|gate| gate.held),
        boot_image: verdict
            .boot_image
            .as_ref()
            .map(|image| image.version.as_str()),
        release: verdict.target.release.as_deref(),
        pool: verdict.target.pool.as_deref(),
        machine_config: verdict.target.machine_config.as_deref(),
        os_image: verdict.target.os_image_url.as_deref(),
        policy: verdict
            .policy
            .as_ref()
            .and_then(|policy| policy.digest.as_deref()),
        r#override: verdict
            .r#override
            .as_ref()
            .map(|given| given.value.as_str()),
    };
    // A struct of strings always serialises.
    let key = serde_json::to_string(&key).unwrap_or_default();
    format!("{}-{}", subdomain(host), hex16(&[installation, "\n", &key]))
}

/// The name of the report about a first boot that hangs: one for each phase and cause, which `key`
/// has, beside that of the verdict alone.
pub(crate) fn stall_name(report: &str, key: &str) -> String {
    match report.rsplit_once('-') {
        Some((host, hash)) => format!("{host}-{}", hex16(&[hash, "\n", key])),
        None => report.to_owned(),
    }
}

/// The name of the report's Event in the two-hour slot that `unix` (seconds since 1970) is in. A
/// retry in the same slot gives a 409.
pub(crate) fn event_name(report: &str, unix: u64) -> String {
    format!("{report}.{:x}", unix / EVENT_INTERVAL)
}

/// The first 16 hex digits of the SHA-256 of all parts together.
pub(crate) fn hex16(parts: &[&str]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update(part.as_bytes());
    }
    text::hex(sha.finalize().get(..8).unwrap_or_default())
}

/// Makes `host` a DNS subdomain (RFC 1123) of at most 63 characters; `node` if no character of it
/// is allowed.
pub(crate) fn subdomain(host: &str) -> String {
    let lower = host
        .chars()
        .take(HOST_MAX)
        .map(|c| match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '.') => c,
            _ => '-',
        });
    let lower: String = lower.collect();
    let labels = lower
        .split('.')
        .map(|label| label.trim_matches('-'))
        .filter(|label| !label.is_empty());
    let name = labels.collect::<Vec<_>>().join(".");
    if name.is_empty() {
        "node".to_owned()
    } else {
        name
    }
}
