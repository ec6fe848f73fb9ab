//! What the audit reads of a cluster, and the scripts that gather it (pure).

use super::fields::text_at;
use crate::audit::results::Unread;
use serde_json::Value;
use std::path::Path;

// The API groups.
pub(crate) const AGENT_INSTALL: &str = "agent-install.openshift.io";
pub(crate) const CERTIFICATES: &str = "certificates.k8s.io";
pub(crate) const CLUSTER_API: &str = "cluster.x-k8s.io";
pub(crate) const CONFIG: &str = "config.openshift.io";
pub(crate) const EVENTS: &str = "events.k8s.io";
pub(crate) const HYPERSHIFT: &str = "hypershift.openshift.io";
/// What the Cluster API's machines are made from.
pub const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
pub(crate) const KARPENTER: &str = "karpenter.sh";
pub(crate) const KARPENTER_AWS: &str = "karpenter.k8s.aws";
/// HyperShift's own of Karpenter.
pub(crate) const KARPENTER_HOSTED: &str = "karpenter.hypershift.openshift.io";
pub(crate) const MACHINE_API: &str = "machine.openshift.io";
pub(crate) const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";
pub(crate) const METAL: &str = "metal3.io";
pub(crate) const OPERATOR: &str = "operator.openshift.io";
/// Of the reports.
pub(crate) const SKEWGUARD: &str = "skewguard.dev";

pub(crate) const NODE_POOL: &str = "NodePool";

/// A resource that the audit reads.
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// `None` for the one that the server prefers.
    pub(crate) version: Option<&'static str>,
    /// The plural.
    pub plural: &'static str,
    pub kind: &'static str,
    /// The namespace and the name, where only one object is read.
    pub one: Option<(Option<&'static str>, &'static str)>,
    /// Whether sets of machines are missing in the audit where it cannot be read.
    pub(crate) hides_sets: bool,
    /// It is a set, or a pool, that makes nodes.
    is_set: bool,
    /// Objects on a server have `spec` and `status`: their controllers write it at once.
    pub(crate) is_complete: bool,
}

impl Resource {
    /// All objects of a group and version, which is empty for the one that the server prefers.
    const fn all(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
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
        }
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

    /// As oc and RBAC name it: `machines.machine.openshift.io`.
    pub(crate) fn name(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

/// Where the Machine API's objects are.
const MACHINE_NAMESPACE: &str = "openshift-machine-api";

/// User data.
pub(crate) const SECRET: &str = "Secret";

/// What follows where user data could not be read.
pub(crate) const ESTIMATED: &str = "; the Ignition version of the user data is then an estimate, by the release that the cluster was installed as";

const MCO_NAMESPACE: &str = "openshift-machine-config-operator";

/// The resources, but for the infrastructure of the Cluster API, which the server names.
pub const RESOURCES: [Resource; 26] = [
    Resource::all(CONFIG, "v1", "clusterversions", "ClusterVersion")
        .one(None, "version")
        .complete(),
    Resource::all(CONFIG, "v1", "infrastructures", "Infrastructure")
        .one(None, "cluster")
        .complete(),
    Resource::all(CONFIG, "v1", "clusteroperators", "ClusterOperator").one(None, "machine-config"),
    Resource::all(
        OPERATOR,
        "v1",
        "machineconfigurations",
        "MachineConfiguration",
    )
    .one(None, "cluster"),
    Resource::all("", "v1", "configmaps", "ConfigMap")
        .one(Some(MCO_NAMESPACE), "coreos-bootimages"),
    // Their Ignition version alone is kept.
    Resource::all("", "v1", "secrets", SECRET).one(Some(MACHINE_NAMESPACE), "worker-user-data"),
    Resource::all("", "v1", "secrets", SECRET).one(Some(MACHINE_NAMESPACE), "master-user-data"),
    Resource::all(MACHINE_API, "v1beta1", "machinesets", "MachineSet")
        .set()
        .complete(),
    Resource::all(
        MACHINE_API,
        "v1",
        "controlplanemachinesets",
        "ControlPlaneMachineSet",
    )
    .set()
    .complete(),
    Resource::all(MACHINE_API, "v1beta1", "machines", "Machine")
        .hides_sets()
        .complete(),
    Resource::all(METAL, "v1alpha1", "provisionings", "Provisioning")
        .one(None, "provisioning-configuration"),
    Resource::all(MACHINE_CONFIG, "", "osimagestreams", "OSImageStream").one(None, "cluster"),
    Resource::all(
        MACHINE_CONFIG,
        "v1",
        "machineconfigpools",
        "MachineConfigPool",
    )
    .complete(),
    Resource::all(CLUSTER_API, "", "machinedeployments", "MachineDeployment")
        .set()
        .complete(),
    Resource::all(CLUSTER_API, "", "machinesets", "MachineSet")
        .set()
        .complete(),
    Resource::all(CLUSTER_API, "", "machinepools", "MachinePool").hides_sets(),
    Resource::all(CLUSTER_API, "", "machines", "Machine").complete(),
    Resource::all(KARPENTER, "", "nodepools", "NodePool")
        .set()
        .complete(),
    Resource::all(KARPENTER, "", "nodeclaims", "NodeClaim"),
    Resource::all(KARPENTER_AWS, "", "ec2nodeclasses", "EC2NodeClass").hides_sets(),
    Resource::all(
        KARPENTER_HOSTED,
        "",
        "openshiftec2nodeclasses",
        "OpenshiftEC2NodeClass",
    ),
    Resource::all(
        AGENT_INSTALL,
        "",
        "agentserviceconfigs",
        "AgentServiceConfig",
    ),
    Resource::all(HYPERSHIFT, "", "nodepools", "NodePool")
        .set()
        .complete(),
    Resource::all(METAL, "v1alpha1", "baremetalhosts", "BareMetalHost")
        .hides_sets()
        .complete(),
    Resource::all(SKEWGUARD, "v1alpha1", "bootimagereports", "BootImageReport"),
    Resource::all("", "v1", "nodes", "Node")
        .hides_sets()
        .complete(),
];

/// Whether objects of this kind say something to the audit.
pub(crate) fn is_read(group: &str, kind: &str) -> bool {
    group == INFRASTRUCTURE || resource(group, kind).is_some()
}

/// The row of a kind.
pub(crate) fn resource(group: &str, kind: &str) -> Option<Resource> {
    let is_it = |resource: &Resource| resource.group == group && resource.kind == kind;
    RESOURCES.into_iter().find(is_it)
}

/// Group and kind of the object in a file of an Insights archive, where it does not say them: what
/// typed clients list has none (openshift/insights-operator, `docs/gathered-data.md`).
pub(crate) fn kind_of_file(place: &Path) -> Option<(&'static str, &'static str)> {
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
    let is_it = |resource: &&Resource| {
        let is_kept = matches!(resource.group, MACHINE_API | MACHINE_CONFIG);
        is_kept && [folder, above].contains(&resource.plural)
    };
    let resource = RESOURCES.iter().find(is_it)?;
    Some((resource.group, resource.kind))
}

/// Whether sets are missing where an object of this kind is; so where it does not say its kind.
pub(crate) fn is_of_sets(group: &str, kind: &str) -> bool {
    kind.is_empty() || resource(group, kind).is_some_and(|resource| resource.is_set)
}

/// The API groups that make nodes. A kind of theirs that is not understood is named.
pub(crate) const MAKERS: [&str; 4] = [MACHINE_API, CLUSTER_API, HYPERSHIFT, METAL];

/// Whether a group makes nodes: one of [`MAKERS`], or one of a provider of Karpenter's
/// (`karpenter.azure.com`).
pub(crate) fn is_maker(group: &str) -> bool {
    MAKERS.contains(&group) || group.starts_with("karpenter.")
}

/// What a `Status` says of a resource that could not be gathered.
pub(crate) fn unread(status: &Value) -> Unread {
    let what = text_at(status, "/details/kind").unwrap_or_else(|| "an object".to_owned());
    let known = RESOURCES.iter().find(|resource| resource.name() == what);
    let why = text_at(status, "/message").unwrap_or_else(|| "the server failed".to_owned());
    let is_user_data = known.is_some_and(|resource| resource.kind == SECRET);
    Unread {
        why: why.trim_end().to_owned() + if is_user_data { ESTIMATED } else { "" },
        hides_sets: known.is_none_or(|resource| resource.hides_sets),
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
pub(crate) fn commands(more: &str) -> String {
    let mut script = include_str!("gather.sh").to_owned();
    for resource in RESOURCES.iter().filter(|resource| resource.kind != SECRET) {
        let which = match resource.one {
            None => "-A".to_owned(),
            Some((None, name)) => name.to_owned(),
            Some((Some(namespace), name)) => format!("-n {namespace} {name}"),
        };
        let resource = resource.name();
        script += &format!("gather {resource} {which}\n");
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
