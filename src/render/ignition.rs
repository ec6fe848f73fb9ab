//! Ignition configs, spec 2.2.0 and 3.0.0 to 3.5.0 (pure).
//!
//! Only fields that spec 2.2.0 or 3.0.0 already had are used ("Configuration Specification v2.2.0" and "v3.0.0" of coreos/ignition), so a
//! config is the same in every later spec but for its version:
//! - no `compression`: Ignition before 2.1.1 (RHCOS up to 4.5) fails on it for a data URL;
//! - hashes are sha512: sha256 came with spec 3.1.0;
//! - no `verification` for a data URL. The hash would travel with what it covers, and one that does not fit (a policy edited by hand, a tool
//!   that rewraps lines) would hold the node in the initramfs, where nobody is told why.

use super::tree::Node;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::str::FromStr;

/// A version of the Ignition config specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spec {
    /// RHCOS 4.1 to 4.5.
    V2_2,
    /// 3.x.0; RHCOS 4.6 and later.
    V3(u8),
}

impl Spec {
    /// The oldest 3.x spec; it expresses everything that is rendered here.
    pub const OLDEST_3: Spec = Spec::V3(0);

    /// Every spec that can be asked for, oldest first.
    pub const ALL: [Spec; 7] = [Spec::V2_2, Spec::V3(0), Spec::V3(1), Spec::V3(2), Spec::V3(3), Spec::V3(4), Spec::V3(5)];
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::V2_2 => f.write_str("2.2.0"),
            Spec::V3(minor) => write!(f, "3.{minor}.0"),
        }
    }
}

/// Not a spec that can be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such Ignition spec here; known are 2.2.0 and 3.0.0 to 3.5.0")]
pub struct UnknownSpec;

impl FromStr for Spec {
    type Err = UnknownSpec;

    fn from_str(text: &str) -> Result<Self, UnknownSpec> {
        Spec::ALL.into_iter().find(|spec| spec.to_string() == text).ok_or(UnknownSpec)
    }
}

/// Where Ignition takes a file's bytes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The config itself, as a data URL.
    Inline(Vec<u8>),
    /// A URL, with the SHA-512 of what it must give, in lower-case hexadecimal.
    Remote {
        /// The URL.
        url: String,
        /// 128 hexadecimal digits.
        sha512: String,
    },
}

/// A file that Ignition writes, owned by root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Absolute path on the node.
    pub path: &'static str,
    /// Permission bits.
    pub mode: u32,
    /// Its bytes.
    pub source: Source,
}

impl File {
    fn node(&self, spec: Spec) -> Node {
        let mut entries = vec![];
        if spec == Spec::V2_2 {
            entries.push(("filesystem", Node::text("root")));
        }
        entries.extend([
            ("path", Node::text(self.path)),
            ("mode", Node::Int(self.mode.into())),
            // False by default from spec 3.0.0, and then a file that is already in the boot image is an error.
            ("overwrite", Node::Bool(true)),
        ]);
        entries.push((
            "contents",
            Node::Map(match &self.source {
                Source::Inline(bytes) => vec![("source", Node::text(data_url(bytes)))],
                Source::Remote { url, sha512 } => vec![
                    ("source", Node::text(url.as_str())),
                    ("verification", Node::Map(vec![("hash", Node::text(format!("sha512-{sha512}")))])),
                ],
            }),
        ));
        Node::Map(entries)
    }
}

/// A systemd unit that Ignition writes to /etc/systemd/system and enables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// File name of the unit.
    pub name: &'static str,
    /// The unit file.
    pub contents: String,
}

impl Unit {
    fn node(&self) -> Node {
        Node::Map(vec![("name", Node::text(self.name)), ("enabled", Node::Bool(true)), ("contents", Node::text(self.contents.as_str()))])
    }
}

/// What is put on a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Files, in order.
    pub files: Vec<File>,
    /// Units, in order; all enabled.
    pub units: Vec<Unit>,
}

impl Config {
    /// The config in this spec.
    pub fn node(&self, spec: Spec) -> Node {
        let mut entries = vec![("ignition", Node::Map(vec![("version", Node::text(spec.to_string()))]))];
        if !self.files.is_empty() {
            let files = self.files.iter().map(|file| file.node(spec)).collect();
            entries.push(("storage", Node::Map(vec![("files", Node::List(files))])));
        }
        if !self.units.is_empty() {
            let units = self.units.iter().map(Unit::node).collect();
            entries.push(("systemd", Node::Map(vec![("units", Node::List(units))])));
        }
        Node::Map(entries)
    }
}

/// A data URL that every Ignition and every Machine Config Operator reads (RFC 2397).
fn data_url(bytes: &[u8]) -> String {
    format!("data:;base64,{}", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            files: vec![
                File { path: "/etc/a", mode: 0o644, source: Source::Inline(b"hi\n".to_vec()) },
                File { path: "/b", mode: 0o755, source: Source::Remote { url: "https://h/b".into(), sha512: "ab".into() } },
            ],
            units: vec![Unit { name: "a.service", contents: "[Unit]\n".into() }],
        }
    }

    #[test]
    fn spec_2_names_the_filesystem_and_3_does_not() {
        let tail = |file: &str| {
            format!(
                r#""storage":{{"files":[{{{file}"path":"/etc/a","mode":420,"overwrite":true,"contents":{{"source":"data:;base64,aGkK"}}}},{{{file}"path":"/b","mode":493,"overwrite":true,"contents":{{"source":"https://h/b","verification":{{"hash":"sha512-ab"}}}}}}]}},"systemd":{{"units":[{{"name":"a.service","enabled":true,"contents":"[Unit]\n"}}]}}}}"#
            )
        };
        assert_eq!(
            config().node(Spec::V2_2).to_json(),
            format!(r#"{{"ignition":{{"version":"2.2.0"}},{}"#, tail(r#""filesystem":"root","#))
        );
        assert_eq!(config().node(Spec::V3(4)).to_json(), format!(r#"{{"ignition":{{"version":"3.4.0"}},{}"#, tail("")));
    }

    #[test]
    fn specs_parse_as_they_print_and_others_do_not() {
        for spec in Spec::ALL {
            assert_eq!(spec.to_string().parse(), Ok(spec));
        }
        for other in ["", "3", "3.0", "3.6.0", "2.3.0", "3.0.0-experimental", "03.0.0"] {
            assert_eq!(other.parse::<Spec>(), Err(UnknownSpec), "{other}");
        }
    }
}
