//! `knownIssues`: what is known to fail with a release, beside the limits.
//!
//! An issue is never wider than it was meant. One with a field that this release does not know or
//! cannot read is not evaluated at all.

use super::fields::{
    DENIED, IMAGES, KNOWN_ISSUE, fcos_bound, minimum_ocp, rhcos_bound, rhel_majors, scos_bound,
};
use super::json::{Located, Object};
use super::lenient::{Warnings, denied_version, field, missing, not_understood, object, unknown};
use super::when::{When, when};
use super::{DeniedVersion, FamilyBound, RhcosBound, Setting};
use crate::text;
use crate::version::{OcpMinor, Release, RpmVersion};

/// The most known issues that are read.
pub const MAX_ISSUES: usize = 200;

/// Longest `id`, in characters.
const ID_MAX: usize = 60;

/// An entry of `knownIssues`. All text is printable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownIssue {
    pub id: String,
    pub affects: Affects,
    pub effect: Effect,
    /// Failure, for the console.
    pub reason: String,
    /// Help for a joined node.
    pub remedy: Option<String>,
    pub url: Option<String>,
    /// Nodes that it applies to; the error says what of it is not understood.
    pub scope: Setting<Scope>,
}

/// The boot that an issue breaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Affects {
    /// The first boot of a new node.
    #[default]
    FirstBoot,
    /// A joined node's update, by what it was born with. It has no part in a first boot.
    Update,
}

/// Effect on a node that has an issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Effect {
    /// It is refused.
    #[default]
    Refuse,
    /// It goes on, with a warning.
    Warn,
}

impl Affects {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "FirstBoot" => Some(Self::FirstBoot),
            "Update" => Some(Self::Update),
            _ => None,
        }
    }
}

impl Effect {
    /// The word for it in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "Refuse",
            Self::Warn => "Warn",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        let mut all = [Self::Refuse, Self::Warn].into_iter();
        all.find(|effect| effect.as_str() == word)
    }
}

/// Which nodes have the issue: those for which all three hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The target releases; `None` is any.
    pub targets: Option<ReleaseRange>,
    pub images: Images,
    pub when: When,
}

/// Boot images: one of these that applies is enough. Without any of them it is every image, which
/// `when` has to narrow to families.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Images {
    pub below_ocp: Option<Release>,
    pub below_rhcos: Option<RhcosBound>,
    pub below_fcos: Option<FamilyBound>,
    pub above_fcos: Option<FamilyBound>,
    pub below_scos: Option<FamilyBound>,
    /// Least shim: where the node's own is known it decides, whatever the image is.
    pub below_shim: Option<RpmVersion>,
    /// Space free in /boot before the first rebase, in MiB. As with the shim, what the node says
    /// decides.
    pub below_boot_free: Option<u32>,
    pub rhel_majors: Vec<u16>,
    pub versions: Vec<DeniedVersion>,
}

/// `>=4.16.0 <4.16.3`: the releases for which every comparison holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseRange(Vec<(Comparison, Release)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl ReleaseRange {
    pub fn parse(text: &str) -> Option<Self> {
        const COMPARISONS: [(&str, Comparison); 4] = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            (">", Comparison::Above),
            ("<", Comparison::Below),
        ];
        let bound = |word: &str| {
            let (comparison, release) = COMPARISONS
                .iter()
                .find_map(|(sign, comparison)| Some((*comparison, word.strip_prefix(sign)?)))?;
            Some((comparison, release.parse().ok()?))
        };
        let bounds: Vec<_> = text
            .split_ascii_whitespace()
            .map(bound)
            .collect::<Option<_>>()?;
        (!bounds.is_empty()).then_some(Self(bounds))
    }

    pub fn contains(&self, release: Release) -> bool {
        self.0.iter().all(|(comparison, bound)| match comparison {
            Comparison::AtLeast => release >= *bound,
            Comparison::Above => release > *bound,
            Comparison::AtMost => release <= *bound,
            Comparison::Below => release < *bound,
        })
    }

    /// Tells whether no release is in it.
    pub fn is_empty(&self) -> bool {
        // Only the bounds and what comes right after them can be the lowest of the range.
        let after = |release: Release| Release {
            patch: release.patch.saturating_add(1),
            ..release
        };
        let zero = Release {
            minor: OcpMinor { major: 0, minor: 0 },
            patch: 0,
        };
        let bounds = self.0.iter().flat_map(|(_, bound)| [*bound, after(*bound)]);
        !bounds.chain([zero]).any(|release| self.contains(release))
    }
}

/// Reads `knownIssues`. What is wrong with them becomes a warning.
pub(super) fn list(policy: &Object<'_>, warnings: &mut Warnings) -> Vec<KnownIssue> {
    let Some(field) = policy.field("knownIssues", Located::items) else {
        return Vec::new();
    };
    let Ok(items) = warnings.understood(field, "no known issue is evaluated") else {
        return Vec::new();
    };
    if items.len() > MAX_ISSUES {
        warnings.add(format!(
            "there are {} known issues; only the first {MAX_ISSUES} are evaluated",
            items.len()
        ));
    }
    items
        .take(MAX_ISSUES)
        .map(|at| known_issue(&at, warnings))
        .collect()
}

fn known_issue(at: &Located<'_>, warnings: &mut Warnings) -> KnownIssue {
    let issue = object(at, KNOWN_ISSUE).ok();
    let line = |name| Some(text::printable(&issue.as_ref()?.get(name)?.string()?));
    let id = line("id").map(|id| text::printable_up_to(&id, ID_MAX));
    let parts = match &issue {
        Some(issue) => scope(issue).and_then(|scope| Ok((scope, affects(issue)?, effect(issue)?))),
        None => Err(not_understood(at)),
    };
    let (affects, effect) = parts.as_ref().map_or_else(
        |_| Default::default(),
        |(_, affects, effect)| (*affects, *effect),
    );
    let scope = parts.map(|(scope, ..)| scope);
    if let Err(why) = &scope {
        warnings.add(format!("{why}; the known issue is not evaluated"));
    }
    KnownIssue {
        id: id.unwrap_or_else(|| at.path.clone()),
        affects,
        effect,
        reason: line("reason").unwrap_or_default(),
        remedy: line("remedy"),
        url: line("url"),
        scope,
    }
}

fn scope(issue: &Object<'_>) -> Setting<Scope> {
    all_known(issue)?;
    for name in ["id", "reason"] {
        let at = issue.get(name).ok_or_else(|| missing_in(issue, name))?;
        at.string().ok_or_else(|| not_understood(&at))?;
    }
    let when = match issue.get("when").map(|at| when(&at)) {
        Some((_, Some(why))) => return Err(why),
        Some((when, None)) => when,
        None => When::default(),
    };
    let images = match issue.get("images") {
        Some(at) => images(&part(&at, IMAGES)?)?,
        None if when.os_families.is_some() => Images::default(),
        None => return Err(missing_in(issue, "images")),
    };
    Ok(Scope {
        targets: field(issue, "targets", |at| ReleaseRange::parse(&at.string()?))?,
        images,
        when,
    })
}

fn affects(issue: &Object<'_>) -> Setting<Affects> {
    let affects = field(issue, "affects", |at| Affects::parse(&at.string()?))?;
    Ok(affects.unwrap_or_default())
}

fn effect(issue: &Object<'_>) -> Setting<Effect> {
    let effect = field(issue, "effect", |at| Effect::parse(&at.string()?))?;
    Ok(effect.unwrap_or_default())
}

fn images(images: &Object<'_>) -> Setting<Images> {
    let fcos = |name| field(images, name, |at| fcos_bound(&at.string()?));
    let found = Images {
        below_ocp: field(images, "belowOCPVersion", |at| minimum_ocp(&at.string()?))?,
        below_rhcos: field(images, "belowRHCOSVersion", |at| rhcos_bound(&at.string()?))?,
        below_fcos: fcos("belowFCOSVersion")?,
        above_fcos: fcos("aboveFCOSVersion")?,
        below_scos: field(images, "belowSCOSVersion", |at| scos_bound(&at.string()?))?,
        below_shim: field(images, "belowShim", |at| RpmVersion::parse(&at.string()?))?,
        below_boot_free: field(images, "belowBootFreeMiB", Located::read)?,
        rhel_majors: field(images, "rhelMajors", rhel_majors)?.unwrap_or_default(),
        versions: field(images, "versions", versions)?.unwrap_or_default(),
    };
    if found == Images::default() {
        return Err(format!("{} names no image", images.at.path));
    }
    Ok(found)
}

fn versions(at: &Located<'_>) -> Option<Vec<DeniedVersion>> {
    at.items()?
        .map(|item| denied_version(&part(&item, DENIED).ok()?))
        .collect()
}

/// An object of known fields only.
fn part<'a>(at: &Located<'a>, names: &'static [&'static str]) -> Setting<Object<'a>> {
    let part = object(at, names).map_err(|_| not_understood(at))?;
    all_known(&part)?;
    Ok(part)
}

fn all_known(object: &Object<'_>) -> Setting<()> {
    unknown(object).map_or(Ok(()), Err)
}

fn missing_in(object: &Object<'_>, name: &str) -> String {
    format!("{}: {}", object.at.path, missing(name))
}
