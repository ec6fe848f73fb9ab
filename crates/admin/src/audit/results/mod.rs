//! What the audit found, serialised as JSON: fields are only ever added.

pub(crate) mod effect;
pub(crate) mod fleet;
pub(crate) mod upkeep;

use crate::verdict::{Action, BootImageStatus, Outcome, PolicyStatus, Reason};
use effect::{Effect, EffectKind, PatchFile, STAYS};
use serde::Serialize;
use std::collections::BTreeMap;
use upkeep::{OperatorDifference, Rule, Upkeep};

/// At most this many objects that could not be understood are named.
pub(crate) const MAX_NOT_UNDERSTOOD: usize = 100;

/// How the version of a boot image is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum KnownBy {
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
    Unknown,
}

/// The audit, serialised as `BootImageAudit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BootImageAudit {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    /// Where and when the objects were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<Origin>,
    pub(crate) summary: Summary,
    /// The policy that would decide; absent where there is nothing to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PolicyStatus>,
    /// The release that it was asked about; absent where no object says it and none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    /// What makes nodes, worst first.
    pub(crate) sets: Vec<SetAudit>,
    /// The oldest image that sets make nodes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oldest: Option<Oldest>,
    /// The oldest image that a joined node was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oldest_birth: Option<OldestBirth>,
    /// What the Machine Config Operator takes for it; absent where the cluster does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<ClusterSkew>,
    /// Which boot images the cluster keeps up to date itself, by resource: `All`, `Partial` or
    /// `None`; empty where it says nothing of it.
    pub(crate) managed_boot_images: BTreeMap<String, &'static str>,
    /// The command with which the cluster keeps the images of all sets of a kind, by kind, where it
    /// could and does not.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) keep_commands: BTreeMap<&'static str, String>,
    /// The release of the update that `births` is about: the one that was asked about, else that of
    /// the cluster's update under way, else the newest that it is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) update: Option<String>,
    /// Joined nodes whose update a known issue breaks, and those of which it cannot be told; by
    /// pool, the oldest image first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) births: Vec<BirthAudit>,
    /// Machines that were made and have not become nodes.
    pub(crate) provisioned: Vec<Provisioned>,
    /// What could not be read, and why.
    pub(crate) unread: Vec<Unread>,
    pub(crate) warnings: Vec<String>,
    /// Where the policy and the Machine Config Operator differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) policy_differs_from_operator: Vec<OperatorDifference>,
    /// What is new or worse than in an earlier audit, where one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<AuditChanges>,
}

/// What is new or worse than in an earlier audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditChanges {
    /// When that audit was made; empty where it does not say.
    pub(crate) time: String,
    pub(crate) changes: Vec<SetChange>,
    /// Sets that were there then.
    pub(crate) gone: usize,
    pub(crate) same_policy: bool,
    pub(crate) same_release: bool,
}

/// A set that is new or worse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SetChange {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Its verdict then; absent where the set is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) was: Option<&'static str>,
    pub(crate) is: &'static str,
}

/// Where and when the objects were read. What is absent is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Origin {
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_id: Option<String>,
    /// The cluster's name for what it makes, such as `c1-x7k2p`.
    #[serde(rename = "infrastructureName", skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure: Option<String>,
    /// The URL of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// The cluster's own release: `release` of the audit is the one that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    /// The context of the kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<String>,
    /// When the audit was made, RFC 3339 in UTC.
    pub(crate) time: String,
}

impl Origin {
    /// Whether this is the cluster's ID, or its name for what it makes.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        [&self.cluster_id, &self.infrastructure]
            .into_iter()
            .flatten()
            .any(|own| own == name)
    }
}

/// A Machine whose phase is `Provisioned`: made, and not joined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Provisioned {
    /// Empty where unknown.
    pub(crate) since: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Kind and name of its set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<String>,
}

impl Provisioned {
    /// In words.
    pub(crate) fn says(&self) -> String {
        let set = self.set.as_deref().unwrap_or("no set");
        let name = full_name(&self.namespace, &self.name);
        let since = match self.since.as_str() {
            "" => String::new(),
            since => format!(" since {since}"),
        };
        format!("Machine {name} of {set} is Provisioned{since}")
    }
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
    /// Those of the refused and undetermined ones that have an exception.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) excepted: usize,
}

// What serde calls takes a reference.
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Summary {
    pub(crate) fn of<'a>(sets: impl Iterator<Item = &'a SetAudit> + Clone) -> Self {
        let count = |is: fn(&SetAudit) -> bool| sets.clone().filter(|set| is(set)).count();
        Self {
            sets: sets.clone().count(),
            would_be_refused: count(SetAudit::would_be_refused),
            would_be_allowed: count(SetAudit::would_be_allowed),
            undetermined: count(SetAudit::is_unknown),
            excepted: 0,
        }
    }
}

impl std::ops::AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.sets += other.sets;
        self.would_be_refused += other.would_be_refused;
        self.would_be_allowed += other.would_be_allowed;
        self.undetermined += other.undetermined;
        self.excepted += other.excepted;
    }
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
    /// It was read, and is of a kind that makes nodes and is not understood.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) makes_nodes: bool,
}

/// A set of machines, or a pool of nodes without one, and the verdict on its next node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetAudit {
    /// `MachineSet`, `ControlPlaneMachineSet`, `NodePool`; `Machine` and `BareMetalHost` for those
    /// without a set; `MachineConfigPool` for nodes without either.
    pub(crate) kind: &'static str,
    /// The API group of that kind.
    pub group: &'static str,
    /// Empty where the kind has none.
    pub namespace: String,
    /// The object's name; of objects without a set, what they have in common: role or pool, and image.
    pub(crate) name: String,
    /// Machines or hosts without a set, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) members: Vec<String>,
    /// How many machines are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i64>,
    /// The MachineConfigPool whose config the next node asks for, where the name of its user data
    /// says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// `aws`, `vmware` and the like: Ignition's names, as a verdict has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// As in the ConfigMap `coreos-bootimages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) architecture: Option<String>,
    /// Where images are kept by region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<String>,
    /// The stream of the cluster's images that is its own: `rhel-9`, `rhel-10`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<String>,
    /// Whether the cluster keeps its image up to date itself (`managedBootImages`); absent where
    /// unknown, and where it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) managed: Option<bool>,
    /// Who keeps its image up to date, and the rule that says so; absent where no object makes the
    /// next node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upkeep: Option<Upkeep>,
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
    /// What an image of unknown version probably is: it refuses with `--estimates` alone, and never
    /// allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) estimate: Option<Box<Estimate>>,
    /// The object that told it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known_from: Option<String>,
    /// The verdict on the next node.
    pub verdict: Outcome,
    /// What would follow if the policy's mode were `Enforce`.
    pub(crate) action: Action,
    pub(crate) reason: Reason,
    pub(crate) message: String,
    /// Where the version is unknown: what makes it known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to_know: Option<String>,
    /// What to change; absent where nothing has to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
    /// What to set the image field to, where one image fits: the cluster's own for this platform,
    /// architecture, region and stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) want_image: Option<String>,
    /// The version of the image to take, where the cluster has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) want_version: Option<String>,
    /// The command that sets it, where one command does, and the next machine alone changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<String>,
    /// The cluster could keep the image up to date, and does not: `keepCommands` of the audit has the
    /// command for all sets of this kind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) could_be_kept: bool,
    /// The same change for the repository that the set is kept in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch_file: Option<Box<PatchFile>>,
    /// What the remedy does beside its field: the worst of `effects`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effect: Option<EffectKind>,
    /// What the remedy does, the worst first, and who does it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) effects: Vec<Effect>,
    /// What is known to fail with this image and release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) known_issues: Vec<SetIssue>,
    /// How many joined nodes were made from which image.
    pub(crate) nodes: Vec<NodeCount>,
    /// Its Machines and Nodes were not read: how many joined is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) nodes_unread: bool,
    pub(crate) notes: Vec<String>,
    /// Why it does not count, by a file that a person named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exception: Option<SetException>,
}

/// What an image of unknown version probably is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Estimate {
    pub(crate) ocp_version: String,
    /// `InstalledRelease`.
    pub(crate) source: &'static str,
    /// In words.
    pub(crate) from: String,
}

/// Why a set does not count for the exit status, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetException {
    pub(crate) reason: String,
    /// Its last day, in UTC.
    pub(crate) until: String,
    /// That day is over: the set counts again.
    pub(crate) ran_out: bool,
}

impl SetException {
    /// In words.
    pub(crate) fn says(&self) -> String {
        let Self { reason, until, .. } = self;
        if self.ran_out {
            format!("its exception expired on {until}: {reason}")
        } else {
            format!("excepted until {until}: {reason}")
        }
    }
}

/// A known issue that a set's image has, of the policy or of the list that `policy known-issues`
/// prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetIssue {
    pub(crate) id: String,
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// `Refuse`, or `Warn` where a node that has it goes on.
    pub(crate) effect: &'static str,
    /// Whether the policy names it; otherwise a node that has it is not refused for it.
    pub(crate) in_policy: bool,
}

impl SetIssue {
    /// In words.
    pub(crate) fn says(&self) -> String {
        let warns = if self.effect == "Warn" {
            " (a warning)"
        } else {
            ""
        };
        let lacks = if self.in_policy {
            ""
        } else {
            ", which the policy lacks"
        };
        let url = self.url.as_deref().unwrap_or_default();
        let text = format!("{}{warns}{lacks}: {} {url}", self.id, self.reason);
        text.trim_end().to_owned()
    }
}

/// Joined nodes of one pool and one boot image that a known issue hits at their update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BirthAudit {
    /// The release of the update.
    pub(crate) release: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// The image that they were born from; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) boot_image: Option<BootImageStatus>,
    pub(crate) issue: String,
    pub(crate) reason: String,
    /// What helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// Whether the policy names the issue.
    pub(crate) in_policy: bool,
    /// What is missing to tell whether they have it; absent where they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to_know: Option<String>,
    pub(crate) count: usize,
    /// The first of them, in the order in which they joined.
    pub(crate) nodes: Vec<String>,
}

impl BirthAudit {
    /// The first of its nodes, and how many more.
    pub(crate) fn names(&self) -> String {
        let shown: Vec<&str> = self.nodes.iter().take(2).map(String::as_str).collect();
        match self.count - shown.len() {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    fn image(&self) -> &str {
        let image = self.boot_image.as_ref();
        image.map_or("an unknown image", |image| &image.version)
    }

    /// What it is about.
    pub(crate) fn title(&self) -> String {
        let pool = self.pool.as_deref().unwrap_or("unknown");
        format!("pool {pool}, born from {}: {}", self.image(), self.issue)
    }

    /// In words.
    pub(crate) fn says(&self) -> String {
        let pool = self.pool.as_deref().unwrap_or("unknown");
        let (image, nodes) = (self.image(), self.names());
        let (issue, release) = (&self.issue, &self.release);
        let what = match &self.to_know {
            Some(why) => format!("may have {issue} at the update to {release}: {why}"),
            None => format!("have {issue} at the update to {release}: {}", self.reason),
        };
        let help = self.remedy.as_ref().map(|remedy| format!("; {remedy}"));
        let url = self.url.as_ref().map(|url| format!(" ({url})"));
        format!(
            "pool {pool}, {} node{} born from {image} ({nodes}) {what}{}{}",
            self.count,
            if self.count == 1 { "" } else { "s" },
            help.unwrap_or_default(),
            url.unwrap_or_default()
        )
    }
}

/// Nodes of one boot image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NodeCount {
    /// The version; absent where the node has no label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub(crate) count: usize,
}

/// The oldest image that sets make nodes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Oldest {
    pub(crate) boot_image: BootImageStatus,
    /// The sets that use it: the first two, and how many more.
    pub(crate) used_by: String,
    /// The command that sets it in the cluster; absent where the version does not fit the fields
    /// there, and where there is no need: the cluster has no such field, has a single node, or
    /// takes no newer image for the oldest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The command that undoes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) way_back: Option<String>,
    /// Sets whose image is unknown, and may be older.
    pub(crate) unknown: usize,
}

/// The oldest image that a joined node was made from; the next nodes need not be made from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OldestBirth {
    pub(crate) boot_image: BootImageStatus,
    /// The nodes that were made from it: the first two, and how many more.
    pub(crate) used_by: String,
    /// Nodes whose image is unknown, and may be older.
    pub(crate) unknown: usize,
}

/// What the cluster says of itself: `status.bootImageSkewEnforcementStatus` of MachineConfiguration
/// `cluster`.
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
    /// Whether an older image is in use than the cluster says; absent where the two cannot be
    /// compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) older_in_use: Option<bool>,
}

/// `namespace/name`, or the name alone.
pub(crate) fn full_name(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

/// `a, b and 3 more`.
pub(crate) fn some_of(names: &[&str]) -> String {
    let shown = names.iter().take(2).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 2 {
        format!("{shown} and {} more", names.len() - 2)
    } else {
        shown
    }
}

impl SetAudit {
    /// The remedy, and what it does beside its field.
    pub(crate) fn advice(&self) -> Option<String> {
        let remedy = self.remedy.clone()?;
        let is_said = |effect: &&Effect| !effect.is_in_remedy && effect.reason != STAYS;
        let says = self.effects.iter().filter(is_said).map(Effect::says);
        let all: Vec<String> = std::iter::once(remedy).chain(says).collect();
        Some(all.join(". "))
    }

    /// Whether the Machine Config Operator should keep its image, and says that it fails to.
    pub(crate) fn is_degraded(&self) -> bool {
        let upkeep = self.upkeep.as_ref();
        upkeep.is_some_and(|upkeep| matches!(upkeep.rule, Rule::Degraded | Rule::Behind))
    }

    /// How many nodes joined; `None` where that was not read.
    pub(crate) fn joined(&self) -> Option<usize> {
        let joined = self.nodes.iter().map(|nodes| nodes.count).sum();
        (!self.nodes_unread).then_some(joined)
    }

    /// Whether a policy that enforces would hold the next node back.
    pub(crate) fn would_be_refused(&self) -> bool {
        self.action == Action::Block
    }

    /// Whether the next node would be let in because its image is allowed, or because the policy
    /// looks at none.
    pub(crate) fn would_be_allowed(&self) -> bool {
        self.action == Action::Proceed
            && matches!(self.verdict, Outcome::Allowed | Outcome::Disabled)
    }

    /// Whether the policy could not decide, mostly because the version is unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        !self.would_be_refused() && !self.would_be_allowed()
    }

    /// Whether an exception says that it does not count.
    pub(crate) fn is_excepted(&self) -> bool {
        let exception = self.exception.as_ref();
        exception.is_some_and(|exception| !exception.ran_out)
    }

    /// Refused first, then what is not known, then what is allowed; by kind and name within.
    pub(crate) fn rank(&self) -> impl Ord + '_ {
        (
            self.would_be_allowed(),
            !self.would_be_refused(),
            self.kind,
            &self.namespace,
            &self.name,
        )
    }
}
