//! Objects of each kind, good and bad: what is kept, and what is said of the rest.

use super::{cluster, machine, node};
use crate::add::add;
use crate::cluster::Cluster;
use crate::kinds::kind::Purpose;
use crate::kinds::kind_table::asked_for;
use serde_json::{Value, json};

/// What was not understood, in words.
fn not_understood(facts: &Cluster) -> Vec<String> {
    let all = facts.not_understood.iter();
    all.map(|unread| format!("{}: {}", unread.what, unread.why))
        .collect()
}

/// Of every kind an object with nothing but its name is read, and one whose parts are of other types: neither is
/// lost in silence, and none ends the reading.
#[test]
fn each_kind_is_read_whatever_its_parts_are() {
    for row in asked_for(Purpose::Nodes) {
        let version = row.version.unwrap_or("v1");
        let object = |parts: &Value| {
            json!({
                "apiVersion": row.api_version(version),
                "kind": row.kind,
                "metadata": { "name": "a", "namespace": "b" },
                "spec": parts, "status": parts, "data": parts,
            })
        };
        for parts in [
            json!(null),
            json!({}),
            json!(7),
            json!("x"),
            json!([[]]),
            json!(true),
        ] {
            let facts = cluster(&[object(&parts), node("n", &json!({}))]);
            assert_eq!(facts.count, 2, "{row:?} {parts}");
            assert_eq!(
                facts
                    .nodes
                    .iter()
                    .filter(|node| node.metadata.name == "n")
                    .count(),
                1
            );
        }
    }
}

/// A field of another type is named with its path, and the rest of its object counts.
#[test]
fn a_field_of_another_type_is_named_and_the_rest_is_kept() {
    let id = json!({ "spec": { "providerID": "aws:///a/i-1" } });
    for (fields, words) in [
        (
            json!({ "status": { "phase": 7 } }),
            "status.phase is not a text",
        ),
        (
            json!({ "status": { "nodeRef": "n" } }),
            "status.nodeRef is not an object",
        ),
        (
            json!({ "status": { "addresses": {} } }),
            "status.addresses is not a list",
        ),
        (
            json!({ "status": { "addresses": [{ "address": 1 }] } }),
            "status.addresses[0].address is not a text",
        ),
    ] {
        let facts = cluster(&[machine("m", &super::with(id.clone(), &fields))]);
        assert_eq!(
            facts.machines[0].provider_id.as_deref(),
            Some("aws:///a/i-1")
        );
        let said = not_understood(&facts);
        assert!(
            matches!(&said[..], [one] if one.contains(words)),
            "{said:?}"
        );
    }
}

/// What has no kind, group or name is named, and never taken for nothing.
#[test]
fn an_object_that_does_not_say_what_it_is_is_named() {
    for (object, why) in [
        (json!({ "metadata": { "name": "a" } }), "has no kind"),
        (
            json!({ "kind": "MachineSet", "metadata": { "name": "a" } }),
            "has no apiVersion",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": {} }),
            "has no name",
        ),
        (json!({ "apiVersion": "v1", "kind": "Node" }), "has no name"),
        (json!(7), "has no kind"),
        (json!([]), "has no kind"),
    ] {
        let said = not_understood(&cluster(std::slice::from_ref(&object)));
        assert!(
            matches!(&said[..], [one] if one.contains(why)),
            "{object} {said:?}"
        );
    }
    // A kind that says nothing here is passed over; one that may make nodes is not.
    let of = |group: &str| json!({ "apiVersion": format!("{group}/v1"), "kind": "New", "metadata": { "name": "a" } });
    assert_eq!(not_understood(&cluster(&[of("apps.example.com")])).len(), 0);
    for maker in ["machine.openshift.io", "karpenter.example.com"] {
        assert_eq!(not_understood(&cluster(&[of(maker)])).len(), 1, "{maker}");
    }
}

/// The same object once more counts once, and of two that differ the newer one.
#[test]
fn of_several_copies_the_newest_counts() {
    let copy = |version: &str, phase: &str| {
        let status = json!({ "status": { "phase": phase } });
        let metadata = json!({ "metadata": { "resourceVersion": version } });
        machine("m", &super::with(status, &metadata))
    };
    for (first, second, phase, unknown) in [
        (copy("9", "Running"), copy("9", "Running"), "Running", 0),
        (
            copy("9", "Provisioned"),
            copy("10", "Running"),
            "Running",
            0,
        ),
        (
            copy("10", "Running"),
            copy("9", "Provisioned"),
            "Running",
            0,
        ),
        (
            copy("", "Provisioned"),
            copy("", "Running"),
            "Provisioned",
            1,
        ),
        (
            copy("x", "Provisioned"),
            copy("y", "Running"),
            "Provisioned",
            1,
        ),
    ] {
        let facts = cluster(&[first, second]);
        let phases: Vec<_> = facts
            .machines
            .iter()
            .map(|one| one.phase.as_deref())
            .collect();
        assert_eq!(phases, [Some(phase)]);
        assert_eq!(not_understood(&facts).len(), unknown, "{phase}");
    }
}

/// Objects without end are refused.
#[test]
fn more_objects_than_are_read_end_the_reading() {
    let mut all = cluster(&[]);
    all.count = crate::add::MAX_OBJECTS;
    let error = add(&mut all, None, ("", ""), &json!({})).unwrap_err();
    assert_eq!(error.what, "there are more than 200000 objects");
}
