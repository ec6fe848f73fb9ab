//! The kubelet's client certificates under /var, which may be of an earlier installation.

use super::der::certificates;
use super::{FileError, Root, sha256_hex};

/// Folder of the kubelet's certificates, and the one that it uses.
const KUBELET: &str = "/var/lib/kubelet";
pub(super) const PKI: &str = "/var/lib/kubelet/pki";
pub(super) const CURRENT: &str = "kubelet-client-current.pem";

/// Limit of the files there, and of the bytes of one.
const FILES_MAX: (usize, u64) = (1024, 64 << 10);

/// Looks if the kubelet's folder, or the one that it will be made in, is on the file system of /etc.
pub(super) fn is_on_etc(root: &Root) -> Option<bool> {
    let device = |path| root.device(path).ok().flatten();
    let kubelet = [KUBELET, "/var/lib", "/var"].into_iter().find_map(device);
    Some(kubelet? == device("/etc")?)
}

/// Digests of the kubelet's certificates that are there before it can have one of this installation,
/// and if they are on the file system of /etc. `None` where one cannot be read.
pub(super) fn look(root: &Root) -> (Option<Vec<String>>, Option<bool>) {
    let digests = || {
        let mut digests = Vec::new();
        for name in root.list(PKI, FILES_MAX.0).ok()? {
            let Some(name) = name.to_str() else { continue };
            if name.starts_with("kubelet-client-") && name.ends_with(".pem") {
                let blocks = read(root, &format!("{PKI}/{name}"))
                    .ok()?
                    .unwrap_or_default();
                digests.extend(blocks.iter().map(|der| sha256_hex(der)));
            }
        }
        digests.sort_unstable();
        digests.dedup();
        Some(digests)
    };
    let digests = digests();
    let is_on_etc = digests.as_ref().and_then(|_| is_on_etc(root));
    (digests, is_on_etc)
}

/// The certificates in a file; `None` where there is no such file.
///
/// # Errors
/// It cannot be read, or has none.
pub(super) fn read(root: &Root, path: &str) -> Result<Option<Vec<Vec<u8>>>, FileError> {
    let Some(pem) = root.read(path, FILES_MAX.1)? else {
        return Ok(None);
    };
    let found = certificates(&pem);
    let found = found.ok_or_else(|| FileError::content(path, "has no certificate in PEM"))?;
    Ok(Some(found))
}
