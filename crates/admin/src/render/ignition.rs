//! Ignition configs, spec 2.2.0 and 3.0.0 to 3.5.0 (pure).
//!
//! Only fields of spec 2.2.0 and 3.0.0 are used ("Configuration Specification v2.2.0" and "v3.0.0"
//! of coreos/ignition), so that a config differs between later specs only by its version:
//! - There is no `compression`: Ignition before 2.1.1 (RHCOS up to 4.5) fails on it for a data URL.
//! - Hashes are sha512: sha256 came with spec 3.1.0.
//! - A data URL has no `verification`. Its hash would travel with the data that it covers; and if
//!   it did not match (a policy was edited by hand, a tool rewrapped lines), it would stop the node
//!   in the initramfs, where nobody sees why.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A version of the Ignition config specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spec {
    /// RHCOS 4.1 to 4.5.
    V2_2,
    /// 3.x.0; RHCOS 4.6 and later.
    V3(u8),
}

impl Spec {
    /// The oldest 3.x spec. It can express everything that is rendered here.
    pub(crate) const OLDEST_3: Spec = Spec::V3(0);

    /// The newest that can be chosen.
    const NEWEST: Spec = Spec::V3(5);

    /// 2.2.0, or 3.x.0, also one that is newer than those here.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let spec = match text.strip_prefix("3.") {
            Some(rest) => Self::V3(rest.strip_suffix(".0")?.parse().ok()?),
            None => Self::V2_2,
        };
        (spec.to_string() == text).then_some(spec)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::V2_2 => f.write_str("2.2.0"),
            Spec::V3(minor) => write!(f, "3.{minor}.0"),
        }
    }
}

impl FromStr for Spec {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let spec = Spec::parse(text).filter(|spec| *spec <= Spec::NEWEST);
        spec.ok_or("no such Ignition spec here; known are 2.2.0 and 3.0.0 to 3.5.0")
    }
}

impl Serialize for Spec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A config.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Config {
    ignition: Ignition,
    storage: Storage,
    #[serde(skip_serializing_if = "Option::is_none")]
    systemd: Option<Systemd>,
}

#[derive(Debug, Clone, Serialize)]
struct Ignition {
    version: Spec,
}

#[derive(Debug, Clone, Serialize)]
struct Storage {
    files: Vec<File>,
}

#[derive(Debug, Clone, Serialize)]
struct Systemd {
    units: Vec<Unit>,
}

/// A file that Ignition writes, owned by root.
#[derive(Debug, Clone, Serialize)]
pub(super) struct File {
    /// Required in spec 2.2.0, gone in 3.0.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    filesystem: Option<&'static str>,
    path: &'static str,
    mode: u32,
    /// Its default is false from spec 3.0.0 on, and then a file that the boot image has already is
    /// an error.
    overwrite: bool,
    contents: Contents,
}

#[derive(Debug, Clone, Serialize)]
struct Contents {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<Verification>,
}

#[derive(Debug, Clone, Serialize)]
struct Verification {
    hash: String,
}

impl File {
    /// A file whose bytes are in the config, as a data URL (RFC 2397) that every Ignition and every
    /// Machine Config Operator reads.
    pub(super) fn inline(path: &'static str, mode: u32, bytes: &[u8]) -> Self {
        Self::new(
            path,
            mode,
            format!("data:;base64,{}", STANDARD.encode(bytes)),
            None,
        )
    }

    /// A file that Ignition fetches from a URL. It must have this SHA-512, in lower-case
    /// hexadecimal.
    pub(super) fn fetched(path: &'static str, mode: u32, url: &str, sha512: &str) -> Self {
        Self::new(
            path,
            mode,
            url.to_owned(),
            Some(Verification {
                hash: format!("sha512-{sha512}"),
            }),
        )
    }

    fn new(
        path: &'static str,
        mode: u32,
        source: String,
        verification: Option<Verification>,
    ) -> Self {
        Self {
            filesystem: None,
            path,
            mode,
            overwrite: true,
            contents: Contents {
                source,
                verification,
            },
        }
    }
}

/// A systemd unit that Ignition writes to /etc/systemd/system and enables.
#[derive(Debug, Clone, Serialize)]
pub struct Unit {
    /// File name of the unit.
    pub name: &'static str,
    pub(super) enabled: bool,
    /// The unit file.
    pub contents: String,
}

impl Config {
    pub(super) fn new(version: Spec, mut files: Vec<File>, units: Vec<Unit>) -> Self {
        for file in &mut files {
            file.filesystem = (version == Spec::V2_2).then_some("root");
        }
        let systemd = (!units.is_empty()).then_some(Systemd { units });
        Self {
            ignition: Ignition { version },
            storage: Storage { files },
            systemd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::json;

    fn config(spec: Spec) -> String {
        let files = vec![
            File::inline("/etc/a", 0o644, b"hi\n"),
            File::fetched("/b", 0o755, "https://h/b", "ab"),
        ];
        json(&Config::new(
            spec,
            files,
            vec![Unit {
                name: "a.service",
                enabled: true,
                contents: "[Unit]\n".into(),
            }],
        ))
    }

    #[test]
    fn spec_2_names_the_filesystem_and_3_does_not() {
        let tail = |file: &str| {
            format!(
                r#""storage":{{"files":[{{{file}"path":"/etc/a","mode":420,"overwrite":true,"contents":{{"source":"data:;base64,aGkK"}}}},{{{file}"path":"/b","mode":493,"overwrite":true,"contents":{{"source":"https://h/b","verification":{{"hash":"sha512-ab"}}}}}}]}},"systemd":{{"units":[{{"name":"a.service","enabled":true,"contents":"[Unit]\n"}}]}}}}"#
            )
        };
        assert_eq!(
            config(Spec::V2_2),
            format!(
                r#"{{"ignition":{{"version":"2.2.0"}},{}"#,
                tail(r#""filesystem":"root","#)
            )
        );
        assert_eq!(
            config(Spec::V3(4)),
            format!(r#"{{"ignition":{{"version":"3.4.0"}},{}"#, tail(""))
        );
    }

    #[test]
    fn specs_parse_as_they_print_and_others_do_not() {
        for spec in [Spec::V2_2].into_iter().chain((0..=5).map(Spec::V3)) {
            assert_eq!(spec.to_string().parse(), Ok(spec));
        }
        for other in [
            "",
            "3",
            "3.0",
            "3.6.0",
            "2.3.0",
            "3.0.0-experimental",
            "03.0.0",
        ] {
            assert!(other.parse::<Spec>().is_err(), "{other}");
        }
    }
}
