//! The skew policy: its schema, its reading and the choice of the limit (pure).

mod bound;
mod choose;
pub mod fields;
pub mod json;
mod known_issue;
mod lenient;
mod parse;
mod when;

pub use bound::{Bound, DeniedVersion, DeniedVersions, VersionBound};
pub use choose::{Undecided, choose, choose_for};
pub use known_issue::MAX_ISSUES;
pub use known_issue::ReleaseRange;
pub use known_issue::{Affects, Effect, KnownIssue, Scope};
pub use parse::parse;
pub use when::{Applies, Circumstances, When, all};

use crate::API_VERSION;
use crate::version::{OcpMinor, Release};

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

impl Mode {
    const ALL: [(&'static str, Self); 3] = [
        ("Enforce", Self::Enforce),
        ("Warn", Self::Warn),
        ("None", Self::None),
    ];

    /// The mode of this name, in any case, and its name; `None` where it is unknown.
    pub fn named(name: &str) -> Option<(&'static str, Self)> {
        let mut all = Self::ALL.into_iter();
        all.find(|(word, _)| word.eq_ignore_ascii_case(name))
    }
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

/// The JSON of a rule that is null.
pub const NULL: &str = "null";

/// The setting of a rule. If this release does not know its shape, it is never evaluated, and the
/// error is its JSON, made printable.
pub type Setting<T> = Result<T, String>;

/// A limit: which nodes it is for, and the rules for their boot images.
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
    /// The fields that set a rule, each with its bound, in the order of [`fields::LIMIT`].
    pub rules: Vec<(&'static str, Setting<Bound>)>,
    /// The paths of fields that this release does not know: rules of a newer one, perhaps.
    pub unknown: Vec<String>,
}

impl Limit {
    /// Tells whether it has conditions.
    pub fn is_narrowed(&self) -> bool {
        self.when != When::default()
    }

    /// The rule that this field sets.
    pub fn rule(&self, field: &str) -> Option<&Setting<Bound>> {
        let (_, rule) = self.rules.iter().find(|(name, _)| *name == field)?;
        Some(rule)
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
    /// A failure is also told to the Machine Config Server.
    pub report_to_machine_config_server: Option<bool>,
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
