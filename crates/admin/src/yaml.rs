//! YAML of policies (pure). Aliases are refused: no policy has them.
//!
//! A policy becomes the JSON that nodes get. That is written from the parser's events, one after another: numbers stay as they are
//! written (4.20 must not become 4.2), a key that is given twice is noticed, and each part is known
//! by its line in the YAML.

use crate::text::printable;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
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
    let start = |what: String| Broken {
        place: (1, 1),
        what,
    };
    let is_mark = |b: &u8| b.is_ascii_punctuation() && !b"+/=._-".contains(b);
    if text.bytes().filter(|b| is_mark(b)).count() > MAX_MARKS {
        return Err(start(EXCESS.to_owned()));
    }
    let mut writer = Writer::default();
    let mut nodes = 0_usize;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Broken {
            place: place(error.marker()),
            what: format!("is not YAML: {}", printable(error.info())),
        })?;
        nodes += 1;
        let here = place(&span.start);
        let excess = nodes > MAX_NODES || writer.open.len() > MAX_DEPTH;
        let taken = if excess {
            Err(EXCESS)
        } else {
            writer.take(event, here)
        };
        taken.map_err(|what| Broken {
            place: here,
            what: what.to_owned(),
        })?;
    }
    if writer.source.json.is_empty() {
        return Err(start("has no policy in it".to_owned()));
    }
    writer.source.json.push('\n');
    Ok(writer.source)
}

fn place(marker: &Marker) -> Place {
    (marker.line().max(1), marker.col() + 1)
}

/// A sequence or mapping that is not complete yet.
enum Open {
    Sequence {
        is_empty: bool,
    },
    Mapping {
        keys: BTreeSet<String>,
        /// A key was written, and its value comes next.
        has_key: bool,
    },
}

#[derive(Default)]
struct Writer {
    source: Source,
    open: Vec<Open>,
    documents: usize,
    /// Place of the JSON's last line: its number less one, and its beginning in bytes.
    line: usize,
    line_start: usize,
}

impl Writer {
    fn take(&mut self, event: Event<'_>, here: Place) -> Result<(), &'static str> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("has a second YAML document from here on");
                }
                Ok(())
            }
            Event::Alias(_) => Err("has a YAML alias, which is not read"),
            Event::SequenceStart(_, tag) => {
                refuse_tag(tag.as_deref())?;
                self.begin('[', Open::Sequence { is_empty: true }, here)
            }
            Event::MappingStart(_, tag) => {
                refuse_tag(tag.as_deref())?;
                let keys = BTreeSet::new();
                let mapping = Open::Mapping {
                    keys,
                    has_key: false,
                };
                self.begin('{', mapping, here)
            }
            Event::Scalar(text, style, _, tag) => {
                let is_text = tag.as_deref().is_some_and(is_str);
                if !is_text {
                    refuse_tag(tag.as_deref())?;
                }
                self.scalar(&text, style != ScalarStyle::Plain || is_text, here)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let (close, is_empty) = match self.open.pop() {
                    Some(Open::Mapping { keys, .. }) => ('}', keys.is_empty()),
                    Some(Open::Sequence { is_empty }) => (']', is_empty),
                    None => return Ok(()),
                };
                if !is_empty {
                    self.new_line();
                }
                self.source.json.push(close);
                Ok(())
            }
        }
    }

    fn scalar(&mut self, text: &str, is_text: bool, here: Place) -> Result<(), &'static str> {
        if let Some(Open::Mapping {
            keys,
            has_key: has_key @ false,
        }) = self.open.last_mut()
        {
            *has_key = true;
            let is_first = keys.is_empty();
            if !keys.insert(text.to_owned()) {
                return Err("has the same key twice in one mapping");
            }
            if !is_first {
                self.source.json.push(',');
            }
            self.new_line();
            self.mark(here);
            self.source.json.push_str(&quoted(text));
            self.source.json.push_str(": ");
            return Ok(());
        }
        self.before_value(here)?;
        let json = match text {
            _ if is_text => quoted(text),
            "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
            "true" | "True" | "TRUE" => "true".to_owned(),
            "false" | "False" | "FALSE" => "false".to_owned(),
            _ if serde_json::from_str(text).is_ok_and(|json: Value| json.is_number()) => {
                text.to_owned()
            }
            _ => quoted(text),
        };
        self.source.json.push_str(&json);
        Ok(())
    }

    fn begin(&mut self, bracket: char, open: Open, here: Place) -> Result<(), &'static str> {
        self.before_value(here)?;
        self.source.json.push(bracket);
        self.open.push(open);
        Ok(())
    }

    /// Writes the sign between a value and the one before it.
    fn before_value(&mut self, here: Place) -> Result<(), &'static str> {
        match self.open.last_mut() {
            Some(Open::Mapping { has_key, .. }) if *has_key => *has_key = false,
            Some(Open::Mapping { .. }) => return Err("has a key that is not text"),
            Some(Open::Sequence { is_empty }) => {
                if !*is_empty {
                    self.source.json.push(',');
                }
                *is_empty = false;
                self.new_line();
            }
            None => {}
        }
        self.mark(here);
        Ok(())
    }

    fn new_line(&mut self) {
        self.source.json.push('\n');
        self.line += 1;
        self.line_start = self.source.json.len();
        let indent = 2 * self.open.len();
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

fn refuse_tag(tag: Option<&Tag>) -> Result<(), &'static str> {
    match tag {
        Some(_) => Err("has a YAML tag, which is not read"),
        None => Ok(()),
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
