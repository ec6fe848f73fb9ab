//! What a node remembers: the one record of its first run, which stands in /etc, and the verdicts.
//!
//! An installation is its root's /etc. Ignition makes it, an OS update takes it along, and a
//! reinstallation has a new one, whatever becomes of /var, of the machine-id and of clocks.

use super::certificates::look;
use super::deployment::{self, Booted, is_same_base};
use super::error::Doubts;
use super::image::{self, OsRelease};
use super::{FileError, Problem, Root};
use crate::policy::Mode;
use crate::verdict::{
    Action, Facts, GateStatus, ImageSource, OverrideWord, PolicyInput, Reason, Stage, TargetInput,
    Verdict,
};
use crate::version::ImageVersion;
use crate::{API_VERSION, clock, json};
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// The record of the first run.
pub(crate) const RECORD_PATH: &str = "/etc/skewguard/boot-image.json";

/// Its place for this boot where /etc does not take it.
const RUN_RECORD_PATH: &str = "/run/skewguard/boot-image.json";

/// Deliveries that the report keeps.
pub(crate) const STATE_PATH: &str = "/var/lib/skewguard/report-state.json";

const KIND: &str = "BootImageRecord";

/// Largest record that is read, in bytes: it has a refusal, and digests of certificates.
const MAX: u64 = VERDICT_MAX + (192 << 10);

/// The record of the first run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Record {
    api_version: String,
    kind: String,
    /// The boot image's version; absent where it was unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The file that named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// os-release had `ID=rhel`, so RHEL minor 0 in the version is taken literally and is not
    /// CentOS Stream.
    #[serde(default)]
    rhel: bool,
    /// The deployment of the first run, `CHECKSUM.SERIAL`. In a record that was made later it is
    /// there only if it is the boot image's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deployment: Option<String>,
    /// Its base, as its origin names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// The version in its os-release.
    #[serde(skip_serializing_if = "Option::is_none")]
    os_version: Option<String>,
    /// The boot that made the record, which no other installation has: the installation's id.
    #[serde(rename = "bootID", skip_serializing_if = "Option::is_none")]
    pub(super) boot_id: Option<String>,
    /// The time of the first run, in seconds since 1970 by the node's clock. This and what follows is
    /// absent from a record that was made later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<u64>,
    /// Digests of the kubelet's certificates that an earlier installation left in /var. Absent: the
    /// first run did not look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) certificates: Option<Vec<String>>,
    /// They were on the file system of /etc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kubelet_on_etc: Option<bool>,
    /// Free space in /boot, in MiB.
    #[serde(rename = "bootFreeMiB", skip_serializing_if = "Option::is_none")]
    pub(super) boot_free_mib: Option<u32>,
    /// The last refusal. Its gate says if the hold stood.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Box<Verdict>>,
    /// The time of that, by the node's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_at: Option<String>,
    /// The file that it was read from.
    #[serde(skip)]
    pub(crate) file: &'static str,
}

impl Record {
    /// The record of a run that found none. On a later boot it says less: the node may have joined
    /// or been rebased.
    pub(super) fn new(
        (booted, os_release): (Option<&Booted>, &OsRelease),
        boot_id: Option<String>,
        facts: &Facts,
        is_first: bool,
    ) -> Self {
        let image = facts.boot_image.as_ref();
        let aleph = image.filter(|image| image.source == ImageSource::Aleph);
        let aleph = aleph.map(|image| &*image.version.text);
        let is_boot_images = is_first || aleph.is_some() && aleph == os_release.version();
        let booted = booted.filter(|_| is_boot_images);
        let os_version = os_release.version().filter(|_| is_boot_images);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            version: image.map(|image| image.version.text.clone()),
            path: image.map(|image| image.path.clone()),
            rhel: image
                .and_then(|image| image.version.rhel)
                .is_some_and(|rhel| rhel.minor == Some(0)),
            deployment: booted.map(|booted| booted.name.clone()),
            base: booted.and_then(Booted::base),
            os_version: os_version.map(str::to_owned),
            boot_id,
            time: is_first.then(|| clock::unix(SystemTime::now())),
            certificates: None,
            kubelet_on_etc: None,
            boot_free_mib: facts.machine.boot_free_mib.filter(|_| is_first),
            refusal: None,
            refused_at: None,
            file: RECORD_PATH,
        }
    }

    /// Finds the record of this installation, and tells if /etc has a whole one of an earlier boot
    /// where the installation begins anew.
    pub(super) fn find(
        root: &Root,
        boot_id: Option<&str>,
        is_new: bool,
        doubts: &mut Doubts,
    ) -> (Option<Self>, bool) {
        let mut has_whole = false;
        for file in [RECORD_PATH, RUN_RECORD_PATH] {
            match Self::load(root, file) {
                Ok(Some(record)) if record.names_another_image(root) => {
                    doubts.warnings.push(format!(
                        "{file}: is of another boot image, and does not count"
                    ));
                }
                Ok(Some(record)) => {
                    // The argument of a first boot is there again where its removal was not synced.
                    let is_of_this_boot = boot_id.is_some() && record.boot_id.as_deref() == boot_id;
                    if !is_new || is_of_this_boot {
                        return (Some(record), false);
                    }
                    has_whole |= file == RECORD_PATH;
                }
                Ok(None) => {}
                Err(error) => {
                    let is_torn = matches!(error.problem, Problem::Content(_));
                    doubts.is_open |= !is_torn && !is_new;
                    doubts.warnings.push(error.to_string());
                }
            }
        }
        (None, has_whole)
    }

    /// Reads one; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be read, or a power cut left it empty or torn.
    pub(crate) fn load(root: &Root, file: &'static str) -> Result<Option<Self>, FileError> {
        let Some(bytes) = root.read(file, MAX)? else {
            return Ok(None);
        };
        let record: Self = json::read(&bytes).map_err(|error| {
            FileError::json(
                file,
                "is not a record of a first run, and does not count",
                &error,
            )
        })?;
        Ok(Some(Self { file, ..record }))
    }

    /// The aleph that it names is of another image now, as on a node that was made from the /etc of
    /// another one. What cannot be read is not.
    fn names_another_image(&self, root: &Root) -> bool {
        let recorded = self.path.as_deref().zip(self.version.as_deref());
        recorded.is_some_and(|(path, version)| {
            image::aleph_version(root, path).is_some_and(|now| now.text != version)
        })
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
    pub(super) fn is_rebased(
        &self,
        booted: Option<&Booted>,
        os_release: &OsRelease,
    ) -> Result<bool, FileError> {
        let first = self.deployment.as_deref();
        // `ostree=` alone says little: its `boot.0` and `boot.1` take turns with every write of the
        // boot loader's configuration.
        match (first, booted) {
            (Some(first), Some(booted)) if deployment::is_same_commit(first, &booted.name) => {
                return Ok(false);
            }
            (Some(_), None) => return self.unknown("the deployment of this boot cannot be found"),
            _ => {}
        }
        let versions = self.os_version.as_deref().or(self.version.as_deref());
        let versions = versions.zip(os_release.version());
        if versions.is_some_and(|(then, now)| then != now) {
            return Ok(true);
        }
        match (&self.base, booted.and_then(Booted::base)) {
            (Some(base), Some(now)) => Ok(!is_same_base(base, &now, first)),
            (Some(_), None) => self.unknown("the base of this boot's deployment is not"),
            (None, _) if versions.is_some() || first.is_none() && booted.is_none() => Ok(false),
            (None, _) => self.unknown("the base of the first run's deployment is not"),
        }
    }

    fn unknown<T>(&self, why: &str) -> Result<T, FileError> {
        Err(FileError::content(
            self.file,
            format_args!("whether the node was rebased since is not known: {why}"),
        ))
    }

    /// /etc took it.
    pub(crate) fn is_in_etc(&self) -> bool {
        self.file == RECORD_PATH
    }

    /// The boot of the record, if it is in /etc: the installation's id.
    pub(super) fn id(&self) -> Option<&str> {
        let id = self.boot_id.as_deref();
        id.filter(|_| self.is_in_etc())
    }

    /// The refusal that it has. What a run that was cut off did with it is not known.
    pub(crate) fn refusal(&self) -> Option<Verdict> {
        let mut verdict = self.refusal.as_deref()?.clone();
        verdict.gate.get_or_insert_with(|| GateStatus {
            held: true,
            units: Vec::new(),
            error: Some(CUT_OFF.to_owned()),
        });
        Some(verdict)
    }

    /// Remembers a refusal, or that there is none. Returns whether that is new.
    pub(crate) fn remember(&mut self, refusal: Option<&Verdict>) -> bool {
        if self.refusal.as_deref() == refusal {
            return false;
        }
        self.refusal = refusal.cloned().map(Box::new);
        self.refused_at = refusal.map(|_| clock::time(SystemTime::now()));
        true
    }

    /// Looks, on the first run, at the certificates that are there.
    pub(crate) fn look_at_certificates(&mut self, root: &Root) {
        (self.certificates, self.kubelet_on_etc) = look(root);
    }

    /// The refusal of an earlier boot stands where this one cannot read what it decides by: a config
    /// or policy that a power cut left empty or torn. Last in order: whatever lets the node go on
    /// comes first.
    pub(super) fn standing(&self, now: &Verdict, facts: &Facts) -> Option<Verdict> {
        let (at, verdict) = self.refused_at.as_deref().zip(self.refusal.as_deref())?;
        if !verdict.gate.as_ref().is_some_and(|gate| gate.held) {
            return None;
        }
        let unreadable = match (&facts.policy, &facts.target, now.reason) {
            (PolicyInput::Invalid { path, error, .. }, _, Reason::PolicyInvalid) => {
                format!("{path}: {error}")
            }
            (_, TargetInput::Unreadable, Reason::TargetUnknown) => {
                format!("{}: cannot be read", super::ENCAPSULATED_PATH)
            }
            _ => return None,
        };
        let is_first_boot = matches!(facts.deployment.stage, Stage::FirstBoot | Stage::Unreadable);
        let enforces = match (facts.r#override.map(|given| given.value), &facts.policy) {
            (Some(word), _) => word == OverrideWord::Enforce,
            (None, PolicyInput::Valid { policy, .. }) => policy.mode == Mode::Enforce,
            (None, _) => {
                let policy = verdict.policy.as_ref();
                policy.and_then(|policy| policy.mode.as_deref()) == Some("Enforce")
            }
        };
        if !is_first_boot || !enforces {
            return None;
        }
        let mut stands = verdict.clone();
        stands.action = Action::Block;
        stands.message = format!(
            "{unreadable}; it stays refused, as decided at {at}: {}",
            verdict.message
        );
        stands.r#override = now.r#override;
        stands.warnings.clone_from(&now.warnings);
        stands.deployment.clone_from(&now.deployment);
        stands.machine.clone_from(&now.machine);
        stands.gate = None;
        Some(stands)
    }

    /// Writes it to /etc, else to /run. A whole record is only replaced by a synced one: `is_synced`.
    /// Returns what was in the way.
    pub(crate) fn save(&mut self, root: &Root, is_synced: bool) -> Vec<FileError> {
        let (mut errors, before) = (Vec::new(), self.file);
        for file in [RECORD_PATH, RUN_RECORD_PATH] {
            self.file = file;
            let saved = json(file, self).and_then(|json| match is_synced {
                true => root.write_synced(file, &json, 0o644),
                false => root.write_soon(file, &json, 0o644),
            });
            match saved {
                Ok(()) => {
                    if before != file && file == RECORD_PATH {
                        errors.extend(root.remove(before).err());
                    }
                    break;
                }
                Err(error) => errors.push(error),
            }
        }
        errors
    }
}

/// A policy or target that cannot be read: only an earlier refusal can hold then.
pub(crate) fn is_unreadable(facts: &Facts) -> bool {
    matches!(facts.policy, PolicyInput::Invalid { .. }) || facts.target == TargetInput::Unreadable
}

/// The gate's error in a refusal that was recorded by a run that did not come to its end.
const CUT_OFF: &str = "the run that decided this was cut off";

/// This boot's verdict, for the report, for scripts and people.
pub(crate) const RUN_VERDICT_PATH: &str = "/run/skewguard/verdict.json";

/// The last verdict, of this boot or an earlier one.
pub(crate) const KEPT_VERDICT_PATH: &str = "/var/lib/skewguard/verdict.json";

/// A refusal of an earlier boot that the cluster may not know yet, and that a later verdict, which is
/// not reported, has replaced.
pub(crate) const UNTOLD_VERDICT_PATH: &str = "/var/lib/skewguard/untold-verdict.json";

/// The largest verdict that is read back, in bytes.
pub(crate) const VERDICT_MAX: u64 = 256 << 10;

/// Reads one of the verdict files; `None` where there is none, or where it is of another
/// installation than this: /var may be older.
///
/// # Errors
/// It cannot be read or is no verdict.
pub(crate) fn load_verdict(
    root: &Root,
    path: &str,
    installation: Option<&str>,
) -> Result<Option<Verdict>, FileError> {
    let Some(bytes) = root.read(path, VERDICT_MAX)? else {
        return Ok(None);
    };
    let verdict: Result<Verdict, _> = json::read(&bytes);
    let mut verdict = verdict.map_err(|error| FileError::json(path, "is not a verdict", &error))?;
    let is_ours = verdict.installation.take().as_deref() == installation;
    Ok(is_ours.then_some(verdict))
}

/// Writes one of the verdict files, as a whole or not at all. A refusal in /var is synced to disk: a
/// node that goes on must not wait for the disk.
///
/// # Errors
/// It cannot be written; the old file is untouched.
pub(crate) fn save_verdict(
    root: &Root,
    path: &str,
    verdict: &Verdict,
    installation: Option<&str>,
) -> Result<(), FileError> {
    let mut verdict = verdict.clone();
    verdict.installation = installation.map(str::to_owned);
    let json = json(path, &verdict)?;
    match verdict.blocks() {
        true => root.write(path, &json, 0o644),
        false => root.write_soon(path, &json, 0o644),
    }
}

fn json(path: &str, value: &impl Serialize) -> Result<Vec<u8>, FileError> {
    let mut json = json::pretty(value).map_err(|error| FileError::content(path, error))?;
    json.push(b'\n');
    Ok(json)
}
