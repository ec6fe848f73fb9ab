//! What skewguard keeps on a node: the record of its first run, which has the boot image as it was
//! before any rebase, and the verdicts.

use super::deployment::{self, Booted};
use super::installation::Installation;
use super::{FileError, Root, cmdline};
use crate::verdict::{Facts, Verdict};
use crate::version::ImageVersion;
use crate::{API_VERSION, text};
use serde::{Deserialize, Serialize};

/// The record of the first run.
pub(crate) const RECORD_PATH: &str = "/var/lib/skewguard/boot-image.json";

/// The certificate that the cluster gave the kubelet, and so the sign that the node has joined.
pub(super) const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

const KIND: &str = "BootImageRecord";
const MAX: u64 = 64 << 10;

/// Whether the kubelet has a certificate that is not of an earlier installation, which kept /var. If
/// that cannot be found out, it has one.
pub(crate) fn has_certificate(root: &Root) -> bool {
    match root.version(CERTIFICATE) {
        Ok(None) => false,
        Ok(Some(version)) => match Record::load(root) {
            Ok(Some(record)) => record.is_newer_certificate(&version),
            _ => true,
        },
        Err(_) => true,
    }
}

/// The record of the first run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Record {
    api_version: String,
    kind: String,
    /// The boot image's version; absent where it was unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file that named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The `ostree=` kernel argument of the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ostree: Option<String>,
    /// os-release had `ID=rhel`, so RHEL minor 0 in the version is taken literally and is not
    /// CentOS Stream.
    #[serde(default)]
    pub(crate) rhel: bool,
    /// The deployment that `ostree=` named, `CHECKSUM.SERIAL`. This and what follows is absent from
    /// records of older releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    deployment: Option<String>,
    /// machine-id(5) of the installation.
    #[serde(rename = "machineID", skip_serializing_if = "Option::is_none")]
    machine_id: Option<String>,
    /// The boot that made the record.
    #[serde(rename = "bootID", skip_serializing_if = "Option::is_none")]
    boot_id: Option<String>,
    /// The kubelet's certificate of an earlier installation that kept /var, as [`Root::version`]
    /// gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_certificate: Option<String>,
}

impl Record {
    fn new(facts: &Facts, installation: Installation) -> Self {
        let image = facts.boot_image.as_ref();
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            version: image.map(|image| image.version.text.clone()),
            path: image.map(|image| image.path.clone()),
            ostree: facts.deployment.ostree.clone(),
            rhel: image
                .and_then(|image| image.version.rhel)
                .is_some_and(|rhel| rhel.minor == Some(0)),
            deployment: None,
            machine_id: installation.machine_id,
            boot_id: installation.boot_id,
            earlier_certificate: None,
        }
    }

    /// Whether this installation made it. An earlier one can have left it: Red Hat documents a /var
    /// that is kept over a reinstall. A record without ids counts as this installation's, except on
    /// its first boot: a joined node must never be taken for a new one.
    pub(super) fn is_of(&self, installation: &Installation) -> bool {
        if installation.is_new {
            return self.boot_id.is_some() && self.boot_id == installation.boot_id;
        }
        match (&self.machine_id, &installation.machine_id) {
            (Some(recorded), Some(now)) => recorded == now,
            _ => true,
        }
    }

    /// Whether a certificate of the kubelet with this [`Root::version`] was issued since.
    pub(super) fn is_newer_certificate(&self, version: &str) -> bool {
        self.earlier_certificate.as_deref() != Some(version)
    }

    /// The boot image; `None` where it was unknown.
    pub(crate) fn image(&self) -> Option<ImageVersion> {
        let version = self
            .version
            .as_deref()
            .filter(|version| !version.is_empty())
            .map(ImageVersion::parse)?;
        Some(if self.rhel {
            version.on_rhel()
        } else {
            version
        })
    }

    /// Whether the first run was in another deployment than the booted one. `ostree=` alone says
    /// little: its `boot.0` and `boot.1` take turns with every write of the boot loader's
    /// configuration.
    ///
    /// # Errors
    /// Only one of the two is known, because the kernel command line could not be read, then or
    /// now.
    pub(super) fn is_of_another_deployment(
        &self,
        ostree: Option<&str>,
        booted: Option<&Booted>,
    ) -> Result<bool, FileError> {
        if let (Some(recorded), Some(booted)) = (&self.deployment, booted) {
            return Ok(!deployment::is_same_commit(recorded, &booted.name));
        }
        match (self.ostree.as_deref(), ostree) {
            (Some(recorded), Some(now)) => Ok(recorded != text::printable(now)),
            (None, None) => Ok(false),
            _ => Err(FileError::content(
                RECORD_PATH,
                "whether the node was rebased since is not known: only one of the two boots has ostree=",
            )),
        }
    }

    /// Reads the record of an earlier run; `None` where there was none.
    ///
    /// # Errors
    /// It cannot be read or is not a record.
    pub(crate) fn load(root: &Root) -> Result<Option<Self>, FileError> {
        let record = root
            .read(RECORD_PATH, MAX)?
            .map(|bytes| serde_json::from_slice(&bytes))
            .transpose();
        record.map_err(|error| {
            FileError::content(
                RECORD_PATH,
                format_args!("is not a record of a first run: {error}"),
            )
        })
    }

    /// Writes the record, as a whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    fn save(&self, root: &Root) -> Result<(), FileError> {
        root.write(RECORD_PATH, &json(RECORD_PATH, self)?, 0o644)
    }
}

/// Keeps what is known on the first run of this installation. A record that it made is not
/// replaced, even if it is damaged: a record made after the rebase would say that there was no
/// rebase. What it lacks, or that it cannot be written, becomes a warning.
///
/// Returns whether this is the first run: an earlier installation may have left other files in our
/// directory.
pub(crate) fn keep_record(root: &Root, facts: &Facts, warnings: &mut Vec<String>) -> bool {
    let mut lost = Vec::new();
    let line = cmdline::load(root, &mut lost);
    let line = line.unwrap_or_else(|error| {
        lost.push(error.to_string());
        cmdline::Cmdline::default()
    });
    let installation = Installation::read(root, &line, &mut lost);
    let is_new = installation.is_new;
    let is_ours = match Record::load(root) {
        Ok(record) => record.is_some_and(|record| record.is_of(&installation)),
        Err(_) => !is_new,
    };
    if is_ours {
        return false;
    }
    let mut record = Record::new(facts, installation);
    let mut keep = |error: FileError| lost.push(error.to_string());
    if let Some(ostree) = line.ostree.as_deref() {
        let booted = deployment::find(root, ostree).map_err(&mut keep);
        record.deployment = booted.ok().flatten().map(|booted| booted.name);
    }
    if is_new {
        // On a later boot it may be this installation's own.
        let certificate = root.version(CERTIFICATE).map_err(&mut keep);
        record.earlier_certificate = certificate.ok().flatten();
    }
    let saved = record.save(root).map_err(&mut keep);
    lost.retain(|warning| !warnings.contains(warning));
    warnings.append(&mut lost);
    is_new && saved.is_ok()
}

/// This boot's verdict, for the report, for scripts and people.
pub(crate) const RUN_VERDICT_PATH: &str = "/run/skewguard/verdict.json";

/// The last verdict, of this boot or an earlier one.
pub(crate) const KEPT_VERDICT_PATH: &str = "/var/lib/skewguard/verdict.json";

/// A refusal of an earlier boot that the cluster may not know yet, and that a later verdict, which is
/// not reported, has replaced.
pub(crate) const UNTOLD_VERDICT_PATH: &str = "/var/lib/skewguard/untold-verdict.json";

/// The largest verdict that is read back, in bytes.
pub(crate) const VERDICT_MAX: u64 = 256 << 10;

/// Writes one of the verdict files, as a whole or not at all. Only a refusal is synced to disk: a
/// node that goes on must not wait for the disk.
///
/// # Errors
/// It cannot be written; the old file is untouched.
pub(crate) fn save_verdict(root: &Root, path: &str, verdict: &Verdict) -> Result<(), FileError> {
    let json = json(path, verdict)?;
    if verdict.blocks() {
        root.write(path, &json, 0o644)
    } else {
        root.write_soon(path, &json, 0o644)
    }
}

fn json(path: &str, value: &impl Serialize) -> Result<Vec<u8>, FileError> {
    let mut json =
        serde_json::to_vec_pretty(value).map_err(|error| FileError::content(path, error))?;
    json.push(b'\n');
    Ok(json)
}
