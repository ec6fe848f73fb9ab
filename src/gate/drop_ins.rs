//! The drop-ins of ours, and the unit files of others, under a root.

use super::always_held::is_always;
use super::{GateError, UnitState};
use crate::node::units::{FIRSTBOOT, SKEWGUARD, is_unit_name};
use crate::node::{FileError, Root, STAMP_PATH};
use std::collections::BTreeMap;

/// Unit files of the running boot (systemd.unit(5), "Unit File Load Path").
const RUNTIME_UNITS: &str = "/run/systemd/system";

const DROP_IN_NAME: &str = "50-skewguard.conf";

/// Folders of unit files (systemd.unit(5), "Unit File Load Path"), the first that has a unit wins.
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

/// Limit of the entries of a directory that are looked at.
const ENTRIES_MAX: usize = 4096;

fn path_of(unit: &str) -> String {
    format!("{RUNTIME_UNITS}/{unit}.d/{DROP_IN_NAME}")
}

/// An admin's drop-in of the same name, which systemd reads instead of ours.
pub(crate) fn drop_in_of_an_admin(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}.d/{DROP_IN_NAME}")
}

/// The drop-in that holds, the same for every unit. A mask would not work, because a unit file in
/// /etc wins over one in /run; a drop-in applies to both. The assertion is for `systemctl
/// --job-mode=ignore-requirements start`, which ignores dependencies.
pub(super) fn hold_drop_in() -> String {
    format!(
        "# Written by skewguard: this boot is refused, see /etc/issue.\n\
         # \"skewguard allow\" lets the node through and replaces this file.\n\
         [Unit]\nRequires={SKEWGUARD}\nAfter={SKEWGUARD}\nAssertPathExists=!{STAMP_PATH}\n"
    )
}

/// The drop-in of a node that was let through, in the place of the one that holds. Whatever starts
/// the unit starts the rebase, and waits for it: in the newer wiring nothing else would keep a
/// kubelet that somebody starts alone from joining on the old OS.
pub(super) fn release_drop_in() -> String {
    format!(
        "# Written by skewguard: \"skewguard allow\" let this boot through. The OS update comes first.\n\
         [Unit]\nRequires={FIRSTBOOT}\nAfter={FIRSTBOOT}\n"
    )
}

/// The outcome of writing drop-ins.
#[derive(Debug, Default)]
pub(super) struct WriteResult {
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
) -> Result<WriteResult, FileError> {
    let mut written = WriteResult::default();
    for unit in units.into_iter().filter(|unit| !has(root, unit, text)) {
        match root.write(&path_of(unit), text.as_bytes(), 0o644) {
            Ok(()) => written.any = true,
            Err(error) if is_always(unit) => return Err(error),
            Err(error) => {
                // It may take the room that the stamp needs.
                let _ = root.remove_dir(&format!("{RUNTIME_UNITS}/{unit}.d"));
                written.failed.push((unit.clone(), error));
            }
        }
    }
    Ok(written)
}

/// The drop-in of a unit is this one.
pub(super) fn has(root: &Root, unit: &str, text: &str) -> bool {
    let there = root.read(&path_of(unit), text.len() as u64);
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
        .filter(|unit| is_unit_name(unit));
    Ok(units
        .filter(|unit| root.exists(&path_of(unit)).unwrap_or(true))
        .map(str::to_owned)
        .collect())
}

/// The units that are held by a drop-in of ours.
pub(crate) fn held_units(root: &Root) -> Result<Vec<String>, FileError> {
    let let_through = release_drop_in();
    let mut units = list(root)?;
    units.retain(|unit| !has(root, unit, &let_through));
    Ok(units)
}

/// The unit, if systemd applies the drop-in that holds, or cannot start it.
pub(super) fn applied(root: &Root, unit: String, state: &UnitState) -> Result<String, GateError> {
    let is = "is not held";
    match state.missing() {
        None => Ok(unit),
        Some(_) if is_overruled(root, &unit) => Err(GateError::Overruled { unit, is }),
        Some(missing) => Err(GateError::NotHeld { unit, missing }),
    }
}

/// An admin's drop-in has replaced this unit's.
pub(crate) fn is_overruled(root: &Root, unit: &str) -> bool {
    let path = drop_in_of_an_admin(unit);
    root.exists(&path).unwrap_or(false)
}

/// Removes our drop-ins of these units, as many as can be removed. Returns whether there was any.
pub(super) fn remove<'a>(
    root: &Root,
    units: impl IntoIterator<Item = &'a String>,
) -> Result<bool, FileError> {
    let mut done = Ok(false);
    for unit in units {
        match root.remove(&path_of(unit)) {
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
            if !is_unit_name(unit) || !unit.ends_with(".service") {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drop_in_in_full() {
        assert_eq!(
            path_of("crio.service"),
            "/run/systemd/system/crio.service.d/50-skewguard.conf"
        );
        assert_eq!(
            hold_drop_in(),
            "# Written by skewguard: this boot is refused, see /etc/issue.\n# \"skewguard allow\" lets the node through and replaces this file.\n\
             [Unit]\nRequires=skewguard.service\nAfter=skewguard.service\nAssertPathExists=!/run/skewguard/refused\n"
        );
        assert_eq!(
            release_drop_in(),
            "# Written by skewguard: \"skewguard allow\" let this boot through. The OS update comes first.\n\
             [Unit]\nRequires=machine-config-daemon-firstboot.service\nAfter=machine-config-daemon-firstboot.service\n"
        );
    }
}
