//! Cluster of files, until all files are read (pure): several gathers may have the same object, at
//! different times, and a person may have named files of different clusters.

use crate::kinds::fields::text_at;
use crate::kinds::groups::CONFIG;
use crate::kinds::kind_table::is_of_sets;
use crate::kinds::metadata::{Identity, Metadata};
use crate::trouble::{Help, Trouble};
use crate::unread::{MAX_NOT_UNDERSTOOD, Unread};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file that objects are read from.
#[derive(Debug, Clone, Default)]
pub struct SourceFile {
    /// The name as a person knows it: `nodes.yaml in must-gather.tar.gz`.
    pub shown: String,
    /// Its path, through archives: `must-gather.tar.gz/nodes.yaml`.
    pub place: PathBuf,
}

/// An object of a file.
#[derive(Debug)]
pub struct Staging {
    pub group: String,
    pub kind: String,
    /// The object, without what the audit does not read.
    pub json: String,
    /// `metadata.resourceVersion`: a number that only grows within a cluster (Kubernetes, "Resource
    /// versions", since 1.35 by contract; before by what etcd does).
    version: Option<u128>,
    uid: String,
}

/// Cluster of the files.
#[derive(Debug, Default)]
pub struct Staged {
    /// The file that is read now.
    pub file: SourceFile,
    /// In the order in which they were read first.
    objects: Vec<Staging>,
    /// Questions that cannot be decided between two of the same name.
    pub conflicts: Vec<Unread>,
    pub clusters: Clusters,
    /// Place of each group, kind, namespace and name.
    places: BTreeMap<(String, String, String, String), usize>,
}

impl Staged {
    /// The objects by group, kind, namespace and name, as API servers list them: whatever was read first.
    pub fn in_order(&mut self) -> impl Iterator<Item = Staging> + use<> {
        let mut objects: Vec<Option<Staging>> = std::mem::take(&mut self.objects)
            .into_iter()
            .map(Some)
            .collect();
        let places = std::mem::take(&mut self.places).into_values();
        places.filter_map(move |place| objects.get_mut(place)?.take())
    }

    /// Takes an object of a group and kind, unless a newer one of its name was read; returns whether it is
    /// the first, or the same once more. Sets of machines must not be mixed up.
    pub fn add(
        &mut self,
        (group, kind): (&str, &str),
        identity: &Identity,
        object: &Value,
    ) -> bool {
        let is_set = is_of_sets((group, kind));
        self.clusters.add(&self.file, group, kind, object);
        let Metadata {
            namespace, name, ..
        } = identity.metadata.clone();
        let version = object.pointer("/metadata/resourceVersion");
        let new = Staging {
            group: group.to_owned(),
            kind: kind.to_owned(),
            json: without_ballast(is_set || kind == "BareMetalHost", object).to_string(),
            version: version.and_then(|version| version.as_str()?.parse().ok()),
            uid: identity.uid.clone(),
        };
        let key = (group.to_owned(), kind.to_owned(), namespace, name);
        let place = *self.places.entry(key).or_insert(self.objects.len());
        let Some(old) = self.objects.get_mut(place) else {
            self.objects.push(new);
            return true;
        };
        if new.version == old.version && new.json == old.json {
            return true;
        }
        if let Some(why) = conflict(old, &new, is_set) {
            let unread = Unread::of(kind, object, Help::EachGather.after(why)).hiding_sets(is_set);
            if self.conflicts.len() < MAX_NOT_UNDERSTOOD && !self.conflicts.contains(&unread) {
                self.conflicts.push(unread);
            }
        }
        // What two files say otherwise of a set is unknown, whichever was read first.
        if is_set && new.version == old.version && is_undecided(old, &new) {
            let mut object = object.clone();
            object.as_object_mut().map(|fields| fields.remove("spec"));
            old.json = object.to_string();
        } else if new.version > old.version {
            *old = new;
        }
        false
    }
}

/// Question that cannot be decided between two objects of one name.
fn conflict(old: &Staging, new: &Staging, is_set: bool) -> Option<&'static str> {
    let is_other = !old.uid.is_empty() && !new.uid.is_empty() && old.uid != new.uid;
    if is_other && is_set {
        Some("was read twice, with different uids: it was made anew, or is another cluster's")
    } else if old.version.is_none() && new.version.is_none() || is_set && is_undecided(old, new) {
        Some(
            "was read twice, and differs; without metadata.resourceVersion it is not known which is newer",
        )
    } else {
        None
    }
}

/// Tells whether two objects of one name ask for different things, and it is not known which is newer.
fn is_undecided(old: &Staging, new: &Staging) -> bool {
    let is_ordered = old.version.is_some() && new.version.is_some() && old.version != new.version;
    let spec = |one: &Staging| {
        let object = serde_json::from_str::<Value>(&one.json).ok()?;
        object.get("spec").cloned()
    };
    !is_ordered && spec(old) != spec(new)
}

/// The object without what is large and says nothing to the audit: who manages which field says who
/// keeps a set.
fn without_ballast(is_managed: bool, object: &Value) -> Value {
    let mut object = object.clone();
    let fields = [("/metadata", "managedFields"), ("/status", "images")];
    for (place, field) in fields.into_iter().skip(usize::from(is_managed)) {
        let fields = object.pointer_mut(place).and_then(Value::as_object_mut);
        if let Some(fields) = fields {
            fields.remove(field);
        }
    }
    // The files of a node, in a MachineConfig: large, and nobody's business.
    if object.pointer("/spec/config/ignition").is_some()
        && let Some(spec) = object.pointer_mut("/spec").and_then(Value::as_object_mut)
    {
        spec.remove("config");
    }
    object
}

/// Fields that tell clusters apart, the surest first.
const IDENTITIES: [(&str, &str, &str); 3] = [
    ("ClusterVersion", "/spec/clusterID", "clusterID"),
    (
        "Infrastructure",
        "/status/infrastructureName",
        "infrastructureName",
    ),
    ("Infrastructure", "/status/apiServerURL", "apiServerURL"),
];

/// Which clusters the objects are of.
#[derive(Debug, Default)]
pub struct Clusters {
    /// For each of [`IDENTITIES`] its values, in order, each with the name of its first file.
    found: [Vec<(String, String)>; 3],
}

impl Clusters {
    fn add(&mut self, file: &SourceFile, group: &str, kind: &str, object: &Value) {
        for ((of, path, _), found) in IDENTITIES.iter().zip(&mut self.found) {
            let is_of = *of == kind && group == CONFIG;
            if let Some(value) = text_at(object, path).filter(|_| is_of)
                && !found.iter().any(|(known, _)| *known == value)
            {
                found.push((value, file.shown.clone()));
            }
        }
    }

    /// # Errors
    /// They are of more than one.
    pub fn one(&self) -> Result<(), Trouble> {
        for ((.., name), found) in IDENTITIES.iter().zip(&self.found) {
            if found.len() > 1 {
                let all = found.iter().take(10);
                let all: Vec<String> = all
                    .map(|(value, file)| format!("{value} ({file})"))
                    .collect();
                let all = all.join(", ");
                return Err(Help::OneCluster.after(format!(
                    "objects of {} clusters were read, by their {name}: {all}",
                    found.len()
                )));
            }
        }
        Ok(())
    }
}
