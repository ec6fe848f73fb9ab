//! What was read and makes no nodes of the cluster's, or is not understood (pure).

use super::fields::{list_at, str_at, text_at};
use super::kind_table::is_maker;
use super::kind_table::{AGENT_INSTALL, METAL};
use super::kinds::Metadata;
use crate::audit::results::some_of;
use serde_json::Value;

/// What is left out, and said to be.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// RHEL workers that are made of packages.
    pub(crate) package_mode: usize,
    /// Hosts that boot a live ISO.
    pub(crate) live_isos: usize,
    /// `MachinePool` of hive.openshift.io.
    pub(crate) hive_pools: usize,
    /// What an AgentServiceConfig boots hosts of other clusters with.
    os_images: Vec<String>,
}

/// The most images of AgentServiceConfigs that are kept.
const MAX_OS_IMAGES: usize = 1_000;

impl Others {
    /// Whether the object is one of these; then it is counted.
    pub(crate) fn add(&mut self, group: &str, kind: &str, object: &Value) -> bool {
        match (group, kind) {
            ("", "Node") if is_package_mode(object) => self.package_mode += 1,
            (METAL, "BareMetalHost") if is_live_iso(object) => self.live_isos += 1,
            ("hive.openshift.io", "MachinePool") => self.hive_pools += 1,
            (AGENT_INSTALL, "AgentServiceConfig") => {
                let images = list_at(object, "/spec/osImages")
                    .iter()
                    .filter_map(os_image);
                let room = MAX_OS_IMAGES.saturating_sub(self.os_images.len());
                self.os_images.extend(images.take(room));
            }
            _ => return false,
        }
        true
    }

    /// The images that hosts of other clusters are booted with, in words.
    pub(crate) fn os_images(&self) -> Option<String> {
        let images: Vec<&str> = self.os_images.iter().map(String::as_str).collect();
        (!images.is_empty()).then(|| {
            format!(
                "AgentServiceConfig boots hosts of other clusters from {}: a policy of theirs judges them, not this one",
                if images.len() > 8 {
                    some_of(&images)
                } else {
                    images.join(", ")
                }
            )
        })
    }
}

/// A worker that is made of packages: its OS is RHEL, and neither CoreOS nor an image. RHCOS has the
/// same `os_id` in some releases.
fn is_package_mode(node: &Value) -> bool {
    let os_image = str_at(node, "/status/nodeInfo/osImage").unwrap_or_default();
    os_image.starts_with("Red Hat Enterprise Linux") && !os_image.contains("CoreOS")
}

/// What the hub of a zero touch installation boots the hosts of other clusters from
/// (baremetal-operator `Image.DiskFormat`).
fn is_live_iso(host: &Value) -> bool {
    str_at(host, "/spec/image/format") == Some("live-iso")
}

fn os_image(image: &Value) -> Option<String> {
    let version = text_at(image, "/version")?;
    let words = ["/openshiftVersion", "/cpuArchitecture"].map(|path| text_at(image, path));
    let words: Vec<String> = words.into_iter().flatten().collect();
    Some(format!("{version} ({})", words.join(", ")))
}

/// Kinds of the groups that make machines which make none themselves.
const NO_MAKERS: [&str; 34] = [
    // machine.openshift.io, cluster.x-k8s.io
    "MachineHealthCheck",
    "MachineDrainRule",
    "Cluster",
    "ClusterClass",
    // karpenter.sh
    "NodeOverlay",
    // hypershift.openshift.io
    "HostedCluster",
    "HostedControlPlane",
    "AWSEndpointService",
    "AzurePrivateLinkService",
    "GCPPrivateServiceConnect",
    "CertificateRevocationRequest",
    "CertificateSigningRequestApproval",
    "ControlPlaneComponent",
    "ControlPlaneVersion",
    "HCPEtcdBackup",
    "IgnitionPayload",
    // metal3.io
    "BMCEventSubscription",
    "DataImage",
    "FirmwareSchema",
    "HardwareData",
    "HostFirmwareComponents",
    "HostFirmwareSettings",
    "HostUpdatePolicy",
    "PreprovisioningImage",
    "HostClaim",
    "HostDeployPolicy",
    // Read for one name alone, or of namespaces that are not the cluster's own.
    "BareMetalHost",
    "Provisioning",
    "Status",
    "List",
    "Machine",
    "MachineSet",
    "NodePool",
    "NodeClaim",
];

/// What of a kind is not understood; `None` where it makes no machines.
pub(crate) fn not_understood(group: &str, kind: &str, object: &Value) -> Option<(String, String)> {
    if !is_maker(group) || NO_MAKERS.contains(&kind) {
        return None;
    }
    let what = format!(
        "{} {}",
        crate::text::printable(kind),
        Metadata::of(object).full_name()
    );
    let why = format!(
        "what its API group {} makes nodes from is not understood for this kind",
        crate::text::printable(group)
    );
    Some((what.trim_end().to_owned(), why))
}
