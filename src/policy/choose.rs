//! Which of a policy's limits applies to a node.

use super::{Limit, LimitRelease};
use crate::version::{OcpMinor, Release};

/// Chooses the limit for a target of `release` (`None`: unknown) in `pool` (`None`: unknown).
///
/// Among the limits whose pool matches: the exact `x.y.z`; else the exact `x.y`; else the nearest lower `x.y`, across majors too, where 5.y counts
/// as 4.(23+y); else one without release. Within one step a limit that names the pool wins, then the first in the file. A newer release's limit is never
/// applied to an older target. With an unknown release only limits without release match; with an unknown pool only those for any pool.
pub fn choose<'a>(limits: &'a [Limit], release: Option<Release>, pool: Option<&str>) -> Option<&'a Limit> {
    let mut best: Option<(Rank, &Limit)> = None;
    for limit in limits {
        let names_pool = match (&limit.pools, pool) {
            (None, _) => false,
            (Some(pools), Some(pool)) if pools.iter().any(|named| named == pool) => true,
            (Some(_), _) => continue,
        };
        let Some(step) = step(limit.release, release) else { continue };
        let rank = (step, names_pool);
        if best.is_none_or(|(best, _)| rank > best) {
            best = Some((rank, limit));
        }
    }
    best.map(|(_, limit)| limit)
}

/// How closely the release matches, then whether the pool is named.
type Rank = (Step, bool);

/// From the loosest match to the closest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    AnyRelease,
    NearestLower(OcpMinor),
    Minor,
    Exact,
}

fn step(limit: Option<LimitRelease>, target: Option<Release>) -> Option<Step> {
    match (limit, target) {
        (None, _) => Some(Step::AnyRelease),
        (Some(LimitRelease::Minor(minor)), Some(target)) if minor == target.minor => Some(Step::Minor),
        (Some(LimitRelease::Minor(minor)), Some(target)) if minor.counted() <= target.minor.counted() => {
            Some(Step::NearestLower(minor.counted()))
        }
        (Some(LimitRelease::Exact(exact)), Some(target)) if exact == target => Some(Step::Exact),
        (Some(_), _) => None,
    }
}
