//! The image field of each platform (pure): what the audit reads, and what `render admission` looks
//! for on the API server.
//!
//! Field names: openshift/api `machine/v1beta1` (AWS, Azure, GCP, vSphere), `machine/v1` (Nutanix,
//! PowerVS), `machine/v1alpha1` (OpenStack); the bare metal, IBM Cloud, libvirt and oVirt providers
//! of the Machine API; the machine specs of the Cluster API's providers.

use super::fields::{at, list_at, shown, str_at};
use crate::platform::Platform;
use serde_json::Value;

/// A field that names an image, by its path within the spec, with dots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageField {
    Text(&'static str),
    /// The parts of a marketplace's URN are below it.
    Urn(&'static str),
    /// The image of the disk to boot from: other disks have images of their own.
    BootDisk,
}

use ImageField::{BootDisk, Text, Urn};

/// The parts of a URN, in its order.
pub const URN: [&str; 4] = ["publisher", "offer", "sku", "version"];

/// Fields and rules of a platform, for the audit. Of several fields the first that is given counts.
#[derive(Debug)]
pub struct AuditRow {
    /// The fields of a `providerSpec.value` of the Machine API.
    pub provider_spec: &'static [ImageField],
    /// Fields of an infrastructure machine of the Cluster API, and of its template.
    pub machine: &'static [ImageField],
    /// The field that is named where none is given.
    unnamed: &'static str,
    /// The fields of a NodePool, below `spec.platform` (openshift/hypershift
    /// `api/hypershift/v1beta1`; Azure also as it was before 4.17).
    pub node_pool: &'static [ImageField],
    /// An object there that names an image, though none of these may be given; and another one with which it does not.
    pub node_pool_object: Option<[&'static str; 2]>,
    /// Tells whether the release has an image of its own for NodePools, so that their field may be unset
    /// (openshift/hypershift `api/hypershift/v1beta1`).
    pub is_in_release: bool,
    /// No other image can take the place of one under its name.
    pub keeps_name: bool,
    /// Parts of the place where the image's name holds; of several fields the first that is given counts. A
    /// word before a field tells its values from those of the others.
    pub scope: &'static [&'static [&'static str]],
    /// The release 4.x from which on the Machine Config Operator keeps the images of MachineSets.
    pub kept_since: Option<u16>,
    /// The same of ControlPlaneMachineSets.
    pub control_plane_kept_since: Option<u16>,
}

/// The rest of a row.
const ROW: AuditRow = AuditRow {
    provider_spec: &[],
    machine: &[],
    unnamed: "image",
    node_pool: &[],
    node_pool_object: None,
    is_in_release: false,
    keeps_name: false,
    scope: &[],
    kept_since: None,
    control_plane_kept_since: None,
};

/// The row of a platform.
pub const fn audit_row(platform: Platform) -> AuditRow {
    match platform {
        Platform::Aws => AWS,
        Platform::Azure => AZURE,
        Platform::Gcp => GCP,
        Platform::IbmCloud => IBM_CLOUD,
        Platform::KubeVirt => KUBEVIRT,
        Platform::Libvirt => LIBVIRT,
        Platform::Metal => METAL,
        Platform::Nutanix => NUTANIX,
        Platform::OpenStack => OPENSTACK,
        Platform::Ovirt => OVIRT,
        Platform::PowerVs => POWERVS,
        Platform::VSphere => VSPHERE,
    }
}

const AWS: AuditRow = AuditRow {
    provider_spec: &[Text("ami.id")],
    machine: &[Text("ami.id")],
    unnamed: "ami.id",
    node_pool: &[Text("aws.ami")],
    is_in_release: true,
    keeps_name: true,
    kept_since: Some(18),
    control_plane_kept_since: Some(22),
    ..ROW
};

const AZURE: AuditRow = AuditRow {
    provider_spec: &[Text("image.resourceID"), Urn("image")],
    machine: &[Text("image.id"), Urn("image.marketplace")],
    node_pool: &[
        Text("azure.image.imageID"),
        Text("azure.imageID"),
        Urn("azure.image.azureMarketplace"),
    ],
    // It may say the generation alone.
    node_pool_object: Some(["azure.image", "azure.image.azureMarketplace"]),
    scope: &[&["/credentialsSecret/name"]],
    kept_since: Some(21),
    control_plane_kept_since: Some(22),
    ..ROW
};

const GCP: AuditRow = AuditRow {
    provider_spec: &[BootDisk],
    machine: &[Text("image")],
    unnamed: "disks[].image",
    node_pool: &[Text("gcp.image")],
    scope: &[&["/projectID"]],
    kept_since: Some(17),
    control_plane_kept_since: Some(22),
    ..ROW
};

const IBM_CLOUD: AuditRow = AuditRow {
    provider_spec: &[Text("image")],
    machine: &[Text("image.name"), Text("image.id")],
    scope: &[&["/region"], &["/credentialsSecret/name"]],
    ..ROW
};

const KUBEVIRT: AuditRow = AuditRow {
    node_pool: &[Text("kubevirt.rootVolume.diskImage.containerDiskImage")],
    node_pool_object: Some(["kubevirt.rootVolume.diskImage", ""]),
    is_in_release: true,
    ..ROW
};

const LIBVIRT: AuditRow = AuditRow {
    provider_spec: &[Text("volume.baseVolumeID")],
    unnamed: "volume.baseVolumeID",
    scope: &[&["/uri"]],
    ..ROW
};

const METAL: AuditRow = AuditRow {
    provider_spec: &[Text("image.url")],
    machine: &[Text("image.url")],
    scope: &[&["/image/checksum"]],
    ..ROW
};

const NUTANIX: AuditRow = AuditRow {
    provider_spec: &[Text("image.name"), Text("image.uuid")],
    machine: &[Text("image.name"), Text("image.uuid")],
    scope: &[&[
        "uuid /cluster/uuid",
        "name /cluster/name",
        "domain /failureDomain/name",
    ]],
    ..ROW
};

const OPENSTACK: AuditRow = AuditRow {
    // The second counts where the first is empty (`RootVolume`).
    provider_spec: &[Text("image"), Text("rootVolume.sourceUUID")],
    machine: &[
        Text("image.filter.name"),
        Text("image.id"),
        Text("image.imageRef.name"),
    ],
    node_pool: &[Text("openstack.imageName")],
    is_in_release: true,
    scope: &[
        &["/cloudName", "/identityRef/cloudName"],
        &["/cloudsSecret/name", "/identityRef/name"],
    ],
    ..ROW
};

const OVIRT: AuditRow = AuditRow {
    provider_spec: &[Text("template_name")],
    unnamed: "template_name",
    scope: &[&["/cluster_id"]],
    ..ROW
};

const POWERVS: AuditRow = AuditRow {
    provider_spec: &[Text("image.name"), Text("image.id")],
    machine: &[Text("image.name"), Text("image.id")],
    node_pool: &[Text("powervs.image.id"), Text("powervs.image.name")],
    node_pool_object: Some(["powervs.image", ""]),
    is_in_release: true,
    scope: &[
        &[
            "id /serviceInstance/id",
            "name /serviceInstance/name",
            "regex /serviceInstance/regex",
            "/serviceInstanceID",
        ],
        &["/zone"],
    ],
    ..ROW
};

const VSPHERE: AuditRow = AuditRow {
    provider_spec: &[Text("template")],
    machine: &[Text("template")],
    unnamed: "template",
    scope: &[
        &["/workspace/server", "/server"],
        &["/workspace/datacenter", "/datacenter"],
    ],
    kept_since: Some(21),
    ..ROW
};

impl AuditRow {
    /// Tells whether the end of a path, as the audit shows it, is one of these fields.
    pub fn has(&self, path: &str) -> bool {
        let mut all = self.provider_spec.iter().chain(self.machine);
        all.any(|field| field.is_end_of(path))
    }

    /// The field of a spec of this kind, and what it says, as it stands there.
    pub fn read(&self, kind: &str, spec: &Value) -> (String, Option<String>) {
        let mut fields = self.fields(kind).iter();
        match fields.find_map(|field| field.read(spec)) {
            Some((field, value)) => (field, Some(value)),
            None => (self.unnamed.to_owned(), None),
        }
    }

    /// Tells whether a field of the image is there, and is no text.
    pub fn is_unfit(&self, kind: &str, spec: &Value) -> bool {
        self.fields(kind).iter().any(|field| field.is_unfit(spec))
    }

    /// The field that names an image otherwise than is read, such as a gallery's or a lookup's.
    pub fn not_understood(spec: &Value) -> Option<String> {
        fn leaf(name: &str, value: &Value) -> Option<String> {
            match value {
                Value::Null => None,
                Value::String(text) => (!text.is_empty()).then(|| shown(name)),
                Value::Object(fields) => fields
                    .iter()
                    .find_map(|(inner, value)| leaf(&format!("{name}.{inner}"), value)),
                _ => Some(shown(name)),
            }
        }
        let is_image = |name: &str| {
            let name = name.to_ascii_lowercase();
            ["image", "ami", "template", "catalogoffering"]
                .iter()
                .any(|word| name.starts_with(word) || name.ends_with(word) && *word != "ami")
        };
        let fields = spec.as_object()?;
        let mut named = fields.iter().filter(|(name, _)| is_image(name));
        named.find_map(|(name, value)| leaf(name, value))
    }

    /// `AWSMachineProviderConfig`, `GCPMachineProviderSpec`; else a machine of the Cluster API.
    fn fields(&self, kind: &str) -> &'static [ImageField] {
        if kind.contains("Provider") {
            self.provider_spec
        } else {
            self.machine
        }
    }
}

/// The first of these fields that is there, and is no text.
pub fn unfit(fields: &[ImageField], spec: &Value) -> Option<&'static str> {
    let mut fields = fields.iter().filter(|field| field.is_unfit(spec));
    fields.find_map(|field| match field {
        Text(path) | Urn(path) => Some(*path),
        BootDisk => None,
    })
}

/// The first of these fields that is given, and what it says.
pub fn first(fields: &[ImageField], spec: &Value) -> Option<(String, String)> {
    let (field, value) = fields.iter().find_map(|field| field.read(spec))?;
    Some((field, shown(&value)))
}

/// The disks that a spec of GCP boots from, with their places.
fn boot_disks(spec: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let disks = list_at(spec, "/disks").iter().enumerate();
    disks.filter(|(_, disk)| disk.pointer("/boot") == Some(&Value::Bool(true)))
}

impl ImageField {
    fn read(&self, spec: &Value) -> Option<(String, String)> {
        let text = |at: &Value, path: &str| str_at(at, path).map(str::to_owned);
        let at = |path: &str| text(at(spec, path)?, "");
        match self {
            Text(path) => Some(((*path).to_owned(), at(path)?)),
            Urn(path) => {
                let parts = URN.map(|part| at(&format!("{path}.{part}")));
                // Half an image is not none.
                parts.iter().any(Option::is_some).then_some(())?;
                let parts = parts.map(Option::unwrap_or_default);
                Some(((*path).to_owned(), parts.join(":")))
            }
            BootDisk => {
                let mut disks = boot_disks(spec);
                let (n, disk) = disks.next()?;
                // Of two nobody can tell which one boots.
                disks.next().is_none().then_some(())?;
                Some((format!("disks[{n}].image"), text(disk, "/image")?))
            }
        }
    }

    fn is_unfit(&self, spec: &Value) -> bool {
        let is_no_text = |value: &Value| !(value.is_null() || value.is_string());
        match self {
            Text(path) => at(spec, path).is_some_and(is_no_text),
            Urn(path) => URN
                .iter()
                .any(|part| at(spec, &format!("{path}.{part}")).is_some_and(is_no_text)),
            BootDisk => {
                let disks = list_at(spec, "/disks");
                let is_list = |disks: &Value| disks.is_null() || disks.is_array();
                // Admission fills in the image of the one that boots, or all where there are none.
                let is_one = disks.is_empty() || boot_disks(spec).count() == 1;
                let mut images = disks.iter().filter_map(|disk| disk.pointer("/image"));
                !is_one || images.any(is_no_text) || !spec.get("disks").is_none_or(is_list)
            }
        }
    }

    fn is_end_of(&self, path: &str) -> bool {
        let ends = |known: &str| {
            path.strip_suffix(known)
                // What belongs to an item of a list is another field.
                .and_then(|before| before.strip_suffix('.').or(before.is_empty().then_some("")))
                .is_some_and(|before| !before.ends_with(']'))
        };
        match self {
            Text(known) | Urn(known) => ends(known),
            BootDisk => path.strip_suffix("].image").is_some_and(|before| {
                let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
                before.ends_with("disks[")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Admission finds again what the audit shows of a field.
    #[test]
    fn a_field_is_found_by_what_is_shown_of_it() {
        for fields in Platform::ALL.map(audit_row) {
            for field in fields.provider_spec.iter().chain(fields.machine) {
                let spec = match field {
                    BootDisk => {
                        json!({ "disks": [{ "image": "data" }, { "boot": true, "image": "i" }] })
                    }
                    Text(path) => path
                        .rsplit('.')
                        .fold(json!("i"), |inner, name| json!({ name: inner })),
                    Urn(path) => path.rsplit('.').fold(
                        json!({ "publisher": "p", "offer": "o", "sku": "s", "version": "v" }),
                        |inner, name| json!({ name: inner }),
                    ),
                };
                let (shown, value) = field.read(&spec).unwrap();
                assert_eq!(
                    value,
                    if matches!(field, Urn(_)) {
                        "p:o:s:v"
                    } else {
                        "i"
                    }
                );
                assert!(
                    fields.has(&format!("spec.template.spec.providerSpec.value.{shown}")),
                    "{shown}"
                );
                assert!(!fields.has("spec.release.images") && !fields.has("disks[x].image"));
            }
        }
    }
}
