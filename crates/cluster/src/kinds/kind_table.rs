//! The kinds of objects that are read of a cluster: one row says how a kind is asked for and where, what is
//! missing without it, and what is kept of it (pure). Requests, rights, scripts and the names of files
//! come from it.

use super::fields::text_at;
pub use super::groups::*;
use super::karpenter::{EC2, HOSTED_CLASS};
use super::keep::{self, Keep};
use super::stream::OWN_IMAGES;
use crate::cluster::Purpose;
use crate::unread::Unread;
use serde_json::Value;
use std::path::Path;

/// A kind of objects.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// `None` for the one that the server prefers.
    pub version: Option<&'static str>,
    /// The plural; empty for what is not asked for.
    pub plural: &'static str,
    pub kind: &'static str,
    pub which: Which,
    /// Whom it is read for.
    pub purpose: Purpose,
    /// Sets of machines are missing where it cannot be read.
    pub hides_sets: bool,
    /// It is a set, or a pool, that makes nodes.
    is_set: bool,
    /// Objects on a server have `spec` and `status`: their controllers write it at once.
    pub is_complete: bool,
    /// Keeps what is needed of an object, and returns its fields of another type, in words.
    pub keep: Keep,
}

/// The objects of a kind that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    All,
    /// The one of this name, in a namespace if the kind has them.
    One(Option<&'static str>, &'static str),
    /// Those in these namespaces.
    In(&'static [&'static str]),
    /// The pods of a namespace with this label, and the log of this container.
    Logs(&'static str, &'static str, &'static str),
}

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
            which: Which::All,
            purpose: Purpose::Sets,
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
        Self::unasked(group, kind, keep::nothing)
    }

    /// Only the object of this name.
    const fn one(mut self, namespace: Option<&'static str>, name: &'static str) -> Self {
        self.which = Which::One(namespace, name);
        self
    }

    /// Only some of them, for what says why a machine is no Node.
    const fn for_nodes(mut self, which: Which) -> Self {
        (self.which, self.purpose) = (which, Purpose::Nodes);
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

    /// The `apiVersion` of its objects.
    pub fn api_version(&self, version: &str) -> String {
        match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    /// The path of its objects, or those of a namespace, on an API server.
    pub fn path(&self, version: &str, namespace: Option<&str>) -> String {
        let base = if self.group.is_empty() { "api" } else { "apis" };
        let namespace = namespace.map_or_else(String::new, |name| format!("/namespaces/{name}"));
        format!(
            "/{base}/{}{namespace}/{}",
            self.api_version(version),
            self.plural
        )
    }

    /// The requests that read it.
    pub fn requests(&self, version: &str) -> Vec<Request> {
        let name = self.name();
        let request = |name: String, path: String, namespace: Option<&str>| Request {
            name,
            path,
            api_version: self.api_version(version),
            kind: self.kind,
            namespace: namespace.map(str::to_owned),
            is_list: true,
        };
        let of_namespace = |namespace: &str| {
            let path = self.path(version, Some(namespace));
            request(format!("{name} in {namespace}"), path, Some(namespace))
        };
        match self.which {
            Which::All => vec![request(name, self.path(version, None), None)],
            Which::In(namespaces) => namespaces.iter().map(|all| of_namespace(all)).collect(),
            Which::Logs(namespace, ..) => vec![of_namespace(namespace)],
            Which::One(namespace, one) => {
                let path = format!("{}/{one}", self.path(version, namespace));
                let name = match self.purpose {
                    Purpose::Sets => name,
                    Purpose::Nodes => format!("{name} {one}"),
                };
                vec![Request {
                    is_list: false,
                    ..request(name, path, namespace)
                }]
            }
        }
    }

    /// The namespaces whose objects alone are read.
    fn namespaces(&self) -> Vec<&'static str> {
        match self.which {
            Which::All | Which::One(None, _) => Vec::new(),
            Which::One(Some(namespace), _) | Which::Logs(namespace, ..) => vec![namespace],
            Which::In(namespaces) => namespaces.to_vec(),
        }
    }

    /// The lines of the script that gather it.
    fn gather(&self) -> String {
        let (name, plural) = (self.name(), self.plural);
        match (self.which, self.purpose) {
            (Which::All, _) => format!("gather {name} -A\n"),
            (Which::One(None, one), Purpose::Sets) => format!("gather {name} {one}\n"),
            (Which::One(Some(namespace), one), Purpose::Sets) => {
                format!("gather {name} -n {namespace} {one}\n")
            }
            (Which::One(None, one), Purpose::Nodes) => {
                format!("keep {one}.json get {name} {one} -o json\n")
            }
            (Which::One(Some(namespace), one), Purpose::Nodes) => {
                format!("keep {one}.json get {name} -n {namespace} {one} -o json\n")
            }
            (Which::In(namespaces), _) => {
                let keep = |namespace: &&str| {
                    format!("keep {plural}-{namespace}.json get {name} -n {namespace} -o json\n")
                };
                namespaces.iter().map(keep).collect()
            }
            (Which::Logs(namespace, label, container), _) => format!(
                "keep {plural}-{namespace}.json get {name} -n {namespace} -l {label} -o json\n\
                 logs {namespace} {label} {container}\n"
            ),
        }
    }
}

/// A list, or one object, of an API server.
#[derive(Debug, Clone)]
pub struct Request {
    /// As oc and RBAC name it.
    pub name: String,
    pub path: String,
    pub api_version: String,
    pub kind: &'static str,
    pub namespace: Option<String>,
    pub is_list: bool,
}

/// Consequence where user data could not be read.
pub const ESTIMATED: &str = "; the Ignition version of the user data is then an estimate, by the release that the cluster was installed as";

/// Kinds that there are many objects of, none of which is read from several gathers.
const EVENT: &str = "Event";

/// Kind of certificate requests.
pub const REQUEST: &str = "CertificateSigningRequest";

/// The kinds, but for the infrastructure of the Cluster API, which the server names.
pub const KINDS: &[Kind] = &[
    Kind::all(
        CONFIG,
        "v1",
        "clusterversions",
        "ClusterVersion",
        keep::version,
    )
    .one(None, "version")
    .complete(),
    Kind::all(
        CONFIG,
        "v1",
        "infrastructures",
        "Infrastructure",
        keep::infrastructure,
    )
    .one(None, "cluster")
    .complete(),
    Kind::all(
        CONFIG,
        "v1",
        "clusteroperators",
        "ClusterOperator",
        keep::operator,
    )
    .one(None, "machine-config"),
    Kind::all(
        OPERATOR,
        "v1",
        "machineconfigurations",
        "MachineConfiguration",
        keep::configuration,
    )
    .one(None, "cluster"),
    Kind::all("", "v1", "configmaps", "ConfigMap", keep::config_map)
        .one(Some(MCO_NAMESPACE), OWN_IMAGES),
    // Their Ignition version alone is kept.
    Kind::all("", "v1", "secrets", SECRET, keep::nothing)
        .one(Some(MACHINE_NAMESPACE), "worker-user-data"),
    Kind::all("", "v1", "secrets", SECRET, keep::nothing)
        .one(Some(MACHINE_NAMESPACE), "master-user-data"),
    Kind::all(
        MACHINE_API,
        "v1beta1",
        "machinesets",
        "MachineSet",
        |all, it| keep::set(all, it, |all| &mut all.machine_sets),
    )
    .set()
    .complete(),
    Kind::all(
        MACHINE_API,
        "v1",
        "controlplanemachinesets",
        "ControlPlaneMachineSet",
        |all, it| keep::set(all, it, |all| &mut all.control_planes),
    )
    .set()
    .complete(),
    Kind::all(MACHINE_API, "v1beta1", "machines", "Machine", |all, it| {
        keep::machine(all, MACHINE_API, it)
    })
    .hides_sets()
    .complete(),
    Kind::all(
        METAL,
        "v1alpha1",
        "provisionings",
        "Provisioning",
        keep::provisioning,
    )
    .one(None, "provisioning-configuration"),
    Kind::all(
        MACHINE_CONFIG,
        "",
        "osimagestreams",
        "OSImageStream",
        keep::stream,
    )
    .one(None, "cluster"),
    Kind::all(
        MACHINE_CONFIG,
        "v1",
        "machineconfigpools",
        "MachineConfigPool",
        keep::pool,
    )
    .complete(),
    Kind::all(
        CLUSTER_API,
        "",
        "machinedeployments",
        "MachineDeployment",
        |all, it| keep::set(all, it, |all| &mut all.deployments),
    )
    .set()
    .complete(),
    Kind::all(CLUSTER_API, "", "machinesets", "MachineSet", |all, it| {
        keep::set(all, it, |all| &mut all.cluster_api_sets)
    })
    .set()
    .complete(),
    Kind::all(CLUSTER_API, "", "machinepools", "MachinePool", |all, it| {
        keep::set(all, it, |all| &mut all.machine_pools)
    })
    .hides_sets(),
    Kind::all(CLUSTER_API, "", "machines", "Machine", |all, it| {
        keep::machine(all, CLUSTER_API, it)
    })
    .complete(),
    Kind::all(KARPENTER, "", "nodepools", NODE_POOL, keep::karpenter_pool)
        .set()
        .complete(),
    Kind::all(KARPENTER, "", "nodeclaims", "NodeClaim", keep::node_claim),
    Kind::all(KARPENTER_AWS, "", "ec2nodeclasses", EC2, keep::node_class).hides_sets(),
    Kind::all(
        KARPENTER_HOSTED,
        "",
        "openshiftec2nodeclasses",
        HOSTED_CLASS,
        keep::hosted_class,
    ),
    Kind::all(
        AGENT_INSTALL,
        "",
        "agentserviceconfigs",
        "AgentServiceConfig",
        keep::agent_service,
    ),
    Kind::all(HYPERSHIFT, "", "nodepools", NODE_POOL, keep::node_pool)
        .set()
        .complete(),
    Kind::all(
        METAL,
        "v1alpha1",
        "baremetalhosts",
        "BareMetalHost",
        keep::host,
    )
    .hides_sets()
    .complete(),
    Kind::all(
        SKEWGUARD,
        "v1alpha1",
        "bootimagereports",
        "BootImageReport",
        keep::report,
    ),
    Kind::all("", "v1", "nodes", "Node", keep::node)
        .hides_sets()
        .complete(),
    Kind::all(
        CERTIFICATES,
        "v1",
        "certificatesigningrequests",
        REQUEST,
        keep::request,
    )
    .for_nodes(Which::All),
    Kind::all(
        MACHINE_API,
        "v1beta1",
        "machinehealthchecks",
        "MachineHealthCheck",
        |all, it| keep::health_check(all, MACHINE_API, it),
    )
    .for_nodes(Which::All),
    Kind::all(
        CLUSTER_API,
        "",
        "machinehealthchecks",
        "MachineHealthCheck",
        |all, it| keep::health_check(all, CLUSTER_API, it),
    )
    .for_nodes(Which::All),
    Kind::all(
        MACHINE_CONFIG,
        "v1",
        "machineconfignodes",
        "MachineConfigNode",
        keep::config_node,
    )
    .for_nodes(Which::All),
    Kind::all(AGENT_INSTALL, "v1beta1", "agents", "Agent", keep::agent).for_nodes(Which::All),
    Kind::all(
        CONFIG,
        "v1",
        "clusteroperators",
        "ClusterOperator",
        keep::operator,
    )
    .for_nodes(Which::One(None, "machine-approver")),
    Kind::all("", "v1", "configmaps", "ConfigMap", keep::config_map)
        .for_nodes(Which::One(Some(MCO_NAMESPACE), keep::SERVER_CA)),
    Kind::all("", "v1", "configmaps", "ConfigMap", keep::config_map)
        .for_nodes(Which::One(Some("kube-system"), keep::ROOT_CA)),
    Kind::all("", "v1", "events", EVENT, keep::event).for_nodes(Which::In(&[
        MACHINE_NAMESPACE,
        CLUSTER_API_NAMESPACE,
        // Events of what has no namespace, such as a MachineConfigPool.
        "default",
        REPORTS_NAMESPACE,
    ])),
    Kind::all("", "v1", "pods", "Pod", keep::pod).for_nodes(Which::Logs(
        MCO_NAMESPACE,
        "k8s-app=machine-config-server",
        "machine-config-server",
    )),
    Kind::all("", "v1", "pods", "Pod", keep::pod).for_nodes(Which::Logs(
        APPROVER_NAMESPACE,
        "app=machine-approver",
        "machine-approver-controller",
    )),
    Kind::unasked(EVENTS, EVENT, keep::event),
    // Before Karpenter 0.32.
    Kind::unasked(KARPENTER, "Provisioner", keep::provisioner),
    Kind::unasked("hive.openshift.io", "MachinePool", keep::hive_pool),
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
    is_read_for(Purpose::Sets, group, kind)
}

/// Tells whether objects of this kind are read for this purpose.
pub fn is_read_for(purpose: Purpose, group: &str, kind: &str) -> bool {
    let is_asked = |row: &Kind| row.is_asked_for() && row.purpose <= purpose;
    group == INFRASTRUCTURE || row(group, kind).is_some_and(is_asked)
}

/// Tells whether there are many objects of a kind, each of which is read where it is found.
pub fn is_one_of_many(group: &str, kind: &str) -> bool {
    matches!((group, kind), ("" | EVENTS, EVENT) | ("", "Pod"))
}

/// Tells whether a file of this path may have objects of a kind of this name, for what says why a machine
/// is no Node: those of some kinds are read in some namespaces alone.
pub fn is_in_file(path: &Path, kind: &str) -> bool {
    let rows = || asked_for(Purpose::Nodes).filter(|row| row.purpose == Purpose::Nodes);
    let is_namespaced = |row: &&Kind| !row.namespaces().is_empty();
    let mut parts = path.iter().skip_while(|part| *part != "namespaces");
    let namespace = parts.nth(1).and_then(|part| part.to_str());
    let is_near = || {
        let mut all = rows().filter(is_namespaced);
        all.any(|row| namespace.is_some_and(|name| row.namespaces().contains(&name)))
    };
    let mut own = rows().filter(|row| row.kind == kind);
    own.any(|row| !is_namespaced(&row) || namespace.is_none() || is_near())
}

/// The row of a kind.
pub fn row(group: &str, kind: &str) -> Option<&'static Kind> {
    let is_it = |row: &&Kind| row.group == group && row.kind == kind;
    KINDS.iter().find(is_it)
}

/// The kinds that a cluster is asked for, for this purpose.
pub fn asked_for(purpose: Purpose) -> impl Iterator<Item = &'static Kind> {
    let is_wanted = move |kind: &&Kind| kind.is_asked_for() && kind.purpose <= purpose;
    KINDS.iter().filter(is_wanted)
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
    let mut named = asked_for(Purpose::Sets).filter(|kind| !kind.group.is_empty());
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
    ends.iter().any(|end| kind.ends_with(end))
        || asked_for(Purpose::Sets).any(|row| row.kind == kind)
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
    let kind = asked_for(Purpose::Sets).find(is_it)?;
    Some((kind.group, kind.kind))
}

/// The API groups that make nodes. A kind of theirs that is not understood is named.
pub const MAKERS: [&str; 4] = [MACHINE_API, CLUSTER_API, HYPERSHIFT, METAL];

/// A resource that could not be gathered, by its `Status`.
pub fn unread(status: &Value) -> Unread {
    let what = text_at(status, "/details/kind").unwrap_or_else(|| "an object".to_owned());
    let known = asked_for(Purpose::Nodes).find(|kind| kind.name() == what);
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

/// A shell script that gathers the objects, and for some purposes logs. A resource that the cluster does not
/// have leaves no file, one that cannot be read a `Status`.
pub fn commands(purpose: Purpose) -> String {
    let mut script = include_str!("gather.sh").to_owned();
    for kind in asked_for(Purpose::Sets).filter(|kind| kind.kind != SECRET) {
        script += &kind.gather();
    }
    script += include_str!("user-data.sh");
    let mut more = String::new();
    if purpose == Purpose::Nodes {
        more += include_str!("gather-nodes.sh");
        let own = asked_for(purpose).filter(|kind| kind.purpose == purpose);
        more.extend(own.map(Kind::gather));
    }
    script += &format!(
        "rm -f objects/*.{INFRASTRUCTURE}.json\n\
         for kind in $(printf '%s\\n' \"$kinds\" | grep -E 'machines\\.{0}|machinepools\\.{0}|machinetemplates\\.{0}'); do\n  gather \"$kind\" -A\ndone\n{more}\
         if [ -n \"$failed\" ]; then\n  echo \"not read:$failed; the audit will say so\" >&2\n  exit 1\nfi\n",
        INFRASTRUCTURE.replace('.', "\\.")
    );
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_namespaces_of_a_gather_are_read() {
        for (path, kind, wanted) in [
            (
                "g/namespaces/openshift-machine-api/core/events.yaml",
                "Event",
                true,
            ),
            (
                "g/namespaces/openshift-etcd/core/events.yaml",
                "Event",
                false,
            ),
            ("events.json", "Event", true),
            (
                "g/cluster-scoped-resources/x.yaml",
                "CertificateSigningRequest",
                true,
            ),
            (
                "g/namespaces/openshift-etcd/core/services.yaml",
                "Service",
                false,
            ),
        ] {
            assert_eq!(is_in_file(Path::new(path), kind), wanted, "{path}");
        }
    }
}
