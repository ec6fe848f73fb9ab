//! JSON Schemas of what `audit` and `why` print, made of the types that are serialised: their doc comments
//! are the descriptions (pure). What is a verdict's has the agent's schema, which is written by hand.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// The schema of a verdict.
pub(crate) const VERDICT: &str = include_str!("cli/schema/verdict.json");

/// The schema of a type as it is written.
pub(crate) fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(open));
    settings.into_generator().into_root_schema_for::<T>()
}

/// Takes what is Rust's away, and leaves room for words of later releases. Nothing is null: what is unknown
/// is absent.
fn open(schema: &mut Schema) {
    let fields = schema.ensure_object();
    for name in ["format", "default", "readOnly"] {
        fields.remove(name);
    }
    if let Some(Value::String(description)) = fields.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let Some(only) = types.pop() {
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(either)) = fields.remove("anyOf") {
        let is_some = |schema: &Value| schema["type"] != "null";
        let some = either.into_iter().find(is_some);
        fields.extend(
            some.and_then(|some| some.as_object().cloned())
                .unwrap_or_default(),
        );
    }
    let variants = match (fields.remove("oneOf"), fields.remove("enum")) {
        (Some(Value::Array(variants)), _) => variants,
        (None, Some(words)) => vec![Value::Object(Map::from_iter([("enum".to_owned(), words)]))],
        _ => return,
    };
    let mut description = text(fields.get("description")) + " Later releases may add words.";
    let mut words = Vec::new();
    for variant in &variants {
        let (word, about) = (text(variant.get("const")), text(variant.get("description")));
        if !about.is_empty() {
            description += &format!("\n{word}: {}", about.replace('\n', " "));
        }
        match variant.get("enum") {
            Some(Value::Array(all)) => words.extend(all.iter().cloned()),
            _ => words.push(Value::String(word)),
        }
    }
    fields.insert("type".to_owned(), Value::String("string".to_owned()));
    fields.insert("description".to_owned(), Value::String(description));
    fields.insert("examples".to_owned(), Value::Array(words));
}

fn text(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// A part of a verdict's schema.
fn of_verdict(path: &str) -> Schema {
    let verdict: Value = serde_json::from_str(VERDICT).unwrap_or_default();
    let part = verdict.pointer(path).cloned().unwrap_or_default();
    part.try_into().unwrap_or_default()
}

fn shared(generator: &mut SchemaGenerator, name: &str) -> Schema {
    let definition = of_verdict(&format!("/$defs/{name}")).to_value();
    let all = generator.definitions_mut();
    all.insert(name.to_owned(), definition);
    Schema::new_ref(format!("#/$defs/{name}"))
}

pub(crate) fn image(generator: &mut SchemaGenerator) -> Schema {
    shared(generator, "image")
}

pub(crate) fn policy(generator: &mut SchemaGenerator) -> Schema {
    shared(generator, "policy")
}

pub(crate) fn outcome(_: &mut SchemaGenerator) -> Schema {
    of_verdict("/properties/verdict")
}

pub(crate) fn action(_: &mut SchemaGenerator) -> Schema {
    of_verdict("/properties/action")
}

pub(crate) fn reason(_: &mut SchemaGenerator) -> Schema {
    of_verdict("/properties/reason")
}
