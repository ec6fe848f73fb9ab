//! ClusterVersion `version` (pure): the releases that a cluster had, has and may get.

use crate::version::{OcpMinor, Release};
use serde::Deserialize;

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
pub(super) struct Update {
    state: String,
    #[serde(rename = "version|release.version")]
    pub(super) version: Option<String>,
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
        // What the first of all is missing no later one says.
        let is_whole = all.last().is_some_and(|first| !first.state.is_empty());
        let oldest = oldest.or(all.last()).filter(|_| is_whole);
        History {
            installed: oldest.and_then(version),
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
