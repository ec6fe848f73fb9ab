//! Whether the node has joined in this installation. An installation is its root's /etc: /var may be
//! older, and no clock is asked where something better is known.

use super::certificates::{CURRENT, PKI, is_on_etc, read};
use super::der::not_before;
use super::machine_config::ENCAPSULATED_PATH;
use super::record::{Record, STATE_PATH};
use super::snapshot::Node;
use super::{KUBELET_KUBECONFIG, Root, sha256_hex};
use crate::clock;
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The annotations of the node's first Node, which the Machine Config Daemon's pod renames.
const ANNOTATIONS: &str = "/etc/machine-config-daemon/node-annotation.json.bak";

/// The config that the Machine Config Daemon applied last. Some releases write it before the
/// rebase.
pub(super) const CURRENT_CONFIG: &str = "/etc/machine-config-daemon/currentconfig";

/// Largest state of the report that is read, in bytes.
const STATE_MAX: u64 = 64 << 10;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The day that this program's commit was made, else the project's first.
const MADE: &str = match crate::COMMIT_DATE {
    Some(date) if !date.is_empty() => date,
    _ => "2026-11-21",
};

/// Whether a node has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Joined {
    No,
    /// It may have, because of this.
    Maybe(String),
    Yes,
}

impl Node<'_> {
    /// Looks if the node has joined in this installation.
    pub(crate) fn joined(&self) -> Joined {
        find(self)
    }

    /// The node has joined in this installation, for all that is known.
    pub(crate) fn has_joined(&self) -> bool {
        self.joined() == Joined::Yes
    }
}

/// Looks for what only a node has that has joined.
fn find(node: &Node<'_>) -> Joined {
    let root = node.root;
    let record = node.record();
    if root.exists(ANNOTATIONS).unwrap_or(false) || is_labelled(node) {
        return Joined::Yes;
    }
    // On the first boot of an installation nothing under /var is evidence, unless it is newer than
    // the record of this boot.
    if node.is_new() && record.is_none() {
        return Joined::No;
    }
    let path = format!("{PKI}/{CURRENT}");
    let blocks = match read(root, &path) {
        Ok(Some(blocks)) => blocks,
        Ok(None) => return Joined::No,
        Err(error) => return Joined::Maybe(error.to_string()),
    };
    if let Some(known) = record.and_then(|record| looked_at(root, record)) {
        return match blocks.iter().all(|der| known.contains(&sha256_hex(der))) {
            true => Joined::No,
            false => Joined::Yes,
        };
    }
    let begun = match record.and_then(|record| record.time) {
        None => root.written(ENCAPSULATED_PATH).ok().flatten(),
        Some(time) => UNIX_EPOCH.checked_add(Duration::from_secs(time)),
    };
    let is_older = |begun: SystemTime| {
        let mut day_before = clock::time(begun.checked_sub(DAY).unwrap_or(UNIX_EPOCH));
        day_before.retain(|digit| digit.is_ascii_digit());
        let is_old = |der: &Vec<u8>| not_before(der).is_some_and(|from| from < day_before);
        is_credible(&clock::time(begun)) && blocks.iter().all(is_old)
    };
    if begun.is_some_and(is_older) {
        return Joined::No;
    }
    Joined::Maybe(format!(
        "{path}: whether it was issued to an earlier installation is not known"
    ))
}

/// Signs of a kubelet that was started, where there is no config of a first boot and no record.
pub(super) fn was_started(root: &Root) -> Option<&'static str> {
    let paths = [KUBELET_KUBECONFIG, CURRENT_CONFIG];
    paths
        .into_iter()
        .find(|path| root.exists(path).unwrap_or(true))
}

/// A time between the making of this program and ten years later. A clock that was not set says
/// another one.
fn is_credible(time: &str) -> bool {
    let (year, day) = MADE.split_at_checked(4).unwrap_or_default();
    let end = year.parse().unwrap_or(0) + 10;
    time >= MADE && *time < *format!("{end}{day}")
}

/// The certificates that the first run saw, if it looked at this file system.
fn looked_at<'a>(root: &Root, record: &'a Record) -> Option<&'a [String]> {
    let known = record.certificates.as_deref()?;
    (record.kubelet_on_etc.is_some() && record.kubelet_on_etc == is_on_etc(root)).then_some(known)
}

/// The report labelled a Node of this installation.
fn is_labelled(node: &Node<'_>) -> bool {
    let Some(id) = node.record().and_then(Record::id) else {
        return false;
    };
    let state = node.root.read_text(STATE_PATH, STATE_MAX).ok().flatten();
    let label: Value = state
        .and_then(|state| serde_json::from_str(&state).ok())
        .unwrap_or_default();
    let text = |name: &str| label.get(name).and_then(Value::as_str);
    text("nodePatch").is_some() && text("installation") == Some(id)
}
