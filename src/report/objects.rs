//! The `BootImageReport` a node that never joined leaves in the cluster (pure).
//!
//! The shape is that of the CustomResourceDefinition in `dist/manifests/base/crd.yaml`; each bound here is a bound there, and all of it together
//! stays below what the admission policy takes. `scope`, `impact`
//! and `remediation` are named and worded as in OpenShift's update insights (enhancements, `update/update-status-api.md`).

use super::clock;
use super::names::{clean, report_name};
use super::transport::Request;
use crate::API_VERSION;
use crate::node::bus::BootedDeployment;
use crate::node::identity::Identity;
use crate::verdict::{Action, BootImageStatus, Deployment, Finding, Judged, Outcome, PolicyStatus, Reason, Verdict};
use serde::Serialize;
use std::time::SystemTime;

/// The namespace of reports and Events, made by `dist/manifests`.
pub(crate) const NAMESPACE: &str = "skewguard";

/// Longest short text: a version, a name, an image reference.
pub(crate) const WORD_MAX: usize = 512;

/// Longest sentence.
pub(crate) const TEXT_MAX: usize = 1024;

/// Most entries of any list.
pub(crate) const LIST_MAX: usize = 16;

/// Longest list of findings, in bytes of JSON.
const FINDINGS_BYTES_MAX: usize = 4096;

/// Longest of the other lists: only text that somebody made long comes near it.
const LIST_BYTES_MAX: usize = 2048;

/// What a report is made from. The clock and the random installation id come from outside.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The verdict, as `enforce` left it. Untrusted: it was read from a file.
    pub verdict: &'a Verdict,
    /// Who this node is.
    pub identity: &'a Identity,
    /// rpm-ostree's own view of the booted deployment, as a cross-check.
    pub rpm_ostree: Option<&'a BootedDeployment>,
    /// What an admin can do about it.
    pub remediation: &'a str,
    /// The installation's random id.
    pub installation: &'a str,
    /// When the verdict was made, by the node's clock.
    pub observed: SystemTime,
}

/// A `BootImageReport`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BootImageReport {
    api_version: &'static str,
    kind: &'static str,
    pub(crate) metadata: Metadata,
    pub(crate) report: Report,
}

/// The part of `metav1.ObjectMeta` that is set here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: &'static str,
}

impl Metadata {
    pub(crate) fn new(name: String) -> Self {
        Self { name, namespace: NAMESPACE }
    }
}

/// The content of a report. Absent is what the node does not know.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    verdict: Outcome,
    action: Action,
    reason: Reason,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<bool>,
    observed_at: String,
    agent_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_image: Option<BootImageStatus>,
    judged: Judged,
    target: crate::verdict::Target,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<PolicyStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#override: Option<crate::verdict::Override>,
    findings: Vec<Finding>,
    warnings: Vec<String>,
    node: Identity,
    scope: Scope,
    impact: Impact,
    remediation: Remediation,
    details: Details,
}

#[derive(Debug, Clone, Serialize)]
struct Scope {
    r#type: &'static str,
    resources: Vec<Resource>,
}

#[derive(Debug, Clone, Serialize)]
struct Resource {
    group: &'static str,
    resource: &'static str,
    name: String,
}

#[derive(Debug, Clone, Serialize)]
struct Impact {
    level: &'static str,
    summary: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct Remediation {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

/// Further facts. What a CRD does not know it drops; a field that older CRDs are to keep goes into their `details.more`, as name and value.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    deployment: Deployment,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held_units: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rpm_ostree: Option<BootedDeployment>,
}

/// Whether a node with this verdict tells the cluster before it joins: refused (also where the policy only warns) and undetermined ones, and those of
/// another release that had something to hold.
pub fn is_reportable(verdict: &Verdict) -> bool {
    match verdict.verdict {
        Outcome::Refused | Outcome::Undetermined => true,
        Outcome::Disabled | Outcome::NoPolicy | Outcome::Allowed => false,
        Outcome::Other(_) => verdict.blocks() || verdict.gate.is_some(),
    }
}

impl BootImageReport {
    /// Makes the report. Every text is printable and bounded, every list is bounded.
    pub fn new(source: &ReportInput<'_>) -> Self {
        let verdict = source.verdict;
        let host = source.identity.hostname.as_deref().unwrap_or_default();
        let gate = verdict.gate.as_ref();
        let report = Report {
            verdict: verdict.verdict,
            action: verdict.action,
            reason: verdict.reason,
            message: text(&verdict.message),
            held: gate.map(|gate| gate.held),
            observed_at: clock::time(source.observed),
            agent_version: env!("CARGO_PKG_VERSION"),
            boot_image: verdict.boot_image.as_ref().map(boot_image),
            judged: verdict.judged,
            target: target(&verdict.target),
            policy: verdict.policy.as_ref().map(|policy| PolicyStatus {
                path: word(&policy.path),
                digest: words(&policy.digest),
                mode: words(&policy.mode),
                limit_release: words(&policy.limit_release),
                // The help is in the remediation.
                ..PolicyStatus::default()
            }),
            r#override: verdict.r#override,
            findings: list(LIST_MAX, FINDINGS_BYTES_MAX, verdict.findings.iter().map(finding)),
            warnings: list(LIST_MAX, LIST_BYTES_MAX, verdict.warnings.iter().map(|warning| text(warning))),
            node: source.identity.clone(),
            scope: scope(verdict),
            impact: impact(verdict),
            remediation: Remediation {
                text: text(source.remediation),
                reference: verdict.policy.as_ref().and_then(|policy| words(&policy.help_url)),
            },
            details: Details {
                deployment: Deployment {
                    ostree: words(&verdict.deployment.ostree),
                    container_image_reference: words(&verdict.deployment.container_image_reference),
                    image: verdict.deployment.image.as_ref().map(boot_image),
                    stage: verdict.deployment.stage,
                },
                gate_error: gate.and_then(|gate| gate.error.as_deref()).map(text),
                held_units: gate
                    .map(|gate| list(2 * LIST_MAX, LIST_BYTES_MAX, gate.units.iter().map(|unit| word(unit))))
                    .unwrap_or_default(),
                rpm_ostree: source.rpm_ostree.map(|booted| BootedDeployment {
                    version: words(&booted.version),
                    checksum: words(&booted.checksum),
                    container_image_reference: words(&booted.container_image_reference),
                }),
            },
        };
        let metadata = Metadata::new(report_name(host, source.installation, verdict));
        Self { api_version: API_VERSION, kind: "BootImageReport", metadata, report }
    }

    /// Creates it.
    pub fn request(&self) -> Request {
        Request::new("POST", format!("/apis/{API_VERSION}/namespaces/{NAMESPACE}/bootimagereports"), self)
    }
}

fn word(text: &str) -> String {
    clean(text, WORD_MAX)
}

fn words(text: &Option<String>) -> Option<String> {
    text.as_deref().map(word)
}

fn text(text: &str) -> String {
    clean(text, TEXT_MAX)
}

/// The first `most` items, as long as they fit.
fn list<T: Serialize>(most: usize, bytes: usize, items: impl Iterator<Item = T>) -> Vec<T> {
    let mut left = bytes;
    let mut fits = |item: &T| {
        let size = serde_json::to_string(item).map_or(usize::MAX, |json| json.len());
        left.checked_sub(size).is_some_and(|rest| {
            left = rest;
            true
        })
    };
    items.take(most).take_while(|item| fits(item)).collect()
}

/// The boot image, every text of it bounded.
pub(super) fn boot_image(image: &BootImageStatus) -> BootImageStatus {
    BootImageStatus {
        version: word(&image.version),
        scheme: image.scheme,
        rhel_version: words(&image.rhel_version),
        ocp_version: words(&image.ocp_version),
        build_date: words(&image.build_date),
        build_number: image.build_number,
        source: image.source,
        path: words(&image.path),
    }
}

/// The target, every text of it bounded.
pub(super) fn target(target: &crate::verdict::Target) -> crate::verdict::Target {
    crate::verdict::Target {
        release: words(&target.release),
        pool: words(&target.pool),
        machine_config: words(&target.machine_config),
        os_image_url: words(&target.os_image_url),
    }
}

fn finding(finding: &Finding) -> Finding {
    Finding {
        rule: finding.rule,
        result: finding.result,
        have: words(&finding.have),
        want: word(&finding.want),
        message: text(&finding.message),
    }
}

fn scope(verdict: &Verdict) -> Scope {
    let Some(pool) = verdict.target.pool.as_deref() else { return Scope { r#type: "Unknown", resources: Vec::new() } };
    let kind = if pool == "master" || pool == "arbiter" { "ControlPlane" } else { "WorkerPool" };
    let resource = Resource { group: "machineconfiguration.openshift.io", resource: "machineconfigpools", name: word(pool) };
    Scope { r#type: kind, resources: vec![resource] }
}

fn impact(verdict: &Verdict) -> Impact {
    let held = verdict.gate.as_ref().map(|gate| gate.held);
    let (level, summary) = match (verdict.verdict, verdict.blocks() || held == Some(true)) {
        (_, true) if held == Some(false) => ("Error", "The node was refused but could not be held back: it may join on the old OS."),
        (Outcome::Refused, true) => ("Error", "The node does not join the cluster: its boot image breaks the policy."),
        (_, true) => ("Error", "The node does not join the cluster: its boot image could not be checked."),
        (Outcome::Refused, false) => ("Warning", "The node goes on to join although its boot image breaks the policy."),
        (Outcome::Undetermined, false) => ("Warning", "The node goes on to join; its boot image could not be checked."),
        (_, false) => ("Info", "The node goes on to join."),
    };
    Impact { level, summary }
}
