//! Which of a policy's limits applies to a node.

use super::{Limit, LimitRelease};
use crate::version::{OcpMinor, Release};

/// Chooses the limit for a target of `release` (`None`: unknown) in `pool` (`None`: unknown).
///
/// Among the limits whose pool matches: the exact `x.y.z`; else the exact `x.y`; else the nearest lower `x.y`, across majors too, where 5.y counts
/// as 4.(23+y); else one without release. Within one step a limit that names the pool wins, then the first in the file. A newer release's limit is never
/// applied to an older target. With an unknown release only limits without release match; with an unknown pool only those for any pool.
pub fn choose<'a>(limits: &'a [Limit], release: Option<Release>, pool: Option<&str>) -> Option<&'a Limit> {
    let ranked = limits.iter().filter_map(|limit| Some((rank(limit, release, pool)?, limit)));
    // Of equals `max_by_key` takes the last.
    ranked.rev().max_by_key(|(rank, _)| *rank).map(|(_, limit)| limit)
}

/// From the loosest match to the closest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    AnyRelease,
    NearestLower(OcpMinor),
    Minor,
    Exact,
}

/// How closely the release matches, then whether the pool is named; `None` where the limit is for others.
fn rank(limit: &Limit, target: Option<Release>, pool: Option<&str>) -> Option<(Step, bool)> {
    let names_pool = match &limit.pools {
        None => false,
        Some(pools) if pools.iter().any(|named| Some(named.as_str()) == pool) => true,
        Some(_) => return None,
    };
    let step = match (limit.release, target) {
        (None, _) => Step::AnyRelease,
        (Some(LimitRelease::Exact(exact)), Some(target)) if exact == target => Step::Exact,
        (Some(LimitRelease::Minor(minor)), Some(target)) if minor == target.minor => Step::Minor,
        (Some(LimitRelease::Minor(minor)), Some(target)) if minor.counted() <= target.minor.counted() => {
            Step::NearestLower(minor.counted())
        }
        (Some(_), _) => return None,
    };
    Some((step, names_pool))
}
