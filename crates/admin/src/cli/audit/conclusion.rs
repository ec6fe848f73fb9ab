//! The conclusion of an audit: one sentence, and the next step (pure).

use crate::audit::{BootImageAudit, SetAudit};
use crate::version::Release;
use anstyle::{AnsiColor, Style};

/// What the policy is called where none is named.
pub(crate) const STARTER_NAME: &str = "oc skewguard policy init";

/// The one for a cluster of OKD.
pub(crate) const STARTER_NAME_OKD: &str = "oc skewguard policy init --okd";

/// The verdict on a set, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    Refused,
    /// Its version is unknown, or no rule could be applied to it: `message` says which.
    Unknown,
    Allowed,
}

impl Word {
    pub(super) fn of(set: &SetAudit) -> Self {
        if set.would_be_refused() {
            Self::Refused
        } else if set.would_be_allowed() {
            Self::Allowed
        } else {
            Self::Unknown
        }
    }

    /// In a text, where what needs attention is in capitals.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Refused => "REFUSED",
            Self::Unknown => "UNKNOWN",
            Self::Allowed => "allowed",
        }
    }

    /// In a sentence, and as the class of HTML elements.
    pub(super) fn lower(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Allowed => "allowed",
        }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Self::Refused => AnsiColor::Red.on_default().bold(),
            Self::Unknown => AnsiColor::Yellow.on_default(),
            Self::Allowed => AnsiColor::Green.on_default(),
        }
    }
}

/// Whether the policy could enforce now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    NotReady,
    /// Something that could stand against it is unknown.
    NotKnown,
}

/// What the audit comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conclusion {
    pub(super) readiness: Readiness,
    pub(super) sentence: String,
    /// What to do next; empty where nothing has to be done.
    pub(super) next: String,
}

/// How the audit was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AuditRequest {
    /// The arguments that make the same audit again, each after a space.
    pub(crate) arguments: String,
    /// The policy that was named, as a word of a command.
    pub(crate) policy: Option<String>,
    /// The release that was asked about instead of the cluster's own.
    pub(crate) target: Option<String>,
}

impl Conclusion {
    /// Of all sets: before some are chosen to be shown.
    pub(crate) fn of(audit: &BootImageAudit, asked: &AuditRequest) -> Self {
        let counts = Counts::of(audit);
        let (readiness, begin) = if counts.refused > 0 {
            (Readiness::NotReady, "Not ready to enforce")
        } else if counts.hidden || counts.makers || counts.sets == 0 || counts.open() > 0 {
            (Readiness::NotKnown, "Not known to be ready to enforce")
        } else {
            (Readiness::Ready, "Ready to enforce")
        };
        let with = asked.target.as_ref();
        let with = with.map_or_else(String::new, |release| format!(" with {release}"));
        Self {
            readiness,
            sentence: format!("{begin}{with}: {}.", counts.says()),
            next: match readiness {
                Readiness::Ready => ready(audit, asked),
                Readiness::NotReady => mend(audit, asked),
                Readiness::NotKnown if counts.open() > 0 => know(audit),
                Readiness::NotKnown => "see below what was not read, and audit again".to_owned(),
            },
        }
    }
}

/// What decides. Sets with an exception count there alone.
struct Counts {
    sets: usize,
    refused: usize,
    unknown: usize,
    /// Those whose version is known, and about which the policy decides nothing.
    undecided: usize,
    excepted: usize,
    /// Allowed sets whose image is known to fail.
    known_to_fail: usize,
    /// The update that a known issue of joined nodes breaks.
    broken_update: Option<String>,
    /// Sets that the operator should keep, and says that it fails to.
    degraded: usize,
    /// Sets may be missing.
    hidden: bool,
    /// Something makes nodes and is not understood.
    makers: bool,
    /// Something was not read.
    unread: bool,
}

impl Counts {
    fn of(audit: &BootImageAudit) -> Self {
        let number = |is: fn(&SetAudit) -> bool| audit.sets.iter().filter(|set| is(set)).count();
        Self {
            sets: audit.summary.sets,
            refused: number(|set| set.would_be_refused() && !set.is_excepted()),
            unknown: number(|set| is_open(set) && set.boot_image.is_none()),
            undecided: number(|set| is_open(set) && set.boot_image.is_some()),
            excepted: audit.summary.excepted,
            known_to_fail: number(|set| set.would_be_allowed() && !set.known_issues.is_empty()),
            broken_update: audit
                .births
                .iter()
                .find(|birth| birth.to_know.is_none())
                .map(|birth| birth.release.clone()),
            degraded: number(|set| set.is_degraded()),
            hidden: audit.unread.iter().any(|unread| unread.hides_sets),
            makers: audit.unread.iter().any(|unread| unread.makes_nodes),
            unread: !audit.unread.is_empty(),
        }
    }

    fn open(&self) -> usize {
        self.unknown + self.undecided
    }

    fn says(&self) -> String {
        let are = |number: usize| if number == 1 { "is" } else { "are" };
        let all = count(self.sets, "set", "sets");
        let mut parts = vec![match self.refused {
            0 => format!("none of {all} would be refused"),
            some => format!("{some} of {all} would be refused"),
        }];
        if self.unknown > 0 {
            parts.push(format!("{} {} not known", self.unknown, are(self.unknown)));
        }
        if self.undecided > 0 {
            let are = are(self.undecided);
            parts.push(format!(
                "{} {are} not decided by the policy",
                self.undecided
            ));
        }
        if self.excepted > 0 {
            parts.push(format!("{} {} excepted", self.excepted, are(self.excepted)));
        }
        if self.known_to_fail > 0 {
            let have = if self.known_to_fail == 1 {
                "has"
            } else {
                "have"
            };
            parts.push(format!(
                "{} allowed {have} a known issue",
                self.known_to_fail
            ));
        }
        if let Some(release) = &self.broken_update {
            parts.push(format!("the update to {release} breaks joined nodes"));
        }
        if self.degraded > 0 {
            let sets = count(self.degraded, "set", "sets");
            parts.push(format!(
                "the Machine Config Operator has not updated the image of {sets}"
            ));
        }
        if self.hidden {
            parts.push("not everything that makes nodes was read".to_owned());
        } else if self.makers {
            parts.push("not everything that makes nodes is understood".to_owned());
        } else if self.unread {
            parts.push("not everything was read".to_owned());
        }
        parts.join(", ")
    }
}

/// What is left where nothing stands against it.
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

/// Whether this minor release is the one that the cluster runs.
pub(super) fn is_own_release(audit: &BootImageAudit, asked: &str) -> bool {
    let minor = |release: &str| {
        let whole = release.parse::<Release>();
        let release = whole.or_else(|_| format!("{release}.0").parse());
        release.ok().map(|release| release.minor)
    };
    let origin = audit.origin.as_ref();
    let own = origin.and_then(|origin| origin.release.as_deref());
    let asked = minor(asked);
    asked.is_some() && own.and_then(minor) == asked
}

fn mend(audit: &BootImageAudit, asked: &AuditRequest) -> String {
    let is_mended =
        |set: &SetAudit| set.would_be_refused() && !set.is_excepted() && set.patch.is_some();
    // The images of another release than the cluster's own are no fix yet.
    let target = asked.target.as_deref();
    let is_own = target.is_none_or(|target| is_own_release(audit, target));
    if is_own && audit.sets.iter().any(is_mended) {
        format!("oc skewguard audit{} --print-commands fix", asked.arguments)
    } else {
        "see below what to change".to_owned()
    }
}

/// Whether the set leaves the conclusion open.
fn is_open(set: &SetAudit) -> bool {
    set.is_unknown() && !set.is_excepted()
}

/// The script that makes most unknown versions known, where one does; else what is said below.
fn know(audit: &BootImageAudit) -> String {
    let script = |name: &str| {
        let command = format!("oc skewguard audit --print-commands {name}");
        let helps = |set: &SetAudit| {
            let clue = set.to_know.as_deref();
            !set.is_excepted() && clue.is_some_and(|clue| clue.contains(&command))
        };
        audit.sets.iter().any(helps).then_some(command)
    };
    script("labels")
        .or_else(|| script("alephs"))
        .unwrap_or_else(|| below(audit).to_owned())
}

/// Where the rest of the text says what to do about open sets.
fn below(audit: &BootImageAudit) -> &'static str {
    let any = |is: fn(&SetAudit) -> bool| audit.sets.iter().filter(|set| is_open(set)).any(is);
    if any(|set| set.to_know.is_some()) {
        "see below what makes them known"
    } else if any(|set| set.remedy.is_some()) {
        "see below what to change"
    } else if any(|set| set.boot_image.is_none()) {
        "see below why they are not known"
    } else {
        "see below why they are not decided"
    }
}

/// `1 set`, `2 sets`.
pub(super) fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
