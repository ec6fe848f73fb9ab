//! Adds objects to a cluster, each by the row of its kind (pure).

use crate::aleph;
use crate::cluster::{Cluster, Purpose};
use crate::files::staged::{Staged, Staging};
use crate::kinds::fields::{str_at, text_at};
use crate::kinds::file_names::kind_of_file;
use crate::kinds::groups::{INFRASTRUCTURE, REQUEST, SECRET};
use crate::kinds::image;
use crate::kinds::kind::Kind;
use crate::kinds::kind_table;
use crate::kinds::metadata::Metadata;
use crate::kinds::stream::images_of_streams;
use crate::kinds::user_data::{self, UserData};
use crate::text::printable;
use crate::unread::Unread;
use serde_json::Value;

/// The most objects that are read.
pub const MAX_OBJECTS: usize = 200_000;

/// Name of what has neither kind nor name.
pub const OBJECT: &str = "object";

impl Cluster {
    /// Adds what the files have, once all are read: of an object that several have, the newest.
    ///
    /// # Errors
    /// The objects are of more than one cluster.
    pub fn settle(&mut self) -> Result<(), String> {
        let Staged {
            objects,
            conflicts,
            clusters,
            ..
        } = std::mem::take(&mut self.staged);
        clusters.one()?;
        self.not_understood.extend(conflicts);
        for Staging {
            group, kind, json, ..
        } in objects
        {
            let object = serde_json::from_str(&json).map_err(no_json)?;
            self.add_named(&group, &kind, &object);
        }
        Ok(())
    }

    /// Adds the images of stream metadata, of any number of releases.
    ///
    /// # Errors
    /// It is something else. The text does not name the file.
    pub fn add_streams(&mut self, file: &str, text: &str) -> Result<(), String> {
        let images = images_of_streams(text)?;
        let published = images.into_iter().filter(|own| own.image.is_some());
        self.streams
            .extend(published.map(|own| (file.to_owned(), own)));
        Ok(())
    }

    /// Adds the aleph file of a node.
    ///
    /// # Errors
    /// It is none, or names no version. The text does not name the file.
    pub fn add_aleph(&mut self, node: &str, bytes: &[u8]) -> Result<(), String> {
        let version = aleph::version(bytes)?;
        self.count += 1;
        self.alephs.insert(printable(node), version);
        Ok(())
    }

    /// Adds an object of this kind, else of its own, else of its list's.
    pub fn add(
        &mut self,
        of: Option<(&str, &str)>,
        of_list: (&str, &str),
        object: &Value,
    ) -> Result<(), String> {
        self.count += 1;
        if self.count > MAX_OBJECTS {
            return Err(format!("there are more than {MAX_OBJECTS} objects"));
        }
        let own = || {
            str_at(object, "/kind")
                .map(|kind| (str_at(object, "/apiVersion").unwrap_or_default(), kind))
        };
        let (api_version, kind) = of.or_else(own).unwrap_or(of_list);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let (group, kind) = match kind {
            "" => kind_in_link(object)
                .or_else(|| kind_of_file(&self.staged.file.place))
                .unwrap_or_default(),
            kind => (group, kind),
        };
        let is_kept = kind_table::is_read_for(self.purpose, group, kind);
        let secret;
        let object = if (group, kind) == ("", SECRET) {
            secret = self.without_user_data(object);
            &secret
        } else {
            object
        };
        let is_of_file = of.is_none();
        let is_one_of_many =
            self.purpose == Purpose::Nodes && kind_table::is_one_of_many(group, kind);
        if is_of_file && is_kept && !is_one_of_many && has_name(object) {
            let is_set = kind_table::is_of_sets(group, kind);
            self.doubles += usize::from(!self.staged.add((group, kind), is_set, object));
        } else if is_one_of_many || self.is_new(group, kind, object) {
            self.add_named(group, kind, object);
        } else {
            self.doubles += 1;
        }
        Ok(())
    }

    /// Takes note of a list without items, of this kind where it says that.
    pub fn note_empty(&mut self, kind: &str) {
        self.empty_lists += 1;
        let place = self.staged.file.place.file_stem();
        let stem = place.and_then(|stem| stem.to_str()).unwrap_or_default();
        let stem = stem.to_ascii_lowercase();
        let begins = |words: &[&str]| words.iter().any(|word| stem.starts_with(word));
        // `oc get -o json` does not say the kind of an empty list: its file's name may.
        let kind = match kind {
            "" if begins(&["machines", "machine.json"]) && !begins(&["machinesets"]) => "Machine",
            "" if begins(&["nodes"]) => "Node",
            "" if begins(&["certificatesigningrequests", "csr"]) => REQUEST,
            kind => kind,
        };
        self.empty.insert(kind.to_owned());
    }

    /// Keeps the user data of a Secret.
    pub fn add_user_data(&mut self, secret: &Value) {
        self.without_user_data(secret);
    }

    /// Keeps the user data of a Secret, and gives back what else may be kept of it.
    fn without_user_data(&mut self, secret: &Value) -> Value {
        let Metadata {
            namespace, name, ..
        } = Metadata::of(secret);
        let read = UserData::of(secret);
        let stub = user_data::without_content(secret, read.as_ref());
        self.user_data
            .extend(read.map(|read| ((namespace, name), read)));
        stub
    }

    /// Adds an object of a kind, or names it among those that could not be understood.
    fn add_named(&mut self, group: &str, kind: &str, object: &Value) {
        let kept = self.add_kind(group, kind, object);
        let is_kept = kept.is_ok();
        let is_set = kind_table::is_of_sets(group, kind);
        let unfit = |fields: Vec<String>| {
            let is_named = !fields.is_empty() && kind_table::is_read(group, kind);
            is_named.then(|| format!("{}: what it says is not understood", fields.join(", ")))
        };
        if let Some(why) = kept.map_or_else(Some, unfit) {
            let kind = if kind.is_empty() { OBJECT } else { kind };
            let what = format!("{} {}", printable(kind), Metadata::of(object).full_name());
            self.not_understood.push(Unread {
                hides_sets: is_set && !is_kept,
                makes_nodes: is_set && is_kept,
                ..Unread::new(what.trim_end(), why)
            });
        }
    }

    /// Tells whether it is the first of its kind, namespace, name and uid. The uid alone is not enough:
    /// tools that make objects anonymous give all of them the same.
    fn is_new(&mut self, group: &str, kind: &str, object: &Value) -> bool {
        let Metadata {
            namespace, name, ..
        } = Metadata::of(object);
        let uid = text_at(object, "/metadata/uid").unwrap_or_default();
        // What has neither name nor uid is told apart by nothing.
        if name.is_empty() && uid.is_empty() {
            return true;
        }
        self.seen.add(&(group, kind, namespace, name, uid))
    }

    /// Adds an object, and returns its fields of another type, in words.
    fn add_kind(&mut self, group: &str, kind: &str, object: &Value) -> Result<Vec<String>, String> {
        if kind.is_empty() {
            return Err("has no kind: `oc get -o json` prints what is read".to_owned());
        }
        // What the commands that gather objects leave where one could not be read.
        if (group, kind) == ("", "Status") && str_at(object, "/status") == Some("Failure") {
            self.not_understood.push(kind_table::unread(object));
            return Ok(Vec::new());
        }
        let unfit = match kind_table::row(group, kind) {
            Some(row) => {
                self.saw(Metadata::of(object).created);
                // The newest Event is about when the cluster was as it is read.
                let is_kept =
                    row.purpose <= self.purpose || kind_table::is_one_of_many(group, kind);
                if !is_kept {
                    return Ok(Vec::new());
                }
                (row.keep)(self, object)
            }
            None if group == INFRASTRUCTURE => {
                self.keep_infrastructure_machine(kind, object);
                Vec::new()
            }
            None => {
                self.foreign += 1;
                let maker = maker_not_understood(group, kind, object);
                self.not_understood.extend(maker);
                return Ok(Vec::new());
            }
        };
        if kind_table::is_read(group, kind) && !has_name(object) {
            return Err("has no name".to_owned());
        }
        Ok(unfit)
    }

    /// An object that the Cluster API makes a machine from.
    fn keep_infrastructure_machine(&mut self, kind: &str, object: &Value) {
        let spec = match kind {
            _ if kind.ends_with("Template") => "/spec/template/spec",
            "AWSMachinePool" => "/spec/awsLaunchTemplate",
            _ if kind.ends_with("MachinePool") => "/spec/template",
            _ => "/spec",
        };
        let Metadata {
            namespace, name, ..
        } = Metadata::of(object);
        let image = image::read_spec(kind, object.pointer(spec).unwrap_or(&Value::Null));
        self.infrastructure
            .insert((printable(kind), namespace, name), image);
    }
}

/// An object of a kind that may make machines and is not understood; `None` where it makes none.
fn maker_not_understood(group: &str, kind: &str, object: &Value) -> Option<Unread> {
    if !kind_table::is_unknown_maker(group, kind) {
        return None;
    }
    let what = format!("{} {}", printable(kind), Metadata::of(object).full_name());
    let group = printable(group);
    let why =
        format!("what its API group {group} makes nodes from is not understood for this kind");
    Some(Unread {
        makes_nodes: true,
        ..Unread::new(what.trim_end(), why)
    })
}

pub fn no_json(error: serde_json::Error) -> String {
    format!("is not a JSON object of the cluster: {error}")
}

fn has_name(object: &Value) -> bool {
    str_at(object, "/metadata/name").is_some()
}

/// Group and kind of an object without either, by the link to itself that API servers gave to
/// objects until Kubernetes 1.20 (`/apis/config.openshift.io/v1/clusterversions/version`): the
/// sample archive of openshift/insights-operator has such objects.
fn kind_in_link(object: &Value) -> Option<(&'static str, &'static str)> {
    let link = str_at(object, "/metadata/selfLink")?;
    let parts: Vec<&str> = link.trim_start_matches('/').split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return None,
    };
    let plural = match rest {
        ["namespaces", _, plural, ..] | [plural, _] => *plural,
        _ => return None,
    };
    let is_it = |kind: &&Kind| kind.group == group && kind.plural == plural;
    let row = kind_table::asked_for(Purpose::Nodes).find(is_it)?;
    Some((row.group, row.kind))
}
