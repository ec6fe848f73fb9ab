//! `--since`: what is new or worse than in an earlier audit.

use super::super::inputs::{json_mistake, read_file};
use super::word::Word;
use crate::audit::results::AUDIT;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit, FleetSince, LIST};
use crate::audit::{AuditChanges, BootImageAudit, Origin, SetAudit, SetChange};
use crate::finding::Subject;
use crate::text::printable;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use skewguard_cluster::file::name as named;
use skewguard_core::command::Failure;
use std::collections::BTreeSet;
use std::path::Path;

/// The most that is read of the file: 200 clusters of 200 sets have less.
const MAX_BYTES: u64 = 256 << 20;

const REMEDY: &str = "`oc skewguard audit -o json` of the same clusters prints what is read";

/// The field that tells an audit from a list of them.
#[derive(Debug, Deserialize)]
struct Kind {
    kind: String,
}

/// Reads the file: a list, or else the audit of the only cluster.
///
/// # Errors
/// It cannot be read, or is not a whole audit of that kind. The text names the place.
pub(super) fn load(path: &Path, is_list: bool) -> Result<FleetAudit, Failure> {
    let file = named(path);
    let then = match is_list {
        true => read(path, LIST)?,
        false => FleetAudit {
            items: vec![ClusterAudit {
                audit: Some(read(path, AUDIT)?),
                ..ClusterAudit::default()
            }],
            ..FleetAudit::default()
        },
    };
    for cluster in &then.items {
        let of = match is_list {
            true => format!(": {}", printable(&cluster.context)),
            false => String::new(),
        };
        let audit = cluster.audit.as_ref();
        let (has, all) = audit.map_or((0, 0), |audit| (audit.sets.len(), audit.summary.rows.sets));
        // Sets were left out.
        if has != all {
            return Err(format!("--since {file}{of}: has {has} of {all} sets: make it without --only and names of sets").into());
        }
    }
    Ok(then)
}

/// An object of this kind.
fn read<T: DeserializeOwned>(path: &Path, kind: &str) -> Result<T, Failure> {
    let file = named(path);
    let bytes =
        read_file(path, MAX_BYTES, REMEDY).map_err(|error| format!("--since {file}: {error}"))?;
    let broken = |error: serde_json::Error| {
        let ((line, column), what) = json_mistake(&error);
        format!("--since {file}:{line}:{column}: {what}; {REMEDY}")
    };
    if bytes.trim_ascii().is_empty() {
        return Err(format!("--since {file}: is empty; {REMEDY}").into());
    }
    let found: Kind = serde_json::from_slice(&bytes).map_err(broken)?;
    if found.kind != kind {
        let found = printable(&found.kind);
        return Err(format!("--since {file}: this is a {found}, not a {kind}; {REMEDY}").into());
    }
    Ok(serde_json::from_slice(&bytes).map_err(broken)?)
}

/// Tells whether a row of an earlier audit is about this set, or a part of it.
fn is_of_set(old: &SetAudit, set: &SetAudit) -> bool {
    old.object() == set.object()
}

/// The verdict on a set in an earlier audit: the best one of its parts, of which each has its own; `None`
/// where the set, or a part of it, is new.
fn verdict_then(before: &[SetAudit], set: &SetAudit) -> Option<Word> {
    let rows = || before.iter().filter(|old| is_of_set(old, set));
    if set.parts.is_empty() {
        return rows().map(word).max();
    }
    let of_part = |part: &String| {
        let is_it = |old: &&SetAudit| {
            old.parts.contains(part) || old.parts.is_empty() && old.image == set.image
        };
        rows().find(is_it).map(word)
    };
    let verdicts: Option<Vec<Word>> = set.parts.iter().map(of_part).collect();
    verdicts?.into_iter().max()
}

/// The verdict; a set that is excepted has none.
fn word(set: &SetAudit) -> Word {
    if set.is_excepted() {
        Word::Allowed
    } else {
        Word::of(set)
    }
}

/// The rows that a later release refuses, as an earlier audit says, too.
fn known_later(before: &[SetAudit], audit: &BootImageAudit) -> BTreeSet<String> {
    let is_known = |set: &&SetAudit| {
        let mut rows = before.iter().filter(|old| is_of_set(old, set));
        rows.any(|old| old.would_be_refused() || old.refused_from == set.refused_from)
    };
    let later = audit.sets.iter().filter(|set| set.refused_from.is_some());
    let known = later.filter(is_known);
    known.map(|set| set.row_name().to_owned()).collect()
}

/// The sets that are new or worse than these.
fn changes(before: &[SetAudit], audit: &BootImageAudit) -> Vec<SetChange> {
    let change = |set: &SetAudit| {
        let is = word(set);
        let was = verdict_then(before, set);
        (is < was.unwrap_or(Word::Allowed)).then(|| SetChange {
            kind: set.kind,
            namespace: set.namespace.clone(),
            name: set.name.clone(),
            row_name: set.row_name.clone(),
            was: was.map(Word::lower),
            is: is.lower(),
        })
    };
    audit.sets.iter().filter_map(change).collect()
}

/// By the cluster's ID; by the context where one of the two has no ID. The only ones are the same:
/// [`one_cluster`] refuses others.
fn is_same_cluster(then: &ClusterAudit, now: &ClusterAudit) -> bool {
    if now.is_alone() {
        return true;
    }
    match (then.id(), now.id()) {
        (Some(then), Some(now)) => then == now,
        _ => {
            let mut contexts = std::iter::once(&then.context).chain(&then.other_contexts);
            contexts.any(|then| *then == now.context || now.other_contexts.contains(then))
        }
    }
}

/// # Errors
/// The only audit of then is not of the only cluster of now, by its ID, else by its name.
fn one_cluster(before: &FleetAudit, fleet: &FleetAudit) -> Result<(), Failure> {
    let (Some(then), Some(now)) = (before.alone(), fleet.alone()) else {
        return Ok(());
    };
    let (then, now) = (&then.origin, &now.origin);
    let pair = |what, of: fn(&Origin) -> &Option<String>| {
        Some((what, of(then).as_ref()?, of(now).as_ref()?))
    };
    let ids = pair("clusterID", |origin| &origin.cluster_id);
    let names = pair("infrastructureName", |origin| &origin.infrastructure);
    match ids.or(names) {
        Some((what, then, now)) if then != now => Err(format!(
            "--since: it is an audit of another cluster, {what} {}; this one is {}",
            printable(then),
            printable(now)
        )
        .into()),
        _ => Ok(()),
    }
}

/// Tells whether no set of the only audit of then is in the only one of now: neither may say of which
/// cluster it is.
pub(super) fn shares_nothing(before: &FleetAudit, fleet: &FleetAudit) -> bool {
    let (Some(then), Some(now)) = (before.alone(), fleet.alone()) else {
        return false;
    };
    let is_here = |old: &SetAudit| now.sets.iter().any(|set| is_of_set(old, set));
    !then.sets.is_empty() && !now.sets.is_empty() && !then.sets.iter().any(is_here)
}

/// Adds to each audit what is new or worse than then. All sets of a cluster that was not audited then
/// are new.
///
/// # Errors
/// It is an audit of another cluster.
pub(super) fn compare(before: &FleetAudit, fleet: &mut FleetAudit) -> Result<(), Failure> {
    one_cluster(before, fleet)?;
    let time = printable(&before.time);
    for cluster in &mut fleet.items {
        let then = before
            .items
            .iter()
            .find(|then| is_same_cluster(then, cluster));
        let then = then.and_then(|then| then.audit.as_ref());
        if let Some(audit) = &mut cluster.audit {
            audit.since = Some(match then {
                Some(then) => audit_changes(then, audit),
                None => AuditChanges {
                    time: time.clone(),
                    same_policy: true,
                    same_release: true,
                    ..audit_changes(&BootImageAudit::default(), audit)
                },
            });
        }
    }
    fleet.sort();
    let since = fleet.audits().filter_map(|audit| audit.since.as_ref());
    let is_gone = |then: &&ClusterAudit| {
        let mut now = fleet.items.iter();
        then.audit.is_some() && !now.any(|cluster| is_same_cluster(then, cluster))
    };
    let gone = before.items.iter().filter(is_gone);
    fleet.since = Some(FleetSince {
        time,
        changes: since.map(|since| since.changes.len()).sum(),
        gone: gone.map(|then| printable(&then.context)).collect(),
    });
    Ok(())
}

fn audit_changes(before: &BootImageAudit, audit: &BootImageAudit) -> AuditChanges {
    let is_gone = |old: &&SetAudit| !audit.sets.iter().any(|set| is_of_set(old, set));
    let policy = |audit: &BootImageAudit| audit.policy.as_ref().map(|policy| policy.digest.clone());
    AuditChanges {
        time: printable(&before.origin.time),
        changes: changes(&before.sets, audit),
        known_later: known_later(&before.sets, audit),
        gone: objects(before.sets.iter().filter(is_gone).map(SetAudit::object)),
        same_policy: policy(before) == policy(audit),
        same_release: before.release == audit.release,
    }
}

/// Number of objects: a set may have several rows.
fn objects<'a>(rows: impl Iterator<Item = Subject<'a>>) -> usize {
    rows.collect::<BTreeSet<_>>().len()
}

impl SetChange {
    fn object(&self) -> Subject<'_> {
        Subject::new(self.kind.name(), &self.namespace, &self.name)
    }
}

impl AuditChanges {
    /// Tells whether the set is new or worse.
    pub(super) fn has(&self, set: &SetAudit) -> bool {
        self.changes
            .iter()
            .any(|change| change.object() == set.object() && change.row_name == set.row_name)
    }
}
