//! What a policy's author starts from.

/// The policy that `policy init` writes. Its mode is `Warn`. `docs/policy.md` says where each of its limits comes from.
pub const STARTER: &str = include_str!("init.json");

/// The JSON Schema (2020-12) of a policy. It allows fields and words of other releases; `lint` is stricter.
pub const SCHEMA: &str = include_str!("schema.json");

/// The description of the fields that `policy init` writes beside the policy. It says of each field what the schema says.
pub const REFERENCE: &str = include_str!("reference.md");

#[cfg(test)]
mod tests {
    use super::super::fields;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_reference_describes_every_field_as_the_schema_does() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let mut described = String::new();
        for (title, names, pointer) in [
            ("The policy", fields::POLICY, ""),
            ("An entry of `limits`", fields::LIMIT, "/$defs/limit"),
            ("An entry of `deniedVersions`", fields::DENIED, "/$defs/deniedVersion"),
            ("`help`", fields::HELP, "/$defs/help"),
        ] {
            let object = schema.pointer(pointer).unwrap();
            described += &format!("\n## {title}\n\n");
            for name in names {
                let required = object["required"].as_array().is_some_and(|required| required.contains(&(*name).into()));
                let required = if required { " (required)" } else { "" };
                let description = object["properties"][name]["description"].as_str().unwrap();
                assert!(description.len() > 10 || *name == "reason", "{name}: {description}");
                described += &format!("- `{name}`{required}: {description}\n");
            }
        }
        assert!(REFERENCE.ends_with(&described), "reference.md has to end with:\n{described}");
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
