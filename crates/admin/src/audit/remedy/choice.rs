//! The image that takes the place of a set's (pure).

use crate::audit::results::set::SetKind;
use crate::audit::verdict::evidence::of_okd;
use crate::audit::verdict::horizon::verdict_at;
use crate::audit::verdict::image_judge::Judge;
use crate::audit::versions::published::newest_for;
use crate::lint::starter::{STARTER_NAME, STARTER_NAME_OKD};
use crate::verdict::{Action, Verdict};
use crate::version::{ImageVersion, OcpMinor, OsFamily, Release, compare_scos};
use skewguard_cluster::kinds::stream::OwnImage;
use skewguard_cluster::kinds::target::{is_okd, parsed};
use std::cmp::Ordering;
use std::collections::BTreeSet;

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
    /// The release that it was published for.
    pub(crate) fn release(&self) -> Option<OcpMinor> {
        match self {
            Self::Published(_, release) => Some(*release),
            Self::Own(_) | Self::Policy(_) => None,
        }
    }

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

    pub(crate) fn several(&self, count: usize) -> String {
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

/// Tells whether an image of OKD is older than one of the cluster's own that fits, or of another family: OKD went
/// from Fedora CoreOS to SCOS.
pub(crate) fn is_behind(version: &ImageVersion, own: &[&OwnImage]) -> bool {
    let family = version.os_family();
    let is_older = |own: &&OwnImage| {
        let own = own.version();
        own.os_family() != family || compare_scos(version, &own) == Some(Ordering::Less)
    };
    matches!(family, Some(OsFamily::Fcos | OsFamily::Scos)) && own.iter().any(is_older)
}

/// An image that passes at each release of the way. `own` are the cluster's own
/// images that fit, `cluster` is its release.
pub(crate) fn choice(
    kind: SetKind,
    (judge, way): (Judge<'_>, &[Release]),
    own: &[&OwnImage],
    cluster: Option<&str>,
) -> Choice {
    let asked = parsed(judge.release);
    let verdict = |version: &ImageVersion| refusing(judge, way, version);
    let is_let_in = |version: &ImageVersion| verdict(version).action == Action::Proceed;
    let is_foreign = |own: &OwnImage| of_okd(&own.version(), judge.release).is_some();
    // The nodes of a node pool are of another cluster; ConfigMaps of OpenShift have named images of OKD.
    let own = own.iter().copied();
    let mut own = own.filter(|own| kind != SetKind::NodePool && !is_foreign(own));
    let let_in: Vec<OwnImage> = own
        .clone()
        .filter(|own| is_let_in(&own.version()))
        .cloned()
        .collect();
    if !let_in.is_empty() {
        return Choice::Own(let_in);
    }
    let minor = |release: Option<Release>| release.map(|release| release.minor);
    let (asked, cluster) = (minor(asked), minor(parsed(cluster)));
    // Another release has other images, and may need them.
    let may_be_it = |_: &&OwnImage| cluster.is_none() || asked == cluster;
    if let Some(own) = own.next().filter(may_be_it) {
        let version = own.version();
        return Choice::refused(
            &verdict(&version),
            &format!("{version}, this cluster's own image (ConfigMap coreos-bootimages)"),
        );
    }
    let of_openshift = asked.filter(|_| !judge.release.is_some_and(is_okd));
    let Some(asked) = of_openshift else {
        return Choice::Own(Vec::new());
    };
    published(judge, way, asked)
}

/// The verdict of the first of these releases that refuses the image, else of the last.
fn refusing(judge: Judge<'_>, way: &[Release], version: &ImageVersion) -> Verdict {
    let verdicts = way
        .iter()
        .map(|release| verdict_at(judge, *release, version));
    let mut verdicts = verdicts.filter(|verdict| verdict.action == Action::Block);
    let refusal = verdicts.next();
    refusal.unwrap_or_else(|| judge.verdict(Some(version)))
}

/// The newest images of the first release on the way that has some which pass from then on; no image is offered
/// before its own release.
fn published(judge: Judge<'_>, way: &[Release], asked: OcpMinor) -> Choice {
    let passes = |way: &[Release], version: &ImageVersion| {
        refusing(judge, way, version).action == Action::Proceed
    };
    let mut rest = way;
    while let Some(release) = rest.first() {
        let minor = release.minor;
        let images = newest_for(judge.image, minor, |version| passes(rest, version));
        if !images.is_empty() {
            return Choice::Published(images, minor);
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    match newest_for(judge.image, asked, |_| true).first() {
        Some(newest) => Choice::refused(
            &judge.verdict(Some(&newest.version())),
            &format!("{}, the newest image published for {asked}", newest.release),
        ),
        None => Choice::Published(Vec::new(), asked),
    }
}

/// The image that takes the place of a set's: the cluster's own, or the newest published one.
#[derive(Debug, Default)]
pub(crate) struct Own {
    pub(crate) version: Option<String>,
    pub(crate) image: Option<String>,
    /// `this cluster's own`, in words.
    whose: String,
    /// Place where it is, after that.
    origin: &'static str,
    /// The cluster's release has it.
    pub(crate) is_of_cluster: bool,
}

impl Own {
    pub(crate) fn of(images: &[OwnImage], choice: &Choice, region: Option<&str>) -> Self {
        // An AMI is of one region: where the next machine's is not known, none is named.
        let is_there = |own: &&OwnImage| own.region.is_none() || region.is_some();
        Self {
            version: one(images.iter().map(|own| &*own.release).collect()),
            image: one(images
                .iter()
                .filter(is_there)
                .filter_map(|own| own.image.as_deref())
                .collect()),
            whose: choice.whose(),
            origin: choice.origin(),
            is_of_cluster: matches!(choice, Choice::Own(_)),
        }
    }

    /// The image as the object of a sentence.
    pub(crate) fn words(&self) -> String {
        match &self.version {
            Some(version) => {
                format!("{version}, {}{},", self.whose, self.origin)
            }
            None => "an image that the policy allows".to_owned(),
        }
    }

    /// Wanted value of the field, in words.
    pub(crate) fn value(&self) -> String {
        match (&self.image, &self.version) {
            (Some(image), Some(version)) => format!("{image}: {version}, {}", self.whose),
            (None, Some(version)) => format!("{version}, {}{}", self.whose, self.origin),
            _ => "an image that the policy allows".to_owned(),
        }
    }
}

/// The one that there is.
fn one(all: BTreeSet<&str>) -> Option<String> {
    let mut all = all.into_iter();
    all.next()
        .filter(|_| all.next().is_none())
        .map(str::to_owned)
}
