//! Files that skewguard keeps on a node: the record of its first run, which has the boot image as
//! it was before any rebase, and the verdicts.

use super::deployment::{self, Booted, is_same_base};
use super::installation::Installation;
use super::machine_config::ENCAPSULATED_PATH;
use super::{FileError, Node, Root, image};
use crate::verdict::{Facts, Verdict};
use crate::version::ImageVersion;
use crate::{API_VERSION, clock, json, text};
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// The record of the first run.
pub(crate) const RECORD_PATH: &str = "/var/lib/skewguard/boot-image.json";

/// Places for it until /var has it, and if /var cannot hold it: in /etc, which is new with every
/// installation and which an OS update takes along, else for this boot. Both are of this
/// installation, whatever /var is.
pub(crate) const RECORD_PATHS_BESIDE: [&str; 2] = [
    "/etc/skewguard/boot-image.json",
    "/run/skewguard/boot-image.json",
];

/// Deliveries that the report keeps, and the installation's random id. The id is in a file of its
/// own, so that it survives damaged deliveries.
pub(crate) const STATE_PATH: &str = "/var/lib/skewguard/report-state.json";
pub(crate) const INSTALLATION_PATH: &str = "/var/lib/skewguard/installation-id";

/// The certificate that the cluster gave the kubelet, and so the sign that the node has joined.
pub(super) const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

const KIND: &str = "BootImageRecord";

/// Largest record that is read, in bytes. Until a refusal is kept, its record has it.
const MAX: u64 = VERDICT_MAX + (64 << 10);

/// The day that this program's commit was made, else the project's first.
const MADE: &str = match crate::COMMIT_DATE {
    Some(date) if !date.is_empty() => date,
    _ => "2026-11-21",
};

/// Looks for a certificate of this installation. Without a record one that is older
/// than the config, which every installation writes anew, is an earlier one's. A time before the
/// agent was made is that of a clock that was not set, or of an earlier installation: it proves
/// nothing.
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
    let is_credible = |at: &SystemTime| clock::time(*at).get(..MADE.len()) >= Some(MADE);
    let config = config.filter(is_credible);
    Ok(certificate.is_none_or(|certificate| {
        is_credible(&certificate) && config.is_none_or(|config| certificate >= config)
    }))
}

/// When the encapsulated config was written, to the nanosecond.
fn config_written(root: &Root) -> Option<String> {
    let at = root.written(ENCAPSULATED_PATH).ok()??;
    let at = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{}.{:09}", at.as_secs(), at.subsec_nanos()))
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
    /// When Ignition wrote the encapsulated config, by whatever clock: no two installations have the
    /// same. Absent from records of older releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_written: Option<String>,
    /// The kubelet's certificate of an earlier installation that kept /var, as [`Root::version`]
    /// gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_certificate: Option<String>,
    /// Free space in /boot on the first run, in MiB.
    #[serde(rename = "bootFreeMiB", skip_serializing_if = "Option::is_none")]
    pub(super) boot_free_mib: Option<u32>,
    /// A refusal that /var does not have yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Box<Verdict>>,
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
            config_written: node
                .installation
                .boot_id
                .is_some()
                .then(|| config_written(node.root))
                .flatten(),
            earlier_certificate: None,
            boot_free_mib: facts.machine.boot_free_mib,
            refusal: None,
            file: RECORD_PATH,
        }
    }

    /// Asks if this installation made it. An earlier one can have left it: Red Hat documents a /var
    /// that is kept over a reinstall. A record without ids counts as this installation's, except on
    /// its first boot: a joined node must never be taken for a new one.
    pub(super) fn is_of(
        &self,
        root: &Root,
        installation: &Installation,
        booted: Option<&Booted>,
    ) -> bool {
        if installation.is_new {
            return self.boot_id.is_some() && self.boot_id == installation.boot_id;
        }
        if self.file != RECORD_PATH {
            return true;
        }
        let is_of_another_machine = matches!(
            (&self.machine_id, &installation.machine_id),
            (Some(recorded), Some(now)) if recorded != now
        );
        // On KVM and OpenStack a machine-id survives a reinstallation.
        !is_of_another_machine
            && !self.names_another_image(root)
            && !self.is_of_another_config(root, booted)
    }

    /// The aleph that it names is of another image now. What cannot be read is not.
    fn names_another_image(&self, root: &Root) -> bool {
        let recorded = self.path.as_deref().zip(self.version.as_deref());
        recorded.is_some_and(|(path, version)| {
            image::aleph_version(root, path).is_some_and(|now| now.text != version)
        })
    }

    /// The config is another one than this installation's, which Ignition writes before any run; or,
    /// as far as the record knows, a newer one. It says so only until a rebase or an update, which
    /// copies it.
    fn is_of_another_config(&self, root: &Root, booted: Option<&Booted>) -> bool {
        let first = self.deployment.as_deref();
        if first.is_none() || first != booted.map(|booted| &*booted.name) {
            return false;
        }
        if let Some(recorded) = &self.config_written {
            return config_written(root).is_some_and(|now| now != *recorded);
        }
        let written = |path| root.written(path).ok().flatten();
        matches!(
            (written(self.file), written(ENCAPSULATED_PATH)),
            (Some(record), Some(config)) if record < config
        )
    }

    /// This is in /var.
    pub(crate) fn is_in_var(&self) -> bool {
        self.file == RECORD_PATH
    }

    /// Takes out the refusal that /var does not have yet.
    pub(crate) fn take_refusal(&mut self) -> Option<Verdict> {
        self.refusal.take().map(|refusal| *refusal)
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
        // Those beside /var are there only where /var does not have it: what /var has is older.
        for file in RECORD_PATHS_BESIDE.into_iter().rev().chain([RECORD_PATH]) {
            if let Some(record) = Self::load_from(root, file)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn load_from(root: &Root, file: &'static str) -> Result<Option<Self>, FileError> {
        let bytes = root.read(file, MAX)?;
        // Beside /var it is not synced: a power cut may leave it empty.
        let Some(bytes) = bytes.filter(|bytes| file == RECORD_PATH || !bytes.is_empty()) else {
            return Ok(None);
        };
        let record: Self = json::read(&bytes).map_err(|error| {
            FileError::content(
                file,
                format_args!("is not a record of a first run: {error}"),
            )
        })?;
        Ok(Some(Self { file, ..record }))
    }

    /// The boot of the first run, which no other installation has.
    pub(crate) fn first_boot_id(&self) -> Option<&str> {
        self.boot_id.as_deref()
    }

    /// /var has this record.
    pub(crate) fn is_kept(&self, root: &Root) -> bool {
        let kept = Self::load_from(root, RECORD_PATH).ok().flatten();
        kept.is_some_and(|kept| {
            Self {
                file: kept.file,
                ..self.clone()
            } == kept
        })
    }

    /// Writes it to /etc, with a refusal that /var does not have yet. Nothing waits for the disk.
    ///
    /// # Errors
    /// /etc cannot be written to.
    pub(crate) fn save_in_etc(
        &self,
        root: &Root,
        refusal: Option<&Verdict>,
    ) -> Result<(), FileError> {
        let [etc, _] = RECORD_PATHS_BESIDE;
        let refusal = refusal.cloned().map(Box::new);
        let record = Self {
            refusal,
            ..self.clone()
        };
        root.write_soon(etc, &json(etc, &record)?, 0o644)
    }

    /// Removes it beside /var, once that has it and the refusal.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub(crate) fn remove_beside(root: &Root) -> Result<(), FileError> {
        for path in RECORD_PATHS_BESIDE {
            root.remove(path)?;
        }
        Ok(())
    }

    /// Writes the record, as a whole or not at all, to the first place that takes it. What does not
    /// is said. Only that of a refusal is synced to disk: the next boot decides by it. A node that
    /// goes on must not wait for the disk, and the kernel writes the record long before a rebase
    /// reboots it.
    pub(crate) fn save(
        &self,
        root: &Root,
        refusal: Option<&Verdict>,
        is_synced: bool,
        lost: &mut Vec<String>,
    ) {
        for file in std::iter::once(RECORD_PATH).chain(RECORD_PATHS_BESIDE) {
            let kept_with_it = refusal.filter(|_| file != RECORD_PATH);
            let record = Self {
                refusal: kept_with_it.cloned().map(Box::new),
                ..self.clone()
            };
            let saved = json(file, &record).and_then(|json| match is_synced {
                true => root.write(file, &json, 0o644),
                false => root.write_soon(file, &json, 0o644),
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

    /// The record of a run that found none; `None` where this installation has one. One that it
    /// made is not replaced, even if it is damaged: a record made after the rebase would say that
    /// there was no rebase. What is left out, because it cannot be read, is said in `lost`.
    pub(crate) fn of_first_run(
        node: &Node<'_>,
        facts: &Facts,
        lost: &mut Vec<String>,
    ) -> Option<Self> {
        if node.has_record() {
            return None;
        }
        let mut record = Self::new(facts, node);
        // On a later boot it may be this installation's own, and the node has joined.
        let is_own = !node.installation.is_new && is_certified(node.root, None).unwrap_or(true);
        if !is_own {
            let certificate = node.root.version(CERTIFICATE);
            record.earlier_certificate = certificate.unwrap_or_else(|error| {
                lost.push(error.to_string());
                None
            });
        }
        Some(record)
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

/// Reads one of the verdict files; `None` where there is none.
///
/// # Errors
/// It cannot be read or is no verdict.
pub(crate) fn load_verdict(root: &Root, path: &str) -> Result<Option<Verdict>, FileError> {
    let Some(bytes) = root.read(path, VERDICT_MAX)? else {
        return Ok(None);
    };
    let verdict = json::read(&bytes);
    let verdict = verdict.map_err(|error| FileError::json(path, "is not a verdict", &error));
    verdict.map(Some)
}

/// Writes one of the verdict files, as a whole or not at all. Only a refusal is synced to disk: a
/// node that goes on must not wait for the disk.
///
/// # Errors
/// It cannot be written; the old file is untouched.
pub(crate) fn save_verdict(root: &Root, path: &str, verdict: &Verdict) -> Result<(), FileError> {
    if verdict.blocks() {
        root.write(path, &json(path, verdict)?, 0o644)
    } else {
        save_verdict_soon(root, path, verdict)
    }
}

/// [`save_verdict`] without a sync.
pub(crate) fn save_verdict_soon(
    root: &Root,
    path: &str,
    verdict: &Verdict,
) -> Result<(), FileError> {
    root.write_soon(path, &json(path, verdict)?, 0o644)
}

fn json(path: &str, value: &impl Serialize) -> Result<Vec<u8>, FileError> {
    let mut json = json::pretty(value).map_err(|error| FileError::content(path, error))?;
    json.push(b'\n');
    Ok(json)
}
