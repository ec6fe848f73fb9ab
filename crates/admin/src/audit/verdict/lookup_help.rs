//! Ways to learn an unknown version (pure).

use crate::audit::results::set::{KnownBy, LookupScript, SetKind};
use crate::audit::set::{Place, Set};
use crate::audit::upkeep::swapped::HELP;
use crate::audit::upkeep::upkeep_rules as rules;
use crate::audit::versions::known_version::KnownVersion;
use crate::platform::Platform;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::WhyNot;

/// Help in words, and the script in it.
#[derive(Debug)]
pub(crate) struct LookupHelp {
    pub(crate) says: &'static str,
    pub(crate) script: Option<LookupScript>,
}

impl From<&'static str> for LookupHelp {
    fn from(says: &'static str) -> Self {
        Self { says, script: None }
    }
}

/// Help where joined nodes are made from the image, and know it.
const LABELS: LookupHelp = LookupHelp {
    says: "its joined nodes have no label: the script of `oc skewguard audit --print-commands labels` makes them label themselves",
    script: Some(LookupScript::Labels),
};
const ALEPHS: LookupHelp = LookupHelp {
    says: "its joined nodes have no label: the script of `oc skewguard audit --print-commands alephs` collects their aleph files for --from",
    script: Some(LookupScript::Alephs),
};

/// Help where none is, and where it was not read whether one is.
macro_rules! helps {
    ($join:literal, $help:literal) => {
        [
            concat!("no joined node is made from it", $join, $help),
            concat!(
                "its Machines and Nodes were not read: name also what `oc get machines.machine.openshift.io,machines.cluster.x-k8s.io,nodes -A -o json` prints (--from); ",
                $help
            ),
        ]
    };
}

const STREAMS: [&str; 2] = helps!(
    ": ",
    "name the stream metadata of the release that it is from (`--streams`), or let one node join and audit again"
);
const AMI: [&str; 2] = helps!(
    ": ",
    "its name in AWS may say the version (`oc skewguard inspect NAME`), `--streams` knows newer ones, or let one join"
);
const UPLOADED: [&str; 2] = helps!(
    ", and ",
    "no public list has what was uploaded: ask who did, or let one node join and audit again"
);
const JOIN: [&str; 2] = helps!(": ", "let one join, and audit again");

/// Help where nodes of one image say different versions.
const CONTRADICTED: LookupHelp = LookupHelp {
    says: "its nodes contradict each other: the script of `oc skewguard audit --print-commands alephs` collects their aleph files for --from",
    script: Some(LookupScript::Alephs),
};

/// The nodes of a NodePool.
const HOSTED: &str = "its nodes join another cluster: audit that one, where they have labels";

/// Help where no object that was read names an image.
const UNREAD: &str =
    "the script of `oc skewguard audit --print-commands` gathers what was not read (--from)";
const UNNAMED: &str = "no object of the cluster says it: ask whoever chose the image";

const LABELLED: &str = "take the label off its template (a NodePool's imageType), or give it an image of Windows: then it is left out";

/// Help where a condition of a limit is unknown, such as Secure Boot.
pub(crate) const ON_NODE: &str = "only its nodes know what the limit asks for: in mode Warn each says its verdict in its journal and its report";

/// Help where the release is unknown.
pub(crate) const NAME_RELEASE: &str = "name the cluster's release (--target), or its ClusterVersion: what `oc get clusterversion -o json` prints (--from)";

/// Way to learn the version of the set's image, of which `claim` is said.
pub(crate) fn lookup_help(
    set: &Set,
    claim: Option<&KnownVersion>,
    objects: &Objects,
) -> LookupHelp {
    if set.image.why_not == Some(WhyNot::LabelledWindows) {
        return LABELLED.into();
    }
    if set.kind == SetKind::NodePool {
        return HOSTED.into();
    }
    if set.is_swapped {
        return HELP.into();
    }
    if claim.is_some_and(|claim| claim.by != KnownBy::Report) {
        return CONTRADICTED;
    }
    let joined = match set.image.key() {
        Some(_) => set.joined,
        // Sets without machines have nodes alone.
        None if set.path == Place::Nowhere => set.nodes.iter().map(|nodes| nodes.count).sum(),
        None => 0,
    };
    // Where one node has a label, skewguard is there.
    let mut nodes = objects.nodes.iter();
    match (joined, nodes.any(|node| node.version.is_some())) {
        (0, _) => {
            let Some(image) = &set.image.value else {
                let is_unread = set.image.why_not.is_some_and(WhyNot::is_unread);
                return if is_unread { UNREAD } else { UNNAMED }.into();
            };
            let [read, unread] = match set.image.platform {
                Some(Platform::Aws) => AMI,
                Some(Platform::Gcp) if rules::is_of_rhcos_cloud(&set.image) => STREAMS,
                Some(Platform::Azure) if image.starts_with('/') => UPLOADED,
                Some(Platform::Gcp) => UPLOADED,
                None
                | Some(
                    Platform::Azure
                    | Platform::IbmCloud
                    | Platform::KubeVirt
                    | Platform::Libvirt
                    | Platform::Metal
                    | Platform::Nutanix
                    | Platform::OpenStack
                    | Platform::Ovirt
                    | Platform::PowerVs
                    | Platform::VSphere,
                ) => JOIN,
            };
            let is_unread = set.nodes_unread && set.path != Place::Nowhere;
            if is_unread { unread } else { read }.into()
        }
        (_, true) => LABELS,
        (_, false) => ALEPHS,
    }
}
