//! Remedies: changes by which the next node of a set is let in (pure).

use super::change::{Change, is_urn};
use super::image_versions::Lookup;
use super::platform_fixes::{Own, UPLOADED, ask_the_owner, fix};
use super::published::newest_for;
use super::sets::{RELEASE_IMAGE, Set};
use super::upkeep;
use crate::audit::cluster::kind_table::NODE_POOL;
use crate::audit::cluster::stream::OwnImage;
use crate::audit::cluster::target;
use crate::audit::results::upkeep::Rule;
use crate::lint::starter::{STARTER_NAME, STARTER_NAME_OKD};
use crate::verdict::{Action, Verdict};
use crate::version::{ImageVersion, OcpMinor, Release};
use skewguard_cluster::cluster::Cluster as Objects;
use std::collections::BTreeSet;

/// A change that helps.
#[derive(Debug, Default)]
pub(crate) struct Remedy {
    /// For a person; absent where nothing has to be changed.
    pub(crate) text: Option<String>,
    /// Wanted value of the image field, where one image fits.
    pub(crate) image: Option<String>,
    pub(crate) version: Option<String>,
    /// The change, where it is not that which sets the image field to `image`.
    pub(crate) change: Option<Change>,
    /// Step that has to come first, where the text says so.
    pub(crate) first: Option<&'static str>,
    /// The image is one of the cluster's release.
    pub(crate) is_own: bool,
    /// Another object than the set is changed, or the policy.
    pub(crate) is_elsewhere: bool,
}

impl Remedy {
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }
}

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
    let remedy = by_image(set, images, &choice, lookup.objects);
    ask_the_owner(set, lookup, remedy)
}

/// The image field is set to one of these images.
fn by_image(set: &Set, images: &[OwnImage], choice: &Choice, objects: &Objects) -> Remedy {
    let field = set.image.field.as_deref().unwrap_or_default();
    let version = one(images.iter().map(|own| &*own.release).collect());
    let name = one(images
        .iter()
        .filter_map(|own| own.image.as_deref())
        .collect());
    let whose = choice.whose();
    let (before, value) = match (images, name, version) {
        ([], _, _) => (None, "an image that the policy allows".to_owned()),
        (_, Some(name), Some(version)) => (None, format!("{name}: {version}, {whose}")),
        ([own, ..], None, Some(version)) if own.image.is_none() => (
            Some(format!(
                "upload {version}, {whose}{}, and ",
                choice.origin()
            )),
            "it".to_owned(),
        ),
        (images, _, _) => (None, choice.several(images.len())),
    };
    let change = match &set.template {
        Some((kind, name)) => format!(
            "make a copy of {kind} {name}, which cannot be changed, with spec.template.spec.{field} set to {value}; then name the copy in \
             spec.template.spec.infrastructureRef of the {}",
            set.kind
        ),
        None if set.kind == "Machine" => format!(
            "make the Machine that takes the place of one of them from {value}; in a Machine that runs {}{field} changes nothing",
            set.path
        ),
        None if name.is_some_and(is_urn) => {
            format!("set {}image to the marketplace's {value}", set.path)
        }
        None => format!("set {}{field} to {value}", set.path),
    };
    Remedy {
        text: Some(format!(
            "{}{}{change}",
            by_the_cluster(set, objects),
            before.as_deref().unwrap_or_default()
        )),
        image: name.map(str::to_owned),
        version: version.map(str::to_owned),
        first: before.map(|_| UPLOADED),
        is_own: matches!(choice, Choice::Own(_)),
        ..Remedy::default()
    }
}

/// Source of the next image.
pub(crate) enum Choice {
    /// The cluster's release has it.
    Own(Vec<OwnImage>),
    /// It was published for this release.
    Published(Vec<OwnImage>, OcpMinor),
    /// No image helps, because the policy refuses those of the cluster.
    Policy(String),
}

impl Choice {
    pub(crate) fn whose(&self) -> String {
        match self {
            Self::Published(_, release) => format!("the newest published for {release}"),
            _ => "this cluster's own".to_owned(),
        }
    }

    /// Of a file to upload.
    pub(crate) fn origin(&self) -> &'static str {
        match self {
            Self::Published(..) => " (`openshift-install coreos print-stream-json` has its URL)",
            _ => " image (ConfigMap coreos-bootimages)",
        }
    }

    /// The policy refuses what would take the place of a set's image.
    fn refused(verdict: &Verdict, image: &str) -> Self {
        let named = verdict.policy.as_ref().map(|policy| &*policy.path);
        let begin = match named {
            Some(limits @ (STARTER_NAME | STARTER_NAME_OKD)) => {
                format!("name a policy with other limits (--policy): those of `{limits}` refuse")
            }
            _ => "correct the policy: it refuses".to_owned(),
        };
        Self::Policy(format!("{begin} {image}, too: {}", verdict.message))
    }

    fn several(&self, count: usize) -> String {
        match self {
            Self::Published(_, release) => format!(
                "the one of the newest {count} images published for {release} that fits its architecture and stream"
            ),
            _ => format!(
                "the one of this cluster's own {count} images (ConfigMap coreos-bootimages) that fits its architecture, region and stream"
            ),
        }
    }
}

fn choice(
    set: &Set,
    release: Option<&str>,
    judge: impl Fn(&ImageVersion) -> Verdict,
    lookup: &Lookup<'_>,
) -> Choice {
    let (architecture, stream) = (set.architecture.as_deref(), set.stream.as_deref());
    let is_let_in = |version: &ImageVersion| judge(version).action == Action::Proceed;
    // The nodes of a node pool are of another cluster.
    let own = match set.kind {
        NODE_POOL => Vec::new(),
        _ => lookup.images_for(&set.image, architecture, stream),
    };
    let let_in: Vec<OwnImage> = own
        .iter()
        .filter(|own| is_let_in(&own.version()))
        .map(|own| (*own).clone())
        .collect();
    if !let_in.is_empty() {
        return Choice::Own(let_in);
    }
    let minor = |release: &str| Some(release.parse::<Release>().ok()?.minor);
    let (asked, cluster) = (
        release.and_then(minor),
        lookup.objects.release.as_deref().and_then(minor),
    );
    // Another release has other images, and may need them.
    if let Some(own) = own
        .first()
        .filter(|_| cluster.is_none() || asked == cluster)
    {
        let version = own.version();
        return Choice::refused(
            &judge(&version),
            &format!("{version}, this cluster's own image (ConfigMap coreos-bootimages)"),
        );
    }
    let of_openshift = asked.filter(|_| !release.is_some_and(target::is_okd));
    let Some(asked) = of_openshift else {
        return Choice::Own(Vec::new());
    };
    let published = |passes: &dyn Fn(&ImageVersion) -> bool| {
        newest_for(&set.image, architecture, stream, asked, passes)
    };
    let images = published(&is_let_in);
    match published(&|_| true).first() {
        Some(newest) if images.is_empty() => Choice::refused(
            &judge(&newest.version()),
            &format!("{}, the newest image published for {asked}", newest.release),
        ),
        _ => Choice::Published(images, asked),
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

/// The one that there is.
fn one(all: BTreeSet<&str>) -> Option<&str> {
    if all.len() == 1 {
        all.into_iter().next()
    } else {
        None
    }
}
