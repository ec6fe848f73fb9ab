//! The state table: from facts to a verdict.

use super::{
    Action, BootImageStatus, Deployment, Facts, Finding, Judged, LetThrough, Outcome, OverrideWord,
    PolicyInput, PolicyStatus, Reason, RuleResult, Stage, Target, TargetInput, Verdict, issues,
    rules::{self, Fault, Node, Subject},
    words::About,
};
use crate::API_VERSION;
use crate::policy::{Limit, LimitRelease, Mode, OnUndetermined, Policy, Undecided, choose_for};
use crate::version::Release;

/// Decides. The first state that matches gives verdict, reason and action.
pub fn decide(facts: &Facts) -> Verdict {
    let mut warnings = facts.warnings.clone();
    let policy = match &facts.policy {
        PolicyInput::Valid { policy, .. } => Some(policy),
        PolicyInput::Absent | PolicyInput::Invalid { .. } => None,
    };
    if let Some(policy) = policy {
        warnings.extend(policy.warnings.iter().cloned());
    }
    let target = match &facts.target {
        TargetInput::Read(target) => target.clone(),
        TargetInput::Absent | TargetInput::Unreadable => Target::default(),
    };
    let release = release(&target, &mut warnings);
    let node = node(facts, release);
    let subject = node.subject;
    // Where the target cannot be read, any limit might be for other nodes.
    let judging = policy.filter(|_| facts.target != TargetInput::Unreadable);
    let choice = judging.map_or(Ok(None), |policy| {
        let pool = target.pool.as_deref();
        choose_for(&policy.limits, release, pool, node.circumstances())
    });
    let choice = choice.map_err(|Undecided { index, why }| {
        let message = format!("limits[{index}] may be the limit for this node: {why}");
        warnings.push(message.clone());
        message
    });
    let limit = choice.as_ref().ok().copied().flatten();
    let findings = findings(judging, limit, node);
    let decision = decision(facts, policy, choice, node, &findings);
    Verdict {
        api_version: API_VERSION.to_owned(),
        kind: "BootImageVerdict".to_owned(),
        verdict: decision.verdict,
        action: decision.action,
        reason: decision.reason,
        message: decision.message,
        let_through: decision.let_through,
        findings,
        boot_image: facts.boot_image.as_ref().map(BootImageStatus::from),
        judged: subject.judged,
        target,
        policy: policy_status(&facts.policy, limit),
        r#override: facts.r#override,
        warnings,
        deployment: Deployment {
            image: facts.replaced_by.as_ref().map(BootImageStatus::from),
            ..facts.deployment.clone()
        },
        platform: facts.platform.clone(),
        machine: facts.machine.clone(),
        gate: None,
        installation: None,
    }
}

fn release(target: &Target, warnings: &mut Vec<String>) -> Option<Release> {
    let text = target.release.as_deref()?;
    let release = text.parse::<Release>();
    release
        .map_err(|error| warnings.push(format!("target release \"{text}\" is ignored: {error}")))
        .ok()
}

fn node(facts: &Facts, target: Option<Release>) -> Node<'_> {
    let (judged, image) = match &facts.replaced_by {
        Some(booted) => (Judged::BootedDeployment, Some(booted)),
        None => (Judged::BootImage, facts.boot_image.as_ref()),
    };
    Node {
        subject: Subject {
            judged,
            version: image.map(|image| &image.version),
        },
        target,
        okd: match &facts.target {
            TargetInput::Read(target) => target.is_okd(),
            TargetInput::Absent | TargetInput::Unreadable => None,
        },
        platform: facts.platform.as_deref(),
        machine: &facts.machine,
    }
}

/// Findings of the limit's rules and of the known issues, in the order of rank.
fn findings(policy: Option<&Policy>, limit: Option<&Limit>, node: Node<'_>) -> Vec<Finding> {
    let mut findings = limit
        .map(|limit| rules::apply(limit, node))
        .unwrap_or_default();
    if let Some(policy) = policy {
        findings.extend(issues::apply(&policy.known_issues, node));
    }
    findings.sort_by_key(|finding| finding.rule);
    findings
}

/// The message if what was judged may go on: a rule about its image passes. Without such a rule, one
/// about the machine does. That the policy knows no issue of it says too little.
fn within_limits(subject: Subject<'_>, findings: &[Finding]) -> Option<String> {
    let about = |about| {
        let rules = findings.iter();
        rules.filter(move |finding| finding.rule.about() == about)
    };
    let passes = |finding: &Finding| finding.result == RuleResult::Pass;
    let name = subject.name();
    if about(About::Image).next().is_some() {
        let message = || format!("the {name} is within the policy's limits");
        return about(About::Image).any(passes).then(message);
    }
    about(About::Machine).any(passes).then(|| {
        format!("the machine is within the policy's limits, which say nothing of its {name}")
    })
}

struct Decision {
    verdict: Outcome,
    reason: Reason,
    action: Action,
    message: String,
    let_through: Option<LetThrough>,
}

impl Decision {
    fn proceed(verdict: Outcome, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            verdict,
            reason,
            action: Action::Proceed,
            message: message.into(),
            let_through: None,
        }
    }
}

fn decision(
    facts: &Facts,
    policy: Option<&Policy>,
    choice: Result<Option<&Limit>, String>,
    node: Node<'_>,
    findings: &[Finding],
) -> Decision {
    let word = facts.r#override.map(|given| given.value);
    let proceed = [
        (
            word == Some(OverrideWord::Off),
            Outcome::Disabled,
            Reason::OverrideOff,
            "the override says off",
        ),
        (
            policy.is_some_and(|policy| policy.mode == Mode::None),
            Outcome::Disabled,
            Reason::PolicyModeNone,
            "the policy's mode is None",
        ),
        (
            facts.policy == PolicyInput::Absent,
            Outcome::NoPolicy,
            Reason::NoPolicyDelivered,
            "the served config carries no skew policy",
        ),
        (
            facts.deployment.stage == Stage::OnTarget,
            Outcome::Allowed,
            Reason::AlreadyOnTarget,
            "the booted deployment already is the target image",
        ),
    ];
    let first = proceed.into_iter().find(|(holds, ..)| *holds);
    if let Some((_, verdict, reason, message)) = first {
        return Decision::proceed(verdict, reason, message);
    }
    let is_failed = |finding: &&Finding| finding.result == RuleResult::Fail;
    let failed = findings.iter().find(is_failed);
    if let (Some(policy), Some(first)) = (policy, failed) {
        let let_through = let_through(facts, policy);
        return Decision {
            verdict: Outcome::Refused,
            reason: first.rule,
            action: action(let_through.is_none()),
            message: first.message.clone(),
            let_through,
        };
    }
    if let Some(message) = within_limits(node.subject, findings) {
        return Decision::proceed(Outcome::Allowed, Reason::WithinLimits, message);
    }
    undetermined(facts, policy, choice, node)
}

fn action(blocks: bool) -> Action {
    if blocks {
        Action::Block
    } else {
        Action::Proceed
    }
}

fn undetermined(
    facts: &Facts,
    policy: Option<&Policy>,
    choice: Result<Option<&Limit>, String>,
    node: Node<'_>,
) -> Decision {
    let subject = node.subject;
    let open = |reason, message: String| Decision::proceed(Outcome::Undetermined, reason, message);
    if let PolicyInput::Invalid { path, error, .. } = &facts.policy {
        return open(Reason::PolicyInvalid, format!("{path}: {error}"));
    }
    if facts.target == TargetInput::Unreadable {
        return open(
            Reason::TargetUnknown,
            "the target's MachineConfig cannot be read".to_owned(),
        );
    }
    let limit = match choice {
        Ok(limit) => limit,
        Err(message) => return open(Reason::LimitUndecided, message),
    };
    let Some(limit) = limit else {
        let (reason, message) = no_limit(&facts.target);
        return open(reason, message);
    };
    // `onUndetermined` is for an image that cannot be judged. The agent is as old as the image: the
    // first rule that it does not know would stop every scale-up.
    let Fault {
        of_image,
        rule,
        message,
    } = rules::fault(limit, node);
    let (reason, message) = match of_image {
        true => unjudged(subject, message),
        false => (Reason::NoRuleEvaluated, message),
    };
    if facts.target == TargetInput::Absent {
        // The rule about the target says it itself.
        let message = match rule {
            Some(Reason::TooManyReleasesBehind) if subject.version.is_some() => message,
            _ => format!("the target is unknown, and {message}"),
        };
        return open(Reason::TargetUnknown, message);
    }
    let refuse = of_image
        && policy.is_some_and(|policy| {
            policy.on_undetermined == OnUndetermined::Refuse && let_through(facts, policy).is_none()
        });
    Decision {
        action: action(refuse),
        ..open(reason, message)
    }
}

/// Reason why an image cannot be judged; `message` says why a rule cannot.
fn unjudged(subject: Subject<'_>, message: String) -> (Reason, String) {
    match subject.version {
        None => (
            Reason::BootImageUnknown,
            "no source on this node names the boot image".to_owned(),
        ),
        Some(version) if !version.is_known() => (
            Reason::BootImageUndecodable,
            format!("boot image version \"{version}\" follows no known scheme"),
        ),
        Some(version) => (
            Reason::NoRuleEvaluated,
            format!(
                "{} version {version} cannot be judged: {message}",
                subject.name()
            ),
        ),
    }
}

fn no_limit(target: &TargetInput) -> (Reason, String) {
    match target {
        TargetInput::Read(Target { release, pool, .. }) => (
            Reason::NoLimitForTarget,
            format!(
                "the policy has no limit for release {} and pool {}",
                release.as_deref().unwrap_or("unknown"),
                pool.as_deref().unwrap_or("unknown")
            ),
        ),
        TargetInput::Absent | TargetInput::Unreadable => (
            Reason::TargetUnknown,
            "the target is unknown and the policy has no limit without release and pools"
                .to_owned(),
        ),
    }
}

/// Reason why a refusal would not block. `None` where it would: the mode in force is `Enforce`, the policy
/// has our API version, and this still is the first boot of the boot image. Where a file that says
/// so cannot be read, `onUndetermined` decides.
fn let_through(facts: &Facts, policy: &Policy) -> Option<LetThrough> {
    let by_stage = match facts.deployment.stage {
        Stage::Rebased => Some(LetThrough::Rebased),
        Stage::FirstBootFinished => Some(LetThrough::FirstBootFinished),
        Stage::MayHaveJoined => Some(LetThrough::MayHaveJoined),
        Stage::OnTarget | Stage::Unreadable | Stage::FirstBoot => None,
    };
    let word = facts.r#override.map(|given| given.value);
    let by_mode = match word {
        Some(OverrideWord::Enforce) => (policy.mode == Mode::None).then_some(LetThrough::Mode),
        Some(OverrideWord::Warn | OverrideWord::Off) => Some(LetThrough::Override),
        None | Some(OverrideWord::Unreadable | OverrideWord::Other(_)) => {
            (policy.mode != Mode::Enforce).then_some(LetThrough::Mode)
        }
    };
    let unreadable =
        facts.deployment.stage == Stage::Unreadable || word == Some(OverrideWord::Unreadable);
    let in_doubt = unreadable && policy.on_undetermined == OnUndetermined::Proceed;
    by_stage
        .or(by_mode)
        .or(policy.other_version.then_some(LetThrough::PolicyVersion))
        .or(in_doubt.then_some(LetThrough::Unreadable))
}

fn policy_status(input: &PolicyInput, limit: Option<&Limit>) -> Option<PolicyStatus> {
    match input {
        PolicyInput::Absent => None,
        PolicyInput::Invalid { path, digest, .. } => Some(PolicyStatus {
            path: path.clone(),
            digest: digest.clone(),
            ..PolicyStatus::default()
        }),
        PolicyInput::Valid {
            path,
            digest,
            policy,
        } => Some(PolicyStatus {
            path: path.clone(),
            digest: Some(digest.clone()),
            mode: Some(policy.mode_text.clone()),
            limit_release: limit
                .and_then(|limit| limit.release)
                .map(|release| match release {
                    LimitRelease::Exact(exact) => exact.to_string(),
                    LimitRelease::Minor(minor) => minor.to_string(),
                }),
            stalled_after_minutes: policy.stalled_after_minutes,
            report_to_machine_config_server: policy.report_to_machine_config_server,
            help_text: policy.help_text.clone(),
            help_url: policy.help_url.clone(),
        }),
    }
}
