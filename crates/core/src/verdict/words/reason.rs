//! The table of reasons: a row for each.

use crate::verdict::{Reason, RuleResult, Wanted};

/// Subject of a reason.
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

/// Kind of help against a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Another image.
    Image,
    /// Another image; or where a newer OS was installed over it, an update of the boot loader.
    BootLoader,
    /// Other hardware. No image helps.
    Hardware,
}

/// The words for one reason. Templates have the names of [`super::fill`] in braces.
#[derive(Debug, Clone, Copy)]
pub struct ReasonWords {
    pub about: About,
    /// The policy's field that sets the rule; empty without one.
    pub field: &'static str,
    /// Part of the node that breaks the policy; `None` is the judged image.
    pub(super) part: Option<&'static str>,
    /// The end of the console's headline, after that part.
    pub headline: &'static str,
    /// Need, as a template of `want`, `have`, `denied`, `issue`, and of `os`, `base`
    /// and `release` by the names of the [`crate::verdict::Product`].
    pub(super) need: &'static str,
    /// Which one does not break it, unless the finding says more.
    pub(super) wanted: Wanted,
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
            | Self::LimitUndecided
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

    /// Subject.
    pub fn about(self) -> About {
        self.words().about
    }
}

/// Returns what a rule that fails asks for, unless it knows better itself.
pub(in crate::verdict) fn usually_wanted(rule: Reason, result: RuleResult) -> Option<Wanted> {
    (result == RuleResult::Fail).then(|| rule.words().wanted)
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
}
