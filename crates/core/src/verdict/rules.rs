//! Applies the rules of a limit to a node.

mod bound;

use super::{Finding, Judged, Machine, Reason, RuleResult};
use crate::policy::{Bound, Circumstances, Limit, NULL, Setting};
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
            Err(shape) if shape == NULL => Finding::new(rule, None, None, NULL, "the rule is null"),
            Err(shape) => Finding::new(rule, None, None, shape, UNKNOWN),
        })
    };
    limit.rules.iter().filter_map(finding).collect()
}

/// The rules of the limit that are understood, about images or about machines.
fn understood(limit: &Limit, of_machine: bool) -> impl Iterator<Item = (Reason, &Bound)> {
    let rules = limit.rules.iter();
    rules.filter_map(move |(field, bound)| {
        let bound = bound.as_ref().ok()?;
        let is_asked = bound.is_about_machine() == of_machine;
        Some((Reason::set_by(field).filter(|_| is_asked)?, bound))
    })
}

/// The rule of the limit that this agent does not know, or does not understand.
fn not_understood(limit: &Limit) -> Option<String> {
    let unclear = |(_, bound): &&(&str, Setting<Bound>)| match bound {
        Ok(Bound::Denied(denied)) => denied.not_understood > 0,
        Ok(_) => false,
        Err(_) => true,
    };
    let known = limit.rules.iter().find(unclear);
    let (fault, field) = match (limit.unknown.first(), known) {
        (Some(path), _) => ("this agent does not know", path.as_str()),
        (None, Some((field, Err(null)))) if null == NULL => ("is null", *field),
        (None, known) => ("this agent does not understand", known?.0),
    };
    Some(format!(
        "the policy's limit has a rule that {fault}: {field}"
    ))
}

/// What keeps every rule of a limit from being evaluated.
pub(super) struct Fault {
    /// It is what is known of the image, and nothing else.
    pub(super) of_image: bool,
    /// The rule that says so.
    pub(super) rule: Option<Reason>,
    pub(super) message: String,
}

/// Finds what is at fault: the policy or the agent, the image, the image's family, the target, the
/// machine. A rule that is not understood might allow the image.
pub(super) fn fault(limit: &Limit, node: Node<'_>) -> Fault {
    let other = |message| Fault {
        of_image: false,
        rule: None,
        message,
    };
    if let Some(fault) = not_understood(limit) {
        return other(fault);
    }
    let family = node.subject.version.and_then(ImageVersion::os_family);
    let is_for = |bound: &Bound| family.is_none_or(|family| bound.is_for(family));
    let is_about_image = understood(limit, false).next().is_some();
    let asks = understood(limit, false).find(|(_, bound)| bound.asks_too_much(node));
    let of_image = asks.is_some();
    let own = asks.or_else(|| {
        understood(limit, !is_about_image).find(|(_, bound)| !is_about_image || is_for(bound))
    });
    match (own, family) {
        (Some((rule, bound)), _) => Fault {
            of_image,
            rule: Some(rule),
            message: bound.finding(rule, node).message,
        },
        (None, Some(family)) if is_about_image => other(no_rule_for(family, node)),
        (None, _) => other("the limit for this node has no rules".to_owned()),
    }
}

fn no_rule_for(family: OsFamily, node: Node<'_>) -> String {
    let name = family.name();
    let rule = format!("the limit has no rule for {name} images");
    let cluster = match (family, node.okd) {
        (OsFamily::Rhcos, Some(true)) => "OKD",
        (OsFamily::Scos | OsFamily::Fcos, Some(false)) => "OpenShift",
        _ => return rule,
    };
    let version = node.subject.version.map(ToString::to_string);
    let version = version.unwrap_or_default();
    format!("{version} is {name}, and this cluster is {cluster}: {rule}")
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
