//! Site of an image (pure): where the image's name holds, and what decides
//! who keeps the image up to date.
//!
//! Field names: openshift/api `machine/v1beta1` (`Workspace`, `AWSResourceReference`,
//! `SecuritySettings`), `machine/v1` (Nutanix, PowerVS), `machine/v1alpha1` (OpenStack); the machine
//! specs of the Cluster API's providers.

use super::fields::{first_at, list_at, str_at, text_at};
use super::platforms::audit_row;
use crate::lenient;
use crate::platform::Platform;
use serde::Deserialize;
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
    /// A digest of the image's checksum, else of its reference, where not all of that is shown: a URL's query may
    /// choose the image.
    pub whole: Option<u64>,
}

/// Place of a VM on vSphere, by a workspace or a failure domain.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Workspace {
    pub server: String,
    #[serde(rename = "datacenter|topology.datacenter")]
    pub datacenter: String,
    #[serde(rename = "datastore|topology.datastore")]
    pub datastore: String,
    #[serde(rename = "resourcePool|topology.resourcePool")]
    pub resource_pool: String,
    #[serde(rename = "vmGroup|zoneAffinity.hostGroup.vmGroup")]
    pub vm_group: String,
}

impl Site {
    /// Of the spec of a platform that names this image.
    pub fn of(platform: Platform, image: Option<&str>, spec: &Value) -> Self {
        let image = image.unwrap_or_default();
        Self {
            scope: scope(platform, image, spec),
            security_type: (platform == Platform::Azure)
                .then(|| security_type(spec))
                .flatten(),
            workspace: (spec.get("workspace"))
                .filter(|_| platform == Platform::VSphere)
                .map(lenient::known),
            chooser: (platform == Platform::Aws && image.is_empty())
                .then(|| chooser(spec))
                .flatten(),
            whole: None,
        }
    }

    /// Of an image that is known by its whole reference alone.
    pub fn of_whole(whole: Option<u64>) -> Self {
        Self {
            whole,
            ..Self::default()
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
        let mut said = both.filter_map(|(own, other)| own.as_ref().zip(other.as_ref()));
        self.whole == other.whole && said.all(|(own, other)| own == other)
    }
}

/// Place where an image's name holds, by what a spec says. The Machine API has one cloud account; that of the
/// Cluster API is named by the spec, if at all. AMIs are one in all of AWS, and container images anywhere. A URL may
/// have another image by now: a checksum says which, if it is none of a URL's.
fn scope(platform: Platform, image: &str, spec: &Value) -> Vec<Option<String>> {
    let is_whole = match platform {
        // Else it is of the machine's own project.
        Platform::Gcp => image.contains("projects/"),
        // What lacks the subscription is of the credentials' own; URNs say all.
        Platform::Azure => !image.starts_with('/') || image.starts_with("/subscriptions/"),
        _ => false,
    };
    let part = |fields: &[&str]| {
        fields.iter().find_map(|field| {
            let (word, path) = field.split_at(field.find('/')?);
            Some(format!("{word}{}", text_at(spec, path)?))
        })
    };
    let is_known = |text: &String| platform != Platform::Metal || !text.contains("://");
    let parts = audit_row(platform).scope.iter().filter(|_| !is_whole);
    parts.map(|fields| part(fields).filter(is_known)).collect()
}

/// `securityProfile.settings.securityType` (Machine API), `securityProfile.securityType` (Cluster API).
fn security_type(spec: &Value) -> Option<String> {
    first_at(
        spec,
        &[
            "/securityProfile/settings/securityType",
            "/securityProfile/securityType",
        ],
    )
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
