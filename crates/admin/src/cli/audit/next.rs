//! The next step after an audit (pure).

use super::conclusion::{Conclusion, Counts, STARTER_NAME, is_open};
use super::forms::facts::{lookup_helps, remedies};
use super::forms::shell::word;
use crate::audit::{BootImageAudit, SetAudit};
use crate::version::Release;

/// The request for the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AuditRequest {
    /// The arguments that make the same audit again, each after a space, without the release.
    pub(crate) arguments: String,
    /// Those that name the cluster, for other commands.
    pub(crate) source: String,
    /// What files of others need beside them.
    pub(crate) form: &'static str,
    /// The policy that was named, as a word of a command.
    pub(crate) policy: Option<String>,
    /// The release that was asked about instead of the cluster's own.
    pub(crate) target: Option<String>,
}

impl AuditRequest {
    /// The command that asks about a release; `None` is each cluster's own.
    pub(super) fn command(&self, target: Option<&str>) -> String {
        format!("{}{}", self.begin(target), self.form)
    }

    fn begin(&self, target: Option<&str>) -> String {
        let target = target.map(|release| format!(" --target {}", word(release)));
        let target = target.unwrap_or_default();
        format!("oc skewguard audit{}{target}", self.arguments)
    }

    /// The command that shows all of it.
    pub(super) fn whole(&self) -> String {
        format!("{} -o wide", self.begin(self.target.as_deref()))
    }

    /// The command that says why a Machine is no Node.
    pub(super) fn why(&self) -> String {
        format!("oc skewguard why{}", self.source)
    }
}

impl Conclusion {
    /// The next step where this audit is shown: what has nothing below is the command that shows it.
    pub(super) fn next_above(&self, audit: Option<&BootImageAudit>) -> &str {
        let is_there = |below: Below| audit.is_some_and(|audit| below.is_in(audit));
        match self.below {
            Some(below) if !is_there(below) => &self.whole,
            _ => &self.next,
        }
    }

    /// The same with a command as the next step.
    pub(super) fn without_pointing(&self) -> Self {
        Self {
            next: self.next_above(None).to_owned(),
            below: None,
            ..self.clone()
        }
    }

    /// Tells whether the next step points at this.
    pub(super) fn points_at(&self, below: Below) -> bool {
        self.below == Some(below)
    }
}

/// A part of what is shown, at which the next step points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    Change,
    Know,
    Reason,
    Unread,
}

impl Below {
    /// Tells whether an audit has such a part.
    pub(super) fn is_in(self, audit: &BootImageAudit) -> bool {
        match self {
            Self::Change => !remedies(audit).is_empty(),
            Self::Know => !lookup_helps(audit).is_empty(),
            Self::Reason => audit.sets.iter().any(|set| !set.would_be_allowed()),
            Self::Unread => !audit.unread.is_empty(),
        }
    }
}

/// The next step for a cluster alone, and where it is said; empty where nothing has to be done.
pub(super) fn next(
    counts: &Counts,
    audit: &BootImageAudit,
    asked: &AuditRequest,
) -> (String, Option<Below>) {
    if counts.hidden == 0 && counts.has_no_changes() {
        (String::new(), None)
    } else if counts.refused > 0 {
        mend(audit, asked)
    } else if counts.open() > 0 {
        know(audit)
    } else if counts.hidden + counts.makers > 0 {
        let words = "see below what was not read, and audit again";
        (words.to_owned(), Some(Below::Unread))
    } else {
        (ready(audit, asked), None)
    }
}

/// The last steps, where nothing stands against it.
fn ready(audit: &BootImageAudit, asked: &AuditRequest) -> String {
    let policy = audit.policy.as_ref();
    let mode = policy.and_then(|policy| policy.mode.as_deref());
    let lacks = |set: &SetAudit| set.known_issues.iter().any(|issue| !issue.in_policy);
    match (&asked.policy, mode) {
        (Some(policy), _) if audit.sets.iter().any(lacks) => {
            format!("oc skewguard policy lint {policy}, which names the known issues that it lacks")
        }
        (None, _) => {
            let init = policy.map_or(STARTER_NAME, |policy| &policy.path);
            format!("{init} --file policy.json")
        }
        (Some(_), Some("Enforce")) => String::new(),
        (Some(policy), _) => format!(
            "set \"mode\": \"Enforce\" in {policy}, then oc skewguard render machineconfig --policy {policy}"
        ),
    }
}

/// The release that is written as `x.y.z` or `x.y`.
pub(super) fn release_of(text: &str) -> Option<Release> {
    let whole = text.parse::<Release>();
    whole.or_else(|_| format!("{text}.0").parse()).ok()
}

/// Compares a minor release with the one that the cluster runs.
pub(super) fn is_own_release(audit: &BootImageAudit, asked: &str) -> bool {
    let minor = |release: &str| release_of(release).map(|release| release.minor);
    let origin = audit.origin.as_ref();
    let own = origin.and_then(|origin| origin.release.as_deref());
    let asked = minor(asked);
    asked.is_some() && own.and_then(minor) == asked
}

const CHANGE: &str = "see below what to change";

fn mend(audit: &BootImageAudit, asked: &AuditRequest) -> (String, Option<Below>) {
    let is_mended =
        |set: &SetAudit| set.would_be_refused() && !set.is_excepted() && set.patch.is_some();
    // The images of another release than the cluster's own are no fix yet.
    let target = asked.target.as_deref();
    let is_own = target.is_none_or(|target| is_own_release(audit, target));
    if is_own && audit.sets.iter().any(is_mended) {
        let command = format!("{} --print-commands fix", asked.begin(target));
        (command, None)
    } else {
        (CHANGE.to_owned(), Some(Below::Change))
    }
}

/// The script that makes most unknown versions known, where one does; else what is said below.
fn know(audit: &BootImageAudit) -> (String, Option<Below>) {
    let script = |name: &str| {
        let command = format!("oc skewguard audit --print-commands {name}");
        let helps = |set: &SetAudit| {
            let clue = set.to_know.as_deref();
            !set.is_excepted() && clue.is_some_and(|clue| clue.contains(&command))
        };
        audit.sets.iter().any(helps).then_some(command)
    };
    match script("labels").or_else(|| script("alephs")) {
        Some(command) => (command, None),
        None => {
            let (words, below) = below(audit);
            (words.to_owned(), Some(below))
        }
    }
}

/// The place of the text that says what to do about open sets.
fn below(audit: &BootImageAudit) -> (&'static str, Below) {
    let any = |is: fn(&SetAudit) -> bool| audit.sets.iter().filter(|set| is_open(set)).any(is);
    if any(|set| set.to_know.is_some()) {
        ("see below what makes them known", Below::Know)
    } else if any(|set| set.remedy.is_some()) {
        (CHANGE, Below::Change)
    } else if any(|set| set.boot_image.is_none()) {
        ("see below why they are not known", Below::Reason)
    } else {
        ("see below why they are not decided", Below::Reason)
    }
}
