//! Applies the rules of a limit to a node.

mod bound;

use super::words::About;
use super::{Finding, Judged, Machine, Reason, RuleResult};
use crate::policy::{Bound, Circumstances, Limit, Setting};
use crate::text;
use crate::version::{ImageVersion, OsFamily, Release};
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

/// Tells whether what is known of the image, and nothing else, keeps a rule of its own family from
/// being evaluated.
pub(super) fn image_is_at_fault(limit: &Limit, node: Node<'_>) -> bool {
    let bounds = limit
        .rules
        .iter()
        .filter_map(|(_, bound)| bound.as_ref().ok());
    let mut of_image = bounds.filter(|bound| !bound.is_about_machine());
    of_image.any(|bound| bound.asks_too_much(node))
}

/// Says what else keeps every rule of the limit from being evaluated: the policy or the agent, the
/// image's family, the machine.
pub(super) fn other_fault(limit: &Limit, node: Node<'_>, findings: &[Finding]) -> String {
    if let Some(path) = limit.unknown.first() {
        return format!("the policy's limit has a rule that this agent does not know: {path}");
    }
    let unclear = |(field, bound): &&(&str, Setting<Bound>)| match bound {
        Ok(Bound::Denied(denied)) => denied.not_understood > 0,
        Ok(_) => false,
        Err(_) => !field.is_empty(),
    };
    if let Some((field, _)) = limit.rules.iter().find(unclear) {
        return format!(
            "the policy's limit has a rule that this agent does not understand: {field}"
        );
    }
    let is_rule = |finding: &&Finding| finding.rule != Reason::KnownIssue;
    let Some(first) = findings.iter().find(is_rule) else {
        return "the limit for this node has no rules".to_owned();
    };
    let family = node.subject.version.and_then(ImageVersion::os_family);
    match family {
        Some(family) if first.rule.about() == About::Image => {
            let name = family.name();
            let other = match (family, node.okd) {
                (OsFamily::Rhcos, Some(true)) => Some("OKD"),
                (OsFamily::Scos | OsFamily::Fcos, Some(false)) => Some("OpenShift"),
                _ => None,
            };
            let rule = format!("the limit has no rule for {name} images");
            match (other, node.subject.version) {
                (Some(cluster), Some(version)) => {
                    format!("{version} is {name}, and this cluster is {cluster}: {rule}")
                }
                _ => rule,
            }
        }
        _ => first.message.clone(),
    }
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
