//! Changes that `enforce`, `allow` and `report` make on a node: under one lock, and the message.

use super::Io;
use crate::console::live;
use crate::gate::{self, Systemd};
use crate::node::{FileError, Lock, Root};
use std::time::Duration;

/// Takes the lock over what `enforce`, `allow` and `report` change on a node. If that fails, says
/// so and goes on: it must stop neither the boot nor an admin.
pub(super) fn lock(root: &Root, patience: Duration, io: &mut Io<'_>) -> Option<Lock> {
    Lock::take(root, patience)
        .map_err(|error| io.say(format_args!("{error}; going on without the lock")))
        .ok()
}

/// Shows a change of the message on the console. If it failed, says so and goes on.
pub(super) fn message(root: &Root, changed: Result<bool, FileError>, io: &mut Io<'_>) {
    io.note(
        live::show_change(root, changed)
            .map_err(|error| format!("the message on the console: {error}")),
    );
}

/// Removes drop-ins that have no purpose on this boot. Returns what there is to say of it.
pub(super) fn cleared(root: &Root) -> Option<String> {
    let systemd = root.is_live().then(Systemd::system);
    match gate::clear(root, systemd.as_ref()) {
        Ok(any) => any.then(|| "drop-ins without a purpose were removed: nothing is held".into()),
        Err(error) => Some(error.to_string()),
    }
}
