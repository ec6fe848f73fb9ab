//! The page of an audit, put together once: text, HTML and Markdown show it, each in its own way
//! (pure).

use super::chart::bars;
use super::commands::keep_commands;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, InstalledFrom, Oldest, SetAudit, Unread};
use crate::cli::audit::conclusion::{Conclusion, Conclusions};
use crate::cli::audit::facts::{
    BROKEN, CLUSTER_COLUMNS, FactKind, above_command, cluster_cells, cluster_notes, cluster_word,
    facts, head, in_use, lookup_helps, names, operator_says, place, remedies, wait, waiting,
};
use crate::cli::audit::later::Later;
use crate::cli::audit::next::NextStep;
use crate::cli::audit::word::Word;
use crate::verdict::BootImageStatus;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The conclusion, and the clusters.
#[derive(Serialize)]
pub(super) struct Page<'a> {
    /// One cluster that was audited is the whole of it.
    pub(super) alone: bool,
    pub(super) conclusion: ConclusionPage<'a>,
    pub(super) columns: [&'static str; 7],
    pub(super) clusters: Vec<ClusterPage<'a>>,
    pub(super) broken_title: &'static str,
}

/// The row of a cluster beside others, and its audit.
#[derive(Serialize)]
pub(super) struct ClusterPage<'a> {
    word: Word,
    pub(super) cells: [String; 7],
    pub(super) notes: Vec<String>,
    pub(super) audit: Option<AuditPage<'a>>,
}

/// The audit of one cluster.
#[derive(Serialize)]
pub(super) struct AuditPage<'a> {
    pub(super) conclusion: ConclusionPage<'a>,
    pub(super) head: Vec<(&'static str, String)>,
    bars: Vec<Value>,
    pub(super) to_do: Vec<ToDo<'a>>,
    pub(super) sets: Vec<SetRow<'a>>,
    pub(super) broken: Vec<BrokenRow<'a>>,
    pub(super) keep: Vec<(String, &'a str)>,
    pub(super) waiting: Waiting,
    pub(super) doubts: Vec<(Doubt, String)>,
    pub(super) oldest: Option<OldestPage<'a>>,
    #[serde(skip)]
    pub(super) audit: &'a BootImageAudit,
}

/// A conclusion where it is shown.
#[derive(Serialize)]
pub(super) struct ConclusionPage<'a> {
    pub(super) word: Word,
    pub(super) sentence: &'a str,
    pub(super) later: Option<&'a Later>,
    #[serde(serialize_with = "next_step")]
    pub(super) next: Option<NextStep>,
    figures: &'a [(&'static str, usize, &'static str)],
    pub(super) passed: &'a [String],
    pub(super) why: &'a str,
}

/// A thing to do: the same of several sets once, with the commands and files of each.
#[derive(Serialize)]
pub(super) struct ToDo<'a> {
    pub(super) names: String,
    /// Of a remedy; ways to an unknown version have none.
    pub(super) platform: Option<&'a str>,
    pub(super) what: String,
    facts: Vec<(FactKind, String)>,
}

/// A row of a set.
#[derive(Serialize)]
pub(super) struct SetRow<'a> {
    #[serde(skip)]
    pub(super) set: &'a SetAudit,
    pub(super) word: Word,
    title: String,
    name: String,
    place: String,
    boot_image: Option<Value>,
    pub(super) facts: Vec<(FactKind, String)>,
    #[serde(flatten)]
    more: Value,
}

/// Joined nodes that the update breaks.
#[derive(Serialize)]
pub(super) struct BrokenRow<'a> {
    pub(super) says: String,
    names: String,
    boot_image: Option<Value>,
    nodes: &'a InstalledFrom,
}

/// Machines that have not become nodes.
#[derive(Serialize)]
pub(super) struct Waiting {
    /// How many; absent where none waits.
    pub(super) says: Option<String>,
    pub(super) by_set: Vec<String>,
    pub(super) each: Vec<String>,
}

/// Something by which the answer may be another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Doubt {
    Warning,
    /// The policy and the Machine Config Operator differ.
    Difference,
    Unread,
}

/// The oldest boot image, and the command for the operator.
#[derive(Serialize)]
pub(super) struct OldestPage<'a> {
    pub(super) says: String,
    pub(super) operator: Option<String>,
    pub(super) above_command: &'static str,
    #[serde(flatten)]
    pub(super) oldest: &'a Oldest,
}

impl<'a> Page<'a> {
    pub(super) fn of(fleet: &'a FleetAudit, conclusions: &'a Conclusions) -> Self {
        let clusters = fleet.items.iter().zip(&conclusions.each);
        Self {
            alone: fleet.alone().is_some(),
            conclusion: ConclusionPage::of(&conclusions.all, fleet.alone()),
            columns: CLUSTER_COLUMNS,
            clusters: clusters
                .map(|(cluster, own)| ClusterPage::of(cluster, own.as_ref()))
                .collect(),
            broken_title: BROKEN,
        }
    }

    /// Everything of one kind of all clusters, each with its cluster's name where there are several.
    pub(super) fn of_all<T, I: IntoIterator<Item = T>>(
        &'a self,
        items: impl Fn(&'a AuditPage<'a>) -> I,
    ) -> Vec<(Option<&'a str>, T)> {
        let of = |cluster: &'a ClusterPage<'a>| {
            let name = (!self.alone).then(|| cluster.name());
            let items = cluster.audit.iter().flat_map(&items);
            items.map(|item| (name, item)).collect::<Vec<_>>()
        };
        self.clusters.iter().flat_map(of).collect()
    }
}

impl<'a> ClusterPage<'a> {
    fn of(cluster: &'a ClusterAudit, conclusion: Option<&'a Conclusion>) -> Self {
        let audit = cluster.audit.as_ref().zip(conclusion);
        Self {
            word: cluster_word(cluster),
            cells: cluster_cells(cluster),
            notes: cluster_notes(cluster),
            audit: audit.map(|(audit, conclusion)| AuditPage::of(audit, conclusion)),
        }
    }

    /// Its context.
    pub(super) fn name(&self) -> &str {
        let [name, ..] = &self.cells;
        name
    }
}

impl<'a> AuditPage<'a> {
    fn of(audit: &'a BootImageAudit, conclusion: &'a Conclusion) -> Self {
        let oldest = audit.oldest.as_ref().map(|oldest| OldestPage {
            says: in_use(oldest, audit.oldest_node.as_ref()),
            operator: operator_says(audit),
            above_command: above_command(audit.cluster.as_ref()),
            oldest,
        });
        Self {
            conclusion: ConclusionPage::of(conclusion, Some(audit)),
            head: head(audit),
            bars: bars(audit),
            to_do: to_do(audit),
            sets: audit.sets.iter().map(SetRow::of).collect(),
            broken: audit.broken.iter().map(BrokenRow::of).collect(),
            keep: keep_commands(audit),
            waiting: Waiting {
                says: wait(audit),
                by_set: waiting(audit),
                each: (audit.provisioned.iter().map(|machine| machine.says())).collect(),
            },
            doubts: doubts(audit),
            oldest,
            audit,
        }
    }

    /// The doubts of one kind.
    pub(super) fn doubts(&self, kind: Doubt) -> Vec<String> {
        let all = self.doubts.iter().filter(|(own, _)| *own == kind);
        all.map(|(_, text)| text.clone()).collect()
    }
}

impl<'a> ConclusionPage<'a> {
    fn of(conclusion: &'a Conclusion, audit: Option<&BootImageAudit>) -> Self {
        Self {
            word: conclusion.readiness.word(),
            sentence: &conclusion.sentence,
            later: conclusion.later.as_ref(),
            next: conclusion.next_shown(audit),
            figures: &conclusion.figures,
            passed: &conclusion.passed,
            why: &conclusion.why,
        }
    }
}

fn next_step<S: Serializer>(next: &Option<NextStep>, to: S) -> Result<S::Ok, S::Error> {
    next.as_ref().map(NextStep::says).serialize(to)
}

/// Remedies, then what makes versions known; what is only of excepted sets comes last.
fn to_do(audit: &BootImageAudit) -> Vec<ToDo<'_>> {
    let remedies = remedies(audit).into_iter();
    let remedies = remedies.map(|((platform, what), sets)| (Some(platform), what, sets));
    let helps = lookup_helps(audit).into_iter();
    let helps = helps.map(|(help, sets)| (None, help.to_owned(), sets));
    let mut all: Vec<_> = remedies.chain(helps).collect();
    all.sort_by_key(|(.., sets)| sets.iter().all(|set| set.is_excepted()));
    let is_how = |(kind, _): &(FactKind, String)| {
        matches!(kind, FactKind::Command | FactKind::ForGit | FactKind::Patch)
    };
    let of = |(platform, what, sets): (_, _, Vec<&SetAudit>)| ToDo {
        names: names(&sets),
        platform,
        what,
        facts: (sets.iter().flat_map(|set| facts(set)).filter(is_how)).collect(),
    };
    all.into_iter().map(of).collect()
}

/// Warnings, differences, and what was not read.
fn doubts(audit: &BootImageAudit) -> Vec<(Doubt, String)> {
    let warnings = audit.warnings.iter().cloned();
    let differences = audit.policy_differs_from_operator.iter().map(|difference| {
        let message = &difference.message;
        format!("the policy differs from the Machine Config Operator: {message}")
    });
    let unread = audit.unread.iter().map(|unread: &Unread| {
        let missing = if unread.hides_sets {
            "; sets may be missing"
        } else {
            ""
        };
        format!("{unread}{missing}")
    });
    (warnings.map(|text| (Doubt::Warning, text)))
        .chain(differences.map(|text| (Doubt::Difference, text)))
        .chain(unread.map(|text| (Doubt::Unread, text)))
        .collect()
}

impl<'a> SetRow<'a> {
    fn of(set: &'a SetAudit) -> Self {
        let pool = set.pool.as_ref().map(|pool| format!("pool {pool}"));
        let place = place(set).into_iter().chain(pool.as_deref());
        Self {
            word: Word::of(set),
            title: set.row().title(None),
            name: set.row().full_name(),
            place: place.collect::<Vec<_>>().join(", "),
            boot_image: set.boot_image.as_ref().map(image),
            facts: facts(set),
            more: json!({
                "kind": set.kind,
                "estimate": set.estimate.as_ref().map(|estimate| &estimate.ocp_version),
                "image": set.image,
                "known_from": set.known_from,
                "joined": set.joined(),
                "replicas": set.replicas,
                "message": set.message,
            }),
            set,
        }
    }
}

impl<'a> BrokenRow<'a> {
    fn of(nodes: &'a InstalledFrom) -> Self {
        Self {
            says: nodes.says(),
            names: nodes.names(),
            boot_image: nodes.boot_image.as_ref().map(image),
            nodes,
        }
    }
}

fn image(image: &BootImageStatus) -> Value {
    json!({ "version": image.version, "systems": image.systems().join(", ") })
}
