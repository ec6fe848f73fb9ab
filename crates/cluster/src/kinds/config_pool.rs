//! The config that a MachineConfigPool serves to new nodes, and the release that made it (pure).

use serde::Deserialize;

/// `MachineConfigPool`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ConfigPool {
    #[serde(rename = "metadata.name")]
    pub name: Option<String>,
    #[serde(rename = "spec.osImageStream.name")]
    pub stream: Option<String>,
    #[serde(rename = "spec.paused")]
    is_paused: bool,
    #[serde(rename = "spec.configuration.name")]
    wanted: Option<String>,
    #[serde(rename = "status.configuration.name")]
    current: Option<String>,
    #[serde(rename = "status.updatedMachineCount")]
    updated: Option<i64>,
    #[serde(rename = "status.machineCount")]
    machines: Option<i64>,
}

/// `MachineConfig`.
#[derive(Debug, Default, Deserialize)]
pub struct MachineConfig {
    #[serde(rename = "metadata.name")]
    pub name: String,
    #[serde(rename = "metadata.labels.machineconfiguration.openshift.io/role")]
    pub role: Option<String>,
    /// The release whose operator rendered it (since 4.8).
    #[serde(
        rename = "metadata.annotations.machineconfiguration.openshift.io/release-image-version"
    )]
    pub release: Option<String>,
    #[serde(rename = "spec.fips")]
    pub fips: Option<bool>,
}

/// What a pool serves to a new node.
#[derive(Debug, PartialEq, Eq)]
pub enum Served {
    /// A config of this release.
    Release(String),
    /// The pool has one config, or was not read: that of the cluster's release.
    Cluster { is_read: bool },
    /// A config that was not read, of a pool that is paused or rolls out another one.
    Unread(String),
}

/// `worker` from `rendered-worker-0123456789abcdef0123456789abcdef`.
pub fn pool_of_config(config: &str) -> Option<&str> {
    let (pool, _) = config.strip_prefix("rendered-")?.rsplit_once('-')?;
    Some(pool)
}

impl ConfigPool {
    /// The config for new nodes: the old one until the first node has the new one (machine-config-operator,
    /// `GetConfig` of `pkg/server/cluster_server.go`, 4.6 to 5.0). A pool without nodes has the new one.
    pub fn config(&self) -> Option<&str> {
        let is_new = self.updated > Some(0) || self.machines == Some(0);
        let found = match is_new {
            true => self.wanted.as_ref().or(self.current.as_ref()),
            // A paused pool serves what its status says.
            false if self.is_paused => self.current.as_ref(),
            false => self.current.as_ref().or(self.wanted.as_ref()),
        };
        found.map(String::as_str)
    }

    /// Tells whether it may serve a config of another release than the cluster's.
    pub(crate) fn is_open(&self) -> bool {
        self.is_paused || self.wanted.is_some() && self.wanted != self.current
    }
}
