//! Whether a MachineConfig fits, with the figures (pure).
//!
//! etcd takes objects of up to 1,572,864 bytes (`--max-request-bytes`), and the Machine Config Operator warns about a rendered MachineConfig
//! from 80 % of that. A pool's rendered MachineConfig holds all of its MachineConfigs; 200 to 300 KiB of it are the cluster's own.

use super::ignition::Config;
use super::units;
use crate::policy::POLICY_PATH;
use serde_json::Value;
use std::fmt;

/// The largest object that etcd takes, in bytes.
pub const OBJECT_MAX: usize = 1_572_864;
/// 80 % of it, where this program refuses.
pub const OBJECT_LIMIT: usize = 1_258_291;
/// The largest ConfigMap or Secret, in bytes (Kubernetes' own limit).
pub const CONFIG_MAP_MAX: usize = 1_048_576;
/// What the embed build has at most, packed, in bytes: `dist/build` fails on a larger one.
const EMBED_MAX: usize = 700_000;
/// Room for Ignition configs in a live ISO, packed, in bytes: the embed area that coreos-assembler reserves and `coreos-installer iso` fills
/// ("ISO-embedded Ignition configuration" of coreos-installer's documentation).
pub const ISO_IGNITION_MAX: usize = 262_144;
/// Largest rendered MachineConfig that is read, in bytes.
pub const MAX_RENDERED: u64 = 16 << 20;

/// What counts towards the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The MachineConfig, as JSON.
    pub object: usize,
    /// The packed binary in it, before base64; zero without one.
    pub packed: usize,
    /// The pool's rendered MachineConfig as it is now, without what this MachineConfig replaces in it.
    pub rendered: Option<usize>,
}

impl Sizes {
    /// The largest object that has to be stored: this MachineConfig, or the rendered one it becomes part of.
    pub fn largest(&self) -> usize {
        self.object + self.rendered.unwrap_or(0)
    }

    /// Fails where it does not fit.
    pub fn check(&self) -> Result<(), TooLarge> {
        if self.largest() > OBJECT_LIMIT { Err(TooLarge(*self)) } else { Ok(()) }
    }

    /// Where it may fail although it fits the cluster, as a sentence. May, because some of these pack it first (on-cluster layering: gzip, then
    /// base64), which a packed binary gains little from.
    pub fn warning(&self) -> Option<String> {
        let (what, bytes) = match self.rendered {
            _ if self.object > CONFIG_MAP_MAX => ("this MachineConfig", self.object),
            Some(_) if self.largest() > CONFIG_MAP_MAX => ("the pool's rendered MachineConfig", self.largest()),
            _ => return None,
        };
        Some(format!(
            "{what} would have {} bytes; on-cluster layering, Assisted installs and HyperShift carry it in objects of at most {} bytes and \
             may fail. For those use a boot image that contains skewguard or, where MachineSets make the nodes, `skewguard render pointer`; \
             with --policy-only here.",
            figure(bytes),
            figure(CONFIG_MAP_MAX)
        ))
    }

    /// One line for the head of the output.
    pub fn line(&self) -> String {
        let percent = percent(self.largest());
        match self.rendered {
            Some(rendered) => format!(
                "{} bytes, with the rest of the pool's rendered MachineConfig ({}) {} bytes: {percent} of the {} that etcd takes",
                figure(self.object),
                figure(rendered),
                figure(self.largest()),
                figure(OBJECT_MAX)
            ),
            None => format!("{} bytes: {percent} of the {} that etcd takes", figure(self.object), figure(OBJECT_MAX)),
        }
    }
}

/// It does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub struct TooLarge(pub Sizes);

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.0;
        writeln!(
            f,
            "too large: {} of the {} bytes that etcd takes in one object ({}); the limit is 80 %, {} bytes, where the Machine Config Operator warns",
            figure(sizes.largest()),
            figure(OBJECT_MAX),
            percent(sizes.largest()),
            figure(OBJECT_LIMIT)
        )?;
        writeln!(
            f,
            "  {:>11} bytes  this MachineConfig, of which {} are the packed binary in base64",
            figure(sizes.object),
            figure(base64(sizes.packed))
        )?;
        if let Some(rendered) = sizes.rendered {
            writeln!(f, "  {:>11} bytes  everything else in the pool's rendered MachineConfig", figure(rendered))?;
        }
        f.write_str("Instead:\n")?;
        if sizes.packed > EMBED_MAX {
            f.write_str("  - give the embed build (--binary target/dist/skewguard-embed): no TLS of its own, about half the size\n")?;
        }
        f.write_str(
            "\x20 - `skewguard render pointer` lets Ignition fetch the binary, and --policy-only here leaves it out\n\
             \x20 - put skewguard into the boot image, and use --policy-only here (docs/install.md)",
        )
    }
}

fn base64(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

fn percent(bytes: usize) -> String {
    format!("{} %", (bytes * 100).div_ceil(OBJECT_MAX))
}

/// 1258291 as 1,258,291.
pub fn figure(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Why a file is not a rendered MachineConfig.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderedError {
    /// Not JSON.
    #[error("is not JSON ({0}); write it with: oc get machineconfig rendered-... -o json")]
    Json(String),
    /// Some other object, or one of the MachineConfigs that a rendered one is made of.
    #[error("is not a rendered MachineConfig; write it with: oc get machineconfig rendered-... -o json")]
    Kind,
}

/// The size of a rendered MachineConfig (the Machine Config Operator names it `rendered-POOL-HASH`) as JSON, without the files and units that
/// skewguard delivers (an earlier render of ours).
pub fn rendered_size(json: &[u8]) -> Result<usize, RenderedError> {
    let mut object: Value = serde_json::from_slice(json).map_err(|error| RenderedError::Json(error.to_string()))?;
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let rendered = text("/kind") == "MachineConfig" && text("/metadata/name").starts_with("rendered-");
    if !rendered || !object.pointer("/spec/config").is_some_and(Value::is_object) {
        return Err(RenderedError::Kind);
    }
    drop_entries(&mut object, "/spec/config/storage/files", "path", &[POLICY_PATH, units::PACKED_PATH]);
    drop_entries(&mut object, "/spec/config/systemd/units", "name", &[units::SERVICE, units::REPORT_SERVICE, units::UNPACK_SERVICE]);
    Ok(object.to_string().len())
}

/// Removes the entries of the list at `pointer` whose `key` is one of `ours`.
pub(super) fn drop_entries(object: &mut Value, pointer: &str, key: &str, ours: &[&str]) {
    if let Some(list) = object.pointer_mut(pointer).and_then(Value::as_array_mut) {
        list.retain(|entry| !entry.get(key).and_then(Value::as_str).is_some_and(|name| ours.contains(&name)));
    }
}

/// The packed binary among these files, in bytes.
pub(super) fn packed_size(config: &Config) -> usize {
    config
        .files
        .iter()
        .find_map(|file| match &file.source {
            super::ignition::Source::Inline(bytes) if file.path == units::PACKED_PATH => Some(bytes.len()),
            _ => None,
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_grouped() {
        assert_eq!([0, 999, 1000, OBJECT_MAX].map(figure), ["0", "999", "1,000", "1,572,864"]);
        assert_eq!(OBJECT_LIMIT, OBJECT_MAX * 8 / 10);
        assert!(include_str!("../../dist/build").contains(&format!("EMBED_BUDGET={EMBED_MAX}\n")));
    }

    #[test]
    fn an_earlier_render_of_ours_is_not_counted_twice() {
        let file = |path: &str| format!(r#"{{"path":"{path}","contents":{{"source":"data:,{}"}}}}"#, "x".repeat(1000));
        let with = |files: &str| {
            format!(
                r#"{{"kind":"MachineConfig","metadata":{{"name":"rendered-a-0"}},"spec":{{"config":{{"storage":{{"files":[{files}]}},"systemd":{{"units":[{{"name":"skewguard.service"}},{{"name":"a.service"}}]}}}}}}}}"#
            )
        };
        let plain = rendered_size(with(&file("/etc/other")).as_bytes()).unwrap();
        let ours = rendered_size(with(&[file("/etc/other"), file(POLICY_PATH), file(units::PACKED_PATH)].join(",")).as_bytes()).unwrap();
        assert_eq!(plain, ours);
        assert!((1000..1300).contains(&plain), "{plain}");
    }

    #[test]
    fn what_is_no_rendered_machine_config_says_how_to_get_one() {
        assert!(matches!(rendered_size(b""), Err(RenderedError::Json(_))));
        assert_eq!(rendered_size(b"{}"), Err(RenderedError::Kind));
        assert_eq!(rendered_size(br#"{"kind":"List","items":[]}"#), Err(RenderedError::Kind));
        assert_eq!(rendered_size(br#"{"kind":"MachineConfig","metadata":{"name":"rendered-a-0"}}"#), Err(RenderedError::Kind));
        let one = br#"{"kind":"MachineConfig","metadata":{"name":"00-worker"},"spec":{"config":{}}}"#;
        assert_eq!(rendered_size(one), Err(RenderedError::Kind), "a part of it is not the whole");
    }

    #[test]
    fn the_refusal_word_for_word() {
        let sizes = Sizes { object: 1_000_000, packed: 700_001, rendered: Some(300_000) };
        assert_eq!(
            sizes.check().unwrap_err().to_string(),
            "too large: 1,300,000 of the 1,572,864 bytes that etcd takes in one object (83 %); the limit is 80 %, 1,258,291 bytes, where the Machine Config Operator warns
    1,000,000 bytes  this MachineConfig, of which 933,336 are the packed binary in base64
      300,000 bytes  everything else in the pool's rendered MachineConfig
Instead:
  - give the embed build (--binary target/dist/skewguard-embed): no TLS of its own, about half the size
  - `skewguard render pointer` lets Ignition fetch the binary, and --policy-only here leaves it out
  - put skewguard into the boot image, and use --policy-only here (docs/install.md)"
        );
        let embed = Sizes { packed: 700_000, ..sizes }.check().unwrap_err().to_string();
        assert!(embed.contains("Instead:\n  - `skewguard render pointer`"), "it is the embed build: {embed}");
    }

    #[test]
    fn the_limits_hold_at_the_byte() {
        let sizes = |object, rendered| Sizes { object, packed: 0, rendered };
        assert!(sizes(OBJECT_LIMIT, None).check().is_ok());
        assert!(sizes(OBJECT_LIMIT + 1, None).check().is_err());
        assert!(sizes(OBJECT_LIMIT - 100, Some(101)).check().is_err());
        assert_eq!(sizes(CONFIG_MAP_MAX, None).warning(), None);
        assert!(
            sizes(CONFIG_MAP_MAX + 1, None)
                .warning()
                .unwrap()
                .starts_with("this MachineConfig would have 1,048,577 bytes; on-cluster layering, Assisted")
        );
        assert!(
            sizes(800_000, Some(300_000)).warning().unwrap().starts_with("the pool's rendered MachineConfig would have 1,100,000 bytes")
        );
    }
}
