//! Reads parts of a policy: what is not understood becomes a warning.

use super::DeniedVersion;
use super::json::{Field, Located, Object};
use crate::text;

/// At most this many warnings are kept: they go into the verdict, the journal and the report.
const MAX_WARNINGS: usize = 24;

/// Parts of a policy that are ignored.
#[derive(Default)]
pub(super) struct Warnings {
    list: Vec<String>,
    more: usize,
}

impl Warnings {
    pub(super) fn add(&mut self, warning: String) {
        if self.list.len() < MAX_WARNINGS {
            self.list.push(warning);
        } else {
            self.more += 1;
        }
    }

    /// The value of a field. If it is not understood, a warning says so and what follows from that
    /// (`then`); the error is the field as shown.
    pub(super) fn understood<T>(
        &mut self,
        Field { at, value }: Field<'_, T>,
        then: &str,
    ) -> Result<T, String> {
        value.ok_or_else(|| {
            let shown = at.shown();
            self.add(format!("{} is not understood ({shown}); {then}", at.path));
            shown
        })
    }

    pub(super) fn unknown_fields(&mut self, object: &Object<'_>) {
        for key in object.unknown() {
            self.add(format!("unknown policy field {} is ignored", key.path));
        }
    }

    pub(super) fn done(mut self) -> Vec<String> {
        if self.more > 0 {
            self.list.push(format!(
                "{} more of the policy is not understood; `oc skewguard policy lint` names all of it",
                self.more
            ));
        }
        self.list
    }
}

pub(super) fn not_understood(at: &Located<'_>) -> String {
    format!("{} is not understood ({})", at.path, at.shown())
}

/// A field that this release does not know, or a condition that is null: without it more nodes
/// would be meant.
pub(super) fn unknown(object: &Object<'_>) -> Option<String> {
    let unknown = object.unknown().next();
    let unknown =
        unknown.map(|key| format!("{} is not known to this version of skewguard", key.path));
    unknown.or_else(|| Some(format!("{} is null", object.nulls().next()?.path)))
}

/// The value of a field; the error says that it is not understood.
pub(super) fn field<'a, T>(
    object: &Object<'a>,
    name: &str,
    read: impl FnOnce(&Located<'a>) -> Option<T>,
) -> Result<Option<T>, String> {
    let Some(Field { at, value }) = object.field(name, read) else {
        return Ok(None);
    };
    value.map(Some).ok_or_else(|| not_understood(&at))
}

/// A list of names. A word that can be no name, such as `*` or `!infra`, is one of a newer release.
pub(super) fn names(at: &Located<'_>) -> Option<Vec<String>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_name = |name: &String| !name.is_empty() && name.chars().all(is_part);
    at.read()
        .filter(|names: &Vec<String>| names.iter().all(is_name))
}

pub(super) fn missing(field: &str) -> String {
    format!("the required field {field} is missing")
}

/// Splits an object into its fields. One with a field given twice is not understood.
pub(super) fn object<'a>(
    at: &Located<'a>,
    names: &'static [&'static str],
) -> Result<Object<'a>, String> {
    let object = at.object(names).map_err(|error| error.to_string())?;
    let Some(key) = object.twice().next() else {
        return Ok(object);
    };
    let (line, column) = key.line_and_column();
    Err(format!(
        "duplicate field `{}` at line {line} column {column}",
        key.string().unwrap_or_default()
    ))
}

pub(super) fn denied_version(entry: &Object<'_>) -> Option<DeniedVersion> {
    let line = |at: Located<'_>| at.string().map(|line| text::printable(&line));
    let reason = match entry.get("reason") {
        Some(at) => Some(line(at)?),
        None => None,
    };
    Some(DeniedVersion {
        version: line(entry.get("version")?)?,
        reason,
    })
}
