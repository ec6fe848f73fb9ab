//! Objects into structs, leniently (pure): a field of another type than in its API is left out and
//! named, and the rest is read.
//!
//! Texts are made printable and bounded here, where they enter; [`Raw`] ones stay as they are. An empty
//! text and null say nothing.

use crate::secrets::without_secrets;
use crate::text::{KEPT_MAX, bounded, printable};
use serde::de::value::StringDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};
use std::borrow::Cow;
use std::fmt::Display;
use std::slice::Iter;

/// The most fields of one object that are named.
const MOST: usize = 20;

/// A value whose texts and names stay as they are: what is decoded, or made printable later.
#[derive(Debug, Default, Clone, Deserialize)]
pub struct Raw<T>(pub T);

/// A message of somebody: without what may be secret in its URLs.
///
/// # Errors
/// It is no text.
pub fn message<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(message_if_any(deserializer)?.unwrap_or_default())
}

/// The same, where an empty one says nothing.
///
/// # Errors
/// It is no text.
pub fn message_if_any<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<Raw<String>>::deserialize(deserializer)?;
    Ok(text.map(|Raw(text)| printable(&without_secrets(&text))))
}

/// Its name, by which it is known.
const RAW: &str = "Raw";

/// An object, and its fields of another type, in words.
pub fn read<T: DeserializeOwned + Default>(object: &Value) -> (T, Vec<String>) {
    let mut rest = Cow::Borrowed(object);
    let mut words = Vec::new();
    while words.len() < MOST {
        let reader = Reader {
            value: &rest,
            is_raw: false,
        };
        // The path costs a text for each field.
        if let Ok(read) = T::deserialize(reader) {
            return (read, words);
        }
        let Err(fault) = serde_path_to_error::deserialize::<_, T>(reader) else {
            break;
        };
        let path = fault.path();
        if path.iter().len() == 0 {
            break;
        }
        let field = bounded(&path.to_string(), KEPT_MAX);
        words.push(format!("{field} is not {}", fault.inner()));
        let Some(field) = at(rest.to_mut(), path) else {
            break;
        };
        *field = Value::Null;
    }
    (T::default(), words)
}

/// The object alone.
pub fn known<T: DeserializeOwned + Default>(object: &Value) -> T {
    read(object).0
}

/// The value of a path, whose names are printable.
fn at<'v>(object: &'v mut Value, path: &Path) -> Option<&'v mut Value> {
    path.iter()
        .try_fold(object, |value, segment| match segment {
            Segment::Seq { index } => value.get_mut(*index),
            Segment::Map { key } => {
                let mut fields = value.as_object_mut()?.iter_mut();
                let field = fields.find(|(name, _)| *name == key || printable(name) == *key);
                field.map(|(_, value)| value)
            }
            _ => None,
        })
}

/// The type of a field in its API.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Wanted(&'static str);

impl serde::de::Error for Wanted {
    fn custom<T: Display>(_: T) -> Self {
        Self("understood")
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    value: &'a Value,
    is_raw: bool,
}

impl Reader<'_> {
    fn text(self, text: &str) -> String {
        if self.is_raw {
            text.to_owned()
        } else {
            printable(text)
        }
    }

    fn of(self, value: &Value) -> Reader<'_> {
        Reader { value, ..self }
    }

    fn number<'de, V: Visitor<'de>>(
        self,
        number: &serde_json::Number,
        visitor: V,
    ) -> Result<V::Value, Wanted> {
        let read: Result<V::Value, Wanted> = match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => visitor.visit_u64(number),
            (None, Some(number)) => visitor.visit_i64(number),
            (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
        };
        read.map_err(|_| Wanted("a number"))
    }
}

/// The value where it is of this type, else a fault.
macro_rules! typed {
    ($($method:ident: $is:ident, $wanted:literal;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wanted> {
            if !self.value.$is() {
                return Err(Wanted($wanted));
            }
            self.deserialize_any(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Wanted;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wanted> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => self.number(number, visitor),
            Value::String(text) => visitor.visit_string(self.text(text)),
            Value::Array(items) => visitor.visit_seq(Items {
                items: items.iter(),
                around: self,
            }),
            Value::Object(fields) => visitor.visit_map(Fields {
                fields: fields.iter(),
                value: &Value::Null,
                around: self,
            }),
        }
    }

    typed! {
        deserialize_bool: is_boolean, "true or false";
        deserialize_i8: is_number, "a number";
        deserialize_i16: is_number, "a number";
        deserialize_i32: is_number, "a number";
        deserialize_i64: is_number, "a number";
        deserialize_u8: is_number, "a number";
        deserialize_u16: is_number, "a number";
        deserialize_u32: is_number, "a number";
        deserialize_u64: is_number, "a number";
        deserialize_f32: is_number, "a number";
        deserialize_f64: is_number, "a number";
        deserialize_char: is_string, "a text";
        deserialize_str: is_string, "a text";
        deserialize_string: is_string, "a text";
        deserialize_seq: is_array, "a list";
        deserialize_map: is_object, "an object";
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wanted> {
        self.deserialize_map(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wanted> {
        match self.value {
            Value::Null => visitor.visit_none(),
            Value::String(text) if text.is_empty() => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wanted> {
        visitor.visit_newtype_struct(Reader {
            is_raw: self.is_raw || name == RAW,
            ..self
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wanted> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

struct Items<'a> {
    items: Iter<'a, Value>,
    around: Reader<'a>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Wanted;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wanted> {
        let item = self.items.find(|value| !value.is_null());
        let item = item.map(|value| seed.deserialize(self.around.of(value)));
        item.transpose()
    }
}

struct Fields<'a> {
    fields: serde_json::map::Iter<'a>,
    value: &'a Value,
    around: Reader<'a>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Wanted;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wanted> {
        let field = self.fields.find(|(_, value)| !value.is_null());
        let name = field.map(|(name, value)| {
            self.value = value;
            seed.deserialize(StringDeserializer::new(self.around.text(name)))
        });
        name.transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Wanted> {
        seed.deserialize(self.around.of(self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Sample {
        spec: Spec,
        names: Vec<String>,
        labels: BTreeMap<String, String>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Spec {
        replicas: Option<i64>,
        name: Option<String>,
        raw: Raw<String>,
        is_on: bool,
    }

    #[test]
    fn a_field_of_another_type_is_named_and_the_rest_is_read() {
        let (sample, words) = read::<Sample>(&json!({
            "spec": { "replicas": "two", "name": "a\nb", "raw": "a\nb", "is_on": true, "other": 1 },
            "names": ["a", 2, null, "b"],
            "labels": { "x": "y", "z": [], "\n": 1.5 },
        }));
        assert_eq!(
            words,
            [
                "labels.\\n is not a text",
                "labels.z is not a text",
                "names[1] is not a text",
                "spec.replicas is not a number"
            ]
        );
        assert_eq!(sample.spec.replicas, None);
        assert_eq!(sample.spec.name.as_deref(), Some("a\\nb"));
        assert_eq!((&*sample.spec.raw.0, sample.spec.is_on), ("a\nb", true));
        assert_eq!(sample.names, ["a", "b"]);
        assert_eq!(sample.labels.len(), 1);
    }

    #[test]
    fn null_and_an_empty_text_say_nothing() {
        let (sample, words) = read::<Sample>(&json!({
            "spec": { "name": "", "replicas": null }, "names": null, "labels": null,
        }));
        assert!(words.is_empty(), "{words:?}");
        assert_eq!(sample.spec.name, None);
        for object in [json!([]), json!("x"), json!(null)] {
            let (sample, words) = read::<Sample>(&object);
            assert!(sample.names.is_empty() && words.is_empty());
        }
    }
}
