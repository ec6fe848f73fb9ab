//! What a cluster's own settings say about boot images: MachineConfiguration and Provisioning (pure).

use super::fields::{fields_at, list_at, str_at, text_at};
use crate::audit::results::ClusterSkew;
use crate::version::Release;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the MachineConfiguration `cluster` says, before it is compared with anything.
pub(crate) fn skew(object: &Value) -> Option<ClusterSkew> {
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
pub(crate) fn next_update(object: &Value) -> Option<String> {
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

/// `Provisioning` of metal3.io: from where bare metal hosts get their image.
#[derive(Debug)]
pub(crate) struct Provisioning {
    /// It names images of its own, instead of those that come with the release
    /// (cluster-baremetal-operator, `ProvisioningSpec`).
    pub(crate) has_own_images: bool,
}

impl Provisioning {
    pub(crate) fn of(object: &Value) -> Self {
        let live = fields_at(object, "/spec/preProvisioningOSDownloadURLs")
            .any(|(_, url)| url.as_str().is_some_and(|url| !url.is_empty()));
        Self {
            has_own_images: live || str_at(object, "/spec/provisioningOSDownloadURL").is_some(),
        }
    }
}

/// Which boot images the cluster keeps up to date itself: `managedBootImagesStatus`, else
/// `managedBootImages`, of MachineConfiguration `cluster`.
#[derive(Debug, Default)]
pub(crate) struct ManagedBootImages {
    /// The selection by resource, such as `machinesets`.
    managers: BTreeMap<String, Selection>,
}

#[derive(Debug)]
enum Selection {
    All,
    None,
    /// Those with all of these labels; `None` where the selector has more than labels to match.
    Partial(Option<Vec<(String, String)>>),
}

impl ManagedBootImages {
    /// Without the field nothing is managed: releases that manage images by default write that to
    /// the status.
    pub(crate) fn of(object: &Value) -> Self {
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
            Some((text_at(manager, "/resource")?, selection))
        };
        Self {
            managers: list_at(list, "").iter().filter_map(manager).collect(),
        }
    }

    /// Whether an object with these labels is among them; `None` where that is not known.
    pub(crate) fn selects(
        &self,
        resource: &str,
        labels: &BTreeMap<String, String>,
    ) -> Option<bool> {
        match self.managers.get(resource) {
            None | Some(Selection::None) => Some(false),
            Some(Selection::All) => Some(true),
            Some(Selection::Partial(wanted)) => wanted.as_ref().map(|wanted| {
                wanted
                    .iter()
                    .all(|(name, value)| labels.get(name) == Some(value))
            }),
        }
    }

    /// `All`, `Partial` or `None` of each resource.
    pub(crate) fn modes(&self) -> BTreeMap<String, &'static str> {
        let mode = |selection: &Selection| match selection {
            Selection::All => "All",
            Selection::None => "None",
            Selection::Partial(_) => "Partial",
        };
        self.managers
            .iter()
            .map(|(resource, selection)| (resource.clone(), mode(selection)))
            .collect()
    }
}
