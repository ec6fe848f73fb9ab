//! `knownIssues`: what is known to fail with a release, beside the limits.
//!
//! An issue is never wider than it was meant. One with a field that this release does not know or
//! cannot read is not evaluated at all.

use super::fields::{DENIED, IMAGES, KNOWN_ISSUE};
use super::json::{Located, Object};
use super::lenient::{Warnings, denied_version, field, missing, not_understood, object, unknown};
use super::when::{When, when};
use super::{Bound, DeniedVersions, Setting};
use crate::text;
use crate::version::{OcpMinor, Release};

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
    /// A joined node's update, by what it was installed with. It has no part in a first boot.
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
        let all = [("FirstBoot", Self::FirstBoot), ("Update", Self::Update)];
        let mut all = all.into_iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(word))
            .map(|(_, affects)| affects)
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
        all.find(|effect| effect.as_str().eq_ignore_ascii_case(word))
    }
}

/// Which nodes have the issue: those for which all three hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The target releases; `None` is any.
    pub targets: Option<ReleaseRange>,
    /// Boot images: those that are out of one of these bounds, each with its field. Without any it is every image, which `when` has to narrow to
    /// families. Where the node's own shim or free space in /boot is known, that decides, whatever
    /// the image is.
    pub images: Vec<(&'static str, Bound)>,
    pub when: When,
}

/// `>=4.15.23 <4.15.38 || >=4.16.0 <4.16.20`: the releases of any of these windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseRange(Vec<Window>);

/// The releases for which every comparison holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Window(Vec<(Comparison, Release)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl ReleaseRange {
    pub fn parse(text: &str) -> Option<Self> {
        text.split("||")
            .map(Window::parse)
            .collect::<Option<_>>()
            .map(Self)
    }

    pub fn contains(&self, release: Release) -> bool {
        self.0.iter().any(|window| window.contains(release))
    }

    /// Releases from which on [`contains`](Self::contains) may answer otherwise.
    pub fn turns(&self) -> impl Iterator<Item = Release> {
        self.0.iter().flat_map(Window::turns)
    }

    /// Tells whether no release is in one of its windows.
    pub fn has_empty_window(&self) -> bool {
        self.0.iter().any(Window::is_empty)
    }
}

impl Window {
    fn parse(text: &str) -> Option<Self> {
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

    fn contains(&self, release: Release) -> bool {
        self.0.iter().all(|(comparison, bound)| match comparison {
            Comparison::AtLeast => release >= *bound,
            Comparison::Above => release > *bound,
            Comparison::AtMost => release <= *bound,
            Comparison::Below => release < *bound,
        })
    }

    fn turns(&self) -> impl Iterator<Item = Release> {
        self.0
            .iter()
            .flat_map(|(_, bound)| [*bound, bound.next_patch()])
    }

    fn is_empty(&self) -> bool {
        // Only the bounds and what comes right after them can be the lowest of the window.
        let zero = Release {
            minor: OcpMinor { major: 0, minor: 0 },
            patch: 0,
        };
        let mut lowest = self.turns().chain([zero]);
        !lowest.any(|release| self.contains(release))
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
        None if when.os_families.is_some() => Vec::new(),
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

fn images(images: &Object<'_>) -> Setting<Vec<(&'static str, Bound)>> {
    let mut found = Vec::new();
    for name in IMAGES {
        let bound = match *name {
            "versions" => field(images, name, versions)?,
            _ => field(images, name, |at| Bound::read(name, at))?,
        };
        found.extend(bound.map(|bound| (*name, bound)));
    }
    found.retain(|(_, bound)| *bound != Bound::Denied(DeniedVersions::default()));
    // What names a version says more of it than a bound does.
    found.sort_by_key(|(_, bound)| !matches!(bound, Bound::Denied(_)));
    if found.is_empty() {
        return Err(format!("{} names no image", images.at.path));
    }
    Ok(found)
}

fn versions(at: &Located<'_>) -> Option<Bound> {
    let entries = at
        .items()?
        .map(|item| denied_version(&part(&item, DENIED).ok()?));
    Some(Bound::Denied(DeniedVersions {
        entries: entries.collect::<Option<_>>()?,
        not_understood: 0,
    }))
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
