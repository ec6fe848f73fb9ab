//! Texts and objects that stand beside the code, with holes (pure).

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Display;

/// The holes of a text by their names, and what fills them.
pub(crate) type Holes<'a> = [(&'a str, &'a dyn Display)];

/// A text with its holes filled: `{name}`. What fills one is not read again, and braces around
/// anything but a hole's name stay.
pub(crate) fn fill(text: &str, holes: &Holes<'_>) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let hole = part.split_once('}').and_then(|(name, rest)| {
            let (_, value) = holes.iter().find(|(hole, _)| *hole == name)?;
            Some(format!("{value}{rest}"))
        });
        filled += &hole.unwrap_or_else(|| format!("{{{part}"));
    }
    filled
}

/// An object, in the order in which it is written. Its texts have the holes, so that nothing that
/// fills them needs an escape.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum Object {
    Text(String),
    List(Vec<Object>),
    Fields(IndexMap<String, Object>),
    Other(Value),
}

impl Object {
    /// An object, JSON or YAML, whose holes are filled.
    pub(crate) fn new(text: &str, holes: &Holes<'_>) -> Self {
        // What stands beside the code can be read.
        let mut object = serde_saphyr::from_str(text).unwrap_or(Self::Other(Value::Null));
        object.fill(holes);
        object
    }

    fn fill(&mut self, holes: &Holes<'_>) {
        match self {
            Self::Text(text) => *text = fill(text, holes),
            Self::List(items) => items.iter_mut().for_each(|item| item.fill(holes)),
            Self::Fields(fields) => fields.values_mut().for_each(|field| field.fill(holes)),
            Self::Other(_) => {}
        }
    }

    /// The part at a path of field names and of items' numbers, with a slash between two.
    pub(crate) fn part(&mut self, path: &str) -> Option<&mut Self> {
        path.split('/').try_fold(self, |whole, name| match whole {
            Self::Fields(fields) => fields.get_mut(name),
            Self::List(items) => items.get_mut(name.parse::<usize>().ok()?),
            Self::Text(_) | Self::Other(_) => None,
        })
    }

    /// Puts a value in the place of what stands at a path.
    pub(crate) fn set(&mut self, path: &str, value: &impl Serialize) {
        let json = serde_json::to_string(value);
        let value = json.and_then(|json| serde_json::from_str(&json));
        if let (Some(part), Ok(value)) = (self.part(path), value) {
            *part = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_once_and_other_braces_stay() {
        let text = "{a} of { \"b\": [{b}] }, {{b}}, {c}{";
        assert_eq!(
            fill(text, &[("a", &"{b}"), ("b", &2)]),
            "{b} of { \"b\": [2] }, {2}, {c}{"
        );
    }

    #[test]
    fn what_fills_an_object_changes_nothing_but_its_texts() {
        let mut object = Object::new(
            "b: ['{a}: 1', true, 420, '7', {c: x}]\na: {}\n",
            &[("a", &"\"}\n- x: [")],
        );
        object.set("b/4/c", &[("d", 1)]);
        object.set("b/9/c", &"nowhere");
        assert_eq!(
            serde_json::to_string(&object).unwrap(),
            r#"{"b":["\"}\n- x: [: 1",true,420,"7",{"c":[["d",1]]}],"a":{}}"#
        );
    }
}
