//! The places of sets in the files of `--from`: file and line, for SARIF.

use super::read_text;
use crate::audit::SetAudit;
use serde_json::Value;
use serde_json::value::RawValue;
use skewguard_cluster::files::{folder, yaml_list};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The place of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// From 1.
    pub(super) line: usize,
}

/// Kind, namespace and name.
type Key = (String, String, String);

/// The places of sets, by kind, namespace and name of an object.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: BTreeMap<Key, Place>,
    /// The first file that was named, for sets that are in an archive.
    first: Option<PathBuf>,
}

impl Places {
    /// Looks for these sets in files and folders; archives are not looked into.
    pub(super) fn of(paths: &[PathBuf], sets: &[SetAudit]) -> Self {
        let is_file = |path: &&PathBuf| *path != Path::new("-");
        let mut places = Self {
            known: BTreeMap::new(),
            first: paths.iter().find(is_file).cloned(),
        };
        let mut images: BTreeMap<Key, &str> = BTreeMap::new();
        for set in sets {
            for key in keys(set) {
                images.insert(key, set.image.as_deref().unwrap_or_default());
            }
        }
        for path in paths.iter().filter(is_file) {
            let found = folder::files(path, &|_| false);
            let files = found.map_or_else(|_| vec![path.clone()], |found| found.files);
            for file in files {
                if let Ok(text) = read_text(&file) {
                    places.look(&file, &text, &images);
                }
            }
        }
        places
    }

    /// The place of a set; line 1 of the first file for one that is in none.
    pub(super) fn place(&self, set: &SetAudit) -> Option<Place> {
        let known = keys(set).find_map(|key| self.known.get(&key));
        let first = || {
            Some(Place {
                file: self.first.clone()?,
                line: 1,
            })
        };
        known.cloned().or_else(first)
    }

    fn look(&mut self, file: &Path, text: &str, images: &BTreeMap<Key, &str>) {
        for (line, text, object) in objects(text) {
            let field = |pointer| object.pointer(pointer).and_then(Value::as_str);
            let key = ["/kind", "/metadata/namespace", "/metadata/name"]
                .map(|pointer| field(pointer).unwrap_or_default().to_owned());
            let [kind, namespace, name] = key;
            let key = (kind, namespace, name);
            let Some(image) = images.get(&key) else {
                continue;
            };
            let has = |what: &str| {
                text.lines()
                    .position(|line| !what.is_empty() && line.contains(what))
            };
            let within = has(image).or_else(|| has(&key.2)).unwrap_or_default();
            self.known.entry(key).or_insert_with(|| Place {
                file: file.to_owned(),
                line: line + within + 1,
            });
        }
    }
}

/// The objects that a row is of: the set, or its members.
fn keys(set: &SetAudit) -> impl Iterator<Item = Key> {
    let names = std::iter::once(&set.name).chain(&set.members);
    names.map(|name| (set.kind.to_owned(), set.namespace.clone(), name.clone()))
}

/// The objects of a file, each with the lines before it and its text.
fn objects(text: &str) -> Vec<(usize, String, Value)> {
    if text.trim_start().starts_with('{') {
        return json_objects(text);
    }
    let mut found = Vec::new();
    for document in yaml_list::documents(text) {
        let list = yaml_list::list(document);
        let pieces = match &list {
            Some(list) => list
                .items
                .iter()
                .map(|item| (item.line, item.without_dash()))
                .collect(),
            None => vec![(document.line, document.text.to_owned())],
        };
        for (line, text) in pieces {
            let object = skewguard_cluster::files::yaml::documents(&text, 1)
                .ok()
                .and_then(|mut all| all.pop());
            found.extend(object.map(|object| (line, text, object)));
        }
    }
    found
}

/// Objects in JSON, and those of lists.
fn json_objects(text: &str) -> Vec<(usize, String, Value)> {
    #[derive(serde::Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let documents = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let all = documents.map_while(Result::ok).flat_map(|document| {
        match serde_json::from_str::<List<'_>>(document.get()) {
            Ok(list) => list.items,
            Err(_) => vec![document],
        }
    });
    let start = text.as_ptr().addr();
    let mut counted = (0, 0);
    let placed = all.filter_map(|object| {
        // A part of the text, after the one before.
        let at = object.get().as_ptr().addr() - start;
        let (before, lines) = counted;
        counted = (at, lines + text.get(before..at)?.matches('\n').count());
        let value = serde_json::from_str(object.get()).ok()?;
        Some((counted.1, object.get().to_owned(), value))
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::objects;

    /// The line and the name of each object.
    fn found(text: &str) -> Vec<(usize, String)> {
        let name =
            |object: &serde_json::Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        let all = objects(text).into_iter();
        all.map(|(line, _, object)| (line, name(&object))).collect()
    }

    #[test]
    fn objects_have_their_lines() {
        let wanted = |lines: [usize; 2]| [(lines[0], "a".to_owned()), (lines[1], "b".to_owned())];
        let json = "{\"kind\":\"List\",\n\"items\":[\n{\"metadata\":\n{\"name\":\"a\"}},\n{\"metadata\":{\"name\":\"b\"}}]}";
        assert_eq!(found(json), wanted([2, 4]));
        let json = "{\"metadata\":{\"name\":\"a\"}}\n\n{\"metadata\":{\"name\":\"b\"}}";
        assert_eq!(found(json), wanted([0, 2]));
        let yaml = "# c\n---\nmetadata:\n  name: a\n---\nmetadata: {name: b}\n";
        assert_eq!(found(yaml), wanted([0, 4]));
        let yaml = "items:\n- metadata:\n    name: a\n- metadata:\n    name: b\nkind: List\n";
        assert_eq!(found(yaml), wanted([1, 3]));
        assert_eq!(found("{"), []);
        assert_eq!(found(": ["), []);
    }
}
