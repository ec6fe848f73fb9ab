//! Scopes of images, by platform (pure): where an image's name holds.
//!
//! Field names: openshift/api `machine/v1beta1`, `machine/v1` (Nutanix, PowerVS), `machine/v1alpha1`
//! (OpenStack); the machine specs of the Cluster API's providers.

use super::fields::text_at;
use serde_json::Value;

/// Place where an image's name holds, by what a spec says; `None` where it does not say it. The Machine
/// API has one cloud account; that of the Cluster API is named by the spec, if at all.
pub type Scope = fn(image: &str, spec: &Value) -> Vec<Option<String>>;

fn first(spec: &Value, paths: &[&str]) -> Option<String> {
    paths.iter().find_map(|path| text_at(spec, path))
}

fn named(spec: &Value, path: &str) -> Option<String> {
    ["uuid", "id", "name", "regex"]
        .into_iter()
        .find_map(|by| Some(format!("{by} {}", text_at(spec, &format!("{path}/{by}"))?)))
}

/// AMIs are one in all of AWS; URLs and container images anywhere.
pub fn of_every_site(_: &str, _: &Value) -> Vec<Option<String>> {
    Vec::new()
}

/// A URL may have another image by now: a checksum says which, if it is none of a URL's.
pub fn metal(_: &str, spec: &Value) -> Vec<Option<String>> {
    let checksum = first(spec, &["/image/checksum"]);
    vec![checksum.filter(|checksum| !checksum.contains("://"))]
}

pub fn vsphere(_: &str, spec: &Value) -> Vec<Option<String>> {
    vec![
        first(spec, &["/workspace/server", "/server"]),
        first(spec, &["/workspace/datacenter", "/datacenter"]),
    ]
}

/// A UUID is one in its Prism Central; a name may be in each cluster of it.
pub fn nutanix(_: &str, spec: &Value) -> Vec<Option<String>> {
    let domain = || Some(format!("domain {}", text_at(spec, "/failureDomain/name")?));
    vec![named(spec, "/cluster").or_else(domain)]
}

/// `projects/P/global/images/I`, also as a URL; else it is of the machine's own project.
pub fn gcp(image: &str, spec: &Value) -> Vec<Option<String>> {
    match image.contains("projects/") {
        true => Vec::new(),
        false => vec![first(spec, &["/projectID"])],
    }
}

/// `/subscriptions/S/...` and URNs say all; what lacks the subscription is of the credentials' own.
pub fn azure(image: &str, spec: &Value) -> Vec<Option<String>> {
    match image.starts_with('/') && !image.starts_with("/subscriptions/") {
        true => vec![first(spec, &["/credentialsSecret/name"])],
        false => Vec::new(),
    }
}

pub fn openstack(_: &str, spec: &Value) -> Vec<Option<String>> {
    vec![
        first(spec, &["/cloudName", "/identityRef/cloudName"]),
        first(spec, &["/cloudsSecret/name", "/identityRef/name"]),
    ]
}

pub fn powervs(_: &str, spec: &Value) -> Vec<Option<String>> {
    vec![
        named(spec, "/serviceInstance").or_else(|| first(spec, &["/serviceInstanceID"])),
        first(spec, &["/zone"]),
    ]
}

pub fn ibm_cloud(_: &str, spec: &Value) -> Vec<Option<String>> {
    vec![
        first(spec, &["/region"]),
        first(spec, &["/credentialsSecret/name"]),
    ]
}

pub fn ovirt(_: &str, spec: &Value) -> Vec<Option<String>> {
    vec![first(spec, &["/cluster_id"])]
}

pub fn libvirt(_: &str, spec: &Value) -> Vec<Option<String>> {
    vec![first(spec, &["/uri"])]
}
