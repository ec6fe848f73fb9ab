//! The names of files, as gathers have them, and the kinds of the objects in them (pure).

use super::groups::*;
use super::kind::{Kind, Purpose};
use super::kind_table::{MAKERS, asked_for};
use std::path::Path;

/// The namespaces of a node's network: without their pods it is not Ready.
const NETWORKS: [&str; 3] = [
    "openshift-multus",
    "openshift-ovn-kubernetes",
    "openshift-sdn",
];

/// Tells whether a file of this path may have objects of a kind of this name, for what says why a machine
/// is no Node: those of some kinds are read in some namespaces alone.
pub fn is_in_file(path: &Path, kind: &str) -> bool {
    let rows = || asked_for(Purpose::Nodes).filter(|row| row.purpose == Purpose::Nodes);
    let is_namespaced = |row: &&Kind| !row.namespaces.is_empty();
    let mut parts = path.iter().skip_while(|part| *part != "namespaces");
    let namespace = parts.nth(1).and_then(|part| part.to_str());
    let is_near = || {
        let mut all = rows().filter(is_namespaced);
        all.any(|row| namespace.is_some_and(|name| row.namespaces.contains(&name)))
    };
    let mut own = rows().filter(|row| row.kind == kind);
    let is_of_network = || namespace.is_some_and(|name| NETWORKS.contains(&name));
    own.any(|row| !is_namespaced(&row) || namespace.is_none() || is_near())
        || kind == "Pod" && is_of_network()
}

/// Tells whether a file of this path has objects of these kinds, as `oc adm inspect` and the printed
/// commands name files.
pub fn is_in_path(path: &str) -> bool {
    let mut named = asked_for(Purpose::Sets).filter(|kind| !kind.group.is_empty());
    let is_named = |Kind { group, plural, .. }: &Kind| {
        path.contains(&format!("/{group}/{plural}")) || path.contains(&format!("/{plural}.{group}"))
    };
    named.any(is_named)
        || path.contains("/core/nodes/")
        || path.contains(INFRASTRUCTURE)
        || MAKERS
            .iter()
            .any(|(group, _)| match group.strip_suffix('*') {
                Some(begin) => !begin.is_empty() && path.contains(&format!("/{begin}")),
                None => path.contains(&format!("/{group}/")),
            })
}

/// Tells whether objects of a kind of this name are read, whatever their group is.
pub fn is_name_of_one(kind: &str) -> bool {
    let ends = ["Machine", "MachineTemplate", "MachinePool", "NodeClass"];
    ends.iter().any(|end| kind.ends_with(end))
        || asked_for(Purpose::Sets).any(|row| row.kind == kind)
}

/// Group and kind of the object in a file of an Insights archive, where it does not say them: what
/// typed clients list has none (openshift/insights-operator, `docs/gathered-data.md`).
pub fn kind_of_file(place: &Path) -> Option<(&'static str, &'static str)> {
    let place = place.with_extension("");
    let mut parts = place.iter().rev().map_while(|part| part.to_str());
    let [name, folder, above] = [(); 3].map(|()| parts.next().unwrap_or_default());
    match (folder, name) {
        ("config", "version") => return Some((CONFIG, "ClusterVersion")),
        ("config", "infrastructure") => return Some((CONFIG, "Infrastructure")),
        ("node", _) if above == "config" => return Some(("", "Node")),
        ("clusteroperator", _) if above == "config" => return Some((CONFIG, "ClusterOperator")),
        _ => {}
    }
    // `machines/NAME`, or `machines/NAMESPACE/NAME`.
    let is_it = |kind: &&Kind| {
        let is_kept = matches!(kind.group, MACHINE_API | MACHINE_CONFIG);
        is_kept && [folder, above].contains(&kind.plural)
    };
    let kind = asked_for(Purpose::Sets).find(is_it)?;
    Some((kind.group, kind.kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_namespaces_of_a_gather_are_read() {
        for (path, kind, wanted) in [
            (
                "g/namespaces/openshift-machine-api/core/events.yaml",
                "Event",
                true,
            ),
            (
                "g/namespaces/openshift-etcd/core/events.yaml",
                "Event",
                false,
            ),
            ("events.json", "Event", true),
            (
                "g/cluster-scoped-resources/x.yaml",
                "CertificateSigningRequest",
                true,
            ),
            (
                "g/namespaces/openshift-etcd/core/services.yaml",
                "Service",
                false,
            ),
        ] {
            assert_eq!(is_in_file(Path::new(path), kind), wanted, "{path}");
        }
    }
}
