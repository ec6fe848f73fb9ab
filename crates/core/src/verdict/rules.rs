//! Applies the rules of a limit to a node.

mod bound;

use super::{Finding, Judged, Machine, Reason, RuleResult};
use crate::policy::{Bound, Circumstances, Limit, Setting};
use crate::text;
use crate::version::{ImageVersion, Release};
pub(super) use bound::{Asker, one_of};

/// Longest text of a finding, in characters.
const TEXT_MAX: usize = 1024;

/// An entry of the policy, or its reason, at most so long.
pub(super) fn kept(text: &str) -> String {
    text::cut(text, text::KEPT_MAX)
}

/// The judged image; `version` is `None` where it is unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) judged: Judged,
    pub(super) version: Option<&'a ImageVersion>,
}

impl Subject<'_> {
    /// Its name in a sentence.
    pub(super) fn name(self) -> &'static str {
        self.judged.name()
    }
}

/// A node, as rules and known issues look at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) target: Option<Release>,
    /// Tells whether the target is OKD's.
    pub(super) okd: Option<bool>,
    pub(super) platform: Option<&'a str>,
    pub(super) machine: &'a Machine,
}

impl<'a> Node<'a> {
    pub(super) fn circumstances(self) -> Circumstances<'a> {
        Circumstances {
            platform: self.platform,
            architecture: self.machine.architecture.as_deref(),
            secure_boot: self.machine.secure_boot,
            fips: self.machine.fips,
            family: self.subject.version.and_then(ImageVersion::os_family),
            okd: self.okd,
        }
    }
}

/// Applies every rule that the limit sets. One of unknown shape is not evaluated.
pub(super) fn apply(limit: &Limit, node: Node<'_>) -> Vec<Finding> {
    const UNKNOWN: &str = "the rule's shape is not known to this version of skewguard";
    let finding = |(field, bound): &(&str, Setting<Bound>)| {
        let rule = Reason::set_by(field)?;
        Some(match bound {
            Ok(bound) => bound.finding(rule, node),
            Err(shape) => Finding::new(rule, None, None, shape, UNKNOWN),
        })
    };
    limit.rules.iter().filter_map(finding).collect()
}

impl Finding {
    /// The finding of a rule that passes, fails or is not evaluated.
    pub(super) fn new(
        rule: Reason,
        passes: Option<bool>,
        have: Option<String>,
        want: &str,
        message: &str,
    ) -> Self {
        // Lists in a policy can be long; a verdict stays short.
        Self {
            rule,
            result: match passes {
                Some(true) => RuleResult::Pass,
                Some(false) => RuleResult::Fail,
                None => RuleResult::NotEvaluated,
            },
            have,
            want: text::cut(want, TEXT_MAX),
            message: text::cut(message, TEXT_MAX),
            wanted: (passes == Some(false)).then(|| rule.words().wanted),
            why: None,
            entry: None,
            issue: None,
            url: None,
        }
    }
}
