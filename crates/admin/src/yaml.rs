//! YAML of policies (pure). Aliases are refused: no policy has them.
//!
//! A policy becomes the JSON that nodes get. That is written from the parser's events, one after another: numbers stay as they are
//! written (4.20 must not become 4.2), a key that is given twice is noticed, and each part is known
//! by its line in the YAML.

use crate::text::printable;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, StrInput, Tag};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most levels of nesting in a policy.
const MAX_DEPTH: usize = 32;
/// The most scalars, sequences and mappings in a policy together.
const MAX_NODES: usize = 64 * 1024;
/// The most punctuation characters in a policy, not counting those of base64, names and URLs. They
/// bound the number of tokens before the parser runs: it keeps every token of a flow sequence in
/// memory, some 200 bytes each, until it knows that the sequence is not a key.
const MAX_MARKS: usize = 64 * 1024;
const EXCESS: &str = "is larger or deeper than any policy";

/// Line and column, both from 1; columns in characters.
pub(crate) type Place = (usize, usize);

/// A mistake of a YAML document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Place of the mistake.
    pub(crate) place: Place,
    /// Description: goes on after "the file". Printable.
    pub(crate) what: String,
}

/// A policy as JSON.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    /// The JSON, indented, with a newline at its end.
    pub(crate) json: String,
    /// Places of each key and value: in the JSON, in this order, and in the YAML.
    places: Vec<(Place, Place)>,
}

impl Source {
    /// Place in the YAML of what begins here in the JSON.
    pub(crate) fn place(&self, in_json: Place) -> Place {
        let at = self.places.partition_point(|(json, _)| *json < in_json);
        self.places.get(at).map_or((1, 1), |(_, yaml)| *yaml)
    }

    /// Place in the YAML of what began last before here in the JSON.
    pub(crate) fn place_before(&self, in_json: Place) -> Place {
        let behind = self.places.partition_point(|(json, _)| *json <= in_json);
        let last = behind.checked_sub(1).and_then(|at| self.places.get(at));
        last.map_or((1, 1), |(_, yaml)| *yaml)
    }
}

/// Tells whether somebody meant YAML: it begins with neither JSON's brackets and quotes, nor with what
/// people put before them by mistake (a byte order mark, a `//` comment), nor is it binary or empty.
pub(crate) fn looks_like_yaml(text: &str) -> bool {
    let first = text.trim_start().chars().next();
    let is_json = |first| ['{', '[', '"', '/', '\u{feff}'].contains(&first);
    first.is_some_and(|first: char| !is_json(first) && !first.is_control())
}

/// The bytes that nodes get of a policy: JSON of YAML, everything else as it is.
pub(crate) fn for_nodes(bytes: Vec<u8>) -> Vec<u8> {
    match std::str::from_utf8(&bytes)
        .ok()
        .filter(|t| looks_like_yaml(t))
    {
        Some(text) => convert(text).map_or(bytes, |source| source.json.into_bytes()),
        None => bytes,
    }
}

/// Writes YAML as JSON.
///
/// # Errors
/// It is not one document of YAML that JSON can say, or exceeds the bounds.
pub(crate) fn convert(text: &str) -> Result<Source, Broken> {
    let is_mark = |b: &u8| b.is_ascii_punctuation() && !b"+/=._-".contains(b);
    if text.bytes().filter(|b| is_mark(b)).count() > MAX_MARKS {
        return broken((1, 1), EXCESS);
    }
    let mut writer = Writer {
        events: Parser::new_from_str(text),
        nodes: 0,
        source: Source::default(),
        depth: 0,
        line: 0,
        line_start: 0,
    };
    while let Some((event, here)) = writer.next()? {
        match event {
            Event::DocumentStart(_) if !writer.source.json.is_empty() => {
                return broken(here, "has a second YAML document from here on");
            }
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {
                writer.value(event, here)?;
            }
            _ => {}
        }
    }
    if writer.source.json.is_empty() {
        return broken((1, 1), "has no policy in it");
    }
    writer.source.json.push('\n');
    Ok(writer.source)
}

fn broken<T>(place: Place, what: &str) -> Result<T, Broken> {
    let what = what.to_owned();
    Err(Broken { place, what })
}

fn place(marker: &Marker) -> Place {
    (marker.line().max(1), marker.col() + 1)
}

struct Writer<'a> {
    events: Parser<'a, StrInput<'a>>,
    /// Events that were read.
    nodes: usize,
    source: Source,
    /// Sequences and mappings that are not complete yet.
    depth: usize,
    /// Place of the JSON's last line: its number less one, and its beginning in bytes.
    line: usize,
    line_start: usize,
}

impl<'a> Writer<'a> {
    /// The next event, which JSON can say.
    fn next(&mut self) -> Result<Option<(Event<'a>, Place)>, Broken> {
        let Some(event) = self.events.next() else {
            return Ok(None);
        };
        let (event, span) = event.map_err(|error| Broken {
            place: place(error.marker()),
            what: format!("is not YAML: {}", printable(error.info())),
        })?;
        self.nodes += 1;
        let here = place(&span.start);
        match &event {
            _ if self.nodes > MAX_NODES || self.depth > MAX_DEPTH => broken(here, EXCESS),
            Event::Alias(_) => broken(here, "has a YAML alias, which is not read"),
            Event::Scalar(.., Some(tag)) if is_str(tag) => Ok(Some((event, here))),
            Event::Scalar(.., Some(_))
            | Event::SequenceStart(.., Some(_))
            | Event::MappingStart(.., Some(_)) => broken(here, "has a YAML tag, which is not read"),
            _ => Ok(Some((event, here))),
        }
    }

    fn value(&mut self, event: Event<'_>, here: Place) -> Result<(), Broken> {
        self.mark(here);
        match event {
            Event::Scalar(text, style, _, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some();
                self.source.json += &scalar(&text, is_text);
                Ok(())
            }
            Event::SequenceStart(..) => self.entries('[', ']', &mut Self::value),
            _ => {
                let mut keys = BTreeSet::new();
                self.entries('{', '}', &mut |writer, key, here| {
                    let Event::Scalar(key, ..) = key else {
                        return broken(here, "has a key that is not text");
                    };
                    writer.mark(here);
                    writer.source.json += &quoted(&key);
                    writer.source.json += ": ";
                    if !keys.insert(key) {
                        return broken(here, "has the same key twice in one mapping");
                    }
                    match writer.next()? {
                        Some((value, here)) => writer.value(value, here),
                        None => Ok(()),
                    }
                })
            }
        }
    }

    /// Writes what is in a sequence or mapping, each by `entry`.
    fn entries(
        &mut self,
        open: char,
        close: char,
        entry: &mut dyn FnMut(&mut Self, Event<'a>, Place) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        self.source.json.push(open);
        self.depth += 1;
        let mut is_empty = true;
        while let Some((event, here)) = self.next()? {
            if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
                break;
            }
            if !is_empty {
                self.source.json.push(',');
            }
            is_empty = false;
            self.new_line();
            entry(self, event, here)?;
        }
        self.depth -= 1;
        if !is_empty {
            self.new_line();
        }
        self.source.json.push(close);
        Ok(())
    }

    fn new_line(&mut self) {
        self.source.json.push('\n');
        self.line += 1;
        self.line_start = self.source.json.len();
        let indent = 2 * self.depth;
        self.source.json.extend(std::iter::repeat_n(' ', indent));
    }

    /// Notes that what comes next in the JSON stands here in the YAML.
    fn mark(&mut self, here: Place) {
        let line = self.source.json.get(self.line_start..).unwrap_or_default();
        let in_json = (self.line + 1, line.chars().count() + 1);
        self.source.places.push((in_json, here));
    }
}

fn is_str(tag: &Tag) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == "str"
}

/// A scalar as JSON.
fn scalar(text: &str, is_text: bool) -> String {
    match text {
        _ if is_text => quoted(text),
        "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
        "true" | "True" | "TRUE" => "true".to_owned(),
        "false" | "False" | "FALSE" => "false".to_owned(),
        _ if serde_json::from_str(text).is_ok_and(|json: Value| json.is_number()) => {
            text.to_owned()
        }
        _ => quoted(text),
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
