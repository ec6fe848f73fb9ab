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
pub(super) struct Located<'a> {
    text: &'a str,
    /// A slice of `text`.
    raw: &'a str,
    /// `limits[1].release`; empty for the whole.
    pub(super) path: String,
}

impl<'a> Located<'a> {
    /// The whole of a text.
    ///
    /// # Errors
    /// It is not JSON.
    pub(super) fn whole(bytes: &'a [u8]) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_slice(bytes)?;
        // Beside the value there is only space.
        let text = std::str::from_utf8(bytes).unwrap_or(raw.get());
        Ok(Self { text, raw: raw.get(), path: String::new() })
    }

    fn at(&self, raw: &'a RawValue, path: String) -> Self {
        Self { text: self.text, raw: raw.get(), path }
    }

    /// Bytes before it in the text.
    pub(super) fn offset(&self) -> usize {
        (self.raw.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    /// Line and column in the text.
    pub(super) fn line_and_column(&self) -> (usize, usize) {
        line_and_column(self.text, self.offset())
    }

    /// The value as written.
    #[cfg(feature = "author")]
    pub(super) fn raw(&self) -> &'a str {
        self.raw
    }

    /// The value, short and printable. Numbers as they are written: 4.20 must not be shown as 4.2.
    pub(super) fn shown(&self) -> String {
        let compact = match self.raw.as_bytes().first() {
            Some(b'[' | b'{') => self.read::<serde_json::Value>().map(|value| value.to_string()),
            _ => None,
        };
        text::printable(compact.as_deref().unwrap_or(self.raw), 60)
    }

    /// The value, where it has the type.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.raw).ok()
    }

    /// Takes an object with the fields `names` apart.
    ///
    /// # Errors
    /// It is no object.
    pub(super) fn object(&self, names: &'static [&'static str]) -> Result<Object<'a>, serde_json::Error> {
        let Members(members) = serde_json::from_str(self.raw)?;
        let mut object = Object { at: self.clone(), names, known: vec![None; names.len()], unknown: Vec::new(), twice: Vec::new() };
        for member in members {
            let name: String = serde_json::from_str(member.0.get())?;
            let slot = names.iter().position(|known| *known == name).and_then(|n| object.known.get_mut(n));
            match slot {
                None => object.unknown.push(member),
                Some(slot @ None) => *slot = Some(member),
                Some(Some(_)) => object.twice.push(member),
            }
        }
        Ok(object)
    }

    /// The items of an array.
    pub(super) fn items(&self) -> Option<Items<'a>> {
        Some(Items { at: self.clone(), list: serde_json::from_str(self.raw).ok()? })
    }
}

/// A field of an object.
pub(super) struct Member<'a> {
    pub(super) name: String,
    /// Where the name is.
    pub(super) key: Located<'a>,
    pub(super) value: Located<'a>,
}

/// Name and value of a field, as written.
type RawMember<'a> = (&'a RawValue, &'a RawValue);

/// An object, taken apart. Of a field that is given twice the first counts.
pub(super) struct Object<'a> {
    pub(super) at: Located<'a>,
    /// The fields that it may have.
    pub(super) names: &'static [&'static str],
    /// In the order of `names`.
    known: Vec<Option<RawMember<'a>>>,
    unknown: Vec<RawMember<'a>>,
    twice: Vec<RawMember<'a>>,
}

impl<'a> Object<'a> {
    fn member(&self, (key, value): RawMember<'a>) -> Member<'a> {
        let name: String = serde_json::from_str(key.get()).unwrap_or_default();
        let shown = text::printable(&name, 60);
        let path = if self.at.path.is_empty() { shown } else { format!("{}.{shown}", self.at.path) };
        Member { name, key: self.at.at(key, path.clone()), value: self.at.at(value, path) }
    }

    /// The field `name` where it is there and not null.
    pub(super) fn get(&self, name: &str) -> Option<Located<'a>> {
        debug_assert!(self.names.contains(&name), "{name} is no field of {:?}", self.names);
        let member = self.names.iter().zip(&self.known).find_map(|(known, member)| (*known == name).then_some(*member)?)?;
        (member.1.get() != "null").then(|| self.member(member).value)
    }

    /// Fields that are null, which count as absent.
    #[cfg(feature = "author")]
    pub(super) fn nulls(&self) -> impl Iterator<Item = Member<'a>> {
        self.known.iter().flatten().filter(|(_, value)| value.get() == "null").map(|member| self.member(*member))
    }

    /// Fields that are none of `names`.
    pub(super) fn unknown(&self) -> impl Iterator<Item = Member<'a>> {
        self.unknown.iter().map(|member| self.member(*member))
    }

    /// Fields that were there before.
    pub(super) fn twice(&self) -> impl Iterator<Item = Member<'a>> {
        self.twice.iter().map(|member| self.member(*member))
    }
}

/// The items of an array.
pub(super) struct Items<'a> {
    at: Located<'a>,
    list: Vec<&'a RawValue>,
}

impl<'a> Items<'a> {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Located<'a>> {
        self.list.iter().enumerate().map(|(n, item)| self.at.at(item, format!("{}[{n}]", self.at.path)))
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

#[cfg(all(test, feature = "author"))]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_where_it_stands() {
        let text = "{ \"a\" : [ 1,\n  {\"\\u0062\": \"\\u00e9 é\", \"b\":\tnull, \"c\": null, \"d\": 1}]}\n";
        let whole = Located::whole(text.as_bytes()).unwrap();
        let object = whole.object(&["a"]).unwrap();
        let a = object.get("a").unwrap();
        let [one, two] = &a.items().unwrap().iter().collect::<Vec<_>>()[..] else { panic!() };
        let inner = two.object(&["b", "c"]).unwrap();
        let ([again], [c], [d]) =
            (&inner.twice().collect::<Vec<_>>()[..], &inner.nulls().collect::<Vec<_>>()[..], &inner.unknown().collect::<Vec<_>>()[..])
        else {
            panic!()
        };
        assert_eq!((again.name.as_str(), c.name.as_str(), d.name.as_str()), ("b", "c", "d"));
        let b = inner.get("b").unwrap();
        assert_eq!((b.read::<String>().as_deref(), inner.get("c").is_none()), (Some("é é"), true));
        let at = |place: &Located<'_>| (line_and_column(text, place.offset()), place.path.clone());
        assert_eq!(at(&whole), ((1, 1), String::new()));
        assert_eq!(at(&a), ((1, 9), "a".to_owned()));
        assert_eq!(at(one), ((1, 11), "a[0]".to_owned()));
        assert_eq!(at(&b), ((2, 14), "a[1].b".to_owned()));
        assert_eq!(at(&again.key), ((2, 26), "a[1].b".to_owned()));
        assert_eq!(at(&again.value), ((2, 31), "a[1].b".to_owned()));
    }

    #[test]
    fn another_type_is_no_object_and_no_array() {
        let whole = Located::whole(b" \"x\"").unwrap();
        assert!(whole.object(&[]).is_err() && whole.items().is_none());
        assert_eq!(whole.offset(), 1);
    }

    #[test]
    fn depth_beyond_that_of_a_policy_is_not_read() {
        let deep = format!("{{\"limits\":{}1{}}}", "[".repeat(200_000), "]".repeat(200_000));
        let object = Located::whole(deep.as_bytes()).unwrap().object(&["limits"]).unwrap();
        assert_eq!(object.get("limits").unwrap().raw().len(), 400_001);
    }
}
