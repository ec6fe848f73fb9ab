//! Lists and objects as files and API servers have them: JSON and YAML, whole and in pieces (pure).

use super::cut_short::cut_short;
use super::yaml;
use super::yaml_list::{self, List, Piece};
use crate::add::{MAX_OBJECTS, OBJECT, no_json};
use crate::cluster::Cluster;
use crate::files::staged::SourceFile;
use crate::kinds::fields::{str_at, text_at};
use crate::unread::Unread;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Display;

/// An object or a list, its items unread.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Document<'a> {
    api_version: Value,
    kind: Value,
    metadata: Value,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

impl Cluster {
    /// Adds the objects of a file: in JSON any number of objects and lists, in YAML any number of
    /// documents with one object or list each. Kinds that say nothing of boot images are passed
    /// over.
    ///
    /// # Errors
    /// It is neither, or larger than is read. What came before the error stays added.
    pub fn add_file(&mut self, file: &SourceFile, text: &str) -> Result<(), String> {
        let before = self.not_understood.len();
        file.clone_into(&mut self.staged.file);
        let done = self.add_documents(text);
        // What has no name of its own is found by the file's; once is enough.
        let new = self.not_understood.split_off(before);
        for mut unread in new {
            if unread.what == OBJECT {
                unread.what.clone_from(&file.shown);
            }
            if self.not_understood.last() != Some(&unread) {
                self.not_understood.push(unread);
            }
        }
        done
    }

    fn add_documents(&mut self, text: &str) -> Result<(), String> {
        if !text.trim_start().starts_with('{') {
            return self.add_yaml(text);
        }
        let mut documents = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        documents.try_for_each(|document| {
            let next = self.add_page(document.map_err(no_json)?.get(), None)?;
            is_last_page(&next)
        })
    }

    /// Adds one object or list in JSON, of this `apiVersion` and kind where that is known, and
    /// gives back what to ask for the next page with; empty at the end.
    ///
    /// # Errors
    /// As [`Self::add_file`].
    pub fn add_page(&mut self, json: &str, of: Option<(&str, &str)>) -> Result<String, String> {
        let Document {
            api_version,
            kind,
            metadata,
            items,
        } = serde_json::from_str(json).map_err(no_json)?;
        let Some(items) = items else {
            // An API server has null for an empty list of metadata alone.
            let is_list = kind.as_str().is_some_and(|kind| kind.ends_with("List"));
            if of.is_none() || !is_list {
                self.add(of, ("", ""), &serde_json::from_str(json).map_err(no_json)?)?;
            }
            return Ok(String::new());
        };
        let of_items = item_kind(&api_version, &kind);
        if items.is_empty() {
            self.note_empty(of.map_or(of_items.1, |(_, kind)| kind));
        }
        for item in items {
            self.add(
                of,
                of_items,
                &serde_json::from_str(item.get()).map_err(no_json)?,
            )?;
        }
        Ok(str_at(&metadata, "/continue")
            .unwrap_or_default()
            .to_owned())
    }

    /// Adds objects and lists in YAML, as must-gather keeps them.
    fn add_yaml(&mut self, text: &str) -> Result<(), String> {
        let before = self.count;
        for document in yaml_list::documents(text) {
            match yaml_list::list(document) {
                Some(list) => self.add_yaml_list(&list, document)?,
                None => {
                    let ends_line = document.text.ends_with('\n');
                    for object in read_piece(document.text, document.line)? {
                        self.add_document(&object, ends_line)?;
                    }
                }
            }
        }
        if self.count == before {
            return Err(no_yaml("has no kind"));
        }
        Ok(())
    }

    /// Adds the items, also where the rest of the list is broken.
    fn add_yaml_list(&mut self, list: &List<'_>, document: Piece<'_>) -> Result<(), String> {
        let around = read_piece(&list.around, document.line);
        let null = Value::Null;
        let head = around.as_ref().ok().and_then(|around| around.first());
        let field = |name: &str| head.and_then(|head| head.get(name)).unwrap_or(&null);
        let of_items = item_kind(field("apiVersion"), field("kind"));
        if list.items.is_empty() {
            self.note_empty(of_items.1);
        }
        for item in &list.items {
            let read = read_piece(&item.without_dash(), item.line)?;
            let object = read.first().unwrap_or(&null);
            self.add(None, of_items, object)?;
        }
        if field("kind").is_null() {
            around?;
            return Err(
                "ends early: the last lines of a list say its kind, and they are missing"
                    .to_owned(),
            );
        }
        is_last_page(str_at(field("metadata"), "/continue").unwrap_or_default())
    }

    /// Names a document that has a name and no kind.
    fn is_kindless(&mut self, document: &Value) -> bool {
        let Some(name) = text_at(document, "/metadata/name") else {
            return false;
        };
        let why = "has no kind, and is skipped: `oc get -o json` prints what is read";
        let unread = Unread::new(format!("{OBJECT} {name}"), why).hiding_sets(true);
        self.not_understood.push(unread);
        true
    }

    fn add_document(&mut self, document: &Value, ends_line: bool) -> Result<(), String> {
        let null = Value::Null;
        let field = |name: &str| document.get(name).unwrap_or(&null);
        match field("items").as_array() {
            Some(items) => {
                let of_items = item_kind(field("apiVersion"), field("kind"));
                if items.is_empty() {
                    self.note_empty(of_items.1);
                }
                items
                    .iter()
                    .try_for_each(|item| self.add(None, of_items, item))?;
                is_last_page(str_at(field("metadata"), "/continue").unwrap_or_default())
            }
            // The others are read all the same.
            None if field("kind").is_null() && self.is_kindless(document) => Ok(()),
            None if field("kind").is_null() => Err(no_yaml("has no kind")),
            None => {
                let text = |name| field(name).as_str().unwrap_or_default();
                let group = text("apiVersion").split_once('/');
                let group = group.map_or("", |(group, _)| group);
                self.not_understood
                    .extend(cut_short(group, text("kind"), document, ends_line));
                self.add(None, ("", ""), document)
            }
        }
    }
}

/// The documents of a part of a YAML text before which are so many lines.
fn read_piece(text: &str, line: usize) -> Result<Vec<Value>, String> {
    yaml::documents(text, MAX_OBJECTS).map_err(|error| {
        // Once more, for the place in the whole.
        let placed = (line > 0)
            .then(|| yaml::documents(&("\n".repeat(line) + text), MAX_OBJECTS).err())
            .flatten();
        no_yaml(placed.unwrap_or(error))
    })
}

/// An API server gives a long list in pages.
fn is_last_page(next: &str) -> Result<(), String> {
    if next.is_empty() {
        return Ok(());
    }
    Err(
        "ends early: it is one page of a list (metadata.continue), and the others are missing; `oc get -o json` prints all"
            .to_owned(),
    )
}

fn no_yaml(what: impl Display) -> String {
    format!("is neither JSON nor YAML of the cluster: {what}; `oc get -o json` prints what is read")
}

/// The `apiVersion` and kind of a list's items, by its own: a `MachineSetList` as the API server
/// sends it has items without either.
fn item_kind<'a>(api_version: &'a Value, kind: &'a Value) -> (&'a str, &'a str) {
    let kind = kind
        .as_str()
        .and_then(|kind| kind.strip_suffix("List"))
        .unwrap_or_default();
    (api_version.as_str().unwrap_or_default(), kind)
}
