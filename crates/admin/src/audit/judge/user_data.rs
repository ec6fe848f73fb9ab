//! The Ignition spec of a set's user data, and the one that an image reads (pure).
//!
//! RHCOS reads spec 2 until 4.5 and spec 3 since 4.6 (Ignition 0.35 and 2.6). A cluster keeps the
//! user data that it was installed with, until the Machine Config Operator converts it (since 4.19,
//! `upgradeStubIgnitionIfRequired`) or somebody does. `*-user-data-managed` is the operator's own.

use crate::version::{ImageVersion, OcpMinor, OsFamily, Release};
use std::fmt;

/// The user data of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stub {
    /// The major version of the spec.
    pub(crate) spec: u8,
    /// The Secret's name.
    secret: String,
    evidence: Evidence,
}

/// Source of the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Evidence {
    /// The Secret was read.
    Secret,
    /// The operator keeps it.
    Managed,
    /// The cluster was installed as this release.
    Installed(String),
}

/// The first release whose images read spec 3.
const SPEC_3: OcpMinor = OcpMinor { major: 4, minor: 6 };

impl Stub {
    /// `read` is the version in the Secret of this name; `installed` the release that the cluster
    /// was installed as.
    pub(crate) fn of(secret: &str, read: Option<&str>, installed: Option<&str>) -> Option<Self> {
        let stub = |spec, evidence| {
            Some(Self {
                spec,
                secret: secret.to_owned(),
                evidence,
            })
        };
        if let Some(spec) = read.and_then(major) {
            return stub(spec, Evidence::Secret);
        }
        if secret.ends_with("-user-data-managed") {
            return stub(3, Evidence::Managed);
        }
        let release = installed?;
        let minor = release.parse::<Release>().ok()?.minor;
        let spec = if minor < SPEC_3 { 2 } else { 3 };
        stub(spec, Evidence::Installed(release.to_owned()))
    }

    /// It is what the Secret says, and no estimate.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.evidence, Evidence::Installed(_))
    }
}

impl fmt::Display for Stub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spec, secret, .. } = self;
        match &self.evidence {
            Evidence::Secret => write!(
                f,
                "the user data (Secret {secret}) is of Ignition spec {spec}"
            ),
            Evidence::Managed => write!(
                f,
                "the user data (Secret {secret}, which the cluster keeps) is of Ignition spec {spec}"
            ),
            Evidence::Installed(release) => write!(
                f,
                "the user data (Secret {secret}, not read) is most likely of Ignition spec {spec}, because the cluster was installed as {release}"
            ),
        }
    }
}

/// 2 or 3 of `2.2.0`; other specs are not known to any image.
fn major(version: &str) -> Option<u8> {
    let spec = version.split('.').next()?.parse().ok()?;
    matches!(spec, 2 | 3).then_some(spec)
}

/// The major version of the spec that the Ignition of an image reads; `None` where that is not known.
pub(crate) fn reads(image: &ImageVersion) -> Option<u8> {
    if matches!(image.os_family(), Some(OsFamily::Fcos | OsFamily::Scos)) {
        return Some(3);
    }
    if let Some(ocp) = image.ocp {
        return Some(if ocp < SPEC_3 { 2 } else { 3 });
    }
    let rhel = image.rhel?;
    match (rhel.major, rhel.minor) {
        (8, Some(0 | 1)) => Some(2),
        // 8.2 is that of 4.4 to 4.6.
        (8, Some(2) | None) => None,
        (8.., _) => Some(3),
        _ => None,
    }
}
