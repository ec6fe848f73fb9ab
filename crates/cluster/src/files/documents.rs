//! Lists and objects as files and API servers have them: JSON and YAML, whole and in pieces (pure).

use super::cut_short::cut_short;
use super::yaml;
use super::yaml_list::{self, List, Piece};
use crate::add::{MAX_OBJECTS, OBJECT, add, group, no_json, note_empty};
use crate::cluster::Cluster;
use crate::files::staged::SourceFile;
use crate::kinds::metadata::Identity;
use crate::lenient::{self, Raw};
use crate::trouble::{Help, Trouble};
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

/// Adds the objects of a file: in JSON any number of objects and lists, in YAML any number of
/// documents with one object or list each. Kinds that say nothing of boot images are passed
/// over.
///
/// # Errors
/// It is neither, or larger than is read. What came before the error stays added.
pub fn add_file(all: &mut Cluster, file: &SourceFile, text: &str) -> Result<(), Trouble> {
    let before = all.not_understood.len();
    file.clone_into(&mut all.staged.file);
    let done = match text.trim_start().starts_with('{') {
        true => add_json(all, text),
        false => add_yaml(all, text),
    };
    // What has no name of its own is found by the file's; once is enough.
    let new = all.not_understood.split_off(before);
    for mut unread in new {
        if unread.what == OBJECT {
            unread.what.clone_from(&file.shown);
        }
        if all.not_understood.last() != Some(&unread) {
            all.not_understood.push(unread);
        }
    }
    done
}

fn add_json(all: &mut Cluster, text: &str) -> Result<(), Trouble> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    documents.try_for_each(|document| {
        let next = add_page(all, document.map_err(no_json)?.get(), None)?;
        is_last_page(&next)
    })
}

/// Adds one object or list in JSON, of this `apiVersion` and kind where that is known, and
/// gives back what to ask for the next page with; empty at the end.
///
/// # Errors
/// As [`add_file`].
pub fn add_page(
    all: &mut Cluster,
    json: &str,
    of: Option<(&str, &str)>,
) -> Result<String, Trouble> {
    let Document {
        api_version,
        kind,
        metadata,
        items,
    } = serde_json::from_str(json).map_err(no_json)?;
    let Some(items) = items else {
        // An API server has null for an empty list of metadata alone.
        let is_list = kind.as_str().is_some_and(|kind| kind.ends_with("List"));
        if kind == "List" {
            return Err(Help::SayKind.after(WITHOUT_ITEMS));
        } else if of.is_none() || !is_list {
            let object = serde_json::from_str(json).map_err(no_json)?;
            add(all, of, ("", ""), &object)?;
        }
        return Ok(String::new());
    };
    let head = [
        ("apiVersion", api_version),
        ("kind", kind),
        ("metadata", metadata),
    ];
    let items = items.into_iter();
    let mut items =
        items.map(|item| serde_json::from_str(item.get()).map_err(|error| no_json(error).into()));
    add_list(all, of, &Value::from_iter(head), &mut items)
}

/// What is said of a file whose list was cut.
const WITHOUT_ITEMS: &str = "is a List without items";

/// Adds the items of a list, and gives back the token of the next page. A `MachineSetList` as the API server sends
/// it has items without `apiVersion` and kind.
fn add_list(
    all: &mut Cluster,
    of: Option<(&str, &str)>,
    list: &Value,
    items: &mut dyn Iterator<Item = Result<Value, Trouble>>,
) -> Result<String, Trouble> {
    let Identity {
        api_version: Raw(api_version),
        kind: Raw(kind),
        next: Raw(next),
        ..
    } = lenient::known(list);
    let kind = kind.strip_suffix("List").unwrap_or_default();
    let before = all.count;
    for item in items {
        add(all, of, (&api_version, kind), &item?)?;
    }
    if all.count == before {
        note_empty(all, of.unwrap_or((&api_version, kind)));
    }
    Ok(next)
}

/// Adds objects and lists in YAML, as must-gather keeps them.
fn add_yaml(all: &mut Cluster, text: &str) -> Result<(), Trouble> {
    let before = (all.count, all.empty_lists);
    for document in yaml_list::documents(text) {
        match yaml_list::list(document) {
            Some(list) => add_yaml_list(all, &list, document)?,
            None => {
                let ends_line = document.text.ends_with('\n');
                for object in read_piece(document.text, document.line)? {
                    add_document(all, object, ends_line)?;
                }
            }
        }
    }
    if (all.count, all.empty_lists) == before {
        return Err(no_yaml("has no kind"));
    }
    Ok(())
}

/// Adds the items, also where the rest of the list is broken.
fn add_yaml_list(all: &mut Cluster, list: &List<'_>, document: Piece<'_>) -> Result<(), Trouble> {
    let around = read_piece(&list.around, document.line);
    let head = around.as_ref().ok().and_then(|around| around.first());
    let head = head.unwrap_or(&Value::Null);
    let mut items = list.items.iter().map(|item| {
        let read = read_piece(&item.without_dash(), item.line)?;
        Ok(read.into_iter().next().unwrap_or_default())
    });
    let next = add_list(all, None, head, &mut items)?;
    if head.get("kind").is_none_or(Value::is_null) {
        around?;
        return Err(
            "ends early: the last lines of a list say its kind, and they are missing".into(),
        );
    }
    is_last_page(&next)
}

fn add_document(all: &mut Cluster, mut document: Value, ends_line: bool) -> Result<(), Trouble> {
    if let Some(Value::Array(items)) = document.get_mut("items").map(Value::take) {
        let next = add_list(all, None, &document, &mut items.into_iter().map(Ok))?;
        return is_last_page(&next);
    }
    let head: Identity = lenient::known(&document);
    match (head.kind.0.as_str(), head.metadata.name) {
        ("List", _) => Err(Help::SayKind.after(WITHOUT_ITEMS)),
        ("", name) if document.get("kind").is_none_or(Value::is_null) => {
            if name.is_empty() {
                return Err(no_yaml("has no kind"));
            }
            // The others are read all the same.
            let why = Help::SayKind.after("has no kind, and is skipped");
            let unread = Unread::new(format!("{OBJECT} {name}"), why).hiding_sets(true);
            all.not_understood.push(unread);
            Ok(())
        }
        (kind, _) => {
            let cut = cut_short((group(&head.api_version.0), kind), &document, ends_line);
            all.not_understood.extend(cut);
            add(all, None, ("", ""), &document)
        }
    }
}

/// The documents of a part of a YAML text before which are so many lines.
fn read_piece(text: &str, line: usize) -> Result<Vec<Value>, Trouble> {
    yaml::documents(text, MAX_OBJECTS).map_err(|error| {
        // Once more, for the place in the whole.
        let placed = (line > 0)
            .then(|| yaml::documents(&("\n".repeat(line) + text), MAX_OBJECTS).err())
            .flatten();
        no_yaml(placed.unwrap_or(error))
    })
}

/// An API server gives a long list in pages.
fn is_last_page(next: &str) -> Result<(), Trouble> {
    if next.is_empty() {
        return Ok(());
    }
    let what =
        "ends early: it is one page of a list (metadata.continue), and the others are missing";
    Err(Help::PrintAll.after(what))
}

fn no_yaml(what: impl Display) -> Trouble {
    Help::PrintObjects.after(format!("is neither JSON nor YAML of the cluster: {what}"))
}
