//! Keeps what is needed of an object, by its kind: one function for each (pure). Each returns the fields
//! of another type, in words.

use super::cluster_version::Version;
use super::config_pool::{ConfigPool, MachineConfig};
use super::event::Event;
use super::groups::*;
use super::health_check::HealthCheck;
use super::infrastructure::Infrastructure;
use super::karpenter::{EC2, HOSTED_CLASS, NodeClaim};
use super::kind::Purpose;
use super::machine::{Machine, of_both_versions};
use super::machine_configuration::{BootImageConditions, Configuration};
use super::machine_set::MachineSet;
use super::metadata::{Condition, Metadata, conditions};
use super::provisioning::Provisioning;
use super::report::Report;
use super::request::{CertificateRequest, OddPart};
use super::stream::{OWN_IMAGES, own_images};
use super::user_data::Authorities;
use crate::cluster::Cluster;
use crate::lenient::{self, Raw, message_if_any};
use crate::moment::{Moment, time};
use crate::text::{is_dns_name, printable};
use crate::unread::Unread;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use url::Url;

/// Keeps what is needed of an object, and returns its fields of another type, in words; `None` where nothing is
/// kept of the kind.
pub fn keep(
    all: &mut Cluster,
    (group, kind): (&'static str, &str),
    object: &Value,
) -> Option<Vec<String>> {
    Some(match (group, kind) {
        (CONFIG, "ClusterVersion") => version(all, object),
        (CONFIG, "Infrastructure") => infrastructure(all, object),
        (CONFIG, "ClusterOperator") => conditions_of(&mut all.operators, object),
        (OPERATOR, "MachineConfiguration") => configuration(all, object),
        (MACHINE_CONFIG, "MachineConfigPool") => pool(all, object),
        (MACHINE_CONFIG, "MachineConfig") => config(all, object),
        (MACHINE_CONFIG, "MachineConfigNode") => conditions_of(&mut all.config_nodes, object),
        (MACHINE_CONFIG, "OSImageStream") => stream(all, object),
        ("", "ConfigMap") => config_map(all, object),
        ("", "Node") => read(object, |node| all.add_node(node)),
        ("", "Pod") => pod(all, object),
        ("" | EVENTS, "Event") => event(all, object),
        (MACHINE_API, "MachineSet") => read(object, |set: MachineSet| match set.is_windows {
            true => all.windows_sets.push(set),
            false => all.machine_sets.push(set),
        }),
        (MACHINE_API, "ControlPlaneMachineSet") => push(&mut all.control_planes, object),
        (CLUSTER_API, "MachineSet") => push(&mut all.cluster_api_sets, object),
        (CLUSTER_API, "MachineDeployment") => push(&mut all.deployments, object),
        (CLUSTER_API, "Cluster") => read(object, |of| add_cluster(all, of)),
        (CLUSTER_API, "MachinePool") => push(&mut all.machine_pools, object),
        (MACHINE_API | CLUSTER_API, "Machine") => read(object, |machine| {
            add_machine(all, Machine { group, ..machine })
        }),
        (MACHINE_API | CLUSTER_API, "MachineHealthCheck") => {
            read(object, |mut check: HealthCheck| {
                check.group = group;
                all.health_checks.push(check);
            })
        }
        (KARPENTER, NODE_POOL) => push(&mut all.karpenter.pools, object),
        (KARPENTER, "NodeClaim") => read(object, |claim: NodeClaim| add_machine(all, claim.into())),
        (KARPENTER_AWS, EC2) => push(&mut all.karpenter.classes, object),
        (KARPENTER_HOSTED, HOSTED_CLASS) => push(&mut all.karpenter.hosted, object),
        (HYPERSHIFT, NODE_POOL) => push(&mut all.node_pools, object),
        (HYPERSHIFT, HOSTED_CLUSTER) => push(&mut all.hosted_clusters, object),
        (METAL, "BareMetalHost") => push(&mut all.hosts, object),
        (METAL, "Provisioning") => read(object, |one: Provisioning| {
            all.provisioning = Some(one).filter(Provisioning::is_whole);
        }),
        (AGENT_PROVIDER, kind @ "AgentMachine") => keep_conditions(all, kind, object),
        (AGENT_INSTALL, "Agent") => push(&mut all.agents, object),
        (AGENT_INSTALL, "AgentServiceConfig") => read(object, |one| all.others.add(one)),
        (SKEWGUARD, "BootImageReport") => report(all, object),
        (CERTIFICATES, REQUEST) => request(all, object),
        // Its nodes are of other clusters.
        ("hive.openshift.io", "MachinePool") => {
            all.others.hive_pools += 1;
            Vec::new()
        }
        _ => return None,
    })
}

fn request(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(object, |request| {
        let request = CertificateRequest::of(request);
        match &request {
            Some(one) if one.odd == Some(OddPart::Signer) => all.misaddressed.extend(request),
            _ => all.requests.extend(request),
        }
    })
}

/// Reads an object, hands it over, and returns its fields of another type, in words.
fn read<T: DeserializeOwned + Default>(object: &Value, keep: impl FnOnce(T)) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    keep(read);
    unfit
}

/// Reads an object into a list.
fn push<T: DeserializeOwned + Default>(list: &mut Vec<T>, object: &Value) -> Vec<String> {
    read(object, |one| list.push(one))
}

fn add_machine(all: &mut Cluster, mut machine: Machine) {
    all.saw(machine.since);
    machine.source = all.shared(machine.source);
    let machine = match all.purpose {
        Purpose::Sets => machine.without_details(),
        Purpose::Nodes => machine,
    };
    if machine.is_windows {
        all.windows_machines.push(machine);
    } else {
        all.machines.push(machine);
    }
}

/// Any user may create a report in another namespace.
fn report(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(object, |report: Report| {
        let is_own = report.metadata.namespace == REPORTS_NAMESPACE;
        all.reports.extend(Some(report).filter(|_| is_own));
    })
}

/// Events of everything are many: what one lacks is nobody's business.
fn event(all: &mut Cluster, object: &Value) -> Vec<String> {
    let event: Event = lenient::known(object);
    if event.is_of_interest() && all.has_room_for_events() {
        all.saw(event.last);
        if all.purpose == Purpose::Nodes {
            all.events.push(event);
        }
    }
    Vec::new()
}

/// A cluster of the Cluster API.
#[derive(Default, Deserialize)]
struct ClusterObject {
    metadata: Metadata,
    #[serde(rename = "spec.paused")]
    is_paused: bool,
}

fn add_cluster(all: &mut Cluster, of: ClusterObject) {
    let name = (of.metadata.namespace, of.metadata.name);
    all.clusters.insert(name, of.is_paused);
}

/// An object whose conditions alone are kept.
#[derive(Default, Deserialize)]
struct Conditional {
    #[serde(rename = "metadata.name")]
    name: String,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    conditions: Vec<Condition>,
}

fn conditions_of(list: &mut BTreeMap<String, Vec<Condition>>, object: &Value) -> Vec<String> {
    read(object, |Conditional { name, conditions }| {
        list.insert(name, conditions);
    })
}

/// An object that the Cluster API makes a machine from.
#[derive(Default, Deserialize)]
struct InfrastructureMachine {
    metadata: Metadata,
    #[serde(rename = "status", deserialize_with = "of_both_versions")]
    conditions: Vec<Condition>,
}

/// Keeps the conditions of one that say no.
pub fn keep_conditions(all: &mut Cluster, kind: &str, object: &Value) -> Vec<String> {
    let InfrastructureMachine {
        metadata,
        mut conditions,
    } = lenient::known(object);
    conditions.retain(|condition| condition.status == "False");
    if !conditions.is_empty() {
        let key = (printable(kind), metadata.namespace, metadata.name);
        all.machine_conditions.insert(key, conditions);
    }
    Vec::new()
}

/// The most pods that are kept because they fail.
const MAX_FAILING: usize = 1_000;

#[derive(Default, Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(rename = "spec.nodeName")]
    node: Option<String>,
    #[serde(rename = "status.containerStatuses")]
    containers: Vec<Container>,
    #[serde(rename = "status.initContainerStatuses")]
    before: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    name: String,
    #[serde(rename = "state.running.startedAt", deserialize_with = "time")]
    began: Option<Moment>,
    ready: Option<bool>,
    #[serde(
        rename = "state.waiting.reason|state.terminated.reason",
        deserialize_with = "message_if_any"
    )]
    stopped: Option<String>,
}

impl Container {
    /// The reason why it does not come up; `None` where it may still do.
    fn fails(&self) -> Option<String> {
        // A node writes it.
        let is_word = |why: &str| why.chars().all(|c| c.is_ascii_alphanumeric());
        let fails =
            |why: &&String| is_word(why) && (why.ends_with("BackOff") || why.ends_with("Error"));
        self.stopped.as_ref().filter(fails).cloned()
    }

    /// The reason why it is not ready; `None` where it is, or does not say so.
    fn why_not_ready(&self) -> Option<String> {
        let why = || self.stopped.clone();
        (self.ready == Some(false)).then(|| why().unwrap_or_else(|| "not ready".to_owned()))
    }
}

/// Names of pods go into a path.
fn pod(all: &mut Cluster, object: &Value) -> Vec<String> {
    let Pod {
        metadata,
        node,
        containers,
        before,
    } = lenient::known(object);
    let fails = before.iter().chain(&containers).find_map(Container::fails);
    if let Some((node, why)) = node
        .zip(fails)
        .filter(|_| all.failing_pods.len() < MAX_FAILING)
        && all.purpose == Purpose::Nodes
    {
        all.failing_pods.insert((node, metadata.full_name()), why);
    }
    let Metadata {
        namespace, name, ..
    } = metadata;
    if all.purpose != Purpose::Nodes || !is_dns_name(&name, 253) {
        return Vec::new();
    }
    if name.starts_with("machine-config-server-") {
        let began = containers.iter().find_map(|container| container.began);
        let own = containers.iter();
        let mut own = own.filter(|container| container.name == "machine-config-server");
        let why = own.find_map(Container::why_not_ready);
        all.servers_not_ready
            .extend(why.map(|why| (name.clone(), why)));
        all.servers.insert(name, began);
    } else if crate::logs::read::is_ignition_server(&name) && is_dns_name(&namespace, 63) {
        all.ignition_pods.insert((namespace, name));
    } else if name.starts_with("machine-approver-") {
        all.approvers.insert(name);
    }
    Vec::new()
}

fn pool(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(object, |pool: ConfigPool| {
        all.config_pools.extend(pool.name.clone().zip(Some(pool)));
    })
}

fn config(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(object, |config: MachineConfig| {
        all.configs.insert(config.name.clone(), config);
    })
}

#[derive(Default, Deserialize)]
struct ImageStream {
    #[serde(rename = "metadata.name")]
    name: String,
    #[serde(rename = "status.defaultStream|spec.defaultStream")]
    default: Option<String>,
}

fn stream(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(object, |stream: ImageStream| {
        if stream.name == "cluster" {
            all.default_stream = stream.default;
        }
    })
}

fn version(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(object, |version: Version| {
        all.is_multi_arch = version.architecture == "Multi";
        all.next_update = version.next_update();
        all.history = version.history();
        all.release = version.release;
        all.cluster_id = version.cluster_id;
    })
}

fn configuration(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(object, |configuration: Configuration| {
        if configuration.name == "cluster" {
            all.skew = configuration.skew;
            all.managed = Some(configuration.managed);
            all.conditions = BootImageConditions::of(&configuration.conditions);
        }
    })
}

#[derive(Default, Deserialize)]
struct ConfigMap {
    metadata: Metadata,
    data: Raw<BTreeMap<String, String>>,
}

fn config_map(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(
        object,
        |ConfigMap {
             metadata,
             data: Raw(data),
         }| {
            match (&*metadata.namespace, &*metadata.name) {
                (MCO_NAMESPACE, OWN_IMAGES) => match own_images(&data) {
                    Ok(images) => all.own_images = images,
                    Err(error) => all.not_understood.push(Unread::new(
                        format!("ConfigMap {MCO_NAMESPACE}/{OWN_IMAGES}"),
                        printable(&error.to_string()),
                    )),
                },
                // Since 4.19, and before.
                (MCO_NAMESPACE, "machine-config-server-ca") => {
                    add_authorities(&mut all.own_authorities, &data)
                }
                ("kube-system", "root-ca") => add_authorities(&mut all.root_authorities, &data),
                _ => {
                    if let Some(config) = data.get("config").filter(|config| !config.is_empty()) {
                        let key = (metadata.namespace, metadata.name);
                        all.pool_configs.insert(key, asks_for_runc(config));
                    }
                }
            }
        },
    )
}

/// Tells whether a ConfigMap's config for NodePools asks for runc.
fn asks_for_runc(config: &str) -> bool {
    let is_runc = |line: &str| {
        let value = line.trim().strip_prefix("defaultRuntime:");
        value.is_some_and(|value| value.trim().trim_matches(['"', '\'']) == "runc")
    };
    config.contains("ContainerRuntimeConfig") && config.lines().any(is_runc)
}

fn add_authorities(all: &mut Authorities, data: &BTreeMap<String, String>) {
    let bundles = ["ca-bundle.crt", "ca.crt"];
    for pem in bundles.iter().filter_map(|name| data.get(*name)) {
        all.add(pem);
    }
}

fn infrastructure(all: &mut Cluster, object: &Value) -> Vec<String> {
    read(object, |of: Infrastructure| {
        all.has_infrastructure = true;
        all.has_topology = !of.topology.is_empty();
        all.is_hosted = of.topology == "External";
        all.platform.clone_from(&of.platform);
        all.is_single_node = of.topology == "SingleReplica";
        all.is_azure_stack = of.azure_cloud == "AzureStackCloud";
        all.region = of.region.clone();
        let server = Url::parse(&of.internal_server).ok();
        all.server_host = server.and_then(|url| Some(url.host_str()?.to_owned()));
        all.vsphere = of.vsphere;
        if let Some(vsphere) = &mut all.vsphere {
            vsphere.infrastructure_name.clone_from(&of.name);
        }
        all.infrastructure_name = of.name;
        all.server = of.server;
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::kind_table::KINDS;

    /// Of user data nothing is kept but what `add` takes.
    #[test]
    fn each_kind_that_is_asked_for_is_kept() {
        for row in KINDS.iter().filter(|row| row.is_asked_for()) {
            let object = serde_json::json!({ "metadata": { "name": "a" } });
            let kept = keep(&mut Cluster::default(), (row.group, row.kind), &object);
            assert_eq!(kept.is_some(), row.kind != SECRET, "{row:?}");
        }
    }
}
