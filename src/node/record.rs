//! Files that skewguard keeps on a node: the record of its first run, which has the boot image as
//! it was before any rebase, and the verdicts.

use super::deployment::{self, Booted, is_same_base};
use super::installation::Installation;
use super::machine_config::ENCAPSULATED_PATH;
use super::{FileError, Node, Root};
use crate::verdict::{Facts, Verdict};
use crate::version::ImageVersion;
use crate::{API_VERSION, json, text};
use serde::{Deserialize, Serialize};

/// The record of the first run.
pub(crate) const RECORD_PATH: &str = "/var/lib/skewguard/boot-image.json";

/// Places for it if /var cannot hold it: in /etc, which an OS update takes along, else for
/// this boot. Both are of this installation, whatever /var is.
pub(crate) const RECORD_PATHS_BESIDE: [&str; 2] = [
    "/etc/skewguard/boot-image.json",
    "/run/skewguard/boot-image.json",
];

/// The certificate that the cluster gave the kubelet, and so the sign that the node has joined.
pub(super) const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

const KIND: &str = "BootImageRecord";
const MAX: u64 = 64 << 10;

/// Looks for a certificate of this installation. Without a record one that is older
/// than the config, which every installation writes anew, is an earlier one's.
///
/// # Errors
/// That cannot be found out.
pub(super) fn is_certified(root: &Root, record: Option<&Record>) -> Result<bool, FileError> {
    let Some(version) = root.version(CERTIFICATE)? else {
        return Ok(false);
    };
    if let Some(record) = record {
        return Ok(record.is_newer_certificate(&version));
    }
    let (certificate, config) = (root.written(CERTIFICATE)?, root.written(ENCAPSULATED_PATH)?);
    Ok(certificate
        .zip(config)
        .is_none_or(|(certificate, config)| certificate >= config))
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
    pub(super) deployment: Option<String>,
    /// Its base, as its origin names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// The version in its os-release.
    #[serde(skip_serializing_if = "Option::is_none")]
    os_version: Option<String>,
    /// machine-id(5) of the installation.
    #[serde(rename = "machineID", skip_serializing_if = "Option::is_none")]
    machine_id: Option<String>,
    /// The boot that made the record.
    #[serde(rename = "bootID", skip_serializing_if = "Option::is_none")]
    pub(super) boot_id: Option<String>,
    /// The kubelet's certificate of an earlier installation that kept /var, as [`Root::version`]
    /// gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_certificate: Option<String>,
    /// Free space in /boot on the first run, in MiB.
    #[serde(rename = "bootFreeMiB", skip_serializing_if = "Option::is_none")]
    pub(super) boot_free_mib: Option<u32>,
    /// The file that it was read from.
    #[serde(skip)]
    pub(crate) file: &'static str,
}

impl Record {
    fn new(facts: &Facts, node: &Node<'_>) -> Self {
        let (image, booted) = (facts.boot_image.as_ref(), node.booted.as_ref());
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            version: image.map(|image| image.version.text.clone()),
            path: image.map(|image| image.path.clone()),
            ostree: facts.deployment.ostree.clone(),
            rhel: image
                .and_then(|image| image.version.rhel)
                .is_some_and(|rhel| rhel.minor == Some(0)),
            deployment: booted.map(|booted| booted.name.clone()),
            base: booted.and_then(Booted::base),
            os_version: node.os_release.version().map(str::to_owned),
            machine_id: node.installation.machine_id.clone(),
            boot_id: node.installation.boot_id.clone(),
            earlier_certificate: None,
            boot_free_mib: facts.machine.boot_free_mib,
            file: RECORD_PATH,
        }
    }

    /// Asks if this installation made it. An earlier one can have left it: Red Hat documents a /var
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

    /// Asks if a certificate with this [`Root::version`] was issued since.
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

    /// Compares what is booted with the deployment of the first run: after a rebase its base is
    /// another, or the version in its os-release. Packages, overrides, kernel arguments and an
    /// initramfs make another deployment of the same base.
    ///
    /// # Errors
    /// That is not known, because something could not be read, then or now.
    pub(super) fn is_rebased(&self, node: &Node<'_>) -> Result<bool, FileError> {
        let booted = node.booted.as_ref();
        if !self.is_of_another_deployment(node.line.ostree.as_deref(), booted)? {
            return Ok(false);
        }
        // A record of an older release has the boot image's version and no base. The deployment
        // that it names may still be there.
        let versions = self.os_version.as_deref().or(self.version.as_deref());
        let versions = versions.filter(|version| !version.is_empty());
        let versions = versions.zip(node.os_release.version());
        if versions.is_some_and(|(then, now)| then != now) {
            return Ok(true);
        }
        let first = self.deployment.as_deref();
        let base = self.base.clone();
        let base = base.or_else(|| booted?.base_beside(node.root, first?));
        match (base, booted.and_then(Booted::base)) {
            (Some(base), Some(now)) => Ok(!is_same_base(&base, &now, first)),
            (Some(_), None) => self.unknown("the base of this boot's deployment is not"),
            (None, _) if versions.is_some() => Ok(false),
            // Of the releases that recorded `ostree=` alone: what counted for them.
            (None, _) if first.is_none() => Ok(true),
            (None, _) => self.unknown("the base of the first run's deployment is not"),
        }
    }

    fn unknown<T>(&self, why: &str) -> Result<T, FileError> {
        Err(FileError::content(
            self.file,
            format_args!("whether the node was rebased since is not known: {why}"),
        ))
    }

    /// Compares the booted deployment's commit with the first run's. `ostree=` alone says little:
    /// its `boot.0` and `boot.1` take turns with every write of the boot loader's configuration.
    fn is_of_another_deployment(
        &self,
        ostree: Option<&str>,
        booted: Option<&Booted>,
    ) -> Result<bool, FileError> {
        if let (Some(recorded), Some(booted)) = (&self.deployment, booted) {
            return Ok(!deployment::is_same_commit(recorded, &booted.name));
        }
        match (self.ostree.as_deref(), ostree) {
            (Some(recorded), Some(now)) if recorded == text::printable(now) => Ok(false),
            (Some(_), Some(_)) if self.deployment.is_some() => {
                self.unknown("the deployment of this boot cannot be found")
            }
            (Some(_), Some(_)) => Ok(true),
            (None, None) => Ok(false),
            _ => self.unknown("only one of the two boots has ostree="),
        }
    }

    /// Reads the record of an earlier run; `None` where there was none.
    ///
    /// # Errors
    /// It cannot be read or is not a record.
    pub(crate) fn load(root: &Root) -> Result<Option<Self>, FileError> {
        // Those beside /var are there only where /var could not hold it: what /var has is older.
        for file in RECORD_PATHS_BESIDE.into_iter().rev().chain([RECORD_PATH]) {
            let Some(bytes) = root.read(file, MAX)? else {
                continue;
            };
            let record: Self = json::read(&bytes).map_err(|error| {
                FileError::content(
                    file,
                    format_args!("is not a record of a first run: {error}"),
                )
            })?;
            return Ok(Some(Self { file, ..record }));
        }
        Ok(None)
    }

    /// The boot of the first run, which no other installation has.
    pub(crate) fn first_boot_id(&self) -> Option<&str> {
        self.boot_id.as_deref()
    }

    /// Writes the record, as a whole or not at all, to the first place that takes it. What does not
    /// is said. Only that of a refusal is synced to disk: the next boot decides by it. A node that
    /// goes on must not wait for the disk, and the kernel writes the record long before a rebase
    /// reboots it.
    fn save(&self, root: &Root, blocks: bool, lost: &mut Vec<String>) {
        for file in std::iter::once(RECORD_PATH).chain(RECORD_PATHS_BESIDE) {
            let saved = json(file, self).and_then(|json| {
                if blocks {
                    root.write(file, &json, 0o644)
                } else {
                    root.write_soon(file, &json, 0o644)
                }
            });
            match saved {
                Ok(()) if file == RECORD_PATH => return,
                Ok(()) => {
                    return lost.push(format!("the record of this first run is in {file} instead"));
                }
                Err(error) => lost.push(error.to_string()),
            }
        }
    }
}

/// An installation's first run: there is no record yet.
pub(crate) struct FirstRun {
    record: Record,
    /// This is the first boot of the installation: an earlier one may have left other files in our
    /// directory.
    pub(crate) is_new: bool,
    /// Errors that left gaps in the record.
    lost: Vec<String>,
}

impl FirstRun {
    /// `None` where this installation has a record. One that it made is not replaced, even if it is
    /// damaged: a record made after the rebase would say that there was no rebase.
    pub(crate) fn of(node: &Node<'_>, facts: &Facts) -> Option<Self> {
        if node.has_record() {
            return None;
        }
        let mut record = Record::new(facts, node);
        let mut lost = Vec::new();
        let is_new = node.installation.is_new;
        if is_new {
            // On a later boot it may be this installation's own.
            let certificate = node.root.version(CERTIFICATE);
            record.earlier_certificate = certificate.unwrap_or_else(|error| {
                lost.push(error.to_string());
                None
            });
        }
        Some(Self {
            record,
            is_new,
            lost,
        })
    }

    /// Keeps the record. What it lacks, or that it cannot be written, becomes a warning. Returns
    /// whether there is a new one.
    pub(crate) fn keep(mut self, root: &Root, verdict: &mut Verdict) -> bool {
        self.record.save(root, verdict.blocks(), &mut self.lost);
        self.lost
            .retain(|warning| !verdict.warnings.contains(warning));
        let is_said = !self.lost.is_empty();
        verdict.warnings.append(&mut self.lost);
        is_said
    }
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
    let mut json = json::pretty(value).map_err(|error| FileError::content(path, error))?;
    json.push(b'\n');
    Ok(json)
}
