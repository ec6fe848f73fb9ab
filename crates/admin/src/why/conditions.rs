//! The condition `BootImageAllowed` of Machines (pure): False on a Machine without a Node whose own
//! agent reported that it was refused, and whose own image the audit refuses, too.
//!
//! A report is a claim of whoever has the bootstrap credentials: by itself it changes nothing.

use super::case::{Case, Subject};
use super::facts::Facts;
use super::index::Index;
use super::kinds::Machine;
use super::moment::Moment;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The condition's type.
const TYPE: &str = "BootImageAllowed";

/// Refusals by the audit, each with the Machine's namespace and name: a sentence about its own image.
pub(crate) type OwnRefusals = BTreeMap<(String, String), String>;

/// A patch of a Machine's status (RFC 6902).
#[derive(Debug)]
pub(crate) struct ConditionPatch {
    /// `machines.machine.openshift.io`.
    pub(crate) resource: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) patch: Value,
}

/// The patches that bring the conditions up to date: none where nothing changes, so that the time of
/// the last transition stays. A Machine that never was refused gets none.
pub(crate) fn condition_patches(
    facts: &Facts,
    refused: &OwnRefusals,
    now: Moment,
) -> Vec<ConditionPatch> {
    let index = Index::new(facts, &[]);
    let machines = facts.machines.iter();
    machines
        // The Node of a NodePool's machine is in another cluster, and so are its reports.
        .filter(|machine| !machine.is_deleting && machine.node_pool.is_none())
        .filter_map(|machine| {
            let key = (machine.meta.namespace.clone(), machine.meta.name.clone());
            let own = refused.get(&key);
            let report = own.and_then(|why| {
                let case = Case::new(facts, &index, Subject::Machine(machine), now);
                Some((case.refused_by()?, why))
            });
            patch(machine, report, now)
        })
        .collect()
}

impl Case<'_> {
    /// The name of the last report, where that is a refusal and there is no Node.
    fn refused_by(&self) -> Option<String> {
        let is_linked = self.machine.is_some_and(|machine| machine.node.is_some());
        if is_linked || self.node().is_some() {
            return None;
        }
        let last = *self.reports().last()?;
        (last.action == "Block").then(|| last.meta.full_name())
    }
}

fn patch(
    machine: &Machine,
    report: Option<(String, &String)>,
    now: Moment,
) -> Option<ConditionPatch> {
    let place = machine
        .conditions
        .iter()
        .position(|known| known.kind == TYPE);
    let (status, reason, message) = match report {
        Some((report, why)) => (
            "False",
            "BootImageRefused",
            format!("{why}; BootImageReport {report} says that the node was refused"),
        ),
        // Nothing is said of those that were never refused.
        None if place.is_none() => return None,
        None if machine.node.is_some() => ("True", "NodeJoined", "it has a Node".to_owned()),
        None => (
            "Unknown",
            "NotRefused",
            "no report of the node and the audit refuse its image both".to_owned(),
        ),
    };
    let known = place.and_then(|place| machine.conditions.get(place));
    if known.is_some_and(|known| known.status == status) {
        return None;
    }
    let condition = condition(machine, status, (reason, &message), now);
    let write = match place {
        Some(place) => {
            json!({ "op": "replace", "path": format!("/status/conditions/{place}"), "value": condition })
        }
        None if machine.conditions.is_empty() => {
            json!({ "op": "add", "path": "/status/conditions", "value": [condition] })
        }
        None => json!({ "op": "add", "path": "/status/conditions/-", "value": condition }),
    };
    // What another wrote since then is not written over: the next run tries again.
    let test =
        json!({ "op": "test", "path": "/metadata/resourceVersion", "value": machine.version });
    Some(ConditionPatch {
        resource: if machine.is_of_cluster_api {
            "machines.cluster.x-k8s.io"
        } else {
            "machines.machine.openshift.io"
        },
        namespace: machine.meta.namespace.clone(),
        name: machine.meta.name.clone(),
        patch: json!([test, write]),
    })
}

/// A condition as the Machine's API has it.
fn condition(
    machine: &Machine,
    status: &str,
    (reason, message): (&str, &str),
    now: Moment,
) -> Value {
    let mut condition = json!({
        "type": TYPE, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": now.text(),
    });
    // Of the Cluster API's conditions only the older ones have it, and need it not.
    if !machine.is_of_cluster_api
        && status == "False"
        && let Some(fields) = condition.as_object_mut()
    {
        fields.insert("severity".to_owned(), "Error".into());
    }
    condition
}
