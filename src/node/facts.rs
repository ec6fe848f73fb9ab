//! Gathers everything that the decision needs.

use super::deployment::Booted;
use super::error::Doubts;
use super::image;
use super::joined::{CURRENT_CONFIG, Joined, was_started};
use super::machine_config::{ENCAPSULATED_BAK_PATH, find_target, load_policy_file};
use super::rebase::{LostRebase, lost_rebase_to};
use super::{FileError, KUBELET_KUBECONFIG, Node, machine, policy, user_file};
use crate::text;
use crate::verdict::{Deployment, Facts, Machine, PolicyInput, Stage, TargetInput};
use std::path::Path;

/// Files and folders that every node has one of, and no other machine.
pub(crate) const NODE_PATHS: [&str; 8] = [
    "/sysroot/.coreos-aleph-version.json",
    "/sysroot/.aleph-version.json",
    "/sysroot/.bootc-aleph.json",
    "/sysroot/ostree",
    "/etc/skewguard",
    super::RECORD_PATH,
    KUBELET_KUBECONFIG,
    CURRENT_CONFIG,
];

/// Inputs that count instead of the node's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs<'a> {
    pub(crate) policy: Option<PolicyInput>,
    pub(crate) aleph: Option<&'a Path>,
}

/// Gathers the facts. What cannot be read becomes a warning and stays unknown.
///
/// # Errors
/// A file that `inputs` names is missing or unreadable. The node's own files never cause an error.
pub(crate) fn facts(node: &Node<'_>, inputs: Inputs<'_>) -> Result<Facts, FileError> {
    let mut doubts = node.doubts.clone();
    let (target, stage) = target_and_stage(node, &mut doubts);
    let mut warnings = doubts.warnings;
    if matches!(stage, Stage::FirstBootFinished | Stage::MayHaveJoined)
        && let Some(lost) = lost_rebase_to(node, &target)
    {
        let (what, see) = match lost {
            LostRebase::NotFinalized => (
                "was staged, but not finalized",
                "-b -1 -u ostree-finalize-staged",
            ),
            LostRebase::NotBooted => ("is in the boot menu, but was not booted", "-b -1"),
        };
        warnings.push(format!(
            "{ENCAPSULATED_BAK_PATH}: the rebase {what}: the node still runs the deployment of its first run; see journalctl {see}"
        ));
    }
    let policy = match inputs.policy {
        Some(policy) => policy,
        None => {
            let served = load_policy_file(node.root);
            policy::find(node.root, served, &mut warnings)
        }
    };
    let mut facts = Facts {
        r#override: node.r#override,
        platform: node.line.platform.clone(),
        ..Facts::new(policy, target)
    };
    let record = node.record();
    if let Some(path) = inputs.aleph {
        // The aleph stands for another node, so this node's deployment and machine say nothing
        // about it.
        let bytes = user_file::read(path, skewguard_core::aleph::MAX_BYTES)?;
        facts.boot_image = Some(image::aleph(&user_file::shown(path), &bytes)?);
    } else {
        (facts.boot_image, facts.replaced_by) =
            image::find(node.root, record, &node.os_release, stage, &mut warnings);
        facts.deployment = Deployment {
            ostree: node.line.ostree.as_deref().map(text::printable),
            container_image_reference: node.booted.as_ref().and_then(Booted::image_reference),
            stage,
            image: None,
        };
        facts.machine = Machine {
            fips: node.line.fips,
            ..machine::load(node.root, record, &mut warnings)
        };
    }
    facts.warnings = warnings;
    Ok(facts)
}

fn target_and_stage(node: &Node<'_>, doubts: &mut Doubts) -> (TargetInput, Stage) {
    let rebased = node
        .record()
        .map(|record| record.is_rebased(node.booted.as_ref(), &node.os_release));
    let rebased = doubts.or_default(rebased.transpose()).unwrap_or(false);
    let (target, renamed) = find_target(node.root, &mut doubts.warnings);
    let joined = node.joined();
    let no_record = |path| format!("{path}: is there, and there is no record of a first run");
    let is_gone = renamed || target == TargetInput::Absent && node.record().is_some();
    let may_have = match &joined {
        Joined::Maybe(why) => Some(why.clone()),
        _ if renamed => Some(no_record(ENCAPSULATED_BAK_PATH)),
        _ if target == TargetInput::Absent => was_started(node.root).map(no_record),
        _ => None,
    };
    let stage = if node.is_on(&target) {
        Stage::OnTarget
    } else if rebased {
        Stage::Rebased
    } else if joined == Joined::Yes || is_gone && node.record().is_some() {
        Stage::FirstBootFinished
    } else if let Some(why) = may_have {
        doubts.warnings.push(why);
        Stage::MayHaveJoined
    } else if doubts.is_open {
        Stage::Unreadable
    } else {
        Stage::FirstBoot
    };
    (target, stage)
}
