//! The files of a folder that may have objects in them: a must-gather, what `oc adm inspect` wrote,
//! or what the printed commands gathered.

use super::archive::{is_unnamed, may_have_objects};
use super::yaml_list::{self, Piece};
use crate::kinds::file_names::{is_in_path, is_name_of_one, kind_of_file};
use crate::kinds::kind_table::{KINDS, is_name_of_set};
use serde::de::IgnoredAny;
use std::fs;
use std::io::Error;
use std::path::{Path, PathBuf};

/// The most folders within folders.
const MAX_DEPTH: usize = 32;

/// The most files.
const MAX_FILES: usize = 200_000;

/// Files of a folder, in the order of the names.
#[derive(Debug, Default)]
pub struct Found {
    /// JSON and YAML files and archives, however they are packed.
    pub files: Vec<PathBuf>,
    /// Files without an ending, or with `.txt`.
    pub unnamed: Vec<PathBuf>,
    /// Links with such names, and to other folders. They are not followed: they may lead out, or round and round.
    pub links: Vec<PathBuf>,
    /// Folders that cannot be read.
    pub unread: Vec<(PathBuf, Error)>,
}

/// Tells whether a link leads to what may be a folder, and is not there.
fn is_dangling(link: &Path) -> bool {
    link.extension().is_none() && !link.exists()
}

/// Tells whether a linked folder may have what is not read with this folder.
fn leads_out(link: &Path, root: &Path) -> bool {
    let ends = fs::canonicalize(link).and_then(|to| Ok((to, fs::canonicalize(root)?)));
    ends.map_or(true, |(to, root)| !to.starts_with(root))
}

/// All files in a folder that may have objects.
pub fn files(root: &Path, is_log: &dyn Fn(&Path) -> bool) -> Result<Found, Error> {
    let mut found = Found::default();
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if depth > 0 => {
                found.unread.push((folder, error));
                continue;
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                if depth == MAX_DEPTH {
                    return Err(Error::other("has too many folders within folders"));
                }
                folders.push((path, depth + 1));
            } else if kind.is_symlink() && (path.is_dir() || is_dangling(&path)) {
                if leads_out(&path, root) {
                    found.links.push(path);
                }
            } else if may_have_objects(&path) || is_log(&path) {
                match kind {
                    _ if kind.is_file() => found.files.push(path),
                    _ if kind.is_symlink() => found.links.push(path),
                    _ => {}
                }
                if found.files.len() + found.links.len() > MAX_FILES {
                    return Err(Error::other("has too many files"));
                }
            } else if kind.is_file() && is_unnamed(&path) && found.unnamed.len() < MAX_FILES {
                found.unnamed.push(path);
            }
        }
    }
    found.files.sort();
    found.unnamed.sort();
    found.links.sort();
    Ok(found)
}

/// End of the name of a node's aleph file, by the printed commands.
const ALEPH: &str = ".aleph.json";

/// The node whose aleph file this is.
pub fn node_of_aleph(path: &Path) -> Option<&str> {
    let node = path.file_name()?.to_str()?.strip_suffix(ALEPH)?;
    (!node.is_empty()).then_some(node)
}

/// Tells whether a file may have objects of a kind that is read: by its path, as `oc adm inspect` and the
/// printed commands name files, or by a `kind` in it. In YAML only the kinds of the file's own
/// objects count, not those that an event or an owner names.
pub fn is_of_interest(path: &Path, text: &str, also: &dyn Fn(&str) -> bool) -> bool {
    // Of user data the printed commands keep what could not be read, too.
    let is_user_data = path.ends_with("user-data.json");
    if node_of_aleph(path).is_some() || kind_of_file(path).is_some() || is_user_data {
        return true;
    }
    is_in_path(&path.to_string_lossy())
        || is_plural(path) && text.trim().is_empty()
        || has_objects(text, also)
        || carries_set(text)
        || Head::of(text).is_some_and(|head| head.is_bare() && head.is_object())
        || yaml_list::documents(text).into_iter().any(is_bare_object)
}

/// Tells whether a file is called as a resource is that is read: an empty one is what a command leaves that failed.
fn is_plural(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.is_some_and(|stem| KINDS.iter().any(|kind| kind.plural == stem))
}

/// Tells whether a text in YAML has a set within an object of another kind, such as the values of a chart.
fn carries_set(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
    lines.clone().any(|line| line == "template:")
        && lines.any(|line| line.strip_prefix("kind: ").is_some_and(is_name_of_set))
}

/// Tells whether a document in YAML looks like an object of a cluster that says no kind.
fn is_bare_object(document: Piece<'_>) -> bool {
    let has = |field: &str| document.text.lines().any(|line| line.starts_with(field));
    has("metadata:") && has("spec:") && !has("kind:") && !has("items:")
}

/// The fields that say what a JSON document is.
#[derive(serde::Deserialize)]
struct Head {
    kind: Option<IgnoredAny>,
    items: Option<IgnoredAny>,
    metadata: Option<IgnoredAny>,
    spec: Option<IgnoredAny>,
}

impl Head {
    fn of(text: &str) -> Option<Self> {
        let is_json = text.trim_start().starts_with('{');
        is_json.then(|| serde_json::from_str(text).ok())?
    }

    /// It says no kind, and has no items that do.
    fn is_bare(&self) -> bool {
        self.kind.is_none() && self.items.is_none()
    }

    /// It looks like an object of a cluster, which is named where it says no kind.
    fn is_object(&self) -> bool {
        self.metadata.is_some() && self.spec.is_some()
    }
}

/// Tells whether a file is an object of an Insights archive that has no kind, and is of none that is read: a pod
/// names the kind of its owner.
pub fn is_other_of_insights(path: &Path, text: &str) -> bool {
    let is_within = path.iter().any(|part| part == "config") && kind_of_file(path).is_none();
    is_within && Head::of(text).is_some_and(|head| head.is_bare())
}

/// Tells whether a text has objects of a kind that is read.
pub fn has_objects(text: &str, also: &dyn Fn(&str) -> bool) -> bool {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let mut begin = 0;
    while let Some(found) = text.get(begin..).and_then(|rest| rest.find("kind")) {
        let at = begin + found;
        begin = at + "kind".len();
        let line = text.get(..at).and_then(|before| before.rsplit('\n').next());
        let is_own = is_json
            || line.is_some_and(|before| {
                before.len() <= 2 && before.bytes().all(|byte| matches!(byte, b' ' | b'-'))
            });
        if is_own && text.get(begin..).is_some_and(|rest| names_one(rest, also)) {
            return true;
        }
    }
    false
}

/// Tells whether what follows `kind` names one that is read, a list of it, or a failure to read.
fn names_one(behind: &str, also: &dyn Fn(&str) -> bool) -> bool {
    let value = behind.trim_start_matches(['"', ':', ' ']);
    let word = value.split(|c: char| !c.is_ascii_alphanumeric()).next();
    let kind = word.map(|word| word.strip_suffix("List").unwrap_or(word));
    kind.is_some_and(|kind| is_name_of_one(kind) || kind == "Status" || also(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_chosen_by_their_own_objects() {
        for (path, text, of_interest) in [
            (
                "x/any.yaml",
                "---\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n",
                true,
            ),
            (
                "x/any.yaml",
                "apiVersion: machine.openshift.io/v1beta1\nkind: MachineSetList\n",
                true,
            ),
            (
                "x/events.yaml",
                "kind: EventList\nitems:\n- kind: Event\n  involvedObject:\n    kind: Node\n",
                false,
            ),
            (
                "x/pod.yaml",
                "kind: Pod\nmetadata:\n  ownerReferences:\n  - apiVersion: v1\n    kind: Node\n",
                false,
            ),
            (
                "x/any.json",
                r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"NodePool"}]}"#,
                true,
            ),
            ("x/any.json", r#"{"kind":"Pod"}"#, false),
            ("x/kind", "kind", false),
            (
                "m/namespaces/all/machine.openshift.io/machinesets/a.yaml",
                "",
                true,
            ),
            ("objects/machines.machine.openshift.io.json", "{", true),
        ] {
            assert_eq!(
                is_of_interest(Path::new(path), text, &|_| false),
                of_interest,
                "{path}: {text}"
            );
        }
    }
}
