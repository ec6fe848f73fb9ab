//! The verdict: what was decided, why, and from what (pure).
//!
//! [`Facts`] go in, a [`Verdict`] comes out of [`decide`]; no clock and no I/O in between. The serialised verdict is a stable interface:
//! it is printed by `check --output json`, kept in `/run/skewguard/verdict.json` and `/var/lib/skewguard/verdict.json`, and reported.

mod decide;
mod facts;
mod rules;

pub use decide::decide;
pub use facts::{BootImage, Deployment, Facts, Override, OverrideSource, OverrideWord, PolicyInput, Stage, Target, TargetInput};

use crate::text::words;
use crate::version::{ImageVersion, Scheme};
use serde::{Deserialize, Serialize};

words! {
    /// What was decided.
    pub enum Outcome {
        /// The policy's mode is `None`, or the override says `off`.
        Disabled = "Disabled",
        /// The served config carries no policy.
        NoPolicy = "NoPolicy",
        /// At least one rule passes and none fails, or the node already runs its target image.
        Allowed = "Allowed",
        /// At least one rule fails.
        Refused = "Refused",
        /// It could not be decided.
        Undetermined = "Undetermined",
    }

    /// What follows for the boot.
    pub enum Action {
        /// The boot goes on.
        Proceed = "Proceed",
        /// The rebase and the kubelet are held back.
        Block = "Block",
    }

    /// Why, in one word. Names of rules are the reasons of refusals, in the order in which they are looked at.
    pub enum Reason {
        /// Rule: the version is on the limit's list of denied ones.
        DeniedVersion = "DeniedVersion",
        /// Rule: the RHEL major is not among the limit's.
        RhelMajorUnsupported = "RHELMajorUnsupported",
        /// Rule: the OCP release of the image is below the minimum.
        BelowMinimumOcpVersion = "BelowMinimumOCPVersion",
        /// Rule: the RHCOS version of the image is below the minimum.
        BelowMinimumRhcosVersion = "BelowMinimumRHCOSVersion",
        /// Rule: the RHCOS version of the image is above the maximum.
        AboveMaximumRhcosVersion = "AboveMaximumRHCOSVersion",
        /// Rule: the image is more OCP minors behind the target than allowed.
        TooManyReleasesBehind = "TooManyReleasesBehind",
        /// The policy's mode is `None`.
        PolicyModeNone = "PolicyModeNone",
        /// The override says `off`.
        OverrideOff = "OverrideOff",
        /// No policy was delivered.
        NoPolicyDelivered = "NoPolicyDelivered",
        /// The booted deployment already is the target image.
        AlreadyOnTarget = "AlreadyOnTarget",
        /// Every rule that could be evaluated passes.
        WithinLimits = "WithinLimits",
        /// The policy could not be read or is not valid.
        PolicyInvalid = "PolicyInvalid",
        /// The policy has no limit for this release and pool.
        NoLimitForTarget = "NoLimitForTarget",
        /// The target's MachineConfig could not be read.
        TargetUnknown = "TargetUnknown",
        /// No source names the boot image.
        BootImageUnknown = "BootImageUnknown",
        /// The boot image's version string follows no known scheme.
        BootImageUndecodable = "BootImageUndecodable",
        /// The boot image is known, but says too little for any rule of the limit.
        NoRuleEvaluated = "NoRuleEvaluated",
    }

    /// Why a refusal does not block: the first that holds, in this order.
    pub enum LetThrough {
        /// The node runs another deployment than at its first run.
        Rebased = "Rebased",
        /// The first boot is over.
        FirstBootFinished = "FirstBootFinished",
        /// The override says `warn`.
        Override = "Override",
        /// The policy's mode is not `Enforce`, and no override lifts it.
        Mode = "Mode",
        /// The policy is of another version of our group: read as far as it is understood.
        PolicyVersion = "PolicyVersion",
        /// What may let it through cannot be read: an override, or whether it has left its boot image. The policy does not refuse what is undetermined.
        Unreadable = "Unreadable",
    }

    /// What the limits were applied to.
    #[derive(Default)]
    pub enum Judged {
        /// The boot image.
        #[default]
        BootImage = "BootImage",
        /// The booted deployment, which was put in place of the boot image before the first boot.
        BootedDeployment = "BootedDeployment",
    }

    /// How one rule came out.
    pub enum RuleResult {
        /// The image meets the rule.
        Pass = "Pass",
        /// The image breaks the rule.
        Fail = "Fail",
        /// Too little is known, or the rule has a shape that this version does not know.
        NotEvaluated = "NotEvaluated",
    }

    /// Where the boot image's version was read.
    pub enum ImageSource {
        /// The aleph file, written when the image was built or installed.
        Aleph = "Aleph",
        /// skewguard's own record of the first run.
        Record = "Record",
        /// os-release of the booted deployment, while that still is the boot image's.
        OsRelease = "OsRelease",
    }
}

/// One rule of the chosen limit, applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule.
    pub rule: Reason,
    /// How it came out.
    pub result: RuleResult,
    /// What the boot image, or the booted deployment where that is judged, has; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub have: Option<String>,
    /// What the policy wants.
    pub want: String,
    /// The same as a sentence.
    pub message: String,
}

/// A boot image version as JSON; also one line of `inspect --output json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BootImageStatus {
    /// The version string, made printable.
    pub version: String,
    /// Its scheme.
    pub scheme: Scheme,
    /// RHEL `major.minor`, or only the major where that is all that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rhel_version: Option<String>,
    /// OCP `x.y`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocp_version: Option<String>,
    /// `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_date: Option<String>,
    /// The number of the build on that date or stamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_number: Option<u32>,
    /// Where it was read; absent in `inspect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ImageSource>,
    /// The file it was read from; absent in `inspect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl From<&BootImage> for BootImageStatus {
    fn from(image: &BootImage) -> Self {
        Self { source: Some(image.source), path: Some(image.path.clone()), ..Self::from(&image.version) }
    }
}

impl From<&ImageVersion> for BootImageStatus {
    fn from(version: &ImageVersion) -> Self {
        Self {
            version: version.text().to_owned(),
            scheme: version.scheme(),
            rhel_version: version.rhel().map(|rhel| rhel.to_string()),
            ocp_version: version.ocp().map(|ocp| ocp.to_string()),
            build_date: version.build_date().map(|date| date.to_string()),
            build_number: version.build_number(),
            source: None,
            path: None,
        }
    }
}

/// The policy that decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// The file, or the served config that carried it.
    pub path: String,
    /// `sha256:` and the hex digest of the policy's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The mode as the policy says it; absent where it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The release of the chosen limit; absent for a limit without release, and where none was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_release: Option<String>,
    /// Whom to ask, from the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_text: Option<String>,
    /// Where to read more, from the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_url: Option<String>,
}

/// What the gate did, as seen and verified by `enforce`; absent from `check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateStatus {
    /// The node is held: the stamp is written.
    pub held: bool,
    /// The units that are held.
    #[serde(default)]
    pub units: Vec<String>,
    /// Why the node could not be held, or what of it is in doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The verdict, serialised as `BootImageVerdict`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// [`crate::API_VERSION`].
    pub api_version: String,
    /// `BootImageVerdict`.
    pub kind: String,
    /// What was decided.
    pub verdict: Outcome,
    /// What follows.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// Why, as one line for a person.
    pub message: String,
    /// Why a refusal does not block; absent where it does, and of other verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub let_through: Option<LetThrough>,
    /// Every rule of the chosen limit, in the order of their rank.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The boot image; absent where no source names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_image: Option<BootImageStatus>,
    /// What the findings are about.
    #[serde(default)]
    pub judged: Judged,
    /// The target; its fields are absent where unknown.
    #[serde(default)]
    pub target: Target,
    /// The policy; absent where none was delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyStatus>,
    /// The override in force; `null` without one.
    #[serde(default)]
    pub r#override: Option<Override>,
    /// What was odd while reading; each names its file.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The booted deployment.
    #[serde(default)]
    pub deployment: Deployment,
    /// `ignition.platform.id` from the kernel command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// What the gate did; only after `enforce` had something to refuse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateStatus>,
}

/// Whether the cluster knows of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClusterKnows {
    /// Not yet.
    NotYet,
    /// It does: the report's name, where there is a report and not only an Event.
    Told(Option<String>),
    /// It was tried, and only a person can change the outcome: one clause that says why.
    CannotBeTold(String),
}

impl Verdict {
    /// What the limits were applied to.
    pub fn judged_image(&self) -> Option<&BootImageStatus> {
        match self.judged {
            Judged::BootImage | Judged::Other(_) => self.boot_image.as_ref(),
            Judged::BootedDeployment => self.deployment.image.as_ref(),
        }
    }

    /// The failed rules, the one that gives the reason first.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.result == RuleResult::Fail)
    }

    /// Whether the boot is to be blocked.
    pub fn blocks(&self) -> bool {
        self.action == Action::Block
    }
}
