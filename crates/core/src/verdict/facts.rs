//! The facts that a decision is made from.

use super::{BootImageStatus, ImageSource};
use crate::policy::{self, Policy};
use crate::text::string_enums;
use crate::version::{ImageVersion, Release};
use serde::{Deserialize, Serialize};

/// The boot image that the node was installed from, and where that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootImage {
    pub version: ImageVersion,
    pub source: ImageSource,
    pub path: String,
}

/// The node's future, from the encapsulated MachineConfig. What is empty there is `None`
/// here. All text is printable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// OCP release, from the annotation `machineconfiguration.openshift.io/release-image-version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// MachineConfigPool, from `metadata.ownerReferences`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// `metadata.name`, `rendered-worker-…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_config: Option<String>,
    #[serde(rename = "osImageURL", skip_serializing_if = "Option::is_none")]
    pub os_image_url: Option<String>,
}

impl Target {
    /// Tells whether it is a release of OKD; `None` where that is not known. The release says it
    /// (`4.15.0-0.okd-2024-03-10-010116`, `4.20.0-okd-scos.3`; okd-project/okd, releases), and
    /// where it is unknown the repository of the OS image: `quay.io/okd/scos-content`,
    /// `quay.io/openshift/okd-content`; those of OCP are in `quay.io/openshift-release-dev`.
    pub fn is_okd(&self) -> Option<bool> {
        if let Some(release) = &self.release {
            release.parse::<Release>().ok()?;
            let mut words = release.split(['.', '-', '+']).skip(3);
            // A build of CI or of somebody's own can be of either.
            let is_ocp = |word: &str| {
                word.bytes().all(|byte| byte.is_ascii_digit())
                    || ["rc", "ec", "fc", "nightly", "konflux", "multi", "hotfix"].contains(&word)
            };
            let rest = words.clone();
            return match words.find(|word| *word == "okd") {
                Some(_) => Some(true),
                None => rest.take(2).all(is_ocp).then_some(false),
            };
        }
        let image = self.os_image_url.as_deref()?;
        let is_in = |repository: &str| image.starts_with(repository);
        if is_in("quay.io/okd/") || is_in("quay.io/openshift/okd-content") {
            Some(true)
        } else {
            is_in("quay.io/openshift-release-dev/").then_some(false)
        }
    }
}

/// Knowledge of the target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TargetInput {
    /// There is no encapsulated MachineConfig: the node has joined, or `check` runs without a node.
    #[default]
    Absent,
    /// It exists but cannot be read. Release and pool are unknown, so no limit is chosen.
    Unreadable,
    Read(Target),
}

/// The booted deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DeploymentFields", into = "DeploymentFields")]
pub struct Deployment {
    /// The kernel argument `ostree=`.
    pub ostree: Option<String>,
    /// `container-image-reference` from the deployment's origin.
    pub container_image_reference: Option<String>,
    /// Its version by its own os-release, where the installation put it in place of the boot image.
    pub image: Option<BootImageStatus>,
    pub stage: Stage,
}

/// Progress of a node from its boot image: the first of these that holds, in this order.
/// In JSON each but the last is a flag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// The booted deployment has the digest of the target's `osImageURL`.
    OnTarget,
    /// Its base, or its OS version, is another than the one recorded at the first run.
    Rebased,
    /// The first boot is over: the encapsulated config was renamed to `.bak` or removed, or the
    /// node has joined.
    FirstBootFinished,
    /// It may have joined: what would show it is gone, cannot be read, or leaves it open.
    MayHaveJoined,
    /// A file that would show one of the above cannot be read.
    Unreadable,
    /// None of the above: the node has not been rebased.
    #[default]
    FirstBoot,
}

/// A [`Deployment`] in JSON. `flatten` would bring a second reader of everything into the agent.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeploymentFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    ostree: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container_image_reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<BootImageStatus>,
    on_target: bool,
    rebased: bool,
    first_boot_finished: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    may_have_joined: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unreadable: bool,
}

impl From<Deployment> for DeploymentFields {
    fn from(deployment: Deployment) -> Self {
        let Deployment {
            ostree,
            container_image_reference,
            image,
            stage,
        } = deployment;
        Self {
            ostree,
            container_image_reference,
            image,
            on_target: stage == Stage::OnTarget,
            rebased: stage == Stage::Rebased,
            first_boot_finished: stage == Stage::FirstBootFinished,
            may_have_joined: stage == Stage::MayHaveJoined,
            unreadable: stage == Stage::Unreadable,
        }
    }
}

impl From<DeploymentFields> for Deployment {
    fn from(fields: DeploymentFields) -> Self {
        let flags = [
            (fields.on_target, Stage::OnTarget),
            (fields.rebased, Stage::Rebased),
            (fields.first_boot_finished, Stage::FirstBootFinished),
            (fields.may_have_joined, Stage::MayHaveJoined),
            (fields.unreadable, Stage::Unreadable),
        ];
        let stage = flags.into_iter().find(|(is_set, _)| *is_set);
        Self {
            ostree: fields.ostree,
            container_image_reference: fields.container_image_reference,
            image: fields.image,
            stage: stage.map_or(Stage::FirstBoot, |(_, stage)| stage),
        }
    }
}

/// The machine, as far as a rebase does not change it, and so as it was installed. `None` was not or
/// could not be read. All text is printable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// Its name by `uname -m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The level of its CPU, such as `x86-64-v2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Free space in /boot, in MiB. Read before the rebase only, which puts a second kernel
    /// there.
    #[serde(rename = "bootFreeMiB", skip_serializing_if = "Option::is_none")]
    pub boot_free_mib: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secure_boot: Option<bool>,
    /// FIPS mode, which is set when a cluster is installed, and never changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fips: Option<bool>,
    /// The shim on the EFI system partition: version and release of its package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shim: Option<String>,
}

impl Machine {
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// The policy that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyInput {
    /// Neither the served config nor the disk has one.
    Absent,
    /// There is one, but it is unreadable or invalid.
    Invalid {
        /// The file, or the served config that carried it.
        path: String,
        /// `sha256:…` of its bytes, where they could be read.
        digest: Option<String>,
        error: String,
    },
    Valid {
        /// The file, or the served config that carried it.
        path: String,
        digest: String,
        policy: Policy,
    },
}

impl PolicyInput {
    /// The policy in these bytes, which have this digest and come from this file.
    pub fn new(path: &str, digest: String, bytes: &[u8]) -> Self {
        let path = path.to_owned();
        match policy::parse(bytes) {
            Ok(policy) => Self::Valid {
                path,
                digest,
                policy,
            },
            Err(error) => Self::Invalid {
                path,
                digest: Some(digest),
                error: format!("not a valid policy: {error}"),
            },
        }
    }
}

string_enums! {
    /// Effect of an override on the mode, for this boot.
    pub enum OverrideWord {
        /// Decide nothing.
        Off = "off",
        /// Never block.
        Warn = "warn",
        /// Block even where the policy only warns.
        Enforce = "enforce",
        /// The override cannot be read, so it may say `off` or `warn`.
        Unreadable = "unreadable",
    }
}

impl OverrideWord {
    /// Reads what an admin typed.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Off, Self::Warn, Self::Enforce]
            .into_iter()
            .find(|known| known.as_str() == word)
    }
}

string_enums! {
    /// Source of an override.
    pub enum OverrideSource {
        /// `skewguard=` on the kernel command line.
        KernelArgument = "KernelArgument",
        /// `/run/skewguard/override`, which wins.
        File = "File",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    pub value: OverrideWord,
    pub source: OverrideSource,
}

/// Everything the decision needs, read from one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// `None` where no source yields a version.
    pub boot_image: Option<BootImage>,
    /// The image that the installation put in place of the boot image, where it did. This one does
    /// the rebase, so the limits apply to it.
    pub replaced_by: Option<BootImage>,
    pub target: TargetInput,
    pub deployment: Deployment,
    pub policy: PolicyInput,
    pub r#override: Option<Override>,
    pub platform: Option<String>,
    pub machine: Machine,
    /// Anything wrong or odd with the files that were read; each warning names its file.
    pub warnings: Vec<String>,
}

impl Facts {
    /// A policy and a target, and nothing known of the node.
    pub fn new(policy: PolicyInput, target: TargetInput) -> Self {
        Self {
            boot_image: None,
            replaced_by: None,
            target,
            deployment: Deployment::default(),
            policy,
            r#override: None,
            platform: None,
            machine: Machine::default(),
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_is_one_of_three_words() {
        for (word, wanted) in [
            ("off", Some(OverrideWord::Off)),
            ("warn", Some(OverrideWord::Warn)),
            ("enforce", Some(OverrideWord::Enforce)),
            // What is said of one that cannot be read; nobody types it.
            ("unreadable", None),
            ("Off", None),
            ("", None),
        ] {
            assert_eq!(OverrideWord::parse(word), wanted, "{word:?}");
        }
    }

    #[test]
    fn a_machine_is_unknown_until_something_of_it_is_known() {
        assert!(Machine::default().is_unknown());
        let machine = Machine {
            secure_boot: Some(false),
            ..Machine::default()
        };
        assert!(!machine.is_unknown());
    }
}
