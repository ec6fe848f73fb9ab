//! From JSON to [`Policy`], as forward compatible as the format promises.

use super::{
    DeniedVersion, DeniedVersions, Limit, LimitRelease, MAX_LIMITS, MinimumOcp, Mode, OnUndetermined, Policy, RhcosBound, Setting,
};
use crate::API_VERSION;
use crate::text;
use crate::version::{ImageVersion, OcpMinor, RhelVersion};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The kind of a policy.
pub(super) const KIND: &str = "BootImageSkewPolicy";

/// RHEL majors that CoreOS was ever built from, or may be while this version is in use.
pub(super) const RHEL_MAJORS: std::ops::Range<u16> = 7..40;

/// At most this many warnings are kept: they go into the verdict, onto the journal and into an object of the cluster.
const MAX_WARNINGS: usize = 24;

/// Why a policy is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not a JSON object, or one that names a field twice.
    #[error("{0}")]
    Json(String),
    /// A required field is absent, or null.
    #[error("the required field {field} is missing")]
    Missing {
        /// Which one.
        field: &'static str,
    },
    /// A required field has another type.
    #[error("{field} must be {want}, not {found}")]
    Type {
        /// Which one.
        field: &'static str,
        /// What it must be.
        want: &'static str,
        /// What was found, printable.
        found: String,
    },
    /// More limits than are read. To leave some out would be to judge nodes by another's.
    #[error("there are {found} limits; at most {MAX_LIMITS} are read")]
    TooManyLimits {
        /// How many there are.
        found: usize,
    },
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

/// Values stay text here: one of unknown shape must not make the others unreadable.
#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct RawPolicy<'a> {
    #[serde(borrow)]
    api_version: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    mode: Option<&'a RawValue>,
    #[serde(borrow)]
    on_undetermined: Option<&'a RawValue>,
    #[serde(borrow)]
    limits: Option<&'a RawValue>,
    #[serde(borrow)]
    help: Option<&'a RawValue>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Deserialize, Default)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(expecting = "an object")]
struct RawHelp<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct RawLimit<'a> {
    #[serde(borrow)]
    release: Option<&'a RawValue>,
    #[serde(borrow)]
    pools: Option<&'a RawValue>,
    #[serde(borrow, rename = "minimumOCPVersion")]
    minimum_ocp_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "minimumRHCOSVersion")]
    minimum_rhcos_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "maximumRHCOSVersion")]
    maximum_rhcos_version: Option<&'a RawValue>,
    #[serde(borrow)]
    maximum_releases_behind: Option<&'a RawValue>,
    #[serde(borrow)]
    rhel_majors: Option<&'a RawValue>,
    #[serde(borrow)]
    denied_versions: Option<&'a RawValue>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(expecting = "an object")]
struct RawDenied {
    version: String,
    reason: Option<String>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// Reads a policy.
///
/// Unknown fields and modes, and limits and rules of unknown shape, become warnings of the policy.
///
/// # Errors
/// Not a JSON object, a required field missing or of the wrong type, another API group or kind. Written for another version of our group,
/// a policy may lack what this version requires.
pub fn parse(bytes: &[u8]) -> Result<Policy, PolicyError> {
    let raw: RawPolicy<'_> = serde_json::from_slice(bytes).map_err(|error| PolicyError::Json(text::word(&error.to_string())))?;
    // The header first, so that somebody else's object is called that and not a policy with missing fields.
    let api_version: String = required("apiVersion", "a string", raw.api_version)?;
    let group = |api_version: &str| api_version.split_once('/').map(|(group, _)| group.to_owned());
    if group(&api_version) != group(API_VERSION) {
        return Err(PolicyError::Group { found: text::word(&api_version) });
    }
    let kind: String = required("kind", "a string", raw.kind)?;
    if kind != KIND {
        return Err(PolicyError::Kind { found: text::word(&kind) });
    }

    let mut warnings = Warnings::default();
    let other_version = api_version != API_VERSION;
    if other_version {
        let api_version = text::printable(&api_version, 60);
        warnings.add(format!("the policy is written for {api_version}; read as far as understood, and it never blocks"));
    }
    let limits: Vec<&RawValue> = match required("limits", "an array", raw.limits) {
        Err(_) if other_version => Vec::new(),
        limits => limits?,
    };
    if limits.len() > MAX_LIMITS {
        return Err(PolicyError::TooManyLimits { found: limits.len() });
    }
    let (mode, mode_text) = match raw.mode {
        None if !other_version => return Err(PolicyError::Missing { field: "mode" }),
        written => mode(written, &mut warnings),
    };
    let on_undetermined = on_undetermined(raw.on_undetermined, &mut warnings);
    warnings.unknown_fields("", &raw.unknown);
    let (help_text, help_url) = help(raw.help, &mut warnings);
    let limits = limits.into_iter().enumerate().filter_map(|(n, limit)| read_limit(n, limit, &mut warnings)).collect();
    let warnings = warnings.done();
    Ok(Policy { mode, mode_text, on_undetermined, limits, help_text, help_url, other_version, warnings })
}

fn required<'a, T: Deserialize<'a>>(field: &'static str, want: &'static str, value: Option<&'a RawValue>) -> Result<T, PolicyError> {
    let value = value.ok_or(PolicyError::Missing { field })?;
    serde_json::from_str(value.get()).map_err(|_| PolicyError::Type { field, want, found: shown(value.get()) })
}

/// What `value` says, where it has the type.
fn typed<T: DeserializeOwned>(value: &RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// The mode, and as it is written.
fn mode(written: Option<&RawValue>, warnings: &mut Warnings) -> (Mode, String) {
    let Some(written) = written else { return (Mode::Warn, "Warn".to_owned()) };
    let word = typed::<String>(written).map_or_else(|| shown(written.get()), |word| text::printable(&word, 60));
    let mode = match word.as_str() {
        "Enforce" => Mode::Enforce,
        "Warn" => Mode::Warn,
        "None" => Mode::None,
        other => {
            warnings.add(format!("unknown policy mode \"{other}\" acts as Warn"));
            Mode::Warn
        }
    };
    (mode, word)
}

fn on_undetermined(written: Option<&RawValue>, warnings: &mut Warnings) -> OnUndetermined {
    let Some(written) = written else { return OnUndetermined::Proceed };
    match typed::<String>(written).as_deref() {
        Some("Proceed") => OnUndetermined::Proceed,
        Some("Refuse") => OnUndetermined::Refuse,
        _ => {
            warnings.add(format!("unknown onUndetermined {} acts as \"Proceed\"", shown(written.get())));
            OnUndetermined::Proceed
        }
    }
}

/// Text and URL. What is wrong with them must not cost the policy its limits.
fn help(written: Option<&RawValue>, warnings: &mut Warnings) -> (Option<String>, Option<String>) {
    let Some(written) = written else { return (None, None) };
    let raw: RawHelp<'_> = serde_json::from_str(written.get()).unwrap_or_else(|_| {
        warnings.add(format!("help is not understood ({}); it is not shown", shown(written.get())));
        RawHelp::default()
    });
    warnings.unknown_fields("help.", &raw.unknown);
    let mut line = |field: &str, value: Option<&RawValue>| {
        let value = value?;
        let line = typed::<String>(value).map(|line| text::word(&line));
        if line.is_none() {
            warnings.add(format!("help.{field} is not understood ({}); it is not shown", shown(value.get())));
        }
        line
    };
    (line("text", raw.text), line("url", raw.url))
}

/// Reads one limit; `None` where it cannot be said which nodes it is for, because then it must not be applied to any.
fn read_limit(n: usize, written: &RawValue, warnings: &mut Warnings) -> Option<Limit> {
    let raw: RawLimit<'_> = match serde_json::from_str(written.get()) {
        Ok(raw) => raw,
        Err(error) => {
            // The position would be one within the limit.
            let why = error.to_string();
            let why = why.split_once(" at line ").map_or(why.as_str(), |(why, _)| why);
            warnings.add(format!("limits[{n}] is not understood ({}); it is not used", text::printable(why, 60)));
            return None;
        }
    };
    let at = format!("limits[{n}].");
    warnings.unknown_fields(&at, &raw.unknown);
    let mut selector_unknown = |field: &str, value: &RawValue| {
        warnings.add(format!("{at}{field} is not understood ({}); the limit is not used", shown(value.get())));
    };
    let release = match raw.release {
        None => None,
        Some(value) => match typed::<String>(value).as_deref().and_then(limit_release) {
            Some(release) => Some(release),
            None => {
                selector_unknown("release", value);
                return None;
            }
        },
    };
    let pools = match raw.pools {
        None => None,
        Some(value) => match typed::<Vec<String>>(value) {
            Some(pools) => Some(pools.iter().map(|pool| text::word(pool)).collect()),
            None => {
                selector_unknown("pools", value);
                return None;
            }
        },
    };
    let rule = |field| format!("{at}{field}");
    Some(Limit {
        release,
        pools,
        minimum_ocp: setting(rule("minimumOCPVersion"), raw.minimum_ocp_version, warnings, |v| minimum_ocp(&typed::<String>(v)?)),
        minimum_rhcos: setting(rule("minimumRHCOSVersion"), raw.minimum_rhcos_version, warnings, |v| rhcos_bound(&typed::<String>(v)?)),
        maximum_rhcos: setting(rule("maximumRHCOSVersion"), raw.maximum_rhcos_version, warnings, |v| rhcos_bound(&typed::<String>(v)?)),
        maximum_releases_behind: setting(rule("maximumReleasesBehind"), raw.maximum_releases_behind, warnings, typed),
        rhel_majors: setting(rule("rhelMajors"), raw.rhel_majors, warnings, rhel_majors),
        denied_versions: denied_versions(&rule("deniedVersions"), raw.denied_versions, warnings),
    })
}

fn setting<T>(
    field: String,
    value: Option<&RawValue>,
    warnings: &mut Warnings,
    read: impl FnOnce(&RawValue) -> Option<T>,
) -> Option<Setting<T>> {
    let value = value?;
    Some(read(value).map_or_else(|| not_understood(&field, value, warnings), Setting::Known))
}

fn not_understood<T>(field: &str, value: &RawValue, warnings: &mut Warnings) -> Setting<T> {
    warnings.add(format!("{field} is not understood ({}); the rule is not evaluated", shown(value.get())));
    Setting::Unknown(shown(value.get()))
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
///
/// `4.13` and `413.92` are written alike, but no RHEL: read as one, the first would allow every image and the second none.
pub(super) fn rhcos_bound(text: &str) -> Option<RhcosBound> {
    // A RHEL release is written like an OCP one: two numbers.
    if let Ok(OcpMinor { major, minor }) = text.parse() {
        return RHEL_MAJORS.contains(&major).then_some(RhcosBound::Rhel(RhelVersion { major, minor: Some(minor) }));
    }
    let image = ImageVersion::parse(text);
    image.rhel().is_some().then_some(RhcosBound::Image(image))
}

/// An empty list would refuse every image; nobody means that.
fn rhel_majors(value: &RawValue) -> Option<Vec<u16>> {
    typed::<Vec<u16>>(value).filter(|majors| !majors.is_empty())
}

fn denied_versions(field: &str, value: Option<&RawValue>, warnings: &mut Warnings) -> Option<Setting<DeniedVersions>> {
    let mut entries = |value: &RawValue| {
        let raw: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
        let mut denied = DeniedVersions::default();
        for (n, entry) in raw.into_iter().enumerate() {
            let Some(raw) = typed::<RawDenied>(entry) else {
                warnings.add(format!("{field}[{n}] is not understood ({}); it denies nothing", shown(entry.get())));
                denied.not_understood += 1;
                continue;
            };
            warnings.unknown_fields(&format!("{field}[{n}]."), &raw.unknown);
            denied.entries.push(DeniedVersion { version: text::word(&raw.version), reason: raw.reason.map(|reason| text::word(&reason)) });
        }
        Some(denied)
    };
    let value = value?;
    let entries = entries(value);
    Some(entries.map_or_else(|| not_understood(field, value, warnings), Setting::Known))
}

/// A value of unknown shape, short enough for a line. Numbers as they are written: 4.20 must not be shown as 4.2.
pub(super) fn shown(raw: &str) -> String {
    let compact = match raw.as_bytes().first() {
        Some(b'[' | b'{') => serde_json::from_str::<Value>(raw).ok().map(|value| value.to_string()),
        _ => None,
    };
    text::printable(compact.as_deref().unwrap_or(raw), 60)
}

#[derive(Default)]
struct Warnings {
    list: Vec<String>,
    more: usize,
}

impl Warnings {
    fn add(&mut self, warning: String) {
        if self.list.len() < MAX_WARNINGS {
            self.list.push(warning);
        } else {
            self.more += 1;
        }
    }

    fn unknown_fields(&mut self, at: &str, fields: &BTreeMap<String, Value>) {
        for name in fields.keys() {
            self.add(format!("unknown policy field {at}{} is ignored", text::printable(name, 60)));
        }
    }

    fn done(mut self) -> Vec<String> {
        if self.more > 0 {
            self.list.push(format!("{} more of the policy is not understood; `skewguard policy lint` names all of it", self.more));
        }
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{SCHEMA, fields};
    use std::collections::BTreeSet;

    /// The names under which serde reads a type's fields: those it writes, all of them absent.
    fn read_by_serde<'a, T: Deserialize<'a> + serde::Serialize>(least: &'a str) -> BTreeSet<String> {
        let value: T = serde_json::from_str(least).unwrap();
        serde_json::to_value(value).unwrap().as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn reading_lint_and_schema_name_the_same_fields() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        for (pointer, names, serde) in [
            ("", fields::POLICY, read_by_serde::<RawPolicy<'_>>("{}")),
            ("/$defs/limit", fields::LIMIT, read_by_serde::<RawLimit<'_>>("{}")),
            ("/$defs/help", fields::HELP, read_by_serde::<RawHelp<'_>>("{}")),
            ("/$defs/deniedVersion", fields::DENIED, read_by_serde::<RawDenied>(r#"{"version":""}"#)),
        ] {
            let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let properties = schema.pointer(&format!("{pointer}/properties")).unwrap().as_object().unwrap();
            assert_eq!(properties.keys().cloned().collect::<BTreeSet<_>>(), names, "schema {pointer}");
            assert_eq!(serde, names, "serde {pointer}");
        }
    }
}
