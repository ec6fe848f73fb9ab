//! The `BootImageReport` that a node which never joined leaves in the cluster (pure).
//!
//! Its shape is that of the CustomResourceDefinition in `dist/manifests/base/crd.yaml`. Each bound
//! here is also a bound there, and the whole object stays below the limit of the admission policy.
//! `scope`, `impact` and `remediation` are named and worded as in OpenShift's update insights
//! (enhancements, `update/update-status-api.md`).

use super::names::{report_name, stall_name};
use super::stall::Progress;
use crate::API_VERSION;
use crate::clock;
use crate::node::identity::Identity;
use crate::text::bounded;
use crate::transport::Request;
use crate::verdict::Verdict;
use crate::verdict::words::Level;
use serde::Serialize;
use std::time::SystemTime;

/// The namespace of reports and Events, made by `dist/manifests`.
pub(crate) const NAMESPACE: &str = "skewguard";

/// Longest sentence, in bytes.
pub(super) const TEXT_MAX: usize = 1024;

/// Limit of a list's entries; for the held units twice as many.
const LIST_MAX: usize = 16;

/// Longest list of findings, in bytes of JSON.
const FINDINGS_BYTES_MAX: usize = 4096;

/// Longest other list, in bytes of JSON. Ordinary text comes nowhere near it.
const LIST_BYTES_MAX: usize = 2048;

/// The parts of a report. All text is printable and bounded already.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The verdict that `enforce` left, bounded by [`super::situation::bound`].
    pub verdict: &'a Verdict,
    /// The node's identity.
    pub identity: &'a Identity,
    /// The remedy for an admin.
    pub remediation: &'a str,
    /// The installation's random id.
    pub installation: &'a str,
    /// The time of the verdict, by the node's clock.
    pub observed: SystemTime,
    /// The state of a first boot that does not finish.
    pub progress: Option<&'a Progress>,
}

/// A `BootImageReport`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BootImageReport<'a> {
    api_version: &'static str,
    kind: &'static str,
    pub(crate) metadata: ObjectMeta,
    report: Content<'a>,
}

/// The part of `metav1.ObjectMeta` that is set here.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ObjectMeta {
    pub(crate) name: String,
    pub(super) namespace: &'static str,
}

/// The field `report`. What the node does not know is absent. The API server drops fields that its
/// CRD does not have; a new one that older CRDs must keep goes into their `more`, as name and value.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a> {
    verdict: Verdict,
    observed_at: String,
    agent_version: &'static str,
    node: &'a Identity,
    scope: Scope<'a>,
    impact: Impact,
    remediation: Remediation<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a Progress>,
}

#[derive(Debug, Clone, Serialize)]
struct Scope<'a> {
    r#type: &'static str,
    resources: Vec<Resource<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct Resource<'a> {
    group: &'static str,
    resource: &'static str,
    name: &'a str,
}

#[derive(Debug, Clone, Serialize)]
struct Impact {
    level: &'static str,
    summary: String,
}

#[derive(Debug, Clone, Serialize)]
struct Remediation<'a> {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
}

impl<'a> BootImageReport<'a> {
    /// Makes the report; its lists are cut to their bounds.
    pub fn new(source: &ReportInput<'a>) -> Self {
        let verdict = source.verdict;
        let host = source.identity.hostname.as_deref().unwrap_or_default();
        let policy = verdict.policy.as_ref();
        let remediation = match source.progress {
            Some(progress) => progress.remediation(),
            None => source.remediation.to_owned(),
        };
        let (level, summary) = match source.progress {
            Some(_) => (Level::Error, STALLED.to_owned()),
            None => (verdict.fate_words().level, verdict.impact()),
        };
        let report = Content {
            verdict: with_short_lists(verdict),
            observed_at: clock::time(source.observed),
            agent_version: env!("CARGO_PKG_VERSION"),
            node: source.identity,
            scope: scope(verdict),
            impact: Impact {
                level: level.as_str(),
                summary,
            },
            remediation: Remediation {
                text: bounded(&(remediation + WHY), TEXT_MAX),
                reference: policy.and_then(|policy| policy.help_url.as_deref()),
            },
            progress: source.progress,
        };
        let name = report_name(host, source.installation, verdict);
        let name = match source.progress {
            Some(progress) => stall_name(&name, &progress.key()),
            None => name,
        };
        let metadata = ObjectMeta {
            name,
            namespace: NAMESPACE,
        };
        Self {
            api_version: API_VERSION,
            kind: "BootImageReport",
            metadata,
            report,
        }
    }

    /// The request that creates it.
    pub(crate) fn request(&self) -> Request {
        Request::new(
            "POST",
            format!("/apis/{API_VERSION}/namespaces/{NAMESPACE}/bootimagereports"),
            self,
        )
    }
}

/// The verdict with as much of its lists as the CRD takes.
fn with_short_lists(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    shorten(&mut verdict.findings, LIST_MAX, FINDINGS_BYTES_MAX);
    shorten(&mut verdict.warnings, LIST_MAX, LIST_BYTES_MAX);
    if let Some(gate) = &mut verdict.gate {
        shorten(&mut gate.units, 2 * LIST_MAX, LIST_BYTES_MAX);
    }
    verdict
}

/// Keeps the first items, at most `most` and as many as fit into `bytes` of JSON.
fn shorten<T: Serialize>(items: &mut Vec<T>, most: usize, bytes: usize) {
    let mut size = 0_usize;
    let fits = |item: &&T| {
        size =
            size.saturating_add(serde_json::to_string(item).map_or(usize::MAX, |json| json.len()));
        size <= bytes
    };
    let fitting = items.iter().take(most).take_while(fits).count();
    items.truncate(fitting);
}

fn scope(verdict: &Verdict) -> Scope<'_> {
    let Some(pool) = verdict.target.pool.as_deref() else {
        return Scope {
            r#type: "Unknown",
            resources: Vec::new(),
        };
    };
    let kind = if pool == "master" || pool == "arbiter" {
        "ControlPlane"
    } else {
        "WorkerPool"
    };
    let resource = Resource {
        group: "machineconfiguration.openshift.io",
        resource: "machineconfigpools",
        name: pool,
    };
    Scope {
        r#type: kind,
        resources: vec![resource],
    }
}

/// The end of each piece of advice.
pub(super) const WHY: &str = " (more: oc skewguard why)";

/// The impact of a first boot that does not finish.
const STALLED: &str = "The node has not joined the cluster: its first boot does not finish.";
