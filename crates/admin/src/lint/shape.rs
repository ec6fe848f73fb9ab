//! The JSON Schema of a policy: the one list of its fields, from which lint has their names and
//! types and `policy init` their description (pure).

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::LazyLock;

/// The JSON Schema (2020-12) of a policy. It allows fields and words of other releases; `lint` is
/// stricter.
pub const SCHEMA: &str = include_str!("schema.json");

/// The description of the fields that `policy init` writes beside the policy.
pub static REFERENCE: LazyLock<String> = LazyLock::new(|| {
    let mut text = include_str!("reference.md").to_owned();
    for object in Shape::objects() {
        text += &format!("\n## {}\n\n", object.title);
        for (name, field) in &object.properties {
            let is_required = object.required.contains(name);
            let required = if is_required { " (required)" } else { "" };
            text += &format!("- `{name}`{required}: {}\n", field.description);
        }
    }
    text
});

static POLICY: LazyLock<Shape> = LazyLock::new(|| serde_json::from_str(SCHEMA).unwrap_or_default());

/// Schema of a value.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Shape {
    title: &'static str,
    description: String,
    #[serde(rename = "type")]
    pub(super) json: JsonType,
    pub(super) required: Vec<&'static str>,
    pub(super) properties: IndexMap<&'static str, Shape>,
    pub(super) additional_properties: Option<Box<Shape>>,
    pub(super) items: Option<Box<Shape>>,
    pub(super) min_items: usize,
    pub(super) min_properties: usize,
    minimum: Option<u64>,
    maximum: Option<u64>,
    #[serde(rename = "enum")]
    words: Vec<&'static str>,
    any_of: Vec<Shape>,
    pub(super) default: Option<&'static RawValue>,
    examples: Vec<&'static RawValue>,
    #[serde(rename = "$ref")]
    reference: Option<&'static str>,
    #[serde(rename = "$defs")]
    definitions: IndexMap<&'static str, Shape>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum JsonType {
    #[default]
    String,
    Integer,
    Boolean,
    Array,
    Object,
}

impl Shape {
    pub(super) fn policy() -> &'static Self {
        &POLICY
    }

    /// The policy, and the objects in it.
    pub(super) fn objects() -> impl Iterator<Item = &'static Self> {
        let parts = POLICY.definitions.values();
        [&*POLICY]
            .into_iter()
            .chain(parts.filter(|part| part.json == JsonType::Object))
    }

    /// The definition of this name.
    pub(super) fn defined(name: &str) -> &'static Self {
        POLICY.definitions.get(name).unwrap_or(&POLICY)
    }

    /// Its name within a sentence.
    pub(super) fn place(&self) -> String {
        let title = self
            .title
            .replacen("An ", "an ", 1)
            .replacen("The ", "the ", 1);
        title.replace('`', "")
    }

    /// The definition that it refers to, by its name.
    pub(super) fn definition(&self) -> Option<&'static str> {
        self.reference?.strip_prefix("#/$defs/")
    }

    /// Target of its reference, or itself.
    pub(super) fn resolved(&'static self) -> &'static Self {
        self.definition()
            .and_then(|name| POLICY.definitions.get(name))
            .unwrap_or(self)
    }

    /// The words that this release knows; any other is one of another release.
    pub(super) fn known_words(&self) -> &[&'static str] {
        let lists = self.any_of.iter().map(|choice| choice.words.as_slice());
        lists.max_by_key(|words| words.len()).unwrap_or_default()
    }

    /// Its bounds, where it has both.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        self.minimum.zip(self.maximum)
    }

    /// A value that it may have, as JSON.
    pub(super) fn example(&'static self) -> Option<String> {
        let mut examples = self.examples.iter().chain(&self.resolved().examples);
        let list = || Some(format!("[{}]", self.items.as_ref()?.example()?));
        examples
            .next()
            .map(|json| json.get().to_owned())
            .or_else(list)
    }

    /// Its type, in words.
    pub(super) fn type_words(&'static self) -> String {
        let shape = self.resolved();
        let entries = |entries: &'static Self| match entries.resolved().json {
            JsonType::String => "strings",
            JsonType::Integer => "whole numbers",
            _ => "objects",
        };
        match (shape.json, shape.range()) {
            (JsonType::String, _) => "a string".to_owned(),
            (JsonType::Integer, Some((low, high))) => {
                format!("a whole number from {low} to {high}")
            }
            (JsonType::Integer, None) => "a whole number".to_owned(),
            (JsonType::Boolean, _) => "true or false".to_owned(),
            (JsonType::Array, _) => {
                let of = shape.items.as_deref().map_or("values", entries);
                format!("an array of {of}")
            }
            (JsonType::Object, _) => match shape.additional_properties.as_deref() {
                Some(values) => format!("an object of {}", entries(values)),
                None => "an object".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;
    use crate::policy::fields;
    use crate::version::OsFamily;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// Fields that core reads.
    const FIELDS: [(&str, &[&str]); 7] = [
        ("", fields::POLICY),
        ("/$defs/limit", fields::LIMIT),
        ("/$defs/deniedVersion", fields::DENIED),
        ("/$defs/knownIssue", fields::KNOWN_ISSUE),
        ("/$defs/images", fields::IMAGES),
        ("/$defs/when", fields::WHEN),
        ("/$defs/help", fields::HELP),
    ];

    #[test]
    fn the_schema_has_the_fields_that_are_read() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        for (pointer, names) in FIELDS {
            let object = schema.pointer(pointer).unwrap();
            let properties = object["properties"].as_object().unwrap();
            let properties: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            assert_eq!(properties, names.iter().copied().collect(), "{pointer}");
        }
    }

    #[test]
    fn the_schema_has_the_names_of_all_platforms_and_architectures() {
        let when = &Shape::defined("when").properties;
        let words = |name: &str| when[name].items.as_ref().unwrap().known_words();
        for platform in Platform::ALL {
            let id = platform.id();
            assert!(words("platforms").contains(&id), "{id}");
        }
        for word in words("platforms") {
            assert!(Platform::named(word).is_some() || *word == "qemu", "{word}");
        }
        for word in words("osFamilies") {
            assert!(OsFamily::parse(word).is_some(), "{word}");
        }
        assert_eq!(words("osFamilies").len(), OsFamily::ALL.len());
    }

    #[test]
    fn the_reference_describes_every_field_in_the_words_of_the_schema() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let mut sections = REFERENCE.split("\n## ").skip(1);
        for (pointer, names) in FIELDS {
            let object = schema.pointer(pointer).unwrap();
            let section = sections.next().unwrap();
            let mut lines = section.lines().skip(2);
            for name in names {
                let required = object["required"].as_array();
                let required = required.is_some_and(|all| all.contains(&(*name).into()));
                let required = if required { " (required)" } else { "" };
                let description = object["properties"][name]["description"].as_str().unwrap();
                assert!(description.len() > 10, "{name}: {description}");
                let want = format!("- `{name}`{required}: {description}");
                assert_eq!(lines.next(), Some(&*want));
            }
            assert_eq!(lines.next(), None, "{section}");
        }
        assert_eq!(sections.next(), None);
    }
}
