//! The conclusion of an audit: one sentence, and the next step (pure).

use super::audit_request::AuditRequest;
use super::counts::Counts;
use super::later::Later;
use super::next::{NextStep, next};
use super::passed::passed;
use super::word::Word;
use crate::audit::BootImageAudit;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use skewguard_core::command::Exit;

/// The answer to whether the policy could enforce now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    NotReady,
    /// Something that could stand against it is unknown.
    NotKnown,
}

impl Readiness {
    pub(super) fn word(self) -> Word {
        match self {
            Self::Ready => Word::Allowed,
            Self::NotReady => Word::Refused,
            Self::NotKnown => Word::Unknown,
        }
    }
}

/// The conclusion of all clusters, and of each. Made of all sets, before some are chosen to be
/// shown.
pub(super) struct Conclusions {
    pub(super) all: Conclusion,
    /// Of each cluster; absent where it was not audited.
    pub(super) each: Vec<Option<Conclusion>>,
}

/// The result of the audit in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conclusion {
    pub(super) readiness: Readiness,
    pub(super) sentence: String,
    /// Refusals by later releases of the policy; absent where they refuse no more.
    pub(super) later: Option<Later>,
    /// The next step; absent where nothing has to be done.
    pub(super) next: Option<NextStep>,
    /// Things that were compared, and gave no cause for concern; of several clusters each has its own.
    pub(super) passed: Vec<String>,
    /// Its answer; of several clusters about the worst one.
    pub(super) asked: AuditRequest,
    /// The command that shows all of it.
    pub(super) whole: String,
    /// The command that says why a Machine is no Node.
    pub(super) why: String,
    pub(super) exit: Exit,
    /// The numbers of the sentence, each with a class of HTML and a word.
    pub(super) figures: Vec<(&'static str, usize, &'static str)>,
}

impl Conclusions {
    /// `asked` is how a cluster is asked for alone, by its context, or all of them, by none.
    pub(super) fn of(fleet: &FleetAudit, asked: impl Fn(&str) -> AuditRequest) -> Self {
        let of = |cluster: &ClusterAudit| {
            let audit = cluster.audit.as_ref()?;
            let asked = asked(&cluster.context);
            let counts = Counts::of(std::slice::from_ref(cluster));
            let next = next(&counts, audit, &asked);
            Some(Conclusion {
                passed: passed(audit),
                ..conclude(&counts, &asked, next, &asked)
            })
        };
        let each: Vec<Option<Conclusion>> = fleet.items.iter().map(of).collect();
        let all = match &*each {
            [Some(own)] if fleet.alone().is_some() => own.clone(),
            _ => of_all(fleet, asked),
        };
        Self { all, each }
    }
}

/// The conclusion of several clusters. What is next is the same audit of the worst one alone.
fn of_all(fleet: &FleetAudit, asked: impl Fn(&str) -> AuditRequest) -> Conclusion {
    let mut counts = Counts::of(&fleet.items);
    counts.is_list = true;
    if let Some(since) = &fleet.since {
        let changes = counts.changes.get_or_insert_default();
        changes.time.clone_from(&since.time);
        changes.lost.clone_from(&since.gone);
    }
    let worst = fleet.items.iter().find(|cluster| cluster.audit.is_some());
    let is_later =
        |cluster: &&ClusterAudit| !Counts::of(std::slice::from_ref(*cluster)).later.is_empty();
    let later = fleet.items.iter().find(is_later).or(worst);
    let later = asked(later.map_or("", |later| &later.context));
    let whole = asked("").whole();
    let asked = asked(worst.map_or("", |worst| &worst.context));
    let next = worst
        .filter(|_| counts.exit() != Exit::Done)
        .map(|_| NextStep::Command(asked.command(asked.target.as_deref())));
    Conclusion {
        whole,
        ..conclude(&counts, &asked, next, &later)
    }
}

/// `later` is the request for what a later release would refuse.
fn conclude(
    counts: &Counts,
    asked: &AuditRequest,
    next: Option<NextStep>,
    later: &AuditRequest,
) -> Conclusion {
    let exit = counts.exit();
    let readiness = match (counts.counted(), exit) {
        ((1.., _), _) => Readiness::NotReady,
        (_, Exit::Done) => Readiness::Ready,
        _ => Readiness::NotKnown,
    };
    let sentence = counts.changed().unwrap_or_else(|| {
        let begin = match readiness {
            Readiness::NotReady => "Not ready to enforce",
            Readiness::NotKnown => "Not known to be ready to enforce",
            Readiness::Ready => "Ready to enforce",
        };
        let target = asked.target.as_ref();
        let with = target.map_or_else(String::new, |release| format!(" with {release}"));
        let but = match readiness {
            Readiness::Ready if counts.excepted > 0 => " but for what is excepted",
            _ => "",
        };
        format!("{begin}{with}{but}: {}", counts.says())
    });
    let clusters = counts.is_list.then_some(counts.clusters);
    Conclusion {
        readiness,
        sentence: sentence + ".",
        later: (counts.later).line_of(counts.sets, counts.outcomes.refused, clusters, later),
        next,
        passed: Vec::new(),
        asked: asked.clone(),
        whole: asked.whole(),
        why: match counts.is_list {
            true => AuditRequest::default().why(),
            false => asked.why(),
        },
        exit,
        figures: counts.figures(),
    }
}

impl Conclusion {
    /// The next step where this audit is shown: of what it has nothing below the command that shows
    /// it.
    pub(super) fn next_shown(&self, audit: Option<&BootImageAudit>) -> Option<NextStep> {
        match self.next.as_ref()? {
            NextStep::Below(below) if !audit.is_some_and(|audit| below.is_in(audit)) => {
                Some(NextStep::Command(self.whole.clone()))
            }
            next => Some(next.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Objects, Unread, audit};
    use crate::cli::inputs::policy_input;
    use crate::lint::starter::STARTER;

    fn conclusion(unread: &[(bool, bool)], error: Option<&str>) -> (Exit, Readiness) {
        let policy = policy_input("p", STARTER.as_bytes());
        let of = |&(hides_sets, makes_nodes): &(bool, bool)| {
            let unread = Unread {
                makes_nodes,
                ..Unread::new("x", "y").hiding_sets(hides_sets)
            };
            let found = audit(&Objects::default(), &policy, None, vec![unread], false);
            ClusterAudit::of("a".to_owned(), Ok(found))
        };
        let mut clusters: Vec<ClusterAudit> = unread.iter().map(of).collect();
        clusters.extend(error.map(|error| ClusterAudit::of("b".to_owned(), Err(error.to_owned()))));
        let fleet = FleetAudit::of(clusters, String::new());
        let conclusion = Conclusions::of(&fleet, |_| AuditRequest::default()).all;
        (conclusion.exit, conclusion.readiness)
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
