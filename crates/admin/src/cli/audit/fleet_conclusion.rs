//! The conclusion of the audits of several clusters (pure).

use super::conclusion::{AuditRequest, Conclusion, Readiness, Word, count};
use crate::audit::results::fleet::FleetAudit;
use crate::cli::Exit;

/// What the audits come to. Made of all sets, before some are chosen to be shown.
pub(super) struct FleetConclusion {
    pub(super) all: Conclusion,
    /// Of each item; absent where it was not audited.
    pub(super) each: Vec<Option<Conclusion>>,
    pub(super) exit: Exit,
}

impl FleetConclusion {
    /// `asked` is how a cluster is asked for alone, by its context.
    pub(super) fn of(
        fleet: &FleetAudit,
        target: Option<&str>,
        asked: impl Fn(&str) -> AuditRequest,
    ) -> Self {
        let each = fleet.items.iter().map(|cluster| {
            let audit = cluster.audit.as_ref()?;
            let own = Conclusion::of(audit, &asked(&cluster.context));
            Some(match &audit.since {
                Some(since) => since.conclude(audit, own),
                None => own,
            })
        });
        let exit = exit(fleet);
        Self {
            all: Conclusion {
                next: next(fleet, exit, &asked),
                ..conclusion(fleet, target, exit)
            },
            each: each.collect(),
            exit,
        }
    }
}

/// A cluster that was not audited weighs most: it is not known what it has. Then the worst of the
/// others decides.
fn exit(fleet: &FleetAudit) -> Exit {
    let audits = fleet.items.iter().filter_map(|item| item.audit.as_ref());
    let exits: Vec<Exit> = audits
        .map(|audit| match &audit.since {
            Some(since) => since.exit(audit),
            None => super::exit(audit),
        })
        .collect();
    if fleet.summary.not_audited > 0 {
        return Exit::Failed;
    }
    let worst = [Exit::Refused, Exit::Failed, Exit::Unknown];
    let worst = worst.into_iter().find(|exit| exits.contains(exit));
    worst.unwrap_or(Exit::Done)
}

fn conclusion(fleet: &FleetAudit, target: Option<&str>, exit: Exit) -> Conclusion {
    let readiness = match exit {
        Exit::Done => Readiness::Ready,
        _ if new_or_all(fleet, Word::Refused) > 0 => Readiness::NotReady,
        _ => Readiness::NotKnown,
    };
    let begin = if fleet.since.is_some() {
        changes(fleet)
    } else {
        verdicts(fleet, target, readiness)
    };
    let mut parts = vec![begin];
    parts.extend(remarks(fleet));
    Conclusion {
        readiness,
        sentence: parts.join(", ") + ".",
        next: String::new(),
    }
}

/// The same audit of the worst cluster alone.
fn next(fleet: &FleetAudit, exit: Exit, asked: impl Fn(&str) -> AuditRequest) -> String {
    let mut clusters = fleet.items.iter();
    let worst = clusters.find(|cluster| cluster.audit.is_some());
    match worst.filter(|_| exit != Exit::Done) {
        Some(worst) => format!("oc skewguard audit{}", asked(&worst.context).arguments),
        None => String::new(),
    }
}

/// The sets with this verdict; of those that are new or worse where an earlier audit was named.
fn new_or_all(fleet: &FleetAudit, word: Word) -> usize {
    if fleet.since.is_none() {
        let sets = fleet.summary.counted;
        return match word {
            Word::Refused => sets.would_be_refused,
            Word::Unknown => sets.undetermined,
            Word::Allowed => sets.would_be_allowed,
        };
    }
    let audits = fleet.items.iter().filter_map(|item| item.audit.as_ref());
    let since = audits.filter_map(|audit| audit.since.as_ref());
    since.map(|since| since.number(word)).sum()
}

fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// All sets by verdict.
fn verdicts(fleet: &FleetAudit, target: Option<&str>, readiness: Readiness) -> String {
    let summary = fleet.summary;
    let begin = match readiness {
        Readiness::NotReady => "Not ready to enforce",
        Readiness::NotKnown => "Not known to be ready to enforce",
        Readiness::Ready => "Ready to enforce",
    };
    let with = target.map_or_else(String::new, |release| format!(" with {release}"));
    let clusters = count(summary.clusters, "cluster", "clusters");
    let sets = count(summary.of_sets.sets, "set", "sets");
    let with_refused = fleet.items.iter();
    let with_refused = with_refused.filter(|cluster| cluster.counted.would_be_refused > 0);
    let refused = match summary.counted.would_be_refused {
        0 => format!("none of {sets} in {clusters} would be refused"),
        some => format!(
            "{some} of {sets} would be refused, in {} of {clusters}",
            with_refused.count()
        ),
    };
    let others = [
        (summary.counted.undetermined, "not known"),
        (summary.of_sets.excepted, "excepted"),
    ];
    let others = others.into_iter().filter(|(number, _)| *number > 0);
    let others = others.map(|(number, what)| format!(", {number} {} {what}", are(number)));
    let others: String = others.collect();
    format!("{begin}{with}: {refused}{others}")
}

/// The sets that are new or worse.
fn changes(fleet: &FleetAudit) -> String {
    let Some(since) = &fleet.since else {
        return String::new();
    };
    let then = match since.time.as_str() {
        "" => "then",
        time => time,
    };
    let summary = fleet.summary;
    let clusters = count(summary.clusters, "cluster", "clusters");
    let mut sentence = match since.changes {
        0 if summary.not_audited + summary.incomplete > 0 => {
            format!("Not known whether anything is new or worse since {then} in {clusters}")
        }
        0 => format!("Nothing is new or worse since {then} in {clusters}"),
        some => format!(
            "{} in {clusters} {} new or worse since {then}: {} would be refused, {} not known",
            count(some, "set", "sets"),
            are(some),
            new_or_all(fleet, Word::Refused),
            new_or_all(fleet, Word::Unknown)
        ),
    };
    if !since.gone.is_empty() {
        sentence += &format!("; not audited again: {}", since.gone.join(", "));
    }
    for (what, number) in others(fleet) {
        if number > 0 {
            sentence += &format!(
                "; the {what} is another one in {}",
                count(number, "cluster", "clusters")
            );
        }
    }
    sentence
}

/// How many clusters had another policy or release then.
fn others(fleet: &FleetAudit) -> [(&'static str, usize); 2] {
    let audits = fleet.items.iter().filter_map(|item| item.audit.as_ref());
    let since: Vec<_> = audits.filter_map(|audit| audit.since.as_ref()).collect();
    let policies = since.iter().filter(|since| !since.same_policy);
    let releases = since.iter().filter(|since| !since.same_release);
    [("policy", policies.count()), ("release", releases.count())]
}

/// Joined nodes that an update breaks, and what limits what can be said.
fn remarks(fleet: &FleetAudit) -> Vec<String> {
    let summary = fleet.summary;
    let makers = fleet.items.iter().filter(|item| item.has_unknown_makers());
    let doubts = [
        (summary.not_audited, "not audited"),
        (summary.incomplete, "not read whole"),
        (
            makers.count(),
            "not understood whole: something else makes nodes",
        ),
    ];
    let doubts = doubts.into_iter().filter(|(number, _)| *number > 0);
    let doubts = doubts.map(|(number, what)| {
        let were = if number == 1 { "was" } else { "were" };
        format!("{} {were} {what}", count(number, "cluster", "clusters"))
    });
    let audits = fleet.items.iter().filter_map(|item| item.audit.as_ref());
    let breaks = audits.filter(|audit| audit.births.iter().any(|birth| birth.to_know.is_none()));
    let broken = match breaks.count() {
        0 => None,
        some => Some(format!(
            "the update breaks joined nodes in {}",
            count(some, "cluster", "clusters")
        )),
    };
    broken.into_iter().chain(doubts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::results::fleet::ClusterAudit;
    use crate::audit::{Objects, Unread, audit};
    use crate::cli::policy_input;
    use crate::lint::starter::STARTER;

    fn conclusion(unread: &[(bool, bool)], error: Option<&str>) -> (Exit, Readiness) {
        let policy = policy_input("p", STARTER.as_bytes());
        let of = |&(hides_sets, makes_nodes): &(bool, bool)| {
            let unread = Unread {
                what: "x".to_owned(),
                why: "y".to_owned(),
                hides_sets,
                makes_nodes,
            };
            let found = audit(&Objects::default(), &policy, None, vec![unread], false);
            ClusterAudit::of("a".to_owned(), Ok(found))
        };
        let mut clusters: Vec<ClusterAudit> = unread.iter().map(of).collect();
        clusters.extend(error.map(|error| ClusterAudit::of("b".to_owned(), Err(error.to_owned()))));
        let fleet = FleetAudit::of(clusters, String::new());
        let conclusion = FleetConclusion::of(&fleet, None, |_| AuditRequest::default());
        (conclusion.exit, conclusion.all.readiness)
    }

    #[test]
    fn what_is_not_understood_is_not_all_clear() {
        let (seen, makes_nodes, hides) = ((false, false), (false, true), (true, false));
        for (unread, error, exit) in [
            (&[seen][..], None, Exit::Done),
            (&[seen, makes_nodes], None, Exit::Unknown),
            (&[makes_nodes, hides], None, Exit::Failed),
            (&[seen], Some("z"), Exit::Failed),
        ] {
            let readiness = match exit {
                Exit::Done => Readiness::Ready,
                _ => Readiness::NotKnown,
            };
            assert_eq!(conclusion(unread, error), (exit, readiness), "{unread:?}");
        }
    }
}
