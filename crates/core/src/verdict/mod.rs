//! The verdict: what was decided, why, and from what (pure).
//!
//! [`decide`] makes a [`Verdict`] from [`Facts`], without clock or I/O. The verdict as JSON is a
//! stable interface: `check --output json` prints it, `/run/skewguard/verdict.json` and
//! `/var/lib/skewguard/verdict.json` hold it, and it is reported.

mod bound;
mod decide;
mod facts;
mod fate;
mod issues;
pub use issues::{ISSUES_NAMED, InstalledNode, UpdateIssues, update_issues};
pub mod lines;
mod product;
mod rules;
pub mod text;
pub mod words;

pub use decide::decide;
pub use facts::{
    BootImage, Deployment, Facts, Machine, Override, OverrideSource, OverrideWord, PolicyInput,
    Stage, Target, TargetInput,
};
pub use fate::Fate;
pub use product::Product;

use crate::text::string_enums;
use crate::version::{ImageVersion, Scheme};
use serde::{Deserialize, Serialize};

string_enums! {
    /// Decision.
    #[derive(Default)]
    pub enum Outcome {
        /// The policy's mode is `None`, or the override says `off`.
        Disabled = "Disabled",
        NoPolicy = "NoPolicy",
        /// At least one rule passes and none fails, or the node already runs its target image.
        Allowed = "Allowed",
        Refused = "Refused",
        #[default]
        Undetermined = "Undetermined",
    }

    /// Action on it.
    #[derive(Default)]
    pub enum Action {
        #[default]
        Proceed = "Proceed",
        /// The rebase and the kubelet are held back.
        Block = "Block",
    }

    /// Reason, in one word. The first of them are rules, and so the reasons of refusals, in the
    /// order of their rank. [`words`] has a row for each.
    #[derive(Default)]
    pub enum Reason {
        DeniedVersion = "DeniedVersion",
        /// The policy's `knownIssues` have one that the node has. It ranks with the rules of a
        /// limit, but stands beside every limit.
        KnownIssue = "KnownIssue",
        RhelMajorUnsupported = "RHELMajorUnsupported",
        BelowMinimumOcpVersion = "BelowMinimumOCPVersion",
        BelowMinimumRhcosVersion = "BelowMinimumRHCOSVersion",
        AboveMaximumRhcosVersion = "AboveMaximumRHCOSVersion",
        BelowMinimumFcosVersion = "BelowMinimumFCOSVersion",
        AboveMaximumFcosVersion = "AboveMaximumFCOSVersion",
        BelowMinimumScosVersion = "BelowMinimumSCOSVersion",
        AboveMaximumScosVersion = "AboveMaximumSCOSVersion",
        TooManyReleasesBehind = "TooManyReleasesBehind",
        CpuBelowMinimum = "CPUBelowMinimum",
        BootSpaceBelowMinimum = "BootSpaceBelowMinimum",
        ShimBelowMinimum = "ShimBelowMinimum",
        PolicyModeNone = "PolicyModeNone",
        OverrideOff = "OverrideOff",
        NoPolicyDelivered = "NoPolicyDelivered",
        AlreadyOnTarget = "AlreadyOnTarget",
        WithinLimits = "WithinLimits",
        PolicyInvalid = "PolicyInvalid",
        NoLimitForTarget = "NoLimitForTarget",
        /// A limit that may be the node's is not understood, or asks for what is unknown.
        LimitUndecided = "LimitUndecided",
        /// The target's MachineConfig could not be read.
        TargetUnknown = "TargetUnknown",
        BootImageUnknown = "BootImageUnknown",
        BootImageUndecodable = "BootImageUndecodable",
        /// The boot image is known, but says too little for any rule of the limit.
        #[default]
        NoRuleEvaluated = "NoRuleEvaluated",
    }

    /// Reason why a refusal does not block: the first of these that holds, in this order.
    pub enum LetThrough {
        /// The node runs a deployment of another base than at its first run.
        Rebased = "Rebased",
        FirstBootFinished = "FirstBootFinished",
        /// Whether the node has joined cannot be told.
        MayHaveJoined = "MayHaveJoined",
        Override = "Override",
        /// The policy's mode is not `Enforce`, and no override lifts it.
        Mode = "Mode",
        /// The policy has another version of our API group, and is read only as far as it is
        /// understood.
        PolicyVersion = "PolicyVersion",
        /// A file cannot be read that may let the node through: an override, or one that shows a
        /// rebase. `onUndetermined` is `Proceed`.
        Unreadable = "Unreadable",
    }

    /// Image that the limits were applied to.
    #[derive(Default)]
    pub enum Judged {
        #[default]
        BootImage = "BootImage",
        /// The booted deployment, which was put in place of the boot image before the first boot.
        BootedDeployment = "BootedDeployment",
    }

    /// Result of one rule.
    pub enum RuleResult {
        Pass = "Pass",
        Fail = "Fail",
        /// The node has a known issue that only warns.
        Warn = "Warn",
        /// Too little is known, or the rule has a shape that this release does not know.
        NotEvaluated = "NotEvaluated",
    }

    /// Which image, or part of the machine, would not break the policy.
    pub enum Wanted {
        Newer = "Newer",
        Older = "Older",
        /// Neither: its own is denied, or of another system.
        Another = "Other",
    }

    /// Source of the boot image's version.
    pub enum ImageSource {
        /// The aleph file, written when the image was built or installed.
        Aleph = "Aleph",
        /// skewguard's own record of the first run.
        Record = "Record",
        /// os-release of the booted deployment, as long as that is the boot image's.
        OsRelease = "OsRelease",
    }
}

/// Result of one rule of the chosen limit, or of the known issues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: Reason,
    pub result: RuleResult,
    /// Value of the judged image; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub have: Option<String>,
    pub want: String,
    pub message: String,
    /// Which one would pass; only where the rule fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Wanted>,
    /// Reason for this entry or this known issue, in the policy's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The entry of `deniedVersions` that denies the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The known issue that the node has, as the policy names it; absent from other findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// URL about that issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A boot image version as JSON; also one line of `inspect --output json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BootImageStatus {
    /// The version string, made printable.
    pub version: String,
    pub scheme: Scheme,
    /// RHEL `major.minor`, or the major alone where no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rhel_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocp_version: Option<String>,
    /// `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_date: Option<String>,
    /// The number of the build among those with the same date or stamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_number: Option<u32>,
    /// Source; absent in `inspect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ImageSource>,
    /// The file it was read from; absent in `inspect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl From<&BootImage> for BootImageStatus {
    fn from(image: &BootImage) -> Self {
        Self {
            source: Some(image.source),
            path: Some(image.path.clone()),
            ..Self::from(&image.version)
        }
    }
}

impl From<&ImageVersion> for BootImageStatus {
    fn from(version: &ImageVersion) -> Self {
        Self {
            version: version.text.clone(),
            scheme: version.scheme,
            rhel_version: version.rhel.map(|rhel| rhel.to_string()),
            ocp_version: version.ocp.map(|ocp| ocp.to_string()),
            build_date: version.build_date.clone(),
            build_number: version.build_number,
            source: None,
            path: None,
        }
    }
}

/// The policy that decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The mode as written in the policy; absent where that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The release of the chosen limit; absent for a limit without release, and where none was
    /// chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_release: Option<String>,
    /// `stalledAfterMinutes` of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_after_minutes: Option<u16>,
    /// `reportToMachineConfigServer` of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_to_machine_config_server: Option<bool>,
    /// Whom to ask, from the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_url: Option<String>,
}

/// Work of the gate, as `enforce` verified it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateStatus {
    /// The node is held: the stamp is written.
    pub held: bool,
    /// The units that are held.
    #[serde(default)]
    pub units: Vec<String>,
    /// Reason why the node could not be held, or a doubt about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The verdict, serialised as `BootImageVerdict`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub api_version: String,
    pub kind: String,
    pub verdict: Outcome,
    pub action: Action,
    pub reason: Reason,
    /// Reason, as one line for a person.
    pub message: String,
    /// Reason why a refusal does not block; absent where it does, and from other verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub let_through: Option<LetThrough>,
    /// Every rule that the chosen limit sets and the known issues, in the order of rank.
    #[serde(default)]
    pub findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_image: Option<BootImageStatus>,
    #[serde(default)]
    pub judged: Judged,
    #[serde(default)]
    pub target: Target,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyStatus>,
    /// The override in force; `null` without one.
    #[serde(default)]
    pub r#override: Option<Override>,
    #[serde(default)]
    pub warnings: Vec<String>,
    #[serde(default)]
    pub deployment: Deployment,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    #[serde(default, skip_serializing_if = "Machine::is_unknown")]
    pub machine: Machine,
    /// Work of the gate; present only where `enforce` was to hold the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateStatus>,
    /// Id of the installation that it is about; present only in files that may outlive one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installation: Option<String>,
}

/// Tells whether the cluster knows about a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClusterKnows {
    /// It does not, but may later.
    NotYet,
    /// It does. The name of the report, or `None` where there is only an Event.
    Told(Option<String>),
    /// It does not until a person mends something. Why, as one clause.
    CannotBeTold(String),
}

impl Verdict {
    /// The image that the limits were applied to.
    pub fn judged_image(&self) -> Option<&BootImageStatus> {
        if self.judged == Judged::BootedDeployment {
            self.deployment.image.as_ref()
        } else {
            self.boot_image.as_ref()
        }
    }

    /// The failed rules, the one that gives the reason first.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.result == RuleResult::Fail)
    }

    /// The known issues that the node has and that only warn. Where nothing is held against it, or
    /// it runs its target already, none.
    pub fn warned(&self) -> impl Iterator<Item = &Finding> {
        let is_judged = !matches!(self.verdict, Outcome::Disabled | Outcome::NoPolicy)
            && self.reason != Reason::AlreadyOnTarget;
        let findings = self.findings.iter();
        findings.filter(move |finding| is_judged && finding.result == RuleResult::Warn)
    }

    /// Charges against the node: the failed rules; without any, what it is warned of.
    pub fn charges(&self) -> impl Iterator<Item = &Finding> {
        let has_failed = self.failures().next().is_some();
        let warned = self.warned().filter(move |_| !has_failed);
        self.failures().chain(warned)
    }

    pub fn blocks(&self) -> bool {
        self.action == Action::Block
    }
}
