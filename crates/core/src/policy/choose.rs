//! The choice of a node's limit.

use super::{Applies, Circumstances, Limit, LimitRelease};
use crate::version::{OcpMinor, Release};

/// A limit that may be the node's: nobody can tell, and no other must be applied in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undecided {
    /// Index among the limits.
    pub index: usize,
    /// Missing knowledge.
    pub why: &'static str,
}

/// Chooses the limit for a target of `release` (`None`: unknown) in `pool` (`None`: unknown).
///
/// Among the limits whose pool and `when` match: the exact `x.y.z`; else the exact `x.y`; else the
/// nearest lower `x.y`; else one without release. Of those equally close, one that names the pool
/// wins, then one with `when`, then the first in the file. A newer release's limit is never applied
/// to an older target. If the release is unknown only limits without release match; if the pool is
/// unknown, only limits for any pool.
///
/// # Errors
/// The limit that would be chosen is not understood, or its `when` asks for what is unknown.
pub fn choose_for<'a>(
    limits: &'a [Limit],
    release: Option<Release>,
    pool: Option<&str>,
    node: Circumstances<'_>,
) -> Result<Option<&'a Limit>, Undecided> {
    let holds = |limit: &Limit| match (limit.when.holds(node), limit.unclear.first()) {
        (Ok(true), Some(&"release")) => Err("its release is not understood"),
        (Ok(true), Some(&"pools")) => Err("its pools are not understood"),
        (Ok(true), Some(&"when")) => Err("its when is not understood"),
        (Ok(true), Some(_)) => Err("it is not understood"),
        (holds, _) => holds,
    };
    match best(limits, release, pool, holds) {
        Some((index, Err(why))) => Err(Undecided { index, why }),
        chosen => Ok(chosen.and_then(|(index, _)| limits.get(index))),
    }
}

/// Does the same as [`choose_for`] for nodes of which no more is known: limits with `when`, and those that are
/// not understood, are left out.
pub fn choose<'a>(
    limits: &'a [Limit],
    release: Option<Release>,
    pool: Option<&str>,
) -> Option<&'a Limit> {
    let is_for_all = |limit: &Limit| Ok(limit.unclear.is_empty() && !limit.is_narrowed());
    let (index, _) = best(limits, release, pool, is_for_all)?;
    limits.get(index)
}

/// The limit that matches best, the first of equals, and whether its other conditions hold.
fn best(
    limits: &[Limit],
    release: Option<Release>,
    pool: Option<&str>,
    holds: impl Fn(&Limit) -> Applies,
) -> Option<(usize, Applies)> {
    let ranked = limits.iter().enumerate().filter_map(|(index, limit)| {
        let rank = rank(limit, release, pool)?;
        let holds = holds(limit);
        (holds != Ok(false)).then_some((rank, index, holds))
    });
    // Reversed, because `max_by_key` takes the last of equals.
    let best = ranked.rev().max_by_key(|(rank, ..)| *rank);
    best.map(|(_, index, holds)| (index, holds))
}

/// Closeness of a limit's release to the target's, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    AnyRelease,
    NearestLower(OcpMinor),
    Minor,
    Exact,
}

/// The rank of a limit: how closely its release matches, then whether it names the pool, then
/// whether it has conditions. `None` where it is not for this target. What is not understood of it
/// may match, as closely as anything can.
fn rank(limit: &Limit, target: Option<Release>, pool: Option<&str>) -> Option<(Step, bool, bool)> {
    let is_unclear = |field| limit.unclear.contains(&field);
    let names_pool = match &limit.pools {
        _ if is_unclear("") => true,
        None if is_unclear("pools") => pool.map(|_| true)?,
        None => false,
        Some(pools) if pools.iter().any(|named| Some(named.as_str()) == pool) => true,
        Some(_) => return None,
    };
    let step = match (limit.release, target) {
        _ if is_unclear("") => Step::Exact,
        (None, target) if is_unclear("release") => target.map(|_| Step::Exact)?,
        (None, _) => Step::AnyRelease,
        (Some(LimitRelease::Exact(exact)), Some(target)) if exact == target => Step::Exact,
        (Some(LimitRelease::Minor(minor)), Some(target)) if minor == target.minor => Step::Minor,
        (Some(LimitRelease::Minor(minor)), Some(target)) if minor < target.minor => {
            Step::NearestLower(minor)
        }
        (Some(_), _) => return None,
    };
    let is_narrowed = limit.is_narrowed() || is_unclear("") || is_unclear("when");
    Some((step, names_pool, is_narrowed))
}
