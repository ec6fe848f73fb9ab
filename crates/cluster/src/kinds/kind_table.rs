//! The kinds of objects that the audit reads of a cluster, and the scripts that gather them (pure).

use super::fields::text_at;
use super::karpenter::{self, EC2, HOSTED_CLASS, HostedClass, NodeClass, Pool};
use super::machines::{MachineSet, NodePool};
use super::objects::Objects;
use super::settings::Provisioning;
use super::stream::OWN_IMAGES;
use crate::unread::Unread;
use serde_json::Value;
use std::path::Path;

// The API groups.
pub const AGENT_INSTALL: &str = "agent-install.openshift.io";
pub const CERTIFICATES: &str = "certificates.k8s.io";
pub const CLUSTER_API: &str = "cluster.x-k8s.io";
pub const CONFIG: &str = "config.openshift.io";
pub const EVENTS: &str = "events.k8s.io";
pub const HYPERSHIFT: &str = "hypershift.openshift.io";
/// Group of what the Cluster API's machines are made from.
pub const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
pub const KARPENTER: &str = "karpenter.sh";
pub const KARPENTER_AWS: &str = "karpenter.k8s.aws";
/// HyperShift's own of Karpenter.
pub const KARPENTER_HOSTED: &str = "karpenter.hypershift.openshift.io";
pub const MACHINE_API: &str = "machine.openshift.io";
pub const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";
pub const METAL: &str = "metal3.io";
pub const OPERATOR: &str = "operator.openshift.io";
/// Of the reports.
pub const SKEWGUARD: &str = "skewguard.dev";

pub const NODE_POOL: &str = "NodePool";

/// A kind of objects, and what it is to the audit.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// `None` for the one that the server prefers.
    pub version: Option<&'static str>,
    /// The plural; empty for what is not asked for.
    pub plural: &'static str,
    pub kind: &'static str,
    /// The namespace and the name, where only one object is read.
    pub one: Option<(Option<&'static str>, &'static str)>,
    /// Sets of machines are missing in the audit where it cannot be read.
    pub hides_sets: bool,
    /// It is a set, or a pool, that makes nodes.
    is_set: bool,
    /// Objects on a server have `spec` and `status`: their controllers write it at once.
    pub is_complete: bool,
    /// Keeps what the audit needs of an object.
    pub keep: Keep,
}

type Keep = fn(&mut Objects, &Value);

impl Kind {
    /// All objects of a group and version, which is empty for the one that the server prefers.
    const fn all(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
        keep: Keep,
    ) -> Self {
        Self {
            group,
            version: match version.as_bytes() {
                [] => None,
                _ => Some(version),
            },
            plural,
            kind,
            one: None,
            hides_sets: false,
            is_set: false,
            is_complete: false,
            keep,
        }
    }

    /// A kind that is kept where it is read, and not asked for.
    const fn unasked(group: &'static str, kind: &'static str, keep: Keep) -> Self {
        Self::all(group, "", "", kind, keep)
    }

    /// A kind of a group that makes nodes which makes none itself.
    const fn no_maker(group: &'static str, kind: &'static str) -> Self {
        Self::unasked(group, kind, |_, _| {})
    }

    /// Only the object of this name.
    const fn one(mut self, namespace: Option<&'static str>, name: &'static str) -> Self {
        self.one = Some((namespace, name));
        self
    }

    const fn hides_sets(mut self) -> Self {
        self.hides_sets = true;
        self
    }

    const fn complete(mut self) -> Self {
        self.is_complete = true;
        self
    }

    const fn set(mut self) -> Self {
        (self.hides_sets, self.is_set) = (true, true);
        self
    }

    /// Tells whether the cluster is asked for it.
    pub fn is_asked_for(&self) -> bool {
        !self.plural.is_empty()
    }

    /// Name for oc and RBAC: `machines.machine.openshift.io`.
    pub fn name(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

/// Namespace of the Machine API's objects.
const MACHINE_NAMESPACE: &str = "openshift-machine-api";

/// Kind of user data.
pub const SECRET: &str = "Secret";

/// Consequence where user data could not be read.
pub const ESTIMATED: &str = "; the Ignition version of the user data is then an estimate, by the release that the cluster was installed as";

pub const MCO_NAMESPACE: &str = "openshift-machine-config-operator";

/// The kinds, but for the infrastructure of the Cluster API, which the server names.
pub const KINDS: &[Kind] = &[
    Kind::all(
        CONFIG,
        "v1",
        "clusterversions",
        "ClusterVersion",
        Objects::keep_version,
    )
    .one(None, "version")
    .complete(),
    Kind::all(
        CONFIG,
        "v1",
        "infrastructures",
        "Infrastructure",
        Objects::keep_infrastructure,
    )
    .one(None, "cluster")
    .complete(),
    Kind::all(
        CONFIG,
        "v1",
        "clusteroperators",
        "ClusterOperator",
        Objects::keep_operator,
    )
    .one(None, "machine-config"),
    Kind::all(
        OPERATOR,
        "v1",
        "machineconfigurations",
        "MachineConfiguration",
        Objects::keep_configuration,
    )
    .one(None, "cluster"),
    Kind::all(
        "",
        "v1",
        "configmaps",
        "ConfigMap",
        Objects::keep_config_map,
    )
    .one(Some(MCO_NAMESPACE), OWN_IMAGES),
    // Their Ignition version alone is kept.
    Kind::all("", "v1", "secrets", SECRET, Objects::keep_secret)
        .one(Some(MACHINE_NAMESPACE), "worker-user-data"),
    Kind::all("", "v1", "secrets", SECRET, Objects::keep_secret)
        .one(Some(MACHINE_NAMESPACE), "master-user-data"),
    Kind::all(
        MACHINE_API,
        "v1beta1",
        "machinesets",
        "MachineSet",
        |all, it| all.keep_set(it, |all| &mut all.machine_sets),
    )
    .set()
    .complete(),
    Kind::all(
        MACHINE_API,
        "v1",
        "controlplanemachinesets",
        "ControlPlaneMachineSet",
        |all, it| all.control_planes.push(MachineSet::of(it)),
    )
    .set()
    .complete(),
    Kind::all(MACHINE_API, "v1beta1", "machines", "Machine", |all, it| {
        all.keep_machine(MACHINE_API, it)
    })
    .hides_sets()
    .complete(),
    Kind::all(
        METAL,
        "v1alpha1",
        "provisionings",
        "Provisioning",
        |all, it| all.provisioning = Some(Provisioning::of(it)),
    )
    .one(None, "provisioning-configuration"),
    Kind::all(
        MACHINE_CONFIG,
        "",
        "osimagestreams",
        "OSImageStream",
        Objects::keep_stream,
    )
    .one(None, "cluster"),
    Kind::all(
        MACHINE_CONFIG,
        "v1",
        "machineconfigpools",
        "MachineConfigPool",
        Objects::keep_pool,
    )
    .complete(),
    Kind::all(
        CLUSTER_API,
        "",
        "machinedeployments",
        "MachineDeployment",
        |all, it| all.keep_set(it, |all| &mut all.deployments),
    )
    .set()
    .complete(),
    Kind::all(CLUSTER_API, "", "machinesets", "MachineSet", |all, it| {
        all.keep_set(it, |all| &mut all.cluster_api_sets)
    })
    .set()
    .complete(),
    Kind::all(CLUSTER_API, "", "machinepools", "MachinePool", |all, it| {
        all.machine_pools.push(MachineSet::of(it))
    })
    .hides_sets(),
    Kind::all(CLUSTER_API, "", "machines", "Machine", |all, it| {
        all.keep_machine(CLUSTER_API, it)
    })
    .complete(),
    Kind::all(KARPENTER, "", "nodepools", NODE_POOL, |all, it| {
        all.karpenter.pools.push(Pool::of(it))
    })
    .set()
    .complete(),
    Kind::all(KARPENTER, "", "nodeclaims", "NodeClaim", |all, it| {
        all.machines.push(karpenter::machine(it))
    }),
    Kind::all(KARPENTER_AWS, "", "ec2nodeclasses", EC2, |all, it| {
        all.karpenter.classes.push(NodeClass::of(it))
    })
    .hides_sets(),
    Kind::all(
        KARPENTER_HOSTED,
        "",
        "openshiftec2nodeclasses",
        HOSTED_CLASS,
        |all, it| all.karpenter.hosted.push(HostedClass::of(it)),
    ),
    Kind::all(
        AGENT_INSTALL,
        "",
        "agentserviceconfigs",
        "AgentServiceConfig",
        |all, it| all.others.add(it),
    ),
    Kind::all(HYPERSHIFT, "", "nodepools", NODE_POOL, |all, it| {
        all.node_pools.push(NodePool::of(it))
    })
    .set()
    .complete(),
    Kind::all(
        METAL,
        "v1alpha1",
        "baremetalhosts",
        "BareMetalHost",
        Objects::keep_host,
    )
    .hides_sets()
    .complete(),
    Kind::all(
        SKEWGUARD,
        "v1alpha1",
        "bootimagereports",
        "BootImageReport",
        Objects::keep_report,
    ),
    Kind::all("", "v1", "nodes", "Node", Objects::keep_node)
        .hides_sets()
        .complete(),
    // Before Karpenter 0.32.
    Kind::unasked(KARPENTER, "Provisioner", |all, it| {
        all.karpenter.pools.push(Pool::of_provisioner(it))
    }),
    Kind::unasked("hive.openshift.io", "MachinePool", |all, _| {
        all.others.hive_pools += 1
    }),
    Kind::no_maker(MACHINE_API, "MachineHealthCheck"),
    Kind::no_maker(CLUSTER_API, "MachineHealthCheck"),
    Kind::no_maker(CLUSTER_API, "MachineDrainRule"),
    Kind::no_maker(CLUSTER_API, "Cluster"),
    Kind::no_maker(CLUSTER_API, "ClusterClass"),
    Kind::no_maker(KARPENTER, "NodeOverlay"),
    Kind::no_maker(KARPENTER, "Machine"),
    Kind::no_maker(HYPERSHIFT, "HostedCluster"),
    Kind::no_maker(HYPERSHIFT, "HostedControlPlane"),
    Kind::no_maker(HYPERSHIFT, "AWSEndpointService"),
    Kind::no_maker(HYPERSHIFT, "AzurePrivateLinkService"),
    Kind::no_maker(HYPERSHIFT, "GCPPrivateServiceConnect"),
    Kind::no_maker(HYPERSHIFT, "CertificateRevocationRequest"),
    Kind::no_maker(HYPERSHIFT, "CertificateSigningRequestApproval"),
    Kind::no_maker(HYPERSHIFT, "ControlPlaneComponent"),
    Kind::no_maker(HYPERSHIFT, "ControlPlaneVersion"),
    Kind::no_maker(HYPERSHIFT, "HCPEtcdBackup"),
    Kind::no_maker(HYPERSHIFT, "IgnitionPayload"),
    Kind::no_maker(METAL, "BMCEventSubscription"),
    Kind::no_maker(METAL, "DataImage"),
    Kind::no_maker(METAL, "FirmwareSchema"),
    Kind::no_maker(METAL, "HardwareData"),
    Kind::no_maker(METAL, "HostFirmwareComponents"),
    Kind::no_maker(METAL, "HostFirmwareSettings"),
    Kind::no_maker(METAL, "HostUpdatePolicy"),
    Kind::no_maker(METAL, "PreprovisioningImage"),
    Kind::no_maker(METAL, "HostClaim"),
    Kind::no_maker(METAL, "HostDeployPolicy"),
];

/// Tells whether objects of this kind say something to the audit.
pub fn is_read(group: &str, kind: &str) -> bool {
    group == INFRASTRUCTURE || row(group, kind).is_some_and(Kind::is_asked_for)
}

/// The row of a kind.
pub fn row(group: &str, kind: &str) -> Option<&'static Kind> {
    let is_it = |row: &&Kind| row.group == group && row.kind == kind;
    KINDS.iter().find(is_it)
}

/// The kinds that the cluster is asked for.
pub fn asked_for() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| kind.is_asked_for())
}

/// Tells whether sets are missing where an object of this kind is; so where it does not say its kind.
pub fn is_of_sets(group: &str, kind: &str) -> bool {
    kind.is_empty() || row(group, kind).is_some_and(|row| row.is_set)
}

/// Tells whether a kind that is not understood may make nodes, by its group: one of [`MAKERS`], or
/// one of a provider of Karpenter's (`karpenter.azure.com`).
pub fn is_unknown_maker(group: &str, kind: &str) -> bool {
    let is_maker = MAKERS.contains(&group) || group.starts_with("karpenter.");
    is_maker && row(group, kind).is_none()
}

/// Tells whether a file of this path has objects of these kinds, as `oc adm inspect` and the printed
/// commands name files.
pub fn is_in_path(path: &str) -> bool {
    let mut named = asked_for().filter(|kind| !kind.group.is_empty());
    let is_named = |Kind { group, plural, .. }: &Kind| {
        path.contains(&format!("/{group}/{plural}")) || path.contains(&format!("/{plural}.{group}"))
    };
    named.any(is_named)
        || path.contains("/karpenter.")
        || path.contains(INFRASTRUCTURE)
        || MAKERS
            .iter()
            .any(|group| path.contains(&format!("/{group}/")))
}

/// Tells whether objects of a kind of this name are read, whatever their group is.
pub fn is_name_of_one(kind: &str) -> bool {
    let ends = ["Machine", "MachineTemplate", "MachinePool", "NodeClass"];
    ends.iter().any(|end| kind.ends_with(end)) || asked_for().any(|row| row.kind == kind)
}

/// Group and kind of the object in a file of an Insights archive, where it does not say them: what
/// typed clients list has none (openshift/insights-operator, `docs/gathered-data.md`).
pub fn kind_of_file(place: &Path) -> Option<(&'static str, &'static str)> {
    let place = place.with_extension("");
    let mut parts = place.iter().rev().map_while(|part| part.to_str());
    let [name, folder, above] = [(); 3].map(|()| parts.next().unwrap_or_default());
    match (folder, name) {
        ("config", "version") => return Some((CONFIG, "ClusterVersion")),
        ("config", "infrastructure") => return Some((CONFIG, "Infrastructure")),
        ("node", _) if above == "config" => return Some(("", "Node")),
        ("clusteroperator", _) if above == "config" => return Some((CONFIG, "ClusterOperator")),
        _ => {}
    }
    // `machines/NAME`, or `machines/NAMESPACE/NAME`.
    let is_it = |kind: &&Kind| {
        let is_kept = matches!(kind.group, MACHINE_API | MACHINE_CONFIG);
        is_kept && [folder, above].contains(&kind.plural)
    };
    let kind = asked_for().find(is_it)?;
    Some((kind.group, kind.kind))
}

/// The API groups that make nodes. A kind of theirs that is not understood is named.
pub const MAKERS: [&str; 4] = [MACHINE_API, CLUSTER_API, HYPERSHIFT, METAL];

/// A resource that could not be gathered, by its `Status`.
pub fn unread(status: &Value) -> Unread {
    let what = text_at(status, "/details/kind").unwrap_or_else(|| "an object".to_owned());
    let known = asked_for().find(|kind| kind.name() == what);
    let why = text_at(status, "/message").unwrap_or_else(|| "the server failed".to_owned());
    let is_user_data = known.is_some_and(|kind| kind.kind == SECRET);
    Unread {
        why: why.trim_end().to_owned() + if is_user_data { ESTIMATED } else { "" },
        hides_sets: known.is_none_or(|kind| kind.hides_sets),
        makes_nodes: false,
        what,
    }
}

/// A shell script that makes joined nodes label themselves, one after another.
pub const LABELS: &str = include_str!("labels.sh");

/// A shell script that collects the aleph files of joined nodes.
pub const ALEPHS: &str = include_str!("alephs.sh");

/// A shell script that gathers the objects, and then does `more`. A resource that the cluster does not
/// have leaves no file, one that cannot be read a `Status`.
pub fn commands(more: &str) -> String {
    let mut script = include_str!("gather.sh").to_owned();
    for kind in asked_for().filter(|kind| kind.kind != SECRET) {
        let which = match kind.one {
            None => "-A".to_owned(),
            Some((None, name)) => name.to_owned(),
            Some((Some(namespace), name)) => format!("-n {namespace} {name}"),
        };
        script += &format!("gather {} {which}\n", kind.name());
    }
    script += include_str!("user-data.sh");
    script += &format!(
        "rm -f objects/*.{INFRASTRUCTURE}.json\n\
         for kind in $(printf '%s\\n' \"$kinds\" | grep -E 'machines\\.{0}|machinepools\\.{0}|machinetemplates\\.{0}'); do\n  gather \"$kind\" -A\ndone\n{more}\
         if [ -n \"$failed\" ]; then\n  echo \"not read:$failed; the audit will say so\" >&2\n  exit 1\nfi\n",
        INFRASTRUCTURE.replace('.', "\\.")
    );
    script
}
