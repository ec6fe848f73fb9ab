//! The Ignition spec of a set's user data (pure).
//!
//! A cluster keeps the user data that it was installed with, until the Machine Config Operator converts it
//! (since 4.19, `upgradeStubIgnitionIfRequired`) or somebody does. `*-user-data-managed` is the
//! operator's own.

use crate::version::{ImageVersion, OcpMinor, Release};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::ignition_specs::{self, Spec};
use std::cmp::Ordering;

/// The user data of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stub {
    /// Its spec; where that is an estimate, the first of its major version.
    spec: Spec,
    /// The Secret's name.
    secret: String,
    source: SpecSource,
}

/// Source of the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SpecSource {
    /// The Secret was read.
    Secret,
    /// The operator keeps it.
    Managed,
    /// The cluster was installed as this release.
    Installed(String),
    /// The set's image is this.
    Image(String),
}

/// The first release whose images read spec 3.
const SPEC_3: OcpMinor = OcpMinor { major: 4, minor: 6 };

impl Stub {
    /// The user data in a Secret of this namespace and name.
    pub(crate) fn of(objects: &Objects, namespace: &str, secret: &str) -> Option<Self> {
        let read = objects
            .user_data
            .get(&(namespace.to_owned(), secret.to_owned()));
        let read = read.map(|user_data| user_data.spec);
        let stub = |spec, source| {
            Some(Self {
                spec,
                secret: secret.to_owned(),
                source,
            })
        };
        let first = |major| Spec { major, minor: 0 };
        // Other specs are not known to any image.
        if let Some(spec) = read.filter(|spec| matches!(spec.major, 2 | 3)) {
            return stub(spec, SpecSource::Secret);
        }
        if secret.ends_with("-user-data-managed") {
            return stub(first(3), SpecSource::Managed);
        }
        let release = objects.history.installed.as_deref()?;
        let minor = release.parse::<Release>().ok()?.minor;
        // openshift/installer, `pkg/asset/ignition/machine`: the newest spec that it may be of.
        let spec = match minor.cmp(&SPEC_3) {
            Ordering::Less => first(2),
            Ordering::Equal => Spec { major: 3, minor: 1 },
            Ordering::Greater => Spec { major: 3, minor: 2 },
        };
        stub(spec, SpecSource::Installed(release.to_owned()))
    }

    /// User data of spec 2, of which an image up to 4.5 is the sign: it reads no other.
    pub(crate) fn by_image(secret: &str, image: &ImageVersion) -> Option<Self> {
        let reads_3 = !ignition_specs::cannot_read(image, Spec { major: 3, minor: 0 });
        (!reads_3).then(|| Self {
            spec: Spec { major: 2, minor: 0 },
            secret: secret.to_owned(),
            source: SpecSource::Image(image.text.clone()),
        })
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// The way to spec 3, in words.
    pub(crate) fn conversion(&self) -> String {
        format!(
            "convert Secret {} to Ignition spec 3 (docs/audit.md); managedBootImages of MachineConfiguration cluster does so where it sets an image",
            self.secret
        )
    }

    /// It is what the Secret says, and no estimate.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.source, SpecSource::Secret | SpecSource::Managed)
    }

    /// It is of spec 2, which images since 4.6 do not read.
    pub(crate) fn is_of_spec_2(&self) -> bool {
        self.spec.major == 2
    }

    /// Tells whether the Ignition of this image surely does not read it.
    pub(crate) fn is_unreadable(&self, image: &ImageVersion) -> bool {
        ignition_specs::cannot_read(image, self.spec)
    }

    /// Doubt about user data that was not read, in words: an image up to 4.5 reads spec 2 alone, and the data may
    /// have been converted since.
    pub(crate) fn perhaps_converted(&self, image: &ImageVersion) -> Option<String> {
        let reads_3 = !ignition_specs::cannot_read(image, Spec { major: 3, minor: 0 });
        (!self.is_known() && !reads_3).then(|| {
            format!(
                "the user data (Secret {}, not read) may have been converted to spec 3, which the Ignition of {} does not read",
                self.secret, image.text
            )
        })
    }

    /// The specs that the Ignition of an image reads which does not read this, in words.
    fn others(&self, image: Option<&ImageVersion>) -> String {
        let known = image.and_then(ignition_specs::of_image);
        let known = known.filter(|known| known.reads.major == self.spec.major);
        match (known, self.spec.major) {
            (Some(known), _) => format!("specs up to {} alone", known.reads.version()),
            (None, 2) => "spec 3 alone".to_owned(),
            (None, _) => "spec 2 alone".to_owned(),
        }
    }

    /// Its spec as the image is told it: with the minor version where that decides.
    fn shown(&self, image: Option<&ImageVersion>) -> String {
        let known = image.and_then(ignition_specs::of_image);
        match known {
            Some(known) if known.reads.major == self.spec.major => self.spec.version(),
            _ => self.spec.major.to_string(),
        }
    }

    /// Reason why a node of this image does not come up, in words.
    pub(crate) fn unreadable(&self, image: Option<&ImageVersion>) -> String {
        let of = image.map_or("such an image", |image| &image.text);
        format!(
            "{}, and the Ignition of {of} reads {}: the node stops in the initramfs, before any agent",
            self.says(&self.shown(image)),
            self.others(image)
        )
    }

    fn says(&self, spec: &str) -> String {
        let Self { secret, source, .. } = self;
        match source {
            SpecSource::Secret => {
                format!("the user data (Secret {secret}) is of Ignition spec {spec}")
            }
            SpecSource::Managed => format!(
                "the user data (Secret {secret}, which the cluster keeps) is of Ignition spec {spec}"
            ),
            SpecSource::Image(image) => format!(
                "the user data (Secret {secret}, not read) is most likely of Ignition spec {spec}, because {image} reads no other"
            ),
            SpecSource::Installed(release) => format!(
                "the user data (Secret {secret}, not read) is most likely of Ignition spec {spec}, because the cluster was installed as {release}"
            ),
        }
    }
}
