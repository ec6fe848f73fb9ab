//! The skew policy: its schema, its reading and the choice of the limit (pure).

mod choose;
pub mod fields;
pub mod json;
mod known_issue;
mod lenient;
mod parse;
mod when;

pub use choose::{Undecided, choose, choose_for};
pub use known_issue::MAX_ISSUES;
pub use known_issue::ReleaseRange;
pub use known_issue::{Affects, Effect, Images, KnownIssue, Scope};
pub use parse::parse;
pub use when::{Applies, Circumstances, When, all};

use crate::API_VERSION;
use crate::version::{ImageVersion, OcpMinor, Release, RhelVersion, RpmVersion};
use std::collections::BTreeMap;

/// Path of the policy on a node.
pub const POLICY_PATH: &str = "/etc/skewguard/policy.json";

/// The largest policy that is read, in bytes.
pub const MAX_BYTES: u64 = 256 << 10;

/// The most limits that are read; a policy with more is invalid.
pub const MAX_LIMITS: usize = 1000;

/// Tells whether this is some version of our API group, [`API_VERSION`] or another.
pub fn is_our_group(api_version: &str) -> bool {
    let group = |api_version: &str| {
        api_version
            .split_once('/')
            .map(|(group, _)| group.to_owned())
    };
    group(api_version) == group(API_VERSION)
}

/// Effect of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Holds the node back.
    Enforce,
    /// Decides, shows and reports, but never blocks. An unknown mode acts as this one.
    Warn,
    /// The opt-out.
    None,
}

/// Fate of a node whose boot image is unknown or cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUndetermined {
    /// It boots.
    Proceed,
    /// It is refused, under `Enforce`.
    Refuse,
}

/// `release` of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitRelease {
    /// `x.y.z`: this release alone.
    Exact(Release),
    /// `x.y`: this minor, and later ones up to the next that a limit names.
    Minor(OcpMinor),
}

/// `minimumRHCOSVersion` and `maximumRHCOSVersion`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RhcosBound {
    /// `9.2`: compares RHEL releases.
    Rhel(RhelVersion),
    /// `418.94.202510081222-0` or `9.6.20250523-0`: compares RHEL, then build date, across schemes.
    Image(ImageVersion),
}

/// `minimumFCOSVersion`, `maximumFCOSVersion`, `minimumSCOSVersion` and `maximumSCOSVersion`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FamilyBound {
    /// `39` of Fedora, `10` of CentOS Stream: every build of it.
    Major(u16),
    /// `39.20231101.3.0` or `9.0.20250510-0`.
    Image(ImageVersion),
}

/// `deniedVersions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeniedVersions {
    /// The entries that are understood.
    pub entries: Vec<DeniedVersion>,
    /// Number of entries that are not understood, and so deny nothing.
    pub not_understood: usize,
}

/// An entry of `deniedVersions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedVersion {
    /// An exact version, or the beginning of versions followed by `*`. Printable.
    pub version: String,
    /// Why, for the console. Printable.
    pub reason: Option<String>,
}

/// The setting of a rule. If this release does not know its shape, it is never evaluated, and the
/// error is its JSON, made printable.
pub type Setting<T> = Result<T, String>;

/// A limit: which nodes it is for, and the rules for their boot images. A rule that is `None` is
/// not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limit {
    /// The target release it is for; `None` is any.
    pub release: Option<LimitRelease>,
    /// The pools it is for; `None` is any.
    pub pools: Option<Vec<String>>,
    /// Conditions on the nodes it is for.
    pub when: When,
    /// The fields above that are not understood, or not in full; the empty name is all of it.
    pub unclear: Vec<&'static str>,
    /// The oldest OCP release whose boot images are allowed.
    pub minimum_ocp: Option<Setting<Release>>,
    /// The oldest RHCOS allowed.
    pub minimum_rhcos: Option<Setting<RhcosBound>>,
    /// The newest RHCOS allowed.
    pub maximum_rhcos: Option<Setting<RhcosBound>>,
    /// The oldest Fedora CoreOS allowed. Like the next three it is for images of its family alone.
    pub minimum_fcos: Option<Setting<FamilyBound>>,
    /// The newest Fedora CoreOS allowed.
    pub maximum_fcos: Option<Setting<FamilyBound>>,
    /// The oldest SCOS allowed.
    pub minimum_scos: Option<Setting<FamilyBound>>,
    /// The newest SCOS allowed.
    pub maximum_scos: Option<Setting<FamilyBound>>,
    /// Most OCP minors that the image may be behind the target.
    pub maximum_releases_behind: Option<Setting<u16>>,
    /// The RHEL majors allowed.
    pub rhel_majors: Option<Setting<Vec<u16>>>,
    /// Versions that are never allowed.
    pub denied_versions: Option<Setting<DeniedVersions>>,
    /// The lowest level of CPU allowed, by architecture.
    pub minimum_cpu: Option<Setting<BTreeMap<String, String>>>,
    /// Space that has to be free in /boot before the rebase, in MiB.
    pub minimum_boot_free: Option<Setting<u32>>,
    /// The oldest shim allowed where Secure Boot is on.
    pub minimum_shim: Option<Setting<RpmVersion>>,
}

impl Limit {
    /// Tells whether it has conditions.
    pub fn is_narrowed(&self) -> bool {
        self.when != When::default()
    }
}

/// A policy, as far as it is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The mode in force.
    pub mode: Mode,
    /// The mode as written, printable.
    pub mode_text: String,
    /// Fate of nodes whose boot image cannot be judged.
    pub on_undetermined: OnUndetermined,
    /// Time that a first boot may take before the node tells what it waits for, in minutes; `None`
    /// where the policy does not say.
    pub stalled_after_minutes: Option<u16>,
    /// In the order of the file.
    pub limits: Vec<Limit>,
    /// In the order of the file.
    pub known_issues: Vec<KnownIssue>,
    /// Whom to ask. Printable.
    pub help_text: Option<String>,
    /// URL to read more. Printable.
    pub help_url: Option<String>,
    /// It is written for another version of our API group: it is read as far as it is understood,
    /// and never blocks.
    pub other_version: bool,
    /// Parts that are not understood, as warnings for the verdict.
    pub warnings: Vec<String>,
}
