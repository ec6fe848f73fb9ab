//! What to change so that the next node of a set is let in (pure).

use super::fix;
use super::image;
use super::known::Knowledge;
use super::objects::MACHINE_API;
use super::results::SetAudit;
use super::sets::{self, Set};
use super::stream::OwnImage;
use super::upkeep;
use crate::text::is_dns_name;
use crate::version::ImageVersion;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What to change.
#[derive(Debug, Default)]
pub(super) struct Remedy {
    /// For a person; absent where nothing has to be changed.
    pub(super) text: Option<String>,
    /// What the image field should say, where one image fits.
    pub(super) image: Option<String>,
    pub(super) version: Option<String>,
    /// The command that does it, where it is not that which sets the image field to `image`.
    pub(super) command: Option<String>,
}

impl Remedy {
    pub(super) fn words(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }
}

/// What to set the image field to: the cluster's own image for this platform, where the policy
/// allows that. Where the cluster can keep the image up to date itself, that comes first, because
/// it lasts.
pub(super) fn remedy(
    set: &Set,
    release: Option<&str>,
    is_allowed: impl Fn(&ImageVersion) -> bool,
    knowledge: &Knowledge<'_>,
) -> Remedy {
    if let Some(fix) = fix::fix(set, knowledge, &is_allowed) {
        return fix;
    }
    let Some(field) = &set.image.field else {
        return Remedy::words("make the next node from an image that the policy allows");
    };
    if field == sets::RELEASE_IMAGE {
        return Remedy::words(format!(
            "set {field} to a release whose boot image the policy allows"
        ));
    }
    let own: Vec<&OwnImage> = knowledge
        .images_for(
            &set.image,
            set.architecture.as_deref(),
            set.stream.as_deref(),
        )
        .into_iter()
        .filter(|own| is_allowed(&own.version()))
        .collect();
    let version = one(own.iter().map(|own| &*own.release).collect());
    let name = one(own.iter().filter_map(|own| own.image.as_deref()).collect());
    let (before, value) = match (own.as_slice(), name, version) {
        ([], _, _) => (None, "an image that the policy allows".to_owned()),
        (_, Some(name), Some(version)) => (None, format!("{name}: {version}, this cluster's own")),
        ([own, ..], None, Some(version)) if own.image.is_none() => (
            Some(format!(
                "upload {version}, this cluster's own image (ConfigMap coreos-bootimages), and "
            )),
            "it".to_owned(),
        ),
        (own, _, _) => (
            None,
            format!(
                "the one of this cluster's own {} images (ConfigMap coreos-bootimages) that fits its architecture, region and stream",
                own.len()
            ),
        ),
    };
    let change = match &set.template {
        Some((kind, name)) => format!(
            "make a copy of {kind} {name}, which cannot be changed, with spec.template.spec.{field} set to {value}; then name the copy in \
             spec.template.spec.infrastructureRef of the {}",
            set.kind
        ),
        None if name.is_some_and(is_urn) => {
            format!("set {}image to the marketplace's {value}", set.path)
        }
        None => format!("set {}{field} to {value}", set.path),
    };
    let remedy = Remedy {
        text: Some(format!(
            "{}{}{change}",
            of_cluster(set, release, knowledge.objects.is_azure_stack),
            before.unwrap_or_default()
        )),
        image: name.map(str::to_owned),
        version: version.map(str::to_owned),
        command: None,
    };
    fix::ask_the_owner(set, knowledge, remedy)
}

/// What the cluster can do about it, as the beginning of a sentence.
fn of_cluster(set: &Set, release: Option<&str>, is_azure_stack: bool) -> &'static str {
    let can = !is_azure_stack && upkeep::can_be_managed(set.kind, set.image.platform, release);
    match set.managed {
        Some(true) => {
            "the cluster keeps this image up to date, and has not: see the conditions of MachineConfiguration cluster; or "
        }
        Some(false) if can && !set.is_left_alone => {
            "let the cluster keep the image up to date (managedBootImages of MachineConfiguration cluster), or "
        }
        _ => "",
    }
}

/// The one that there is.
fn one(all: BTreeSet<&str>) -> Option<&str> {
    if all.len() == 1 {
        all.into_iter().next()
    } else {
        None
    }
}

fn is_urn(image: &str) -> bool {
    urn(image).is_some()
}

/// The fields of `image` for a URN of Azure's marketplace (openshift/api `machine/v1beta1`,
/// `Image`). What the publisher `azureopenshift` offers has no plan to buy.
fn urn(image: &str) -> Option<Value> {
    let parts: Vec<&str> = image.split(':').collect();
    let [publisher, offer, sku, version] = parts[..] else {
        return None;
    };
    let plan = if publisher == image::FREE_PUBLISHER {
        "MarketplaceNoPlan"
    } else {
        "MarketplaceWithPlan"
    };
    Some(
        json!({ "publisher": publisher, "offer": offer, "sku": sku, "version": version, "resourceID": "", "type": plan }),
    )
}

/// The command that sets the image field of an object to `image`. There is none for what cannot be
/// changed (templates of the Cluster API), nor for a field that is in a list.
pub(super) fn patch(set: &SetAudit) -> Option<String> {
    let (field, image) = (set.image_field.as_deref()?, set.want_image.as_deref()?);
    let is_name = is_dns_name(&set.name, 253) && is_dns_name(&set.namespace, 63);
    if set.group != MACHINE_API || !set.kind.ends_with("Set") || !is_name {
        return None;
    }
    if field.contains("[]") || image.contains('\'') {
        return None;
    }
    let (field, value) = match urn(image) {
        Some(fields) => (field.strip_suffix(".resourceID").unwrap_or(field), fields),
        None => (field, json!(image)),
    };
    // `disks[0].image` is `/disks/0/image` in a JSON Patch.
    let path = format!(
        "/{}",
        field.replace('[', ".").replace(']', "").replace('.', "/")
    );
    let patch = json!([{ "op": "replace", "path": path, "value": value }]);
    Some(format!(
        "oc patch {}s.{MACHINE_API} {} -n {} --type json -p '{patch}'",
        set.kind.to_ascii_lowercase(),
        set.name,
        set.namespace
    ))
}
