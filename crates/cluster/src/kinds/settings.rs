//! A cluster's own settings of boot images: MachineConfiguration and Provisioning (pure).

use super::groups::MACHINE_API;
use super::metadata::{Condition, condition, conditions};
use crate::lenient::{self, Raw, is_there};
use crate::moment::Moment;
use crate::text::KEPT_MAX;
use crate::version::{OcpMinor, Release};
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
    }))
}

/// ClusterVersion `version` (openshift/api `config/v1`, 4.22).
#[derive(Debug, Default, Deserialize)]
pub struct Version {
    #[serde(rename = "status.desired.version")]
    pub release: Option<String>,
    #[serde(rename = "status.desired.architecture")]
    pub architecture: String,
    #[serde(rename = "spec.clusterID")]
    pub cluster_id: Option<String>,
    /// The newest first.
    #[serde(rename = "status.history")]
    history: Vec<Update>,
    #[serde(rename = "status.availableUpdates")]
    available: Vec<Update>,
    #[serde(rename = "status.conditionalUpdates")]
    conditional: Vec<Update>,
}

/// An update that was, or one that is offered, also under conditions.
#[derive(Debug, Deserialize)]
struct Update {
    state: String,
    #[serde(rename = "version|release.version")]
    version: Option<String>,
    completion_time: Option<String>,
}

impl Update {
    fn is_completed(&self) -> bool {
        self.state == "Completed"
    }
}

impl Version {
    /// The release of the next update: of the one that is under way, else the newest that is offered.
    pub fn next_update(&self) -> Option<String> {
        let is_installed = self.history.iter().any(Update::is_completed);
        if let Some(current) = self.history.first()
            && is_installed
            && current.state == "Partial"
        {
            return current.version.clone();
        }
        let offered = self.available.iter().chain(&self.conditional);
        let offered = offered.filter_map(|update| update.version.as_ref());
        let offered: Vec<(Release, &String)> = offered
            .filter_map(|version| Some((version.parse().ok()?, version)))
            .collect();
        // Of candidates for one release the operator lists the newest first.
        let newest = offered
            .into_iter()
            .rev()
            .max_by_key(|(release, _)| *release);
        newest.map(|(_, version)| version.clone())
    }

    /// The releases that the cluster has had.
    pub fn history(&self) -> History {
        let all = &self.history;
        let version = |update: &Update| update.version.clone();
        let newest = all.first();
        let is_it = |newest: &&Update| newest.is_completed() && newest.version == self.release;
        let over = newest.filter(is_it);
        let before = all.iter().find(|update| update.is_completed());
        let oldest = all.iter().rfind(|update| update.is_completed());
        History {
            installed: oldest.or(all.last()).and_then(version),
            running: match before {
                Some(before) if over.is_none() => version(before),
                _ => self.release.clone(),
            },
            is_updating: newest.is_some() && over.is_none(),
            completed: over.and_then(|newest| newest.completion_time.clone()),
        }
    }
}

/// The releases that a cluster has had, by ClusterVersion `version`.
#[derive(Debug, Default)]
pub struct History {
    /// The release that it was installed as (machine-config-operator, `GetOCPInstallVersion`: the
    /// oldest that was completed).
    pub installed: Option<String>,
    /// The release whose operators run: of an update under way, the one before.
    pub running: Option<String>,
    /// When the update to the cluster's release was over; absent while one is under way.
    pub completed: Option<String>,
    pub is_updating: bool,
}

impl History {
    /// The minor release whose operators run.
    pub fn running_minor(&self) -> Option<OcpMinor> {
        Some(self.running.as_ref()?.parse::<Release>().ok()?.minor)
    }
}

/// `Provisioning` of metal3.io: from where bare metal hosts get their image, instead of what comes with the
/// release (cluster-baremetal-operator, `ProvisioningSpec`).
#[derive(Debug, Default, Deserialize)]
pub struct Provisioning {
    #[serde(
        rename = "spec.provisioningOSDownloadURL",
        deserialize_with = "is_there"
    )]
    has_disk: bool,
    #[serde(rename = "spec.preProvisioningOSDownloadURLs")]
    live: BTreeMap<String, String>,
}

impl Provisioning {
    /// The fields that name images.
    pub fn image_fields(&self) -> Vec<&'static str> {
        let has_live = self.live.values().any(|url| !url.is_empty());
        let fields = [
            (self.has_disk, "spec.provisioningOSDownloadURL"),
            (has_live, "spec.preProvisioningOSDownloadURLs"),
        ];
        let named = fields.into_iter().filter(|(is_named, _)| *is_named);
        named.map(|(_, field)| field).collect()
    }

    pub fn has_own_images(&self) -> bool {
        !self.image_fields().is_empty()
    }
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

    /// The command with which the cluster keeps the images of all objects of a resource, and of the
    /// others as before: a merge patch replaces the list as a whole.
    pub fn command(&self, group: &str, resource: &str) -> Option<String> {
        let is_other = |entry: &&Value| !lenient::known::<Manager>(entry).is_of(group, resource);
        let others = self.entries.0.iter().filter(is_other).cloned();
        let new =
            json!({ "resource": resource, "apiGroup": group, "selection": { "mode": "All" } });
        let managers: Vec<Value> = others.chain([new]).collect();
        let patch = json!({ "spec": { "managedBootImages": { "machineManagers": managers } } });
        let patch = patch.to_string();
        let is_plain = patch
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~') && byte != b'\'');
        is_plain.then(|| format!("oc patch machineconfiguration cluster --type merge -p '{patch}'"))
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
    pub since: Option<String>,
    pub message: String,
}

impl BootImageConditions {
    pub fn of(all: &[Condition]) -> Self {
        let [progressing, degraded] = ["BootImageUpdateProgressing", "BootImageUpdateDegraded"];
        let found = |kind, status| condition(all, kind).filter(|found| found.status == status);
        let since = |found: &Condition| found.since().map(Moment::text);
        let own = all
            .iter()
            .filter(|own| [progressing, degraded].contains(&&*own.kind));
        let says = |Condition {
                        kind,
                        status,
                        message,
                        ..
                    }: &Condition,
                    since: Option<String>| {
            let since = since.map_or_else(String::new, |since| format!(" since {since}"));
            format!("{kind}={status}{since}: \"{message}\"")
        };
        Self {
            updated: found(progressing, "False").and_then(since),
            says: own.map(|own| says(own, since(own))).collect(),
            is_progressing: found(progressing, "True").is_some(),
            degraded: found(degraded, "True").map(|found| Degraded {
                since: since(found),
                message: found.message.clone(),
            }),
        }
    }
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
        let since = self.since.as_ref();
        let since = since.map_or_else(String::new, |since| format!(" since {since}"));
        format!("BootImageUpdateDegraded{since}: \"{}\"", self.message)
    }
}

/// Conditions of ClusterOperator `machine-config` that stand against an update, in words.
pub fn complaints(operators: &BTreeMap<String, Vec<Condition>>) -> Vec<String> {
    let wanted = [
        ("Degraded", "True"),
        ("Upgradeable", "False"),
        ("Available", "False"),
    ];
    let all = operators.get("machine-config").into_iter().flatten();
    let against = all.filter(|found| wanted.contains(&(&*found.kind, &*found.status)));
    let says = |found: &Condition| {
        let Condition {
            kind,
            status,
            reason,
            message,
            ..
        } = found;
        format!("ClusterOperator machine-config, {kind}={status} ({reason}): {message}")
    };
    against.map(says).collect()
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
            managed.command(MACHINE_API, "machinesets").unwrap(),
            "oc patch machineconfiguration cluster --type merge -p '{\"spec\":{\"managedBootImages\":{\"machineManagers\":[\
             {\"apiGroup\":\"cluster.x-k8s.io\",\"resource\":\"machinesets\",\"selection\":{\"mode\":\"All\"}},\
             {\"apiGroup\":\"machine.openshift.io\",\"resource\":\"machinesets\",\"selection\":{\"mode\":\"All\"}}]}}}'"
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
