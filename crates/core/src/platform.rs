//! The platforms that nodes run on (pure): one row for each, for the console of a node and for the
//! audit of a cluster.
//!
//! Field names: openshift/api `machine/v1beta1` (AWS, Azure, GCP, vSphere), `machine/v1` (Nutanix,
//! PowerVS), `machine/v1alpha1` (OpenStack), the bare metal, IBM Cloud, libvirt and oVirt providers
//! of the machine API.

/// A platform, by the names that others have for it.
#[derive(Debug)]
// `kinds` and `stream` are the audit's.
pub struct Platform {
    /// Ignition's name for it (`ignition.platform.id`, Ignition's "Supported platforms"), where it
    /// has one.
    pub id: &'static str,
    /// Other names of the same.
    aliases: &'static [&'static str],
    /// What machines are made from and its field in a `providerSpec.value`, where the console can
    /// name both.
    pub image: Option<ImageField>,
    /// Whether it has ControlPlaneMachineSets (OpenShift 4.21 documentation, "Getting started with
    /// control plane machine sets").
    pub control_plane_sets: bool,
    /// What kinds of provider specs and infrastructure templates begin with.
    pub kinds: &'static [&'static str],
    /// Its name in CoreOS stream metadata.
    pub stream: &'static str,
}

/// The boot image of a platform, in its own words.
#[derive(Debug, Clone, Copy)]
pub struct ImageField {
    /// Such as `AMI`.
    pub noun: &'static str,
    /// Such as `ami.id`.
    pub field: &'static str,
}

const fn platform(
    id: &'static str,
    image: Option<(&'static str, &'static str)>,
    kinds: &'static [&'static str],
    stream: &'static str,
) -> Platform {
    let image = match image {
        Some((noun, field)) => Some(ImageField { noun, field }),
        None => None,
    };
    Platform {
        id,
        aliases: &[],
        image,
        control_plane_sets: false,
        kinds,
        stream,
    }
}

const fn with_control_plane_sets(platform: Platform) -> Platform {
    Platform {
        control_plane_sets: true,
        ..platform
    }
}

pub const PLATFORMS: [Platform; 12] = [
    with_control_plane_sets(platform("aws", Some(("AMI", "ami.id")), &["AWS"], "aws")),
    Platform {
        aliases: &["azurestack"],
        ..with_control_plane_sets(platform(
            "azure",
            Some(("image", "image.resourceID")),
            &["Azure"],
            "azure",
        ))
    },
    with_control_plane_sets(platform(
        "gcp",
        Some(("boot image", "disks[].image")),
        &["GCP"],
        "gcp",
    )),
    Platform {
        aliases: &["vsphere"],
        ..with_control_plane_sets(platform(
            "vmware",
            Some(("VM template", "template")),
            &["VSphere"],
            "vmware",
        ))
    },
    with_control_plane_sets(platform(
        "openstack",
        Some(("Glance image", "image")),
        &["Openstack", "OpenStack"],
        "openstack",
    )),
    with_control_plane_sets(platform(
        "nutanix",
        Some(("image", "image.name or .uuid")),
        &["Nutanix"],
        "nutanix",
    )),
    platform(
        "powervs",
        Some(("image", "image.name")),
        &["PowerVS", "IBMPowerVS"],
        "powervs",
    ),
    platform(
        "ibmcloud",
        Some(("image", "image")),
        &["IBMCloud", "IBMVPC"],
        "ibmcloud",
    ),
    Platform {
        aliases: &["baremetal"],
        ..platform("metal", None, &["BareMetal", "Metal3"], "metal")
    },
    platform("kubevirt", None, &[], "kubevirt"),
    platform("libvirt", None, &["Libvirt"], "qemu"),
    platform("ovirt", None, &["Ovirt"], "openstack"),
];

/// The platform of this name.
pub fn platform_of(name: &str) -> Option<&'static Platform> {
    PLATFORMS
        .iter()
        .find(|platform| platform.id == name || platform.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_belongs_to_two_platforms() {
        let mut names: Vec<_> = PLATFORMS
            .iter()
            .flat_map(|platform| platform.aliases.iter().chain([&platform.id]))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(platform_of("vsphere").unwrap().id, "vmware");
        assert!(platform_of("").is_none());
    }
}
