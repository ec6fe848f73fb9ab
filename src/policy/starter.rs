//! What a policy's author starts from: a first policy, the JSON Schema, and the reference of the fields that is made from it.

use super::draft;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The policy that `policy init` writes: it warns. `docs/policy.md` says where each of its limits comes from.
pub const STARTER: &str = include_str!("init.json");

/// The JSON Schema (2020-12) of a policy. It leaves room for fields and words of other releases; `lint` is the stricter one.
pub const SCHEMA: &str = include_str!("schema.json");

/// The part of the schema that the reference is made of.
#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    required: Vec<String>,
    properties: BTreeMap<String, Property>,
    #[serde(rename = "$defs", default)]
    definitions: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Property {
    description: String,
}

/// Markdown that names every field, its place and its meaning.
///
/// # Errors
/// None that a user can cause: the schema is part of the program.
pub fn reference() -> Result<String, serde_json::Error> {
    let policy: Object = serde_json::from_str(SCHEMA)?;
    let definition = |name: &str| serde_json::from_value(policy.definitions.get(name).cloned().unwrap_or_default());
    let (limit, denied, help): (Object, Object, Object) = (definition("limit")?, definition("deniedVersion")?, definition("help")?);
    let mut out = String::from(REFERENCE);
    let mut list = |title: &str, names: &[&str], object: &Object| {
        let _ = write!(out, "\n## {title}\n\n");
        for name in names {
            let required = if object.required.iter().any(|required| required == name) { " (required)" } else { "" };
            let description = object.properties.get(*name).map_or("", |property| property.description.as_str());
            let _ = writeln!(out, "- `{name}`{required}: {description}");
        }
    };
    list("The policy", draft::POLICY, &policy);
    list("An entry of `limits`", draft::LIMIT, &limit);
    list("An entry of `deniedVersions`", draft::DENIED, &denied);
    list("`help`", draft::HELP, &help);
    Ok(out)
}

const REFERENCE: &str = "\
# The boot image skew policy

`policy.json` beside this page is a BootImageSkewPolicy. It says which boot images the nodes of a cluster may be installed from.

1. Edit it; every field is listed below.
2. `skewguard policy lint policy.json` finds what is wrong with it.
3. `skewguard check --policy policy.json --aleph FILE` tries it on a boot image.
4. `skewguard render machineconfig` makes the MachineConfig that delivers it to the nodes of a pool.
5. In mode `Warn` nothing is refused. Read what the nodes report, then set `Enforce`.

For every node one entry of `limits` is used, among those for its pool: the one for exactly its release x.y.z; else for its x.y; else for the
nearest lower x.y; else one without `release`. Where several are equally close, one that names the pool is used, then the first.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_describes_every_field() {
        let reference = reference().unwrap();
        for name in [draft::POLICY, draft::LIMIT, draft::DENIED, draft::HELP].into_iter().flatten() {
            let line = reference.lines().find(|line| line.starts_with(&format!("- `{name}`"))).unwrap();
            let (_, description) = line.split_once(": ").unwrap();
            assert!(description.len() > 10 || *name == "reason", "{line}");
        }
    }
}
