//! JSON values that know where in the text they stand.
//!
//! serde_json does the parsing; its raw values are slices of the text, so a slice's place in the text is the value's position. One level
//! is taken apart at a time, which leaves depth beyond that of a policy unread, and keeps fields that are given twice.

use crate::text;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// A value, or a field's name, and where it is.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    text: &'a str,
    /// A slice of `text`.
    raw: &'a str,
    /// `limits[1].release`; empty for the whole.
    pub(super) path: String,
}

/// A field of an object.
pub(super) struct Member<'a> {
    pub(super) name: String,
    /// Where the name is.
    pub(super) key: Place<'a>,
    pub(super) value: Place<'a>,
}

impl<'a> Place<'a> {
    /// The whole of a text.
    ///
    /// # Errors
    /// It is not JSON.
    pub(super) fn whole(text: &'a str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        Ok(Self { text, raw: raw.get(), path: String::new() })
    }

    fn at(&self, raw: &'a RawValue, path: String) -> Self {
        Self { text: self.text, raw: raw.get(), path }
    }

    /// Bytes before it in the text.
    pub(super) fn offset(&self) -> usize {
        (self.raw.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    /// The value as written.
    pub(super) fn raw(&self) -> &'a str {
        self.raw
    }

    /// The value, short and printable.
    pub(super) fn shown(&self) -> String {
        super::super::parse::shown(self.raw)
    }

    pub(super) fn is_null(&self) -> bool {
        self.raw == "null"
    }

    /// The value, where it has the type.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.raw).ok()
    }

    /// The fields of an object in their order, also those given twice.
    pub(super) fn members(&self) -> Option<Vec<Member<'a>>> {
        let Members(members) = serde_json::from_str(self.raw).ok()?;
        let member = |(key, value): (&'a RawValue, &'a RawValue)| {
            let name: String = serde_json::from_str(key.get()).ok()?;
            let shown = text::printable(&name, 60);
            let path = if self.path.is_empty() { shown } else { format!("{}.{shown}", self.path) };
            Some(Member { name, key: self.at(key, path.clone()), value: self.at(value, path) })
        };
        members.into_iter().map(member).collect()
    }

    /// The items of an array.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        let items: Vec<&RawValue> = serde_json::from_str(self.raw).ok()?;
        Some(items.into_iter().enumerate().map(|(n, item)| self.at(item, format!("{}[{n}]", self.path))).collect())
    }
}

/// Line and column of a byte offset, both from 1, the column in characters.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    (before.bytes().filter(|b| *b == b'\n').count() + 1, line.chars().count() + 1)
}

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
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
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
        let text = "{ \"a\" : [ 1,\n  {\"\\u0062\": \"\\u00e9 é\", \"b\":\tnull}]}\n";
        let whole = Place::whole(text).unwrap();
        let [a] = &whole.members().unwrap()[..] else { panic!() };
        let [one, two] = &a.value.items().unwrap()[..] else { panic!() };
        let [b, again] = &two.members().unwrap()[..] else { panic!() };
        assert_eq!((b.name.as_str(), again.name.as_str()), ("b", "b"));
        assert_eq!(b.value.read::<String>().as_deref(), Some("é é"));
        let at = |place: &Place<'_>| (line_and_column(text, place.offset()), place.path.clone());
        assert_eq!(at(&whole), ((1, 1), String::new()));
        assert_eq!(at(&a.key), ((1, 3), "a".to_owned()));
        assert_eq!(at(one), ((1, 11), "a[0]".to_owned()));
        assert_eq!(at(&b.key), ((2, 4), "a[1].b".to_owned()));
        assert_eq!(at(&again.key), ((2, 26), "a[1].b".to_owned()));
        assert_eq!(at(&again.value), ((2, 31), "a[1].b".to_owned()));
        assert!(again.value.is_null());
    }

    #[test]
    fn another_type_is_no_object_and_no_array() {
        let whole = Place::whole(" \"x\"").unwrap();
        assert!(whole.members().is_none() && whole.items().is_none());
        assert_eq!(whole.offset(), 1);
    }

    #[test]
    fn depth_beyond_that_of_a_policy_is_not_read() {
        let deep = format!("{{\"limits\":{}1{}}}", "[".repeat(200_000), "]".repeat(200_000));
        let members = Place::whole(&deep).unwrap().members().unwrap();
        assert_eq!(members[0].value.raw().len(), 400_001);
    }
}
