//! Files of several clusters (pure): a file is of the cluster whose ClusterVersion, or
//! Infrastructure, is the nearest to it.

use std::path::{Path, PathBuf};

/// Several clusters, by what tells them apart: its value, and the places of the files that have it.
#[derive(Debug)]
pub struct Gathers {
    clusters: Vec<(String, Vec<PathBuf>)>,
}

impl Gathers {
    pub fn of(clusters: &[(String, Vec<PathBuf>)]) -> Self {
        Self {
            clusters: clusters.to_vec(),
        }
    }

    /// Names that tell each of them from the others.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.clusters.iter().map(|(name, _)| name.as_str())
    }

    /// The places of the files that tell this one from the others.
    pub fn places(&self, cluster: usize) -> impl Iterator<Item = &Path> {
        let own = self.clusters.get(cluster).into_iter();
        own.flat_map(|(_, places)| places).map(PathBuf::as_path)
    }

    /// The cluster that a file is of: that of the innermost gather around it, else of the nearest one; `None`
    /// where it could be any of several.
    pub fn owner(&self, place: &Path) -> Option<usize> {
        let depth = |path: &Path| path.components().count();
        let around = |other: &Path| match gather(other) {
            _ if other == place => usize::MAX,
            gather if place.starts_with(gather) => depth(gather),
            _ => 0,
        };
        self.best(around)
            .or_else(|| self.best(|other| common(other, place)))
    }

    /// The one cluster with the highest value of all.
    fn best(&self, value: impl Fn(&Path) -> usize) -> Option<usize> {
        let of =
            |(_, places): &(String, Vec<PathBuf>)| places.iter().map(|place| value(place)).max();
        let all: Vec<_> = self.clusters.iter().map(of).collect();
        let best = all.iter().max()?;
        let mut owners = all.iter().enumerate().filter(|(_, of)| *of == best);
        let (owner, _) = owners.next()?;
        owners.next().is_none().then_some(owner)
    }

    /// Tells whether nothing below this place, such as the files of an archive, is of a cluster.
    pub fn is_elsewhere(&self, cluster: usize, place: &Path) -> bool {
        let own = self.clusters.get(cluster);
        let is_within = own.is_some_and(|(_, own)| own.iter().any(|own| own.starts_with(place)));
        !is_within && self.owner(place).is_some_and(|owner| owner != cluster)
    }
}

/// The folder of the gather that a ClusterVersion or Infrastructure is in, as `oc adm inspect` and the Insights
/// Operator place it, and others beside the rest.
fn gather(place: &Path) -> &Path {
    const WITHIN: [&str; 5] = [
        "clusterversions",
        "infrastructures",
        "config.openshift.io",
        "cluster-scoped-resources",
        "config",
    ];
    let is_within = |folder: &&Path| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| WITHIN.contains(&name))
    };
    let mut folders = place.ancestors().skip(1);
    folders.find(|folder| !is_within(folder)).unwrap_or(place)
}

/// Folders that two paths have in common.
fn common(a: &Path, b: &Path) -> usize {
    let pairs = a.components().zip(b.components());
    pairs.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_the_nearest_cluster() {
        let places = |places: &[&str]| places.iter().map(PathBuf::from).collect::<Vec<_>>();
        let gathers = Gathers::of(&[
            (
                "a".to_owned(),
                places(&["mg.1/q/config/version.yaml", "x.tgz/mg.1/version.yaml"]),
            ),
            ("b".to_owned(), places(&["mg.2/q/config/version.yaml"])),
            (
                "hosted".to_owned(),
                places(&["mg.2/q/hosted/config.openshift.io/clusterversions/version.yaml"]),
            ),
        ]);
        for (place, owner) in [
            ("mg.1/q/nodes.yaml", Some(0)),
            ("mg.2/q/nodes.yaml", Some(1)),
            ("mg.2/q/hosted/nodes.yaml", Some(2)),
            ("mg.2/nodes.yaml", None),
            ("mg.2/other/nodes.yaml", None),
            ("x.tgz/mg.2/nodes.yaml", Some(0)),
            ("x.tgz", Some(0)),
            ("nodes.yaml", None),
        ] {
            assert_eq!(gathers.owner(Path::new(place)), owner, "{place}");
        }
        assert!(gathers.is_elsewhere(1, Path::new("x.tgz")));
        assert!(!gathers.is_elsewhere(0, Path::new("x.tgz")));
        // Both may be below.
        assert!(!gathers.is_elsewhere(1, Path::new("mg.2")));
        assert!(!gathers.is_elsewhere(2, Path::new("mg.2")));
    }
}
