//! What a policy would refuse in a whole cluster: for each set of machines, the verdict on its next node.
//!
//! [`Objects`] and a policy go in, a [`BootImageAudit`] comes out, which [`text`] shows to a person: all of that is pure. What no object says stays
//! unknown. [`fetch`] reads the objects from the API server that a [`kubeconfig`] names.

pub mod fetch;
mod image;
mod kinds;
mod known;
pub mod kubeconfig;
pub mod objects;
mod sets;
mod skew;
mod stream;
pub mod text;

pub use objects::Objects;

use crate::API_VERSION;
use crate::verdict::{
    Action, BootImage, BootImageStatus, Deployment, Facts, ImageSource, Outcome, Override, OverrideSource, OverrideWord, PolicyInput,
    PolicyStatus, Reason, Target, TargetInput, Verdict, decide,
};
use crate::version::ImageVersion;
use image::Image;
use known::Knowledge;
use serde::Serialize;
use sets::Set;
use std::collections::BTreeMap;
use stream::OwnImage;

/// How the version of a boot image is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum KnownBy {
    /// A joined node that was made from the same image says so on its Node.
    Node,
    /// A refused node that was made from the same image said so in its report, which is a claim and no proof.
    Report,
    /// It is an image of the cluster's own release, by the ConfigMap `coreos-bootimages`.
    ConfigMap,
    /// The image's name or URN has it.
    ImageName,
    Unknown,
}

/// The audit, serialised as `BootImageAudit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BootImageAudit {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) summary: Summary,
    /// The policy that would decide; absent where there is nothing to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PolicyStatus>,
    /// The release that it was asked about; absent where no object says it and none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    /// What makes nodes, worst first.
    pub(crate) sets: Vec<SetAudit>,
    /// The oldest image that is still in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oldest: Option<Oldest>,
    /// What the Machine Config Operator takes for it; absent where the cluster does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<ClusterSkew>,
    /// What could not be read, and why.
    pub(crate) unread: Vec<Unread>,
    pub(crate) warnings: Vec<String>,
}

/// How many sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) sets: usize,
    /// Whose next node would be refused under `Enforce`.
    pub(crate) would_be_refused: usize,
    /// Whose next node would be let in.
    pub(crate) would_be_allowed: usize,
    /// Those that the policy could not decide about, mostly because the version is unknown.
    pub(crate) undetermined: usize,
}

/// A kind of objects that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unread {
    /// The resource or the file.
    pub(crate) what: String,
    pub(crate) why: String,
    /// Sets of machines may be missing from the audit because of it.
    pub(crate) hides_sets: bool,
}

/// A set of machines, or a pool of nodes without one, and the verdict on its next node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetAudit {
    /// `MachineSet`, `ControlPlaneMachineSet`, `NodePool`; `Machine` and `BareMetalHost` for those without a set; `MachineConfigPool` for nodes
    /// without either.
    pub(crate) kind: &'static str,
    /// The API group of that kind.
    pub group: &'static str,
    /// Empty where the kind has none.
    pub namespace: String,
    /// The object's name; of objects without a set, what they have in common.
    pub(crate) name: String,
    /// How many machines are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i64>,
    /// The MachineConfigPool whose config the next node asks for, where the name of its user data says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// `aws`, `vsphere` and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// As in the ConfigMap `coreos-bootimages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) architecture: Option<String>,
    /// Where images are kept by region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<String>,
    /// The field that names the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) image_field: Option<String>,
    /// What that field says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The image's version; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) boot_image: Option<BootImageStatus>,
    pub(crate) known_by: KnownBy,
    /// The object that told it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known_from: Option<String>,
    /// The verdict on the next node.
    pub verdict: Outcome,
    /// What would follow if the policy's mode were `Enforce`.
    pub(crate) action: Action,
    pub(crate) reason: Reason,
    pub(crate) message: String,
    /// What to change; absent where nothing has to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
    /// How many joined nodes were made from which image.
    pub(crate) nodes: Vec<NodeCount>,
    pub(crate) notes: Vec<String>,
}

/// Nodes of one boot image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NodeCount {
    /// The version; absent where the node has no label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub(crate) count: usize,
}

/// The oldest image in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Oldest {
    pub(crate) boot_image: BootImageStatus,
    /// The sets and nodes that use it: the first two, and how many more.
    pub(crate) used_by: String,
    /// The command that sets it in the cluster; absent where the version does not fit the fields there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// Sets and nodes whose image is unknown, and may be older.
    pub(crate) unknown: usize,
}

/// What the cluster says of itself: `status.bootImageSkewEnforcementStatus` of MachineConfiguration `cluster`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClusterSkew {
    /// `Automatic`, `Manual` or `None`.
    pub(crate) mode: String,
    /// What it takes for the oldest boot image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rhcos_version: Option<String>,
    /// The release that it takes for that of the oldest boot image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ocp_version: Option<String>,
    /// Whether an older image is in use than the cluster says; absent where the two cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) older_in_use: Option<bool>,
}

/// At most this many objects that could not be understood are named.
const MAX_ODD: usize = 100;

/// Makes the audit, for the release `asked` or else for the cluster's own. `unread` is what could not be read.
pub(crate) fn audit(objects: &Objects, policy_input: &PolicyInput, asked: Option<&str>, mut unread: Vec<Unread>) -> BootImageAudit {
    let knowledge = Knowledge::new(objects);
    let release = asked.or(objects.release.as_deref());
    let warnings = match policy_input {
        PolicyInput::Valid { policy, .. } => policy.warnings.iter().map(|warning| format!("policy: {warning}")).collect(),
        PolicyInput::Absent | PolicyInput::Invalid { .. } => Vec::new(),
    };
    unread.extend(objects.odd.iter().take(MAX_ODD).cloned());
    let mut policy = None;
    let mut sets: Vec<SetAudit> = Vec::new();
    let mut users: Vec<_> = knowledge.versions().map(|(name, version)| (format!("Node {name}"), version)).collect();
    for set in sets::sets(&knowledge) {
        // A node pool's nodes are of another cluster.
        if set.kind != sets::NODE_POOL {
            let version = set.known.as_ref().map(|known| known.version.clone());
            users.push((format!("{} {}", set.kind, full_name(&set.namespace, &set.name)), version));
        }
        let of_set = asked.or(set.release.as_deref()).or(release).map(str::to_owned);
        let (row, verdict) = judge(set, &knowledge, policy_input, of_set.as_deref());
        // The limit may be another one for each set.
        policy = verdict.policy.map(|policy| PolicyStatus { limit_release: None, ..policy });
        sets.push(row);
    }
    sets.sort_by(|a, b| a.rank().cmp(&b.rank()));
    let (version, oldest) = skew::oldest(users).unzip();
    let cluster = objects.skew.as_ref().map(|skew| skew::cluster(skew, version.as_ref()));
    BootImageAudit {
        api_version: API_VERSION,
        kind: "BootImageAudit",
        summary: Summary {
            sets: sets.len(),
            would_be_refused: sets.iter().filter(|set| set.would_be_refused()).count(),
            would_be_allowed: sets.iter().filter(|set| set.would_be_allowed()).count(),
            undetermined: sets.iter().filter(|set| !set.would_be_refused() && !set.would_be_allowed()).count(),
        },
        policy,
        release: release.map(str::to_owned),
        sets,
        oldest,
        cluster,
        unread,
        warnings,
    }
}

/// `namespace/name`, or the name alone.
fn full_name(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl SetAudit {
    /// Whether a policy that enforces would hold the next node back.
    pub(crate) fn would_be_refused(&self) -> bool {
        self.action == Action::Block
    }

    /// Whether the next node would be let in because its image is allowed, or because the policy looks at none.
    pub(crate) fn would_be_allowed(&self) -> bool {
        self.action == Action::Proceed && matches!(self.verdict, Outcome::Allowed | Outcome::Disabled)
    }

    /// Refused first, then what is not known, then what is allowed; by kind and name within.
    fn rank(&self) -> impl Ord + '_ {
        (self.would_be_allowed(), !self.would_be_refused(), self.kind, &self.namespace, &self.name)
    }
}

/// The verdict on the next node of a set, by the same rules as on the node itself: at its first boot, and as if the policy enforced.
fn judge(set: Set, knowledge: &Knowledge<'_>, policy: &PolicyInput, release: Option<&str>) -> (SetAudit, Verdict) {
    let known = set.known;
    let verdict = verdict(set.image.pool.as_deref(), known.as_ref().map(|known| &known.version), policy, release);
    let message = match (verdict.reason, set.image.why_not) {
        // The node's words are about its own files.
        (Reason::BootImageUnknown, Some(why)) => format!("the version is unknown: {why}"),
        (Reason::BootImageUnknown, None) => {
            "the version is unknown: no node made from this image has told it, nor does its name".to_owned()
        }
        _ => verdict.message.clone(),
    };
    let row = SetAudit {
        kind: set.kind,
        group: set.group,
        namespace: set.namespace,
        name: set.name,
        replicas: set.replicas,
        remedy: (verdict.verdict == Outcome::Refused).then(|| {
            remedy(
                set.path,
                &set.image,
                set.architecture.as_deref(),
                |version| crate::audit::verdict(set.image.pool.as_deref(), Some(version), policy, release).verdict == Outcome::Allowed,
                knowledge,
            )
        }),
        pool: set.image.pool,
        platform: set.image.platform.map(str::to_owned),
        architecture: set.architecture,
        region: set.image.region,
        image_field: set.image.field.map(|field| format!("{}{field}", set.path)),
        image: set.image.value,
        boot_image: known.as_ref().map(|known| BootImageStatus::from(&known.version)),
        known_by: known.as_ref().map_or(KnownBy::Unknown, |known| known.by),
        known_from: known.map(|known| known.from),
        verdict: verdict.verdict,
        action: verdict.action,
        reason: verdict.reason,
        message,
        nodes: count(&set.nodes),
        notes: set.notes,
    };
    (row, verdict)
}

fn verdict(pool: Option<&str>, version: Option<&ImageVersion>, policy: &PolicyInput, release: Option<&str>) -> Verdict {
    // Where a node would find it does not matter for the decision.
    let boot_image = version.map(|version| BootImage { version: version.clone(), source: ImageSource::Aleph, path: String::new() });
    decide(&Facts {
        boot_image,
        replaced_by: None,
        target: TargetInput::Read(Target { release: release.map(str::to_owned), pool: pool.map(str::to_owned), ..Target::default() }),
        deployment: Deployment::default(),
        policy: policy.clone(),
        r#override: Some(Override { value: OverrideWord::Enforce, source: OverrideSource::File }),
        platform: None,
        warnings: Vec::new(),
    })
}

/// What to set the image field to: the cluster's own image for this platform, where the policy allows that.
fn remedy(
    path: &str,
    image: &Image,
    architecture: Option<&str>,
    is_allowed: impl Fn(&ImageVersion) -> bool,
    knowledge: &Knowledge<'_>,
) -> String {
    let Some(field) = image.field.map(|field| format!("{path}{field}")) else {
        return "make the next node from an image that the policy allows".to_owned();
    };
    if field == sets::RELEASE_IMAGE {
        return format!("set {field} to a release whose boot image the policy allows");
    }
    let own: Vec<&OwnImage> =
        knowledge.own_images(image, architecture).filter(|own| is_allowed(&ImageVersion::parse(&own.release))).collect();
    match own.as_slice() {
        [] => format!("set {field} to an image that the policy allows"),
        [OwnImage { image: Some(name), release, .. }] => format!("set {field} to {name}: {release}, this cluster's own"),
        [own, ..] if own.image.is_none() => {
            format!("upload {}, this cluster's own image (ConfigMap coreos-bootimages), and set {field} to it", own.release)
        }
        own => {
            format!(
                "set {field} to that one of this cluster's own {} images (ConfigMap coreos-bootimages) that is for its architecture and region",
                own.len()
            )
        }
    }
}

fn count(nodes: &[Option<String>]) -> Vec<NodeCount> {
    let mut counts: BTreeMap<&Option<String>, usize> = BTreeMap::new();
    for version in nodes {
        *counts.entry(version).or_default() += 1;
    }
    // Those without a label last.
    let (mut known, unknown): (Vec<_>, Vec<_>) = counts.into_iter().partition(|(version, _)| version.is_some());
    known.extend(unknown);
    known.into_iter().map(|(version, count)| NodeCount { version: version.clone(), count }).collect()
}
