//! A set of machines while it is judged (pure).

pub(crate) mod served;
pub(crate) mod user_data;

use crate::audit::results::set::{NodeCount, SetKind};
use crate::audit::results::upkeep::{Rule, Upkeep};
use crate::audit::set::served::NodeRelease;
use crate::audit::set::user_data::Stub;
use crate::audit::versions::known_version::KnownVersion;
use crate::platform::Platform;
use crate::version::Release;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::Image;
use std::collections::BTreeSet;
use std::fmt;

/// A node pool's image field.
pub(crate) const RELEASE_IMAGE: &str = "spec.release.image";

/// The object, and the path in it, that has the image field of a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// No object names the image.
    #[default]
    Nowhere,
    MachineSet,
    ControlPlane,
    /// A failure domain of the Infrastructure.
    FailureDomain,
    Machine,
    /// A template of the Cluster API.
    Template,
    MachinePool,
    AwsMachinePool,
    NodeClass,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nowhere => "",
            Self::MachineSet => "spec.template.spec.providerSpec.value.",
            Self::ControlPlane => {
                "spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value."
            }
            Self::FailureDomain => "Infrastructure cluster, spec.platformSpec.vsphere.",
            Self::Machine => "spec.providerSpec.value.",
            Self::Template => "infrastructureRef spec.template.spec.",
            Self::MachinePool => "infrastructureRef spec.template.",
            Self::AwsMachinePool => "infrastructureRef spec.awsLaunchTemplate.",
            Self::NodeClass => "spec.",
        })
    }
}

/// Facts of a set of machines: what the objects say of it, before any policy is asked.
#[derive(Debug, Default, Clone)]
pub(crate) struct Set {
    pub(crate) kind: SetKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Parts of the object that it is: failure domains, one AMI of several.
    pub(crate) parts: Vec<String>,
    /// Machines or hosts without a set, by name.
    pub(crate) members: Vec<String>,
    pub(crate) replicas: Option<i64>,
    /// Joined nodes by what they were made from.
    pub(crate) nodes: Vec<NodeCount>,
    pub(crate) nodes_unread: bool,
    /// Machines that run were made from another image than the one that their spec names by now.
    pub(crate) is_made_from_another: bool,
    pub(crate) upkeep: Option<Upkeep>,
    pub(crate) managed: Option<bool>,
    pub(crate) could_be_kept: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) image: Image,
    /// Its pool is that which its user data asks for; else the Secret's name says it.
    pub(crate) is_pool_asked: bool,
    pub(crate) path: Place,
    /// Kind and name of the Cluster API's template, which has that field and cannot be changed.
    pub(crate) template: Option<(String, String)>,
    /// The stream that a node pool is pinned to.
    pub(crate) pinned: Option<String>,
    /// A node pool's config asks for runc; `None` where not all of it was read.
    pub(crate) runc: Option<bool>,
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
    /// The region of the image that it names, where the next machine is made in another.
    pub(crate) other_region: Option<String>,
    /// Region and architecture of the cluster's own image that it names.
    pub(crate) elsewhere: Option<String>,
    /// The Machine Config Operator converts its user data once it keeps the image.
    pub(crate) is_converted: bool,
    /// The operator puts new images into its template, under the same name.
    pub(crate) is_swapped: bool,
    /// A node pool's own release.
    pub(crate) release: Option<String>,
    /// The release that its pool serves now; absent where that is unknown.
    pub(crate) served: Option<Release>,
    /// The release at which its next node is judged.
    pub(crate) at: NodeRelease,
    /// Reason why it is unknown whether its next node is of that release or of the cluster's.
    pub(crate) release_open: Option<&'static str>,
    /// A node pool's platform, where no image is named.
    pub(crate) release_platform: Option<Platform>,
    /// A node pool that has the boot image of its release.
    pub(crate) has_release_image: bool,
    /// The cluster's name for what it makes, by the set's label.
    pub(crate) infra: Option<String>,
}

impl Set {
    pub(crate) fn of(kind: SetKind, namespace: &str, name: impl Into<String>) -> Self {
        Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// The rule by which somebody keeps its image, or nobody.
    pub(crate) fn upkeep_rule(&self) -> Option<Rule> {
        self.upkeep.as_ref().map(|upkeep| upkeep.rule)
    }

    /// FIPS mode of its nodes, by its pool's MachineConfigs. A NodePool's are of another cluster, with
    /// MachineConfigs of its own.
    pub(crate) fn fips(&self, objects: &Objects) -> Option<bool> {
        let pool = self.image.pool.as_deref();
        let pool = pool.filter(|_| self.kind != SetKind::NodePool)?;
        objects.fips_of(pool)
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
