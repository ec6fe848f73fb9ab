//! The platforms that nodes run on (pure): one row for each, for the console of a node and for the
//! audit of a cluster.
//!
//! Field names: openshift/api `machine/v1beta1` (AWS, Azure, GCP, vSphere), `machine/v1` (Nutanix,
//! PowerVS), `machine/v1alpha1` (OpenStack), the bare metal, IBM Cloud, libvirt and oVirt providers
//! of the machine API.

/// A platform, in the order of [`Platform::id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Platform {
    Aws,
    Azure,
    Gcp,
    IbmCloud,
    KubeVirt,
    Libvirt,
    Metal,
    Nutanix,
    OpenStack,
    Ovirt,
    PowerVs,
    VSphere,
}

/// The names that others have for a platform.
#[derive(Debug)]
pub struct PlatformRow {
    /// Ignition's name for it (`ignition.platform.id`, Ignition's "Supported platforms"), where it
    /// has one.
    id: &'static str,
    /// Other names of the same.
    aliases: &'static [&'static str],
    /// Image that machines are made from and its field in a `providerSpec.value`, where the console
    /// can name both.
    pub image: Option<ImageField>,
    /// True if it has ControlPlaneMachineSets (OpenShift 4.21 documentation, "Getting started with
    /// control plane machine sets").
    pub control_plane_sets: bool,
    /// Beginnings of the kinds of provider specs and infrastructure templates; used by the audit only.
    pub kinds: &'static [&'static str],
    /// Its name in CoreOS stream metadata; used by the audit only.
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

const fn row(id: &'static str, kinds: &'static [&'static str]) -> PlatformRow {
    PlatformRow {
        id,
        aliases: &[],
        image: None,
        control_plane_sets: false,
        kinds,
        stream: id,
    }
}

impl PlatformRow {
    const fn image(mut self, noun: &'static str, field: &'static str) -> Self {
        self.image = Some(ImageField { noun, field });
        self
    }

    const fn control_plane_sets(mut self) -> Self {
        self.control_plane_sets = true;
        self
    }

    const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn stream(mut self, stream: &'static str) -> Self {
        self.stream = stream;
        self
    }
}

// All lacks none.
const _: () = assert!(Platform::VSphere as usize + 1 == Platform::ALL.len());

impl Platform {
    pub const ALL: [Self; 12] = [
        Self::Aws,
        Self::Azure,
        Self::Gcp,
        Self::IbmCloud,
        Self::KubeVirt,
        Self::Libvirt,
        Self::Metal,
        Self::Nutanix,
        Self::OpenStack,
        Self::Ovirt,
        Self::PowerVs,
        Self::VSphere,
    ];

    pub const fn row(self) -> &'static PlatformRow {
        match self {
            Self::Aws => {
                const {
                    &row("aws", &["AWS"])
                        .image("AMI", "ami.id")
                        .control_plane_sets()
                }
            }
            Self::Azure => {
                const {
                    &row("azure", &["Azure"])
                        .image("image", "image")
                        .control_plane_sets()
                        .alias(&["azurestack"])
                }
            }
            Self::Gcp => {
                const {
                    &row("gcp", &["GCP"])
                        .image("boot image", "disks[].image")
                        .control_plane_sets()
                }
            }
            Self::IbmCloud => {
                const { &row("ibmcloud", &["IBMCloud", "IBMVPC"]).image("image", "image") }
            }
            Self::KubeVirt => const { &row("kubevirt", &[]) },
            Self::Libvirt => const { &row("libvirt", &["Libvirt"]).stream("qemu") },
            Self::Metal => const { &row("metal", &["BareMetal", "Metal3"]).alias(&["baremetal"]) },
            Self::Nutanix => {
                const {
                    &row("nutanix", &["Nutanix"])
                        .image("image", "image.name or .uuid")
                        .control_plane_sets()
                }
            }
            Self::OpenStack => {
                const {
                    &row("openstack", &["Openstack", "OpenStack"])
                        .image("Glance image", "image")
                        .control_plane_sets()
                }
            }
            Self::Ovirt => const { &row("ovirt", &["Ovirt"]).stream("openstack") },
            Self::PowerVs => {
                const { &row("powervs", &["PowerVS", "IBMPowerVS"]).image("image", "image.name") }
            }
            Self::VSphere => {
                const {
                    &row("vmware", &["VSphere"])
                        .image("VM template", "template")
                        .control_plane_sets()
                        .alias(&["vsphere"])
                }
            }
        }
    }

    pub const fn id(self) -> &'static str {
        self.row().id
    }

    /// The platform of this name.
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |platform: &Self| {
            let row = platform.row();
            let mut names = std::iter::once(&row.id).chain(row.aliases);
            names.any(|known| known.eq_ignore_ascii_case(name))
        };
        Self::ALL.into_iter().find(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_belongs_to_two_platforms() {
        let rows = Platform::ALL.map(Platform::row);
        let mut names: Vec<_> = rows
            .iter()
            .flat_map(|row| row.aliases.iter().chain([&row.id]))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(Platform::named("vsphere"), Some(Platform::VSphere));
        assert!(Platform::named("").is_none());
    }
}
