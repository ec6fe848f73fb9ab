//! Limits that refuse the boot images of the releases that they are for, or decide nothing about
//! them.

use super::bounds::minor;
use super::published::{IMAGES, NEWEST_RELEASES};
use super::{Lint, Rule};
use crate::data::is_of_release;
use crate::decider::Decider;
use crate::policy::json::Located;
use crate::policy::{
    Bound, Circumstances, Limit, Mode, OnUndetermined, Policy, Setting, choose_for,
};
use crate::verdict::{Finding, Outcome, Reason, Verdict};
use crate::version::{ImageVersion, OcpMinor, OsFamily, Release};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::LazyLock;

/// From this OCP release on, served configs name the cluster's release.
pub(super) const FIRST_NAMED: OcpMinor = OcpMinor { major: 4, minor: 8 };

/// Images that were published for a release, of an architecture and a family, the newest first.
#[derive(Debug)]
struct OwnImages {
    release: OcpMinor,
    of: (&'static str, Option<OsFamily>),
    images: Vec<ImageVersion>,
}

/// The releases that nodes may know as theirs.
pub(super) static RELEASES: LazyLock<Vec<OcpMinor>> = LazyLock::new(|| {
    NEWEST_RELEASES
        .into_iter()
        .flat_map(|newest| (0..=newest.minor).map(move |minor| OcpMinor { minor, ..newest }))
        .filter(|release| *release >= FIRST_NAMED)
        .collect()
});

static OWN_IMAGES: LazyLock<Vec<OwnImages>> = LazyLock::new(|| {
    let own = |release: &OcpMinor| {
        let release = *release;
        IMAGES.iter().map(move |(of, images)| {
            let is_own = |image: &&ImageVersion| is_of_release(image, release, None);
            let images = images.iter().filter(is_own).cloned().collect();
            let of = *of;
            OwnImages {
                release,
                of,
                images,
            }
        })
    };
    let all = RELEASES.iter().flat_map(own);
    all.filter(|own| !own.images.is_empty()).collect()
});

/// Reports each limit that refuses all images of a release that it is for. One that is already said to be
/// above its release, or newer than what this program knows, is left out.
pub(super) fn check(lint: &mut Lint, policy: &Policy, limits: &Located<'_>, items: &[Located<'_>]) {
    nothing_without_release(lint, limits, policy);
    for (limit, at) in policy.limits.iter().zip(items) {
        let (refused, undecided) = effects(policy, limit);
        say(lint, at, Rule::DecidesNothing, &undecided);
        let is_said = lint.report.findings.iter().any(|finding| {
            finding.is_of(&[Rule::OCPAboveTarget, Rule::NewerThanPublished])
                && finding.path.starts_with(&format!("{}.", at.path))
        });
        let rule = match limit.release.map(minor) {
            _ if is_said => continue,
            None => Rule::OldReleasesRefused,
            Some(own) if refused.contains(&own) => Rule::OwnReleaseRefused,
            Some(_) => Rule::LaterReleasesRefused,
        };
        say(lint, at, rule, &refused);
    }
}

fn say(lint: &mut Lint, at: &Located<'_>, rule: Rule, releases: &Releases) {
    let them = match releases.len() {
        0 => return,
        1 => "it",
        _ => "them",
    };
    let refused = match lint.refuses_undetermined {
        true => ", and onUndetermined refuses them all",
        false => "",
    };
    let releases = ranges(releases);
    let holes: [(&str, &dyn Display); 3] = [
        ("releases", &releases),
        ("them", &them),
        ("refused", &refused),
    ];
    lint.say(at, rule, &holes);
}

/// Warns of a policy that enforces, and whose limits without release refuse nothing.
fn nothing_without_release(lint: &mut Lint, at: &Located<'_>, policy: &Policy) {
    // Where there is none at all, that is said.
    let has_any = policy.limits.iter().any(|limit| limit.release.is_none());
    if lint.enforces && has_any && refuses_no_hosted_node(policy) {
        lint.say(at, Rule::NothingWithoutRelease, &[]);
    }
}

/// Tells whether the limits without release refuse nothing: HyperShift's nodes get no other.
pub(crate) fn refuses_no_hosted_node(policy: &Policy) -> bool {
    let mut of_any = policy.limits.iter().filter(|limit| limit.release.is_none());
    of_any.all(|limit| limit.rules.iter().all(denies_nothing))
}

/// Tells whether a rule refuses no image.
pub(super) fn denies_nothing((_, bound): &(&str, Setting<Bound>)) -> bool {
    match bound {
        Ok(Bound::Denied(denied)) => denied.entries.is_empty(),
        _ => false,
    }
}

/// A policy of this limit alone, for every node. What it blocks undetermined, the limit is for.
pub(super) fn alone(policy: &Policy, limit: &Limit) -> Policy {
    Policy {
        mode: Mode::Enforce,
        on_undetermined: OnUndetermined::Refuse,
        limits: vec![Limit {
            rules: limit.rules.clone(),
            ..Limit::default()
        }],
        known_issues: Vec::new(),
        warnings: Vec::new(),
        ..policy.clone()
    }
}

type Releases = BTreeSet<OcpMinor>;

/// The releases that a limit is for, by its effect on their images, for some architecture and pool: those of
/// which it refuses every image; and those whose images its rules are for, and decide about none. The second are only
/// of the limit's own release, where it has one.
fn effects(policy: &Policy, limit: &Limit) -> (Releases, Releases) {
    let pools: Vec<Option<&str>> = match &limit.pools {
        Some(pools) => pools.iter().map(|pool| Some(pool.as_str())).collect(),
        None => vec![None],
    };
    let alone = alone(policy, limit);
    let is_for = |own: &&OwnImages| {
        let mut pools = pools.iter();
        pools.any(|pool| is_limit_for(policy, limit, own, *pool))
    };
    let (mut refused, mut open, mut decided) = <(Releases, Releases, Releases)>::default();
    for own in OWN_IMAGES.iter().filter(is_for) {
        let (release, architecture) = (format!("{}.0", own.release), own.of.0.to_owned());
        let mut decider = Decider::new(alone.clone(), Some(release), Some(architecture));
        let mut is_refused = true;
        for image in &own.images {
            let verdict = decider.decides(image.clone());
            is_refused &= verdict.verdict == Outcome::Refused;
            match verdict.verdict {
                Outcome::Undetermined if is_open(&verdict) => drop(open.insert(own.release)),
                Outcome::Undetermined => {}
                _ => drop(decided.insert(own.release)),
            }
            if !is_refused && decided.contains(&own.release) {
                break;
            }
        }
        if is_refused {
            refused.insert(own.release);
        }
    }
    let of_own = limit.release.map(minor);
    open.retain(|release| !decided.contains(release) && of_own.is_none_or(|own| own == *release));
    (refused, open)
}

/// Tells whether a rule is for the image, and cannot be decided about it.
fn is_open(verdict: &Verdict) -> bool {
    let asks_release = |finding: &Finding| {
        use Reason::{BelowMinimumOcpVersion, TooManyReleasesBehind};
        matches!(finding.rule, BelowMinimumOcpVersion | TooManyReleasesBehind)
            && finding.have.is_some()
    };
    verdict.blocks() || verdict.findings.iter().any(asks_release)
}

/// Tells whether nodes of this release, architecture and pool get the limit.
fn is_limit_for(policy: &Policy, limit: &Limit, own: &OwnImages, pool: Option<&str>) -> bool {
    let release = Release {
        minor: own.release,
        patch: 0,
    };
    let chosen = chosen_for(&policy.limits, limit, release, own.of, pool);
    let chosen = chosen.and_then(|index| policy.limits.get(index));
    chosen.is_some_and(|chosen| std::ptr::eq(chosen, limit))
}

/// The index of the limit that nodes of this release, architecture, family and pool get, for which
/// this limit's conditions hold.
pub(super) fn chosen_for(
    limits: &[Limit],
    limit: &Limit,
    release: Release,
    (architecture, family): (&str, Option<OsFamily>),
    pool: Option<&str>,
) -> Option<usize> {
    let platforms = limit.when.platforms.iter().flatten().next();
    let node = Circumstances {
        platform: platforms.map(String::as_str),
        architecture: Some(architecture),
        secure_boot: limit.when.secure_boot,
        fips: limit.when.fips,
        family,
        okd: Some(family != Some(OsFamily::Rhcos)),
    };
    let chosen = choose_for(limits, Some(release), pool, node).ok()??;
    limits.iter().position(|limit| std::ptr::eq(limit, chosen))
}

/// `4.8 to 4.12, 4.15`: neighbours among the releases that images are known of.
fn ranges(releases: &Releases) -> String {
    let all: BTreeSet<OcpMinor> = OWN_IMAGES.iter().map(|own| own.release).collect();
    let all: Vec<OcpMinor> = all.into_iter().collect();
    let runs = all.chunk_by(|a, b| releases.contains(a) == releases.contains(b));
    let shown = runs.filter_map(|run| match run {
        [first, ..] if !releases.contains(first) => None,
        [first, .., last] => Some(format!("{first} to {last}")),
        only => only.first().map(OcpMinor::to_string),
    });
    shown.collect::<Vec<_>>().join(", ")
}
