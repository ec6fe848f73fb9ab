//! The change on each platform so that machines get another boot image (pure). The fields of a
//! `NodePool` are HyperShift's.

use crate::platform::{ImageField, Platform};
use crate::verdict::{Product, Target, Wanted};
use crate::version::{OcpMinor, Release};

/// The first release with a ConfigMap of images.
const WITH_IMAGES: OcpMinor = OcpMinor { major: 4, minor: 8 };

/// The first release whose ControlPlaneMachineSets ignore images of the public clouds.
const IGNORED: OcpMinor = OcpMinor {
    major: 4,
    minor: 21,
};

/// Which image a node needs instead of its own, before a noun.
fn article(wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Newer => "a newer",
        Wanted::Older => "an older",
        Wanted::Another | Wanted::Other(_) => "another",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fix {
    /// The remedy: one line.
    pub(super) what: String,
    /// The field to change, or another way: at most two lines.
    pub(super) field: String,
    /// The images of the cluster's own release are known: [`images`]. A hosted cluster has none.
    pub(super) from_cluster: bool,
}

/// The change on the platform `id` (`ignition.platform.id`) for nodes with this target, which
/// need this image. Every line fits without being cut.
pub(super) fn fix(id: Option<&str>, target: &Target, wanted: Wanted, product: Product) -> Fix {
    let (a, os) = (article(wanted), product.image());
    let platform = id.and_then(Platform::named);
    let image = platform.and_then(|platform| platform.row().image);
    let release = target.release.as_deref();
    let release = release.and_then(|release| release.parse::<Release>().ok());
    // A hosted cluster's config names no release, and no pool or `master`; nor does that of a
    // control plane that is being installed.
    if target.release.is_none() && platform != Some(Platform::KubeVirt) {
        match target.pool.as_deref() {
            None => return perhaps_hosted(platform, a, os),
            Some("master") => {
                return hosted_or_installed(platform, a);
            }
            Some(_) => {}
        }
    }
    let made_from = platform.map(|platform| MadeFrom::of(target.pool.as_deref(), platform));
    let (what, field) = match (platform.zip(made_from), image) {
        (Some((Platform::KubeVirt, _)), _) => (
            format!("Hosted cluster: {a} containerDiskImage or release in its NodePool."),
            format!("VM made by hand: {a} {os} disk image."),
        ),
        (Some((Platform::Metal, made_from)), _) => (
            format!("Install it anew from {a} {os} live ISO or PXE image. Metal3: set"),
            match made_from {
                MadeFrom::MachineSet => {
                    "image.url and .checksum of its MachineSet, then delete this Machine."
                }
                _ => "image.url and .checksum of a new Machine in place of this one.",
            }
            .to_owned(),
        ),
        (Some((platform, made_from)), Some(image)) => {
            machine_api(platform, made_from, image, a, release)
        }
        _ => (
            format!("Install it again from {a} {os} image: change the template, disk"),
            "image, ISO or MachineSet (providerSpec.value) that it was made from.".to_owned(),
        ),
    };
    Fix {
        what,
        field,
        from_cluster: release.is_some_and(|release| release.minor >= WITH_IMAGES),
    }
}

/// The change where the cluster may be a hosted one, whose workers are of the pool `master`, or may
/// not be installed yet.
///
/// A hosted cluster's bare metal boots the discovery image of its InfraEnv, whose versions are those of
/// the AgentServiceConfig (openshift/assisted-service#5365): no NodePool changes it.
fn hosted_or_installed(platform: Option<Platform>, a: &str) -> Fix {
    let image = platform.and_then(|platform| platform.row().image);
    let noun = image.map_or("CoreOS image", |image| image.noun);
    let installed = format!("the installer's own image. Else install it anew: {a} {noun}.");
    let (what, field) = match platform {
        Some(Platform::Metal) => (
            "Hosted cluster: set its InfraEnv's osImageVersion (one of its",
            format!("AgentServiceConfig), boot the new ISO. At installation: {installed}"),
        ),
        _ => (
            "Hosted cluster: image or release of its NodePool. At installation:",
            installed,
        ),
    };
    Fix {
        what: what.to_owned(),
        field,
        from_cluster: false,
    }
}

/// The list of images, most often of the cluster's own release. OKD's nodes up to 4.15 are made from
/// Fedora CoreOS, which its installer knows by name.
pub(super) fn images(product: Product, wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Older => "openshift-install coreos print-stream-json of an older release",
        _ if product.is_okd => "openshift-install coreos print-stream-json, by OKD's installer",
        _ => "oc get cm coreos-bootimages -n openshift-machine-config-operator -oyaml",
    }
}

/// The change where the node may be of a hosted cluster: that has `NodePool`s instead of
/// MachineSets, and no ConfigMap with images.
fn perhaps_hosted(platform: Option<Platform>, a: &str, os: &str) -> Fix {
    let image = platform.and_then(|platform| platform.row().image);
    let (what, field) = match (platform, image) {
        (_, Some(ImageField { field, .. })) => (
            format!("MachineSet: set providerSpec.value.{field} (hosted cluster:"),
            "NodePool image or release), delete this Machine. Else install it anew.",
        ),
        (Some(Platform::Metal), _) => (
            format!("Install it again from {a} {os} live ISO or PXE image (Metal3:"),
            "MachineSet image.url, .checksum; hosted cluster: osImageVersion of its InfraEnv).",
        ),
        _ => (
            format!("Install it again from {a} {os} image: change the template, disk"),
            "image, ISO, MachineSet, or NodePool image or release it was made from.",
        ),
    };
    Fix {
        what,
        field: field.to_owned(),
        from_cluster: false,
    }
}

/// The change where the installation put another OS in place of the boot image.
pub(super) fn installed_over(wanted: Wanted) -> Fix {
    let a = article(wanted);
    Fix {
        what: "The installation put this OS in place of the boot image: install it".to_owned(),
        field: format!("with {a} OS image, or with the one of the cluster's release."),
        from_cluster: false,
    }
}

/// The change where the machine's CPU is too old.
pub(super) fn other_cpu() -> Fix {
    Fix {
        what: "No boot image helps: take other hardware, another instance type or CPU".to_owned(),
        field: "model of the VM. A hypervisor can hide features that the CPU has.".to_owned(),
        from_cluster: false,
    }
}

/// The remedy where the booted deployment is newer than the boot loader on the EFI system
/// partition.
pub(super) fn update_shim(product: Product) -> Fix {
    Fix {
        what: "On this node: sudo bootupctl update, then boot again. The next one:".to_owned(),
        field: format!(
            "install it from a newer {} live ISO or PXE image.",
            product.image()
        ),
        from_cluster: false,
    }
}

/// Words for letting in a node of this architecture (`std::env::consts::ARCH`) from its console, without
/// ssh. IBM Z has no boot loader menu: arguments are given with the IPL, as `PARM` in z/VM, or as
/// `SCPDATA` for a SCSI disk. A KVM guest, and an LPAR with a DASD, take none.
pub(super) fn without_ssh(arch: &str) -> &'static str {
    match arch {
        "s390x" => "or IPL with PARM skewguard=off (SCSI: SCPDATA; KVM, LPAR DASD: none)",
        _ => "or, without ssh, boot with the kernel argument skewguard=off",
    }
}

/// The object that a machine is made from, if the machine API made it. A node cannot know whether
/// it did: on the same platforms people install nodes by hand, too.
#[derive(Debug, Clone, Copy)]
enum MadeFrom {
    MachineSet,
    ControlPlaneMachineSet,
    Machine,
}

impl MadeFrom {
    fn of(pool: Option<&str>, platform: Platform) -> Self {
        match pool {
            Some("master") if platform.row().control_plane_sets => Self::ControlPlaneMachineSet,
            // No set makes an arbiter.
            Some("master" | "arbiter") => Self::Machine,
            _ => Self::MachineSet,
        }
    }
}

/// The fix on a platform where the machine API may have made the machine. A ControlPlaneMachineSet
/// rolls the control plane for an image; from 4.21 on these three platforms' images are ignored
/// (cluster-control-plane-machine-set-operator, d1dcafff). On vSphere the failure domain has the
/// template (installer, `pkg/asset/machines/vsphere`).
fn machine_api(
    platform: Platform,
    made_from: MadeFrom,
    image: ImageField,
    a: &str,
    release: Option<Release>,
) -> (String, String) {
    let ImageField { noun, field } = image;
    let is_ignored = matches!(platform, Platform::Aws | Platform::Azure | Platform::Gcp)
        && release.is_some_and(|release| release.minor >= IGNORED);
    let anew = format!("delete this Machine. Else install it anew from {a} {noun}.");
    match made_from {
        MadeFrom::MachineSet => (
            format!("Made by a MachineSet: set providerSpec.value.{field}, then"),
            anew,
        ),
        MadeFrom::ControlPlaneMachineSet if is_ignored => (
            format!("Made by a ControlPlaneMachineSet: set its {field}, then"),
            anew,
        ),
        MadeFrom::ControlPlaneMachineSet => {
            let field = match platform {
                Platform::VSphere => "failure domain's template",
                _ => field,
            };
            (
                "Of a ControlPlaneMachineSet: set OnDelete (else it replaces all), then".to_owned(),
                format!("its {field}, {anew}"),
            )
        }
        MadeFrom::Machine => (
            format!("Has a Machine: replace it, with providerSpec.value.{field}."),
            format!("Else install it anew from {a} {noun}."),
        ),
    }
}

/// The same in a few words.
pub(super) fn or_boot(arch: &str) -> &'static str {
    match arch {
        "s390x" => "z/VM, SCSI: or IPL with skewguard=off",
        _ => "or boot with skewguard=off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{BootImage, Facts, ImageSource, PolicyInput, TargetInput, decide};
    use crate::version::ImageVersion;

    fn product(image: &str, release: &str) -> Product {
        let facts = Facts {
            boot_image: Some(BootImage {
                version: ImageVersion::parse(image),
                source: ImageSource::Aleph,
                path: String::new(),
            }),
            replaced_by: None,
            target: TargetInput::Read(Target {
                release: Some(release.to_owned()),
                ..Target::default()
            }),
            deployment: crate::verdict::Deployment::default(),
            policy: PolicyInput::Absent,
            r#override: None,
            platform: None,
            machine: crate::verdict::Machine::default(),
            warnings: Vec::new(),
        };
        decide(&facts).product()
    }

    #[test]
    fn no_line_is_cut_on_any_platform() {
        let ids = Platform::ALL.into_iter().map(Platform::id).chain(["qemu"]);
        let products = [
            ("411.86.202308081056-0", "4.21.3"),
            ("9.0.20250827-0", "4.20.0-okd-scos.3"),
            ("39.20231101.3.0", "4.15.0-0.okd-2024-03-10-010116"),
            ("39.20231101.3.0", "4.17.0-okd-scos.0"),
        ]
        .map(|(image, release)| product(image, release));
        assert_eq!(
            products.map(Product::image),
            ["RHCOS", "SCOS", "FCOS", "CoreOS"]
        );
        let mut lines = Vec::new();
        for id in ids {
            for pool in [Some("worker"), Some("master"), Some("arbiter"), None] {
                let target = Target {
                    pool: pool.map(str::to_owned),
                    ..Target::default()
                };
                for a in [Wanted::Newer, Wanted::Older, Wanted::Another] {
                    for product in products {
                        lines.extend(
                            [
                                fix(Some(id), &target, a, product),
                                installed_over(a),
                                other_cpu(),
                                update_shim(product),
                            ]
                            .map(|fix| [fix.what, fix.field]),
                        );
                        lines.push([images(product, a).to_owned(), String::new()]);
                    }
                }
            }
        }
        lines.push(["s390x", "x86_64"].map(|arch| without_ssh(arch).to_owned()));
        lines.push(["s390x", "x86_64"].map(|arch| or_boot(arch).to_owned()));
        for [what, field] in lines {
            for (text, most) in [(what, 1), (field, 2)] {
                let lines = crate::text::wrap(&text, super::super::page::TEXT);
                assert!(lines.len() <= most, "{text}");
            }
        }
    }
}
