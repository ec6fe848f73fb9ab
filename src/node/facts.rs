//! Gathering everything that the decision needs.

use super::machine_config::{ENCAPSULATED_BAK_PATH, ENCAPSULATED_PATH, MAX_POLICY, load_target};
use super::{FileError, Problem, Record, Root, aleph, cmdline, deployment, os_release, policy};
use crate::text;
use crate::verdict::{BootImage, Deployment, Facts, ImageSource, PolicyInput, TargetInput};
use crate::version::ImageVersion;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The kubelet's kubeconfig: there once it was started.
const KUBELET_KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

/// The certificate that the cluster signed for the kubelet: there once the node has joined.
const KUBELET_CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// Files to try instead of the node's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// A policy file of the caller's, not under the root.
    pub policy: Option<&'a Path>,
    /// An aleph file of the caller's, not under the root.
    pub aleph: Option<&'a Path>,
}

/// Reads a node's facts. What cannot be read becomes a warning and stays unknown.
///
/// # Errors
/// Only for a file that `options` names: it is missing or unreadable. A node's own file never fails it.
pub fn facts(root: &Root, options: Options<'_>) -> Result<Facts, FileError> {
    let mut warnings = Vec::new();
    let (line, record) = (cmdline::load(root, &mut warnings), Record::load(root));
    let unreadable = record.is_err() || line.as_ref().map_or(true, cmdline::Cmdline::ostree_is_lost);
    let line = line.unwrap_or_else(|error| note(&mut warnings, error));
    let r#override = cmdline::override_in_force(root, line.skewguard.as_deref(), &mut warnings);
    let record = record.unwrap_or_else(|error| note(&mut warnings, error));
    let (target, first_boot_finished) = target(root, &mut warnings);
    let deployment = Deployment { first_boot_finished, unreadable, ..Deployment::default() };
    let deployment = booted(root, line.ostree, record.as_ref(), &target, deployment, &mut warnings);
    let policy = match options.policy {
        Some(path) => policy_in(path)?,
        None => policy::find(root, &mut warnings),
    };
    let (boot_image, deployment) = match options.aleph {
        // What this node runs says nothing of one with that image.
        Some(path) => (Some(aleph_in(path)?), Deployment::default()),
        None => (boot_image(root, record.as_ref(), &deployment, &mut warnings), deployment),
    };
    Ok(Facts { boot_image, target, deployment, policy, r#override, platform: line.platform, warnings })
}

/// Notes an error among the warnings and goes on with nothing.
fn note<T: Default>(warnings: &mut Vec<String>, error: FileError) -> T {
    warnings.push(error.to_string());
    T::default()
}

/// The target, and whether the first boot is over.
fn target(root: &Root, warnings: &mut Vec<String>) -> (TargetInput, bool) {
    match load_target(root, ENCAPSULATED_PATH) {
        // The kubelet of a wiring that does not wait for the rebase may have joined with the rebase undone; from OCP 4.5 on the daemon that then
        // runs in the cluster renames the config, but a reboot can come before that.
        Ok(Some(target)) => return (TargetInput::Read(target), root.exists(KUBELET_CERTIFICATE).unwrap_or(false)),
        Ok(None) => {}
        Err(error) => {
            warnings.push(error.to_string());
            return (TargetInput::Unreadable, false);
        }
    }
    match load_target(root, ENCAPSULATED_BAK_PATH) {
        Ok(Some(target)) => (TargetInput::Read(target), true),
        // It was removed because nothing had to change, or there never was a node.
        Ok(None) => (TargetInput::Absent, root.exists(KUBELET_KUBECONFIG).unwrap_or(false)),
        Err(error) => {
            warnings.push(error.to_string());
            (TargetInput::Unreadable, true)
        }
    }
}

/// Fills `deployment` in with what is booted and how it stands to the target and the first run.
fn booted(
    root: &Root,
    ostree: Option<String>,
    record: Option<&Record>,
    target: &TargetInput,
    mut deployment: Deployment,
    warnings: &mut Vec<String>,
) -> Deployment {
    let reference = ostree.as_deref().map_or(Ok(None), |ostree| deployment::image_reference(root, ostree));
    deployment.unreadable |= reference.is_err();
    let reference = reference.unwrap_or_else(|error| note(warnings, error));
    let ostree = ostree.as_deref().map(text::word);
    let recorded = record.and_then(|record| record.ostree.as_deref());
    deployment.on_target = match (target, &reference) {
        (TargetInput::Read(target), Some(reference)) => {
            target.os_image_url.as_deref().is_some_and(|target| deployment::same_digest(reference, target))
        }
        _ => false,
    };
    deployment.rebased = matches!((recorded, &ostree), (Some(recorded), Some(ostree)) if recorded != ostree);
    Deployment { ostree, container_image_reference: reference, ..deployment }
}

/// The first source that yields a version; a later one that disagrees adds a warning.
fn boot_image(root: &Root, record: Option<&Record>, deployment: &Deployment, warnings: &mut Vec<String>) -> Option<BootImage> {
    let os_release = os_release::load(root, warnings);
    let mut found: Vec<BootImage> = Vec::new();
    for path in aleph::PATHS {
        match aleph::load(root, path) {
            Ok(Some(version)) => {
                let version = if os_release.is_rhel { version.on_rhel() } else { version };
                found.push(BootImage { version, source: ImageSource::Aleph, path: path.to_owned() });
            }
            Ok(None) => {}
            Err(error) => warnings.push(error.to_string()),
        }
    }
    if let Some(version) = record.and_then(Record::image) {
        found.push(BootImage { version, source: ImageSource::Record, path: super::RECORD_PATH.to_owned() });
    }
    // After a rebase os-release is the target's.
    let still_the_boot_image = !(deployment.rebased || deployment.on_target || deployment.first_boot_finished);
    if still_the_boot_image && let Some(version) = os_release.version {
        found.push(BootImage { version, source: ImageSource::OsRelease, path: os_release.path.to_owned() });
    }
    let mut found = found.into_iter();
    let first = found.next()?;
    for other in found.filter(|other| other.version.text() != first.version.text()) {
        warnings.push(format!(
            "{}: says the boot image is {}, but {} says {}; the latter is used",
            other.path, other.version, first.path, first.version
        ));
    }
    Some(first)
}

/// A policy file of the caller's.
///
/// # Errors
/// It is missing or unreadable; an invalid policy is a fact, not an error.
pub fn policy_in(path: &Path) -> Result<PolicyInput, FileError> {
    let (name, bytes) = read_own(path, MAX_POLICY)?;
    Ok(policy::input(&name, &bytes))
}

fn aleph_in(path: &Path) -> Result<BootImage, FileError> {
    let (name, bytes) = read_own(path, 1 << 20)?;
    let version: Option<ImageVersion> =
        aleph::parse(&bytes).map_err(|error| FileError::content(&name, format_args!("is no aleph: {error}")))?;
    let version = version.ok_or_else(|| FileError::content(&name, "names no version"))?;
    Ok(BootImage { version, source: ImageSource::Aleph, path: name })
}

/// Reads a file that the caller named on the command line, with the same bounds as a node's. `-` and pipes are not files.
fn read_own(path: &Path, max: u64) -> Result<(String, Vec<u8>), FileError> {
    let name = text::word(&path.to_string_lossy());
    let absolute = std::path::absolute(path).map_err(|error| FileError::io(&name, error))?;
    // A shell's <(command) is a link that only the kernel can follow.
    if std::fs::metadata(&absolute).is_ok_and(|file| file.file_type().is_fifo()) {
        return Err(FileError { path: name, problem: Problem::NotAFile("FIFO") });
    }
    let root = Root::open(Path::new("/")).map_err(|error| FileError::io("/", error))?;
    let bytes = root.read(&absolute.to_string_lossy(), max).map_err(|error| FileError { path: name.clone(), ..error })?;
    let bytes = bytes.ok_or_else(|| FileError::io(&name, nix::errno::Errno::ENOENT))?;
    Ok((name, bytes))
}
