//! The numbers that decide the conclusion of an audit, and the sentence about them (pure).

use super::later::LaterCounts;
use super::word::{Word, form};
use crate::audit::results::fleet::ClusterAudit;
use crate::audit::results::set::by_object;
use crate::audit::{BootImageAudit, SetAudit};
use skewguard_cluster::names::count;
use skewguard_core::command::Exit;

/// The numbers that decide. Sets with an exception count there alone.
#[derive(Default)]
pub(super) struct Counts {
    /// Several clusters were asked for.
    pub(super) is_list: bool,
    pub(super) clusters: usize,
    with_refused: usize,
    pub(super) sets: usize,
    pub(super) outcomes: Outcomes,
    pub(super) excepted: usize,
    allowed: usize,
    /// Allowed sets whose image is known to fail.
    known_to_fail: usize,
    /// Sets that the operator should keep, and says that it fails to.
    degraded: usize,
    /// The releases of the updates that a known issue of joined nodes breaks, one a cluster.
    broken_updates: Vec<String>,
    not_audited: usize,
    /// Clusters of which sets may be missing.
    pub(super) hidden: usize,
    /// Clusters in which something makes nodes and is not understood.
    pub(super) makers: usize,
    /// Clusters of which something was not read.
    unread: usize,
    /// Sets that later releases of the policy would refuse.
    pub(super) later: LaterCounts,
    /// Sets that are new or worse, where an earlier audit was named.
    pub(super) changes: Option<Changes>,
}

/// Sets that count, by what stands against them.
#[derive(Default)]
pub(super) struct Outcomes {
    pub(super) refused: usize,
    unknown: usize,
    /// Sets whose version is known, and about which the policy decides nothing.
    undecided: usize,
}

impl Outcomes {
    fn add(&mut self, sets: &[&SetAudit]) {
        let number = |is: fn(&SetAudit) -> bool| sets.iter().filter(|set| is(set)).count();
        self.refused += number(|set| set.would_be_refused() && !set.is_excepted());
        self.unknown += number(|set| set.is_open() && set.boot_image.is_none());
        self.undecided += number(|set| set.is_open() && set.boot_image.is_some());
    }

    pub(super) fn open(&self) -> usize {
        self.unknown + self.undecided
    }

    fn all(&self) -> usize {
        self.refused + self.open()
    }

    /// The numbers of what is open, in words that go on after a number.
    fn says_open(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let all = [
            (self.unknown, "not known"),
            (self.undecided, "not decided by the policy"),
        ];
        all.into_iter().filter(|(number, _)| *number > 0)
    }
}

/// The changes since an earlier audit.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) time: String,
    outcomes: Outcomes,
    /// Sets that were there then.
    gone: usize,
    /// Clusters that were audited then.
    pub(super) lost: Vec<String>,
    /// Clusters that had another policy then, and those that had another release.
    others: [usize; 2],
}

impl Counts {
    pub(super) fn of(clusters: &[ClusterAudit]) -> Self {
        let mut counts = Self {
            clusters: clusters.len(),
            ..Self::default()
        };
        for cluster in clusters {
            match &cluster.audit {
                Some(audit) => counts.add(cluster, audit),
                None => counts.not_audited += 1,
            }
        }
        counts
    }

    fn add(&mut self, cluster: &ClusterAudit, audit: &BootImageAudit) {
        self.later.add(audit);
        let sets = worst_rows(&audit.sets);
        let number = |is: fn(&SetAudit) -> bool| sets.iter().filter(|set| is(set)).count();
        self.with_refused += usize::from(cluster.counted.rows.would_be_refused > 0);
        self.sets += sets.len();
        self.outcomes.add(&sets);
        self.excepted += number(|set| !set.would_be_allowed() && set.is_excepted());
        self.allowed += number(SetAudit::would_be_allowed);
        self.known_to_fail += number(|set| set.would_be_allowed() && !set.known_issues.is_empty());
        self.degraded += number(SetAudit::is_degraded);
        let mut broken = audit.broken.iter();
        let broken = broken.find(|nodes| nodes.to_know.is_none());
        self.broken_updates
            .extend(broken.map(|nodes| nodes.release.clone()));
        self.hidden += usize::from(cluster.is_incomplete());
        self.makers += usize::from(cluster.has_unknown_makers());
        self.unread += usize::from(!audit.unread.is_empty());
        if let Some(since) = &audit.since {
            let changes = self.changes.get_or_insert_default();
            changes.time.clone_from(&since.time);
            let new = audit.sets.iter().filter(|set| since.has(set));
            changes.outcomes.add(&worst_rows(new));
            changes.gone += since.gone;
            changes.others[0] += usize::from(!since.same_policy);
            changes.others[1] += usize::from(!since.same_release);
        }
    }

    /// Tells whether nothing is new or worse than in the earlier audit that was named.
    pub(super) fn has_no_changes(&self) -> bool {
        let changes = self.changes.as_ref();
        changes.is_some_and(|changes| changes.outcomes.all() == 0)
    }

    /// The sets that count: refused, and open.
    pub(super) fn counted(&self) -> (usize, usize) {
        let changes = self.changes.as_ref().map(|changes| &changes.outcomes);
        let outcomes = changes.unwrap_or(&self.outcomes);
        (outcomes.refused, outcomes.open())
    }

    /// A cluster that was not audited weighs most: it is not known what it has. Then what is
    /// refused, what was not read, and what is unknown.
    pub(super) fn exit(&self) -> Exit {
        match self.counted() {
            _ if self.not_audited > 0 => Exit::Failed,
            (1.., _) => Exit::Refused,
            _ if self.hidden > 0 => Exit::Failed,
            (_, 0) if self.makers == 0 => Exit::Done,
            _ => Exit::Unknown,
        }
    }

    /// The same numbers as in the sentence about all sets.
    pub(super) fn figures(&self) -> Vec<(&'static str, usize, &'static str)> {
        let of_list = usize::from(self.is_list);
        let lacking = self.not_audited + self.hidden;
        let figures = [
            ("refused", self.outcomes.refused, "sets would be refused"),
            ("unknown", self.outcomes.unknown, "sets not known"),
            (
                "unknown",
                self.outcomes.undecided,
                "sets not decided by the policy",
            ),
            ("unknown", self.excepted, "sets excepted"),
            ("allowed", self.allowed, "sets allowed"),
            ("", self.sets, "sets in all"),
            (
                "unknown",
                of_list * lacking,
                "clusters not read, or not whole",
            ),
            ("", of_list * self.clusters, "clusters in all"),
        ];
        let is_shown = |(class, number, _): &(&str, usize, &str)| {
            *number > 0 || matches!(*class, "refused" | "allowed")
        };
        figures.into_iter().filter(is_shown).collect()
    }

    /// All sets by verdict.
    pub(super) fn says(&self) -> String {
        let sets = count(self.sets, "set");
        let clusters = count(self.clusters, "cluster");
        let mut parts = vec![match (self.outcomes.refused, self.is_list) {
            (0, false) => format!("none of {sets} would be refused"),
            (0, true) => format!("none of {sets} in {clusters} would be refused"),
            (some, false) => format!("{some} of {sets} would be refused"),
            (some, true) => {
                let with = self.with_refused;
                format!("{some} of {sets} would be refused, in {with} of {clusters}")
            }
        }];
        let excepted = Some((self.excepted, "excepted")).filter(|(number, _)| *number > 0);
        for (number, what) in self.outcomes.says_open().chain(excepted) {
            parts.push(format!("{number} {} {what}", form(number, "is", "are")));
        }
        if self.known_to_fail > 0 {
            let (fail, have) = (self.known_to_fail, form(self.known_to_fail, "has", "have"));
            parts.push(format!("{fail} allowed {have} a known issue"));
        }
        match &*self.broken_updates {
            [] => {}
            [release] if !self.is_list => {
                parts.push(format!("the update to {release} breaks joined nodes"));
            }
            broken => {
                let clusters = count(broken.len(), "cluster");
                parts.push(format!("the update breaks joined nodes in {clusters}"));
            }
        }
        if self.degraded > 0 {
            let sets = count(self.degraded, "set");
            parts.push(format!(
                "the Machine Config Operator has not updated the image of {sets}"
            ));
        }
        parts.extend(self.doubts());
        parts.join(", ")
    }

    /// The sets that are new or worse, where an earlier audit was named.
    pub(super) fn changed(&self) -> Option<String> {
        let changes = self.changes.as_ref()?;
        let then = match changes.time.as_str() {
            "" => "then",
            time => time,
        };
        let within = |number| match self.is_list {
            true => format!(" in {}", count(number, "cluster")),
            false => String::new(),
        };
        let clusters = within(self.clusters);
        let outcomes = &changes.outcomes;
        let mut parts = vec![match outcomes.all() {
            0 if self.hidden + self.not_audited > 0 => {
                format!("Not known whether anything is new or worse since {then}{clusters}")
            }
            0 if !self.later.is_empty() => {
                format!("Only what later releases would refuse is new since {then}{clusters}")
            }
            0 => format!("Nothing is new or worse since {then}{clusters}"),
            some => {
                let (sets, are) = (count(some, "set"), form(some, "is", "are"));
                let refused = (outcomes.refused, "would be refused");
                let says = numbers(std::iter::once(refused).chain(outcomes.says_open()));
                let says = says.join(", ");
                format!("{sets}{clusters} {are} new or worse since {then}: {says}")
            }
        }];
        parts.extend(self.as_before().filter(|_| outcomes.all() == 0));
        if changes.gone > 0 {
            parts.push(format!("{} gone", changes.gone));
        }
        if !changes.lost.is_empty() {
            parts.push(format!("not audited again: {}", changes.lost.join(", ")));
        }
        parts.extend(self.doubts());
        for (number, what) in changes.others.iter().zip(["policy", "release"]) {
            if *number > 0 {
                parts.push(format!("the {what} is another one{}", within(*number)));
            }
        }
        Some(parts.join("; "))
    }

    /// Sets that were refused or unknown then, and still are.
    fn as_before(&self) -> Option<String> {
        let refused = Some((self.outcomes.refused, "refused")).filter(|(number, _)| *number > 0);
        let mut all = refused.into_iter().chain(self.outcomes.says_open());
        let (number, what) = all.next()?;
        let (sets, are) = (count(self.sets, "set"), form(number, "is", "are"));
        let first = format!("{number} of {sets} {are} {what}");
        let all: Vec<String> = std::iter::once(first).chain(numbers(all)).collect();
        Some(format!("{}, as before", all.join(", ")))
    }

    /// The limits of what can be said.
    fn doubts(&self) -> Vec<String> {
        if self.is_list {
            let doubts = [
                (self.not_audited, "not audited"),
                (self.hidden, "not read whole"),
                (
                    self.makers,
                    "not understood whole: something else makes nodes",
                ),
            ];
            let doubts = doubts.into_iter().filter(|(number, _)| *number > 0);
            let doubts = doubts.map(|(number, what)| {
                let were = form(number, "was", "were");
                format!("{} {were} {what}", count(number, "cluster"))
            });
            return doubts.collect();
        }
        let doubts = [
            (self.hidden, "not everything that makes nodes was read"),
            (self.makers, "not everything that makes nodes is understood"),
            (self.unread, "not everything was read"),
        ];
        let worst = doubts.into_iter().find(|(number, _)| *number > 0);
        worst.map(|(_, what)| what.to_owned()).into_iter().collect()
    }
}

/// Each with its number.
fn numbers<'a>(all: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    all.map(|(number, what)| format!("{number} {what}"))
        .collect()
}

/// The worst row of each set: a control plane has one for each of its images.
fn worst_rows<'a>(rows: impl IntoIterator<Item = &'a SetAudit>) -> Vec<&'a SetAudit> {
    let rank = |set: &&SetAudit| (set.would_be_allowed(), set.is_excepted(), Word::of(set));
    let sets = by_object(rows).into_iter();
    sets.filter_map(|rows| rows.into_iter().min_by_key(rank))
        .collect()
}
