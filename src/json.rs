//! JSON in and out, with as little code for each type as it takes.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::Serialize;
use std::fmt;

/// Reads a value. A struct is an object: derived code would also read one from a list of its
/// fields, which is a quarter of that code.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = T::deserialize(Objects(&mut json))?;
    json.end()?;
    Ok(value)
}

/// Writes a value as [`serde_json::to_vec_pretty`] does, by way of the compact form: one kind of
/// writer is enough for each type.
pub(crate) fn pretty(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    Ok(indent(&serde_json::to_vec(value)?))
}

fn indent(compact: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(compact.len() * 2);
    let mut depth = 0;
    let (mut in_text, mut is_escaped) = (false, false);
    let mut before = 0;
    for &byte in compact {
        if in_text {
            in_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            out.push(byte);
        } else {
            let (opens, closes) = (matches!(before, b'[' | b'{'), matches!(byte, b']' | b'}'));
            depth = (depth + usize::from(opens)).saturating_sub(usize::from(closes));
            if opens != closes || before == b',' {
                out.push(b'\n');
                out.resize(out.len() + depth * 2, b' ');
            }
            out.push(byte);
            if byte == b':' {
                out.push(b' ');
            }
            in_text = byte == b'"';
        }
        before = if in_text { 0 } else { byte };
    }
    out
}

/// A part of serde's machinery that reads structs from objects only.
struct Objects<T>(T);

macro_rules! forward {
    ($($name:ident)+) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$name(visitor)
        }
    )+};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    forward! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Objects(visitor))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_seq(Objects(visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Objects(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Objects(visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, Objects(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, Objects(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Objects(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Objects(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Objects(fields))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Objects(seed))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Objects(seed))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Objects(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_indented_form_is_that_of_serde_json() {
        for value in [
            json!({}),
            json!([[], {}, [[]], { "a": [] }]),
            json!({ "a": { "b": [1, null, "x"] }, "c": true }),
            json!({ "\"{[:,": "\\\"", "\\": "]}", "e": "\\\\" }),
            json!("text: [1, 2]"),
            json!(-1.5),
        ] {
            let expected = serde_json::to_vec_pretty(&value).unwrap();
            assert_eq!(pretty(&value).unwrap(), expected, "{value}");
        }
    }

    /// A verdict of serde_json's is the same verdict here, unless a struct is a list in it.
    #[test]
    fn a_verdict_is_read_as_serde_json_reads_it() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/verdict");
        let mut read_both = 0;
        for input in std::fs::read_dir(corpus).unwrap() {
            let text = std::fs::read(input.unwrap().path()).unwrap();
            let here = read::<crate::verdict::Verdict>(&text);
            let there = serde_json::from_slice::<crate::verdict::Verdict>(&text);
            match here {
                Ok(here) => assert_eq!(here, there.unwrap()),
                // A list in place of an object.
                Err(here) if there.is_ok() => assert!(here.to_string().contains("sequence")),
                Err(_) => continue,
            }
            read_both += 1;
        }
        assert!(read_both > 20, "{read_both}");
    }

    /// Texts that are not words of ours.
    fn texts<'a>(value: &'a mut Value, name: &str, found: &mut Vec<&'a mut String>) {
        const WORDS: [&str; 11] = [
            "verdict",
            "action",
            "reason",
            "rule",
            "result",
            "wanted",
            "judged",
            "letThrough",
            "scheme",
            "source",
            "value",
        ];
        match value {
            Value::String(text) if !WORDS.contains(&name) => found.push(text),
            Value::Array(items) => items.iter_mut().for_each(|item| texts(item, name, found)),
            Value::Object(fields) => fields
                .iter_mut()
                .for_each(|(name, value)| texts(value, name, found)),
            _ => {}
        }
    }

    #[test]
    fn a_bounded_verdict_has_no_text_that_is_not() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/verdict");
        let mut checked = 0;
        for input in std::fs::read_dir(corpus).unwrap() {
            let text = std::fs::read(input.unwrap().path()).unwrap();
            let Ok(mut hostile) = serde_json::from_slice::<Value>(&text) else {
                continue;
            };
            let mut found = Vec::new();
            texts(&mut hostile, "", &mut found);
            for text in found {
                *text = "\u{1b}[2J".repeat(600);
            }
            let Ok(mut verdict) = read::<crate::verdict::Verdict>(hostile.to_string().as_bytes())
            else {
                continue;
            };
            verdict.bound(512, 1024);
            let mut bounded = serde_json::to_value(&verdict).unwrap();
            let mut found = Vec::new();
            texts(&mut bounded, "", &mut found);
            for text in found {
                let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
                assert!(is_plain && text.len() <= 1024, "{text}");
                checked += 1;
            }
        }
        assert!(checked > 500, "{checked}");
    }
}
