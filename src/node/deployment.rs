//! The booted deployment: from the kernel argument `ostree=` to the container image that it was deployed from.

use super::{FileError, Root};
use crate::text;
use std::os::unix::ffi::OsStrExt;

/// Largest origin file that is read, in bytes; real ones have a few lines.
const MAX: u64 = 64 << 10;

/// Where an ostree system has its deployments and the links to them.
const REPOSITORY: &str = "/sysroot/ostree";

/// `container-image-reference` of the deployment that `ostree` (`/ostree/boot.1/rhcos/HASH/0`) names; printable.
///
/// That path is a symlink to `…/deploy/STATEROOT/deploy/CHECKSUM.SERIAL`. The origin is a file beside the deployment, with `.origin` added
/// to its name (ostree-prepare-root(1), "deployments").
///
/// `None` also where there is no `/sysroot/ostree`, as in a tree that was made by hand to try a policy.
///
/// # Errors
/// A file on the way is missing or cannot be read, so the deployment is unknown.
pub(super) fn image_reference(root: &Root, ostree: &str) -> Result<Option<String>, FileError> {
    if !root.exists(REPOSITORY)? {
        return Ok(None);
    }
    let boot = format!("/sysroot/{}", ostree.trim_matches('/'));
    let Some(target) = root.read_link(&boot)? else { return Err(FileError::content(&boot, "the booted deployment is not there")) };
    let Ok(target) = std::str::from_utf8(target.as_bytes()) else {
        return Err(FileError::content(&boot, "links to a name that is not UTF-8"));
    };
    let parent = boot.rsplit_once('/').map_or("", |(parent, _)| parent);
    let origin = format!("{parent}/{}.origin", target.trim_end_matches('/'));
    let Some(text) = root.read_text(&origin, MAX)? else { return Err(FileError::content(&origin, "the booted deployment has no origin")) };
    Ok(reference(&text))
}

/// The reference in the text of an origin file, which is a key file with the section `[origin]`.
fn reference(origin: &str) -> Option<String> {
    let mut section = "";
    for line in origin.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[origin]"
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "container-image-reference"
        {
            return Some(text::printable(value.trim())).filter(|value| !value.is_empty());
        }
    }
    None
}

/// Whether two image references have the same digest. Tags are not compared: they can move.
pub(super) fn same_digest(a: &str, b: &str) -> bool {
    match (digest(a), digest(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn digest(reference: &str) -> Option<&str> {
    let (_, digest) = reference.rsplit_once('@')?;
    let (algorithm, hex) = digest.split_once(':')?;
    let whole = matches!((algorithm, hex.len()), ("sha256", 64) | ("sha384", 96) | ("sha512", 128));
    (whole && hex.bytes().all(|b| b.is_ascii_hexdigit())).then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_reference_of_the_origin_section_only() {
        let origin = "[other]\ncontainer-image-reference=no\n[origin]\nrefspec=x\ncontainer-image-reference = ostree-unverified-registry:quay.io/a@sha256:00\n";
        assert_eq!(reference(origin).as_deref(), Some("ostree-unverified-registry:quay.io/a@sha256:00"));
        assert_eq!(reference("[origin]\nrefspec=x\n"), None);
        assert_eq!(reference("[origin]\ncontainer-image-reference=\n"), None);
    }

    #[test]
    fn only_whole_equal_digests_are_the_same_image() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        assert!(same_digest(&format!("ostree-image-signed:docker://q/x@sha256:{a}"), &format!("q/y@sha256:{a}")));
        assert!(!same_digest(&format!("q/x@sha256:{a}"), &format!("q/x@sha256:{b}")));
        assert!(!same_digest("q/x:latest", "q/x:latest"));
        assert!(!same_digest("q/x@sha256:", "q/x@sha256:"));
        assert!(!same_digest(&format!("q/x@sha256:{a}"), "q/x:latest"));
    }
}
