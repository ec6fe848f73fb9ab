//! The audits of several clusters, serialised as `BootImageAuditList`: fields are only ever added
//! (pure).

use super::{BootImageAudit, Summary};
use crate::API_VERSION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Kind of a [`FleetAudit`].
pub(crate) const LIST: &str = "BootImageAuditList";

/// The audits of several clusters, serialised as `BootImageAuditList`.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[schemars(rename = "BootImageAuditList")]
pub(crate) struct FleetAudit {
    #[serde(skip_deserializing)]
    #[schemars(extend("const" = API_VERSION))]
    pub(crate) api_version: &'static str,
    #[serde(skip_deserializing)]
    #[schemars(extend("const" = LIST))]
    pub(crate) kind: &'static str,
    /// Time at which the audits were made, RFC 3339 in UTC.
    pub(crate) time: String,
    #[serde(skip_deserializing)]
    pub(crate) summary: FleetSummary,
    /// Changes since an earlier list, where one was named.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<FleetSince>,
    /// Clusters that were not audited first, then those with most refused sets, by context within.
    pub(crate) items: Vec<ClusterAudit>,
}

/// The sums of all clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetSummary {
    pub(crate) clusters: usize,
    /// Clusters that could not be audited.
    pub(crate) not_audited: usize,
    /// Clusters of which sets of machines may not have been read.
    pub(crate) incomplete: usize,
    /// Clusters with a set whose next node would be refused.
    pub(crate) with_refused: usize,
    /// The sets of all clusters.
    #[serde(flatten)]
    pub(crate) of_sets: Summary,
    /// Sets without an exception.
    #[serde(skip)]
    pub(crate) counted: Summary,
}

/// Changes since an earlier list; each cluster's audit has its own changes.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetSince {
    /// Time at which that list was made; empty where it does not say.
    pub(crate) time: String,
    /// Sets that are new or worse.
    pub(crate) changes: usize,
    /// The contexts of clusters that were audited then, and are not in this list.
    pub(crate) gone: Vec<String>,
}

/// A cluster of several.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ClusterAudit {
    /// The context of the kubeconfig; of files the infrastructure's name, else what tells it from the others.
    pub(crate) context: String,
    /// Other contexts of the same cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) other_contexts: Vec<String>,
    /// The sums of its sets; absent where it could not be audited.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<Summary>,
    /// The sums of those without an exception.
    #[serde(skip)]
    pub(crate) counted: Summary,
    /// Reason why it could not be audited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audit: Option<BootImageAudit>,
}

impl ClusterAudit {
    pub(crate) fn of(context: String, result: Result<BootImageAudit, String>) -> Self {
        let error = result.as_ref().err().cloned();
        let audit = result.ok();
        Self {
            context,
            other_contexts: Vec::new(),
            summary: audit.as_ref().map(|audit| audit.summary),
            counted: Summary::of(
                audit
                    .iter()
                    .flat_map(|audit| &audit.sets)
                    .filter(|set| !set.is_excepted() || set.would_be_allowed()),
            ),
            error,
            audit,
        }
    }

    /// Tells whether it is the only one that was asked for: it has no name beside others.
    pub(crate) fn is_alone(&self) -> bool {
        self.context.is_empty() && self.audit.is_some()
    }

    /// `spec.clusterID` of its ClusterVersion.
    pub(crate) fn id(&self) -> Option<&str> {
        self.audit.as_ref()?.origin.cluster_id.as_deref()
    }

    /// Tells whether this is its context, another one of it, or its ID or name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let contexts = std::iter::once(&self.context).chain(&self.other_contexts);
        let audit = self.audit.as_ref();
        contexts.into_iter().any(|context| context == name)
            || audit.is_some_and(|audit| audit.origin.is_of(name))
    }

    fn unread(&self) -> usize {
        self.audit.as_ref().map_or(0, |audit| audit.unread.len())
    }

    /// Tells whether sets of machines may not have been read.
    pub(crate) fn is_incomplete(&self) -> bool {
        let audit = self.audit.as_ref();
        audit.is_some_and(|audit| audit.unread.iter().any(|unread| unread.hides_sets))
    }

    /// Tells whether something makes nodes and is not understood.
    pub(crate) fn has_unknown_makers(&self) -> bool {
        let audit = self.audit.as_ref();
        audit.is_some_and(|audit| audit.unread.iter().any(|unread| unread.makes_nodes))
    }

    /// The number of sets that count, and are refused or not: of those that are new or worse, where
    /// an earlier audit was named.
    fn failing(&self) -> (usize, usize) {
        let since = self.audit.as_ref().and_then(|audit| audit.since.as_ref());
        let Some(since) = since else {
            let rows = self.counted.rows;
            return (rows.would_be_refused, rows.undetermined);
        };
        let (refused, open): (Vec<_>, Vec<_>) =
            (since.changes.iter()).partition(|change| change.is == "refused");
        (refused.len(), open.len())
    }

    fn rank(&self) -> impl Ord + '_ {
        let (refused, open) = self.failing();
        (
            self.error.is_none(),
            Reverse(refused),
            !self.is_incomplete(),
            Reverse(open + usize::from(self.has_unknown_makers())),
            &self.context,
        )
    }
}

impl FleetAudit {
    /// The audit of the only cluster that was asked for; `None` where several were.
    pub(crate) fn alone(&self) -> Option<&BootImageAudit> {
        match &*self.items {
            [only] if only.is_alone() => only.audit.as_ref(),
            _ => None,
        }
    }

    /// The audits of all clusters that were audited.
    pub(crate) fn audits(&self) -> impl Iterator<Item = &BootImageAudit> + Clone {
        self.items.iter().filter_map(|item| item.audit.as_ref())
    }

    /// Of clusters in the order in which they were named. Contexts of the same cluster are one: the
    /// one that could read most.
    pub(crate) fn of(clusters: Vec<ClusterAudit>, time: String) -> Self {
        let mut items: Vec<ClusterAudit> = Vec::new();
        for mut cluster in clusters {
            let known = items
                .iter_mut()
                .find(|other| other.id().is_some() && other.id() == cluster.id());
            let Some(other) = known else {
                items.push(cluster);
                continue;
            };
            if cluster.unread() < other.unread() {
                std::mem::swap(other, &mut cluster);
            }
            other.other_contexts.push(cluster.context);
            other.other_contexts.append(&mut cluster.other_contexts);
        }
        let mut summary = FleetSummary {
            clusters: items.len(),
            ..FleetSummary::default()
        };
        for cluster in &items {
            let of = cluster.summary.unwrap_or_default();
            summary.not_audited += usize::from(cluster.error.is_some());
            summary.incomplete += usize::from(cluster.is_incomplete());
            summary.with_refused += usize::from(of.rows.would_be_refused > 0);
            summary.of_sets += of;
            summary.counted += cluster.counted;
        }
        let mut fleet = Self {
            api_version: API_VERSION,
            kind: LIST,
            time,
            summary,
            since: None,
            items,
        };
        fleet.sort();
        fleet
    }

    /// Orders the clusters: what makes the status first.
    pub(crate) fn sort(&mut self) {
        self.items.sort_by(|a, b| a.rank().cmp(&b.rank()));
    }
}
