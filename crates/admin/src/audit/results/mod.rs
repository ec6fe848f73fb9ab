//! The audit's results, serialised as JSON: fields are only ever added.

//!
//! An earlier audit is read as well. Only what audits are compared by is read, whichever release
//! wrote it: a field that is absent has its default, and an unknown word stays as it is.

pub(crate) mod effect;
pub(crate) mod fleet;
pub(crate) mod installed_from;
pub(crate) mod path;
pub(crate) mod set;
pub(crate) mod set_kind;
pub(crate) mod upkeep;

use crate::finding::Subject;
use crate::verdict::{BootImageStatus, PolicyStatus};
use crate::version::{ImageVersion, OcpMinor};
use installed_from::InstalledFrom;
use path::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use set::{NodeCount, SetAudit, SetKind, by_object};
pub(crate) use skewguard_cluster::kinds::machine_configuration::ClusterSkew;
pub(crate) use skewguard_cluster::names::{full_name, some_of};
pub(crate) use skewguard_cluster::unread::{MAX_NOT_UNDERSTOOD, Unread};
use std::collections::{BTreeMap, BTreeSet};
use upkeep::OperatorDifference;

/// Kind of a [`BootImageAudit`].
pub(crate) const AUDIT: &str = "BootImageAudit";

/// The audit of a cluster: the boot images that a policy would refuse. What is unknown is absent, and so is a
/// flag that does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct BootImageAudit {
    #[serde(skip_deserializing)]
    #[schemars(extend("const" = crate::API_VERSION))]
    pub(crate) api_version: &'static str,
    #[serde(skip_deserializing)]
    #[schemars(extend("const" = AUDIT))]
    pub(crate) kind: &'static str,
    /// Place and time at which the objects were read.
    pub(crate) origin: Origin,
    pub(crate) summary: Summary,
    /// The policy that would decide; absent where there is nothing to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::policy")]
    pub(crate) policy: Option<PolicyStatus>,
    /// The release that it was asked about; absent where no object says it and none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    /// Sets that make nodes, worst first.
    pub(crate) sets: Vec<SetAudit>,
    /// The oldest image that sets make nodes from.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) oldest: Option<Oldest>,
    /// The oldest image that a joined node was made from.
    #[serde(rename = "oldestBirth")]
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) oldest_node: Option<OldestNode>,
    /// The Machine Config Operator's own value for the oldest boot image; absent where the cluster does not
    /// say.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<ClusterSkew>,
    /// Boot images that the cluster keeps up to date itself, by resource: `All`, `Partial` or
    /// `None`; empty where it says nothing of it.
    #[serde(skip_deserializing)]
    pub(crate) managed_boot_images: BTreeMap<String, &'static str>,
    /// The command with which the cluster keeps the images of all sets of a kind, by kind, where it
    /// could and does not.
    #[serde(skip_deserializing, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) keep_commands: BTreeMap<&'static str, String>,
    /// The release of the update that `births` is about: the one that was asked about, else that of
    /// the cluster's update under way, else the newest that it is offered; absent where none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) update: Option<String>,
    /// Joined nodes whose update a known issue breaks, and those of which it cannot be told; by
    /// pool, the oldest image first.
    #[serde(rename = "births")]
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub(crate) broken: Vec<InstalledFrom>,
    /// All joined nodes by the image that they were installed from; absent where unknown.
    #[serde(skip)]
    pub(crate) joined: Vec<NodeCount>,
    /// The time that the cluster shows: when it was read, or the newest time in its files.
    #[serde(skip)]
    pub(crate) now: Option<String>,
    /// Machines that were made and have not become nodes.
    #[serde(skip_deserializing)]
    pub(crate) provisioned: Vec<Provisioned>,
    /// Kinds and objects that could not be read, and why.
    #[serde(skip_deserializing)]
    pub(crate) unread: Vec<Unread>,
    #[serde(skip_deserializing)]
    pub(crate) warnings: Vec<String>,
    /// Differences between the policy and the Machine Config Operator.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub(crate) policy_differs_from_operator: Vec<OperatorDifference>,
    /// The policy has no limit that refuses a NodePool's node.
    #[serde(skip)]
    pub(crate) refuses_no_hosted_node: bool,
    /// Sets that are new or worse than in an earlier audit, where one was named.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<AuditChanges>,
    /// The steps on the way to a later release, where one was named.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<Path>,
    /// The reason for which there is none, where one was named.
    #[serde(skip)]
    pub(crate) no_path: Option<String>,
}

/// Sets that are new or worse than in an earlier audit.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditChanges {
    /// Time at which that audit was made; empty where it does not say.
    pub(crate) time: String,
    pub(crate) changes: Vec<SetChange>,
    /// Sets that were there then.
    pub(crate) gone: usize,
    /// Rows that a later release refuses, and did then.
    #[serde(skip)]
    pub(crate) known_later: BTreeSet<String>,
    pub(crate) same_policy: bool,
    pub(crate) same_release: bool,
}

/// A set that is new or worse.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct SetChange {
    #[schemars(with = "String")]
    pub(crate) kind: SetKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Name of the row, where several rows are of one set.
    #[serde(rename = "rowName", skip_serializing_if = "Option::is_none")]
    pub(crate) row_name: Option<String>,
    /// Its verdict then; absent where the set is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^(refused|unknown|allowed)$"))]
    pub(crate) was: Option<&'static str>,
    #[schemars(extend("pattern" = "^(refused|unknown)$"))]
    pub(crate) is: &'static str,
}

/// Place and time at which the objects were read. What is absent is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Origin {
    /// `spec.clusterID` of the ClusterVersion.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_id: Option<String>,
    /// The cluster's name for what it makes, such as `c1-x7k2p`.
    #[serde(rename = "infrastructureName", skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure: Option<String>,
    /// The URL of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// The cluster's own release: `release` of the audit is the one that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    /// The context of the kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<String>,
    /// The time at which they were read, RFC 3339 in UTC.
    pub(crate) time: String,
}

impl Origin {
    /// The cluster's name, else its ID.
    pub(crate) fn name(&self) -> Option<&String> {
        self.infrastructure.as_ref().or(self.cluster_id.as_ref())
    }

    /// Tells whether this is the cluster's ID, or its name for what it makes.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        [&self.cluster_id, &self.infrastructure]
            .into_iter()
            .flatten()
            .any(|own| own == name)
    }
}

/// A Machine whose phase is `Provisioned`: made, and not joined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Provisioned {
    /// The time at which it was made; empty where unknown.
    pub(crate) since: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Kind and name of its set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<String>,
}

impl Provisioned {
    /// In words.
    pub(crate) fn says(&self) -> String {
        let set = self.set.as_deref().unwrap_or("no set");
        let machine = Subject::new("Machine", &self.namespace, &self.name);
        let since = match self.since.as_str() {
            "" => String::new(),
            since => format!(" since {since}"),
        };
        format!("{machine} of {set} is Provisioned{since}")
    }
}

/// Numbers of rows. A set has several where its failure domains or AMIs differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Summary {
    #[serde(flatten)]
    pub(crate) rows: SetSummary,
    /// Refused and undetermined ones that have an exception.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) excepted: usize,
    /// The same of whole sets, as the conclusion counts them: the rows of a set count once, as the worst.
    pub(crate) whole_sets: SetSummary,
}

/// Numbers of sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SetSummary {
    pub(crate) sets: usize,
    /// Sets whose next node would be refused under `Enforce`.
    pub(crate) would_be_refused: usize,
    /// Sets whose next node would be let in.
    pub(crate) would_be_allowed: usize,
    /// Sets that the policy could not decide about, mostly because the version is unknown.
    pub(crate) undetermined: usize,
    /// Others that a later release of the policy would refuse.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) refused_later: usize,
}

// What serde calls takes a reference.
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Summary {
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a SetAudit>) -> Self {
        let mut summary = Self::default();
        for rows in by_object(rows) {
            rows.iter().for_each(|row| summary.rows.add(&[row]));
            summary.whole_sets.add(&rows);
        }
        summary
    }
}

impl SetSummary {
    /// Counts a set, as the worst of its rows.
    fn add(&mut self, rows: &[&SetAudit]) {
        let has = |is: fn(&SetAudit) -> bool| rows.iter().any(|row| is(row));
        let is_refused = has(SetAudit::would_be_refused);
        let verdict = match has(SetAudit::is_unknown) {
            _ if is_refused => &mut self.would_be_refused,
            true => &mut self.undetermined,
            false => &mut self.would_be_allowed,
        };
        *verdict += 1;
        self.sets += 1;
        let is_later = !is_refused && has(|row| row.refused_from.is_some());
        self.refused_later += usize::from(is_later);
    }
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.excepted += other.excepted;
        self.whole_sets += other.whole_sets;
    }
}

impl std::ops::AddAssign for SetSummary {
    fn add_assign(&mut self, other: Self) {
        self.sets += other.sets;
        self.would_be_refused += other.would_be_refused;
        self.would_be_allowed += other.would_be_allowed;
        self.undetermined += other.undetermined;
        self.refused_later += other.refused_later;
    }
}

/// The oldest image that sets make nodes from.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Oldest {
    #[schemars(schema_with = "crate::schema::image")]
    pub(crate) boot_image: BootImageStatus,
    /// The sets that use it: the first two, and how many more.
    pub(crate) used_by: String,
    /// The command that sets it in the cluster; absent where the version does not fit the fields
    /// there, where an image is unknown, and where there is no need: the cluster has no such field,
    /// has a single node, or takes no newer image for the oldest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The command that undoes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) way_back: Option<String>,
    /// Sets whose image is unknown, and may be older.
    pub(crate) unknown: usize,
}

/// The oldest image that a joined node was made from; the next nodes need not be made from it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OldestNode {
    #[schemars(schema_with = "crate::schema::image")]
    pub(crate) boot_image: BootImageStatus,
    /// The nodes that were made from it: the first two, and how many more.
    pub(crate) used_by: String,
    /// Nodes whose image is unknown, and may be older.
    pub(crate) unknown: usize,
}

/// The place of an image among others, the oldest first: by the release of OpenShift, which newer
/// images do not name.
pub(crate) fn by_release(version: &ImageVersion) -> (bool, Option<OcpMinor>) {
    (version.ocp.is_none(), version.ocp)
}
