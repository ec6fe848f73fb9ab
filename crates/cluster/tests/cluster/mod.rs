//! Objects, and the facts that are made of them: tables, of which half is bad input.

mod links;
mod reading;

use crate::add::{add, settle};
use crate::cluster::Cluster;
use crate::kinds::kind::Purpose;
use crate::moment::Moment;
use serde_json::{Value, json};

/// The cluster that has these objects.
fn cluster(objects: &[Value]) -> Cluster {
    let mut all = Cluster::new(Purpose::Nodes, at("2026-08-20T12:00:00Z"), false);
    for object in objects {
        add(&mut all, None, ("", ""), object).unwrap();
    }
    settle(&mut all).unwrap();
    all
}

fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

/// An object with these fields instead of its own; null takes one away.
fn with(mut object: Value, fields: &Value) -> Value {
    let Some(fields) = fields.as_object() else {
        return fields.clone();
    };
    for (name, field) in fields {
        let own = object[name].take();
        let own = if own.is_object() || !field.is_object() {
            own
        } else {
            json!({})
        };
        object[name] = with(own, field);
    }
    object
}

/// A Machine of nine o'clock.
fn machine(name: &str, fields: &Value) -> Value {
    let machine = json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": "openshift-machine-api",
            "uid": name,
            "creationTimestamp": "2026-08-20T09:00:00Z",
        },
        "spec": {},
        "status": { "phase": "Provisioned" },
    });
    with(machine, fields)
}

/// A Node of ten minutes later.
fn node(name: &str, fields: &Value) -> Value {
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name, "uid": name, "creationTimestamp": "2026-08-20T09:10:00Z" },
        "spec": {},
        "status": {},
    });
    with(node, fields)
}

/// An object of the Cluster API in the namespace of the Machine API.
fn of_cluster_api() -> Value {
    json!({ "apiVersion": "cluster.x-k8s.io/v1beta1" })
}
