//! What people read about a verdict: a row for each [`Reason`], and one for each [`Fate`] (pure).
//!
//! Console, journal, report, Event, `status` and `check` take their words from here. Nothing parses
//! them back: what a script or another part of skewguard needs has a field of its own.

use super::{
    Fate, Finding, Judged, LetThrough, Outcome, OverrideSource, Product, Reason, RuleResult,
    Verdict, Wanted,
};

/// What a reason is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A rule of a limit that the version of the judged image decides.
    Image,
    /// A rule of a limit that the machine decides, by what it was born with.
    Machine,
    /// The known issues, which have conditions for both.
    KnownIssue,
    /// No rule.
    NoRule,
}

/// What helps against a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Another image.
    Image,
    /// Another image; or where a newer OS was installed over it, an update of the boot loader.
    BootLoader,
    /// Other hardware. No image helps.
    Hardware,
}

/// The words for one reason. Templates have the names of [`fill`] in braces.
#[derive(Debug, Clone, Copy)]
pub struct ReasonWords {
    pub about: About,
    /// The policy's field that sets the rule; empty without one.
    pub field: &'static str,
    /// What breaks the policy, as a part of the node; `None` is the judged image.
    part: Option<&'static str>,
    /// The end of the console's headline, after that part.
    pub headline: &'static str,
    /// What is needed instead: a template of `want`, `have`, `denied`, `issue`, and of `os`, `base`
    /// and `release` by the names of the [`Product`].
    need: &'static str,
    /// Which one does not break it, unless the finding says more.
    wanted: Wanted,
    pub remedy: Remedy,
}

/// Every rule, in the order of rank.
pub const RULES: [Reason; 14] = [
    Reason::DeniedVersion,
    Reason::KnownIssue,
    Reason::RhelMajorUnsupported,
    Reason::BelowMinimumOcpVersion,
    Reason::BelowMinimumRhcosVersion,
    Reason::AboveMaximumRhcosVersion,
    Reason::BelowMinimumFcosVersion,
    Reason::AboveMaximumFcosVersion,
    Reason::BelowMinimumScosVersion,
    Reason::AboveMaximumScosVersion,
    Reason::TooManyReleasesBehind,
    Reason::CpuBelowMinimum,
    Reason::BootSpaceBelowMinimum,
    Reason::ShimBelowMinimum,
];

const TOO_OLD: &str = "IS TOO OLD FOR THIS CLUSTER";
const TOO_NEW: &str = "IS NEWER THAN ALLOWED";

/// A rule about the judged image, which another image passes.
const fn image(
    field: &'static str,
    headline: &'static str,
    need: &'static str,
    wanted: Wanted,
) -> ReasonWords {
    ReasonWords {
        about: About::Image,
        field,
        part: None,
        headline,
        need,
        wanted,
        remedy: Remedy::Image,
    }
}

/// A rule about a part of the machine, which a newer one passes.
const fn machine(
    field: &'static str,
    part: &'static str,
    headline: &'static str,
    need: &'static str,
    remedy: Remedy,
) -> ReasonWords {
    ReasonWords {
        about: About::Machine,
        part: Some(part),
        remedy,
        ..image(field, headline, need, Wanted::Newer)
    }
}

/// No rule: the image is unknown, or too little is known of it.
const fn unknown(headline: &'static str) -> ReasonWords {
    const NEED: &str = "a version that skewguard recognizes (policy: onUndetermined: Refuse)";
    ReasonWords {
        about: About::NoRule,
        ..image("", headline, NEED, Wanted::Another)
    }
}

impl Reason {
    /// The words for this reason.
    pub fn words(self) -> ReasonWords {
        use Wanted::{Another, Newer, Older};
        match self {
            Self::DeniedVersion => image(
                "deniedVersions",
                "IS DENIED BY THE POLICY",
                "another version; this one is {denied}",
                Another,
            ),
            Self::KnownIssue => ReasonWords {
                about: About::KnownIssue,
                ..image(
                    "knownIssues",
                    "IS KNOWN TO FAIL WITH THIS RELEASE",
                    "{want}; this one has {issue}",
                    Another,
                )
            },
            Self::RhelMajorUnsupported => image(
                "rhelMajors",
                "HAS THE WRONG RHEL MAJOR",
                "{base} {want} (it has {have})",
                Another,
            ),
            Self::BelowMinimumOcpVersion => image(
                "minimumOCPVersion",
                TOO_OLD,
                "{release} {want} or newer (it has {have})",
                Newer,
            ),
            Self::BelowMinimumRhcosVersion => image(
                "minimumRHCOSVersion",
                TOO_OLD,
                "{os} {want} or newer (it has {have})",
                Newer,
            ),
            Self::AboveMaximumRhcosVersion => image(
                "maximumRHCOSVersion",
                TOO_NEW,
                "{os} {want} or older (it has {have})",
                Older,
            ),
            Self::BelowMinimumFcosVersion => image(
                "minimumFCOSVersion",
                TOO_OLD,
                "Fedora CoreOS {want} or newer (it has {have})",
                Newer,
            ),
            Self::AboveMaximumFcosVersion => image(
                "maximumFCOSVersion",
                TOO_NEW,
                "Fedora CoreOS {want} or older (it has {have})",
                Older,
            ),
            Self::BelowMinimumScosVersion => image(
                "minimumSCOSVersion",
                TOO_OLD,
                "SCOS {want} or newer (it has {have})",
                Newer,
            ),
            Self::AboveMaximumScosVersion => image(
                "maximumSCOSVersion",
                TOO_NEW,
                "SCOS {want} or older (it has {have})",
                Older,
            ),
            Self::TooManyReleasesBehind => image(
                "maximumReleasesBehind",
                "IS TOO MANY RELEASES BEHIND",
                "{want} (it is {have})",
                Newer,
            ),
            Self::CpuBelowMinimum => machine(
                "minimumCPU",
                "CPU",
                TOO_OLD,
                "a CPU of {want} or newer (it is {have})",
                Remedy::Hardware,
            ),
            Self::BootSpaceBelowMinimum => machine(
                "minimumBootFreeMiB",
                "boot partition",
                "HAS TOO LITTLE SPACE",
                "{want} ({have} free)",
                Remedy::Image,
            ),
            Self::ShimBelowMinimum => machine(
                "minimumShim",
                "boot loader",
                "IS TOO OLD FOR SECURE BOOT",
                "shim {want} or newer (it has {have})",
                Remedy::BootLoader,
            ),
            Self::BootImageUnknown => unknown("IS NOT KNOWN"),
            Self::PolicyModeNone
            | Self::OverrideOff
            | Self::NoPolicyDelivered
            | Self::AlreadyOnTarget
            | Self::WithinLimits
            | Self::PolicyInvalid
            | Self::NoLimitForTarget
            | Self::TargetUnknown
            | Self::BootImageUndecodable
            | Self::NoRuleEvaluated
            | Self::Other(_) => unknown("CANNOT BE JUDGED"),
        }
    }

    /// The rule that this field of a policy sets.
    pub fn set_by(field: &str) -> Option<Self> {
        RULES.into_iter().find(|rule| rule.words().field == field)
    }

    /// What it is about.
    pub fn about(self) -> About {
        self.words().about
    }
}

/// How bad it is, as OpenShift's update insights grade an impact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// What a console says of a node. Templates of `why`, `error`, and for the headline of `part` and
/// `headline`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleWords {
    pub headline: &'static str,
    /// What this means for the node. A line without its `error` is left out.
    pub lines: [&'static str; 2],
    /// The same for the kernel log.
    pub log: &'static str,
}

/// The words for what became of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FateWords {
    pub level: Level,
    /// The impact in a report: a template of `breaks` and `unchecked`.
    impact: &'static str,
    /// What an Event says of the node.
    pub event: &'static str,
    /// What is done, by `check`: a template of `why`.
    action: &'static str,
    /// `None` where the console says nothing.
    pub console: Option<ConsoleWords>,
}

/// Openings of console headlines, up to the part of the node.
pub const OPENINGS: [&str; 3] = [
    "NODE REFUSED: ITS ",
    "NODE NOT HELD BACK, BUT ITS ",
    "WARNING: THE ",
];

const HELD: ConsoleWords = ConsoleWords {
    headline: "NODE REFUSED: ITS {part} {headline}",
    lines: [
        "It will not join: skewguard holds back its OS update and its kubelet.",
        "In doubt: {error}",
    ],
    log: "node refused",
};

const NOT_HELD: ConsoleWords = ConsoleWords {
    headline: "NODE NOT HELD BACK, BUT ITS {part} {headline}",
    lines: [
        "It could not be held: {error}",
        "It may join on its old OS. To prevent it, power off or delete its Machine.",
    ],
    log: "node should be refused but could not be held back",
};

const LET_THROUGH: ConsoleWords = ConsoleWords {
    headline: "WARNING: THE {part} OF THIS NODE {headline}",
    lines: [
        "It is let through, because {why}.",
        "If its OS update hangs or it does not join, this is the likely cause.",
    ],
    log: "node let through with a warning",
};

const HOLD: &str = "hold back the OS rebase and the kubelet";
const GO_ON: &str = "the boot goes on";

impl Fate {
    /// The words for this fate of a node with that verdict.
    pub fn words(self, verdict: Outcome) -> FateWords {
        let words = |level, impact, event, action, console| FateWords {
            level,
            impact,
            event,
            action,
            console,
        };
        match (self, verdict) {
            (Self::NotHeld, _) => words(
                Level::Error,
                "The node was refused but could not be held back: it may join on the old OS.",
                "was refused but could not be held back",
                HOLD,
                Some(NOT_HELD),
            ),
            (Self::Held, outcome) => words(
                Level::Error,
                match outcome {
                    Outcome::Refused => "The node does not join the cluster: {breaks}.",
                    _ => "The node does not join the cluster: {unchecked}.",
                },
                "is refused and does not join the cluster",
                HOLD,
                Some(HELD),
            ),
            (Self::LetThrough, _) => words(
                Level::Warning,
                "The node goes on to join although {breaks}.",
                "breaks the boot image policy; it goes on to join",
                "{why}",
                Some(LET_THROUGH),
            ),
            (Self::Unchecked, _) => words(
                Level::Warning,
                "The node goes on to join; {unchecked}.",
                "could not be checked; it goes on to join",
                GO_ON,
                None,
            ),
            (Self::Free, _) => words(
                Level::Info,
                "The node goes on to join.",
                "goes on to join",
                GO_ON,
                None,
            ),
            (Self::PastFirstBoot, Outcome::Refused) => words(
                Level::Warning,
                "The node's first boot is over although {breaks}.",
                "breaks the boot image policy; its first boot is over",
                "{why}",
                None,
            ),
            (Self::PastFirstBoot, Outcome::Undetermined) => words(
                Level::Warning,
                "The node's first boot is over; {unchecked}.",
                "could not be checked; its first boot is over",
                GO_ON,
                None,
            ),
            (Self::PastFirstBoot, _) => words(
                Level::Info,
                "The node's first boot is over.",
                "is past its first boot",
                GO_ON,
                None,
            ),
        }
    }
}

impl Judged {
    /// What was judged, in the sentence of a rule.
    pub fn name(self) -> &'static str {
        match self {
            Self::BootedDeployment => "booted deployment",
            Self::BootImage | Self::Other(_) => "boot image",
        }
    }
}

impl Finding {
    /// What is needed instead of what failed, for a person with that product.
    pub fn need(&self, product: Product) -> String {
        let joined = |parts: [&Option<String>; 2]| {
            let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
            parts.join(": ")
        };
        let value = |name: &str| match name {
            "want" => Some(self.want.clone()),
            "have" => Some(self.have.clone().unwrap_or_else(|| "unknown".to_owned())),
            "denied" => Some(denied(self.entry.as_deref(), self.why.as_deref())),
            "issue" => Some(joined([&self.issue, &self.why])),
            "os" => Some(product.family.name().to_owned()),
            "base" => Some(product.family.base().to_owned()),
            "release" => Some(product.release().to_owned()),
            _ => None,
        };
        match self.rule.about() {
            // A rule that only another release of skewguard knows.
            About::NoRule => self.message.clone(),
            _ => fill(self.rule.words().need, value).unwrap_or_default(),
        }
    }
}

/// Which entry of `deniedVersions` denies a version, and why.
pub(super) fn denied(entry: Option<&str>, why: Option<&str>) -> String {
    let by = entry.map(|entry| format!(" by \"{entry}\""));
    let why = why.map(|why| format!(": {why}"));
    format!(
        "denied{}{}",
        by.unwrap_or_default(),
        why.unwrap_or_default()
    )
}

impl Verdict {
    /// The words for its reason.
    pub fn reason_words(&self) -> ReasonWords {
        self.reason.words()
    }

    /// The words for what became of the node.
    pub fn fate_words(&self) -> FateWords {
        self.fate().words(self.verdict)
    }

    /// What was decided; of a refusal that only warns, what it would be.
    pub fn headline(&self) -> &str {
        match self.fate() {
            Fate::LetThrough => "Would be refused",
            _ => self.verdict.as_str(),
        }
    }

    /// What breaks the policy, as a part of the node: `boot image`, `CPU`.
    pub fn part(&self) -> &'static str {
        self.reason_words().part.unwrap_or(self.image_name())
    }

    /// What the image that was judged is called.
    pub fn image_name(&self) -> &'static str {
        if self.judged == Judged::BootedDeployment {
            "booted OS"
        } else {
            "boot image"
        }
    }

    /// What is needed instead, by every rule that fails.
    pub fn needed(&self) -> String {
        let failed: Vec<String> = self
            .failures()
            .map(|finding| finding.need(self.product()))
            .collect();
        if failed.is_empty() {
            self.reason_words().need.to_owned()
        } else {
            failed.join("; ")
        }
    }

    /// Which image or part the node needs in place of its own.
    pub fn wanted(&self) -> Wanted {
        self.failures()
            .next()
            .and_then(|finding| finding.wanted)
            .unwrap_or(self.reason_words().wanted)
    }

    /// What the refusal, or what let it through, does to the node: one sentence.
    pub fn impact(&self) -> String {
        let value = |name: &str| match name {
            "breaks" => Some(format!("its {} breaks the policy", self.part())),
            "unchecked" => Some(format!("its {} could not be checked", self.image_name())),
            _ => None,
        };
        fill(self.fate_words().impact, value).unwrap_or_default()
    }

    /// What is done, and why a refusal does not block. Whether the node really is held is not known
    /// here.
    pub(super) fn done(&self) -> String {
        let why = |_: &str| Some(self.why_let_through().to_owned());
        let done = fill(self.fate_words().action, why);
        format!("{}: {}", self.action, done.unwrap_or_default())
    }

    /// Why a refusal does not block, as a clause.
    pub fn why_let_through(&self) -> &'static str {
        match self.let_through {
            Some(LetThrough::Rebased) => "the node is already rebased",
            Some(LetThrough::FirstBootFinished) => "the first boot is over",
            Some(LetThrough::Override) => match self.r#override.map(|given| given.source) {
                Some(OverrideSource::KernelArgument) => {
                    "the kernel argument skewguard=warn says so"
                }
                _ => "the override says warn",
            },
            Some(LetThrough::Mode) => "the policy only warns",
            Some(LetThrough::PolicyVersion) => "the policy is of another version, and never blocks",
            Some(LetThrough::Unreadable) => "a file that may let it through cannot be read",
            None | Some(LetThrough::Other(_)) => "another release of skewguard decided so",
        }
    }
}

/// What a rule that fails asks for, unless it knows better itself.
pub(super) fn usually_wanted(rule: Reason, result: RuleResult) -> Option<Wanted> {
    (result == RuleResult::Fail).then(|| rule.words().wanted)
}

/// `template` with a value for each `{name}`; `None` where one has none. Braces in a value stay.
pub fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}')?;
        out.push_str(before);
        out.push_str(&value(name)?);
        rest = tail;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fields;

    #[test]
    fn every_rule_has_its_row_and_every_field_its_rule() {
        for rule in RULES {
            let words = rule.words();
            assert_ne!(words.about, About::NoRule, "{rule}");
            assert_eq!(Reason::set_by(words.field), Some(rule));
        }
        assert!(RULES.is_sorted(), "the order of rank");
        for field in fields::rules().iter().chain(&["knownIssues"]) {
            assert!(Reason::set_by(field).is_some(), "{field}");
        }
        assert_eq!(RULES.len(), fields::rules().len() + 1);
        assert_eq!(Reason::set_by(""), None);
    }

    #[test]
    fn headlines_begin_with_an_opening() {
        for (words, opening) in [HELD, NOT_HELD, LET_THROUGH].iter().zip(OPENINGS) {
            assert!(words.headline.starts_with(&format!("{opening}{{part}} ")));
        }
    }

    #[test]
    fn a_value_is_not_a_template() {
        let value = |name: &str| (name == "a").then(|| "{a} {b}".to_owned());
        assert_eq!(fill("x {a}.", value).as_deref(), Some("x {a} {b}."));
        assert_eq!(fill("x {b}.", value), None);
        assert_eq!(fill("plain", value).as_deref(), Some("plain"));
    }
}
