//! Gathers everything that the decision needs.

use super::image::{self, OsRelease};
use super::installation::Installation;
use super::machine_config::{ENCAPSULATED_BAK_PATH, ENCAPSULATED_PATH, load_target};
use super::rebase::is_not_finalized;
use super::record::is_certified;
use super::{
    FileError, KUBELET_KUBECONFIG, Record, Root, cmdline, deployment, machine, named, policy,
};
use crate::text;
use crate::verdict::{Deployment, Facts, Machine, PolicyInput, Stage, TargetInput};
use std::path::Path;

/// The config that the Machine Config Daemon applied last. Some releases write it before the
/// rebase.
const CURRENT_CONFIG: &str = "/etc/machine-config-daemon/currentconfig";

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

/// What counts instead of the node's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options<'a> {
    pub(crate) policy: Option<PolicyInput>,
    pub(crate) aleph: Option<&'a Path>,
}

/// Reads a node's facts. What cannot be read becomes a warning and stays unknown.
///
/// # Errors
/// A file that `options` names is missing or unreadable. The node's own files never cause an error.
pub(crate) fn facts(root: &Root, options: Options<'_>) -> Result<Facts, FileError> {
    let mut reading = FactsReader {
        root,
        warnings: Vec::new(),
        in_doubt: false,
    };
    let line = cmdline::load(root, &mut reading.warnings);
    let line = reading.or_in_doubt(line);
    let os_release = OsRelease::load(root, &mut reading.warnings);
    reading.in_doubt |= line.ostree_is_lost || os_release.is_lost;
    let r#override = cmdline::override_in_force(root, &line, &mut reading.warnings);
    let installation = Installation::read(root, &line, &mut reading.warnings);
    let record = reading.record(&installation);
    let booted = line
        .ostree
        .as_deref()
        .map(|ostree| deployment::find(root, ostree));
    let mut booted = reading.or_in_doubt(booted.transpose()).flatten();
    if let Some(booted) = &mut booted {
        let origin = booted.read_origin(root);
        reading.or_in_doubt(origin);
    }
    let rebased = record.as_ref().map(|record| {
        let (ostree, now) = (line.ostree.as_deref(), os_release.version());
        record.is_rebased(root, ostree, booted.as_ref(), now)
    });
    let rebased = reading.or_in_doubt(rebased.transpose()).unwrap_or(false);
    let (target, renamed) = reading.target();
    let joined = reading.has_joined(&target, &installation, record.as_ref());
    let reference = booted.and_then(|booted| booted.image_reference());
    let stage = if is_on_target(&target, reference.as_deref()) {
        Stage::OnTarget
    } else if rebased {
        Stage::Rebased
    } else if renamed || joined {
        Stage::FirstBootFinished
    } else if reading.in_doubt {
        Stage::Unreadable
    } else {
        Stage::FirstBoot
    };
    let mut warnings = reading.warnings;
    if stage == Stage::FirstBootFinished && is_not_finalized(root) {
        warnings.push(format!(
            "{ENCAPSULATED_BAK_PATH}: the rebase was staged, but not finalized: the node still runs the deployment of its first run; see journalctl -b -1 -u ostree-finalize-staged"
        ));
    }
    let policy = match options.policy {
        Some(policy) => policy,
        None => policy::find(root, &mut warnings),
    };
    let mut facts = Facts {
        boot_image: None,
        replaced_by: None,
        target,
        deployment: Deployment::default(),
        policy,
        r#override,
        platform: line.platform,
        machine: Machine::default(),
        warnings: Vec::new(),
    };
    if let Some(path) = options.aleph {
        // The aleph stands for another node, so this node's deployment and machine say nothing
        // about it.
        let bytes = named::read(path, skewguard_core::aleph::MAX_BYTES)?;
        facts.boot_image = Some(image::aleph(&named::shown(path), &bytes)?);
    } else {
        (facts.boot_image, facts.replaced_by) =
            image::find(root, record.as_ref(), os_release, stage, &mut warnings);
        facts.deployment = Deployment {
            ostree: line.ostree.as_deref().map(text::printable),
            container_image_reference: reference,
            stage,
            image: None,
        };
        let is_first_run = installation.is_new;
        facts.machine = machine::load(root, record.as_ref(), is_first_run, &mut warnings);
    }
    facts.warnings = warnings;
    Ok(facts)
}

fn is_on_target(target: &TargetInput, reference: Option<&str>) -> bool {
    let TargetInput::Read(target) = target else {
        return false;
    };
    target
        .os_image_url
        .as_deref()
        .zip(reference)
        .is_some_and(|(target, reference)| deployment::same_digest(reference, target))
}

/// What reading the files of a node has shown so far.
struct FactsReader<'a> {
    root: &'a Root,
    warnings: Vec<String>,
    /// A file that may show that the node has left its boot image cannot be read.
    in_doubt: bool,
}

impl FactsReader<'_> {
    /// Unwraps what was read. On an error it adds a warning, sets `in_doubt` and returns the
    /// default.
    fn or_in_doubt<T: Default>(&mut self, found: Result<T, FileError>) -> T {
        found.unwrap_or_else(|error| {
            self.in_doubt = true;
            self.warnings.push(error.to_string());
            T::default()
        })
    }

    /// The record of this installation's first run.
    fn record(&mut self, installation: &Installation) -> Option<Record> {
        let record = Record::load(self.root);
        let record = if installation.is_new {
            // An earlier installation left it, or it was made on this boot. A damaged one is no
            // evidence.
            record.ok().flatten()
        } else {
            self.or_in_doubt(record)
        };
        record.filter(|record| record.is_of(installation))
    }

    /// The target, and whether it comes from the renamed file. The Machine Config Daemon renames
    /// the file when the first boot is finished.
    fn target(&mut self) -> (TargetInput, bool) {
        let mut load = |path| match load_target(self.root, path) {
            Ok(target) => target.map(TargetInput::Read),
            Err(error) => {
                self.warnings.push(error.to_string());
                Some(TargetInput::Unreadable)
            }
        };
        if let Some(target) = load(ENCAPSULATED_PATH) {
            return (target, false);
        }
        match load(ENCAPSULATED_BAK_PATH) {
            Some(target) => (target, true),
            None => (TargetInput::Absent, false),
        }
    }

    /// Whether the node has joined. It can have joined while its encapsulated config still exists:
    /// where the kubelet does not wait for the rebase, it may join without one. The Machine Config
    /// Daemon then renames the config (from OCP 4.5 on), but a reboot can come first.
    fn has_joined(
        &mut self,
        target: &TargetInput,
        installation: &Installation,
        record: Option<&Record>,
    ) -> bool {
        // Nothing under /var is evidence on the first boot of an installation, unless it is newer
        // than the record of this boot.
        let has_old_var = installation.is_new && record.is_none();
        if !has_old_var && self.or_in_doubt(is_certified(self.root, record)) {
            return true;
        }
        if *target != TargetInput::Absent {
            return false;
        }
        // There is no rebase to come, so less is proof enough. The kubelet writes its kubeconfig
        // before it asks for a certificate.
        let has_kubeconfig = !has_old_var && self.or_in_doubt(self.root.exists(KUBELET_KUBECONFIG));
        has_kubeconfig || self.or_in_doubt(self.root.exists(CURRENT_CONFIG))
    }
}
