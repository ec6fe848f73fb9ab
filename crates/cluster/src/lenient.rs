//! Objects into structs, leniently (pure): a field of another type than in its API is left out and
//! named, and the rest is read.
//!
//! Texts are made printable and bounded here, where they enter; [`Raw`] ones stay as they are. An empty
//! text and null say nothing.

use crate::secrets::without_secrets;
use crate::text::printable;
use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Error, Value};
use std::cell::RefCell;
use std::fmt;
use std::iter::Enumerate;
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
    let mut reading = Reading::default();
    let mut words = Vec::new();
    while words.len() < MOST {
        let reader = Reader {
            value: object,
            path: &Path::Root,
            reading: &reading,
            is_raw: false,
        };
        if let Ok(read) = T::deserialize(reader) {
            return (read, words);
        }
        let Some((path, wanted)) = reading.fault.take() else {
            break;
        };
        if path.is_empty() {
            break;
        }
        words.push(format!("{} is not {wanted}", printable(&path)));
        reading.left_out.push(path);
    }
    (T::default(), words)
}

/// The object alone.
pub fn known<T: DeserializeOwned + Default>(object: &Value) -> T {
    read(object).0
}

/// The fields that are left out, and the next one: its path, and its type in the API.
#[derive(Default)]
struct Reading {
    left_out: Vec<String>,
    fault: RefCell<Option<(String, &'static str)>>,
}

/// The place of a value in the object.
enum Path<'f> {
    Root,
    Field(&'f Path<'f>, &'f str),
    Item(&'f Path<'f>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(around, name) => write!(f, "{around}.{name}"),
            Self::Item(around, place) => write!(f, "{around}[{place}]"),
        }
    }
}

#[derive(Clone, Copy)]
struct Reader<'a, 'f> {
    value: &'a Value,
    path: &'f Path<'f>,
    reading: &'f Reading,
    is_raw: bool,
}

impl Reader<'_, '_> {
    fn wrong<T>(self, wanted: &'static str) -> Result<T, Error> {
        let mut fault = self.reading.fault.borrow_mut();
        fault.get_or_insert_with(|| (self.path.to_string(), wanted));
        Err(Error::custom(wanted))
    }

    fn text(self, text: &str) -> String {
        if self.is_raw {
            text.to_owned()
        } else {
            printable(text)
        }
    }

    fn is_left_out(self) -> bool {
        let all = &self.reading.left_out;
        self.value.is_null() || !all.is_empty() && all.contains(&self.path.to_string())
    }

    fn number<'de, V: Visitor<'de>>(
        self,
        number: &serde_json::Number,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => visitor.visit_u64(number),
            (None, Some(number)) => visitor.visit_i64(number),
            (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
        }
    }
}

/// The value where it is of this type, else a fault.
macro_rules! typed {
    ($($method:ident: $is:ident, $wanted:literal;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            if !self.value.$is() {
                return self.wrong($wanted);
            }
            self.deserialize_any(visitor).or_else(|_| self.wrong($wanted))
        })*
    };
}

impl<'de> Deserializer<'de> for Reader<'_, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => self.number(number, visitor),
            Value::String(text) => visitor.visit_string(self.text(text)),
            Value::Array(items) => visitor.visit_seq(Items {
                items: items.iter().enumerate(),
                around: self,
            }),
            Value::Object(fields) => visitor.visit_map(Fields {
                fields: fields.iter(),
                field: None,
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
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
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
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(Reader {
            is_raw: self.is_raw || name == RAW,
            ..self
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

struct Items<'a, 'f> {
    items: Enumerate<Iter<'a, Value>>,
    around: Reader<'a, 'f>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        for (place, value) in self.items.by_ref() {
            let path = Path::Item(self.around.path, place);
            let item = Reader {
                value,
                path: &path,
                ..self.around
            };
            if !item.is_left_out() {
                let read = seed.deserialize(item);
                return read.map(Some).or_else(|_| item.wrong("understood"));
            }
        }
        Ok(None)
    }
}

struct Fields<'a, 'f> {
    fields: serde_json::map::Iter<'a>,
    field: Option<(&'a str, &'a Value)>,
    around: Reader<'a, 'f>,
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        for (name, value) in self.fields.by_ref() {
            let path = Path::Field(self.around.path, name);
            let field = Reader {
                value,
                path: &path,
                ..self.around
            };
            if !field.is_left_out() {
                self.field = Some((name, value));
                let name = self.around.text(name);
                return seed.deserialize(StringDeserializer::new(name)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (name, value) = self.field.take().unwrap_or(("", &Value::Null));
        let path = Path::Field(self.around.path, name);
        let field = Reader {
            value,
            path: &path,
            ..self.around
        };
        let read = seed.deserialize(field);
        read.or_else(|_| field.wrong("understood"))
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
            "labels": { "x": "y", "z": [] },
        }));
        assert_eq!(
            words,
            [
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
            let (sample, _) = read::<Sample>(&object);
            assert!(sample.names.is_empty());
        }
    }
}
