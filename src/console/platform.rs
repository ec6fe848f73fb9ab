//! What to change on each platform so that machines get another boot image (pure).
//!
//! Field names: openshift/api `machine/v1beta1` (AWS, Azure, GCP, vSphere), `machine/v1` (Nutanix, PowerVS), `machine/v1alpha1`
//! (OpenStack), the bare metal and IBM Cloud providers of the machine API, HyperShift's `NodePool`.

/// Which image a node needs instead of its own.
pub(super) const NEWER: &str = "a newer";
pub(super) const OLDER: &str = "an older";
/// One of another version, because its own is denied or unknown.
pub(super) const OTHER: &str = "another";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fix {
    /// What to do: one line.
    pub(super) what: String,
    /// The field to change, or another way: one line.
    pub(super) field: String,
    /// The images of the cluster's own release are in its ConfigMap `coreos-bootimages`. A hosted cluster has none.
    pub(super) from_cluster: bool,
}

/// What to change on the platform `id` (`ignition.platform.id`) for nodes of `pool`. `a` is the image that they need:
/// [`NEWER`], [`OLDER`] or [`OTHER`]. Every line fits without being cut.
pub(super) fn fix(id: Option<&str>, pool: Option<&str>, a: &str) -> Fix {
    let control_plane = pool == Some("master");
    let id = id.unwrap_or_default();
    match id {
        "aws" => machine_api(id, a, "AMI", "ami.id", control_plane),
        "azure" | "azurestack" => machine_api(id, a, "image", "image.resourceID", control_plane),
        "gcp" => machine_api(id, a, "boot image", "disks[].image", control_plane),
        // Ignition calls vSphere vmware.
        "vmware" | "vsphere" => machine_api(id, a, "VM template", "template", control_plane),
        "openstack" => machine_api(id, a, "Glance image", "image", control_plane),
        "nutanix" => machine_api(id, a, "image", "image.name or .uuid", control_plane),
        "powervs" => machine_api(id, a, "image", "image.name", control_plane),
        "ibmcloud" => machine_api(id, a, "image", "image", control_plane),
        "kubevirt" => Fix {
            what: format!("Hosted cluster: {a} release in its NodePool: spec.release.image"),
            field: format!("VM made by hand: {a} RHCOS disk image"),
            from_cluster: false,
        },
        "metal" | "baremetal" => Fix {
            what: format!("Install it again from {a} RHCOS live ISO or PXE image."),
            field: format!("With Metal3: {}.image.url", path(id, control_plane)),
            from_cluster: true,
        },
        _ => Fix {
            what: format!("Install it again from {a} RHCOS image: change the template, disk"),
            field: "image, ISO or MachineSet (providerSpec.value) that it was made from.".to_owned(),
            from_cluster: true,
        },
    }
}

/// What to change where the installation put another OS in place of the boot image.
pub(super) fn installed_over(a: &str) -> Fix {
    Fix {
        what: "The installation put this OS in place of the boot image: install it".to_owned(),
        field: format!("with {a} OS image, or with the one of the cluster's release."),
        from_cluster: false,
    }
}

/// How to let in a node of this architecture (`std::env::consts::ARCH`) from its console, without ssh. IBM Z has no boot loader menu:
/// arguments are given with the IPL, as `PARM` in z/VM, or as `SCPDATA` for a SCSI disk.
pub(super) fn without_ssh(arch: &str) -> &'static str {
    match arch {
        "s390x" => "or, without ssh, IPL with PARM skewguard=off (SCSI: SCPDATA)",
        _ => "or, without ssh, boot with the kernel argument skewguard=off",
    }
}

/// The fix where the machine API makes the machines, and makes a new one when one is deleted.
fn machine_api(id: &str, a: &str, image: &str, field: &str, control_plane: bool) -> Fix {
    let again = if control_plane && !has_control_plane_set(id) { "replace" } else { "delete" };
    Fix {
        what: format!("Set {a} {image} and {again} this Machine. The field to change:"),
        field: format!("{}.{field}", path(id, control_plane)),
        from_cluster: true,
    }
}

/// The object that machines are made from, and the path of its providerSpec.
fn path(id: &str, control_plane: bool) -> &'static str {
    match (control_plane, has_control_plane_set(id)) {
        (false, _) => "MachineSet spec.template.spec.providerSpec.value",
        // The full path is too long: spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value.
        (true, true) => "ControlPlaneMachineSet providerSpec.value",
        (true, false) => "Machine spec.providerSpec.value",
    }
}

/// Whether the platform has ControlPlaneMachineSets (OpenShift 4.21 documentation, "Getting started with control plane machine sets").
fn has_control_plane_set(id: &str) -> bool {
    matches!(id, "aws" | "azure" | "gcp" | "vmware" | "vsphere" | "openstack" | "nutanix")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_cut_on_any_platform() {
        let ids = ["aws", "azure", "gcp", "vmware", "openstack", "nutanix", "powervs", "ibmcloud", "kubevirt", "metal", "qemu"];
        let mut lines = Vec::new();
        for id in ids {
            for pool in ["worker", "master"] {
                for a in [NEWER, OLDER, OTHER] {
                    lines.extend([fix(Some(id), Some(pool), a), installed_over(a)].map(|fix| [fix.what, fix.field]));
                }
            }
        }
        lines.push(["s390x", "x86_64"].map(|arch| without_ssh(arch).to_owned()));
        for line in lines.as_flattened() {
            assert!(line.len() <= super::super::page::TEXT, "{} columns: {line}", line.len());
        }
    }
}
