//! Parses YAML or JSON into a tree, within bounds (pure).
//!
//! The tree is built here from the parser's events, so that its depth and size are bounded. Aliases
//! are refused: no kubeconfig needs them, and every YAML bomb does. Errors give a position, but
//! never text: the file holds secrets.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use serde_json::{Map, Value};
use zeroize::Zeroize;

/// Limit of levels of nesting; a kubeconfig needs five.
const MAX_DEPTH: usize = 32;
/// Limit of scalars, sequences and mappings together.
const MAX_NODES: usize = 10_000;
/// Limit of punctuation characters, not counting those of base64, names and URLs. They bound the number
/// of tokens before the parser runs: it keeps every token of a flow sequence in memory, some 200
/// bytes each, until it knows that the sequence is not a key.
const MAX_MARKS: usize = 32 * 1024;
const EXCESS: &str = "is larger or deeper than any kubeconfig";

/// The mapping that was read. Some of its strings are secrets, so dropping it wipes them all.
#[derive(Debug, Default)]
pub(super) struct Tree(pub(super) Value);

impl Drop for Tree {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(fields) => fields.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Parses one document.
///
/// # Errors
/// What is wrong and where, without quoting the text.
pub(super) fn read(text: &str) -> Result<Tree, String> {
    let is_mark = |b: &u8| b.is_ascii_punctuation() && !b"+/=._-".contains(b);
    if text.bytes().filter(is_mark).count() > MAX_MARKS {
        return Err(EXCESS.to_owned());
    }
    // JSON is YAML too, but YAML parsers differ in its tabs and escapes.
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map(Tree).map_err(|e| {
            format!(
                "is not valid JSON: line {}, column {}",
                e.line(),
                e.column()
            )
        });
    }
    let mut building = Building::default();
    let mut nodes = 0_usize;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| {
            at(
                e.marker(),
                &format!("is not valid YAML ({})", crate::text::printable(e.info())),
            )
        })?;
        let here = |what: &str| at(&span.start, what);
        if building.take(event).map_err(here)? {
            nodes += 1;
            if nodes > MAX_NODES || building.open.len() > MAX_DEPTH {
                return Err(here(EXCESS));
            }
        }
    }
    Ok(building.complete)
}

/// A document as far as it was read.
#[derive(Default)]
struct Building {
    complete: Tree,
    /// The sequences and mappings that are not complete yet; for a mapping, also the key whose
    /// value comes next.
    open: Vec<(Value, Option<String>)>,
    has_document: bool,
}

impl Building {
    /// Takes the next event, and says whether it began or ended a node.
    fn take(&mut self, event: Event<'_>) -> Result<bool, &'static str> {
        let complete = match event {
            Event::DocumentStart(_) => {
                if std::mem::replace(&mut self.has_document, true) {
                    return Err("has a second YAML document");
                }
                return Ok(false);
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {
                return Ok(false);
            }
            Event::Alias(_) => return Err("has a YAML alias, which is not supported"),
            Event::SequenceStart(..) => return Ok(self.begin(Value::Array(Vec::new()))),
            Event::MappingStart(..) => return Ok(self.begin(Value::Object(Map::new()))),
            Event::Scalar(text, style, _, tag) => {
                if let Some((Value::Object(_), key @ None)) = self.open.last_mut() {
                    *key = Some(text.into_owned());
                    return Ok(false);
                }
                let is_str =
                    tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                Some(scalar(&text, style, is_str))
            }
            Event::SequenceEnd | Event::MappingEnd => self.open.pop().map(|(complete, _)| complete),
        };
        if let Some(value) = complete {
            self.put(value)?;
        }
        Ok(true)
    }

    fn begin(&mut self, empty: Value) -> bool {
        self.open.push((empty, None));
        true
    }

    /// Puts a complete value where it belongs.
    fn put(&mut self, value: Value) -> Result<(), &'static str> {
        match self.open.last_mut() {
            None => self.complete = Tree(value),
            Some((Value::Array(items), _)) => items.push(value),
            Some((mapping, key)) => {
                let name = key.take().ok_or("has a key that is not text")?;
                let fields = mapping.as_object_mut();
                if fields
                    .and_then(|fields| fields.insert(name, value))
                    .is_some()
                {
                    return Err("has the same key twice in one mapping");
                }
            }
        }
        Ok(())
    }
}

/// A scalar by YAML's core schema. Numbers are whole and not negative; others become 0.
fn scalar(text: &str, style: ScalarStyle, is_str: bool) -> Value {
    if style != ScalarStyle::Plain || is_str {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(text) => Value::Number(text.parse().unwrap_or(0_u32).into()),
        _ => Value::String(text.to_owned()),
    }
}

/// This is a decimal integer or float of the core schema. (`f64`'s own parser would add its
/// tables to the binary.)
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && digits(exponent)
        && !exponent.is_empty()
}

fn at(marker: &Marker, what: &str) -> String {
    format!(
        "{what}: line {}, column {}",
        marker.line(),
        marker.col() + 1
    )
}

#[cfg(test)]
mod tests {
    use super::is_number;

    #[test]
    fn numbers_and_what_only_looks_like_them() {
        for number in [
            "0", "12345678", "-5", "+5", "1.5", ".5", "5.", "1e5", "1.5E-3",
        ] {
            assert!(is_number(number), "{number}");
        }
        for text in [
            "",
            "-",
            ".",
            "e5",
            "1e",
            "10.0.0.1",
            "2026-01-02",
            "1a",
            "1_000",
            "0x1f",
            "1 2",
        ] {
            assert!(!is_number(text), "{text}");
        }
    }
}
