//! A cluster's own settings of boot images: MachineConfiguration and Provisioning (pure).

use super::fields::{fields_at, list_at, str_at, text_at};
use super::groups::MACHINE_API;
use super::metadata::Condition;
use crate::text::KEPT_MAX;
use crate::version::{OcpMinor, Release};
use schemars::JsonSchema;
use serde::Serialize;
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
pub fn skew(object: &Value) -> Option<ClusterSkew> {
    let status = object
        .pointer("/status/bootImageSkewEnforcementStatus")
        .filter(|status| status.is_object())?;
    let versions = status
        .pointer("/manual")
        .or_else(|| status.pointer("/automatic"))
        .unwrap_or(&Value::Null);
    Some(ClusterSkew {
        mode: text_at(status, "/mode").unwrap_or_else(|| "unknown".to_owned()),
        rhcos_version: text_at(versions, "/rhcosVersion"),
        ocp_version: text_at(versions, "/ocpVersion"),
        older_in_use: None,
    })
}

/// The release of the next update, by ClusterVersion `version`: of the one that is under way, else
/// the newest that is offered, also under conditions (openshift/api `config/v1`, 4.22:
/// `history`, the newest first, `availableUpdates`, which may be null, and `conditionalUpdates`).
pub fn next_update(object: &Value) -> Option<String> {
    let history = list_at(object, "/status/history");
    let is = |state| move |entry: &&Value| str_at(entry, "/state") == Some(state);
    let is_installed = history.iter().any(|entry| is("Completed")(&entry));
    if let Some(current) = history.first().filter(is("Partial"))
        && is_installed
    {
        return text_at(current, "/version");
    }
    let available = list_at(object, "/status/availableUpdates").iter();
    let conditional = list_at(object, "/status/conditionalUpdates").iter();
    let offered = available
        .filter_map(|release| text_at(release, "/version"))
        .chain(conditional.filter_map(|update| text_at(update, "/release/version")));
    let offered: Vec<(Release, String)> = offered
        .filter_map(|version| Some((version.parse().ok()?, version)))
        .collect();
    // Of candidates for one release the operator lists the newest first.
    let newest = offered
        .into_iter()
        .rev()
        .max_by_key(|(release, _)| *release);
    newest.map(|(_, version)| version)
}

/// The releases that a cluster has had, by ClusterVersion `version` (openshift/api `config/v1`,
/// `UpdateHistory`, the newest first).
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
    pub fn of(object: &Value) -> Self {
        let all = list_at(object, "/status/history");
        let is_completed = |entry: &&Value| str_at(entry, "/state") == Some("Completed");
        let version = |entry: &Value| text_at(entry, "/version");
        let desired = text_at(object, "/status/desired/version");
        let newest = all.first();
        let is_over =
            newest.is_some_and(|newest| is_completed(&newest) && version(newest) == desired);
        let before = all.iter().find(is_completed);
        Self {
            installed: (all.iter().rfind(is_completed))
                .or(all.last())
                .and_then(version),
            running: match before {
                Some(before) if !is_over => version(before),
                _ => desired,
            },
            is_updating: newest.is_some() && !is_over,
            completed: newest
                .filter(|_| is_over)
                .and_then(|newest| text_at(newest, "/completionTime")),
        }
    }

    /// The minor release whose operators run.
    pub fn running_minor(&self) -> Option<OcpMinor> {
        Some(self.running.as_ref()?.parse::<Release>().ok()?.minor)
    }
}

/// `Provisioning` of metal3.io: from where bare metal hosts get their image.
#[derive(Debug)]
pub struct Provisioning {
    /// The fields that name images, instead of those that come with the release
    /// (cluster-baremetal-operator, `ProvisioningSpec`).
    pub image_fields: Vec<&'static str>,
}

impl Provisioning {
    pub fn of(object: &Value) -> Self {
        let has_disk = str_at(object, "/spec/provisioningOSDownloadURL").is_some();
        let has_live = fields_at(object, "/spec/preProvisioningOSDownloadURLs")
            .any(|(_, url)| url.as_str().is_some_and(|url| !url.is_empty()));
        let disk = has_disk.then_some("spec.provisioningOSDownloadURL");
        let live = has_live.then_some("spec.preProvisioningOSDownloadURLs");
        Self {
            image_fields: disk.into_iter().chain(live).collect(),
        }
    }

    pub fn has_own_images(&self) -> bool {
        !self.image_fields.is_empty()
    }
}

/// Which boot images the cluster keeps up to date itself: `managedBootImagesStatus`, else
/// `managedBootImages`, of MachineConfiguration `cluster`.
#[derive(Debug, Default)]
pub struct ManagedBootImages {
    /// The selection by API group and resource, such as `machine.openshift.io`, `machinesets`.
    managers: BTreeMap<(String, String), Selection>,
    /// The entries of the spec.
    entries: Vec<Value>,
}

#[derive(Debug)]
enum Selection {
    All,
    None,
    /// Sets with all of these labels; `None` where the selector has more than labels to match.
    Partial(Option<Vec<(String, String)>>),
}

impl ManagedBootImages {
    /// Without the field nothing is managed: releases that manage images by default write that to
    /// the status.
    pub fn of(object: &Value) -> Self {
        let list = ["/status/managedBootImagesStatus", "/spec/managedBootImages"]
            .into_iter()
            .find_map(|path| object.pointer(&format!("{path}/machineManagers")))
            .unwrap_or(&Value::Null);
        let manager = |manager: &Value| {
            let selector = "/selection/partial/machineResourceSelector";
            let selection = match str_at(manager, "/selection/mode")? {
                "All" => Selection::All,
                "None" => Selection::None,
                _ => {
                    let is_plain =
                        list_at(manager, &format!("{selector}/matchExpressions")).is_empty();
                    let path = format!("{selector}/matchLabels");
                    let labels = fields_at(manager, &path)
                        .filter_map(|(name, value)| Some((name, text_at(value, "")?)));
                    Selection::Partial(is_plain.then(|| labels.collect()))
                }
            };
            Some((key(manager)?, selection))
        };
        let entries = list_at(object, "/spec/managedBootImages/machineManagers");
        Self {
            managers: list_at(list, "").iter().filter_map(manager).collect(),
            entries: entries.to_vec(),
        }
    }

    /// The command with which the cluster keeps the images of all objects of a resource, and of the
    /// others as before: a merge patch replaces the list as a whole.
    pub fn command(&self, group: &str, resource: &str) -> Option<String> {
        let is_other = |entry: &&Value| {
            key(entry).is_none_or(|key| (key.0.as_str(), key.1.as_str()) != (group, resource))
        };
        let others = self.entries.iter().filter(is_other).cloned();
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
        match self.managers.get(&(group.to_owned(), resource.to_owned())) {
            None | Some(Selection::None) => Some(false),
            Some(Selection::All) => Some(true),
            Some(Selection::Partial(wanted)) => wanted.as_ref().map(|wanted| {
                wanted
                    .iter()
                    .all(|(name, value)| labels.get(name) == Some(value))
            }),
        }
    }

    /// `All`, `Partial` or `None` of each resource; those of other groups than the Machine API's have
    /// their group behind them.
    pub fn modes(&self) -> BTreeMap<String, &'static str> {
        let mode = |selection: &Selection| match selection {
            Selection::All => "All",
            Selection::None => "None",
            Selection::Partial(_) => "Partial",
        };
        self.managers
            .iter()
            .map(|((group, resource), selection)| {
                let name = if group == MACHINE_API {
                    resource.clone()
                } else {
                    format!("{resource}.{group}")
                };
                (name, mode(selection))
            })
            .collect()
    }
}

/// API group and resource of an entry of `machineManagers`.
fn key(manager: &Value) -> Option<(String, String)> {
    let group = text_at(manager, "/apiGroup").unwrap_or_else(|| MACHINE_API.to_owned());
    Some((group, text_at(manager, "/resource")?))
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
    pub fn of(object: &Value) -> Self {
        let all = list_at(object, "/status/conditions");
        let is_true = |name: &str| {
            all.iter().find(|condition| {
                str_at(condition, "/type") == Some(name)
                    && str_at(condition, "/status") == Some("True")
            })
        };
        let (progressing, degraded) = ("BootImageUpdateProgressing", "BootImageUpdateDegraded");
        let is_over = |condition: &&Value| {
            str_at(condition, "/type") == Some(progressing)
                && str_at(condition, "/status") == Some("False")
        };
        let says = |condition: &Value| {
            let (name, status) = (str_at(condition, "/type")?, text_at(condition, "/status")?);
            let message = text_at(condition, "/message").unwrap_or_default();
            let since = text_at(condition, "/lastTransitionTime");
            let since = since.map_or_else(String::new, |since| format!(" since {since}"));
            [progressing, degraded]
                .contains(&name)
                .then(|| format!("{name}={status}{since}: \"{message}\""))
        };
        Self {
            updated: (all.iter().find(is_over))
                .and_then(|condition| text_at(condition, "/lastTransitionTime")),
            says: all.iter().filter_map(says).collect(),
            is_progressing: is_true(progressing).is_some(),
            degraded: is_true("BootImageUpdateDegraded").map(|condition| Degraded {
                since: text_at(condition, "/lastTransitionTime"),
                message: text_at(condition, "/message").unwrap_or_default(),
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
        let managed = ManagedBootImages::of(&object);
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
