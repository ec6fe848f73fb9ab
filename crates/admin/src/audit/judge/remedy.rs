//! Remedies: changes by which the next node of a set is let in (pure).

use super::change::{Remedy, is_urn};
use super::choice::{Choice, Own, choice};
use super::image_versions::Lookup;
use super::platform_fixes::{UPLOADED, ask_the_owner, change, field, fix};
use super::set::{RELEASE_IMAGE, Set};
use super::upkeep;
use crate::audit::cluster::stream::OwnImage;
use crate::audit::results::upkeep::Rule;
use crate::verdict::Verdict;
use crate::version::ImageVersion;
use skewguard_cluster::cluster::Cluster as Objects;

/// Sets the image field to the cluster's own image for this platform, else the newest that
/// was published for the release, where the policy lets it in. Where the cluster can keep the image
/// up to date itself, that comes first, because it lasts. Where the policy refuses the cluster's own
/// image, it is the policy that has to change.
pub(crate) fn remedy(
    set: &Set,
    release: Option<&str>,
    judge: impl Fn(&ImageVersion) -> Verdict,
    lookup: &Lookup<'_>,
) -> Remedy {
    let choice = choice(set, release, &judge, lookup);
    let images = match &choice {
        Choice::Policy(text) => {
            return Remedy {
                is_elsewhere: true,
                ..Remedy::words(text)
            };
        }
        Choice::Own(images) | Choice::Published(images, _) => images,
    };
    let own = Own::of(images, &choice);
    if let Some(fix) = fix(set, &own, lookup.objects) {
        return fix;
    }
    let Some(field) = &set.image.field else {
        return Remedy::words("make the next node from an image that the policy allows");
    };
    if field == RELEASE_IMAGE {
        return Remedy::words(format!(
            "set {field} to a release whose boot image the policy allows"
        ));
    }
    let remedy = by_image(set, images, &choice, own, lookup.objects);
    ask_the_owner(set, lookup, remedy)
}

/// The image field is set to one of these images.
fn by_image(
    set: &Set,
    images: &[OwnImage],
    choice: &Choice,
    own: Own,
    objects: &Objects,
) -> Remedy {
    let (before, value): (Option<String>, String) = match (images, &own.image, &own.version) {
        ([], _, _) => (None, "an image that the policy allows".to_owned()),
        (_, Some(_), Some(_)) => (None, own.value()),
        ([first, ..], None, Some(version)) if first.image.is_none() => (
            Some(format!(
                "upload {version}, {}{}, and ",
                choice.whose(),
                choice.origin()
            )),
            "it".to_owned(),
        ),
        (images, _, _) => (None, choice.several(images.len())),
    };
    let change = match &set.template {
        None if set.kind == "Machine" => format!(
            "make the Machine that takes the place of one of them from {value}; in a Machine that runs {} changes nothing",
            field(set)
        ),
        None if own.image.as_deref().is_some_and(is_urn) => {
            format!("set {}image to the marketplace's {value}", set.path)
        }
        _ => change(set, &value),
    };
    Remedy {
        text: Some(format!(
            "{}{}{change}",
            by_the_cluster(set, objects),
            before.as_deref().unwrap_or_default()
        )),
        image: own.image,
        version: own.version,
        first: before.map(|_| UPLOADED),
        is_own: own.is_of_cluster,
        ..Remedy::default()
    }
}

/// The cluster's own way, as the beginning of a sentence. Where another tool writes the
/// set, the two would undo each other's changes.
fn by_the_cluster(set: &Set, objects: &Objects) -> &'static str {
    match set.managed {
        _ if set
            .upkeep
            .as_ref()
            .is_some_and(|upkeep| upkeep.rule == Rule::Degraded) =>
        {
            "mend what the Machine Config Operator says of itself, or "
        }
        Some(true) => {
            "the cluster keeps this image up to date, and has not: see the conditions of MachineConfiguration cluster; or "
        }
        Some(false) if upkeep::could_be_kept(set, objects) => {
            "let the cluster keep the image up to date (managedBootImages of MachineConfiguration cluster), or "
        }
        _ => "",
    }
}
