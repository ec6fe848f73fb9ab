//! `oc skewguard render alerts`, `admission`, `node-disruption-policy` and `dashboard`: what makes the
//! cluster itself tell, and refuse, without a component of ours.

use super::{ForNodes, about, policy, warn};
use crate::cli::inputs::{POLICY_VARIABLE, policy_name, read_file};
use crate::forms::yaml;
use crate::operator::unknown_release;
use crate::policy::Mode;
use crate::render::admission::{Images, documents};
use crate::render::alerts::{self, NodesAtRisk, Refused, Risks};
use crate::render::manifests::{DASHBOARD, NODE_DISRUPTION_POLICY, NODE_DISRUPTION_POLICY_REMOVAL};
use clap::ValueHint;
use skewguard_core::command::{Exit, Failure, Io, parse_release, read_once};
use std::path::PathBuf;

/// The largest audit that is read, in bytes.
const MAX_AUDIT: u64 = 64 << 20;

/// Alerts for the cluster's own Prometheus (YAML)
///
/// One AlertingRule: nodes that did not join because of their boot image, nodes that were made from
/// an image that the policy refuses, reports that are lost, an audit that failed, and limits that
/// are not the Machine Config Operator's. The metrics are there in every OpenShift; nothing has to
/// run for it. Needs OpenShift 4.13 or later. Make it again when the policy changes.
#[derive(Debug, clap::Args)]
#[command(after_help = concat!("\
Example:
  oc skewguard render alerts --policy policy.json --target 4.22 |
    oc apply --server-side -f -

A runbook for each alert:
  ", crate::docs!("alerts.md"), "

Conditional risks for an update graph, by the image that nodes were installed from:
  oc skewguard render alerts --risks")
)]
pub(super) struct AlertsArgs {
    /// Skew policy, JSON or YAML, or - for standard input.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = policy_name(), env = POLICY_VARIABLE, hide_env_values = true, required_unless_present = "risks")]
    policy: Option<PathBuf>,
    /// Release whose limits apply, such as the one to upgrade to. Default: the limits for any
    /// release.
    #[arg(long, value_name = "RELEASE", value_parser = parse_release)]
    target: Option<String>,
    /// Print no alerts, but the known issues of updates that this version ships as conditional risks: the
    /// PromQL of each is 1 where a joined node has it, 0 where none has, else without an answer. Reads no
    /// policy.
    #[arg(long, conflicts_with = "target")]
    risks: bool,
}

pub(super) fn alerts(args: &AlertsArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let path = match &args.policy {
        Some(path) if !args.risks => path,
        _ => return risks(io),
    };
    let ForNodes {
        policy,
        about: about_policy,
        ..
    } = policy(path, io)?;
    let refused = Refused::new(&policy, args.target.as_deref()).map_err(about(path))?;
    let at_risk = match &args.target {
        Some(target) => NodesAtRisk::new(&policy, target).map_err(about(path))?,
        None => NodesAtRisk::default(),
    };
    if let Some(unknown) = args.target.as_deref().and_then(unknown_release) {
        io.say(format_args!("warning: --target {unknown}"));
    }
    let mut facts = vec![
        about_policy,
        match &args.target {
            Some(target) => format!("Limits: those for {target}."),
            None => "Limits: those for any release; --target names one.".to_owned(),
        },
    ];
    let left_out = refused
        .left_out
        .iter()
        .map(|what| format!("OldBootImageInUse leaves out {what}."));
    let why = match policy.mode {
        Mode::None => "the policy's mode is None",
        Mode::Enforce | Mode::Warn => "these limits refuse no version that a label can name",
    };
    let is_nothing = refused.nodes.is_none();
    let nothing = is_nothing.then(|| format!("OldBootImageInUse is not among the alerts: {why}."));
    let not_told = (!at_risk.left_out.is_empty()).then(|| {
        format!(
            "BootImageTooOldForUpdate leaves out {}: the metric does not say more than a node's boot image, `oc skewguard audit --target` does.",
            at_risk.left_out.join(", ")
        )
    });
    for warning in left_out.chain(nothing).chain(not_told) {
        warn(&mut facts, io, warning);
    }
    let rule = alerts::rule(&policy, &refused, &at_risk, args.target.as_deref());
    write!(io.out, "{}{}", comments(&facts), yaml(&rule))?;
    Ok(Exit::Done)
}

fn risks(io: &mut Io<'_>) -> Result<Exit, Failure> {
    let Risks { risks, left_out } = Risks::shipped()?;
    for id in left_out {
        io.say(format_args!(
            "{id} is left out: the label does not say all that it asks for; `oc skewguard audit --target` does"
        ));
    }
    write!(io.out, "{}", yaml(&risks))?;
    Ok(Exit::Done)
}

/// What refuses a Machine before it exists (YAML)
///
/// A ValidatingAdmissionPolicy: a Machine that names one of the images that an audit found to be
/// refused is not made, and the events of its machine set say why, before anybody pays for the
/// machine. Under Warn it is made, with a warning. Images that the audit does not know, and
/// Machines that exist, are never touched. Needs OpenShift 4.17 or later. Make it again after each
/// audit. Of a policy in mode None it prints the empty one, which lifts an earlier one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  oc skewguard audit --policy policy.json -o json >audit.json
  oc skewguard render admission --policy policy.json \\
    --audit audit.json |
    oc apply --server-side -f -")]
pub(super) struct AdmissionArgs {
    /// Skew policy, JSON or YAML, or - for standard input. Its mode decides whether Machines are denied.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = policy_name(), env = POLICY_VARIABLE, hide_env_values = true)]
    policy: PathBuf,
    /// What `oc skewguard audit --output json` printed of all sets, with the same policy, or - for standard input.
    /// A policy in mode None needs none.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    audit: Option<PathBuf>,
    /// Take an audit for another release than the cluster's own (`audit --target`): Machines are then
    /// denied by the limits for that one.
    #[arg(long)]
    any_release: bool,
    /// Deny also images of the cluster's own release: no machine can then be made from them.
    #[arg(long)]
    deny_own: bool,
}

pub(super) fn admission(args: &AdmissionArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    read_once(
        [&args.policy]
            .into_iter()
            .chain(&args.audit)
            .map(PathBuf::as_path),
    )?;
    let ForNodes {
        policy,
        digest,
        about: about_policy,
        ..
    } = policy(&args.policy, io)?;
    let images = match (&args.audit, policy.mode) {
        (_, Mode::None) => Images::default(),
        (None, _) => return Err("name the audit of this policy: --audit FILE".into()),
        (Some(audit), _) => read_file(audit, MAX_AUDIT, "`oc skewguard audit -o json` prints one")
            .and_then(|json| Images::from_audit(&json, &digest, args.any_release, args.deny_own))
            .map_err(about(audit))?,
    };
    let mut facts = vec![about_policy, format!("Refused images: {}.", images.len())];
    if let Some((asked, own)) = &images.releases {
        let fact = match own {
            Some(own) => format!("The audit is for {asked}, and the cluster is {own}."),
            None => {
                format!("The audit is for {asked}, and does not say the cluster's own release.")
            }
        };
        warn(&mut facts, io, fact);
    }
    for left_out in &images.left_out {
        io.say(format_args!("warning: left out: {left_out}"));
        facts.push(format!("Left out: {left_out}."));
    }
    for set in &images.excepted {
        let fact = format!("{set} is excepted in the audit alone; its image is refused here, too.");
        warn(&mut facts, io, fact);
    }
    write!(
        io.out,
        "{}{}",
        comments(&facts),
        documents(&images, policy.mode)
    )?;
    Ok(Exit::Done)
}

/// What lets skewguard's files change without a reboot of the nodes (YAML)
///
/// Entries of the cluster's node disruption policy: the files and units of `render machineconfig`, with
/// the action None. It is for a server-side apply under a field manager of its own, which adds these
/// entries to the cluster's own object and touches nothing else in it. Never `oc delete` it: the
/// operator would make MachineConfiguration/cluster anew without your settings, such as an opt-out of
/// boot image updates. Needs OpenShift 4.17 or later.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Before the first MachineConfig, and the way back after the last is deleted:
  oc skewguard render node-disruption-policy |
    oc apply --server-side --field-manager=skewguard -f -
  oc skewguard render node-disruption-policy --remove |
    oc apply --server-side --field-manager=skewguard -f -")]
pub(super) struct NodeDisruptionArgs {
    /// What takes the entries away again, applied in the same way.
    #[arg(long)]
    remove: bool,
}

pub(super) fn node_disruption(args: &NodeDisruptionArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let yaml = if args.remove {
        NODE_DISRUPTION_POLICY_REMOVAL
    } else {
        NODE_DISRUPTION_POLICY
    };
    write!(io.out, "{yaml}")?;
    Ok(Exit::Done)
}

/// A dashboard for the console (YAML)
///
/// A ConfigMap that the console shows under Observe, Dashboards: nodes by boot image and by its
/// RHEL release, when the oldest of them was built, and the reports over time. The same as the
/// kustomize component manifests/dashboard of a release.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  oc skewguard render dashboard | oc apply -f -")]
pub(super) struct DashboardArgs {}

pub(super) fn dashboard(io: &mut Io<'_>) -> Result<Exit, Failure> {
    write!(io.out, "{DASHBOARD}")?;
    Ok(Exit::Done)
}

/// Makes the comments above an object. Facts are one line each.
fn comments(facts: &[String]) -> String {
    facts.iter().map(|fact| format!("# {fact}\n")).collect()
}
