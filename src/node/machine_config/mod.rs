//! The MachineConfigs on a node: the encapsulated one, which is the target, and the one that was
//! served, which holds the files.

use super::{FileError, Root};
use crate::json;
use crate::text;
use crate::verdict::{Target, TargetInput};
use contents::Contents;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

mod contents;

/// The target MachineConfig with an empty Ignition config. As long as it exists the first boot is
/// not finished.
pub(crate) const ENCAPSULATED_PATH: &str = "/etc/ignition-machine-config-encapsulated.json";

/// The same file, renamed after the first boot.
pub(crate) const ENCAPSULATED_BAK_PATH: &str = "/etc/ignition-machine-config-encapsulated.json.bak";

/// The whole MachineConfig as the Machine Config Server served it.
pub(crate) const SERVED_PATH: &str = "/etc/mcs-machine-config-content.json";

/// Largest MachineConfig that is read, in bytes. etcd limits one to 1.5 MiB; JSON escapes can make
/// it longer on disk.
const MAX: u64 = 8 << 20;

/// `metadata` and `spec` are required: an object without them is not a MachineConfig.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct MachineConfig<'a> {
    metadata: ConfigMetadata,
    #[serde(borrow)]
    spec: Spec<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct ConfigMetadata {
    name: Option<String>,
    annotations: Option<ReleaseAnnotation>,
    owner_references: Option<Last<OwnerReference>>,
}

/// An entry of a map that may be huge; the others are dropped.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct ReleaseAnnotation {
    #[serde(rename = "machineconfiguration.openshift.io/release-image-version")]
    release: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct OwnerReference {
    kind: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Spec<'a> {
    #[serde(rename = "osImageURL")]
    os_image_url: Option<String>,
    #[serde(borrow)]
    config: Option<Config<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Config<'a> {
    #[serde(borrow)]
    storage: Option<Storage<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Storage<'a> {
    #[serde(borrow)]
    files: Option<Last<PolicyFile<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PolicyFile<'a> {
    #[serde(borrow)]
    path: Cow<'a, str>,
    #[serde(borrow)]
    contents: Option<Contents<'a>>,
}

/// The last wanted element of a list. The others are dropped as they are read, so the list may be
/// long.
struct Last<T>(Option<T>);

trait Wanted {
    fn wanted(&self) -> bool;
}

impl Wanted for OwnerReference {
    fn wanted(&self) -> bool {
        self.kind.as_deref() == Some("MachineConfigPool")
    }
}

impl Wanted for PolicyFile<'_> {
    fn wanted(&self) -> bool {
        self.path == crate::policy::POLICY_PATH
    }
}

impl<'de, T: Deserialize<'de> + Wanted> Deserialize<'de> for Last<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Wanted> Visitor<'de> for List<T> {
            type Value = Last<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Last<T>, A::Error> {
                let mut last = None;
                while let Some(element) = list.next_element::<T>()? {
                    if element.wanted() {
                        last = Some(element);
                    }
                }
                Ok(Last(last))
            }
        }
        deserializer.deserialize_seq(List(PhantomData))
    }
}

/// Finds the target, and tells if it comes from the renamed file. The Machine Config Daemon renames
/// the file when the first boot is finished.
pub(super) fn find_target(root: &Root, warnings: &mut Vec<String>) -> (TargetInput, bool) {
    let mut load = |path| match load_target(root, path) {
        Ok(target) => target.map(TargetInput::Read),
        Err(error) => {
            warnings.push(error.to_string());
            Some(TargetInput::Unreadable)
        }
    };
    if let Some(target) = load(ENCAPSULATED_PATH) {
        return (target, false);
    }
    match load(ENCAPSULATED_BAK_PATH) {
        Some(target) => (target, true),
        None => (TargetInput::Absent, false),
    }
}

/// Loads the target from the encapsulated MachineConfig at `path`; `None` where there is no such
/// file. Empty fields count as absent.
fn load_target(root: &Root, path: &str) -> Result<Option<Target>, FileError> {
    let Some(bytes) = root.read(path, MAX)? else {
        return Ok(None);
    };
    let MachineConfig { metadata, spec } = parse(path, &bytes)?;
    let given = |value: Option<String>| {
        value
            .filter(|value| !value.is_empty())
            .map(|value| text::printable(&value))
    };
    Ok(Some(Target {
        release: given(
            metadata
                .annotations
                .and_then(|annotations| annotations.release),
        ),
        pool: given(
            metadata
                .owner_references
                .and_then(|owners| owners.0)
                .and_then(|owner| owner.name),
        ),
        machine_config: given(metadata.name),
        os_image_url: given(spec.os_image_url),
    }))
}

/// Loads the bytes of the served policy; `None` where no MachineConfig was served, or one without a
/// policy, and once the first boot is over.
pub(super) fn load_policy_file(root: &Root) -> Result<Option<Vec<u8>>, FileError> {
    if !root.exists(ENCAPSULATED_PATH).unwrap_or(true) {
        return Ok(None);
    }
    let Some(bytes) = root.read(SERVED_PATH, MAX)? else {
        return Ok(None);
    };
    let storage = parse(SERVED_PATH, &bytes)?
        .spec
        .config
        .and_then(|config| config.storage);
    let file = storage
        .and_then(|storage| storage.files)
        .and_then(|files| files.0);
    let policy = file
        .map(|file| file.contents.unwrap_or_default().policy())
        .transpose();
    policy.map_err(|error| FileError::content(SERVED_PATH, error))
}

fn parse<'a>(path: &str, bytes: &'a [u8]) -> Result<MachineConfig<'a>, FileError> {
    json::read(bytes).map_err(|error| FileError::json(path, "is not a MachineConfig", &error))
}
