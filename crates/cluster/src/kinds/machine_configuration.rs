//! MachineConfiguration `cluster` (pure): which boot images the cluster keeps, and what it takes for the oldest.

use super::groups::MACHINE_API;
use super::metadata::{Condition, condition, conditions};
use crate::lenient::{self, Raw};
use crate::moment::Moment;
use crate::text::KEPT_MAX;
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The cluster's own value: `status.bootImageSkewEnforcementStatus` of MachineConfiguration
/// `cluster`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSkew {
    /// `Automatic`, `Manual` or `None`.
    pub mode: String,
    /// Version that it takes for the oldest boot image's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rhcos_version: Option<String>,
    /// The release that it takes for that of the oldest boot image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocp_version: Option<String>,
    /// An older image is in use than the cluster says; absent where the two cannot be
    /// compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_in_use: Option<bool>,
    /// It alone blocks updates: it is below the operator's minimum, and no set's image is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blocks_alone: bool,
}

/// Value of the MachineConfiguration `cluster`, before it is compared with anything.
fn skew<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ClusterSkew>, D::Error> {
    #[derive(Deserialize)]
    struct Status {
        mode: Option<String>,
        #[serde(rename = "manual.rhcosVersion|automatic.rhcosVersion")]
        rhcos_version: Option<String>,
        #[serde(rename = "manual.ocpVersion|automatic.ocpVersion")]
        ocp_version: Option<String>,
    }

    let status = Option::<Status>::deserialize(deserializer)?;
    Ok(status.map(|status| ClusterSkew {
        mode: status.mode.unwrap_or_else(|| "unknown".to_owned()),
        rhcos_version: status.rhcos_version,
        ocp_version: status.ocp_version,
        older_in_use: None,
        blocks_alone: false,
    }))
}

/// MachineConfiguration `cluster`.
#[derive(Debug, Default, Deserialize)]
pub struct Configuration {
    #[serde(rename = "metadata.name")]
    pub name: String,
    #[serde(
        rename = "status.bootImageSkewEnforcementStatus",
        deserialize_with = "skew"
    )]
    pub skew: Option<ClusterSkew>,
    #[serde(rename = ".")]
    pub managed: ManagedBootImages,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    pub conditions: Vec<Condition>,
}

/// Which boot images the cluster keeps up to date itself: `managedBootImagesStatus`, else
/// `managedBootImages`, of MachineConfiguration `cluster`. Without the field nothing is managed: releases that
/// manage images by default write that to the status.
#[derive(Debug, Default, Deserialize)]
pub struct ManagedBootImages {
    #[serde(rename = "status.managedBootImagesStatus.machineManagers|\
                  spec.managedBootImages.machineManagers")]
    managers: Vec<Manager>,
    /// The entries of the spec.
    #[serde(rename = "spec.managedBootImages.machineManagers")]
    entries: Raw<Vec<Value>>,
}

/// The selection of an API group and resource, such as `machine.openshift.io`, `machinesets`.
#[derive(Debug, Default, Deserialize)]
struct Manager {
    api_group: Option<String>,
    resource: String,
    #[serde(rename = "selection.mode")]
    mode: String,
    /// Of some of them: those with all of these labels.
    #[serde(rename = "selection.partial.machineResourceSelector.matchLabels")]
    labels: BTreeMap<String, String>,
    #[serde(rename = "selection.partial.machineResourceSelector.matchExpressions")]
    expressions: Vec<IgnoredAny>,
}

impl Manager {
    fn group(&self) -> &str {
        self.api_group.as_deref().unwrap_or(MACHINE_API)
    }

    fn is_of(&self, group: &str, resource: &str) -> bool {
        self.group() == group && self.resource == resource
    }

    fn mode(&self) -> &'static str {
        match &*self.mode {
            "All" => "All",
            "None" => "None",
            _ => "Partial",
        }
    }
}

impl ManagedBootImages {
    fn managers(&self) -> impl DoubleEndedIterator<Item = &Manager> {
        let is_one = |manager: &&Manager| !(manager.resource.is_empty() || manager.mode.is_empty());
        self.managers.iter().filter(is_one)
    }

    /// The merge patch by which the cluster keeps the images of all objects of a resource, and of the
    /// others as before: it replaces the list as a whole.
    pub fn patch(&self, group: &str, resource: &str) -> Value {
        let is_other = |entry: &&Value| !lenient::known::<Manager>(entry).is_of(group, resource);
        let others = self.entries.0.iter().filter(is_other).cloned();
        let new =
            json!({ "resource": resource, "apiGroup": group, "selection": { "mode": "All" } });
        let managers: Vec<Value> = others.chain([new]).collect();
        json!({ "spec": { "managedBootImages": { "machineManagers": managers } } })
    }

    /// Tells whether an object with these labels is among them; `None` where that is not known.
    pub fn selects(
        &self,
        group: &str,
        resource: &str,
        labels: &BTreeMap<String, String>,
    ) -> Option<bool> {
        let found = (self.managers().rev()).find(|manager| manager.is_of(group, resource));
        found.map_or(Some(false), |manager| match manager.mode() {
            "All" => Some(true),
            "None" => Some(false),
            _ => (manager.expressions.is_empty()).then(|| {
                let mut wanted = manager.labels.iter();
                wanted.all(|(name, value)| labels.get(name) == Some(value))
            }),
        })
    }

    /// Tells whether it says nothing, neither in its status nor in its spec.
    pub fn is_silent(&self) -> bool {
        self.managers().next().is_none()
    }

    /// Tells whether somebody asked for anything.
    pub fn has_entries(&self) -> bool {
        !self.entries.0.is_empty()
    }

    /// `All`, `Partial` or `None` of each resource; those of other groups than the Machine API's have
    /// their group behind them.
    pub fn modes(&self) -> BTreeMap<String, &'static str> {
        let name = |manager: &Manager| match (manager.group(), &manager.resource) {
            (MACHINE_API, resource) => resource.clone(),
            (group, resource) => format!("{resource}.{group}"),
        };
        self.managers()
            .map(|manager| (name(manager), manager.mode()))
            .collect()
    }
}

/// The Machine Config Operator's own words on its updates of boot images: the conditions of
/// MachineConfiguration `cluster` (machine-config-operator, `updateConditions` of
/// `pkg/controller/bootimage`).
#[derive(Debug, Default)]
pub struct BootImageConditions {
    pub is_progressing: bool,
    pub degraded: Option<Degraded>,
    /// Since when it does not progress any more.
    pub updated: Option<String>,
    /// Each of its conditions of boot images, in words.
    pub says: Vec<String>,
}

/// `BootImageUpdateDegraded`, while it is true.
#[derive(Debug)]
pub struct Degraded {
    since: Option<Moment>,
    message: String,
}

impl BootImageConditions {
    pub fn of(all: &[Condition]) -> Self {
        let [progressing, degraded] = ["BootImageUpdateProgressing", DEGRADED];
        let found = |kind, status| condition(all, kind).filter(|found| found.status == status);
        let own = all.iter();
        let own = own.filter(|own| [progressing, degraded].contains(&&*own.kind));
        let says = own.map(|own| {
            let what = format!("{}={}", own.kind, own.status);
            says(&what, own.since(), &own.message)
        });
        Self {
            updated: found(progressing, "False").and_then(|found| Some(found.since()?.text())),
            says: says.collect(),
            is_progressing: found(progressing, "True").is_some(),
            degraded: found(degraded, "True").map(|found| Degraded {
                since: found.since(),
                message: found.message.clone(),
            }),
        }
    }
}

const DEGRADED: &str = "BootImageUpdateDegraded";

fn says(what: &str, since: Option<Moment>, message: &str) -> String {
    let since = since.map_or_else(String::new, |since| format!(" since {since}"));
    format!("{what}{since}: \"{message}\"")
}

impl Degraded {
    /// Tells whether the message names this set; `None` where it names none, or is cut.
    pub fn names(&self, kind: &str, name: &str) -> Option<bool> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let words = self.message.split(|c| !is_part(c));
        let words: Vec<&str> = words
            .map(|word| word.trim_end_matches('.'))
            .filter(|word| !word.is_empty())
            .collect();
        let pairs = words.iter().zip(words.iter().skip(1));
        let kinds = ["MachineSet", "ControlPlaneMachineSet", "MachineDeployment"];
        let is_kind = |word: &str| kinds.iter().any(|kind| word.eq_ignore_ascii_case(kind));
        let named: Vec<_> = pairs.filter(|(of, _)| is_kind(of)).collect();
        let is_it = |(of, word): &(&&str, &&str)| of.eq_ignore_ascii_case(kind) && **word == name;
        if named.iter().any(is_it) {
            return Some(true);
        }
        let is_whole = self.message.len() < KEPT_MAX && !named.is_empty();
        is_whole.then_some(false)
    }

    /// In words, as it says them.
    pub fn says(&self) -> String {
        says(DEGRADED, self.since, &self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_degraded_operator_names_its_sets() {
        let of = |message: &str| Degraded {
            since: None,
            message: message.to_owned(),
        };
        let both = of(
            "2 Degraded MAPI MachineSets | Error(s): [error syncing MAPI MachineSet w-a: failed to reconcile machineset w-a, err: x, \
            error syncing ControlPlaneMachineSet cluster: y]",
        );
        for (kind, name, is) in [
            ("MachineSet", "w-a", true),
            ("MachineSet", "w-a-2", false),
            ("MachineSet", "w", false),
            ("MachineSet", "cluster", false),
            ("ControlPlaneMachineSet", "cluster", true),
        ] {
            assert_eq!(both.names(kind, name), Some(is), "{kind} {name}");
        }
        let none = of(
            "0 Degraded MAPI MachineSets | Error(s): failed to fetch coreos-bootimages config map: not found",
        );
        assert_eq!(none.names("MachineSet", "w-a"), None);
        let cut = of(&format!(
            "error syncing MAPI MachineSet w-b: {}",
            "x".repeat(KEPT_MAX)
        ));
        assert_eq!(cut.names("MachineSet", "w-a"), None);
    }

    #[test]
    fn what_is_managed_stays_so() {
        let object = json!({ "spec": { "managedBootImages": { "machineManagers": [
            { "resource": "machinesets", "apiGroup": "machine.openshift.io", "selection": { "mode": "None" } },
            { "resource": "machinesets", "apiGroup": "cluster.x-k8s.io", "selection": { "mode": "All" } } ] } } });
        let managed: ManagedBootImages = lenient::known(&object);
        assert_eq!(
            managed.patch(MACHINE_API, "machinesets"),
            json!({ "spec": { "managedBootImages": { "machineManagers": [
                { "apiGroup": "cluster.x-k8s.io", "resource": "machinesets", "selection": { "mode": "All" } },
                { "apiGroup": "machine.openshift.io", "resource": "machinesets", "selection": { "mode": "All" } }] } } })
        );
        let labels = BTreeMap::new();
        assert_eq!(
            managed.selects(MACHINE_API, "machinesets", &labels),
            Some(false)
        );
        assert_eq!(
            managed.selects("cluster.x-k8s.io", "machinesets", &labels),
            Some(true)
        );
    }
}
