//! Whether a policy refuses the images of the cluster's own release (pure): then it is the policy
//! that is wrong, because no image of that release helps.

use super::judge::verdict;
use super::lookup::Lookup;
use super::objects::Objects;
use super::sets;
use crate::verdict::{Action, PolicyInput};
use std::collections::BTreeMap;

/// An image of the cluster's own that a policy refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedOwn {
    pub(crate) version: String,
    /// The pool whose next node it would be; absent where that is unknown.
    pub(crate) pool: Option<String>,
    pub(crate) why: String,
}

/// The images of the cluster's own that could be the next ones of its sets, and that a policy
/// refuses, each once for each pool.
///
/// # Errors
/// The cluster's own images, or its sets, were not read.
pub(crate) fn refused_own(
    objects: &Objects,
    policy: &PolicyInput,
) -> Result<Vec<RefusedOwn>, &'static str> {
    if objects.own_images.is_empty() {
        return Err(
            "the ConfigMap coreos-bootimages, which has the cluster's own images, was not read",
        );
    }
    let lookup = Lookup::new(objects);
    let release = objects.release.as_deref();
    let mut sets = sets::sets(&lookup);
    // The nodes of a node pool are of another cluster.
    sets.retain(|set| set.kind != sets::NODE_POOL);
    if sets.is_empty() {
        return Err("no set of machines was read");
    }
    let mut found = BTreeMap::new();
    for set in &sets {
        let (architecture, stream) = (set.architecture.as_deref(), set.stream.as_deref());
        for own in lookup.images_for(&set.image, architecture, stream) {
            let version = own.version();
            let verdict = verdict(set, Some(&version), policy, release);
            if verdict.action == Action::Block {
                found.insert((version.text, set.image.pool.clone()), verdict.message);
            }
        }
    }
    let to_refused = |((version, pool), why)| RefusedOwn { version, pool, why };
    Ok(found.into_iter().map(to_refused).collect())
}
