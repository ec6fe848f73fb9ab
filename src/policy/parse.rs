//! From JSON to [`Policy`], as forward compatible as the format promises.

use super::{DeniedVersion, Limit, LimitRelease, MinimumOcp, Mode, OnUndetermined, Policy, RhcosBound, Setting};
use crate::API_VERSION;
use crate::text;
use crate::version::{ImageVersion, RhelVersion};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The kind of a policy.
pub(super) const KIND: &str = "BootImageSkewPolicy";

/// At most this many unknown fields are named one by one in warnings.
const NAMED_UNKNOWN_FIELDS: usize = 16;

/// Why a policy is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not JSON, or required fields are missing or of the wrong type.
    #[error("{0}")]
    Json(String),
    /// Another API group.
    #[error("apiVersion is {found:?}; this is a policy only if it is {API_VERSION:?}")]
    Group {
        /// What was found, printable.
        found: String,
    },
    /// Another kind.
    #[error("kind is {found:?}; this is a policy only if it is {KIND:?}")]
    Kind {
        /// What was found, printable.
        found: String,
    },
}

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPolicy {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    mode: String,
    #[serde(default)]
    on_undetermined: Option<String>,
    limits: Vec<RawLimit>,
    #[serde(default)]
    help: Option<RawHelp>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct RawHelp {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// Selectors and rules stay JSON values here: one of unknown shape must not make the others unreadable.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLimit {
    #[serde(default)]
    release: Option<Value>,
    #[serde(default)]
    pools: Option<Value>,
    #[serde(default, rename = "minimumOCPVersion")]
    minimum_ocp_version: Option<Value>,
    #[serde(default, rename = "minimumRHCOSVersion")]
    minimum_rhcos_version: Option<Value>,
    #[serde(default, rename = "maximumRHCOSVersion")]
    maximum_rhcos_version: Option<Value>,
    #[serde(default)]
    maximum_releases_behind: Option<Value>,
    #[serde(default)]
    rhel_majors: Option<Value>,
    #[serde(default)]
    denied_versions: Option<Value>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// Reads a policy.
///
/// Unknown fields and modes, and rules of unknown shape, become warnings of the policy.
///
/// # Errors
/// Not JSON, a required field missing or of the wrong type, another API group or kind.
pub fn parse(bytes: &[u8]) -> Result<Policy, PolicyError> {
    let json = |error: serde_json::Error| PolicyError::Json(text::word(&error.to_string()));
    // The header first, so that somebody else's object is called that and not a policy with missing fields.
    let header: Header = serde_json::from_slice(bytes).map_err(json)?;
    let group = |api_version: &str| api_version.split_once('/').map(|(group, _)| group.to_owned());
    if group(&header.api_version) != group(API_VERSION) {
        return Err(PolicyError::Group { found: text::word(&header.api_version) });
    }
    if header.kind != KIND {
        return Err(PolicyError::Kind { found: text::word(&header.kind) });
    }
    let raw: RawPolicy = serde_json::from_slice(bytes).map_err(json)?;

    let mut warnings = Warnings::default();
    let other_version = header.api_version != API_VERSION;
    if other_version {
        warnings
            .add(format!("the policy is written for {}; read as far as understood, and it never blocks", text::word(&header.api_version)));
    }
    let mode = match raw.mode.as_str() {
        "Enforce" => Mode::Enforce,
        "Warn" => Mode::Warn,
        "None" => Mode::None,
        other => {
            warnings.add(format!("unknown policy mode \"{}\" acts as Warn", text::word(other)));
            Mode::Warn
        }
    };
    let on_undetermined = match raw.on_undetermined.as_deref() {
        None | Some("Proceed") => OnUndetermined::Proceed,
        Some("Refuse") => OnUndetermined::Refuse,
        Some(other) => {
            warnings.add(format!("unknown onUndetermined \"{}\" acts as Proceed", text::word(other)));
            OnUndetermined::Proceed
        }
    };
    warnings.unknown_fields("", &raw.unknown);
    if let Some(help) = &raw.help {
        warnings.unknown_fields("help.", &help.unknown);
    }
    let limits = raw.limits.iter().enumerate().filter_map(|(n, limit)| read_limit(n, limit, &mut warnings)).collect();
    let (help_text, help_url) = raw.help.map_or((None, None), |help| (help.text, help.url));
    Ok(Policy {
        mode,
        mode_text: text::word(&raw.mode),
        on_undetermined,
        limits,
        help_text: help_text.map(|help| text::word(&help)),
        help_url: help_url.map(|url| text::word(&url)),
        other_version,
        warnings: warnings.done(),
    })
}

/// Reads one limit; `None` where it cannot be said which nodes it is for, because then it must not be applied to any.
fn read_limit(n: usize, raw: &RawLimit, warnings: &mut Warnings) -> Option<Limit> {
    let at = format!("limits[{n}].");
    warnings.unknown_fields(&at, &raw.unknown);
    let mut selector_unknown = |field: &str, value: &Value| {
        warnings.add(format!("{at}{field} is not understood ({}); the limit is not used", shown(value)));
    };
    let release = match &raw.release {
        None => None,
        Some(value) => match value.as_str().and_then(limit_release) {
            Some(release) => Some(release),
            None => {
                selector_unknown("release", value);
                return None;
            }
        },
    };
    let pools = match &raw.pools {
        None => None,
        Some(value) => match Vec::<String>::deserialize(value) {
            Ok(pools) => Some(pools.iter().map(|pool| text::word(pool)).collect()),
            Err(_) => {
                selector_unknown("pools", value);
                return None;
            }
        },
    };
    let rule = |field| format!("{at}{field}");
    Some(Limit {
        release,
        pools,
        minimum_ocp: setting(rule("minimumOCPVersion"), &raw.minimum_ocp_version, warnings, |v| minimum_ocp(v.as_str()?)),
        minimum_rhcos: setting(rule("minimumRHCOSVersion"), &raw.minimum_rhcos_version, warnings, |v| rhcos_bound(v.as_str()?)),
        maximum_rhcos: setting(rule("maximumRHCOSVersion"), &raw.maximum_rhcos_version, warnings, |v| rhcos_bound(v.as_str()?)),
        maximum_releases_behind: setting(rule("maximumReleasesBehind"), &raw.maximum_releases_behind, warnings, |v| {
            u16::deserialize(v).ok()
        }),
        rhel_majors: setting(rule("rhelMajors"), &raw.rhel_majors, warnings, |v| Vec::deserialize(v).ok()),
        denied_versions: setting(rule("deniedVersions"), &raw.denied_versions, warnings, denied_versions),
    })
}

fn setting<T>(field: String, value: &Option<Value>, warnings: &mut Warnings, read: impl FnOnce(&Value) -> Option<T>) -> Option<Setting<T>> {
    let value = value.as_ref()?;
    Some(match read(value) {
        Some(known) => Setting::Known(known),
        None => {
            warnings.add(format!("{field} is not understood ({}); the rule is not evaluated", shown(value)));
            Setting::Unknown(shown(value))
        }
    })
}

/// `x.y` or `x.y.z`, as the `release` of a limit.
pub(super) fn limit_release(text: &str) -> Option<LimitRelease> {
    if text.bytes().filter(|b| *b == b'.').count() == 1 {
        text.parse().ok().map(LimitRelease::Minor)
    } else {
        text.parse().ok().map(LimitRelease::Exact)
    }
}

/// `x.y.z`, or `x.y` for `x.y.0`.
pub(super) fn minimum_ocp(text: &str) -> Option<MinimumOcp> {
    text.parse().or_else(|_| format!("{text}.0").parse()).ok().map(MinimumOcp)
}

/// RHEL `major.minor`, or a full RHCOS version.
pub(super) fn rhcos_bound(text: &str) -> Option<RhcosBound> {
    // A RHEL release is written like an OCP one: two numbers.
    if let Ok(release) = text.parse::<crate::version::OcpMinor>() {
        return Some(RhcosBound::Rhel(RhelVersion { major: release.major, minor: Some(release.minor) }));
    }
    let image = ImageVersion::parse(text);
    image.rhel().is_some().then_some(RhcosBound::Image(image))
}

fn denied_versions(value: &Value) -> Option<Vec<DeniedVersion>> {
    #[derive(Deserialize)]
    struct Raw {
        version: String,
        #[serde(default)]
        reason: Option<String>,
    }
    let raw = Vec::<Raw>::deserialize(value).ok()?;
    let printable = |raw: Raw| DeniedVersion { version: text::word(&raw.version), reason: raw.reason.map(|reason| text::word(&reason)) };
    Some(raw.into_iter().map(printable).collect())
}

/// A value of unknown shape, short enough for a line.
fn shown(value: &Value) -> String {
    text::printable(&value.to_string(), 60)
}

#[derive(Default)]
struct Warnings {
    list: Vec<String>,
    unknown: usize,
}

impl Warnings {
    fn add(&mut self, warning: String) {
        self.list.push(warning);
    }

    fn unknown_fields(&mut self, at: &str, fields: &BTreeMap<String, Value>) {
        for name in fields.keys() {
            self.unknown += 1;
            if self.unknown <= NAMED_UNKNOWN_FIELDS {
                self.list.push(format!("unknown policy field {at}{} is ignored", text::printable(name, 60)));
            }
        }
    }

    fn done(mut self) -> Vec<String> {
        if self.unknown > NAMED_UNKNOWN_FIELDS {
            self.list.push(format!("{} more unknown policy fields are ignored", self.unknown - NAMED_UNKNOWN_FIELDS));
        }
        self.list
    }
}
