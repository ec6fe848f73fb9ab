//! The files and folders of `--from`.

use super::folder;
use crate::audit::{Objects, Unread};
use crate::cli::{named, read_file};
use crate::text::printable;
use std::path::Path;

/// The most that is read of one file.
const MAX_FILE: u64 = 512 << 20;

/// Adds the objects of a file, or of all files of a folder, and returns what could not be read. One
/// of several that is not there may have been meant as a set.
pub(in crate::cli) fn read_path(
    path: &Path,
    is_of_several: bool,
    objects: &mut Objects,
) -> Vec<Unread> {
    let unread = |path: &Path, why: String| Unread {
        what: named(path),
        why,
        hides_sets: true,
    };
    if !path.is_dir() {
        let is_missing = path != Path::new("-") && matches!(path.try_exists(), Ok(false));
        let also = if is_missing && is_of_several {
            "; sets to show come before --from"
        } else {
            ""
        };
        return match read_text(path).and_then(|text| add(path, &text, objects)) {
            Ok(()) => Vec::new(),
            Err(why) => vec![unread(path, why + also)],
        };
    }
    let files = match folder::files(path) {
        Ok(files) => files,
        Err(error) => return vec![unread(path, error.to_string())],
    };
    let mut failed = Vec::new();
    for file in files {
        let added = read_text(&file).and_then(|text| {
            if folder::is_of_interest(&file, &text) {
                add(&file, &text, objects)
            } else {
                Ok(())
            }
        });
        if let Err(why) = added {
            failed.push(unread(&file, why));
        }
    }
    failed
}

pub(super) fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read_file(path, MAX_FILE)?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}

fn add(path: &Path, text: &str, objects: &mut Objects) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    if let Some(node) = folder::node_of_aleph(path) {
        return objects.add_aleph(node, text.as_bytes());
    }
    let added = objects.add_file(&named(path), text);
    added.map_err(|error| printable(&error))
}
