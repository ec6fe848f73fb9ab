//! Which image the node was installed from: what each source says, and which source counts.

use super::{FileError, Node, RECORD_PATH, Record, Root};
use crate::verdict::{BootImage, ImageSource, Stage};
use crate::version::ImageVersion;
use skewguard_core::aleph::MAX_BYTES as ALEPH_MAX;

/// Aleph files, in order of precedence: written by coreos-assembler and osbuild, by osbuild, by
/// bootc. Some are symlinks to others.
const ALEPHS: [&str; 3] = [
    "/sysroot/.coreos-aleph-version.json",
    "/sysroot/.aleph-version.json",
    "/sysroot/.bootc-aleph.json",
];

/// os-release files, in the order of os-release(5).
const OS_RELEASES: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

const OS_RELEASE_MAX: u64 = 64 << 10;

/// The image that the aleph at `path` names.
///
/// # Errors
/// It is not an aleph, or names no version.
pub(super) fn aleph(path: &str, bytes: &[u8]) -> Result<BootImage, FileError> {
    let version =
        skewguard_core::aleph::version(bytes).map_err(|what| FileError::content(path, what))?;
    Ok(BootImage {
        version,
        source: ImageSource::Aleph,
        path: crate::text::printable(path),
    })
}

/// The version in the aleph at this path; `None` where that is no aleph's, or it cannot be read.
pub(super) fn aleph_version(root: &Root, path: &str) -> Option<ImageVersion> {
    let path = ALEPHS.into_iter().find(|known| *known == path)?;
    let bytes = root.read(path, ALEPH_MAX).ok()??;
    aleph(path, &bytes).ok().map(|image| image.version)
}

/// The part of the booted deployment's os-release(5) that matters here.
#[derive(Default)]
pub(super) struct OsRelease {
    /// `ID=rhel`, so minor 0 is RHEL's and not CentOS Stream's.
    is_rhel: bool,
    /// `OSTREE_VERSION`, else the first word of `VERSION`. `VERSION` must follow a known scheme: on
    /// systems other than CoreOS it names a release, not an image.
    image: Option<BootImage>,
    /// The file exists but cannot be read.
    pub(super) is_lost: bool,
}

impl OsRelease {
    /// Reads the first file that can be read.
    pub(super) fn load(root: &Root, warnings: &mut Vec<String>) -> Self {
        let mut is_lost = false;
        for path in OS_RELEASES {
            match root.read(path, OS_RELEASE_MAX) {
                // One value that is not UTF-8 leaves the others as they are.
                Ok(Some(bytes)) => return Self::parse(&String::from_utf8_lossy(&bytes), path),
                Ok(None) => {}
                Err(error) => {
                    is_lost = true;
                    warnings.push(error.to_string());
                }
            }
        }
        Self {
            is_lost,
            ..Self::default()
        }
    }

    /// The version of the booted deployment.
    pub(super) fn version(&self) -> Option<&str> {
        self.image.as_ref().map(|image| image.version.text.as_str())
    }

    fn parse(text: &str, path: &str) -> Self {
        let value = |key: &str| {
            let raw = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))
                .next_back()?
                .trim();
            let bare = ['"', '\'']
                .iter()
                .find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote))
                .unwrap_or(raw);
            Some(bare.trim()).filter(|value| !value.is_empty())
        };
        let is_rhel = value("ID") == Some("rhel");
        let release = || {
            value("VERSION")?
                .split_ascii_whitespace()
                .next()
                .map(ImageVersion::parse)
                .filter(ImageVersion::is_known)
        };
        let version = value("OSTREE_VERSION")
            .map(ImageVersion::parse)
            .or_else(release);
        let image = version.map(|version| BootImage {
            version: if is_rhel { version.on_rhel() } else { version },
            source: ImageSource::OsRelease,
            path: path.to_owned(),
        });
        Self {
            is_rhel,
            image,
            is_lost: false,
        }
    }
}

/// The images that the node's alephs name.
fn alephs(root: &Root, is_rhel: bool, warnings: &mut Vec<String>) -> Vec<BootImage> {
    let mut found: Vec<BootImage> = Vec::new();
    for path in ALEPHS {
        match root
            .read(path, ALEPH_MAX)
            .and_then(|bytes| bytes.map(|bytes| aleph(path, &bytes)).transpose())
        {
            Ok(Some(image)) if is_rhel => found.push(BootImage {
                version: image.version.on_rhel(),
                ..image
            }),
            Ok(image) => found.extend(image),
            Err(error) => warnings.push(error.to_string()),
        }
    }
    found
}

/// Finds the boot image, and the image that the installation put in its place, if it did.
///
/// The first source with a version that is understood names the boot image, else the first with
/// any. Others that disagree add a warning. Until the rebase, os-release belongs to the boot image
/// or to the image that replaced it.
pub(super) fn find(
    root: &Root,
    record: Option<&Record>,
    os_release: &OsRelease,
    stage: Stage,
    warnings: &mut Vec<String>,
) -> (Option<BootImage>, Option<BootImage>) {
    let mut found = alephs(root, os_release.is_rhel, warnings);
    let recorded = record.and_then(Record::image);
    found.extend(recorded.map(|version| BootImage {
        version,
        source: ImageSource::Record,
        path: record.map_or(RECORD_PATH, |record| record.file).to_owned(),
    }));
    let mut booted = os_release.image.clone();
    // If no other source is understood, os-release is not known to be of another image.
    if stage == Stage::FirstBoot
        && (!found.iter().any(|image| image.version.is_known())
            || booted
                .as_ref()
                .is_some_and(|booted| !booted.version.is_known()))
    {
        found.extend(booted.take());
    }
    if found.is_empty() {
        return (None, None);
    }
    let best = found.iter().position(|image| image.version.is_known());
    let best = best.unwrap_or(0);
    let boot = found.remove(best);
    let doubts = |(at, other)| doubt(other, &boot, at < best);
    warnings.extend(found.iter().enumerate().filter_map(doubts));
    // After the rebase the booted deployment is not judged any more.
    let to_rebase = matches!(stage, Stage::FirstBoot | Stage::Unreadable);
    let replaced_by = booted.filter(|booted| {
        to_rebase
            && booted.version.is_known()
            && boot.version.is_known()
            && booted.version.text != boot.version.text
    });
    if let Some(BootImage { path, version, .. }) = &replaced_by {
        warnings.push(format!(
            "{path}: the node runs {version}, which the installation put in place of the boot image, {} by {}; the limits are applied to the former",
            boot.version, boot.path
        ));
    }
    (Some(boot), replaced_by)
}

/// Compares the version in os-release with that of the aleph; `None` if one of the two is unknown.
pub(super) fn runs_the_boot_image(node: &Node<'_>) -> Option<bool> {
    let booted = node.os_release.version()?;
    let (stage, mut warnings) = (Stage::FirstBootFinished, Vec::new());
    let (boot, _) = find(node.root, None, &OsRelease::default(), stage, &mut warnings);
    Some(boot?.version.text == booted)
}

/// The warning about another source than the one that is used, if they differ. One that ranks
/// higher was not understood.
fn doubt(other: &BootImage, used: &BootImage, ranks_higher: bool) -> Option<String> {
    let BootImage { path, version, .. } = other;
    let (used, by) = (&used.version, &used.path);
    if ranks_higher {
        return Some(format!(
            "{path}: version \"{version}\" is not understood; {by} is used: {used}"
        ));
    }
    (version.text != used.text).then(|| {
        format!(
            "{path}: says the boot image is {version}, but {by} says {used}; the latter is used"
        )
    })
}
