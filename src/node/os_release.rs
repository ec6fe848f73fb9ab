//! os-release(5) of the booted deployment.

use super::Root;
use crate::version::ImageVersion;

/// In the order of os-release(5).
pub(super) const PATHS: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

const MAX: u64 = 64 << 10;

/// What os-release says that matters here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OsRelease {
    /// The file it was read from.
    pub(super) path: &'static str,
    /// `ID=rhel`: a minor 0 is RHEL's, not CentOS Stream's.
    pub(super) is_rhel: bool,
    /// `OSTREE_VERSION`, else the first word of `VERSION` where it follows a known scheme: on other systems than CoreOS it names a release,
    /// not an image.
    pub(super) version: Option<ImageVersion>,
    /// There is one, and none can be read.
    pub(super) is_lost: bool,
}

pub(super) fn parse(text: &str, path: &'static str) -> OsRelease {
    let value = |key: &str| {
        let raw = text.lines().filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix('=')).next_back()?;
        let raw = raw.trim();
        let bare = ['"', '\''].iter().find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(raw);
        Some(bare.trim()).filter(|value| !value.is_empty())
    };
    let is_rhel = value("ID") == Some("rhel");
    let ostree = value("OSTREE_VERSION").map(ImageVersion::parse);
    let version = || value("VERSION")?.split_ascii_whitespace().next().map(ImageVersion::parse).filter(ImageVersion::is_known);
    let version = ostree.or_else(version).map(|version| if is_rhel { version.on_rhel() } else { version });
    OsRelease { path, is_rhel, version, is_lost: false }
}

/// The first that can be read.
pub(super) fn load(root: &Root, warnings: &mut Vec<String>) -> OsRelease {
    let mut is_lost = false;
    for path in PATHS {
        match root.read_text(path, MAX) {
            Ok(Some(text)) => return parse(&text, path),
            Ok(None) => {}
            Err(error) => {
                is_lost = true;
                warnings.push(error.to_string());
            }
        }
    }
    OsRelease { is_lost, ..OsRelease::default() }
}
