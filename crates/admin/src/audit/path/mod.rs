//! The steps on the way to a later release, and by when (pure): the judge at each hop.

mod by_release;

use crate::audit::results::BootImageAudit;
use crate::audit::results::path::{By, Event, Path, Step, StepKind};
use crate::audit::results::set::{ReleaseBy, SetAudit, SetException};
use crate::audit::rows::{Question, rows};
use crate::audit::verdict::horizon::{last_turn, way};
use crate::audit::verdict::image_judge::Judge;
use crate::audit::versions::image_versions::Lookup;
use crate::data::all_versions;
use crate::hops::through;
use crate::platform::Platform;
use crate::verdict::{Action, PolicyInput, Reason};
use crate::version::Release;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::Image;
use skewguard_cluster::kinds::target::parsed;
use skewguard_cluster::names::count;
use std::collections::{BTreeMap, BTreeSet};

/// A row, by the object and its part.
type Key = (&'static str, String, String);

fn key(set: &SetAudit) -> Key {
    (
        set.kind.name(),
        set.namespace.clone(),
        set.row_name().to_owned(),
    )
}

/// Finds the steps on the way from the cluster's release to `to`. `now` is the audit without it.
///
/// # Errors
/// The cluster's release is not known, or no update is known that leads from it to `to`.
pub(crate) fn path(
    objects: &Objects,
    policy: &PolicyInput,
    takes_estimates: bool,
    to: Release,
    now: &BootImageAudit,
) -> Result<Path, String> {
    let own = parsed(objects.release.as_deref());
    let own = own.ok_or("the cluster's release is not known: its ClusterVersion was not read")?;
    if to.minor < own.minor || to.minor == own.minor && to.patch <= own.patch {
        return Err(format!("the cluster is at {own} already"));
    }
    let through = through(own.minor, to.minor);
    let mut through = through.ok_or_else(|| {
        format!(
            "no update is known that leads from {} to {}",
            own.minor, to.minor
        )
    })?;
    through.pop();
    let end = match to.patch {
        0 => last_turn(policy, to.minor),
        _ => to,
    };
    let mut walk = Walk {
        lookup: Lookup::new(objects),
        policy,
        question: Question {
            asked: None,
            until: Some(end),
            takes_estimates,
        },
        own,
        served: now.sets.iter().map(|set| (key(set), served(set))).collect(),
        excepted: excepted(now),
        done: BTreeSet::new(),
        refusing: BTreeMap::new(),
        path: Path {
            from: own.to_string(),
            to: to.minor.to_string(),
            through: through.iter().map(ToString::to_string).collect(),
            ..Path::default()
        },
    };
    walk.at(None);
    let first = walk.served.values().flatten().min().copied();
    let first = first.map_or(own, |first| first.min(own));
    for hop in way(policy, Some(first), end) {
        walk.by_release(hop, now);
        walk.at(Some(hop));
    }
    Ok(walk.end(now))
}

/// The release of a NodePool's nodes, which take each hop of their own.
fn served(set: &SetAudit) -> Option<Release> {
    let is_own = set.release_by == ReleaseBy::NodePool;
    parsed(set.release.as_deref().filter(|_| is_own))
}

fn excepted(now: &BootImageAudit) -> BTreeMap<Key, SetException> {
    let all = now.sets.iter().filter(|set| set.is_excepted());
    all.filter_map(|set| Some((key(set), set.exception.clone()?)))
        .collect()
}

/// The way, as far as it was gone.
struct Walk<'a> {
    lookup: Lookup<'a>,
    policy: &'a PolicyInput,
    question: Question<'a>,
    own: Release,
    /// The release of each NodePool.
    served: BTreeMap<Key, Option<Release>>,
    excepted: BTreeMap<Key, SetException>,
    /// The steps that there are, each once.
    done: BTreeSet<(Key, bool)>,
    /// Tells if the policy refuses any image that was published, by what decides beside the image.
    refusing: BTreeMap<String, bool>,
    path: Path,
}

impl Walk<'_> {
    /// `4.22`, or the release as it is within the cluster's own x.y.
    fn name(&self, hop: Release) -> String {
        match hop.minor > self.own.minor {
            true => hop.minor.to_string(),
            false => hop.to_string(),
        }
    }

    fn by(&self, hop: Release, event: Event) -> By {
        By {
            release: self.name(hop),
            event,
        }
    }

    /// Judges all sets at a hop, or, without one, as they are.
    fn at(&mut self, hop: Option<Release>) {
        let release = hop.map(|hop| hop.to_string());
        let question = Question {
            asked: release.as_deref(),
            ..self.question
        };
        let rows = rows(&self.lookup, self.policy, question).sets;
        let by = hop.map(|hop| self.by(hop, Event::NextNode));
        for row in rows {
            let key = key(&row);
            let is_before = |hop: Release| match self.served.get(&key).copied().flatten() {
                Some(served) => hop <= served,
                None => hop < self.own,
            };
            if hop.is_some_and(is_before) || self.excepted.contains_key(&key) {
                continue;
            }
            let is_open = row.is_unknown();
            let matters = row.would_be_refused() || is_open && self.may_be_refused(&row);
            if matters && self.done.insert((key, is_open)) {
                self.path.steps.push(step(&row, by.clone()));
                self.path.rows.push(row);
            }
        }
    }

    /// Tells whether a set that is unknown may be refused: by its version, where the policy refuses any that was
    /// published.
    fn may_be_refused(&mut self, row: &SetAudit) -> bool {
        if row.reason != Reason::BootImageUnknown {
            return true;
        }
        let own = [&row.release, &row.platform, &row.pool, &row.architecture];
        let name = format!("{own:?}");
        if let Some(known) = self.refusing.get(&name) {
            return *known;
        }
        let image = Image {
            pool: row.pool.clone(),
            platform: row.platform.as_deref().and_then(Platform::named),
            architecture: row.architecture.clone(),
            ..Image::default()
        };
        let judge = Judge::of(self.policy, row.release.as_deref(), &image);
        let mut all = all_versions().iter();
        let refuses = all.any(|version| judge.verdict(Some(version)).action == Action::Block);
        self.refusing.insert(name, refuses);
        refuses
    }

    /// Adds what was compared nowhere, and what has no step.
    fn end(self, now: &BootImageAudit) -> Path {
        let mut path = self.path;
        let rows: BTreeSet<Key> = self.done.into_iter().map(|(key, _)| key).collect();
        let all = now.sets.iter().map(key);
        path.nothing_to_do = all
            .filter(|key| !rows.contains(key) && !self.excepted.contains_key(key))
            .count();
        let excepted = self.excepted.len();
        let excepted =
            (excepted > 0).then(|| format!("{} with an exception", count(excepted, "set")));
        let unread = now
            .unread
            .iter()
            .map(|unread| format!("{}, which was not read", unread.what));
        let newer = "images newer than their pool".to_owned();
        path.not_compared
            .extend(excepted.into_iter().chain(unread).chain([newer]));
        path
    }
}

/// The step for a row that is refused, or unknown.
fn step(row: &SetAudit, by: Option<By>) -> Step {
    let is_open = row.is_unknown();
    let find_out = || {
        let to_know = row.to_know.clone().or_else(|| row.advice());
        to_know.unwrap_or_else(|| format!("find out: `oc skewguard audit {}`", row.row_name()))
    };
    Step {
        kind: match is_open {
            true => StepKind::FindOut,
            false => StepKind::Image,
        },
        subject: row.row().to_string(),
        name: format!("{} {}", row.kind, row.row_name()),
        pool: row.pool.clone(),
        by,
        not_before: row.remedy_not_before.clone().filter(|_| !is_open),
        remedy: match is_open {
            true => Some(find_out()),
            false => row.advice(),
        },
        holds_to: row.remedy_holds_to.clone().filter(|_| !is_open),
        effects: match is_open {
            true => Vec::new(),
            false => row.effects.clone(),
        },
        because: row.message.clone(),
        certain: !is_open && row.boot_image.is_some(),
    }
}
