//! The later release from which on a policy would refuse a set (pure).

use crate::audit::cluster::target::meant_release;
use crate::audit::upkeep::candidate::parsed;
use crate::audit::verdict::image_judge::Judge;
use crate::audit::verdict::valid;
use crate::policy::{Affects, Effect, LimitRelease, Policy};
use crate::verdict::{Action, Verdict};
use crate::version::{ImageVersion, Release};
use std::collections::BTreeSet;

/// A refusal by a later release.
#[derive(Debug, Default)]
pub(crate) struct Later {
    pub(crate) from: Option<String>,
    /// The release that allows it again.
    pub(crate) until: Option<String>,
    pub(crate) message: Option<String>,
}

/// The first later release of the policy that refuses the version, and what it then says. A refusal that ends within
/// its x.y is none: whoever updates takes a later patch. Where the release is unknown every release of the policy is
/// later.
pub(crate) fn later(judge: Judge<'_>, version: &ImageVersion) -> Option<Later> {
    let policy = valid(judge.policy)?;
    let own = judge.release;
    let running = parsed(own);
    let is_later = |release: &Release| running.is_none_or(|running| *release > running);
    let at = |release: &str| {
        let release = Some(release);
        Judge { release, ..judge }.verdict(Some(version))
    };
    let judged: Vec<(Release, Verdict)> = turns(policy)
        .into_iter()
        .filter(is_later)
        .map(|release| (release, at(&meant_release(own, &release.to_string()))))
        .collect();
    let is_refused = |verdict: &Verdict| verdict.action == Action::Block;
    let mut refused = judged.iter().enumerate();
    refused.find_map(|(n, (from, verdict))| {
        let mut after = judged.iter().skip(n);
        let until = after.find(|(_, verdict)| !is_refused(verdict));
        let until = until.map(|(release, _)| *release);
        let lasts = until.is_none_or(|until| until.minor > from.minor);
        (is_refused(verdict) && lasts).then(|| Later {
            from: Some(short(*from)),
            until: until.map(short),
            message: Some(verdict.message.clone()),
        })
    })
}

/// The releases at which the policy's answer may turn, in order.
fn turns(policy: &Policy) -> BTreeSet<Release> {
    let limits = policy.limits.iter().filter_map(|limit| limit.release);
    let limits = limits.flat_map(|release| match release {
        LimitRelease::Minor(minor) => vec![Release { minor, patch: 0 }],
        LimitRelease::Exact(exact) => vec![exact, exact.next_patch()],
    });
    let refuses = |affects, effect| (affects, effect) == (Affects::FirstBoot, Effect::Refuse);
    let issues = policy.known_issues.iter();
    let issues = issues.filter(|issue| refuses(issue.affects, issue.effect));
    let ranges = issues.filter_map(|issue| issue.scope.as_ref().ok()?.targets.as_ref());
    limits
        .chain(ranges.flat_map(|range| range.turns()))
        .collect()
}

/// `4.22` for 4.22.0.
fn short(release: Release) -> String {
    match release.patch {
        0 => release.minor.to_string(),
        _ => release.to_string(),
    }
}
