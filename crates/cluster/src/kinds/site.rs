//! Site of an image (pure): where the image's name holds, and what decides
//! who keeps the image up to date.
//!
//! Field names: openshift/api `machine/v1beta1` (`Workspace`, `AWSResourceReference`,
//! `SecuritySettings`), `machine/v1` (Nutanix, PowerVS), `machine/v1alpha1` (OpenStack); the machine
//! specs of the Cluster API's providers.

use super::fields::{list_at, str_at, text_at};
use super::platforms::audit_row;
use crate::platform::Platform;
use serde_json::Value;

/// Site of an image, by what a spec says beside its image field.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Place where the image's name holds: vCenter and datacenter, project, cluster and the like.
    /// `None` where the spec does not say it.
    scope: Vec<Option<String>>,
    /// Azure: `ConfidentialVM`, `TrustedLaunch`.
    pub security_type: Option<String>,
    /// vSphere.
    pub workspace: Option<Workspace>,
    /// AWS: what chooses the AMI in place of `ami.id`.
    pub chooser: Option<&'static str>,
}

/// Place of a VM on vSphere.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workspace {
    pub server: String,
    pub datacenter: String,
    pub datastore: String,
    pub resource_pool: String,
    pub vm_group: String,
}

impl Site {
    /// Of the spec of a platform that names this image.
    pub fn of(platform: Platform, image: Option<&str>, spec: &Value) -> Self {
        let image = image.unwrap_or_default();
        Self {
            scope: (audit_row(platform).scope)(image, spec),
            security_type: (platform == Platform::Azure)
                .then(|| security_type(spec))
                .flatten(),
            workspace: (platform == Platform::VSphere)
                .then(|| Workspace::of(spec))
                .flatten(),
            chooser: (platform == Platform::Aws && image.is_empty())
                .then(|| chooser(spec))
                .flatten(),
        }
    }

    /// Of a failure domain on vSphere.
    pub fn in_failure_domain(server: Option<String>, datacenter: Option<String>) -> Self {
        Self {
            scope: vec![server, datacenter],
            ..Self::default()
        }
    }

    /// Tells whether an image of the same name is the same image there. What one of the two does not say
    /// does not stand against it.
    pub fn agrees(&self, other: &Self) -> bool {
        let both = self.scope.iter().zip(&other.scope);
        both.filter_map(|(own, other)| own.as_ref().zip(other.as_ref()))
            .all(|(own, other)| own == other)
    }
}

impl Workspace {
    fn of(spec: &Value) -> Option<Self> {
        let of = spec.pointer("/workspace")?;
        let text = |path| text_at(of, path).unwrap_or_default();
        Some(Self {
            server: text("/server"),
            datacenter: text("/datacenter"),
            datastore: text("/datastore"),
            resource_pool: text("/resourcePool"),
            vm_group: text("/vmGroup"),
        })
    }
}

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

/// `securityProfile.settings.securityType` (Machine API), `securityProfile.securityType` (Cluster API).
fn security_type(spec: &Value) -> Option<String> {
    ["/settings/securityType", "/securityType"]
        .into_iter()
        .find_map(|path| text_at(spec, &format!("/securityProfile{path}")))
}

fn chooser(spec: &Value) -> Option<&'static str> {
    if !list_at(spec, "/ami/filters").is_empty() {
        return Some("ami.filters");
    }
    str_at(spec, "/ami/arn").map(|_| "ami.arn")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_image_is_the_same_within_its_site() {
        let of = |platform: &str, image, spec: &Value| {
            Site::of(Platform::named(platform).unwrap(), Some(image), spec)
        };
        let vcenter = |server: &str, datacenter: &str| json!({ "workspace": { "server": server, "datacenter": datacenter } });
        let absolute = "projects/p/global/images/i";
        let (relative, whole) = ("/resourceGroups/g/x", "/subscriptions/s/resourceGroups/g/x");
        for (platform, image, a, b, same) in [
            (
                "vmware",
                "rhcos",
                vcenter("a", "d"),
                vcenter("a", "d"),
                true,
            ),
            (
                "vmware",
                "rhcos",
                vcenter("a", "d"),
                vcenter("b", "d"),
                false,
            ),
            (
                "vmware",
                "rhcos",
                vcenter("a", "d"),
                vcenter("a", "e"),
                false,
            ),
            (
                "vmware",
                "rhcos",
                vcenter("a", "d"),
                json!({ "server": "a", "datacenter": "d" }),
                true,
            ),
            (
                "vmware",
                "rhcos",
                vcenter("a", "d"),
                json!({ "workspace": { "server": "a" } }),
                true,
            ),
            (
                "nutanix",
                "i",
                json!({ "cluster": { "type": "uuid", "uuid": "1" } }),
                json!({ "cluster": { "type": "uuid", "uuid": "2" } }),
                false,
            ),
            (
                "nutanix",
                "i",
                json!({ "cluster": { "type": "name", "name": "1" } }),
                json!({ "failureDomain": { "name": "1" } }),
                false,
            ),
            (
                "gcp",
                "i",
                json!({ "projectID": "p" }),
                json!({ "projectID": "q" }),
                false,
            ),
            (
                "gcp",
                absolute,
                json!({ "projectID": "p" }),
                json!({ "projectID": "q" }),
                true,
            ),
            (
                "azure",
                relative,
                json!({ "credentialsSecret": { "name": "a" } }),
                json!({ "credentialsSecret": { "name": "b" } }),
                false,
            ),
            (
                "azure",
                whole,
                json!({ "credentialsSecret": { "name": "a" } }),
                json!({ "credentialsSecret": { "name": "b" } }),
                true,
            ),
            (
                "openstack",
                "i",
                json!({ "cloudName": "a" }),
                json!({ "cloudName": "b" }),
                false,
            ),
            (
                "powervs",
                "i",
                json!({ "serviceInstance": { "type": "ID", "id": "1" } }),
                json!({ "serviceInstance": { "type": "ID", "id": "2" } }),
                false,
            ),
            (
                "aws",
                "ami-1",
                json!({ "placement": { "region": "r" } }),
                json!({}),
                true,
            ),
        ] {
            assert_eq!(
                of(platform, image, &a).agrees(&of(platform, image, &b)),
                same,
                "{platform} {image} {a} {b}"
            );
        }
    }
}
