//! Tells whether a MachineConfig fits, with the figures (pure).
//!
//! etcd takes objects of up to 1,572,864 bytes (`--max-request-bytes`); from 80 % of that on the
//! Machine Config Operator warns about a rendered MachineConfig. That holds all MachineConfigs of a
//! pool, 200 to 300 KiB of it the cluster's own.

use super::binary::{Binary, Compression};
use super::units;
use crate::gzip;
use crate::policy::POLICY_PATH;
use serde_json::Value;
use std::fmt::Display;

/// The largest object that etcd takes, in bytes.
const OBJECT_MAX: usize = 1_572_864;
/// 80 % of that. This program refuses to render more.
const OBJECT_LIMIT: usize = 1_258_291;
/// The largest ConfigMap or Secret (Kubernetes' own limit), and the largest manifest that the
/// Assisted Service takes, in bytes.
const CONFIG_MAP_MAX: usize = 1_048_576;
/// Largest `skewguard-embed`, packed with xz, in bytes: `dist/build` fails on a larger one.
const EMBED_MAX: usize = 500_000;
/// Room for packed Ignition configs in a live ISO, in bytes: the area that coreos-assembler
/// reserves and `coreos-installer iso` fills (coreos-installer, "ISO-embedded Ignition
/// configuration").
pub(crate) const ISO_IGNITION_MAX: usize = 262_144;
/// Largest rendered MachineConfig that is read, in bytes.
pub(crate) const MAX_RENDERED: u64 = 16 << 20;

/// The sizes of a MachineConfig, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// The MachineConfig, as JSON.
    object: usize,
    /// YAML: a file among an installation's manifests, or text in a ConfigMap.
    file: usize,
    /// The packed binary in it, before base64; 0 without one.
    binary: usize,
    compression: Option<Compression>,
    /// The rest of the pool's current rendered MachineConfig, as JSON.
    rest: Option<usize>,
    /// `object` and `rest` together, packed with gzip, in base64.
    packed: usize,
}

/// A route by which a MachineConfig reaches nodes, and its limit.
struct Route {
    name: &'static str,
    bytes: usize,
    limit: usize,
    what: &'static str,
}

impl Sizes {
    /// The sizes of a MachineConfig, given as JSON and as YAML. `rest` is everything else in the
    /// rendered MachineConfig that it becomes part of, as JSON.
    pub(crate) fn new(json: &str, yaml: &str, binary: Option<&Binary>, rest: Option<&str>) -> Self {
        Self {
            object: json.len(),
            file: yaml.len(),
            binary: binary.map_or(0, |binary| binary.packed.len()),
            compression: binary.map(|binary| binary.compression),
            rest: rest.map(str::len),
            packed: base64(gzip::pack([rest.unwrap_or_default(), json].concat().as_bytes()).len()),
        }
    }

    /// The largest object that is stored: this MachineConfig, or the rendered one that it becomes
    /// part of.
    fn largest(&self) -> usize {
        self.object + self.rest.unwrap_or(0)
    }

    /// The Machine Config Operator stores the pool's rendered MachineConfig as it is. Its build
    /// controller packs it (`compressAndEncode`), and HyperShift packs a NodePool's whole config.
    /// The Assisted Service and HyperShift are also given this file itself.
    fn routes(&self) -> [Route; 4] {
        let pool = match self.rest {
            Some(_) => "the pool's rendered MachineConfig",
            None => "this MachineConfig, without the rest of the pool's",
        };
        let hypershift = "the larger of this file and the NodePool's whole config, packed";
        [
            (
                "Machine Config Operator",
                self.largest(),
                OBJECT_LIMIT,
                pool,
            ),
            (
                "On-cluster layering",
                self.packed,
                CONFIG_MAP_MAX,
                "the same, packed, in a ConfigMap",
            ),
            (
                "Assisted and agent-based installs",
                self.file,
                CONFIG_MAP_MAX,
                "this file, among their manifests",
            ),
            (
                "HyperShift",
                self.file.max(self.packed),
                CONFIG_MAP_MAX,
                hypershift,
            ),
        ]
        .map(|(name, bytes, limit, what)| Route {
            name,
            bytes,
            limit,
            what,
        })
    }

    /// A line for each route: whether it fits.
    pub(crate) fn table(&self) -> Vec<String> {
        let line = |Route {
                        name,
                        bytes,
                        limit,
                        what,
                    }| {
            let fits = if bytes <= limit {
                "fits"
            } else {
                "DOES NOT FIT"
            };
            format!(
                "{name}: {fits}, {} of {} bytes ({what}).",
                figure(bytes),
                figure(limit)
            )
        };
        self.routes().map(line).into()
    }

    /// The routes for which it is too large, as a sentence.
    pub(crate) fn warning(&self) -> Option<String> {
        let full: Vec<&str> = self
            .routes()
            .into_iter()
            .filter(|route| route.bytes > route.limit)
            .map(|route| route.name)
            .collect();
        (!full.is_empty()).then(|| {
            format!(
                "too large for: {}. There, use a boot image that contains skewguard or, where MachineSets make the nodes, `oc skewguard render \
                 pointer`; with --policy-only here.",
                full.join("; ")
            )
        })
    }

    /// Checks that the Machine Config Operator can store it.
    ///
    /// # Errors
    /// It is too large; the text says what takes the space, and what to do instead.
    pub(crate) fn check(&self) -> Result<(), String> {
        let largest = self.largest();
        if largest <= OBJECT_LIMIT {
            return Ok(());
        }
        let [took, max, limit] = [largest, OBJECT_MAX, OBJECT_LIMIT].map(figure);
        let percent = (largest * 100).div_ceil(OBJECT_MAX);
        let (object, binary) = (figure(self.object), figure(base64(self.binary)));
        let rest = self.rest.map(|rest| {
            format!(
                "\n  {:>11} bytes  everything else in the pool's rendered MachineConfig",
                figure(rest)
            )
        });
        let smaller = match self.compression {
            Some(Compression::Gzip) => {
                "\n  - leave --compression gzip out, where the boot images have xz: a fifth smaller"
            }
            _ if self.binary > EMBED_MAX => {
                "\n  - give --binary skewguard-embed: without TLS of its own, about half the size"
            }
            _ => "",
        };
        Err(format!(
            "too large: {took} of the {max} bytes that etcd takes in one object ({percent} %); the limit is 80 %, {limit} bytes, where the \
             Machine Config Operator warns
  {object:>11} bytes  this MachineConfig, of which {binary} are the packed binary in base64{rest}
Instead:{smaller}
  - `oc skewguard render pointer` lets Ignition fetch the binary, and --policy-only here leaves it out
  - put skewguard into the boot image, and use --policy-only here:
    {docs}",
            rest = rest.unwrap_or_default(),
            docs = crate::docs!("install.md"),
        ))
    }
}

fn base64(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Formats 1258291 as 1,258,291.
pub(crate) fn figure(number: impl Display) -> String {
    let digits = number.to_string();
    digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy)
        .collect::<Vec<_>>()
        .join(",")
}

/// The remedy for what is no rendered MachineConfig.
pub(crate) const RENDERED_REMEDY: &str = "write it with: oc get machineconfig rendered-... -o json";

/// The rendered MachineConfig in `json` (`rendered-POOL-HASH`) without the files and units of an
/// earlier render of ours.
pub(crate) fn rest_of_rendered(json: &[u8]) -> Result<String, String> {
    let mut object: Value = serde_json::from_slice(json)
        .map_err(|error| format!("is not JSON ({error}); {RENDERED_REMEDY}"))?;
    let text = |path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let rendered =
        text("/kind") == "MachineConfig" && text("/metadata/name").starts_with("rendered-");
    if !rendered || !object.pointer("/spec/config").is_some_and(Value::is_object) {
        return Err(format!(
            "is not a rendered MachineConfig; {RENDERED_REMEDY}"
        ));
    }
    let [xz, gzip] = units::PACKED_PATHS;
    drop_entries(
        &mut object,
        "/spec/config/storage/files",
        "path",
        &[POLICY_PATH, xz, gzip],
    );
    drop_entries(
        &mut object,
        "/spec/config/systemd/units",
        "name",
        &units::DELIVERED,
    );
    Ok(object.to_string())
}

/// Removes the entries of the list at `pointer` whose `key` is one of `ours`.
fn drop_entries(object: &mut Value, pointer: &str, key: &str, ours: &[&str]) {
    if let Some(list) = object.pointer_mut(pointer).and_then(Value::as_array_mut) {
        list.retain(|entry| {
            !entry
                .get(key)
                .and_then(Value::as_str)
                .is_some_and(|name| ours.contains(&name))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_grouped() {
        assert_eq!(
            [0, 999, 1000, OBJECT_MAX].map(figure),
            ["0", "999", "1,000", "1,572,864"]
        );
        assert_eq!(OBJECT_LIMIT, OBJECT_MAX * 8 / 10);
        assert!(
            include_str!("../../../../dist/build").contains(&format!("EMBED_BUDGET={EMBED_MAX}\n"))
        );
    }

    #[test]
    fn an_earlier_render_of_ours_is_not_counted_twice() {
        let file = |path: &str| {
            format!(
                r#"{{"path":"{path}","contents":{{"source":"data:,{}"}}}}"#,
                "x".repeat(1000)
            )
        };
        let with = |files: &str| {
            format!(
                r#"{{"kind":"MachineConfig","metadata":{{"name":"rendered-a-0"}},"spec":{{"config":{{"storage":{{"files":[{files}]}},"systemd":{{"units":[{{"name":"skewguard.service"}},{{"name":"a.service"}}]}}}}}}}}"#
            )
        };
        let plain = rest_of_rendered(with(&file("/etc/other")).as_bytes()).unwrap();
        let ours = rest_of_rendered(
            with(
                &[
                    file("/etc/other"),
                    file(POLICY_PATH),
                    file(units::PACKED_PATHS[0]),
                    file(units::PACKED_PATHS[1]),
                ]
                .join(","),
            )
            .as_bytes(),
        )
        .unwrap();
        assert_eq!(plain, ours);
        assert!((1000..1300).contains(&plain.len()), "{plain}");
    }

    #[test]
    fn what_is_no_rendered_machine_config_says_how_to_get_one() {
        const NONE: &str = "is not a rendered MachineConfig; write it with: oc get machineconfig rendered-... -o json";
        let refused = |json: &[u8]| rest_of_rendered(json).unwrap_err();
        assert_eq!(
            refused(b""),
            "is not JSON (EOF while parsing a value at line 1 column 0); write it with: oc get machineconfig rendered-... -o json"
        );
        assert_eq!(refused(b"{}"), NONE);
        assert_eq!(refused(br#"{"kind":"List","items":[]}"#), NONE);
        assert_eq!(
            refused(br#"{"kind":"MachineConfig","metadata":{"name":"rendered-a-0"}}"#),
            NONE
        );
        let one =
            br#"{"kind":"MachineConfig","metadata":{"name":"00-worker"},"spec":{"config":{}}}"#;
        assert_eq!(refused(one), NONE, "a part of it is not the whole");
    }

    const SIZES: Sizes = Sizes {
        object: 1_000_000,
        file: 1_000_900,
        binary: EMBED_MAX + 1,
        compression: Some(Compression::Xz),
        rest: Some(300_000),
        packed: 800_000,
    };

    #[test]
    fn the_refusal_word_for_word() {
        assert_eq!(
            SIZES.check().unwrap_err(),
            "too large: 1,300,000 of the 1,572,864 bytes that etcd takes in one object (83 %); the limit is 80 %, 1,258,291 bytes, where the Machine Config Operator warns
    1,000,000 bytes  this MachineConfig, of which 666,668 are the packed binary in base64
      300,000 bytes  everything else in the pool's rendered MachineConfig
Instead:
  - give --binary skewguard-embed: without TLS of its own, about half the size
  - `oc skewguard render pointer` lets Ignition fetch the binary, and --policy-only here leaves it out
  - put skewguard into the boot image, and use --policy-only here:
    https://github.com/skewguard/skewguard/blob/v0.1.0/docs/install.md"
        );
        let refusal = |sizes: Sizes| sizes.check().unwrap_err();
        let embed = refusal(Sizes {
            binary: EMBED_MAX,
            ..SIZES
        });
        assert!(
            embed.contains("Instead:\n  - `oc skewguard render pointer`"),
            "it is skewguard-embed: {embed}"
        );
        let gzip = refusal(Sizes {
            compression: Some(Compression::Gzip),
            ..SIZES
        });
        assert!(
            gzip.contains("Instead:\n  - leave --compression gzip out"),
            "{gzip}"
        );
    }

    #[test]
    fn what_each_route_counts() {
        let sizes = Sizes {
            rest: Some(280_000),
            file: 1_048_577,
            ..SIZES
        };
        assert_eq!(
            sizes.table(),
            [
                "Machine Config Operator: DOES NOT FIT, 1,280,000 of 1,258,291 bytes (the pool's rendered MachineConfig).",
                "On-cluster layering: fits, 800,000 of 1,048,576 bytes (the same, packed, in a ConfigMap).",
                "Assisted and agent-based installs: DOES NOT FIT, 1,048,577 of 1,048,576 bytes (this file, among their manifests).",
                "HyperShift: DOES NOT FIT, 1,048,577 of 1,048,576 bytes (the larger of this file and the NodePool's whole config, packed).",
            ]
        );
        assert!(
            sizes
                .warning()
                .unwrap()
                .starts_with("too large for: Machine Config Operator; Assisted and agent-based installs; HyperShift. There, use")
        );
        assert_eq!(
            Sizes {
                rest: None,
                ..SIZES
            }
            .warning(),
            None
        );
        let json = "x".repeat(900);
        let packed = |rest| Sizes::new(&json, "", None, rest).packed;
        assert!(
            packed(None) < 60 && packed(Some("a rest that is not the same at all")) > packed(None)
        );
    }

    #[test]
    fn the_limits_hold_at_the_byte() {
        let sizes = |object, rest| Sizes {
            object,
            rest,
            ..SIZES
        };
        assert!(sizes(OBJECT_LIMIT, None).check().is_ok());
        assert!(sizes(OBJECT_LIMIT + 1, None).check().is_err());
        assert!(sizes(OBJECT_LIMIT - 100, Some(101)).check().is_err());
        let warned = |sizes: Sizes| sizes.warning().unwrap_or_default();
        let sizes = Sizes { object: 1, ..SIZES };
        assert_eq!(
            warned(Sizes {
                file: CONFIG_MAP_MAX,
                packed: CONFIG_MAP_MAX,
                ..sizes
            }),
            ""
        );
        assert!(
            warned(Sizes {
                file: CONFIG_MAP_MAX + 1,
                ..sizes
            })
            .starts_with("too large for: Assisted and agent-based installs; HyperShift. ")
        );
        assert!(
            warned(Sizes {
                packed: CONFIG_MAP_MAX + 1,
                ..sizes
            })
            .starts_with("too large for: On-cluster layering; HyperShift. ")
        );
    }
}
