//! Objects into structs, leniently (pure): a field of another type than in its API is left out and
//! named, and the rest is read.
//!
//! A field of a struct stands in the object under its own name in camel case, or where its `rename` says:
//! by a path from there, or the first of several that says something (`status.errorReason|status.failureReason`;
//! a `|` at the end: or nothing, where something on the way is no object). `.` is the object itself, and a dot
//! before a path only tells two fields of one place apart. What is not there is what its type is without it:
//! empty, zero, false, or none.
//!
//! Texts lose their secrets and are made printable and bounded here, where they enter; [`Raw`] ones stay as they are. An empty
//! text and null say nothing.

use crate::secrets::without_secrets;
use crate::text::{KEPT_MAX, bounded, printable, printable_up_to};
use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt::Display;
use std::iter::Enumerate;
use std::slice::Iter;

/// The most fields of one object that are named.
const MOST: usize = 20;

/// A value whose texts and names stay as they are: what is decoded, or made printable later.
#[derive(Debug, Default, Clone, Deserialize)]
pub struct Raw<T>(pub T);

/// Its name, by which it is known.
const RAW: &str = "Raw";

/// A message of somebody: without what may be secret.
///
/// # Errors
/// It is no text.
pub fn message<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(message_if_any(deserializer)?.unwrap_or_default())
}

/// The longest message that is kept, in characters: a cloud's cause comes behind its request.
const MESSAGE_MAX: usize = 2048;

/// The same, where an empty one says nothing.
///
/// # Errors
/// It is no text.
pub fn message_if_any<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<Raw<String>>::deserialize(deserializer)?;
    Ok(text.map(|Raw(text)| printable_up_to(&without_secrets(&text), MESSAGE_MAX)))
}

/// Tells whether a field says something, whatever it is.
///
/// # Errors
/// There is none.
pub fn is_there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(deserializer)?.is_some())
}

/// An object, and its fields of another type, in words.
pub fn read<T: DeserializeOwned + Default>(object: &Value) -> (T, Vec<String>) {
    let mut rest = Cow::Borrowed(object);
    let mut words = Vec::new();
    let read = loop {
        let reader = Reader {
            value: &rest,
            is_raw: false,
        };
        match T::deserialize(reader) {
            Ok(read) => break read,
            Err(fault) if fault.pointer.is_empty() || words.len() == MOST => break T::default(),
            Err(fault) => {
                if let Some(field) = rest.to_mut().pointer_mut(&fault.pointer) {
                    *field = Value::Null;
                }
                words.push(fault.to_string());
            }
        }
    };
    words.sort_unstable();
    (read, words)
}

/// The object alone.
pub fn known<T: DeserializeOwned + Default>(object: &Value) -> T {
    read(object).0
}

/// A field of another type, and its type in its API.
#[derive(Debug, thiserror::Error)]
#[error("{} is not {wanted}", bounded(path, KEPT_MAX))]
struct Fault {
    /// Its path, for a person and by RFC 6901.
    path: String,
    pointer: String,
    wanted: &'static str,
}

impl Fault {
    fn new(wanted: &'static str) -> Self {
        Self {
            path: String::new(),
            pointer: String::new(),
            wanted,
        }
    }

    /// The same, within the field of this name.
    fn in_field(self, name: &str) -> Self {
        let is_within = !self.path.is_empty() && !self.path.starts_with('[');
        let dot = if is_within { "." } else { "" };
        let escaped = name.replace('~', "~0").replace('/', "~1");
        Self {
            path: format!("{}{dot}{}", printable(name), self.path),
            pointer: format!("/{escaped}{}", self.pointer),
            ..self
        }
    }

    /// The same, within this item of a list.
    fn in_item(self, place: usize) -> Self {
        let within = self.in_field(&place.to_string());
        let rest = within.path.trim_start_matches(|c: char| c.is_ascii_digit());
        Self {
            path: format!("[{place}]{rest}"),
            ..within
        }
    }
}

impl serde::de::Error for Fault {
    fn custom<T: Display>(_: T) -> Self {
        Self::new("understood")
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    value: &'a Value,
    is_raw: bool,
}

impl<'a> Reader<'a> {
    fn text(self, text: &str) -> String {
        if self.is_raw {
            text.to_owned()
        } else {
            printable(&without_secrets(text))
        }
    }

    fn of(self, value: &'a Value) -> Self {
        Self { value, ..self }
    }

    fn items(self) -> Items<'a> {
        Items {
            items: self
                .value
                .as_array()
                .map_or(&[][..], Vec::as_slice)
                .iter()
                .enumerate(),
            around: self,
        }
    }

    fn fields(self) -> Fields<'a> {
        Fields {
            fields: self.value.as_object().map(Map::iter),
            next: ("", &Value::Null),
            around: self,
        }
    }

    fn number<'de, V: Visitor<'de>>(
        self,
        number: &serde_json::Number,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let read: Result<V::Value, Fault> = match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => visitor.visit_u64(number),
            (None, Some(number)) => visitor.visit_i64(number),
            (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
        };
        read.map_err(|_| Fault::new("a number"))
    }
}

/// The value where it is of this type, and what stands for none; else a fault.
macro_rules! typed {
    ($($($method:ident)*: $is:ident, $wanted:literal, $visit:ident($none:expr);)*) => {
        $($(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.value {
                Value::Null => visitor.$visit($none(self)),
                value if value.$is() => self.deserialize_any(visitor),
                _ => Err(Fault::new($wanted)),
            }
        })*)*
    };
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => self.number(number, visitor),
            Value::String(text) => visitor.visit_string(self.text(text)),
            Value::Array(_) => visitor.visit_seq(self.items()),
            Value::Object(_) => visitor.visit_map(self.fields()),
        }
    }

    typed! {
        deserialize_bool: is_boolean, "true or false", visit_bool(|_| false);
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64: is_number, "a number", visit_u64(|_| 0);
        deserialize_str deserialize_string: is_string, "a text", visit_str(|_| "");
        deserialize_seq: is_array, "a list", visit_seq(Reader::items);
        deserialize_map: is_object, "an object", visit_map(Reader::fields);
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null | Value::Object(_) => visitor.visit_map(Members {
                names: names.iter(),
                name: "",
                around: self,
            }),
            _ => Err(Fault::new("an object")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if is_said(self.value) {
            visitor.visit_some(self)
        } else {
            visitor.visit_none()
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(Reader {
            is_raw: self.is_raw || name == RAW,
            ..self
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

fn is_said(value: &Value) -> bool {
    !(value.is_null() || value.as_str() == Some(""))
}

struct Items<'a> {
    items: Enumerate<Iter<'a, Value>>,
    around: Reader<'a>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let item = self.items.find(|(_, value)| !value.is_null());
        let item = item.map(|(place, value)| {
            let read = seed.deserialize(self.around.of(value));
            read.map_err(|fault| fault.in_item(place))
        });
        item.transpose()
    }
}

/// The fields of an object of any names.
struct Fields<'a> {
    fields: Option<serde_json::map::Iter<'a>>,
    next: (&'a str, &'a Value),
    around: Reader<'a>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let mut fields = self.fields.iter_mut().flatten();
        let field = fields.find(|(_, value)| !value.is_null());
        let name = field.map(|(name, value)| {
            self.next = (name, value);
            seed.deserialize(StringDeserializer::new(self.around.text(name)))
        });
        name.transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let (name, value) = self.next;
        let read = seed.deserialize(self.around.of(value));
        read.map_err(|fault| fault.in_field(name))
    }
}

/// The fields of an object that a struct has.
struct Members<'a> {
    names: Iter<'static, &'static str>,
    name: &'static str,
    around: Reader<'a>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let name = self.names.next().map(|name| {
            self.name = name;
            seed.deserialize(BorrowedStrDeserializer::new(name))
        });
        name.transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let mut places = self
            .name
            .split('|')
            .map(|path| Place::of(path, self.around.value));
        let mut place = places.next().unwrap_or_default();
        while !place.is_said()
            && let Some(next) = places.next()
        {
            place = next;
        }
        let read = if place.is_reached {
            seed.deserialize(self.around.of(place.value))
        } else {
            Err(Fault::new("an object"))
        };
        let names = place.names.iter().rev();
        read.map_err(|fault| names.fold(fault, |fault, name| fault.in_field(name)))
    }
}

/// A field by its path from an object, and the names on the way.
struct Place<'v> {
    names: Vec<&'v str>,
    value: &'v Value,
    /// All on the way are objects.
    is_reached: bool,
}

impl Default for Place<'_> {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            value: &Value::Null,
            is_reached: true,
        }
    }
}

impl<'v> Place<'v> {
    fn of(path: &str, object: &'v Value) -> Self {
        let mut place = Self::default();
        if path.is_empty() {
            return place;
        }
        place.value = object;
        let mut rest = path.trim_matches('.');
        while !(rest.is_empty() || place.value.is_null()) {
            place.is_reached = place.value.is_object();
            if !place.is_reached {
                break;
            }
            // A label's name has dots of its own.
            let is_whole = place.value.get(rest).is_some();
            let parts = rest.split_once('.').filter(|_| !is_whole);
            let (name, behind) = parts.unwrap_or((rest, ""));
            place.step(name);
            rest = behind;
        }
        place
    }

    /// Goes to the field of this name, in camel case if there is none of it.
    fn step(&mut self, name: &str) {
        let field = self.value.as_object().and_then(|fields| {
            let of = |name: &str| fields.get_key_value(name);
            of(name).or_else(|| of(&camel_case(name)))
        });
        let (names, value) =
            field.map_or((None, &Value::Null), |(name, value)| (Some(&**name), value));
        self.names.extend(names);
        self.value = value;
    }

    fn is_said(&self) -> bool {
        self.is_reached && is_said(self.value)
    }
}

/// `nodeRef` from `node_ref`.
fn camel_case(name: &str) -> String {
    let mut is_start = false;
    let letter = |c: char| {
        let is_first = std::mem::replace(&mut is_start, c == '_');
        (c != '_').then(|| if is_first { c.to_ascii_uppercase() } else { c })
    };
    name.chars().filter_map(letter).collect()
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

    #[derive(Debug, Default, Deserialize)]
    struct Paths {
        #[serde(rename = "status.first|status.second")]
        first: Option<String>,
        #[serde(rename = "status.word.name|")]
        name: String,
        #[serde(rename = "metadata.labels.example.com/x.y")]
        label: String,
        #[serde(rename = ".")]
        whole: BTreeMap<String, serde::de::IgnoredAny>,
        node_ref: Option<i64>,
    }

    #[test]
    fn a_field_stands_where_its_path_says() {
        let (paths, words) = read::<Paths>(&json!({
            "metadata": { "labels": { "example.com/x.y": "z", "example": { "com/x": "no" } } },
            "status": { "first": "", "second": "b", "word": "as it was" },
            "nodeRef": 3,
        }));
        assert!(words.is_empty(), "{words:?}");
        assert_eq!((paths.first.as_deref(), &*paths.name), (Some("b"), ""));
        assert_eq!((&*paths.label, paths.node_ref), ("z", Some(3)));
        assert_eq!(paths.whole.len(), 3);
    }

    #[test]
    fn a_path_is_named_as_far_as_it_goes() {
        let (paths, words) = read::<Paths>(&json!({
            "metadata": "x", "status": { "first": 1, "second": "b", "word": { "name": [] } },
        }));
        assert_eq!(
            words,
            [
                "metadata is not an object",
                "status.first is not a text",
                "status.word.name is not a text"
            ]
        );
        assert_eq!(paths.first.as_deref(), Some("b"));
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
