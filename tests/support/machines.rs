//! Clusters of every platform, and the machines that their sets make: what `render admission` is
//! tried on, with an interpreter of its expressions and on a real API server.

use super::apiserver::repository;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// An image whose name says OpenShift 4.12.
const OLD: &str = "rhcos-412-86-202301311551-0";

/// A machine as the API server is asked for it.
pub(crate) struct Asked {
    /// For messages: the set and its image.
    pub(crate) about: String,
    pub(crate) platform: String,
    pub(crate) machine: Value,
    /// The same machine with an image that no audit knows.
    pub(crate) with_another_image: Value,
    pub(crate) is_denied: bool,
}

/// The objects of a cluster for each platform, as `oc get -o json` prints them.
pub(crate) fn clusters() -> Vec<(&'static str, Value)> {
    let list = |object: Value| json!({ "apiVersion": "v1", "kind": "List", "items": [object] });
    vec![
        ("aws", fixture("aws.json")),
        ("azure", fixture("azure.json")),
        ("gcp", fixture("gcp.json")),
        ("vsphere", fixture("vsphere.json")),
        ("openstack", fixture("openstack.json")),
        ("openstack-root-volume", root_volume()),
        ("nutanix", fixture("nutanix.json")),
        ("ibm", replaced("ibm.json", "c1-x7k2p-rhcos", OLD)),
        ("metal", fixture("metal.json")),
        ("cluster-api", fixture("cluster-api.json")),
        // Machine sets of real clusters.
        (
            "real-gcp",
            list(replaced(
                "real/insights/machineset-gcp.json",
                "ci-ln-fyvthbt-f76d1-nl2fh-rhcos-image",
                &format!("projects/rhcos-cloud/global/images/{OLD}-gcp-x86-64"),
            )),
        ),
        ("real-aro", list(fixture("real/machineset-aro.json"))),
    ]
}

fn fixture(name: &str) -> Value {
    replaced(name, "", "")
}

fn replaced(name: &str, image: &str, by: &str) -> Value {
    let path = repository().join("tests/data/audit").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(image), "{name}");
    let text = if image.is_empty() {
        text
    } else {
        text.replace(image, by)
    };
    serde_json::from_str(&text).unwrap()
}

/// OpenStack's, with the image in the root volume.
fn root_volume() -> Value {
    let mut list = fixture("openstack.json");
    for item in list["items"].as_array_mut().unwrap() {
        for path in [
            "/spec/template/spec/providerSpec/value",
            "/spec/providerSpec/value",
        ] {
            if let Some(spec) = item.pointer_mut(path) {
                spec["image"] = json!("");
                spec["rootVolume"] = json!({ "diskSize": 50, "sourceType": "image", "sourceUUID": "8e1f4b0c-1b1e-4a3e-9f1e-0123456789ab", "volumeType": "fast" });
            }
        }
    }
    list
}

/// The machines of the sets that an audit of these objects has. The image of a set that is not
/// refused is nobody's to deny, and neither is what a report alone says.
pub(crate) fn machines(list: &Value, audit: &Value) -> Vec<Asked> {
    let sets = audit["sets"].as_array().unwrap();
    let is_refused = |set: &Value| set["verdict"] == "Refused";
    let others: BTreeSet<&str> = sets
        .iter()
        .filter(|set| !is_refused(set))
        .filter_map(|set| set["image"].as_str())
        .collect();
    let asked = |set: &Value| {
        let (machine, image) = (machine_of(list, set)?, set["image"].as_str()?);
        Some(Asked {
            about: format!("{} {} {image}", set["platform"], set["name"]),
            platform: set["platform"].as_str()?.to_owned(),
            with_another_image: with_image(&machine, image, "another-image"),
            machine,
            is_denied: is_refused(set) && set["knownBy"] != "Report" && !others.contains(image),
        })
    };
    sets.iter().filter_map(asked).collect()
}

/// The machine that a set makes, as the API server stores it.
fn machine_of(list: &Value, set: &Value) -> Option<Value> {
    let items = list["items"].as_array().unwrap();
    let of = |kind: &Value, name: &Value| {
        let found = items.iter().find(|item| {
            item["kind"] == *kind
                && item["metadata"]["name"] == *name
                && (item["kind"] != "MachineSet"
                    || item["apiVersion"]
                        .as_str()
                        .unwrap()
                        .starts_with(set["group"].as_str().unwrap()))
        });
        found.cloned()
    };
    if !["MachineSet", "ControlPlaneMachineSet"].contains(&set["kind"].as_str().unwrap()) {
        return None;
    }
    let template = &of(&set["kind"], &set["name"])?["spec"]["template"];
    let metadata = json!({ "name": "c1-x7k2p", "namespace": set["namespace"],
        "labels": { "machine.openshift.io/cluster-api-cluster": "c1" } });
    if set["group"] == "machine.openshift.io" {
        let control_plane = &template["machines_v1beta1_machine_openshift_io"]["spec"];
        let spec = if control_plane.is_object() {
            control_plane
        } else {
            &template["spec"]
        };
        let mut spec = spec.clone();
        // The operator takes the template of the failure domain.
        if set["imageField"]
            .as_str()
            .is_some_and(|field| field.contains("failureDomains"))
        {
            spec["providerSpec"]["value"]["template"] = set["image"].clone();
        }
        return Some(
            json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": metadata, "spec": spec }),
        );
    }
    let reference = &template["spec"]["infrastructureRef"];
    let infrastructure = of(&reference["kind"], &reference["name"])?;
    let kind = reference["kind"]
        .as_str()
        .unwrap()
        .trim_end_matches("Template");
    Some(
        json!({ "apiVersion": infrastructure["apiVersion"], "kind": kind, "metadata": metadata,
        "spec": infrastructure["spec"]["template"]["spec"] }),
    )
}

/// The same with another image.
fn with_image(machine: &Value, image: &str, other: &str) -> Value {
    fn replace(value: &mut Value, image: &str, other: &str) {
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|v| replace(v, image, other)),
            Value::Array(items) => items.iter_mut().for_each(|v| replace(v, image, other)),
            Value::String(text) if text == image => other.clone_into(text),
            _ => {}
        }
    }
    let mut machine = machine.clone();
    // A URN is in parts; its version is one of them.
    for part in [image].into_iter().chain(image.rsplit(':').next()) {
        replace(&mut machine, part, other);
    }
    machine
}
