//! JSON values that know where in the text they stand.
//!
//! serde_json does the parsing. Its raw values are slices of the text, so their place in the text
//! gives line and column. One level is parsed at a time: nesting deeper than a policy's is never
//! parsed, and a field that is given twice is noticed.

use crate::text;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// A value or a field's name, and where it stands.
#[derive(Debug, Clone)]
pub struct Located<'a> {
    text: &'a str,
    /// A slice of `text`.
    raw: &'a str,
    /// `limits[1].release`; empty for the whole.
    pub path: String,
}

impl<'a> Located<'a> {
    /// The value that a text consists of.
    pub fn whole(bytes: &'a [u8]) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_slice(bytes)?;
        // Valid UTF-8: there is only whitespace around the value.
        let text = std::str::from_utf8(bytes).unwrap_or(raw.get());
        Ok(Self {
            text,
            raw: raw.get(),
            path: String::new(),
        })
    }

    fn at(&self, raw: &'a RawValue, path: String) -> Self {
        Self {
            text: self.text,
            raw: raw.get(),
            path,
        }
    }

    /// The value as it is written.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// Its bytes in the text.
    pub fn span(&self) -> std::ops::Range<usize> {
        let start = (self.raw.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        start..start + self.raw.len()
    }

    /// Line and column of its beginning.
    pub fn line_and_column(&self) -> (usize, usize) {
        line_and_column(self.text, self.span().start)
    }

    /// The value, shortened and printable. Numbers are shown as written: 4.20 must not become 4.2.
    pub fn shown(&self) -> String {
        let compact = match self.raw.as_bytes().first() {
            Some(b'[' | b'{') => self
                .read::<serde_json::Value>()
                .map(|value| value.to_string()),
            _ => None,
        };
        text::printable_up_to(compact.as_deref().unwrap_or(self.raw), 60)
    }

    /// The value as a `T`; `None` where it has another type.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.raw).ok()
    }

    pub fn string(&self) -> Option<String> {
        self.read()
    }

    /// The items of an array, made one by one: with their paths, all items of a hostile list take
    /// many times the memory of its text.
    pub fn items(&self) -> Option<impl ExactSizeIterator<Item = Located<'a>> + use<'a>> {
        let items: Vec<&'a RawValue> = serde_json::from_str(self.raw).ok()?;
        let array = self.clone();
        Some(
            items
                .into_iter()
                .enumerate()
                .map(move |(n, item)| array.at(item, format!("{}[{n}]", array.path))),
        )
    }

    /// Splits an object into the fields called `names` and all others.
    pub fn object(&self, names: &[&'static str]) -> Result<Object<'a>, serde_json::Error> {
        let Members(members) = serde_json::from_str(self.raw)?;
        let mut object = Object {
            at: self.clone(),
            known: Vec::new(),
            unknown: Vec::new(),
            twice: Vec::new(),
        };
        for (key, value) in members {
            let name: String = serde_json::from_str(key.get())?;
            match names.iter().find(|known| **known == name) {
                None => object.unknown.push(key),
                Some(name) if object.known.iter().any(|(known, ..)| known == name) => {
                    object.twice.push(key)
                }
                Some(name) => object.known.push((*name, key, value)),
            }
        }
        Ok(object)
    }
}

/// An object, split into fields. Keys get their paths only when they are asked for, because a
/// hostile object can have very many. Of a field that is given twice the first counts. A field that
/// is null is absent.
pub struct Object<'a> {
    pub at: Located<'a>,
    /// Name, key and value.
    known: Vec<(&'static str, &'a RawValue, &'a RawValue)>,
    unknown: Vec<&'a RawValue>,
    twice: Vec<&'a RawValue>,
}

/// A field that is present, and its value where that is understood.
pub struct Field<'a, T> {
    pub at: Located<'a>,
    pub value: Option<T>,
}

impl<'a> Object<'a> {
    /// `raw` with the path of the field `name`.
    fn member(&self, name: &str, raw: &'a RawValue) -> Located<'a> {
        let dot = if self.at.path.is_empty() { "" } else { "." };
        self.at.at(
            raw,
            format!("{}{dot}{}", self.at.path, text::printable_up_to(name, 60)),
        )
    }

    fn key(&self, key: &'a RawValue) -> Located<'a> {
        self.member(
            &serde_json::from_str::<String>(key.get()).unwrap_or_default(),
            key,
        )
    }

    pub fn get(&self, name: &str) -> Option<Located<'a>> {
        let (_, _, value) = self.known.iter().find(|(known, ..)| *known == name)?;
        (value.get() != "null").then(|| self.member(name, value))
    }

    pub fn field<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Located<'a>) -> Option<T>,
    ) -> Option<Field<'a, T>> {
        let at = self.get(name)?;
        Some(Field {
            value: read(&at),
            at,
        })
    }

    /// A field that must be a string, and is read by `read`.
    pub fn word<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<Field<'a, T>> {
        self.field(name, |at| read(&at.string()?))
    }

    /// The keys of fields that are null.
    pub fn nulls(&self) -> impl Iterator<Item = Located<'a>> {
        self.known
            .iter()
            .filter(|(.., value)| value.get() == "null")
            .map(|(name, key, _)| self.member(name, key))
    }

    /// The keys of fields that are none of `names`.
    pub fn unknown(&self) -> impl Iterator<Item = Located<'a>> {
        self.unknown.iter().map(|key| self.key(key))
    }

    /// The second keys of fields that are given twice.
    pub fn twice(&self) -> impl Iterator<Item = Located<'a>> {
        self.twice.iter().map(|key| self.key(key))
    }
}

/// Line and column of a byte offset, both from 1, the column in characters.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Keys and values in the order of the text. A map would keep one of each key.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                std::iter::from_fn(|| map.next_entry().transpose())
                    .collect::<Result<_, _>>()
                    .map(Members)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_where_it_stands() {
        let text = "{ \"a\" : [ 1,\n  {\"\\u0062\": \"\\u00e9 é\", \"b\":\tnull, \"c\": null, \"d\": 1}]}\n";
        let whole = Located::whole(text.as_bytes()).unwrap();
        let object = whole.object(&["a"]).unwrap();
        let a = object.get("a").unwrap();
        let [one, two] = &a.items().unwrap().collect::<Vec<_>>()[..] else {
            panic!()
        };
        let inner = two.object(&["b", "c"]).unwrap();
        let at = |place: &Located<'_>| (place.line_and_column(), place.path.clone());
        let all = |keys: &mut dyn Iterator<Item = Located<'_>>| {
            keys.map(|key| at(&key)).collect::<Vec<_>>()
        };
        assert_eq!(all(&mut inner.twice()), [((2, 26), "a[1].b".to_owned())]);
        assert_eq!(all(&mut inner.unknown()), [((2, 48), "a[1].d".to_owned())]);
        assert_eq!(all(&mut inner.nulls()), [((2, 37), "a[1].c".to_owned())]);
        let b = inner.get("b").unwrap();
        assert_eq!(
            (b.string().as_deref(), inner.get("c").is_none()),
            (Some("é é"), true)
        );
        assert_eq!(at(&whole), ((1, 1), String::new()));
        assert_eq!(at(&a), ((1, 9), "a".to_owned()));
        assert_eq!(at(one), ((1, 11), "a[0]".to_owned()));
        assert_eq!(at(&b), ((2, 14), "a[1].b".to_owned()));
    }

    #[test]
    fn another_type_is_no_object_and_no_array() {
        let whole = Located::whole(b" \"x\"").unwrap();
        assert!(whole.object(&[]).is_err() && whole.items().is_none());
        assert_eq!(whole.line_and_column(), (1, 2));
    }

    #[test]
    fn depth_beyond_that_of_a_policy_is_not_read() {
        let deep = format!(
            "{{\"limits\":{}1{}}}",
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        let object = Located::whole(deep.as_bytes())
            .unwrap()
            .object(&["limits"])
            .unwrap();
        assert_eq!(object.get("limits").unwrap().raw.len(), 400_001);
    }
}
