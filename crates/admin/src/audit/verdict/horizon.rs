//! The later releases at which a policy would refuse a set (pure).

use crate::audit::results::set::RefusedWindow;
use crate::audit::verdict::image_judge::Judge;
use crate::audit::verdict::valid;
use crate::hops::{least, through};
use crate::policy::{Affects, Effect, LimitRelease, Policy};
use crate::verdict::{Action, PolicyInput, Verdict};
use crate::version::{ImageVersion, OcpMinor, Release};
use skewguard_cluster::kinds::target::{meant_release, parsed};
use std::collections::BTreeSet;

/// The later releases of the policy that refuse the version, and what they say. A refusal that ends within its x.y is
/// none: whoever updates takes a later patch. Where the release is unknown every release of the policy is later.
pub(crate) fn later(judge: Judge<'_>, version: &ImageVersion) -> Vec<RefusedWindow> {
    let Some(policy) = valid(judge.policy) else {
        return Vec::new();
    };
    let running = parsed(judge.release);
    let is_later = |release: &Release| running.is_none_or(|running| *release > running);
    let verdict = |release: Release| (release, verdict_at(judge, release, version));
    let turns = turns(policy).into_iter().filter(is_later);
    let judged: Vec<(Release, Verdict)> = turns.map(verdict).collect();
    let is_same = |a: &(_, Verdict), b: &(_, Verdict)| is_refused(&a.1) == is_refused(&b.1);
    let mut windows = judged.chunk_by(is_same).peekable();
    let mut found = Vec::new();
    while let Some(window) = windows.next() {
        let Some((from, verdict)) = window.first().filter(|(_, verdict)| is_refused(verdict))
        else {
            continue;
        };
        let until = windows.peek().and_then(|next| next.first());
        let until = until.map(|(release, _)| *release);
        if until.is_none_or(|until| until.minor > from.minor) {
            found.push(RefusedWindow {
                from: Some(from.short()),
                until: until.map(Release::short),
                message: Some(verdict.message.clone()),
            });
        }
    }
    found
}

fn is_refused(verdict: &Verdict) -> bool {
    verdict.action == Action::Block
}

/// The verdict at another release; one of OKD, where the cluster is.
pub(crate) fn verdict_at(judge: Judge<'_>, release: Release, version: &ImageVersion) -> Verdict {
    let release = meant_release(judge.release, &release.to_string());
    let judge = Judge {
        release: Some(&release),
        ..judge
    };
    judge.verdict(Some(version))
}

/// The last release of an x.y at which the policy's answer may turn.
pub(crate) fn last_turn(policy: &PolicyInput, minor: OcpMinor) -> Release {
    let turns = valid(policy).map(turns).unwrap_or_default().into_iter();
    let own = turns.filter(|turn| turn.minor == minor);
    own.fold(Release { minor, patch: 0 }, Release::max)
}

/// The releases from one to another, each the last of its x.y at which the policy's answer may turn; `from` and `to`
/// as they are. Without `from`, and where it is no older, `to` alone.
pub(crate) fn way(policy: &PolicyInput, from: Option<Release>, to: Release) -> Vec<Release> {
    let Some(from) = from.filter(|from| *from < to) else {
        return vec![to];
    };
    let turns = valid(policy).map(turns).unwrap_or_default();
    let between = turns.iter().map(|turn| turn.minor);
    let between = between.filter(|minor| (from.minor..=to.minor).contains(minor));
    let minors = through(from.minor, to.minor).unwrap_or_else(|| between.collect());
    let minors = std::iter::once(from.minor).chain(minors);
    let last = |minor: OcpMinor| {
        let own = turns.iter().copied().filter(|turn| turn.minor == minor);
        let begin = Release { minor, patch: 0 };
        own.chain(least(minor)).fold(begin.max(from), Release::max)
    };
    let between = minors.filter(|minor| *minor != to.minor).map(last);
    let all: BTreeSet<Release> = [from, to].into_iter().chain(between).collect();
    all.into_iter().collect()
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
