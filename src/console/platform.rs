//! Where the boot image is set on each platform (pure).
//!
//! Field names: openshift/api `machine/v1beta1` (AWS, Azure, GCP, vSphere), `machine/v1` (Nutanix, PowerVS), `machine/v1alpha1` (OpenStack),
//! the bare metal and IBM Cloud providers of the machine API, HyperShift's `NodePool`.

/// The kind of image that a node needs in place of its own: an adjective with its article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Its own is too old.
    Newer,
    /// Its own is too new.
    Older,
    /// Its own is of a version that is not allowed, or is not known.
    Other,
}

impl Wanted {
    fn article(self) -> &'static str {
        match self {
            Self::Newer => "a newer",
            Self::Older => "an older",
            Self::Other => "another",
        }
    }
}

/// What to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fix {
    /// What to do, one line.
    pub(super) what: String,
    /// The field to change, or a second way; one line.
    pub(super) field: String,
}

/// Says what to change on the platform called `id` (`ignition.platform.id`), for a node of `pool`.
pub(super) fn fix(id: Option<&str>, pool: Option<&str>, wanted: Wanted) -> Fix {
    let a = wanted.article();
    // Control plane machines belong to the one ControlPlaneMachineSet; its path to providerSpec is too long for a line.
    let (set, path) = match pool {
        Some("master") => ("ControlPlaneMachineSet", "providerSpec.value"),
        _ => ("MachineSet", "spec.template.spec.providerSpec.value"),
    };
    let machine_set = |image: &str, field: &str| Fix {
        what: format!("Set {a} {image} in the {set}, then delete this Machine:"),
        field: format!("{path}.{field}"),
    };
    match id.unwrap_or_default() {
        "aws" => machine_set("AMI", "ami.id"),
        "azure" | "azurestack" => machine_set("image", "image.resourceID"),
        "gcp" => machine_set("image", "disks[].image (the boot disk)"),
        // Ignition's name for vSphere.
        "vmware" | "vsphere" => machine_set("VM template", "template"),
        "openstack" => machine_set("Glance image", "image"),
        "nutanix" => machine_set("image", "image.name (or image.uuid)"),
        "powervs" => machine_set("image", "image.name"),
        "ibmcloud" => machine_set("image", "image"),
        "kubevirt" => Fix {
            what: format!("Hosted cluster: set {a} release in the NodePool: spec.release.image."),
            field: format!("A VM made by hand: give it {a} RHCOS disk image."),
        },
        "metal" | "baremetal" => Fix {
            what: format!("Install it again from {a} RHCOS live ISO or PXE image; or, with Metal3,"),
            field: format!("set in the {set}: {path}.image.url"),
        },
        _ => Fix {
            what: format!("Install it again from {a} RHCOS image: change the image, template or"),
            field: format!("ISO that this machine was made from ({set}: providerSpec.value)."),
        },
    }
}
