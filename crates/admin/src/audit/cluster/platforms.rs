//! The image field of each platform (pure): what the audit reads, and what `render admission` looks
//! for on the API server.
//!
//! Field names: openshift/api `machine/v1beta1` (AWS, Azure, GCP, vSphere), `machine/v1` (Nutanix,
//! PowerVS), `machine/v1alpha1` (OpenStack); the bare metal, IBM Cloud, libvirt and oVirt providers
//! of the Machine API; the machine specs of the Cluster API's providers.

use super::fields::{list_at, text_at};
use crate::platform::{PLATFORMS, Platform};
use serde_json::Value;

/// A field that names an image, by its path within the spec, with dots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageField {
    Text(&'static str),
    /// The parts of a marketplace's URN are below it.
    Urn(&'static str),
    /// The image of the disk to boot from: other disks have images of their own.
    BootDisk,
}

use ImageField::{BootDisk, Text, Urn};

/// The parts of a URN, in its order.
pub(crate) const URN: [&str; 4] = ["publisher", "offer", "sku", "version"];

/// The fields of a platform; the first that is given counts.
#[derive(Debug)]
pub(crate) struct ImageFields {
    /// As [`Platform::id`].
    pub(crate) platform: &'static str,
    /// Those of a `providerSpec.value` of the Machine API.
    pub(crate) provider_spec: &'static [ImageField],
    /// Those of an infrastructure machine of the Cluster API, and of its template.
    pub(crate) machine: &'static [ImageField],
    /// What is named where none is given.
    unnamed: &'static str,
}

pub(crate) const IMAGE_FIELDS: [ImageFields; 11] = [
    ImageFields {
        platform: "aws",
        provider_spec: &[Text("ami.id")],
        machine: &[Text("ami.id")],
        unnamed: "ami.id",
    },
    ImageFields {
        platform: "azure",
        provider_spec: &[Text("image.resourceID"), Urn("image")],
        machine: &[Text("image.id"), Urn("image.marketplace")],
        unnamed: "image",
    },
    ImageFields {
        platform: "gcp",
        provider_spec: &[BootDisk],
        machine: &[Text("image")],
        unnamed: "disks[].image",
    },
    ImageFields {
        platform: "vmware",
        provider_spec: &[Text("template")],
        machine: &[Text("template")],
        unnamed: "template",
    },
    ImageFields {
        platform: "openstack",
        // The second counts where the first is empty (`RootVolume`).
        provider_spec: &[Text("image"), Text("rootVolume.sourceUUID")],
        machine: &[
            Text("image.filter.name"),
            Text("image.id"),
            Text("image.imageRef.name"),
        ],
        unnamed: "image",
    },
    ImageFields {
        platform: "nutanix",
        provider_spec: &[Text("image.name"), Text("image.uuid")],
        machine: &[Text("image.name"), Text("image.uuid")],
        unnamed: "image",
    },
    ImageFields {
        platform: "powervs",
        provider_spec: &[Text("image.name"), Text("image.id")],
        machine: &[Text("image.name"), Text("image.id")],
        unnamed: "image",
    },
    ImageFields {
        platform: "ibmcloud",
        provider_spec: &[Text("image")],
        machine: &[Text("image.name"), Text("image.id")],
        unnamed: "image",
    },
    ImageFields {
        platform: "metal",
        provider_spec: &[Text("image.url")],
        machine: &[Text("image.url")],
        unnamed: "image",
    },
    ImageFields {
        platform: "libvirt",
        provider_spec: &[Text("volume.baseVolumeID")],
        machine: &[],
        unnamed: "volume.baseVolumeID",
    },
    ImageFields {
        platform: "ovirt",
        provider_spec: &[Text("template_name")],
        machine: &[],
        unnamed: "template_name",
    },
];

impl ImageFields {
    pub(crate) fn of(platform: &str) -> Option<&'static Self> {
        IMAGE_FIELDS.iter().find(|of| of.platform == platform)
    }

    /// What kinds of specs begin with on this platform.
    pub(crate) fn kinds(&self) -> &'static [&'static str] {
        let of = |platform: &&Platform| platform.id == self.platform;
        PLATFORMS.iter().find(of).map_or(&[], |found| found.kinds)
    }

    /// Whether the end of a path, as the audit shows it, is one of these fields.
    pub(crate) fn has(&self, path: &str) -> bool {
        let mut all = self.provider_spec.iter().chain(self.machine);
        all.any(|field| field.is_end_of(path))
    }

    /// The field of a spec of this kind, and what it says.
    pub(crate) fn read(&self, kind: &str, spec: &Value) -> (String, Option<String>) {
        // `AWSMachineProviderConfig`, `GCPMachineProviderSpec`.
        let fields = if kind.contains("Provider") {
            self.provider_spec
        } else {
            self.machine
        };
        let found = fields.iter().find_map(|field| field.read(spec));
        match found {
            Some((field, value)) => (field, Some(value)),
            None => (self.unnamed.to_owned(), None),
        }
    }
}

impl ImageField {
    fn read(&self, spec: &Value) -> Option<(String, String)> {
        let at = |path: &str| text_at(spec, &format!("/{}", path.replace('.', "/")));
        match self {
            Text(path) => Some(((*path).to_owned(), at(path)?)),
            Urn(path) => {
                let parts = URN.map(|part| at(&format!("{path}.{part}")));
                let parts: Vec<String> = parts.into_iter().collect::<Option<_>>()?;
                Some(((*path).to_owned(), parts.join(":")))
            }
            BootDisk => {
                let boots = |disk: &Value| disk.pointer("/boot") == Some(&Value::Bool(true));
                let disks = list_at(spec, "/disks");
                let n = disks.iter().position(boots)?;
                Some((
                    format!("disks[{n}].image"),
                    text_at(disks.get(n)?, "/image")?,
                ))
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

    #[test]
    fn every_platform_with_kinds_has_its_fields() {
        let with_kinds = PLATFORMS
            .iter()
            .filter(|platform| !platform.kinds.is_empty());
        for platform in with_kinds {
            let fields = ImageFields::of(platform.id).unwrap_or_else(|| panic!("{}", platform.id));
            assert_eq!(fields.kinds(), platform.kinds);
        }
    }

    /// What the audit shows of a field, admission finds again.
    #[test]
    fn a_field_is_found_by_what_is_shown_of_it() {
        for fields in &IMAGE_FIELDS {
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
