//! The table of reasons: a row for each.

use super::fill;
use crate::verdict::Wanted::{self, Another, Newer, Older};
use crate::verdict::{Judged, Reason};

/// Subject of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A rule of a limit that the version of the judged image decides.
    Image,
    /// A rule of a limit that the machine decides, by what it was installed with.
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
    rule: Reason,
    pub about: About,
    /// The policy's field that sets the rule, and the one of a known issue's `images` for those
    /// that break it; empty without one.
    fields: [&'static str; 2],
    /// Part of the node that breaks the policy; `None` is the judged image.
    pub(super) part: Option<&'static str>,
    /// The end of the console's headline, after that part.
    pub headline: &'static str,
    /// Need, as a template of `want`, `have`, `own`, `denied`, `issue`, and of `os`, `base`
    /// and `release` by the names of the [`crate::verdict::Product`].
    pub(super) need: &'static str,
    /// Which one does not break it, unless the finding says more.
    pub(in crate::verdict) wanted: Wanted,
    pub remedy: Remedy,
}

impl ReasonWords {
    /// The part of the node that breaks the policy.
    pub fn part(&self) -> &'static str {
        self.part.unwrap_or(Judged::BootImage.name())
    }
}

const TOO_OLD: &str = "IS TOO OLD FOR THIS CLUSTER";
const TOO_NEW: &str = "IS NEWER THAN ALLOWED";

/// A rule about the judged image, which another image passes.
const fn image(
    rule: Reason,
    field: &'static str,
    broken: &'static str,
    headline: &'static str,
    need: &'static str,
    wanted: Wanted,
) -> ReasonWords {
    ReasonWords {
        rule,
        about: About::Image,
        fields: [field, broken],
        part: None,
        headline,
        need,
        wanted,
        remedy: Remedy::Image,
    }
}

/// A rule about a part of the machine, which a newer one passes.
const fn machine(part: &'static str, remedy: Remedy, words: ReasonWords) -> ReasonWords {
    ReasonWords {
        about: About::Machine,
        part: Some(part),
        remedy,
        ..words
    }
}

/// A row for each rule, in the order of rank.
static RULES: [ReasonWords; 14] = [
    image(
        Reason::DeniedVersion,
        "deniedVersions",
        "versions",
        "IS DENIED BY THE POLICY",
        "another version; this one is {denied}",
        Another,
    ),
    ReasonWords {
        about: About::KnownIssue,
        ..image(
            Reason::KnownIssue,
            "knownIssues",
            "",
            "IS KNOWN TO FAIL WITH THIS RELEASE",
            "{want}; this one has {issue}",
            Another,
        )
    },
    image(
        Reason::RhelMajorUnsupported,
        "rhelMajors",
        "rhelMajors",
        "HAS THE WRONG RHEL MAJOR",
        "{base} {want} (it has {have})",
        Another,
    ),
    image(
        Reason::BelowMinimumOcpVersion,
        "minimumOCPVersion",
        "belowOCPVersion",
        TOO_OLD,
        "{release} {want} or newer (it has {own})",
        Newer,
    ),
    image(
        Reason::BelowMinimumRhcosVersion,
        "minimumRHCOSVersion",
        "belowRHCOSVersion",
        TOO_OLD,
        "{os} {want} or newer (it has {have})",
        Newer,
    ),
    image(
        Reason::AboveMaximumRhcosVersion,
        "maximumRHCOSVersion",
        "",
        TOO_NEW,
        "{os} {want} or older (it has {have})",
        Older,
    ),
    image(
        Reason::BelowMinimumFcosVersion,
        "minimumFCOSVersion",
        "belowFCOSVersion",
        TOO_OLD,
        "Fedora CoreOS {want} or newer (it has {have})",
        Newer,
    ),
    image(
        Reason::AboveMaximumFcosVersion,
        "maximumFCOSVersion",
        "aboveFCOSVersion",
        TOO_NEW,
        "Fedora CoreOS {want} or older (it has {have})",
        Older,
    ),
    image(
        Reason::BelowMinimumScosVersion,
        "minimumSCOSVersion",
        "belowSCOSVersion",
        TOO_OLD,
        "SCOS {want} or newer (it has {have})",
        Newer,
    ),
    image(
        Reason::AboveMaximumScosVersion,
        "maximumSCOSVersion",
        "",
        TOO_NEW,
        "SCOS {want} or older (it has {have})",
        Older,
    ),
    image(
        Reason::TooManyReleasesBehind,
        "maximumReleasesBehind",
        "",
        "IS TOO MANY RELEASES BEHIND",
        "{want} (it is {have})",
        Newer,
    ),
    machine(
        "CPU",
        Remedy::Hardware,
        image(
            Reason::CpuBelowMinimum,
            "minimumCPU",
            "",
            TOO_OLD,
            "a CPU of {want} or newer (it is {have})",
            Newer,
        ),
    ),
    machine(
        "boot partition",
        Remedy::Image,
        image(
            Reason::BootSpaceBelowMinimum,
            "minimumBootFreeMiB",
            "belowBootFreeMiB",
            "HAS TOO LITTLE SPACE",
            "{want} ({have} free)",
            Newer,
        ),
    ),
    machine(
        "boot loader",
        Remedy::BootLoader,
        image(
            Reason::ShimBelowMinimum,
            "minimumShim",
            "belowShim",
            "IS TOO OLD FOR SECURE BOOT",
            "shim {want} or newer (it has {have})",
            Newer,
        ),
    ),
];

impl Reason {
    /// The words for this reason.
    pub fn words(self) -> ReasonWords {
        let row = RULES.iter().find(|words| words.rule == self);
        row.copied().unwrap_or_else(|| {
            // The image is unknown, or too little is known of it.
            let headline = match self {
                Self::BootImageUnknown => "IS NOT KNOWN",
                _ => "CANNOT BE JUDGED",
            };
            let need = "a version that skewguard recognizes (policy: onUndetermined: Refuse)";
            ReasonWords {
                about: About::NoRule,
                ..image(self, "", "", headline, need, Another)
            }
        })
    }

    /// The rule that this field of a limit sets, or of a known issue's `images` breaks.
    pub fn set_by(field: &str) -> Option<Self> {
        let is_set = |words: &&ReasonWords| !field.is_empty() && words.fields.contains(&field);
        RULES.iter().find(is_set).map(|words| words.rule)
    }

    /// Subject.
    pub fn about(self) -> About {
        self.words().about
    }
}

impl ReasonWords {
    /// Need, without what the node has, and with the names of Red Hat's: as of a known issue.
    pub(in crate::verdict) fn instead(&self, want: &str) -> String {
        let need = self.need.split([';', '(']).next().unwrap_or_default();
        let value = |name: &str| {
            let value = match name {
                "want" => want,
                "os" => "RHCOS",
                _ => "OCP",
            };
            Some(value.to_owned())
        };
        fill(need.trim_end(), &value).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fields;

    #[test]
    fn every_rule_has_its_row_and_every_field_its_rule() {
        let rules = RULES.map(|words| words.rule);
        for words in RULES {
            assert_eq!(Reason::set_by(words.fields[0]), Some(words.rule));
        }
        assert!(rules.is_sorted(), "the order of rank");
        let fields = fields::rules().iter().chain(&["knownIssues"]);
        for field in fields.chain(fields::IMAGES) {
            assert!(Reason::set_by(field).is_some(), "{field}");
        }
        assert_eq!(RULES.len(), fields::rules().len() + 1);
        assert_eq!(Reason::set_by(""), None);
    }
}
