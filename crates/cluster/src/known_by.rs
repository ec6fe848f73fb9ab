//! Sources of a boot image's version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of a boot image's version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum KnownBy {
    /// A joined node that was made from the same image says so on its Node.
    Node,
    /// The aleph file of such a node, which a person collected.
    Aleph,
    /// A refused node that was made from the same image said so in its report, which is a claim and
    /// no proof.
    Report,
    /// It is an image of the cluster's own release, by the ConfigMap `coreos-bootimages`.
    ConfigMap,
    /// It is one of the images that openshift/installer has published, of whatever release.
    Published,
    /// It is an image of another release, by the stream metadata that a person named.
    StreamMetadata,
    /// The image's name or URN has it.
    ImageName,
    /// All images that were published for the release that it is of say the same.
    Release,
    /// The cluster was installed as the release that it is probably of: an estimate.
    InstalledRelease,
    #[default]
    #[serde(other)]
    Unknown,
}
