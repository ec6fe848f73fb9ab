//! Whether a policy refuses the images of the cluster's own release (pure): then it is the policy
//! that is wrong, because no image of that release helps.

use crate::audit::results::set::SetKind;
use crate::audit::set::Set;
use crate::audit::sets;
use crate::audit::verdict::image_judge::Judge;
use crate::audit::verdict::valid;
use crate::audit::versions::image_versions::Lookup;
use crate::policy::Mode;
use crate::verdict::{Action, PolicyInput};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::Image;
use skewguard_cluster::kinds::stream::OwnImage;
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
/// refuses, each once for each pool. A cluster without sets has its machines made by hand, of the
/// same images.
///
/// # Errors
/// The cluster's own images were not read, or its sets are those of other clusters' nodes.
pub(crate) fn refused_own(
    objects: &Objects,
    policy: &PolicyInput,
) -> Result<Vec<RefusedOwn>, &'static str> {
    if objects.own_images.is_empty() {
        return Err(
            "the ConfigMap coreos-bootimages, which has the cluster's own images, was not read",
        );
    }
    if valid(policy).is_some_and(|policy| policy.mode == Mode::None) {
        return Ok(Vec::new());
    }
    let lookup = Lookup::new(objects);
    let mut sets = sets::sets(&lookup);
    let is_without_sets = sets.is_empty();
    // The nodes of a node pool are of another cluster.
    sets.retain(|set| set.kind != SetKind::NodePool);
    let found = if is_without_sets {
        by_hand(objects, policy)
    } else if sets.is_empty() {
        return Err("the nodes of its node pools are those of other clusters");
    } else {
        by_sets(&lookup, &sets, objects, policy)
    };
    let to_refused = |((version, pool), why)| RefusedOwn { version, pool, why };
    Ok(found.into_iter().map(to_refused).collect())
}

/// Reason why a version is refused in a pool.
type Refusals = BTreeMap<(String, Option<String>), String>;

/// The refusal of an image in the place of what the judge knows.
fn refusal(judge: Judge<'_>, own: &OwnImage) -> Option<((String, Option<String>), String)> {
    let version = own.version();
    let verdict = judge.verdict(Some(&version));
    let is_refused = verdict.action == Action::Block;
    is_refused.then(|| ((version.text, judge.image.pool.clone()), verdict.message))
}

fn by_sets(lookup: &Lookup<'_>, sets: &[Set], objects: &Objects, policy: &PolicyInput) -> Refusals {
    let refusals = sets.iter().flat_map(|set| {
        let judge = Judge::of(policy, objects.release.as_deref(), &set.image);
        let own = lookup.images_for(&set.image).into_iter();
        own.filter_map(move |own| refusal(judge, own))
    });
    refusals.collect()
}

/// For each pool whose nodes could be made from none of the images. Which of them is taken is
/// unknown, and so are platform and architecture.
fn by_hand(objects: &Objects, policy: &PolicyInput) -> Refusals {
    let mut found = Refusals::new();
    for pool in ["master", "worker"] {
        let image = Image {
            pool: Some(pool.to_owned()),
            ..Image::default()
        };
        let judge = Judge::of(policy, objects.release.as_deref(), &image);
        let refused = objects.own_images.iter().map(|own| refusal(judge, own));
        let refused: Option<Refusals> = refused.collect();
        found.extend(refused.into_iter().flatten());
    }
    found
}
