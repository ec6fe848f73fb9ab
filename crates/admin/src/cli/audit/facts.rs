//! The facts that all forms of the audit share: of a cluster, of a set, remedies and names (pure).

use super::word::{Word, form};
use crate::audit::results::fleet::ClusterAudit;
use crate::audit::results::set::{ReleaseBy, SetIssue};
use crate::audit::results::{Summary, some_of};
use crate::audit::{
    BootImageAudit, ClusterSkew, Oldest, OldestNode, Provisioned, SetAudit, SetException,
};
use crate::lint::starter::{STARTER_NAME, STARTER_NAME_OKD};
use crate::verdict::BootImageStatus;
use indexmap::IndexMap;
use serde::Serialize;
use skewguard_cluster::moment::{Moment, span};
use skewguard_cluster::names::{count, first_of};
use std::collections::{BTreeMap, BTreeSet};

/// The cluster, release and policy of an audit: names and values.
pub(super) fn head(audit: &BootImageAudit) -> Vec<(&'static str, String)> {
    let origin = &audit.origin;
    let context = origin.context.as_ref();
    let context = context.map_or(String::new(), |context| format!(" (context {context})"));
    let server = origin.server.as_ref();
    let release = match audit.release.as_deref() {
        Some(release) => format!("{release}{}", pools_unread(audit)),
        None => "unknown: only limits without release apply".to_owned(),
    };
    let facts = [
        ("cluster", origin.name().cloned()),
        ("server", server.map(|server| format!("{server}{context}"))),
        ("read at", Some(origin.time.clone())),
        ("release", Some(release)),
        ("policy", Some(policy(audit))),
    ];
    let known = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known.collect()
}

/// The pools whose sets are judged at the cluster's release, though they may serve another, in words.
fn pools_unread(audit: &BootImageAudit) -> String {
    let sets = audit.sets.iter();
    let sets = sets.filter(|set| set.release_by == ReleaseBy::PoolUnread);
    let pools = sets.map(|set| set.pool.as_deref().unwrap_or("not known"));
    let pools: BTreeSet<&str> = pools.collect();
    if pools.is_empty() {
        return String::new();
    }
    let [which, read] = match pools.len() {
        1 => ["pool", "it was not read"],
        _ => ["pools", "they were not read"],
    };
    let pools = first_of(pools.iter().copied(), 3, pools.len());
    format!(" ({which} {pools} may serve another: {read})")
}

/// The policy that decided, in words.
fn policy(audit: &BootImageAudit) -> String {
    match &audit.policy {
        None => "none".to_owned(),
        Some(policy) if [STARTER_NAME, STARTER_NAME_OKD].contains(&&*policy.path) => format!(
            "none named: the limits and known issues of `{}`, judged as if it enforced",
            policy.path
        ),
        Some(policy) => format!(
            "{} (mode {}), judged as if it enforced",
            policy.path,
            policy.mode.as_deref().unwrap_or("unknown")
        ),
    }
}

/// The title of joined nodes that the update breaks, and those that it may break.
pub(super) const BROKEN: &str = "Joined nodes that the update breaks";

/// The names of sets, by what is true of them: what is only true of excepted sets comes last.
pub(super) type Named<'a, K> = Vec<(K, Vec<&'a SetAudit>)>;

/// The sets by their keys, each key in order.
fn named<'a, K: Ord>(sets: impl Iterator<Item = (K, &'a SetAudit)>) -> Named<'a, K> {
    let mut all: BTreeMap<K, Vec<&SetAudit>> = BTreeMap::new();
    for (key, set) in sets {
        all.entry(key).or_default().push(set);
    }
    let mut named: Named<'_, K> = all.into_iter().collect();
    named.sort_by_key(|(_, sets)| {
        let is_refused = sets.iter().any(|set| set.would_be_refused());
        (sets.iter().all(|set| set.is_excepted()), !is_refused)
    });
    named
}

/// The refused and undecided sets by platform and remedy.
pub(super) fn remedies(audit: &BootImageAudit) -> Named<'_, (&str, String)> {
    let open = audit.sets.iter().filter(|set| !set.would_be_allowed());
    named(open.filter_map(|set| {
        let platform = set.platform.as_deref().unwrap_or("other");
        Some(((platform, set.advice()?), set))
    }))
}

/// The sets of unknown version, by what makes it known.
pub(super) fn lookup_helps(audit: &BootImageAudit) -> Named<'_, &str> {
    let sets = audit.sets.iter();
    named(sets.filter_map(|set| Some((set.to_know.as_deref()?, set))))
}

/// `a, b and 3 more`.
pub(super) fn names(sets: &[&SetAudit]) -> String {
    let mut names: Vec<&str> = sets.iter().map(|set| set.row_name()).collect();
    names.dedup();
    first_of(names.iter().copied(), 3, names.len())
}

/// The namespace of all sets, where they share one.
pub(super) fn namespace(sets: &[SetAudit]) -> Option<&str> {
    let first = sets.first()?.namespace.as_str();
    let is_shared = sets.iter().all(|set| set.namespace == first);
    (is_shared && !first.is_empty()).then_some(first)
}

/// The machines that have not joined, a sentence for each set; the longest waiting first.
pub(super) fn waiting(audit: &BootImageAudit) -> Vec<String> {
    let mut sets: IndexMap<Option<&str>, Vec<&Provisioned>> = IndexMap::new();
    for machine in &audit.provisioned {
        sets.entry(machine.set.as_deref())
            .or_default()
            .push(machine);
    }
    let says = |(set, machines): (Option<&str>, Vec<&Provisioned>)| {
        let age = match age_of(audit, &machines) {
            Some(age) if machines.len() == 1 => format!(", for {age}"),
            Some(age) => format!(", the oldest for {age}"),
            None => String::new(),
        };
        let set = set.unwrap_or("no set");
        format!(
            "{set}: {} Provisioned{age}",
            count(machines.len(), "Machine")
        )
    };
    sets.into_iter().map(says).collect()
}

/// The number of machines that have not joined.
pub(super) fn wait(audit: &BootImageAudit) -> Option<String> {
    let machines: Vec<&Provisioned> = audit.provisioned.iter().collect();
    let age = match age_of(audit, &machines) {
        Some(age) if machines.len() == 1 => format!(" for {age}"),
        Some(age) => format!(", the oldest for {age}"),
        None => String::new(),
    };
    let wait = form(machines.len(), "waits", "wait");
    let says = format!(
        "{} {wait} to become a Node{age}",
        count(machines.len(), "Machine")
    );
    (!machines.is_empty()).then_some(says)
}

/// The age of the first of these machines that has one.
fn age_of(audit: &BootImageAudit, machines: &[&Provisioned]) -> Option<String> {
    let oldest = machines.iter().find(|machine| !machine.since.is_empty())?;
    age(&oldest.since, audit.now.as_deref()?)
}

/// From one time to a later one, in its largest unit.
fn age(since: &str, now: &str) -> Option<String> {
    let (since, now) = (Moment::parse(since)?, Moment::parse(now)?);
    (since <= now).then(|| span(now.since(since)))
}

/// `411.86.202308081056-0 (RHEL 8.6, OCP 4.11)`
pub(super) fn shown(image: &BootImageStatus) -> String {
    let systems = image.systems().join(", ");
    let systems = if systems.is_empty() {
        "says no release"
    } else {
        &systems
    };
    format!("{} ({systems})", image.version)
}

/// The remark on a set of [`BootImageAudit::keep_commands`].
const COULD_BE_KEPT: &str =
    "the cluster could keep its image up to date, and does not (`managedBootImages`)";

/// A fact about a set; the order is that in which a person reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum FactKind {
    Image,
    Version,
    Members,
    Release,
    Why,
    Later,
    Excepted,
    Issue,
    ToKnow,
    Fix,
    Command,
    ForGit,
    Patch,
    Upkeep,
    Note,
    Nodes,
}

impl FactKind {
    /// Its name before it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Version => "version",
            Self::Members => "members",
            Self::Release => "release",
            Self::Why => "why",
            Self::Later => "later",
            Self::Excepted => "excepted",
            Self::Issue => "issue",
            Self::ToKnow => "to know",
            Self::Fix => "fix",
            Self::Command => "command",
            Self::ForGit => "for Git",
            Self::Patch => "patch",
            Self::Upkeep => "upkeep",
            Self::Note => "note",
            Self::Nodes => "nodes",
        }
    }
}

/// Everything that is known of a set.
pub(super) fn facts(set: &SetAudit) -> Vec<(FactKind, String)> {
    let version = match (&set.boot_image, &set.known_from) {
        (Some(image), Some(from)) => Some(format!("{}, by {from}", shown(image))),
        (_, from) => from.clone(),
    };
    let members: Vec<&str> = set.members.iter().map(String::as_str).collect();
    let why = (!set.would_be_allowed()).then(|| set.message.clone());
    let mut facts = Vec::new();
    let mut add = |kind, text: Option<String>| facts.extend(text.map(|text| (kind, text)));
    add(FactKind::Image, image(set));
    add(FactKind::Version, version);
    add(
        FactKind::Members,
        (!members.is_empty()).then(|| some_of(&members)),
    );
    add(FactKind::Release, set.says_release());
    add(FactKind::Why, why);
    add(FactKind::Later, set.says_later());
    add(
        FactKind::Excepted,
        set.exception.as_ref().map(SetException::says),
    );
    for issue in known_issues(set) {
        add(FactKind::Issue, Some(issue));
    }
    add(FactKind::ToKnow, set.to_know.clone());
    add(FactKind::Fix, set.advice());
    add(FactKind::Command, set.patch.clone());
    if let Some(file) = &set.patch_file {
        add(FactKind::ForGit, Some(file.name.clone()));
        add(FactKind::Patch, Some(file.text.clone()));
    }
    add(
        FactKind::Upkeep,
        set.could_be_kept.then(|| COULD_BE_KEPT.to_owned()),
    );
    for note in &set.notes {
        add(FactKind::Note, Some(note.clone()));
    }
    add(FactKind::Nodes, nodes(set));
    facts
}

/// The known issues of a set, in words.
pub(super) fn known_issues(set: &SetAudit) -> Vec<String> {
    set.known_issues.iter().map(SetIssue::says).collect()
}

/// Platform, region and architecture, as far as they are known.
pub(super) fn place(set: &SetAudit) -> Vec<&str> {
    let place = [&set.platform, &set.region, &set.architecture];
    place.into_iter().flatten().map(String::as_str).collect()
}

/// Tells whether something is said about a set beside that it is allowed.
pub(super) fn is_said(set: &SetAudit) -> bool {
    !set.would_be_allowed() || !set.known_issues.is_empty() || set.refused_from.is_some()
}

/// The image field, and where the image is.
fn image(set: &SetAudit) -> Option<String> {
    let place = match place(set).join(", ") {
        none if none.is_empty() => none,
        place => format!(" ({place})"),
    };
    match (&set.image_field, &set.image) {
        (Some(field), Some(image)) => Some(format!("{image}{place}: {field}")),
        (Some(field), None) => Some(format!("not named by {field}{place}")),
        // An architecture alone is no place.
        (None, _) if set.platform.is_none() && set.region.is_none() => None,
        (None, _) => Some(format!("not known{place}")),
    }
}

fn nodes(set: &SetAudit) -> Option<String> {
    let nodes = set.nodes.iter().map(|nodes| match &nodes.version {
        Some(version) => format!("{} of {version}", nodes.count),
        None => format!("{} without a label", nodes.count),
    });
    let nodes: Vec<String> = nodes.collect();
    let wanted = set.replicas.map(|replicas| format!("{replicas} wanted"));
    if nodes.is_empty() && wanted.is_none() {
        return None;
    }
    let joined = match nodes.join(", ") {
        _ if set.nodes_unread => "not read".to_owned(),
        none if none.is_empty() => "none joined".to_owned(),
        joined => joined,
    };
    let pool = set.pool.as_ref().map(|pool| format!("pool {pool}"));
    let all = [Some(joined), wanted, pool].into_iter().flatten();
    Some(all.collect::<Vec<_>>().join("; "))
}

/// The columns of a row for each cluster.
pub(super) const CLUSTER_COLUMNS: [&str; 7] = [
    "CONTEXT",
    "RELEASE",
    "SETS",
    "REFUSED",
    "UNKNOWN",
    "ALLOWED",
    "OLDEST IMAGE",
];

/// The cells of a cluster's row.
pub(super) fn cluster_cells(cluster: &ClusterAudit) -> [String; 7] {
    let audit = cluster.audit.as_ref();
    let dash = || "-".to_owned();
    let number = |of: fn(&ClusterAudit, Summary) -> usize| {
        let summary = cluster.summary.map(|summary| of(cluster, summary));
        summary.map_or_else(dash, |number| number.to_string())
    };
    let release = audit.and_then(|audit| audit.release.clone());
    let oldest = audit.and_then(|audit| audit.oldest.as_ref());
    [
        cluster.context.clone(),
        release.unwrap_or_else(dash),
        number(|_, summary| summary.whole_sets.sets),
        number(|cluster, _| cluster.counted.whole_sets.would_be_refused),
        number(|cluster, _| cluster.counted.whole_sets.undetermined),
        number(|_, summary| summary.whole_sets.would_be_allowed),
        oldest.map_or_else(dash, |oldest| oldest.boot_image.version.clone()),
    ]
}

/// Remarks on a cluster beside others.
pub(super) fn cluster_notes(cluster: &ClusterAudit) -> Vec<String> {
    let mut notes = cluster_doubts(cluster);
    let excepted = cluster.summary.map_or(0, |summary| summary.excepted);
    if excepted > 0 {
        notes.push(format!("{} excepted", count(excepted, "set")));
    }
    if !cluster.other_contexts.is_empty() {
        let others = cluster.other_contexts.join(", ");
        notes.push(format!("the same cluster: {others}"));
    }
    notes
}

/// Reasons why sets of a cluster may be missing.
pub(super) fn cluster_doubts(cluster: &ClusterAudit) -> Vec<String> {
    let error = cluster.error.iter();
    let error = error.map(|error| format!("not audited: {error}"));
    let audit = cluster.audit.iter();
    let unread = audit.flat_map(|audit| &audit.unread);
    let unread = unread.filter(|unread| unread.hides_sets || unread.makes_nodes);
    let unread = unread.map(ToString::to_string);
    error.chain(unread).collect()
}

/// The worst verdict.
pub(super) fn cluster_word(cluster: &ClusterAudit) -> Word {
    let counted = cluster.counted;
    if counted.rows.would_be_refused > 0 {
        Word::Refused
    } else if cluster.error.is_some()
        || cluster.is_incomplete()
        || cluster.has_unknown_makers()
        || counted.rows.undetermined > 0
    {
        Word::Unknown
    } else {
        Word::Allowed
    }
}

/// The sentence above the command for the operator.
pub(super) fn above_command(cluster: Option<&ClusterSkew>) -> &'static str {
    let blocks_alone = cluster.is_some_and(|cluster| cluster.blocks_alone);
    if blocks_alone { CORRECT } else { UNTIL_THEN }
}

/// The sentence where the value alone blocks updates.
const CORRECT: &str =
    "No set needs another image for that. To correct the value, which ends the block:";

const UNTIL_THEN: &str = "Give these sets a newer image. To tell the Machine Config Operator until then, which turns mode Automatic off, \
     and blocks updates of the cluster where the image is below the operator's own minimum:";

/// The oldest boot image that sets make nodes from, and beside it that of joined nodes, in words.
pub(super) fn in_use(oldest: &Oldest, nodes: Option<&OldestNode>) -> String {
    let unknown = match oldest.unknown {
        0 => String::new(),
        1 => " The image of 1 more set is unknown, and may be older.".to_owned(),
        more => format!(" The images of {more} more sets are unknown, and may be older."),
    };
    let nodes = nodes.filter(|nodes| nodes.boot_image != oldest.boot_image);
    let nodes = nodes.map_or_else(String::new, |nodes| {
        format!(
            " The oldest that a joined node was made from: {}, by {}.",
            shown(&nodes.boot_image),
            nodes.used_by
        )
    });
    format!(
        "Oldest boot image that sets make nodes from: {}, by {}.{unknown}{nodes}",
        shown(&oldest.boot_image),
        oldest.used_by
    )
}

/// The oldest boot image by the Machine Config Operator, in words; nothing where it
/// cannot be compared with what was found.
pub(super) fn operator_says(audit: &BootImageAudit) -> Option<String> {
    let cluster = audit.cluster.as_ref()?;
    let unknown = audit.oldest.as_ref().map_or(0, |oldest| oldest.unknown);
    let ocp = cluster.ocp_version.as_ref().map(|ocp| format!("OCP {ocp}"));
    let says = [cluster.rhcos_version.clone(), ocp];
    let says: Vec<String> = says.into_iter().flatten().collect();
    let judged = if cluster.older_in_use? && unknown > 0 {
        "THAT IS NEWER than the oldest boot image that sets make nodes from. The right value is known once all images are"
    } else if cluster.older_in_use? {
        "THAT IS NEWER than the oldest boot image that sets make nodes from"
    } else if cluster.blocks_alone {
        "THAT ALONE BLOCKS UPDATES, no set but empty ones, which do not count, has an image below the operator's minimum"
    } else {
        "no set makes nodes from an older boot image"
    };
    Some(format!(
        "The cluster (bootImageSkewEnforcement, mode {}) says {}: {judged}.",
        cluster.mode,
        says.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn an_age_is_in_its_largest_unit() {
        let now = "2026-01-03T03:04:05Z";
        for (since, wanted) in [
            ("2026-01-03T03:04:00Z", Some("5 seconds")),
            ("2026-01-03T01:05:00Z", Some("119 minutes")),
            ("2026-01-02T23:59:00Z", Some("3 hours")),
            ("2025-12-31T03:00:00Z", Some("3 days")),
            ("2026-01-03T03:05:00Z", None),
            ("yesterday", None),
        ] {
            assert_eq!(age(since, now).as_deref(), wanted, "{since}");
        }
    }
}
