//! The limits against each other: what none covers, and what is never chosen.

use super::json::Place;
use super::limit::Selectors;
use super::{Lint, Mistake};
use crate::policy::LimitRelease;
use crate::text;
use std::collections::BTreeMap;

/// `limits` is the array, `read` its entries.
pub(super) fn limits(lint: &mut Lint, limits: &Place<'_>, read: &[Option<Selectors<'_>>]) {
    for_the_rest(lint, limits, read);
    shadowed(lint, read);
}

fn for_the_rest(lint: &mut Lint, limits: &Place<'_>, read: &[Option<Selectors<'_>>]) {
    let any_release = || read.iter().flatten().filter(|limit| limit.release.is_none());
    if any_release().any(|limit| limit.pools.is_none()) || read.iter().any(Option::is_none) {
        return;
    }
    let (what, whom) = if any_release().next().is_none() {
        ("release", "nodes of older releases, and nodes that do not know their release")
    } else {
        ("release and pools", "nodes of other pools")
    };
    let message = format!("there is no limit without {what}: {whom} may find none and are not checked");
    lint.warning(limits, Mistake::NoLimitForTheRest, message, format!("add a limit without {what}"));
}

/// A limit is never chosen where an earlier one has its release and its pools.
fn shadowed(lint: &mut Lint, read: &[Option<Selectors<'_>>]) {
    let mut first: BTreeMap<(Option<LimitRelease>, Option<&str>), &Place<'_>> = BTreeMap::new();
    for limit in read.iter().flatten() {
        let pools: Vec<Option<&str>> = match &limit.pools {
            None => vec![None],
            Some(pools) => {
                let mut pools: Vec<_> = pools.iter().map(|pool| Some(pool.as_str())).collect();
                pools.sort_unstable();
                pools.dedup();
                pools
            }
        };
        let before: Vec<_> = pools.iter().filter_map(|pool| Some((*pool, *first.get(&(limit.release, *pool))?))).collect();
        if before.len() == pools.len()
            && let Some((_, other)) = before.first()
        {
            let message = format!("the limit is never used: {} comes before it and is for the same release and pools", other.path);
            lint.error(&limit.at, Mistake::NeverMatches, message, "join the two, or remove one");
        } else {
            for (pool, other) in before {
                let pool = text::word(pool.unwrap_or_default());
                let message = format!("for pool \"{pool}\" the limit is not used: {} comes before it and names that pool too", other.path);
                lint.warning(&limit.at, Mistake::NeverMatches, message, format!("remove \"{pool}\" from one of the two"));
            }
        }
        for pool in pools {
            first.entry((limit.release, pool)).or_insert(&limit.at);
        }
    }
}
