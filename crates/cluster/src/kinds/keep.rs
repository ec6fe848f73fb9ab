//! Keeps what is needed of an object, by its kind: one function for each (pure). Each returns the fields
//! of another type, in words.

use super::agent::Agent;
use super::event::Event;
use super::fields::{list_at, str_at, text_at};
use super::groups::{MCO_NAMESPACE, REPORTS_NAMESPACE};
use super::health_check::HealthCheck;
use super::host::Host;
use super::infrastructure::VSphere;
use super::karpenter::{self, HostedClass, NodeClass, Pool};
use super::machine::Machine;
use super::machine_set::MachineSet;
use super::metadata::{Metadata, conditions};
use super::node::Node;
use super::node_pool::NodePool;
use super::report::Report;
use super::request::CertificateRequest;
use super::settings::{
    BootImageConditions, History, ManagedBootImages, Provisioning, next_update, skew,
};
use super::stream::{OWN_IMAGES, own_images};
use super::user_data::Authorities;
use crate::cluster::{Cluster, Purpose};
use crate::lenient;
use crate::moment::Moment;
use crate::text::{is_dns_name, printable};
use crate::unread::Unread;
use serde_json::Value;

/// Keeps what is needed of an object, and returns its fields of another type, in words.
pub type Keep = fn(&mut Cluster, &Value) -> Vec<String>;

/// The ConfigMaps that have the machine-config-server's CA, and since 4.19 and before.
pub const SERVER_CA: &str = "machine-config-server-ca";
pub const ROOT_CA: &str = "root-ca";

/// All fields are as they are known.
const FIT: Vec<String> = Vec::new();

pub fn nothing(_: &mut Cluster, _: &Value) -> Vec<String> {
    FIT
}

pub fn machine(all: &mut Cluster, group: &'static str, object: &Value) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    add_machine(all, Machine::of(group, read));
    unfit
}

pub fn node_claim(all: &mut Cluster, object: &Value) -> Vec<String> {
    add_machine(all, karpenter::machine(object));
    FIT
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

pub fn set(
    all: &mut Cluster,
    object: &Value,
    list: fn(&mut Cluster) -> &mut Vec<MachineSet>,
) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    let set = MachineSet::of(read, object);
    if set.is_windows {
        all.windows_sets.push(set);
    } else {
        list(all).push(set);
    }
    unfit
}

pub fn node_pool(all: &mut Cluster, object: &Value) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    all.node_pools.push(NodePool::of(read, object));
    unfit
}

pub fn host(all: &mut Cluster, object: &Value) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    all.hosts.push(Host::of(read, object));
    unfit
}

pub fn agent(all: &mut Cluster, object: &Value) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    all.agents.push(Agent::of(read));
    unfit
}

pub fn node(all: &mut Cluster, object: &Value) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    all.add_node(Node::of(read, object));
    unfit
}

/// Any user may create a report in another namespace.
pub fn report(all: &mut Cluster, object: &Value) -> Vec<String> {
    let (read, unfit) = lenient::read(&Report::with_a_verdict(object));
    let report = Report::of(read);
    if report.metadata.namespace == REPORTS_NAMESPACE {
        all.reports.push(report);
    }
    unfit
}

pub fn request(all: &mut Cluster, object: &Value) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    all.requests.extend(CertificateRequest::of(read));
    unfit
}

pub fn health_check(all: &mut Cluster, group: &str, object: &Value) -> Vec<String> {
    let (read, unfit) = lenient::read(object);
    all.health_checks.push(HealthCheck::of(group, read));
    unfit
}

pub fn event(all: &mut Cluster, object: &Value) -> Vec<String> {
    let event = Event::of(lenient::known(object));
    if event.is_of_interest() && all.has_room_for_events() {
        all.saw(event.last);
        if all.purpose == Purpose::Nodes {
            all.events.push(event);
        }
    }
    FIT
}

pub fn config_node(all: &mut Cluster, object: &Value) -> Vec<String> {
    let name = Metadata::of(object).name;
    all.config_nodes.insert(name, conditions(object));
    FIT
}

pub fn operator(all: &mut Cluster, object: &Value) -> Vec<String> {
    let name = Metadata::of(object).name;
    all.operators.insert(name, conditions(object));
    FIT
}

/// Names of pods go into a path.
pub fn pod(all: &mut Cluster, object: &Value) -> Vec<String> {
    let name = str_at(object, "/metadata/name").unwrap_or_default();
    let namespace = str_at(object, "/metadata/namespace").unwrap_or_default();
    if all.purpose != Purpose::Nodes || !is_dns_name(name, 253) {
        return FIT;
    }
    if name.starts_with("machine-config-server-") {
        let began = |status: &Value| {
            let at = str_at(status, "/state/running/startedAt")?;
            Moment::parse(at)
        };
        let mut statuses = list_at(object, "/status/containerStatuses").iter();
        all.servers
            .insert(printable(name), statuses.find_map(began));
    } else if crate::logs::read::is_ignition_server(name) && is_dns_name(namespace, 63) {
        let pod = (namespace.to_owned(), name.to_owned());
        all.ignition_pods.insert(pod);
    } else if name.starts_with("machine-approver-") {
        all.approvers.insert(printable(name));
    }
    FIT
}

pub fn pool(all: &mut Cluster, object: &Value) -> Vec<String> {
    let name = text_at(object, "/metadata/name");
    let stream = text_at(object, "/spec/osImageStream/name");
    all.pool_streams.extend(name.clone().zip(stream));
    all.fips.add_pool(object);
    all.pools.extend(name);
    FIT
}

pub fn machine_config(all: &mut Cluster, object: &Value) -> Vec<String> {
    all.fips.add_config(object);
    FIT
}

pub fn stream(all: &mut Cluster, object: &Value) -> Vec<String> {
    if is_named(object, "cluster") {
        all.default_stream = text_at(object, "/status/defaultStream")
            .or_else(|| text_at(object, "/spec/defaultStream"));
    }
    FIT
}

pub fn version(all: &mut Cluster, object: &Value) -> Vec<String> {
    all.release = text_at(object, "/status/desired/version");
    all.is_multi_arch = str_at(object, "/status/desired/architecture") == Some("Multi");
    all.cluster_id = text_at(object, "/spec/clusterID");
    all.next_update = next_update(object);
    all.history = History::of(object);
    FIT
}

pub fn configuration(all: &mut Cluster, object: &Value) -> Vec<String> {
    if is_named(object, "cluster") {
        all.skew = skew(object);
        all.managed = Some(ManagedBootImages::of(object));
        all.conditions = BootImageConditions::of(object);
    }
    FIT
}

pub fn provisioning(all: &mut Cluster, object: &Value) -> Vec<String> {
    all.provisioning = Some(Provisioning::of(object));
    FIT
}

pub fn karpenter_pool(all: &mut Cluster, object: &Value) -> Vec<String> {
    all.karpenter.pools.push(Pool::of(object));
    FIT
}

pub fn provisioner(all: &mut Cluster, object: &Value) -> Vec<String> {
    all.karpenter.pools.push(Pool::of_provisioner(object));
    FIT
}

pub fn node_class(all: &mut Cluster, object: &Value) -> Vec<String> {
    all.karpenter.classes.push(NodeClass::of(object));
    FIT
}

pub fn hosted_class(all: &mut Cluster, object: &Value) -> Vec<String> {
    all.karpenter.hosted.push(HostedClass::of(object));
    FIT
}

pub fn agent_service(all: &mut Cluster, object: &Value) -> Vec<String> {
    all.others.add(object);
    FIT
}

pub fn hive_pool(all: &mut Cluster, _: &Value) -> Vec<String> {
    all.others.hive_pools += 1;
    FIT
}

pub fn config_map(all: &mut Cluster, object: &Value) -> Vec<String> {
    let of = |path| str_at(object, path).unwrap_or_default();
    match (of("/metadata/namespace"), of("/metadata/name")) {
        (MCO_NAMESPACE, OWN_IMAGES) => match own_images(object) {
            Ok(images) => all.own_images = images,
            Err(error) => all.not_understood.push(Unread::new(
                format!("ConfigMap {MCO_NAMESPACE}/{OWN_IMAGES}"),
                printable(&error.to_string()),
            )),
        },
        (MCO_NAMESPACE, SERVER_CA) => add_authorities(&mut all.own_authorities, object),
        ("kube-system", ROOT_CA) => add_authorities(&mut all.root_authorities, object),
        (namespace, name) => {
            if let Some(config) = str_at(object, "/data/config") {
                let key = (printable(namespace), printable(name));
                all.pool_configs.insert(key, asks_for_runc(config));
            }
        }
    }
    FIT
}

/// Tells whether a ConfigMap's config for NodePools asks for runc.
fn asks_for_runc(config: &str) -> bool {
    let is_runc = |line: &str| {
        let value = line.trim().strip_prefix("defaultRuntime:");
        value.is_some_and(|value| value.trim().trim_matches(['"', '\'']) == "runc")
    };
    config.contains("ContainerRuntimeConfig") && config.lines().any(is_runc)
}

fn add_authorities(all: &mut Authorities, object: &Value) {
    let bundles = ["/data/ca-bundle.crt", "/data/ca.crt"];
    for pem in bundles.iter().filter_map(|path| str_at(object, path)) {
        all.add(pem);
    }
}

pub fn infrastructure(all: &mut Cluster, object: &Value) -> Vec<String> {
    let topology = str_at(object, "/status/controlPlaneTopology");
    all.infrastructure_name = text_at(object, "/status/infrastructureName");
    all.is_hosted = topology == Some("External");
    all.is_single_node = topology == Some("SingleReplica");
    all.server = text_at(object, "/status/apiServerURL");
    all.is_azure_stack =
        str_at(object, "/status/platformStatus/azure/cloudName") == Some("AzureStackCloud");
    all.vsphere = VSphere::of(object);
    all.has_infrastructure = true;
    let url = text_at(object, "/status/apiServerInternalURI")
        .or_else(|| text_at(object, "/status/apiServerInternalURL"));
    all.server_host = url.as_deref().and_then(host_of).map(str::to_owned);
    FIT
}

/// The host of a URL.
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    Some(
        authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host),
    )
}

fn is_named(object: &Value, name: &str) -> bool {
    str_at(object, "/metadata/name") == Some(name)
}
