//! From JSON to [`Policy`], as forward compatible as the format promises.

use super::draft::{DeniedDraft, Field, HelpDraft, KIND, LimitDraft, PolicyDraft};
use super::json::{Items, Located, Object};
use super::{DeniedVersion, DeniedVersions, Limit, MAX_LIMITS, Mode, OnUndetermined, Policy, Setting};
use crate::API_VERSION;
use crate::text;

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

/// Reads a policy.
///
/// Unknown fields and modes, and limits and rules of unknown shape, become warnings of the policy.
///
/// # Errors
/// Not a JSON object, a required field missing or of the wrong type, another API group or kind. Written for another version of our group,
/// a policy may lack what this version requires.
pub fn parse(bytes: &[u8]) -> Result<Policy, PolicyError> {
    let json = |error: serde_json::Error| PolicyError::Json(text::word(&error.to_string()));
    let draft = PolicyDraft::read(&Located::whole(bytes).map_err(json)?).map_err(json)?;
    if let Some(twice) = draft.object.twice().next() {
        let (line, column) = twice.key.line_and_column();
        return Err(PolicyError::Json(format!("duplicate field `{}` at line {line} column {column}", twice.name)));
    }
    // The header first, so that somebody else's object is called that and not a policy with missing fields.
    let api_version = required("apiVersion", "a string", draft.api_version)?;
    let group = |api_version: &str| api_version.split_once('/').map(|(group, _)| group.to_owned());
    if group(&api_version) != group(API_VERSION) {
        return Err(PolicyError::Group { found: text::word(&api_version) });
    }
    let kind = required("kind", "a string", draft.kind)?;
    if kind != KIND {
        return Err(PolicyError::Kind { found: text::word(&kind) });
    }

    let mut warnings = Warnings::default();
    let other_version = api_version != API_VERSION;
    if other_version {
        let api_version = text::printable(&api_version, 60);
        warnings.add(format!("the policy is written for {api_version}; read as far as understood, and it never blocks"));
    }
    let limits = match required("limits", "an array", draft.limits) {
        Err(_) if other_version => None,
        limits => Some(limits?),
    };
    if let Some(found) = limits.as_ref().map(Items::len).filter(|found| *found > MAX_LIMITS) {
        return Err(PolicyError::TooManyLimits { found });
    }
    let (mode, mode_text) = match draft.mode {
        None if !other_version => return Err(PolicyError::Missing { field: "mode" }),
        written => mode(written, &mut warnings),
    };
    let on_undetermined = draft.on_undetermined.map_or(OnUndetermined::Proceed, |field| {
        field.value.unwrap_or_else(|| {
            warnings.add(format!("unknown onUndetermined {} acts as \"Proceed\"", field.at.shown()));
            OnUndetermined::Proceed
        })
    });
    warnings.unknown_fields(&draft.object);
    let (help_text, help_url) = help(draft.help, &mut warnings);
    let limits = limits.iter().flat_map(Items::iter).filter_map(|limit| read_limit(&limit, &mut warnings)).collect();
    let warnings = warnings.done();
    Ok(Policy { mode, mode_text, on_undetermined, limits, help_text, help_url, other_version, warnings })
}

fn required<T>(name: &'static str, want: &'static str, field: Option<Field<'_, T>>) -> Result<T, PolicyError> {
    let Field { at, value } = field.ok_or(PolicyError::Missing { field: name })?;
    value.ok_or_else(|| PolicyError::Type { field: name, want, found: at.shown() })
}

/// The mode, and as it is written.
fn mode(written: Option<Field<'_, String>>, warnings: &mut Warnings) -> (Mode, String) {
    let Some(Field { at, value }) = written else { return (Mode::Warn, "Warn".to_owned()) };
    let word = value.map_or_else(|| at.shown(), |word| text::printable(&word, 60));
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

/// Text and URL. What is wrong with them must not cost the policy its limits.
fn help(written: Option<Field<'_, HelpDraft<'_>>>, warnings: &mut Warnings) -> (Option<String>, Option<String>) {
    let help = written.map(|field| Field { value: field.value.filter(|help| help.object.twice().next().is_none()), ..field });
    let Some(help) = help.and_then(|help| warnings.understood(help, "it is not shown")) else { return (None, None) };
    warnings.unknown_fields(&help.object);
    let mut line = |field: Option<_>| warnings.understood(field?, "it is not shown").map(|line: String| text::word(&line));
    (line(help.text), line(help.url))
}

/// Reads one limit; `None` where it cannot be said which nodes it is for, because then it must not be applied to any.
fn read_limit(at: &Located<'_>, warnings: &mut Warnings) -> Option<Limit> {
    let draft = match LimitDraft::read(at) {
        Ok(draft) => draft,
        Err(error) => return warnings.unused(at, &error.to_string()),
    };
    if let Some(twice) = draft.object.twice().next() {
        return warnings.unused(at, &format!("duplicate field `{}`", twice.name));
    }
    warnings.unknown_fields(&draft.object);
    let release = selector(draft.release, warnings)?;
    let pools = selector(draft.pools, warnings)?;
    Some(Limit {
        release,
        pools: pools.map(|pools| pools.iter().map(|pool| text::word(pool)).collect()),
        minimum_ocp: setting(draft.minimum_ocp, warnings),
        minimum_rhcos: setting(draft.minimum_rhcos, warnings),
        maximum_rhcos: setting(draft.maximum_rhcos, warnings),
        maximum_releases_behind: setting(draft.maximum_releases_behind, warnings),
        rhel_majors: setting(draft.rhel_majors, warnings),
        denied_versions: setting(draft.denied_versions, warnings).map(|setting| match setting {
            Setting::Known(entries) => Setting::Known(denied_versions(&entries, warnings)),
            Setting::Unknown(shape) => Setting::Unknown(shape),
        }),
    })
}

/// Whom a limit is for; absent is any, and `None` that it is not understood.
#[allow(clippy::option_option)]
fn selector<T>(field: Option<Field<'_, T>>, warnings: &mut Warnings) -> Option<Option<T>> {
    field.map_or(Some(None), |field| warnings.understood(field, "the limit is not used").map(Some))
}

fn setting<T>(field: Option<Field<'_, T>>, warnings: &mut Warnings) -> Option<Setting<T>> {
    let field = field?;
    let shape = if field.value.is_none() { field.at.shown() } else { String::new() };
    Some(warnings.understood(field, "the rule is not evaluated").map_or(Setting::Unknown(shape), Setting::Known))
}

fn denied_versions(items: &Items<'_>, warnings: &mut Warnings) -> DeniedVersions {
    let mut denied = DeniedVersions::default();
    for item in items.iter() {
        match DeniedDraft::read(&item) {
            Ok(DeniedDraft { object, version: Some(Field { value: Some(version), .. }), reason })
                if object.twice().next().is_none() && reason.as_ref().is_none_or(|reason| reason.value.is_some()) =>
            {
                warnings.unknown_fields(&object);
                let reason = reason.and_then(|reason| reason.value).map(|reason| text::word(&reason));
                denied.entries.push(DeniedVersion { version: text::word(&version), reason });
            }
            _ => {
                warnings.understood::<()>(Field { at: item, value: None }, "it denies nothing");
                denied.not_understood += 1;
            }
        }
    }
    denied
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

    /// What a field says. One that is not understood is named, with what follows.
    fn understood<T>(&mut self, Field { at, value }: Field<'_, T>, then: &str) -> Option<T> {
        if value.is_none() {
            self.add(format!("{} is not understood ({}); {then}", at.path, at.shown()));
        }
        value
    }

    fn unused(&mut self, limit: &Located<'_>, why: &str) -> Option<Limit> {
        // The position would be one within the limit.
        let why = why.split_once(" at line ").map_or(why, |(why, _)| why);
        self.add(format!("{} is not understood ({}); it is not used", limit.path, text::printable(why, 60)));
        None
    }

    fn unknown_fields(&mut self, object: &Object<'_>) {
        for member in object.unknown() {
            self.add(format!("unknown policy field {} is ignored", member.value.path));
        }
    }

    fn done(mut self) -> Vec<String> {
        if self.more > 0 {
            self.list.push(format!("{} more of the policy is not understood; `skewguard policy lint` names all of it", self.more));
        }
        self.list
    }
}
