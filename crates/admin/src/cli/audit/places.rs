//! The places of sets in the files of `--from`: file and line, for SARIF.

use crate::audit::SetAudit;
use crate::cli::inputs::read_text;
use serde::Deserialize;
use serde_json::value::RawValue;
use skewguard_cluster::files::{folder, yaml, yaml_list};
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
    /// The first file, for what is in an archive or in none.
    first: Option<PathBuf>,
}

impl Places {
    /// Looks for these sets in files and folders; archives are not looked into.
    pub(super) fn of(paths: &[PathBuf], sets: &[SetAudit]) -> Self {
        let is_file = |path: &&PathBuf| *path != Path::new("-");
        let mut places = Self::default();
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
                places.first.get_or_insert_with(|| file.clone());
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
        known.cloned().or_else(|| self.first())
    }

    /// Line 1 of the first file: the place of what is in none. GitHub takes no result without one.
    pub(super) fn first(&self) -> Option<Place> {
        let file = self.first.clone()?;
        Some(Place { file, line: 1 })
    }

    fn look(&mut self, file: &Path, text: &str, images: &BTreeMap<Key, &str>) {
        objects(text, &mut |line, text, key| {
            let Some(image) = images.get(&key) else {
                return;
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
        });
    }
}

/// The objects that a row is of: the set, or its members.
fn keys(set: &SetAudit) -> impl Iterator<Item = Key> {
    let names = std::iter::once(&set.name).chain(&set.members);
    names.map(|name| (set.kind.to_string(), set.namespace.clone(), name.clone()))
}

/// Fields that are read of an object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    kind: String,
    metadata: Name,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    namespace: String,
    name: String,
}

impl Head {
    fn key(self) -> Key {
        (self.kind, self.metadata.namespace, self.metadata.name)
    }
}

/// Shows the objects of a file one after another, each with the lines before it and its text.
fn objects(text: &str, see: &mut dyn FnMut(usize, &str, Key)) {
    if text.trim_start().starts_with('{') {
        return json_objects(text, see);
    }
    let mut look = |line: usize, text: &str| {
        let object = yaml::documents(text, 1).ok().and_then(|mut all| all.pop());
        let head = object.and_then(|object| serde_json::from_value::<Head>(object).ok());
        if let Some(head) = head {
            see(line, text, head.key());
        }
    };
    for document in yaml_list::documents(text) {
        match yaml_list::list(document) {
            Some(list) => {
                let items = list.items.iter();
                items.for_each(|item| look(item.line, &item.without_dash()));
            }
            None => look(document.line, document.text),
        }
    }
}

/// Objects in JSON, and those of lists.
fn json_objects(text: &str, see: &mut dyn FnMut(usize, &str, Key)) {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let documents = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let start = text.as_ptr().addr();
    let (mut before, mut lines) = (0, 0);
    for document in documents.map_while(Result::ok) {
        let list = serde_json::from_str::<List<'_>>(document.get());
        for object in list.map_or_else(|_| vec![document], |list| list.items) {
            // A part of the text, after the one before.
            let at = object.get().as_ptr().addr() - start;
            let between = text.get(before..at).unwrap_or_default();
            (before, lines) = (at, lines + between.matches('\n').count());
            if let Ok(head) = serde_json::from_str::<Head>(object.get()) {
                see(lines, object.get(), head.key());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::objects;

    /// The line and the name of each object.
    fn found(text: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        objects(text, &mut |line, _, (_, _, name)| found.push((line, name)));
        found
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
