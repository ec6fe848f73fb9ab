//! Links between objects.

use super::{cluster, machine, node, of_cluster_api, with};
use crate::links::Links;
use serde_json::{Value, json};

/// The name of the Node of Machine `m`, as the links has it; the way back is the same.
fn node_of(objects: &[Value]) -> Option<String> {
    let facts = cluster(objects);
    let links = Links::new(&facts);
    let mut machines = facts.all_machines();
    let machine = machines
        .find(|machine| machine.metadata.name == "m")
        .unwrap();
    let node = links.node_of(machine);
    if let Some(node) = node {
        let back = links.machine_of(node).map(|back| &*back.metadata.name);
        assert_eq!(back, Some("m"), "{objects:#?}");
        assert!(links.has_joined(machine));
    }
    node.map(|node| node.metadata.name.clone())
}

fn address(kind: &str, text: &str) -> Value {
    json!({ "status": { "addresses": [{ "type": kind, "address": text }] } })
}

fn node_ref(name: &str) -> Value {
    json!({ "status": { "nodeRef": { "kind": "Node", "name": name } } })
}

fn provider_id(id: &str) -> Value {
    json!({ "spec": { "providerID": id } })
}

fn annotation(value: &str) -> Value {
    json!({ "metadata": { "annotations": { "machine.openshift.io/machine": value } } })
}

/// The five ways, and the fields of Machine `m` and Node `n` by which each goes.
fn ways() -> [(&'static str, Value, Value); 5] {
    [
        ("status.nodeRef", node_ref("n"), json!({})),
        (
            "spec.providerID",
            provider_id("aws:///a/i-1"),
            provider_id("aws:///a/i-1"),
        ),
        (
            "annotation",
            json!({}),
            annotation("openshift-machine-api/m"),
        ),
        ("name", address("Hostname", "N"), json!({})),
        (
            "address",
            address("InternalIP", "10.0.0.5"),
            address("InternalIP", "10.0.0.5"),
        ),
    ]
}

#[test]
fn a_machine_has_its_node_in_each_of_five_ways() {
    for (way, of_machine, of_node) in ways() {
        let found = node_of(&[machine("m", &of_machine), node("n", &of_node)]);
        assert_eq!(found.as_deref(), Some("n"), "{way}");
        let bare = [machine("m", &json!({})), node("n", &json!({}))];
        assert_eq!(node_of(&bare), None, "{way}");
    }
}

/// What a Machine names counts whenever the Node was made, and so does the cloud's ID; a node's own words do not
/// where it was there before the Machine.
#[test]
fn a_node_that_was_there_before_is_not_a_later_machines() {
    for (made, is_later) in [
        ("2026-08-20T08:58:59Z", false),
        // Clocks differ by a minute.
        ("2026-08-20T08:59:00Z", true),
        ("yesterday", true),
        ("", true),
    ] {
        for (way, of_machine, of_node) in ways() {
            let before = json!({ "metadata": { "creationTimestamp": made } });
            let of_node = with(of_node, &before);
            let found = node_of(&[machine("m", &of_machine), node("n", &of_node)]);
            let is_sure = way.contains('.');
            assert_eq!(found.is_some(), is_sure || is_later, "{way}, {made}");
        }
    }
}

/// A Node that another Machine names in its status is that one's.
#[test]
fn a_node_that_another_machine_names_is_that_ones() {
    for (way, of_machine, of_node) in ways().into_iter().skip(1) {
        let other = machine("other", &node_ref("n"));
        let found = node_of(&[machine("m", &of_machine), other, node("n", &of_node)]);
        assert_eq!(found, None, "{way}");
    }
}

/// The ways in their order: each Machine has two Nodes to choose from.
#[test]
fn the_surer_way_counts() {
    let all = ways();
    for (surer, after) in all.iter().zip(all.iter().skip(1)) {
        let of_machine = with(surer.1.clone(), &after.1);
        // Both are addresses, and the later one takes the place of the first.
        let of_machine = match (surer.0, after.0) {
            ("name", "address") => json!({ "status": { "addresses": [
                { "type": "InternalIP", "address": "10.0.0.5" },
                { "type": "Hostname", "address": "n" },
            ] } }),
            _ => of_machine,
        };
        let second = match after.0 {
            "name" => with(of_machine.clone(), &address("Hostname", "b")),
            _ => of_machine,
        };
        let found = node_of(&[
            machine("m", &second),
            node("n", &surer.2),
            node("b", &after.2),
        ]);
        assert_eq!(
            found.as_deref(),
            Some("n"),
            "{} before {}",
            surer.0,
            after.0
        );
    }
}

#[test]
fn words_that_name_nothing_link_nothing() {
    for (of_machine, of_node) in [
        // Of another type than in the API, or empty.
        (json!({ "status": { "nodeRef": "n" } }), json!({})),
        (
            json!({ "status": { "nodeRef": { "name": ["n"] } } }),
            json!({}),
        ),
        (node_ref(""), json!({})),
        (provider_id(""), provider_id("")),
        (
            json!({ "spec": { "providerID": 1 } }),
            json!({ "spec": { "providerID": 1 } }),
        ),
        (json!({}), annotation("")),
        (json!({}), annotation("openshift-machine-api/")),
        (address("Hostname", ""), address("Hostname", "")),
        (
            address("InternalIP", "10.0.0"),
            address("InternalIP", "10.0.0"),
        ),
        (
            json!({ "status": { "addresses": { "type": "InternalIP", "address": "10.0.0.5" } } }),
            address("InternalIP", "10.0.0.5"),
        ),
        // Of another Machine, namespace, case or cloud.
        (node_ref("another"), json!({})),
        (provider_id("aws:///a/i-1"), provider_id("aws:///a/I-1")),
        (json!({}), annotation("elsewhere/m")),
        (json!({}), annotation("m")),
        // Every host's name.
        (
            address("Hostname", "localhost"),
            json!({ "metadata": { "name": "localhost" } }),
        ),
    ] {
        let objects = [machine("m", &of_machine), node("n", &of_node)];
        assert_eq!(node_of(&objects), None, "{objects:#?}");
    }
}

/// A Machine that names a Node joined, whether that was read or not.
#[test]
fn a_machine_that_names_a_node_has_joined() {
    let facts = cluster(&[machine("m", &node_ref("n"))]);
    let links = Links::new(&facts);
    let machine = &facts.machines[0];
    assert!(links.has_joined(machine));
    assert_eq!(links.node_not_read(machine), Some("n"));
}

/// Nodes of the Cluster API name their Machine without its namespace.
#[test]
fn an_annotation_of_the_cluster_api_has_no_namespace() {
    let named = json!({ "metadata": { "annotations": { "cluster.x-k8s.io/machine": "m" } } });
    let objects = |of_machine: &Value| [machine("m", of_machine), node("n", &named)];
    assert_eq!(node_of(&objects(&of_cluster_api())).as_deref(), Some("n"));
    assert_eq!(node_of(&objects(&json!({}))), None);
}

/// An owner is one by group, namespace, kind and name.
#[test]
fn machines_are_their_owners() {
    let owned = |owners: Value| json!({ "metadata": { "ownerReferences": owners } });
    let set = json!({ "kind": "MachineSet", "name": "s" });
    for (owners, count) in [
        (json!([set]), 1),
        (json!([{ "kind": "Other", "name": "x" }, set]), 1),
        (json!([]), 0),
        (json!(set), 0),
        (json!([{ "kind": "MachineSet" }]), 0),
        (json!([{ "kind": "MachineSet", "name": "t" }]), 0),
        (
            json!([{ "kind": "ControlPlaneMachineSet", "name": "s" }]),
            0,
        ),
        (json!([{ "kind": 1, "name": "s" }, 7]), 0),
    ] {
        let facts = cluster(&[machine("m", &owned(owners.clone()))]);
        let links = Links::new(&facts);
        let of = |group, namespace| links.owned_by(group, "MachineSet", namespace, "s").len();
        let group = "machine.openshift.io";
        assert_eq!(of(group, "openshift-machine-api"), count, "{owners}");
        assert_eq!(of("cluster.x-k8s.io", "openshift-machine-api"), 0);
        assert_eq!(of(group, "elsewhere"), 0);
    }
}

/// Of the two copies between the APIs the Machine API's says which counts; alone each does.
#[test]
fn one_copy_of_a_machine_counts() {
    for (authority, of_machine_api, of_cluster_api_too) in [
        (json!("ClusterAPI"), false, true),
        (json!("MachineAPI"), true, false),
        (json!("Migrating"), true, false),
        (json!(null), true, true),
        (json!(""), true, true),
        (json!(7), true, true),
    ] {
        let status = json!({ "status": { "authoritativeAPI": authority } });
        let facts = cluster(&[machine("m", &status), machine("m", &of_cluster_api())]);
        let links = Links::new(&facts);
        let counts = |is_of_cluster_api: bool| {
            let mut all = facts.all_machines();
            let own = all.find(|machine| machine.is_of_cluster_api() == is_of_cluster_api);
            links.counts(own.unwrap())
        };
        let found = (counts(false), counts(true));
        assert_eq!(found, (of_machine_api, of_cluster_api_too), "{authority}");
    }
}

/// A host is a Machine's by its annotation, else by what it is for.
#[test]
fn a_machine_has_its_host() {
    let annotation = |value: Value| json!({ "metadata": { "annotations": { "metal3.io/BareMetalHost": value } } });
    let consumer = |kind: &str, name: &str| json!({ "kind": kind, "name": name });
    let ours = "openshift-machine-api/h";
    for (of_machine, consumer, is_its) in [
        (annotation(json!(ours)), json!(null), true),
        (json!({}), consumer("Machine", "m"), true),
        (annotation(json!(ours)), consumer("Machine", "other"), true),
        (json!({}), json!(null), false),
        (json!({}), consumer("Machine", "other"), false),
        (json!({}), consumer("Server", "m"), false),
        (json!({}), json!("m"), false),
        (annotation(json!("h")), json!(null), false),
        (annotation(json!("elsewhere/h")), json!(null), false),
        (annotation(json!("")), json!(null), false),
        (annotation(json!([ours])), json!(null), false),
    ] {
        let host = json!({
            "apiVersion": "metal3.io/v1alpha1",
            "kind": "BareMetalHost",
            "metadata": { "name": "h", "namespace": "openshift-machine-api" },
            "spec": { "consumerRef": consumer },
        });
        let facts = cluster(&[machine("m", &of_machine), host]);
        let links = Links::new(&facts);
        let found = links.host_of(&facts.machines[0]);
        assert_eq!(found.is_some(), is_its, "{of_machine} {consumer}");
    }
}
