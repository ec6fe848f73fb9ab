//! Obstacles that keep the Machine Config Operator from a set, by platform and release (pure).

use crate::audit::results::set::SetKind;
use crate::audit::results::upkeep::{Keeper, Rule, Upkeep};
use crate::audit::upkeep::amis;
use crate::audit::upkeep::candidate::{Candidate, KEPT, can_be_managed, since};
use crate::audit::versions::image_versions::Lookup;
use crate::audit::versions::known_version::KnownVersion;
use crate::platform::Platform;
use crate::version::{OcpMinor, Release};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::groups::MACHINE_API;
use skewguard_cluster::kinds::image::Image;
use skewguard_cluster::kinds::provisioning::Provisioning;
use skewguard_cluster::kinds::target::parsed;

/// The project that has the images of RHCOS, as the operator compares it: with the beginning of the
/// field.
const RHCOS_CLOUD: &str = "projects/rhcos-cloud/global/images";

/// Keeper of what the operator never looks at, because it is of another kind.
pub(crate) fn elsewhere(candidate: Candidate<'_>, objects: &Objects) -> Option<Upkeep> {
    let Candidate {
        kind, image, set, ..
    } = candidate;
    if image.platform == Some(Platform::Metal) {
        return Some(bare_metal(image.is_of_release, objects));
    }
    if kind.group() != MACHINE_API || set.is_mirror() {
        return Some(Upkeep::nobody(
            Rule::ClusterAPI,
            "the Machine Config Operator looks at sets of the Machine API alone",
        ));
    }
    let platform = image.platform?;
    if platform == Platform::Azure && objects.is_azure_stack {
        return Some(Upkeep::nobody(
            Rule::AzureStackHub,
            "OpenShift does not do that on Azure Stack Hub",
        ));
    }
    if (kind, platform) == (SetKind::ControlPlaneMachineSet, Platform::VSphere) {
        return Some(Upkeep::nobody(
            Rule::ControlPlaneOnVSphere,
            "OpenShift does not do that for a control plane on vSphere",
        ));
    }
    since(kind, Some(platform)).is_none().then(|| {
        Upkeep::nobody(
            Rule::Platform,
            format!(
                "OpenShift does not do that on the platform {}",
                platform.id()
            ),
        )
    })
}

/// Hosts that are installed with `install_coreos` get the image of the release
/// (cluster-baremetal-operator, machine-os-images), if the Provisioning names no other.
pub(crate) fn bare_metal(is_of_release: bool, objects: &Objects) -> Upkeep {
    let own = objects
        .provisioning
        .as_ref()
        .map(Provisioning::has_own_images);
    match (is_of_release, own) {
        (true, Some(false)) => Upkeep::new(
            Keeper::Release,
            Rule::InstallCoreOS,
            "install_coreos takes the image that comes with the cluster's release",
        ),
        (true, Some(true)) => Upkeep::nobody(
            Rule::BareMetalImage,
            "the Provisioning object names images of its own",
        ),
        (true, None) => Upkeep::new(
            Keeper::Unknown,
            Rule::InstallCoreOS,
            "the Provisioning object was not read",
        ),
        (false, _) => Upkeep::nobody(
            Rule::BareMetalImage,
            "the host is installed from the image that is named here",
        ),
    }
}

/// Obstacle to the operator's keeping the image of this set; `None` where there is none.
/// Where it is not known whether something does, the keeper is [`Keeper::Unknown`].
pub(crate) fn obstacle(
    candidate: Candidate<'_>,
    lookup: &Lookup<'_>,
    is_selected: bool,
) -> Option<Upkeep> {
    let objects = lookup.objects;
    let Candidate {
        kind, set, image, ..
    } = candidate;
    let release = objects.release.as_deref();
    // What is selected is possible: in earlier releases as a technology preview.
    if !is_selected && release.is_some() && !can_be_managed(kind, image.platform, release) {
        return Some(Upkeep::nobody(
            Rule::ReleaseTooOld,
            "the cluster's release cannot do that on this platform",
        ));
    }
    if set.is_owned() {
        return Some(Upkeep::nobody(Rule::Owned, "it belongs to another object"));
    }
    if let Some(stream) = set.stream.as_deref().filter(|stream| *stream != KEPT) {
        return Some(Upkeep::nobody(
            Rule::Stream,
            format!("its stream is {stream}"),
        ));
    }
    architecture(candidate, objects).or_else(|| match image.platform {
        Some(Platform::Aws) => aws(candidate, lookup),
        Some(Platform::Gcp) => gcp(candidate),
        Some(Platform::Azure) => azure(candidate, objects),
        Some(Platform::VSphere) => vsphere(candidate, objects),
        None
        | Some(
            Platform::IbmCloud
            | Platform::KubeVirt
            | Platform::Libvirt
            | Platform::Metal
            | Platform::Nutanix
            | Platform::OpenStack
            | Platform::Ovirt
            | Platform::PowerVs,
        ) => Some(Upkeep::new(
            Keeper::Unknown,
            Rule::Platform,
            "its platform is not known",
        )),
    })
}

/// The annotation of the cluster's autoscaler that says a set's labels.
const ANNOTATION: &str = "capacity.cluster-autoscaler.kubernetes.io/labels";

/// The release that mended MCO-1834, where the cluster's own fails: several labels were one architecture
/// (machine-config-operator #5227, #5366, #5368).
fn several_labels_mended(objects: &Objects) -> Option<Release> {
    let own = parsed(objects.release.as_deref())?;
    let mended = [(17, 43), (18, 27), (19, 9)].map(|(minor, patch)| Release {
        minor: OcpMinor { major: 4, minor },
        patch,
    });
    let of_own = mended.into_iter().find(|mended| mended.minor == own.minor);
    of_own.filter(|mended| own < *mended)
}

/// `getArchFromMachineSet`: from 4.20 on a payload of several architectures needs the annotation.
/// An annotation without an architecture degrades the operator in all releases.
fn architecture(candidate: Candidate<'_>, objects: &Objects) -> Option<Upkeep> {
    let set = candidate.set;
    if candidate.kind != SetKind::MachineSet {
        return None;
    }
    let labels = set.capacity_labels.as_ref();
    if set.architecture().is_some() {
        let mended = several_labels_mended(objects)?;
        let has_several = labels.is_some_and(|labels| labels.contains(','));
        return has_several.then(|| {
            Upkeep::nobody(
                Rule::CapacityLabels,
                format!("the operator fails on this set before {mended}: its annotation {ANNOTATION} has several labels (MCO-1834)"),
            )
        });
    }
    if labels.is_some() {
        return Some(Upkeep::nobody(
            Rule::Architecture,
            format!("its annotation {ANNOTATION} has no kubernetes.io/arch"),
        ));
    }
    let is_needed = objects.is_multi_arch && is_since(objects, 4, 20);
    is_needed.then(|| {
        Upkeep::nobody(
            Rule::Architecture,
            format!(
                "the cluster's release has several architectures, and the set no annotation {ANNOTATION} with kubernetes.io/arch"
            ),
        )
    })
}

/// Tells whether the cluster's release is this one or a later one; so where it is unknown.
fn is_since(objects: &Objects, major: u16, minor: u16) -> bool {
    let release = parsed(objects.release.as_deref());
    release.is_none_or(|release| release.minor >= OcpMinor { major, minor })
}

fn aws(candidate: Candidate<'_>, lookup: &Lookup<'_>) -> Option<Upkeep> {
    let (image, objects) = (candidate.image, lookup.objects);
    let Some(ami) = image.value.as_deref() else {
        let chooser = image.site.chooser.unwrap_or("nothing");
        return Some(Upkeep::nobody(
            Rule::AMIWithoutID,
            format!("{chooser} chooses its AMI, not ami.id"),
        ));
    };
    let own = || objects.own_images.iter();
    let is_of_platform = own().any(|own| own.platform == Platform::Aws);
    if is_of_platform && !own().any(|own| own.fits(image)) {
        return Some(Upkeep::nobody(
            Rule::AMIRegion,
            "the cluster's images have no AMI for its region and architecture",
        ));
    }
    let is_new = is_since(objects, 5, 0);
    let known = lookup.image_version(image, &mut Vec::new());
    let is_published = known.as_ref().is_some_and(KnownVersion::is_published);
    let is_kept = if is_new {
        amis::is_listed(ami, false) || is_published
    } else {
        amis::is_listed(ami, is_published)
    };
    if is_kept || own().any(|own| own.is_named_by(ami)) {
        return None;
    }
    Some(if is_new {
        Upkeep::new(
            Keeper::Unknown,
            Rule::AMIOwner,
            "the operator updates from AMIs of Red Hat and of AWS Marketplace, and no object says whose this one is",
        )
    } else {
        Upkeep::nobody(
            Rule::AMIList,
            "the AMI is not on the list from which it updates before 5.0: a copy, a custom or a marketplace image",
        )
    })
}

/// Tells whether an image on GCP is one of the project that has the images of RHCOS.
pub(crate) fn is_of_rhcos_cloud(image: &Image) -> bool {
    let image = image.value.as_deref();
    image.is_some_and(|image| image.starts_with(RHCOS_CLOUD))
}

fn gcp(candidate: Candidate<'_>) -> Option<Upkeep> {
    (!is_of_rhcos_cloud(candidate.image)).then(|| {
        Upkeep::nobody(
            Rule::GCPProject,
            "its image is not one of the project rhcos-cloud",
        )
    })
}

fn azure(candidate: Candidate<'_>, objects: &Objects) -> Option<Upkeep> {
    let image = candidate.image;
    if let Some(security_type) = &image.site.security_type {
        return Some(Upkeep::nobody(
            Rule::AzureSecurityType,
            format!("its securityType is {security_type}"),
        ));
    }
    if image.value.is_none() {
        return Some(Upkeep::nobody(
            Rule::AzureOffer,
            "it names no image, and so no publisher and offer",
        ));
    }
    let of_azure = || {
        objects
            .own_images
            .iter()
            .filter(|own| own.platform == Platform::Azure)
    };
    let offers = || of_azure().filter_map(|own| own.offer.as_deref());
    if !objects.own_images.is_empty() && offers().next().is_none() {
        return Some(Upkeep::nobody(
            Rule::AzureWithoutMarketplace,
            "the cluster's release has no images in Azure's marketplace",
        ));
    }
    let is_offered =
        |offer: &str| objects.own_images.is_empty() || offers().any(|own| own == offer);
    let offer = image.offer.as_deref();
    if offer.is_some_and(is_offered) {
        return None;
    }
    let plan = |offer: &str| offer.split_once('/').map(|(plan, _)| plan.to_owned());
    let of_plan = offer.and_then(plan);
    let has_other_generation = of_plan.is_some() && offers().any(|own| plan(own) == of_plan);
    Some(Upkeep::nobody(
        Rule::AzureOffer,
        if has_other_generation {
            "the cluster's release has no image of its hypervisor generation: a new set, with a vmSize of the other one, could be kept"
        } else {
            "the cluster's release has no image of its publisher, offer and generation"
        },
    ))
}

fn vsphere(candidate: Candidate<'_>, objects: &Objects) -> Option<Upkeep> {
    let Some(vsphere) = &objects.vsphere else {
        return Some(if objects.has_infrastructure {
            Upkeep::nobody(
                Rule::VSphereFailureDomain,
                "Infrastructure cluster has no failure domains",
            )
        } else {
            Upkeep::new(
                Keeper::Unknown,
                Rule::VSphereFailureDomain,
                "Infrastructure cluster was not read",
            )
        });
    };
    let workspace = candidate.image.site.workspace.clone().unwrap_or_default();
    let has = vsphere.has(&workspace);
    let by = has.map_or(Keeper::Unknown, |_| Keeper::Nobody);
    (has != Some(true)).then(|| {
        Upkeep::new(
            by,
            Rule::VSphereFailureDomain,
            format!(
                "its workspace (server {}, datacenter {}, datastore {}, resource pool {}) is in no failure domain of Infrastructure cluster",
                or_not_named(&workspace.server),
                or_not_named(&workspace.datacenter),
                or_not_named(&workspace.datastore),
                or_not_named(&workspace.resource_pool)
            ),
        )
    })
}

fn or_not_named(text: &str) -> &str {
    if text.is_empty() { "not named" } else { text }
}
