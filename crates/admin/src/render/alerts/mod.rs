//! The alerts that a cluster gives by itself, from metrics that every OpenShift has (pure).
//!
//! `monitoring.openshift.io/v1` AlertingRule is the supported object for alerts on the platform's
//! metrics (openshift/api, monitoring/v1/types.go). The annotations are those of OpenShift's own
//! alerts (openshift/enhancements, alerting consistency). An alert with the label
//! `openShiftUpdatePrecheck` is shown by `oc adm upgrade recommend` and by the console before an
//! update (openshift/cluster-version-operator, pkg/risk/alert). `alerts.yaml` has it with holes.

mod at_risk;
mod beginnings;
mod refused;
mod risks;

pub(crate) use at_risk::NodesAtRisk;
pub(crate) use refused::Refused;
pub(crate) use risks::Risks;

use crate::operator;
use crate::policy::{Mode, Policy};
use crate::template::Object;
use crate::version::OcpMinor;

/// The runbooks; the section of an alert has its name in small letters.
const RUNBOOKS: &str = crate::docs!("alerts.md");

/// The AlertingRule for what a policy refuses, in words of the release that it was asked about.
pub(crate) fn rule(
    policy: &Policy,
    refused: &Refused,
    at_risk: &NodesAtRisk,
    release: Option<&str>,
) -> Object {
    let [of_release, before_release] = match release {
        Some(release) => [&format!("'s limit for {release}"), " before the update"],
        None => [""; 2],
    };
    let [is_refused, refuses, next, opted_out] = match policy.mode {
        Mode::Enforce => [
            "is refused",
            "refuses their boot image",
            "would not join",
            "max(mcc_boot_image_skew_enforcement_none) == 1\nor\n",
        ],
        Mode::Warn => [
            "would be refused",
            "would refuse their boot image, and lets them in (mode Warn)",
            "would be let in with a warning (mode Warn)",
            "",
        ],
        // By its own kernel command line a node judges all the same.
        Mode::None => [
            "would be refused",
            "would refuse their boot image, but for its mode None",
            "",
            "",
        ],
    };
    let [nodes, at_risk] = [&refused.nodes, &at_risk.expression].map(Option::as_deref);
    let mut object = Object::new(
        include_str!("alerts.yaml"),
        &[
            ("runbooks", &RUNBOOKS),
            ("release", &release.unwrap_or_default()),
            ("of_release", &of_release),
            ("before_release", &before_release),
            ("refused", &is_refused),
            ("refuses", &refuses),
            ("next", &next),
            ("opted_out", &opted_out),
            ("followed", &followed(policy)),
            ("nodes", &nodes.unwrap_or_default()),
            ("at_risk", &at_risk.unwrap_or_default()),
        ],
    );
    if let Some(Object::List(rules)) = object.part("spec/groups/0/rules") {
        rules.retain_mut(|rule| match rule.part("alert") {
            Some(Object::Text(alert)) if alert == "OldBootImageInUse" => nodes.is_some(),
            Some(Object::Text(alert)) if alert == "BootImageTooOldForUpdate" => at_risk.is_some(),
            _ => true,
        });
    }
    object
}

/// The releases that no alert is for, as a regular expression: those before the first one with
/// limits, and those whose limits the policy has.
fn followed(policy: &Policy) -> String {
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
    same.join("|")
}
