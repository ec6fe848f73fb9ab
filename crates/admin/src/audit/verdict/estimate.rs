//! Images that the installer uploaded: they came with the release that the cluster was installed as
//! (pure). An estimate: somebody may have put another image in the place of one, by the same name.
//!
//! Names: openshift/installer, `pkg/rhcos`, `data/data` and `pkg/asset/machines` by platform:
//! `INFRA-rhcos` (vSphere, OpenStack, Nutanix, IBM Cloud, oVirt), with region and zone on vSphere,
//! `rhcos-INFRA` (Power VS), `INFRA-rhcos-image` (Google Cloud), `INFRA` and `INFRA-gen2` (Azure),
//! `INFRA-base` (libvirt).

use crate::audit::results::set::Estimate;
use crate::audit::results::upkeep::Keeper;
use crate::audit::set::Set;
use crate::audit::versions::published::rhel_of;
use crate::platform::Platform;
use crate::version::{ImageVersion, Release};
use skewguard_cluster::cluster::Cluster as Objects;

/// Probable source of the set's image, by the release that the cluster was installed as, and its
/// version for a rule.
pub(crate) fn estimate(set: &Set, objects: &Objects) -> Option<(Estimate, ImageVersion)> {
    let image = set.image.value.as_deref()?;
    let infra = objects
        .infrastructure_name
        .as_deref()
        .or(set.infra.as_deref())?;
    // The operator puts new templates in the place of old ones.
    let is_kept = set
        .upkeep
        .as_ref()
        .is_some_and(|upkeep| upkeep.by == Keeper::MachineConfigOperator);
    if is_kept
        || set.is_swapped
        || set.image.platform == Some(Platform::Aws)
        || !is_of_installer(image, infra)
    {
        return None;
    }
    let installed = objects.history.installed.as_deref()?;
    let minor = installed.parse::<Release>().ok()?.minor;
    let mut version = ImageVersion::parse(&minor.to_string());
    version.ocp = Some(minor);
    version.rhel = rhel_of(minor);
    let estimate = Estimate {
        ocp_version: minor.to_string(),
        source: "InstalledRelease",
        from: format!("installed with {installed}: probably {minor}"),
    };
    Some((estimate, version))
}

/// Tells whether an image has a name that the installer gives to what it uploads.
fn is_of_installer(image: &str, infra: &str) -> bool {
    let parts: Vec<&str> = image.split('/').collect();
    // `/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/images/INFRA`, also in a gallery,
    // with `/versions/V` behind it.
    let named = parts.iter().position(|part| *part == "images");
    let name = named
        .and_then(|at| parts.get(at + 1))
        .or(parts.last())
        .copied()
        .unwrap_or_default();
    if name == format!("rhcos-{infra}") {
        return true;
    }
    let Some(rest) = name.strip_prefix(infra) else {
        return false;
    };
    matches!(
        rest,
        "" | "-gen2" | "-base" | "-image" | "-rhcos" | "-rhcos-image"
    ) || rest.starts_with("-rhcos-")
}

#[cfg(test)]
mod tests {
    use super::is_of_installer;

    #[test]
    fn the_installers_names_are_known() {
        const AZURE: &str = "/resourceGroups/c1-rg/providers/Microsoft.Compute";
        for (image, is) in [
            ("c1-rhcos", true),
            ("/DC/vm/c1/c1-rhcos-us-east-us-east-1a", true),
            ("c1-rhcos-generated-region-generated-zone", true),
            ("rhcos-c1", true),
            ("projects/p/global/images/c1-rhcos-image", true),
            (&format!("{AZURE}/images/c1"), true),
            (
                &format!("{AZURE}/galleries/gallery_c1/images/c1-gen2/versions/latest"),
                true,
            ),
            (
                &format!("{AZURE}/galleries/gallery_c1/images/other/versions/c1"),
                false,
            ),
            ("c1-golden", false),
            ("c12-rhcos", false),
            ("rhcos-4.14", false),
        ] {
            assert_eq!(is_of_installer(image, "c1"), is, "{image}");
        }
    }
}
