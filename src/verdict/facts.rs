//! What the decision is made from.

use super::ImageSource;
use crate::policy::Policy;
use crate::version::ImageVersion;
use serde::{Deserialize, Serialize};

/// The boot image that the node was installed from, and where that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootImage {
    /// Its version.
    pub version: ImageVersion,
    /// The kind of source.
    pub source: ImageSource,
    /// The file, absolute within the root.
    pub path: String,
}

/// What the node is to become, from the encapsulated MachineConfig. What the config leaves empty is absent. All text is printable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// OCP release, from the annotation `machineconfiguration.openshift.io/release-image-version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// MachineConfigPool, from `metadata.ownerReferences`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// `metadata.name`, `rendered-worker-…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_config: Option<String>,
    /// `spec.osImageURL`.
    #[serde(default, rename = "osImageURL", skip_serializing_if = "Option::is_none")]
    pub os_image_url: Option<String>,
}

/// How far the target is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TargetInput {
    /// There is no encapsulated MachineConfig: a joined node, or a check without a node.
    #[default]
    Absent,
    /// It is there but cannot be read; nothing is known of release and pool, so no limit is chosen.
    Unreadable,
    /// It was read.
    Read(Target),
}

/// The booted deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// The `ostree=` kernel argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ostree: Option<String>,
    /// `container-image-reference` from the deployment's origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_image_reference: Option<String>,
    /// Its digest is that of the target's `osImageURL`.
    #[serde(default)]
    pub on_target: bool,
    /// `ostree=` differs from the one recorded at the first run.
    #[serde(default)]
    pub rebased: bool,
    /// The first boot is over: the encapsulated config was renamed to `.bak` or removed, or the node has joined.
    #[serde(default)]
    pub first_boot_finished: bool,
    /// The kernel command line, the origin of the deployment that it names, or our record cannot be read, so the node may have left its boot
    /// image without this being seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
}

/// The policy as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyInput {
    /// Neither in the served config nor on disk.
    Absent,
    /// There, but unreadable or not valid.
    Invalid {
        /// The file, or the served config that carried it.
        path: String,
        /// `sha256:…` of its bytes where they could be read.
        digest: Option<String>,
        /// What is wrong with it.
        error: String,
    },
    /// Read.
    Valid {
        /// The file, or the served config that carried it.
        path: String,
        /// `sha256:…` of its bytes.
        digest: String,
        /// What it says.
        policy: Policy,
    },
}

/// A word that changes the mode for this boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OverrideWord {
    /// Decide nothing.
    Off,
    /// Never block.
    Warn,
    /// Block, also where the policy only warns.
    Enforce,
}

impl OverrideWord {
    /// Reads the word as an admin types it.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "warn" => Some(Self::Warn),
            "enforce" => Some(Self::Enforce),
            _ => None,
        }
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }
}

/// Where an override was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OverrideSource {
    /// `skewguard=` on the kernel command line.
    KernelArgument,
    /// `/run/skewguard/override`, which wins.
    File,
}

/// An override in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// What it says.
    pub value: OverrideWord,
    /// Where it stands.
    pub source: OverrideSource,
}

/// Everything the decision needs, read from one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// `None` where no source yields a version.
    pub boot_image: Option<BootImage>,
    /// The target.
    pub target: TargetInput,
    /// The booted deployment.
    pub deployment: Deployment,
    /// The policy.
    pub policy: PolicyInput,
    /// The override in force.
    pub r#override: Option<Override>,
    /// `ignition.platform.id`.
    pub platform: Option<String>,
    /// What was odd while reading; each names its file.
    pub warnings: Vec<String>,
}
