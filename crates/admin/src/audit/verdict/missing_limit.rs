//! The limit that a policy lacks for a set (pure): one that lets its pool through.

use crate::audit::results::set::MissingLimit;
use crate::audit::verdict::image_judge::Judge;
use crate::audit::verdict::valid;
use crate::verdict::{Reason, Verdict};

/// The limit that is missing where none is for the set's release and pool.
pub(crate) fn missing_limit(verdict: &Verdict, judge: Judge<'_>) -> Option<MissingLimit> {
    let policy = valid(judge.policy)?;
    if verdict.reason != Reason::NoLimitForTarget {
        return None;
    }
    let has_pools = policy.limits.iter().any(|limit| limit.pools.is_some());
    let pool = judge.image.pool.clone().filter(|_| has_pools);
    Some(MissingLimit {
        pools: pool.map(|pool| vec![pool]),
        denied_versions: Vec::new(),
    })
}

impl MissingLimit {
    /// The advice, with the limit word for word.
    pub(crate) fn says(&self) -> String {
        let pools = self.pools.iter().flatten();
        let quoted: Vec<String> = pools.map(|pool| format!("\"{pool}\"")).collect();
        if quoted.is_empty() {
            return "add to the policy's limits { \"deniedVersions\": [] }, which lets every image through that no other limit is for"
                .to_owned();
        }
        format!(
            "add to the policy's limits {{ \"pools\": [{}], \"deniedVersions\": [] }}, which lets every image of that pool through",
            quoted.join(", ")
        )
    }
}
