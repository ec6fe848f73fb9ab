//! `--since`: what is new or worse than in an earlier audit.

use super::super::{Failure, named, read_file};
use super::conclusion::Word;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit, FleetSince};
use crate::audit::{AuditChanges, BootImageAudit, SetAudit, SetChange};
use crate::text::printable;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// The most that is read of the file: 200 clusters of 200 sets have less.
const MAX_BYTES: u64 = 256 << 20;

/// An earlier audit, as `-o json` printed it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Before {
    kind: String,
    #[serde(default)]
    origin: Origin,
    policy: Option<Policy>,
    release: Option<String>,
    summary: Summary,
    sets: Vec<Set>,
}

/// An earlier audit of several clusters, as `-o json` printed it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct BeforeList {
    kind: String,
    #[serde(default)]
    time: String,
    items: Vec<BeforeCluster>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BeforeCluster {
    context: String,
    #[serde(default)]
    other_contexts: Vec<String>,
    audit: Option<Before>,
}

/// What says which of the two an object is.
#[derive(Debug, Deserialize)]
struct Kind {
    kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Origin {
    time: String,
    #[serde(rename = "clusterID")]
    cluster_id: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Policy {
    digest: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Summary {
    sets: usize,
}

#[derive(Debug, Deserialize)]
struct Set {
    kind: String,
    namespace: String,
    name: String,
    image: Option<String>,
    pool: Option<String>,
    #[serde(default)]
    members: Vec<String>,
    verdict: String,
    action: String,
    exception: Option<Exception>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exception {
    ran_out: bool,
}

impl Set {
    fn is(&self, set: &SetAudit) -> bool {
        // Rows without a set had the names of their members before 0.2.
        let is_row = || {
            !set.members.is_empty()
                && self.members.is_empty()
                && self.image == set.image
                && self.pool == set.pool
        };
        self.kind == set.kind
            && self.namespace == set.namespace
            && (self.name == set.name || is_row())
    }

    /// The verdict; a set that was excepted had none.
    fn word(&self) -> Word {
        let is_excepted = self.exception.as_ref().is_some_and(|found| !found.ran_out);
        match (&*self.action, &*self.verdict) {
            _ if is_excepted => Word::Allowed,
            ("Block", _) => Word::Refused,
            ("Proceed", "Allowed" | "Disabled") => Word::Allowed,
            _ => Word::Unknown,
        }
    }
}

/// Reads the file: a list, or else the audit of the only cluster.
///
/// # Errors
/// It cannot be read, or is not a whole audit of that kind. The text names the place.
pub(super) fn load(path: &Path, is_list: bool) -> Result<BeforeList, Failure> {
    if !is_list {
        let audit: Before = read(path, "BootImageAudit", |before: &Before| &before.kind)?;
        audit.is_whole(&named(path))?;
        let items = vec![BeforeCluster {
            audit: Some(audit),
            ..BeforeCluster::default()
        }];
        return Ok(BeforeList {
            items,
            ..BeforeList::default()
        });
    }
    let list: BeforeList = read(path, "BootImageAuditList", |list: &BeforeList| &list.kind)?;
    for cluster in &list.items {
        if let Some(audit) = &cluster.audit {
            audit.is_whole(&format!("{}: {}", named(path), printable(&cluster.context)))?;
        }
    }
    Ok(list)
}

/// An object of this kind.
fn read<T: DeserializeOwned>(
    path: &Path,
    kind: &str,
    kind_in: impl Fn(&T) -> &str,
) -> Result<T, Failure> {
    let file = named(path);
    let bytes = read_file(path, MAX_BYTES).map_err(|error| format!("--since {file}: {error}"))?;
    let other = |other: &str| format!("--since {file}: is a {}, no {kind}", printable(other));
    let object: T = serde_json::from_slice(&bytes).map_err(|error| {
        if let Ok(found) = serde_json::from_slice::<Kind>(&bytes)
            && found.kind != kind
        {
            return other(&found.kind);
        }
        let (line, column) = (error.line().max(1), error.column().max(1));
        let says = error.to_string();
        let what = says.split(" at line ").next().unwrap_or(&says);
        format!(
            "--since {file}:{line}:{column}: {}: `oc skewguard audit -o json` prints what is read",
            printable(what)
        )
    })?;
    if kind_in(&object) != kind {
        return Err(other(kind_in(&object)).into());
    }
    Ok(object)
}

/// The sets that are new or worse than these.
fn changes(before: &[Set], audit: &BootImageAudit) -> Vec<SetChange> {
    let change = |set: &SetAudit| {
        let word = if set.is_excepted() {
            Word::Allowed
        } else {
            Word::of(set)
        };
        let was = before.iter().find(|old| old.is(set)).map(Set::word);
        (word < was.unwrap_or(Word::Allowed)).then(|| SetChange {
            kind: set.kind,
            namespace: set.namespace.clone(),
            name: set.name.clone(),
            was: was.map(Word::lower),
            is: word.lower(),
        })
    };
    audit.sets.iter().filter_map(change).collect()
}

impl BeforeCluster {
    /// By the cluster's ID; by the context where one of the two has no ID. The only ones are the
    /// same.
    fn is(&self, cluster: &ClusterAudit) -> bool {
        if cluster.is_alone() {
            return true;
        }
        let audit = self.audit.as_ref();
        let id = audit.and_then(|audit| audit.origin.cluster_id.as_deref());
        match (id, cluster.id()) {
            (Some(then), Some(now)) => then == now,
            _ => {
                let mut contexts = std::iter::once(&self.context).chain(&self.other_contexts);
                contexts
                    .any(|then| *then == cluster.context || cluster.other_contexts.contains(then))
            }
        }
    }
}

impl BeforeList {
    /// Adds to each audit what is new or worse than then. All sets of a cluster that was not
    /// audited then are new.
    pub(super) fn compare(&self, fleet: &mut FleetAudit) {
        let time = printable(&self.time);
        for cluster in &mut fleet.items {
            let then = self.items.iter().find(|then| then.is(cluster));
            let then = then.and_then(|then| then.audit.as_ref());
            if let Some(audit) = &mut cluster.audit {
                audit.since = Some(match then {
                    Some(before) => before.compare(audit),
                    None => AuditChanges {
                        time: time.clone(),
                        changes: changes(&[], audit),
                        gone: 0,
                        same_policy: true,
                        same_release: true,
                    },
                });
            }
        }
        let audits = fleet.items.iter().filter_map(|item| item.audit.as_ref());
        let since = audits.filter_map(|audit| audit.since.as_ref());
        let is_gone = |then: &&BeforeCluster| {
            then.audit.is_some() && !fleet.items.iter().any(|cluster| then.is(cluster))
        };
        let gone = self.items.iter().filter(is_gone);
        fleet.since = Some(FleetSince {
            time,
            changes: since.map(|since| since.changes.len()).sum(),
            gone: gone.map(|then| printable(&then.context)).collect(),
        });
    }
}

impl Before {
    /// # Errors
    /// Sets were left out.
    fn is_whole(&self, place: &str) -> Result<(), Failure> {
        if self.sets.len() == self.summary.sets {
            return Ok(());
        }
        Err(format!(
            "--since {place}: has {} of {} sets: make it without --only and names of sets",
            self.sets.len(),
            self.summary.sets
        )
        .into())
    }

    /// What is new or worse than then.
    fn compare(&self, audit: &BootImageAudit) -> AuditChanges {
        let is_gone = |old: &&Set| !audit.sets.iter().any(|set| old.is(set));
        let digest = audit.policy.as_ref().map(|policy| Policy {
            digest: policy.digest.clone(),
        });
        AuditChanges {
            time: printable(&self.origin.time),
            changes: changes(&self.sets, audit),
            gone: self.sets.iter().filter(is_gone).count(),
            same_policy: self.policy == digest,
            same_release: self.release == audit.release,
        }
    }
}

impl AuditChanges {
    /// Whether the set is new or worse.
    pub(super) fn has(&self, set: &SetAudit) -> bool {
        self.changes.iter().any(|change| {
            change.kind == set.kind && change.namespace == set.namespace && change.name == set.name
        })
    }

    pub(super) fn number(&self, word: Word) -> usize {
        let is = |change: &&SetChange| change.is == word.lower();
        self.changes.iter().filter(is).count()
    }
}
