//! The alerts that a cluster gives by itself, from metrics that every OpenShift has (pure).
//!
//! `monitoring.openshift.io/v1` AlertingRule is the supported object for alerts on the platform's
//! metrics (openshift/api, monitoring/v1/types.go). The annotations are those of OpenShift's own
//! alerts (openshift/enhancements, alerting consistency). An alert with the label
//! `openShiftUpdatePrecheck` is shown by `oc adm upgrade recommend` and by the console before an
//! update (openshift/cluster-version-operator, pkg/risk/alert).

mod born;
mod pattern;
mod refused;

pub(crate) use born::Born;
pub(crate) use refused::Refused;

use crate::operator;
use crate::policy::{Mode, Policy};
use crate::version::OcpMinor;
use serde::Serialize;
use std::collections::BTreeMap;

/// The runbooks; the section of an alert has its name in small letters.
const RUNBOOKS: &str = crate::docs!("alerts.md");

/// The number of reports. The first metric is there from OpenShift 4.22 on, the second before; -1
/// is an unknown number, and every API server has a series of its own.
const REPORTS: &str = "(\n  max(apiserver_resource_objects{group=\"skewguard.dev\",resource=\"bootimagereports\"} >= 0)\n  or\n  \
                       max(apiserver_storage_objects{resource=\"bootimagereports.skewguard.dev\"} >= 0)\n)";

/// AlertingRule.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AlertingRule {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Debug, Serialize)]
struct Metadata {
    name: &'static str,
    namespace: &'static str,
}

#[derive(Debug, Serialize)]
struct Spec {
    groups: [Group; 1],
}

#[derive(Debug, Serialize)]
struct Group {
    name: &'static str,
    rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
struct Rule {
    alert: &'static str,
    expr: String,
    r#for: &'static str,
    labels: BTreeMap<&'static str, &'static str>,
    annotations: BTreeMap<&'static str, String>,
}

impl AlertingRule {
    /// The rule for what a policy refuses, in words of the release that it was asked about.
    pub(crate) fn new(
        policy: &Policy,
        refused: &Refused,
        born: &Born,
        release: Option<&str>,
    ) -> Self {
        let in_use = refused
            .nodes
            .as_ref()
            .map(|nodes| old_image(newest_of_sets(nodes), release, policy.mode));
        let rules = [
            Some(reports(policy.mode)),
            in_use,
            born.expression.clone().zip(release).map(born_too_old),
            Some(dropped()),
            Some(jobs()),
            Some(differs(policy)),
        ];
        Self {
            api_version: "monitoring.openshift.io/v1",
            kind: "AlertingRule",
            metadata: Metadata {
                name: "skewguard",
                namespace: "openshift-monitoring",
            },
            spec: Spec {
                groups: [Group {
                    name: "skewguard",
                    rules: rules.into_iter().flatten().collect(),
                }],
            },
        }
    }
}

/// Parts that alerts have in common.
fn rule(
    alert: &'static str,
    expr: String,
    r#for: &'static str,
    [summary, description]: [String; 2],
) -> Rule {
    let runbook = format!("{RUNBOOKS}#{}", alert.to_ascii_lowercase());
    Rule {
        alert,
        expr,
        r#for,
        labels: BTreeMap::from([("severity", "warning"), ("namespace", "skewguard")]),
        annotations: BTreeMap::from([
            ("summary", summary),
            ("description", description),
            ("runbook_url", runbook),
        ]),
    }
}

/// With the label that makes it a risk of an update.
fn before_update(mut rule: Rule) -> Rule {
    rule.labels.insert("openShiftUpdatePrecheck", "true");
    rule
}

/// Reports that came within two hours, so that old ones do not alert for weeks: the sum of what was
/// added from minute to minute, so that the deletion of others ends no alert. A report is a claim:
/// it warns of no update.
fn reports(mode: Mode) -> Rule {
    let before = format!("last_over_time({REPORTS}[1h:1m] offset 1m)");
    let expr = format!("sum_over_time(clamp_min({REPORTS} - {before}, 0)[2h:1m]) > 0");
    let (refused, refuses) = match mode {
        Mode::Enforce => ("is refused", "refuses their boot image"),
        Mode::Warn | Mode::None => (
            "would be refused",
            "would refuse their boot image, and lets them in (mode Warn)",
        ),
    };
    rule(
        "BootImageRefused",
        expr,
        "0s",
        [
            format!(
                "New nodes report that their boot image {refused}, or that their first boot does not finish."
            ),
            format!(
                "{{{{ $value }}}} reports of nodes came within the last two hours: the skew policy {refuses}; or it could not be judged; or \
                 their first boot does not finish. `oc get bootimagereports -n skewguard -o wide` has the nodes, what was done, and why.",
            ),
        ],
    )
}

/// The Machines that are nodes, and the set of each: a Machine's name is that of its set and a
/// suffix (`mapi_machine_created_timestamp_seconds`, machine-api-operator `pkg/metrics`).
const MACHINES: &str = "label_replace(\n        max by (name, node) (mapi_machine_created_timestamp_seconds{node!=\"\"}),\n        \
                        \"set\", \"$1\", \"name\", \"(.+)-[^-]+\"\n      )";

/// The sets whose newest node is among these nodes: the older ones are what they are, and say nothing
/// of the next one. So are control planes. A node without a Machine stands for itself. Machines that
/// were made in the same second are all the newest, and count as one set.
fn newest_of_sets(nodes: &str) -> String {
    let label = refused::LABEL;
    let newest = format!(
        "group by (node, set) (\n      {MACHINES}\n      == on (set) group_left ()\n      max by (set) ({MACHINES})\n    )"
    );
    let without_machine = "label_replace(\n      \
         group by (node) (kube_node_labels) unless on (node) mapi_machine_created_timestamp_seconds{node!=\"\"},\n      \
         \"set\", \"node/$1\", \"node\", \"(.+)\"\n    )";
    format!(
        "count by ({label}) (\n  group by (set, {label}) (\n    (\n{nodes}    unless on (node) kube_node_role{{role=~\"control-plane|master\"}}\n    )\n    \
         * on (node) group_left (set) topk by (node) (1,\n    {newest}\n    or on (node)\n    {without_machine}\n    )\n  )\n)"
    )
}

fn old_image(expression: String, release: Option<&str>, mode: Mode) -> Rule {
    let (rule_for, before) = match release {
        Some(release) => (
            format!("the skew policy's limit for {release}"),
            " before the update",
        ),
        None => ("the skew policy".to_owned(), ""),
    };
    let next = match mode {
        Mode::Enforce => "would not join",
        Mode::Warn | Mode::None => "would be let in with a warning (mode Warn)",
    };
    before_update(rule(
        "OldBootImageInUse",
        expression,
        "15m",
        [
            "The newest nodes of machine sets were made from a boot image that the skew policy refuses.".to_owned(),
            format!(
                "The newest nodes of {{{{ $value }}}} machine sets were made from boot image {{{{ $labels.label_skewguard_dev_boot_image }}}}, which \
                 {rule_for} refuses (a node without a Machine counts as a set). They go on to run; a new node from the same image {next}. \
                 `oc skewguard audit` says which machine sets still name it: give them a newer image{before}.",
            ),
        ],
    ))
}

fn born_too_old((expression, release): (String, &str)) -> Rule {
    before_update(rule(
        "BornTooOldForUpdate",
        expression,
        "15m",
        [
            format!(
                "Joined nodes were born from a boot image whose update to {release} is known to fail."
            ),
            format!(
                "{{{{ $value }}}} joined nodes were born from boot image {{{{ $labels.label_skewguard_dev_boot_image }}}}, and a known issue of \
                 the skew policy says that the update to {release} breaks such nodes. `oc skewguard audit --target {release}` names the nodes, the \
                 issue and what helps before the update.",
            ),
        ],
    ))
}

fn dropped() -> Rule {
    const QUOTA: &str = "kube_resourcequota{namespace=\"skewguard\",resource=\"count/bootimagereports.skewguard.dev\"";
    let expr = format!(
        "max by (resourcequota) ({QUOTA},type=\"used\"}})\n>= on (resourcequota)\nmax by (resourcequota) ({QUOTA},type=\"hard\"}})"
    );
    rule(
        "BootImageReportsDropped",
        expr,
        "5m",
        [
            "Reports of new nodes are refused: the quota is used up.".to_owned(),
            "There are {{ $value }} BootImageReports in the namespace skewguard, as many as the ResourceQuota {{ $labels.resourcequota }} \
             allows. Later ones are refused until some are deleted; their nodes try again. Their Events still come."
                .to_owned(),
        ],
    )
}

/// Status 3 of the audit is a finding, any other a failure; the metric does not tell them apart.
fn jobs() -> Rule {
    rule(
        "BootImageAuditFailed",
        "max by (job_name) (kube_job_failed{namespace=\"skewguard\",job_name=~\"skewguard-(audit|prune)-.*\",condition=\"true\"}) > 0"
            .to_owned(),
        "0s",
        [
            "The audit of boot images found something to do, or could not be made; or old reports could not be deleted.".to_owned(),
            "Job {{ $labels.job_name }} failed. skewguard-audit: a machine set would make nodes that the skew policy refuses, or it is not \
             known, or the cluster could not be read; the ConfigMap skewguard-audit and the Job's log in the namespace skewguard say which. \
             skewguard-prune: old reports stay, until the quota is used up; the Job's log says why."
                .to_owned(),
        ],
    )
}

/// The operator's metric is there from OpenShift 4.22 on (openshift/machine-config-operator,
/// `pkg/controller/common/metrics.go`), the cluster's release in every one.
fn differs(policy: &Policy) -> Rule {
    const OPTED_OUT: &str = "max(mcc_boot_image_skew_enforcement_none) == 1\nor\n";
    // Releases before the first one with limits, and those whose limits the policy has.
    let before: Vec<String> = (0..operator::FIRST.minor)
        .map(|minor| minor.to_string())
        .collect();
    let mut same = vec![format!(
        "{}[.]({})",
        operator::FIRST.major,
        before.join("|")
    )];
    same.extend(
        operator::followed(policy)
            .into_iter()
            .map(|OcpMinor { major, minor }| format!("{major}[.]{minor}")),
    );
    let release = format!(
        "max(cluster_version{{type=\"current\",version!~\"({})[.].*\"}}) > 0",
        same.join("|")
    );
    let opted_out = match policy.mode {
        Mode::Enforce => OPTED_OUT,
        Mode::Warn | Mode::None => "",
    };
    rule(
        "BootImagePolicyDiffersFromOperator",
        format!("{opted_out}{release}"),
        "15m",
        [
            "The skew policy and the Machine Config Operator differ.".to_owned(),
            "The cluster opted out of boot image skew enforcement and the skew policy enforces; or the policy does not have the limits of \
             this release's Machine Config Operator, or they were not known when this rule was made. `oc skewguard audit` says which."
                .to_owned(),
        ],
    )
}
