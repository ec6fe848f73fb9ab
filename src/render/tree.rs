//! An ordered document that prints as JSON and as YAML (pure).
//!
//! Ignition wants JSON, people read MachineConfigs as YAML, and the size of an object is that of its JSON: one tree gives all three. The
//! YAML is the small part that these documents need: block mappings and lists, literal blocks for unit files, JSON strings for the rest.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A value of a document; mappings keep their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A mapping.
    Map(Vec<(&'static str, Node)>),
    /// A list.
    List(Vec<Node>),
    /// A string.
    Text(String),
    /// A number.
    Int(u64),
    /// A truth value.
    Bool(bool),
}

impl Node {
    /// A string.
    pub fn text(text: impl Into<String>) -> Self {
        Node::Text(text.into())
    }

    /// The document as YAML, with a line end.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        self.block(0, &mut out);
        out
    }

    /// The document as compact JSON, as an API server keeps it.
    pub fn to_json(&self) -> String {
        // A tree of strings, numbers and truth values always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Writes this value as lines indented by `indent`.
    fn block(&self, indent: usize, out: &mut String) {
        match self {
            Node::Map(entries) => {
                for (key, value) in entries {
                    spaces(indent, out);
                    out.push_str(key);
                    out.push(':');
                    value.after_key(indent, out);
                }
            }
            Node::List(items) => {
                for item in items {
                    spaces(indent, out);
                    out.push('-');
                    // The first line of the item stands beside its dash.
                    let mut lines = String::new();
                    item.block(indent + 2, &mut lines);
                    out.push(' ');
                    out.push_str(lines.trim_start());
                }
            }
            scalar => {
                spaces(indent, out);
                out.push_str(&scalar.inline());
                out.push('\n');
            }
        }
    }

    fn after_key(&self, indent: usize, out: &mut String) {
        match self {
            Node::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
            Node::List(items) if items.is_empty() => out.push_str(" []\n"),
            Node::Map(_) | Node::List(_) => {
                out.push('\n');
                self.block(indent + 2, out);
            }
            Node::Text(text) if is_block(text) => {
                out.push_str(" |\n");
                for line in text.lines() {
                    if !line.is_empty() {
                        spaces(indent + 2, out);
                        out.push_str(line);
                    }
                    out.push('\n');
                }
            }
            scalar => {
                out.push(' ');
                out.push_str(&scalar.inline());
                out.push('\n');
            }
        }
    }

    fn inline(&self) -> String {
        match self {
            Node::Text(text) if is_plain(text) => text.clone(),
            other => other.to_json(),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
            Node::List(items) => serializer.collect_seq(items),
            Node::Text(text) => serializer.serialize_str(text),
            Node::Int(number) => serializer.serialize_u64(*number),
            Node::Bool(truth) => serializer.serialize_bool(*truth),
        }
    }
}

fn spaces(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}

/// Whether a literal block gives exactly this text back: printable lines, one line end at the end, and a first line that shows the indent.
fn is_block(text: &str) -> bool {
    text.strip_suffix('\n').is_some_and(|body| {
        body.contains('\n')
            && !body.ends_with('\n')
            && !body.starts_with([' ', '\n'])
            && body.chars().all(|c| c == '\n' || (c == ' ' || !c.is_whitespace()) && !c.is_control())
    })
}

/// Whether YAML reads this text unquoted as the same string, whatever its version.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'))
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Node {
        Node::Map(vec![
            ("kind", Node::text("MachineConfig")),
            ("version", Node::text("3.0.0")),
            ("word", Node::text("No")),
            ("empty", Node::Map(vec![])),
            (
                "files",
                Node::List(vec![Node::Map(vec![
                    ("path", Node::text("/etc/skewguard/policy.json")),
                    ("mode", Node::Int(420)),
                    ("contents", Node::Map(vec![("source", Node::text("data:;base64,e30="))])),
                ])]),
            ),
            ("unit", Node::text("[Unit]\nDescription=x: y # z\n\n[Service]\n")),
            ("tabbed", Node::text("a\n\tb\n")),
        ])
    }

    #[test]
    fn yaml_is_what_a_person_expects() {
        assert_eq!(
            sample().to_yaml(),
            r#"kind: MachineConfig
version: "3.0.0"
word: "No"
empty: {}
files:
  - path: /etc/skewguard/policy.json
    mode: 420
    contents:
      source: "data:;base64,e30="
unit: |
  [Unit]
  Description=x: y # z

  [Service]
tabbed: "a\n\tb\n"
"#
        );
    }

    #[test]
    fn json_keeps_the_order() {
        let json = sample().to_json();
        assert!(json.starts_with(r#"{"kind":"MachineConfig","version":"3.0.0","word":"No","empty":{},"files":[{"path":"#), "{json}");
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    }
}
