//! What a policy's author starts from: a first policy, the JSON Schema, and the reference of fields that is made from the schema.

use super::fields;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The policy that `policy init` writes. Its mode is `Warn`. `docs/policy.md` says where each of its limits comes from.
pub const STARTER: &str = include_str!("init.json");

/// The JSON Schema (2020-12) of a policy. It allows fields and words of other releases; `lint` is stricter.
pub const SCHEMA: &str = include_str!("schema.json");

/// The beginning of the reference.
const REFERENCE: &str = include_str!("reference.md");

/// The part of the schema that the reference is made of.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    required: Vec<String>,
    properties: BTreeMap<String, Property>,
    #[serde(rename = "$defs")]
    definitions: BTreeMap<String, Object>,
}

#[derive(Deserialize)]
struct Property {
    description: String,
}

/// Markdown that describes every field. The schema is part of the program, so the error cannot happen.
pub fn reference() -> Result<String, serde_json::Error> {
    let policy: Object = serde_json::from_str(SCHEMA)?;
    let mut out = String::from(REFERENCE);
    for (title, names, definition) in [
        ("The policy", fields::POLICY, None),
        ("An entry of `limits`", fields::LIMIT, Some("limit")),
        ("An entry of `deniedVersions`", fields::DENIED, Some("deniedVersion")),
        ("`help`", fields::HELP, Some("help")),
    ] {
        let object = definition.and_then(|name| policy.definitions.get(name)).unwrap_or(&policy);
        let _ = write!(out, "\n## {title}\n\n");
        for name in names {
            let required = if object.required.iter().any(|required| required == name) { " (required)" } else { "" };
            let description = object.properties.get(*name).map_or("", |property| property.description.as_str());
            let _ = writeln!(out, "- `{name}`{required}: {description}");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_reference_describes_every_field() {
        let reference = reference().unwrap();
        for name in [fields::POLICY, fields::LIMIT, fields::DENIED, fields::HELP].into_iter().flatten() {
            let line = reference.lines().find(|line| line.starts_with(&format!("- `{name}`"))).unwrap();
            let (_, description) = line.split_once(": ").unwrap();
            assert!(description.len() > 10 || *name == "reason", "{line}");
        }
    }

    #[test]
    fn the_schema_has_the_fields_that_are_read() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        for (pointer, names) in
            [("", fields::POLICY), ("/$defs/limit", fields::LIMIT), ("/$defs/help", fields::HELP), ("/$defs/deniedVersion", fields::DENIED)]
        {
            let properties = schema.pointer(&format!("{pointer}/properties")).unwrap().as_object().unwrap();
            let properties: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            assert_eq!(properties, names.iter().copied().collect(), "schema {pointer}");
        }
    }
}
