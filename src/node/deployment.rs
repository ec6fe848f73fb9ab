//! The booted deployment: from the kernel argument `ostree=` to the container image that it was
//! deployed from.

use super::{FileError, Root};
use crate::text;

/// Largest origin file that is read, in bytes; real ones have a few lines.
const MAX: u64 = 64 << 10;

/// The keys of an origin that name the base of a deployment, which a local commit keeps; the first
/// that is there counts. rpm-ostree writes `baserefspec` in place of `refspec` as soon as packages,
/// overrides or an initramfs are added (`src/libpriv/rpmostree-origin.cxx`, `rust/src/origin.rs`).
const BASES: [&str; 4] = [
    "container-image-reference",
    "custom-url",
    "refspec",
    "baserefspec",
];

/// Folder of an ostree system's deployments and the links to them.
const REPOSITORY: &str = "/sysroot/ostree";

/// The booted deployment.
pub(super) struct Booted {
    /// `CHECKSUM.SERIAL`, printable.
    pub(super) name: String,
    /// The path of its origin file.
    path: String,
    /// Its text; empty until it is read.
    origin: String,
}

/// Finds the deployment that `ostree` (`/ostree/boot.1/rhcos/HASH/0`) names.
///
/// That path is a symlink to `…/deploy/STATEROOT/deploy/CHECKSUM.SERIAL`. The origin is a file
/// beside the deployment, with `.origin` added to its name (ostree-prepare-root(1), "deployments").
///
/// `None` where there is no `/sysroot/ostree`, as in a tree that was made by hand to try a policy.
///
/// # Errors
/// The link is missing or cannot be read, so the deployment is unknown.
pub(super) fn find(root: &Root, ostree: &str) -> Result<Option<Booted>, FileError> {
    if !root.exists(REPOSITORY)? {
        return Ok(None);
    }
    let boot = format!("/sysroot/{}", ostree.trim_matches('/'));
    let Some(target) = root.read_link(&boot)? else {
        return Err(FileError::content(
            &boot,
            "the booted deployment is not there",
        ));
    };
    let Some(target) = target.to_str() else {
        return Err(FileError::content(
            &boot,
            "links to a name that is not UTF-8",
        ));
    };
    let target = target.trim_end_matches('/');
    let parent = boot.rsplit_once('/').map_or("", |(parent, _)| parent);
    let name = target.rsplit_once('/').map_or(target, |(_, name)| name);
    Ok(Some(Booted {
        name: text::printable(name),
        path: format!("{parent}/{target}.origin"),
        origin: String::new(),
    }))
}

impl Booted {
    /// Reads its origin.
    ///
    /// # Errors
    /// The origin is missing or cannot be read.
    pub(super) fn read_origin(&mut self, root: &Root) -> Result<(), FileError> {
        self.origin = root
            .read_text(&self.path, MAX)?
            .ok_or_else(|| FileError::content(&self.path, "the booted deployment has no origin"))?;
        Ok(())
    }

    pub(super) fn has_origin(&self) -> bool {
        !self.origin.is_empty()
    }

    /// `container-image-reference` in its origin; printable.
    pub(super) fn image_reference(&self) -> Option<String> {
        self.origin_value("container-image-reference")
    }

    /// A value of its origin; printable. Up to 4.11 the Machine Config Daemon names the target in
    /// `custom-url`.
    pub(super) fn origin_value(&self, key: &str) -> Option<String> {
        value_of(&self.origin, key)
    }

    /// The image, URL or ref that it was made from, whatever was added to that; printable.
    pub(super) fn base(&self) -> Option<String> {
        BASES.iter().find_map(|key| self.origin_value(key))
    }
}

/// Compares two bases. The second is also the same if it names the commit of `deployment`, which
/// was made from the first.
pub(super) fn is_same_base(a: &str, b: &str, deployment: Option<&str>) -> bool {
    let [a, b] = [a, b].map(|base| base.strip_prefix("ostree://").unwrap_or(base));
    let is_commit = |deployment: &str| b.len() >= 6 && deployment.starts_with(b);
    a == b || same_digest(a, b) || deployment.is_some_and(is_commit)
}

/// Compares the commits of two deployments, each `CHECKSUM.SERIAL`. The serial grows with
/// every deployment of the commit: new kernel arguments make one, and are no rebase.
pub(super) fn is_same_commit(a: &str, b: &str) -> bool {
    let commit = |name| {
        let (commit, serial) = str::rsplit_once(name, '.')?;
        serial.parse::<u32>().ok().map(|_| commit)
    };
    a == b || matches!((commit(a), commit(b)), (Some(a), Some(b)) if a == b)
}

/// A value in the text of an origin file, which is a key file with the section `[origin]`.
fn value_of(origin: &str, wanted: &str) -> Option<String> {
    let mut section = "";
    for line in origin.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[origin]"
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == wanted
        {
            return Some(text::printable(value.trim())).filter(|value| !value.is_empty());
        }
    }
    None
}

/// Compares the digests of two image references. Tags are not compared: they can move.
pub(super) fn same_digest(a: &str, b: &str) -> bool {
    match (digest(a), digest(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn digest(reference: &str) -> Option<&str> {
    let (_, digest) = reference.rsplit_once('@')?;
    let (algorithm, hex) = digest.split_once(':')?;
    let whole = matches!(
        (algorithm, hex.len()),
        ("sha256", 64) | ("sha384", 96) | ("sha512", 128)
    );
    (whole && hex.bytes().all(|b| b.is_ascii_hexdigit())).then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_reference_of_the_origin_section_only() {
        let reference = |origin| value_of(origin, "container-image-reference");
        let origin = "[other]\ncontainer-image-reference=no\n[origin]\nrefspec=x\ncontainer-image-reference = ostree-unverified-registry:quay.io/a@sha256:00\n";
        assert_eq!(
            reference(origin).as_deref(),
            Some("ostree-unverified-registry:quay.io/a@sha256:00")
        );
        assert_eq!(reference("[origin]\nrefspec=x\n"), None);
        assert_eq!(reference("[origin]\ncontainer-image-reference=\n"), None);
    }

    #[test]
    fn the_serial_of_a_deployment_does_not_count() {
        assert!(is_same_commit("c0ffee.0", "c0ffee.0") && is_same_commit("c0ffee.0", "c0ffee.12"));
        for (a, b) in [
            ("c0ffee.0", "decade.0"),
            ("c0ffee.a", "c0ffee.b"),
            ("c0ffee", "c0ffee.0"),
        ] {
            assert!(!is_same_commit(a, b), "{a} {b}");
        }
    }

    #[test]
    fn only_whole_equal_digests_are_the_same_image() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        assert!(same_digest(
            &format!("ostree-image-signed:docker://q/x@sha256:{a}"),
            &format!("q/y@sha256:{a}")
        ));
        assert!(!same_digest(
            &format!("q/x@sha256:{a}"),
            &format!("q/x@sha256:{b}")
        ));
        assert!(!same_digest("q/x:latest", "q/x:latest"));
        assert!(!same_digest("q/x@sha256:", "q/x@sha256:"));
        assert!(!same_digest(&format!("q/x@sha256:{a}"), "q/x:latest"));
    }
}
