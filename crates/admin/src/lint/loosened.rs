//! Limits that let images in again which the limit that nodes had before them refuses: one limit is
//! used, and does not add to another.

use super::bounds::minor;
use super::own_release::{RELEASES, alone, chosen_for, denies_nothing};
use super::published::IMAGES;
use super::{Lint, Rule, Severity};
use crate::decider::Decider;
use crate::policy::json::Located;
use crate::policy::{Limit, LimitRelease, Policy};
use crate::verdict::{Outcome, Reason, Verdict};
use crate::version::{ImageVersion, OcpMinor, Release};

/// Images that a limit lets in, and the one before it refuses.
struct Loosened<'a> {
    /// The index of the one before it.
    index: usize,
    before: &'a Limit,
    newest: &'static ImageVersion,
    /// The fields of the one before it that refuse them.
    fields: Vec<&'static str>,
}

/// Warns of each limit that lets in what the limit before it refuses, of the same pools: the one that
/// its nodes have in the release before its own, or that a limit with conditions takes the place of.
pub(super) fn check(lint: &mut Lint, policy: &Policy, items: &[Located<'_>]) {
    let is_wrong = |at: &Located<'_>| {
        let mut findings = lint.report.findings.iter();
        findings.any(|it| it.severity == Severity::Error && it.path.starts_with(&at.path))
    };
    let is_wrong: Vec<bool> = items.iter().map(is_wrong).collect();
    for (index, at) in items.iter().enumerate() {
        let mut others = policy.limits.clone();
        if index >= others.len() || is_wrong.get(index) != Some(&false) {
            continue;
        }
        let limit = others.remove(index);
        let found = loosened(policy, (index, &limit), &others);
        if let Some(found) = found.filter(|found| is_wrong.get(found.index) == Some(&false)) {
            say(lint, at, &found);
        }
    }
}

fn say(lint: &mut Lint, at: &Located<'_>, found: &Loosened<'_>) {
    let release = match found.before.release {
        Some(release) => minor(release).to_string(),
        None => "any release".to_owned(),
    };
    lint.say(
        at,
        Rule::LoosenedLimit,
        &[
            ("before", &format_args!("limits[{}]", found.index)),
            ("release", &release),
            ("version", found.newest),
            ("fields", &found.fields.join(" and ")),
        ],
    );
}

/// Finds the limit that this one loosens, of the others.
fn loosened<'a>(
    policy: &Policy,
    (index, limit): (usize, &Limit),
    others: &'a [Limit],
) -> Option<Loosened<'a>> {
    let Some(LimitRelease::Minor(own)) = limit.release else {
        return None;
    };
    let pool = limit.pools.iter().flatten().next().map(String::as_str);
    let earlier = RELEASES.iter().copied().filter(|release| *release < own);
    IMAGES.iter().find_map(|(node, images)| {
        let chosen = |limits, at| chosen_for(limits, limit, last_of(at), *node, pool);
        // Another limit may be nearer.
        if chosen(&policy.limits, own)? != index {
            return None;
        }
        let mut targets = [Some(own), earlier.clone().max()].into_iter().flatten();
        targets.find_map(|target| {
            let found = chosen(others, target)?;
            let before = others
                .get(found)
                .filter(|before| is_before(before, limit, target))?;
            let deciders = [(before, target), (limit, own)].map(|(limit, target)| {
                let alone = Policy {
                    on_undetermined: policy.on_undetermined,
                    ..alone(policy, limit)
                };
                let release = format!("{target}.0");
                Decider::new(alone, Some(release), Some(node.0.to_owned()))
            });
            let (newest, fields) = compared(before, deciders, images)?;
            Some(Loosened {
                index: found + usize::from(found >= index),
                before,
                newest,
                fields,
            })
        })
    })
}

/// A patch release that no limit is for alone.
fn last_of(minor: OcpMinor) -> Release {
    Release {
        minor,
        patch: u32::MAX,
    }
}

/// Tells whether a limit may loosen another, which its nodes have for this target without it. Who
/// allows every version to nodes of some conditions, or to all that know their release, leaves them
/// out.
fn is_before(before: &Limit, limit: &Limit, target: OcpMinor) -> bool {
    let leaves_out = limit.rules.iter().all(denies_nothing);
    let is_general =
        limit.is_narrowed() && !before.is_narrowed() && before.release == limit.release;
    // An allowance of releases behind only shrinks.
    let is_as_strict = before.rules == limit.rules || before.rules.iter().all(denies_nothing);
    let is_earlier =
        before.when == limit.when && limit.release != Some(LimitRelease::Minor(target));
    !is_as_strict
        && before.pools == limit.pools
        && (is_earlier || (is_general && !leaves_out))
        && (before.release.is_some() || !leaves_out)
}

/// Compares two limits by what they decide about images: the newest that the one before refuses
/// alone, and its fields that do. Images newer than all that it lets in are those of later
/// releases: a later limit is for them.
fn compared(
    before: &Limit,
    [mut refusing, mut later]: [Decider; 2],
    images: &'static [ImageVersion],
) -> Option<(&'static ImageVersion, Vec<&'static str>)> {
    let is_refused = |verdict: &Verdict| verdict.verdict == Outcome::Refused;
    let judged = images
        .iter()
        .map(|image| (image, refusing.decides(image.clone())));
    let older = judged.skip_while(|(_, verdict)| is_refused(verdict));
    let loosened: Vec<_> = older
        .filter(|(image, verdict)| is_refused(verdict) && !later.decides((*image).clone()).blocks())
        .collect();
    let failures = loosened.iter().flat_map(|(_, verdict)| verdict.failures());
    let failed: Vec<Reason> = failures.map(|finding| finding.rule).collect();
    let is_broken = |field: &&str| Reason::set_by(field).is_some_and(|rule| failed.contains(&rule));
    let fields = before.rules.iter().map(|(field, _)| *field);
    let (newest, _) = loosened.first()?;
    Some((*newest, fields.filter(is_broken).collect()))
}
