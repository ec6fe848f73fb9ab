//! Adds objects to a cluster, each by the row of its kind (pure).

use crate::aleph;
use crate::cluster::Cluster;
use crate::files::staged::Staging;
use crate::kinds::file_names::kind_of_file;
use crate::kinds::groups::{
    CERTIFICATES, CLUSTER_API, INFRASTRUCTURE, MACHINE_API, REQUEST, SECRET,
};
use crate::kinds::image;
use crate::kinds::keep::{keep, keep_conditions};
use crate::kinds::kind::{Kind, Purpose};
use crate::kinds::kind_table;
use crate::kinds::metadata::{Identity, Metadata};
use crate::kinds::node::Node;
use crate::kinds::stream::images_of_streams;
use crate::kinds::user_data::{self, UserData};
use crate::lenient;
use crate::text::printable;
use crate::trouble::{Help, Trouble};
use crate::unread::Unread;
use serde_json::Value;

/// The most objects that are read.
pub const MAX_OBJECTS: usize = 200_000;

/// Name of what has neither kind nor name.
pub const OBJECT: &str = "object";

/// The group of an `apiVersion`; empty for the core.
pub fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Adds what the files have, once all are read: of an object that several have, the newest.
///
/// # Errors
/// The objects are of more than one cluster.
pub fn settle(all: &mut Cluster) -> Result<(), Trouble> {
    let mut staged = std::mem::take(&mut all.staged);
    staged.clusters.one()?;
    let objects = staged.in_order();
    all.not_understood.extend(staged.conflicts);
    for Staging {
        group, kind, json, ..
    } in objects
    {
        let object = serde_json::from_str(&json).map_err(no_json)?;
        put(all, (&group, &kind), &object);
    }
    Ok(())
}

/// Adds the images of stream metadata, of any number of releases.
///
/// # Errors
/// It is something else. The text does not name the file.
pub fn add_streams(all: &mut Cluster, file: &str, text: &str) -> Result<(), String> {
    let images = images_of_streams(text)?;
    let published = images.into_iter().filter(|own| own.image.is_some());
    let named = published.map(|own| (file.to_owned(), own));
    all.streams.extend(named);
    Ok(())
}

/// Adds the aleph file of a node.
///
/// # Errors
/// It is none, or names no version. The text does not name the file.
pub fn add_aleph(all: &mut Cluster, node: &str, bytes: &[u8]) -> Result<(), Trouble> {
    let version = aleph::version(bytes)?;
    all.count += 1;
    all.alephs.insert(printable(node), version);
    Ok(())
}

/// Adds an object of this `apiVersion` and kind, else of its own, else of its list's.
///
/// # Errors
/// There are too many.
pub fn add(
    all: &mut Cluster,
    of: Option<(&str, &str)>,
    of_list: (&str, &str),
    object: &Value,
) -> Result<(), Trouble> {
    all.count += 1;
    if all.count > MAX_OBJECTS {
        return Err(format!("there are more than {MAX_OBJECTS} objects").into());
    }
    let identity: Identity = lenient::known(object);
    let own = Some((&*identity.api_version.0, &*identity.kind.0));
    let own = own.filter(|(_, kind)| !kind.is_empty());
    let (api_version, kind) = of.or(own).unwrap_or(of_list);
    let kind = match kind {
        "" => kind_in_link(&identity.link)
            .or_else(|| kind_of_file(&all.staged.file.place))
            .unwrap_or_default(),
        kind => (group(api_version), kind),
    };
    if kind == ("", "Node")
        && let Some(at) = lenient::known::<Node>(object).heartbeat
        && let Some(folder) = all.staged.file.place.parent()
    {
        let folders = &mut all.heartbeats_by_folder;
        let known = folders.entry(folder.to_owned()).or_insert(at);
        *known = at.max(*known);
    }
    let secret;
    let object = if kind == ("", SECRET) {
        secret = add_user_data(all, object);
        &secret
    } else {
        object
    };
    let is_one_of_many = kind_table::is_one_of_many(kind) && all.purpose == Purpose::Nodes;
    let is_staged = of.is_none() && kind_table::is_read_for(all.purpose, kind) && !is_one_of_many;
    if is_staged && !identity.metadata.name.is_empty() {
        all.doubles += usize::from(!all.staged.add(kind, &identity, object));
    } else if is_one_of_many || all.is_new(kind, &identity) {
        put(all, kind, object);
    } else {
        all.doubles += 1;
    }
    Ok(())
}

/// Takes note of a list without items, of this `apiVersion` and kind where it says that.
pub fn note_empty(all: &mut Cluster, (api_version, kind): (&str, &str)) {
    all.empty_lists += 1;
    let place = all.staged.file.place.file_stem();
    let stem = place.and_then(|stem| stem.to_str()).unwrap_or_default();
    let stem = stem.to_ascii_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| stem.starts_with(word));
    // `oc get -o json` does not say the kind of an empty list: its file's name may.
    let (group, kind) = match kind {
        "" if begins(&["machines", "machine.json"]) && !begins(&["machinesets"]) => {
            let is_of_cluster_api = stem.contains(CLUSTER_API);
            (
                if is_of_cluster_api {
                    CLUSTER_API
                } else {
                    MACHINE_API
                },
                "Machine",
            )
        }
        "" if begins(&["nodes"]) => ("", "Node"),
        "" if begins(&["certificatesigningrequests", "csr"]) => (CERTIFICATES, REQUEST),
        kind => (group(api_version), kind),
    };
    all.empty.insert((group.to_owned(), kind.to_owned()));
}

/// Keeps the user data of a Secret, and gives back what else may be kept of it.
pub fn add_user_data(all: &mut Cluster, secret: &Value) -> Value {
    let Metadata {
        namespace, name, ..
    } = Metadata::of(secret);
    let read = UserData::of(secret);
    let stub = user_data::without_content(secret, read.as_ref());
    let named = read.map(|read| ((namespace, name), read));
    all.user_data.extend(named);
    stub
}

/// Puts an object of a kind where it is kept, or names it among those that could not be understood.
fn put(all: &mut Cluster, (group, kind): (&str, &str), object: &Value) {
    let kept = keep_kind(all, (group, kind), object);
    let is_kept = kept.is_ok();
    let is_set = kind_table::is_of_sets((group, kind)) || is_groupless(group, kind);
    let unfit = |fields: Vec<String>| {
        let is_named = !fields.is_empty() && kind_table::is_read((group, kind));
        is_named.then(|| format!("{}: what it says is not understood", fields.join(", ")).into())
    };
    if let Some(why) = kept.map_or_else(Some, unfit) {
        let kind = if kind.is_empty() { OBJECT } else { kind };
        all.not_understood.push(Unread {
            hides_sets: is_set && !is_kept,
            makes_nodes: is_set && is_kept,
            ..Unread::of(kind, object, why)
        });
    }
}

/// Tells whether an object of a kind that makes sets does not say its group.
fn is_groupless(group: &str, kind: &str) -> bool {
    group.is_empty() && kind_table::is_name_of_set(kind)
}

/// Keeps what is needed of an object, and returns its fields of another type, in words.
fn keep_kind(
    all: &mut Cluster,
    (group, kind): (&str, &str),
    object: &Value,
) -> Result<Vec<String>, Trouble> {
    if kind.is_empty() {
        return Err(Help::SayKind.after("has no kind"));
    }
    if is_groupless(group, kind) {
        return Err(Help::SayKind.after("has no apiVersion"));
    }
    let metadata = Metadata::of(object);
    let has_name = !metadata.name.is_empty();
    let unfit = match kind_table::row(group, kind) {
        Some(row) => {
            all.saw(metadata.created);
            // The newest Event is about when the cluster was as it is read.
            if row.purpose > all.purpose && !kind_table::is_one_of_many((group, kind)) {
                return Ok(Vec::new());
            }
            keep(all, (row.group, kind), object).unwrap_or_default()
        }
        None if group == INFRASTRUCTURE => {
            keep_infrastructure_machine(all, kind, metadata, object);
            Vec::new()
        }
        None => {
            // What the commands that gather objects leave where one could not be read.
            let failure = Some(object).filter(|_| (group, kind) == ("", "Status"));
            if let Some(unread) = failure.and_then(kind_table::unread) {
                all.not_understood.push(unread);
                return Ok(Vec::new());
            }
            all.foreign += 1;
            let maker = maker_not_understood(group, kind, object);
            let wrapped = || wrapped(kind, object);
            all.not_understood.extend(maker.or_else(wrapped));
            return Ok(Vec::new());
        }
    };
    if kind_table::is_read((group, kind)) && !has_name {
        return Err("has no name".into());
    }
    Ok(unfit)
}

/// An object that the Cluster API makes a machine from.
fn keep_infrastructure_machine(all: &mut Cluster, kind: &str, metadata: Metadata, object: &Value) {
    let spec = match kind {
        _ if kind.ends_with("Template") => "/spec/template/spec",
        "AWSMachinePool" => "/spec/awsLaunchTemplate",
        _ if kind.ends_with("MachinePool") => "/spec/template",
        _ => "/spec",
    };
    let image = image::read_spec(kind, object.pointer(spec).unwrap_or(&Value::Null));
    if all.purpose == Purpose::Nodes {
        keep_conditions(all, kind, object);
    }
    let key = (printable(kind), metadata.namespace, metadata.name);
    all.infrastructure.insert(key, image);
}

/// An object of a kind that may make machines and is not understood; `None` where it makes none.
fn maker_not_understood(group: &str, kind: &str, object: &Value) -> Option<Unread> {
    if !kind_table::is_unknown_maker(group, kind) {
        return None;
    }
    let group = printable(group);
    let why =
        format!("what its API group {group} makes nodes from is not understood for this kind");
    Some(Unread {
        makes_nodes: true,
        ..Unread::of(kind, object, why)
    })
}

/// A set that is within an object of another kind, such as a List in a List, a Template, a Policy or a ManifestWork,
/// also as text.
fn wrapped(kind: &str, object: &Value) -> Option<Unread> {
    fn find(value: &Value, is_inner: bool) -> Option<(String, &Value)> {
        let text = |name| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("kind");
        let is_set = !kind.is_empty() && kind_table::is_of_sets((group(text("apiVersion")), kind));
        if is_inner && is_set && value.get("spec").is_some() {
            return Some((kind.to_owned(), value));
        }
        match value {
            Value::Array(items) => items.iter().find_map(|item| find(item, true)),
            Value::Object(fields) => fields.values().find_map(|field| find(field, true)),
            Value::String(text) => Some((kind_in_text(text)?.to_owned(), value)),
            _ => None,
        }
    }
    let (inner, set) = find(object, false)?;
    let within = Unread::of(kind, object, "").what;
    let why = Help::NameInner.after(format!("it is within {within}"));
    Some(Unread::of(&inner, set, why).hiding_sets(true))
}

/// The kind of a set in a text of several lines of YAML.
fn kind_in_text(text: &str) -> Option<&str> {
    let lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
    let kinds = lines.filter_map(|line| line.strip_prefix("kind: "));
    let mut kinds = kinds
        .map(str::trim)
        .filter(|_| text.contains("apiVersion: "));
    kinds.find(|kind| kind_table::is_name_of_set(kind))
}

pub fn no_json(error: serde_json::Error) -> String {
    format!("is not a JSON object of the cluster: {error}")
}

/// Group and kind of an object without either, by the link to itself that API servers gave to
/// objects until Kubernetes 1.20 (`/apis/config.openshift.io/v1/clusterversions/version`): the
/// sample archive of openshift/insights-operator has such objects.
fn kind_in_link(link: &str) -> Option<(&'static str, &'static str)> {
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
