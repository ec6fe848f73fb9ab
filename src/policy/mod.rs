//! The skew policy: its schema, its reading and the choice of the limit (pure).

mod choose;
mod fields;
mod json;
#[cfg(feature = "author")]
mod lint;
mod parse;
#[cfg(feature = "author")]
mod starter;

pub use choose::choose;
#[cfg(feature = "author")]
pub use lint::{LintFinding, LintReport, Severity, lint};
pub use parse::{PolicyError, parse};
#[cfg(feature = "author")]
pub use starter::{SCHEMA, STARTER, reference};

use crate::API_VERSION;
use crate::version::{ImageVersion, OcpMinor, Release, RhelVersion};

/// Where the policy is delivered on a node.
pub const POLICY_PATH: &str = "/etc/skewguard/policy.json";

/// The largest policy that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 256 << 10;

pub(crate) const MAX_LIMITS: usize = 1000;

/// Whether this is a version of our API group, if perhaps another than [`API_VERSION`].
pub(crate) fn is_our_group(api_version: &str) -> bool {
    let group = |api_version: &str| api_version.split_once('/').map(|(group, _)| group.to_owned());
    group(api_version) == group(API_VERSION)
}

/// What a decided refusal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Refuses.
    Enforce,
    /// Decides, says and reports, never blocks. Also what an unknown mode acts as.
    Warn,
    /// The opt-out.
    None,
}

/// What happens to a node whose boot image cannot be determined or judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUndetermined {
    /// It boots.
    Proceed,
    /// It is refused, under `Enforce`.
    Refuse,
}

/// A rule's setting: one that this version understands, or one whose shape it does not know, which is never evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting<T> {
    /// Understood.
    Known(T),
    /// Not understood; the JSON text, made printable.
    Unknown(String),
}

/// `release` of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitRelease {
    /// `x.y.z`: this release alone.
    Exact(Release),
    /// `x.y`: this minor, and later ones until another limit names them.
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

/// `minimumOCPVersion`: `4.13.0`, or `4.13` which means the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinimumOcp(pub Release);

/// `deniedVersions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeniedVersions {
    /// The entries that are understood.
    pub entries: Vec<DeniedVersion>,
    /// How many are not, and deny nothing.
    pub not_understood: usize,
}

/// An entry of `deniedVersions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedVersion {
    /// An exact version, or a beginning followed by `*`. Printable.
    pub version: String,
    /// Why, for the console. Printable.
    pub reason: Option<String>,
}

/// One limit: the rules for the nodes that it is chosen for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limit {
    /// Target release it is for; `None` is any.
    pub release: Option<LimitRelease>,
    /// Pools it is for; `None` is any.
    pub pools: Option<Vec<String>>,
    /// Oldest OCP release whose boot images are allowed.
    pub minimum_ocp: Option<Setting<MinimumOcp>>,
    /// Oldest RHCOS allowed.
    pub minimum_rhcos: Option<Setting<RhcosBound>>,
    /// Newest RHCOS allowed.
    pub maximum_rhcos: Option<Setting<RhcosBound>>,
    /// How many OCP minors the image may be behind the target.
    pub maximum_releases_behind: Option<Setting<u16>>,
    /// RHEL majors allowed.
    pub rhel_majors: Option<Setting<Vec<u16>>>,
    /// Versions that are never allowed.
    pub denied_versions: Option<Setting<DeniedVersions>>,
}

/// A policy, as far as it is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The mode in force.
    pub mode: Mode,
    /// The mode as written, printable.
    pub mode_text: String,
    /// For boot images that cannot be judged.
    pub on_undetermined: OnUndetermined,
    /// In the order of the file.
    pub limits: Vec<Limit>,
    /// Whom to ask. Printable.
    pub help_text: Option<String>,
    /// Where to read more. Printable.
    pub help_url: Option<String>,
    /// Written for another version of our API group: read as far as understood, never blocks.
    pub other_version: bool,
    /// What was not understood, as sentences for the verdict's warnings.
    pub warnings: Vec<String>,
}
