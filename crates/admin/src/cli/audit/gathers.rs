//! `oc skewguard audit --from` with files of several clusters: a row each.

use super::Request;
use super::audit_request::Paths;
use super::fleet::no_sets;
use crate::audit::Origin;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::clock;
use crate::text::printable;
use skewguard_cluster::files::gathers::Gathers;
use skewguard_cluster::files::input;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Audits the clusters, one after another: what is read of one is gone before the next.
pub(super) fn read(request: &Request<'_>, gathers: &Gathers) -> (FleetAudit, Paths) {
    let from = &*request.args.from;
    let one = |(n, id): (usize, &str)| {
        let mut objects = request.streams.with_the_same_streams();
        let unread = input::read_of(from, Some((gathers, n)), &mut objects);
        // The Insights Operator writes x for each letter of a name.
        let is_name = |name: &String| name.bytes().any(|byte| !matches!(byte, b'x' | b'-'));
        let name = objects.infrastructure_name.clone().filter(is_name);
        let audit = unread.and_then(|unread| {
            let read = (unread, Origin::default());
            let audit = request.audit(objects, read, &[id.to_owned()]);
            audit.map_err(|unread| no_sets(&unread))
        });
        (n, id.to_owned(), name, audit)
    };
    let read: Vec<_> = gathers.names().enumerate().map(one).collect();
    let names: Vec<_> = read
        .iter()
        .filter_map(|(_, _, name, _)| name.clone())
        .collect();
    let is_one = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let folders: Vec<Option<String>> = (0..read.len())
        .map(|n| folder_name(&of(gathers, n, from)))
        .collect();
    let is_one_folder = |folder: &String| {
        let same = folders.iter().flatten().filter(|other| *other == folder);
        same.count() == 1 && !names.contains(folder)
    };
    let mut paths = Paths::new();
    let clusters = read.into_iter().map(|(n, id, name, audit)| {
        let folder = folders.get(n).cloned().flatten().filter(is_one_folder);
        let name = name.filter(is_one).or(folder).unwrap_or(id);
        paths.insert(name.clone(), of(gathers, n, from));
        ClusterAudit::of(name, audit)
    });
    let clusters = clusters.collect();
    let now = clock::time(SystemTime::now());
    (FleetAudit::of(clusters, now), paths)
}

/// The name of the only folder.
fn folder_name(paths: &[PathBuf]) -> Option<String> {
    let [path] = paths else {
        return None;
    };
    let path = path.canonicalize().ok().filter(|path| path.is_dir())?;
    Some(printable(path.file_name()?.to_str()?))
}

/// What has files of this cluster alone: what was named, else a folder in it. None is in an archive.
fn of(gathers: &Gathers, n: usize, from: &[PathBuf]) -> Vec<PathBuf> {
    let is_own = |path: &&Path| gathers.owner(path) == Some(n);
    let of_one = |path: &PathBuf| -> Vec<PathBuf> {
        if is_own(&path.as_path()) {
            return vec![path.clone()];
        }
        let within = gathers.places(n).filter(|place| place.starts_with(path));
        let above = within.filter_map(|place| {
            let all: Vec<&Path> = place.ancestors().collect();
            let own = all.into_iter().rev().find(is_own)?;
            own.exists().then(|| own.to_owned())
        });
        above.collect()
    };
    from.iter().flat_map(of_one).collect()
}
