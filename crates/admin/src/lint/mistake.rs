//! Words of lint: `mistakes.yaml` has the words of each rule, its severity and its remedy.

use super::{LintFinding, Severity};
use crate::template::{Holes, fill};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A rule of lint, by its name in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(clap::ValueEnum))]
pub(crate) enum Rule {
    TooLargeFile,
    NotUTF8,
    NotForNodes,
    NotJSON,
    NotYAML,
    OtherAPIGroup,
    OtherAPIVersion,
    OtherKind,
    LongHelp,
    TooManyLimits,
    NoLimitForTheRest,
    ShadowedLimit,
    ShadowedPool,
    OverriddenLimit,
    WrongType,
    MissingField,
    DuplicateField,
    NullField,
    NoKnownField,
    MistypedField,
    FieldOfWhen,
    ModeOfLimit,
    MisplacedField,
    UnknownFieldOfIssue,
    UnknownCondition,
    UnknownField,
    NoLimits,
    EmptyList,
    UnknownWord,
    NotASCII,
    LongText,
    NotAURL,
    SecureBootAlone,
    NotAnOCPTarget,
    RHELTarget,
    UnnamedTarget,
    UnknownTarget,
    ExactRelease,
    NamedTwice,
    NotAPool,
    CustomPool,
    NoRules,
    OnlyOneFamily,
    MinimumAboveMaximum,
    OneRHELMajor,
    NoMajorInBounds,
    MajorsOutOfBounds,
    OldReleasesRefused,
    OwnReleaseRefused,
    DecidesNothing,
    NothingWithoutRelease,
    LaterReleasesRefused,
    LoosenedLimit,
    OwnImageRefused,
    RHELAboveTarget,
    OCPAboveTarget,
    NotAnOCPRelease,
    RHCOSForOCP,
    RHELForOCP,
    BelowEveryImage,
    BetweenReleasesOfRHEL,
    PatchRelease,
    WithoutMinor,
    MinorTooLarge,
    FCOSForRHCOS,
    NamesNoRHEL,
    OCPForRHEL,
    MajorAlone,
    NoScheme,
    NotFCOS,
    NotSCOS,
    NoImagesOfRHEL,
    NoImagesOfMajors,
    NoImagesOfFedora,
    NoImagesOfStream,
    NewerThanPublished,
    NoSuchMajor,
    DeniesNothing,
    DeniedAbove,
    DeniesEverything,
    DeniesNoVersion,
    StarWithin,
    NoBeginning,
    EndsWithinNumber,
    NotWhole,
    DeniesUnknown,
    BootTooSmall,
    NotAShim,
    NoCPUs,
    NoLevels,
    UnknownLevel,
    TooManyIssues,
    UnnamedIssues,
    KnownIssueMissing,
    DuplicateIssue,
    KnownIssueDiffers,
    KnownIssueWithdrawn,
    NotARange,
    EmptyRange,
}

#[derive(Debug, Deserialize)]
struct Row {
    mistake: String,
    severity: Severity,
    /// Severity in a policy that enforces, where it is another one.
    enforced: Option<Severity>,
    message: String,
    help: String,
}

static ROWS: LazyLock<BTreeMap<Rule, Row>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("mistakes.yaml")).unwrap_or_default());

/// A row for what has none: a test holds that each has its row.
static NO_ROW: Row = Row {
    mistake: String::new(),
    severity: Severity::Error,
    enforced: None,
    message: String::new(),
    help: String::new(),
};

impl Rule {
    fn row(self) -> &'static Row {
        ROWS.get(&self).unwrap_or(&NO_ROW)
    }

    /// The stable name of its mistakes.
    pub(crate) fn mistake(self) -> &'static str {
        &self.row().mistake
    }

    pub(super) fn severity(self, enforces: bool) -> Severity {
        let row = self.row();
        row.enforced.filter(|_| enforces).unwrap_or(row.severity)
    }

    /// A mistake at a place of the file.
    pub(crate) fn finding(
        self,
        path: &str,
        (line, column): (usize, usize),
        holes: &Holes<'_>,
    ) -> LintFinding {
        let row = self.row();
        LintFinding {
            severity: row.severity,
            mistake: &row.mistake,
            path: path.to_owned(),
            line,
            column,
            message: fill(&row.message, holes),
            help: fill(&row.help, holes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_rule_has_its_words() {
        let rows: BTreeMap<Rule, Row> =
            serde_saphyr::from_str(include_str!("mistakes.yaml")).unwrap();
        for rule in Rule::value_variants() {
            assert!(rows.contains_key(rule), "{rule:?}");
        }
    }
}
