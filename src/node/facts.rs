//! Gathers everything that the decision needs.

use super::image::{self, ALEPH_MAX, OsRelease};
use super::kubeconfig::KUBELET_KUBECONFIG;
use super::machine_config::{ENCAPSULATED_BAK_PATH, ENCAPSULATED_PATH, load_target};
use super::{FileError, Problem, Record, Root, cmdline, deployment, policy};
use crate::policy::MAX_BYTES;
use crate::text;
use crate::verdict::{Deployment, Facts, Stage, TargetInput};
use nix::errno::Errno;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Files that exist once the node has joined: the kubelet's certificate from the cluster, and the config that the Machine Config Daemon
/// applied last. They are needed because a node can have joined while its encapsulated config still exists: where the kubelet does not wait
/// for the rebase, it may join without one. The daemon then renames the config (from OCP 4.5 on), but a reboot can come first.
const JOINED: [&str; 2] = ["/var/lib/kubelet/pki/kubelet-client-current.pem", "/etc/machine-config-daemon/currentconfig"];

/// Files to read instead of the node's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    pub(crate) policy: Option<&'a Path>,
    pub(crate) aleph: Option<&'a Path>,
}

/// Reads a node's facts. What cannot be read becomes a warning and stays unknown.
///
/// # Errors
/// A file that `options` names is missing or unreadable. The node's own files never cause an error.
pub fn facts(root: &Root, options: Options<'_>) -> Result<Facts, FileError> {
    let mut notes = Notes::default();
    let line = cmdline::load(root, &mut notes.warnings);
    let line = notes.or_in_doubt(line);
    let os_release = OsRelease::load(root, &mut notes.warnings);
    notes.in_doubt |= line.ostree_is_lost || os_release.is_lost;
    let r#override = cmdline::override_in_force(root, &line, &mut notes.warnings);
    let ostree = line.ostree.as_deref();
    let record = notes.or_in_doubt(Record::load(root));
    let rebased = record.as_ref().map_or(Ok(false), |record| record.is_of_another_deployment(ostree));
    let rebased = notes.or_in_doubt(rebased);
    let (target, renamed) = target(root, &mut notes.warnings);
    // The kubelet writes its kubeconfig before it asks for a certificate, so this file alone does not prove that it joined. But without an
    // encapsulated config there is no rebase to come, and the file is proof enough.
    let signs = JOINED.into_iter().chain((target == TargetInput::Absent).then_some(KUBELET_KUBECONFIG));
    let joined = signs.fold(false, |joined, path| notes.or_in_doubt(root.exists(path)) | joined);
    let reference = notes.or_in_doubt(ostree.map_or(Ok(None), |ostree| deployment::image_reference(root, ostree)));
    let on_target = matches!((&target, &reference), (TargetInput::Read(target), Some(reference))
        if target.os_image_url.as_deref().is_some_and(|target| deployment::same_digest(reference, target)));
    let Notes { mut warnings, in_doubt } = notes;
    let stage = match () {
        () if on_target => Stage::OnTarget,
        () if rebased => Stage::Rebased,
        () if renamed || joined => Stage::FirstBootFinished,
        () if in_doubt => Stage::Unreadable,
        () => Stage::FirstBoot,
    };
    let policy = match options.policy {
        Some(path) => {
            let (path, bytes) = read_own(path, MAX_BYTES)?;
            policy::input(&path, &bytes)
        }
        None => policy::find(root, &mut warnings),
    };
    let (boot_image, replaced_by, deployment) = match options.aleph {
        // The aleph given stands for another node, so this node's deployment says nothing about it.
        Some(path) => {
            let (path, bytes) = read_own(path, ALEPH_MAX)?;
            (Some(image::aleph(&path, &bytes)?), None, Deployment::default())
        }
        None => {
            let (boot_image, replaced_by) = image::find(root, record.as_ref(), os_release, stage, &mut warnings);
            let ostree = ostree.map(text::printable);
            (boot_image, replaced_by, Deployment { ostree, container_image_reference: reference, stage, image: None })
        }
    };
    Ok(Facts { boot_image, replaced_by, target, deployment, policy, r#override, platform: line.platform, warnings })
}

#[derive(Default)]
struct Notes {
    warnings: Vec<String>,
    /// A file that may show that the node has left its boot image cannot be read.
    in_doubt: bool,
}

impl Notes {
    /// Unwraps what was read. On an error it adds a warning, sets `in_doubt` and returns the default.
    fn or_in_doubt<T: Default>(&mut self, found: Result<T, FileError>) -> T {
        found.unwrap_or_else(|error| {
            self.in_doubt = true;
            self.warnings.push(error.to_string());
            T::default()
        })
    }
}

/// The target, and whether it comes from the renamed file. The Machine Config Daemon renames the file when the first boot is finished.
fn target(root: &Root, warnings: &mut Vec<String>) -> (TargetInput, bool) {
    let mut load = |path| match load_target(root, path) {
        Ok(target) => target.map(TargetInput::Read),
        Err(error) => {
            warnings.push(error.to_string());
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

/// Reads a file named on the command line, with the same limit as for the node's own. Also returns its name, printable. `-` is not standard
/// input, and pipes are refused.
fn read_own(path: &Path, max: u64) -> Result<(String, Vec<u8>), FileError> {
    let name = text::printable(&path.to_string_lossy());
    let absolute = std::path::absolute(path).map_err(|error| FileError::new(&name, error))?;
    // A shell's <(command) is a link that only the kernel can follow, so [`Root`] would not recognise the pipe.
    if std::fs::metadata(&absolute).is_ok_and(|file| file.file_type().is_fifo()) {
        return Err(FileError::new(&name, Problem::NotAFile("FIFO")));
    }
    let root = Root::open(Path::new("/")).map_err(|error| FileError::new("/", error))?;
    let bytes = root.read(&absolute.to_string_lossy(), max).map_err(|error| FileError::new(&name, error.problem))?;
    let bytes = bytes.ok_or_else(|| FileError::new(&name, Errno::ENOENT))?;
    Ok((name, bytes))
}
