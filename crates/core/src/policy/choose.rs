//! Which of a policy's limits applies to a node.

use super::{Limit, LimitRelease};
use crate::version::{OcpMinor, Release};

/// Chooses the limit for a target of `release` (`None`: unknown) in `pool` (`None`: unknown).
///
/// Among the limits whose pool matches: the exact `x.y.z`; else the exact `x.y`; else the nearest
/// lower `x.y`; else one without release. Of those equally close, one that names the pool wins, then
/// the first in the file. A newer release's limit is never applied to an older target. If the
/// release is unknown only limits without release match; if the pool is unknown, only limits for any
/// pool.
pub fn choose<'a>(
    limits: &'a [Limit],
    release: Option<Release>,
    pool: Option<&str>,
) -> Option<&'a Limit> {
    let ranked = limits
        .iter()
        .filter_map(|limit| Some((rank(limit, release, pool)?, limit)));
    // Reversed, because `max_by_key` takes the last of equals.
    ranked
        .rev()
        .max_by_key(|(rank, _)| *rank)
        .map(|(_, limit)| limit)
}

/// How closely a limit's release matches the target's, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    AnyRelease,
    NearestLower(OcpMinor),
    Minor,
    Exact,
}

/// The rank of a limit: how closely its release matches, then whether it names the pool. `None`
/// where it is not for this target.
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
        (Some(LimitRelease::Minor(minor)), Some(target)) if minor < target.minor => {
            Step::NearestLower(minor)
        }
        (Some(_), _) => return None,
    };
    Some((step, names_pool))
}
