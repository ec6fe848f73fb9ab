//! The next step after an audit (pure).

use super::audit_request::{AuditRequest, may_be_patched, release_of};
use super::counts::Counts;
use super::facts::{lookup_helps, remedies};
use crate::audit::results::set::SetKind;
use crate::audit::{BootImageAudit, SetAudit};
use crate::lint::Rule;
use crate::lint::starter::STARTER_NAME;

/// The next step after an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NextStep {
    Command(String),
    /// Prose, in which commands stand between backticks.
    Words(String),
    /// A part of what is shown.
    Below(Below),
}

impl NextStep {
    /// In prose, in which commands stand between backticks.
    pub(super) fn says(&self) -> String {
        match self {
            Self::Command(command) => format!("`{command}`"),
            Self::Words(words) => words.clone(),
            Self::Below(below) => format!("see below {}", below.says()),
        }
    }

    /// The step as one line. A command stands as it is: it is copied.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Command(command) => format!("Next: {command}"),
            other => format!("Next: {}", other.says()),
        }
    }
}

/// A part of what is shown, at which the next step points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    Change,
    Know,
    WhyUndecided,
    Unread,
}

impl Below {
    fn says(self) -> &'static str {
        match self {
            Self::Change => "what to change",
            Self::Know => "what makes them known",
            Self::WhyUndecided => "why they are not decided",
            Self::Unread => "what was not read, and audit again",
        }
    }

    /// Tells whether an audit has such a part.
    pub(super) fn is_in(self, audit: &BootImageAudit) -> bool {
        match self {
            Self::Change => !remedies(audit).is_empty(),
            Self::Know => !lookup_helps(audit).is_empty(),
            Self::WhyUndecided => audit.sets.iter().any(|set| !set.would_be_allowed()),
            Self::Unread => !audit.unread.is_empty(),
        }
    }
}

/// The next step for a cluster alone; absent where nothing has to be done.
pub(super) fn next(
    counts: &Counts,
    audit: &BootImageAudit,
    asked: &AuditRequest,
) -> Option<NextStep> {
    if counts.hidden == 0 && counts.has_no_changes() {
        None
    } else if counts.outcomes.refused > 0 {
        Some(mend(audit, asked))
    } else if counts.outcomes.open() > 0 {
        Some(know(audit, asked))
    } else if counts.hidden + counts.makers > 0 {
        Some(NextStep::Below(Below::Unread))
    } else {
        ready(counts, audit, asked)
    }
}

/// The last steps, where nothing stands against it.
fn ready(counts: &Counts, audit: &BootImageAudit, asked: &AuditRequest) -> Option<NextStep> {
    let own = audit.policy.as_ref();
    let mode = own.and_then(|policy| policy.mode.as_deref());
    let lacks = |set: &SetAudit| set.known_issues.iter().any(|issue| !issue.in_policy);
    let all = |is: fn(&SetAudit) -> bool| audit.sets.iter().all(is);
    let is_hosted = !audit.sets.is_empty() && all(|set| set.kind == SetKind::NodePool);
    let idles = is_hosted && audit.refuses_no_hosted_node;
    let Some(policy) = &asked.policy else {
        let init = own.map_or(STARTER_NAME, |policy| &policy.path);
        let release = audit
            .sets
            .iter()
            .filter_map(|set| release_of(set.release.as_deref()?));
        let hosted = release.max().filter(|_| idles && init == STARTER_NAME);
        let hosted = hosted.map_or_else(String::new, |own| format!(" --hosted {}", own.minor));
        return Some(NextStep::Command(format!(
            "{init}{hosted} --file policy.json"
        )));
    };
    let words = if audit.sets.iter().any(lacks) {
        format!("`oc skewguard policy lint {policy}`, which names the known issues that it lacks")
    } else if counts.excepted > 0 {
        "change the images of what is excepted, or leave its pools out of the policy: nodes and admission know no exceptions".to_owned()
    } else if idles {
        let finding = Rule::NothingWithoutRelease.finding("", (1, 1), &[]);
        format!("{}: {}", finding.help, finding.message)
    } else if mode == Some("Enforce") {
        return None;
    } else {
        let render = format!("`oc skewguard render machineconfig --policy {policy}");
        let render = if is_hosted {
            format!("{render}` for the NodePools' spec.config (docs/install.md#hypershift)")
        } else if all(|set| set.pool.as_deref() == Some("master")) {
            format!("{render} --role master`")
        } else {
            format!("{render}`")
        };
        format!("set \"mode\": \"Enforce\" in {policy}, then {render}")
    };
    Some(NextStep::Words(words))
}

fn mend(audit: &BootImageAudit, asked: &AuditRequest) -> NextStep {
    let is_mended = |set: &SetAudit| set.mended_by().is_some();
    let target = asked.target.as_deref();
    let may_be = target.is_none_or(|target| may_be_patched(audit, target));
    if may_be && audit.sets.iter().any(is_mended) {
        NextStep::Command(format!("{} --print-commands fix", asked.command(target)))
    } else {
        NextStep::Below(Below::Change)
    }
}

/// The script that makes most unknown versions known, where one does; else what is said below.
fn know(audit: &BootImageAudit, asked: &AuditRequest) -> NextStep {
    let sets = audit.sets.iter().filter(|set| !set.is_excepted());
    if let Some(script) = sets.filter_map(|set| set.to_know_by).min() {
        return NextStep::Command(script.command().to_owned());
    }
    let any = |is: fn(&SetAudit) -> bool| audit.sets.iter().filter(|set| set.is_open()).any(is);
    if any(|set| set.to_know.is_some()) {
        NextStep::Below(Below::Know)
    } else if any(|set| set.remedy.is_some()) {
        mend(audit, asked)
    } else {
        NextStep::Below(Below::WhyUndecided)
    }
}
