//! The kinds of objects that are read of a cluster, a row for each (pure). Requests, rights, scripts and the
//! names of files come from it.

use super::fields::text_at;
use super::groups::*;
use super::karpenter::{EC2, HOSTED_CLASS};
use super::keep;
use super::kind::{Kind, Which};
use super::stream::OWN_IMAGES;
use crate::cluster::Purpose;
use crate::unread::Unread;
use serde_json::Value;

/// Kinds that there are many objects of, none of which is read from several gathers.
const EVENT: &str = "Event";

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
    // Rendered ones are large, and have the files of a node.
    Kind::all(
        MACHINE_CONFIG,
        "v1",
        "machineconfigs",
        "MachineConfig",
        keep::machine_config,
    )
    .named(&super::fips::OF_INSTALLER),
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
    Kind::all(KARPENTER, "", "nodepools", NODE_POOL, |all, it| {
        keep::push(&mut all.karpenter.pools, it)
    })
    .set()
    .complete(),
    Kind::all(KARPENTER, "", "nodeclaims", "NodeClaim", keep::node_claim),
    Kind::all(KARPENTER_AWS, "", "ec2nodeclasses", EC2, |all, it| {
        keep::push(&mut all.karpenter.classes, it)
    })
    .hides_sets(),
    Kind::all(
        KARPENTER_HOSTED,
        "",
        "openshiftec2nodeclasses",
        HOSTED_CLASS,
        |all, it| keep::push(&mut all.karpenter.hosted, it),
    ),
    Kind::all(
        AGENT_INSTALL,
        "",
        "agentserviceconfigs",
        "AgentServiceConfig",
        keep::agent_service,
    ),
    Kind::all(HYPERSHIFT, "", "nodepools", NODE_POOL, |all, it| {
        keep::push(&mut all.node_pools, it)
    })
    .set()
    .complete(),
    Kind::all(
        METAL,
        "v1alpha1",
        "baremetalhosts",
        "BareMetalHost",
        |all, it| keep::push(&mut all.hosts, it),
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
    Kind::all(AGENT_INSTALL, "v1beta1", "agents", "Agent", |all, it| {
        keep::push(&mut all.agents, it)
    })
    .for_nodes(Which::All),
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

/// The API groups that make nodes. A kind of theirs that is not understood is named.
pub const MAKERS: [&str; 4] = [MACHINE_API, CLUSTER_API, HYPERSHIFT, METAL];

/// A resource that could not be gathered, by its `Status`.
pub fn unread(status: &Value) -> Unread {
    let what = text_at(status, "/details/kind").unwrap_or_else(|| "an object".to_owned());
    let known = asked_for(Purpose::Nodes).find(|kind| kind.name() == what);
    let why = text_at(status, "/message").unwrap_or_else(|| "the server failed".to_owned());
    let hides_sets = known.is_none_or(|kind| kind.hides_sets);
    let mut unread = Unread::new(what, why.trim_end()).hiding_sets(hides_sets);
    if known.is_some_and(|kind| kind.kind == SECRET) {
        unread.estimate();
    }
    unread
}
