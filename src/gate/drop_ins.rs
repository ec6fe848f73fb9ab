//! The drop-ins of ours, and the unit files of others, under a root.

use super::plan::{self, RUNTIME_UNITS};
use crate::node::{FileError, Root};
use std::collections::BTreeMap;

/// Where unit files are (systemd.unit(5), "Unit File Load Path"), the first that has a unit wins.
/// Ignition and the Machine Config Daemon write to /etc. Generators, Podman's for quadlets among
/// them, write to the three in /run.
const UNIT_FILES: [&str; 7] = [
    "/run/systemd/generator.early",
    "/etc/systemd/system",
    RUNTIME_UNITS,
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/run/systemd/generator.late",
];

/// Largest unit file that is read, in bytes.
const UNIT_FILE_MAX: u64 = 64 * 1024;

/// Most entries of a directory that are looked at.
const ENTRIES_MAX: usize = 4096;

/// What writing drop-ins came to.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// There was one to write.
    pub any: bool,
    /// The units whose drop-in could not be written, and why.
    pub failed: Vec<(String, FileError)>,
}

/// Writes this drop-in for the units that do not have it.
///
/// # Errors
/// That of a unit that is always held cannot be written.
pub(super) fn write<'a>(
    root: &Root,
    units: impl IntoIterator<Item = &'a String>,
    text: &str,
) -> Result<Written, FileError> {
    let mut written = Written::default();
    for unit in units.into_iter().filter(|unit| !has(root, unit, text)) {
        match root.write(&plan::drop_in_path(unit), text.as_bytes(), 0o644) {
            Ok(()) => written.any = true,
            Err(error) if plan::is_always(unit) => return Err(error),
            Err(error) => {
                // It may take the room that the stamp needs.
                let _ = root.remove_dir(&format!("{RUNTIME_UNITS}/{unit}.d"));
                written.failed.push((unit.clone(), error));
            }
        }
    }
    Ok(written)
}

/// Whether the drop-in of a unit is this one.
pub(super) fn has(root: &Root, unit: &str, text: &str) -> bool {
    let there = root.read(&plan::drop_in_path(unit), text.len() as u64);
    there
        .ok()
        .flatten()
        .is_some_and(|there| there == text.as_bytes())
}

/// The units that have a drop-in of ours, or that may have one because that cannot be found out.
pub(super) fn list(root: &Root) -> Result<Vec<String>, FileError> {
    let names = root.list(RUNTIME_UNITS, ENTRIES_MAX)?;
    let units = names
        .iter()
        .filter_map(|name| name.to_str()?.strip_suffix(".d"))
        .filter(|unit| plan::is_unit_name(unit));
    Ok(units
        .filter(|unit| root.exists(&plan::drop_in_path(unit)).unwrap_or(true))
        .map(str::to_owned)
        .collect())
}

/// The units that are held by a drop-in of ours.
pub(crate) fn held_units(root: &Root) -> Result<Vec<String>, FileError> {
    let let_through = plan::drop_in_let_through();
    let mut units = list(root)?;
    units.retain(|unit| !has(root, unit, &let_through));
    Ok(units)
}

/// Whether a drop-in of an admin has replaced the one of this unit.
pub(crate) fn is_overruled(root: &Root, unit: &str) -> bool {
    let path = plan::drop_in_of_an_admin(unit);
    root.exists(&path).unwrap_or(false)
}

/// Removes our drop-ins of these units, as many as can be removed. Returns whether there was any.
pub(super) fn remove<'a>(
    root: &Root,
    units: impl IntoIterator<Item = &'a String>,
) -> Result<bool, FileError> {
    let mut done = Ok(false);
    for unit in units {
        match root.remove(&plan::drop_in_path(unit)) {
            // The directory stays if it has drop-ins of others.
            Ok(removed) => {
                let _ = root.remove_dir(&format!("{RUNTIME_UNITS}/{unit}.d"));
                done = done.map(|any| any || removed);
            }
            failed => done = failed,
        }
    }
    done
}

/// The text of the files of every service, its drop-ins included. A file or directory that cannot
/// be read says nothing.
pub(super) fn services(root: &Root) -> BTreeMap<String, String> {
    let (mut files, mut drop_ins) = (BTreeMap::new(), Vec::new());
    for dir in UNIT_FILES {
        for name in list_names(root, dir) {
            let unit = name.strip_suffix(".d").unwrap_or(&name);
            if !plan::is_unit_name(unit) || !unit.ends_with(".service") {
                continue;
            }
            let path = format!("{dir}/{name}");
            if unit == name {
                files.entry(name).or_insert_with(|| read(root, &path));
            } else {
                drop_ins.push((unit.to_owned(), path));
            }
        }
    }
    for (unit, dir) in drop_ins {
        let confs = list_names(root, &dir);
        let text = files.entry(unit).or_default();
        for conf in confs.iter().filter(|conf| conf.ends_with(".conf")) {
            text.push('\n');
            text.push_str(&read(root, &format!("{dir}/{conf}")));
        }
    }
    files
}

fn list_names(root: &Root, dir: &str) -> Vec<String> {
    let names = root.list(dir, ENTRIES_MAX).unwrap_or_default();
    let text = |name: &std::ffi::OsString| name.to_str().map(str::to_owned);
    names.iter().filter_map(text).collect()
}

fn read(root: &Root, path: &str) -> String {
    let text = root.read_text(path, UNIT_FILE_MAX);
    text.ok().flatten().unwrap_or_default()
}
