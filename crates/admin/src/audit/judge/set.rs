//! A set of machines while it is judged (pure).

use super::known_version::KnownVersion;
use super::user_data::Stub;
use crate::audit::cluster::image::Image;
use crate::audit::results::set::{SetAudit, SetKind};
use crate::platform::Platform;
use skewguard_cluster::cluster::Cluster as Objects;
use std::collections::BTreeSet;
use std::ops::Deref;

/// A node pool's image field.
pub(crate) const RELEASE_IMAGE: &str = "spec.release.image";

/// A set of machines: its row of the audit, as far as it is made yet, and what no row shows.
#[derive(Debug, Default)]
pub(crate) struct Set {
    pub(crate) row: SetAudit,
    pub(crate) image: Image,
    /// The path to the spec that has the image field.
    pub(crate) path: &'static str,
    /// Kind and name of the Cluster API's template, which has that field and cannot be changed.
    pub(crate) template: Option<(String, String)>,
    /// The stream that a node pool is pinned to.
    pub(crate) pinned: Option<String>,
    /// A node pool's config asks for runc; `None` where not all of it was read.
    pub(crate) runc: Option<bool>,
    /// A node pool's stream by its own status.
    pub(crate) stream_now: Option<String>,
    /// The Machine Config Operator is kept from it by something about the set.
    pub(crate) is_left_alone: bool,
    /// It makes no Machine until it is activated.
    pub(crate) is_inactive: bool,
    /// Way in which machines follow a change of the spec: `RollingUpdate`, `OnDelete`.
    pub(crate) strategy: Option<String>,
    /// Way in which a NodePool's nodes follow: `Replace`, `InPlace`.
    pub(crate) upgrade: Option<String>,
    /// Writer of it beside its own controller.
    pub(crate) owner: Option<String>,
    /// Its user data, as far as it is known.
    pub(crate) stub: Option<Stub>,
    /// A node joined that was made from its image with that.
    pub(crate) is_stub_read: bool,
    /// Hosts, and the state of each.
    pub(crate) hosts: Vec<(String, Option<String>)>,
    pub(crate) known: Option<KnownVersion>,
    /// What was published for any release has its image.
    pub(crate) is_published: bool,
    /// Number of joined nodes that are made from its image.
    pub(crate) joined: usize,
    /// Region and architecture of the cluster's own image that it names.
    pub(crate) elsewhere: Option<String>,
    /// The Machine Config Operator converts its user data once it keeps the image.
    pub(crate) is_converted: bool,
    /// The operator puts new images into its template, under the same name.
    pub(crate) is_swapped: bool,
    /// The release of its next node, where that is not the cluster's.
    pub(crate) release: Option<String>,
    /// A node pool's platform, where no image is named.
    pub(crate) release_platform: Option<Platform>,
    /// A node pool that has the boot image of its release.
    pub(crate) has_release_image: bool,
    /// The cluster's name for what it makes, by the set's label.
    pub(crate) infra: Option<String>,
}

impl Deref for Set {
    type Target = SetAudit;

    fn deref(&self) -> &SetAudit {
        &self.row
    }
}

impl Set {
    /// FIPS mode of its nodes, by its pool's MachineConfigs. A NodePool's are of another cluster, with
    /// MachineConfigs of its own.
    pub(crate) fn fips(&self, objects: &Objects) -> Option<bool> {
        let pool = self.image.pool.as_deref();
        let pool = pool.filter(|_| self.kind != SetKind::NodePool)?;
        objects.fips.of(pool)
    }

    /// Tells whether the cluster's next nodes are made by it. A node pool's nodes are of another cluster;
    /// Machines without a set, and a control plane that nothing makes, are what they are; and a set
    /// that has neither nodes nor replicas makes none.
    pub(crate) fn makes_nodes(&self) -> bool {
        let is_empty = self.replicas == Some(0) && self.nodes.is_empty();
        match self.kind {
            SetKind::NodePool | SetKind::Machine => false,
            SetKind::MachineConfigPool => self.image.pool.as_deref() != Some("master"),
            SetKind::BareMetalHost
            | SetKind::ControlPlaneMachineSet
            | SetKind::EC2NodeClass
            | SetKind::MachineDeployment
            | SetKind::MachinePool
            | SetKind::MachineSet
            | SetKind::ClusterMachineSet
            | SetKind::KarpenterNodePool
            | SetKind::OpenshiftEC2NodeClass
            | SetKind::Unknown => !self.is_inactive && !is_empty,
        }
    }
}

/// The keys that there are several times.
pub(crate) fn repeated<K: Ord + Clone>(keys: impl Iterator<Item = K>) -> BTreeSet<K> {
    let mut seen = BTreeSet::new();
    keys.filter(|key| !seen.insert(key.clone())).collect()
}
