//! A set of machines, and the verdict on its next node.

use super::effect::{Effect, EffectKind, PatchFile, STAYS};
pub(crate) use super::set_kind::SetKind;
use super::upkeep::{Rule, Upkeep};
use crate::finding::Subject;
use crate::verdict::{Action, BootImageStatus, Outcome, Reason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub(crate) use skewguard_cluster::known_by::KnownBy;
use std::collections::BTreeMap;

/// A set of machines, or a pool of nodes without one, and the verdict on its next node.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SetAudit {
    /// `MachineSet`, `ControlPlaneMachineSet`, `NodePool`; `Machine` and `BareMetalHost` for those
    /// without a set; `MachineConfigPool` for nodes without either.
    #[schemars(with = "String", extend("examples" = SetKind::names()))]
    pub(crate) kind: SetKind,
    /// The API group of that kind.
    #[serde(skip_deserializing)]
    pub group: &'static str,
    /// Empty where the kind has none.
    pub namespace: String,
    /// The object's name; of objects without a set, what they have in common: role or pool, and image.
    pub(crate) name: String,
    /// Name of the row, where several rows are of one set: `cluster[fd-1]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row_name: Option<String>,
    /// Parts of the set that the row is of: a control plane's failure domains, the AMI of several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<String>,
    /// A control plane's set that makes no Machine until it is activated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) inactive: bool,
    /// Machines or hosts without a set, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) members: Vec<String>,
    /// Number of machines that are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i64>,
    /// The pool of the next node: that which its user data asks for, else what the name of that Secret says; of a
    /// NodePool `master`, as its nodes have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// `aws`, `vmware` and the like: Ignition's names, as a verdict has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Name as in the ConfigMap `coreos-bootimages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) architecture: Option<String>,
    /// Present where images are kept by region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<String>,
    /// The stream of the cluster's images that is its own: `rhel-9`, `rhel-10`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<String>,
    /// The cluster keeps its image up to date itself (`managedBootImages`); absent where
    /// unknown, and where it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) managed: Option<bool>,
    /// Keeper of its image, and the rule that says so; absent where no object makes the next node.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) upkeep: Option<Upkeep>,
    /// The field that names the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) image_field: Option<String>,
    /// Value of that field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Machines that run were made from another image than the one that their spec names by now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) made_from_another: bool,
    /// The image's version; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::image")]
    pub(crate) boot_image: Option<BootImageStatus>,
    pub(crate) known_by: KnownBy,
    /// Probable version of an unknown image: it refuses with `--estimates` alone, and never allows.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) estimate: Option<Box<Estimate>>,
    /// The object that told it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known_from: Option<String>,
    /// The release that it was judged at; absent where that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    /// Source of that release. Later releases may add words.
    #[serde(skip_deserializing)]
    pub(crate) release_by: ReleaseBy,
    #[schemars(schema_with = "crate::schema::outcome")]
    pub verdict: Outcome,
    /// Action on the next node if the policy's mode were `Enforce`. Later releases may add words.
    #[schemars(schema_with = "crate::schema::action")]
    pub(crate) action: Action,
    #[schemars(schema_with = "crate::schema::reason")]
    pub(crate) reason: Reason,
    pub(crate) message: String,
    /// The first later release of the policy that would refuse it: `x.y`, or `x.y.z` where a known
    /// issue begins with a patch; absent where none does, and where it is refused already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused_from: Option<String>,
    /// The release after that which allows it again; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused_until: Option<String>,
    /// The message of that later refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused_from_message: Option<String>,
    /// All later releases that would refuse it, the first as above.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused_windows: Vec<RefusedWindow>,
    /// Way to learn the version, where it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to_know: Option<String>,
    /// The script in those words.
    #[serde(skip)]
    pub(crate) to_know_by: Option<LookupScript>,
    /// The limit to add to the policy where it has none for this release and pool: it lets every image
    /// through. The remedy says so in words.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) missing_limit: Option<MissingLimit>,
    /// Change that helps; absent where none has to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
    /// The release that the cluster has to be updated to before the remedy: `x.y`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) remedy_not_before: Option<String>,
    /// The release up to which the remedy was found to be enough.
    #[serde(skip)]
    pub(crate) remedy_holds_to: Option<String>,
    /// Value to set the image field to, where one image fits: the cluster's own for this platform,
    /// architecture, region and stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) want_image: Option<String>,
    /// The version of the image to take, where the cluster has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) want_version: Option<String>,
    /// The `oc patch` command that sets it, where one command does, and the next machine alone changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<String>,
    /// The cluster could keep the image up to date, and does not: `keepCommands` of the audit has the
    /// command for all sets of this kind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) could_be_kept: bool,
    /// The same change for the repository that the set is kept in.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) patch_file: Option<Box<PatchFile>>,
    /// Worst of `effects`. Later releases may add words.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) effect: Option<EffectKind>,
    /// Effects of the remedy beside its field, the worst first, and who does it.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub(crate) effects: Vec<Effect>,
    /// Known issues of this image and release.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub(crate) known_issues: Vec<SetIssue>,
    /// Numbers of joined nodes by the image that they were made from.
    #[serde(skip_deserializing)]
    pub(crate) nodes: Vec<NodeCount>,
    /// Its Machines and Nodes were not read: how many joined is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) nodes_unread: bool,
    pub(crate) notes: Vec<String>,
    /// Reason why it does not count for the exit status, by a file that a person named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exception: Option<SetException>,
}

/// Source of the release that a set was judged at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) enum ReleaseBy {
    /// The cluster's: its pool serves no other.
    Cluster,
    /// The cluster's: its pool was not read.
    #[default]
    PoolUnread,
    /// Its pool serves a config of another release, or one that was not read.
    Pool,
    /// The NodePool's own, or that of a node class.
    NodePool,
    /// The one that was asked about.
    Target,
}

/// Releases that would refuse a set.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct RefusedWindow {
    /// The first, `x.y` or `x.y.z`.
    pub(crate) from: Option<String>,
    /// The one after them, which allows it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
    /// The message of the refusal.
    pub(crate) message: Option<String>,
}

/// A script that makes unknown versions known; the first one helps more sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LookupScript {
    Labels,
    Alephs,
}

impl LookupScript {
    /// The command that prints it.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Labels => "oc skewguard audit --print-commands labels",
            Self::Alephs => "oc skewguard audit --print-commands alephs",
        }
    }
}

/// A limit as a policy has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MissingLimit {
    /// The pools that it is for; absent where it is for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pools: Option<Vec<String>>,
    /// Empty: every version that is understood is allowed.
    pub(crate) denied_versions: Vec<String>,
}

/// Probable version of an unknown image.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Estimate {
    pub(crate) ocp_version: String,
    /// `InstalledRelease`. Later releases may add words.
    pub(crate) source: &'static str,
    /// In words.
    pub(crate) from: String,
}

/// Reason why a set does not count for the exit status, and its last day.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SetException {
    pub(crate) reason: String,
    /// Its last day, in UTC.
    pub(crate) until: String,
    /// Its last day is over: the set counts again.
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
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetIssue {
    pub(crate) id: String,
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// `Refuse`, or `Warn` where a node that has it goes on. Later releases may add words.
    pub(crate) effect: &'static str,
    /// The policy names it; otherwise a node that has it is not refused for it.
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

/// Nodes of one boot image.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct NodeCount {
    /// The version; absent where the node has no label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub(crate) count: usize,
}

/// The rows of each set.
pub(crate) fn by_object<'a>(
    rows: impl IntoIterator<Item = &'a SetAudit>,
) -> Vec<Vec<&'a SetAudit>> {
    let mut sets: BTreeMap<_, Vec<&SetAudit>> = BTreeMap::new();
    for row in rows {
        sets.entry(row.object()).or_default().push(row);
    }
    sets.into_values().collect()
}

impl SetAudit {
    /// The row of an object of which nothing else is known yet.
    pub(crate) fn of(kind: SetKind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            kind,
            group: kind.group(),
            namespace: namespace.into(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// The remedy, and what it does beside its field.
    pub(crate) fn advice(&self) -> Option<String> {
        let remedy = self.remedy.clone()?;
        let is_said = |effect: &&Effect| !effect.is_in_remedy && effect.reason != STAYS;
        let says = self.effects.iter().filter(is_said).map(Effect::says);
        let all: Vec<String> = std::iter::once(remedy).chain(says).collect();
        Some(all.join(". "))
    }

    /// Tells whether the Machine Config Operator should keep its image, and says that it fails to.
    pub(crate) fn is_degraded(&self) -> bool {
        let upkeep = self.upkeep.as_ref();
        upkeep.is_some_and(|upkeep| matches!(upkeep.rule, Rule::Degraded | Rule::Behind))
    }

    /// Name that no other row has.
    pub(crate) fn row_name(&self) -> &str {
        self.row_name.as_deref().unwrap_or(&self.name)
    }

    /// The object, which may have several rows.
    pub(crate) fn object(&self) -> Subject<'_> {
        Subject::new(self.kind.name(), &self.namespace, &self.name)
    }

    /// The row as an object of its own.
    pub(crate) fn row(&self) -> Subject<'_> {
        Subject::new(self.kind.name(), &self.namespace, self.row_name())
    }

    /// Kind and name: `MachineSet c1-worker`.
    pub(crate) fn short_name(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// The version of its image, where that is more than what a node says of itself, which is no fact
    /// about a set.
    pub(crate) fn sure_version(&self) -> Option<&str> {
        let is_claim = matches!(self.known_by, KnownBy::Node | KnownBy::Report);
        let image = self.boot_image.as_ref().filter(|_| !is_claim);
        image.map(|image| &*image.version)
    }

    /// Number of nodes that joined; `None` where that was not read.
    pub(crate) fn joined(&self) -> Option<usize> {
        let joined = self.nodes.iter().map(|nodes| nodes.count).sum();
        (!self.nodes_unread).then_some(joined)
    }

    /// `NAME`, `NAMESPACE/NAME` or `KIND/NAME`. A row without a set has also the names of its members,
    /// and that of its role or pool.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let is_it = |name: &str| {
            let what = self.name.split_once(": ").map(|(what, _)| what);
            self.name == name
                || self.row_name() == name
                || !self.members.is_empty()
                    && (what == Some(name) || self.members.iter().any(|member| member == name))
        };
        is_it(name)
            || self.name.contains('/') && name.ends_with(&format!("/{}", self.name))
            || name.rsplit_once('/').is_some_and(|(before, after)| {
                is_it(after)
                    && (self.namespace == before || self.kind.name().eq_ignore_ascii_case(before))
            })
    }

    /// Tells whether a policy that enforces would hold the next node back.
    pub(crate) fn would_be_refused(&self) -> bool {
        self.action == Action::Block
    }

    /// Tells whether the next node would be let in because its image is allowed, or because the policy
    /// looks at none.
    pub(crate) fn would_be_allowed(&self) -> bool {
        self.action == Action::Proceed
            && matches!(self.verdict, Outcome::Allowed | Outcome::Disabled)
    }

    /// Tells whether the policy could not decide, mostly because the version is unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        !self.would_be_refused() && !self.would_be_allowed()
    }

    /// The command that mends a set that counts. An unknown image may be allowed as it is.
    pub(crate) fn mended_by(&self) -> Option<&str> {
        let is_open = self.is_unknown() && self.boot_image.is_some();
        let is_wrong = (self.would_be_refused() || is_open) && !self.is_excepted();
        self.patch.as_deref().filter(|_| is_wrong)
    }

    /// The verdicts of later releases, in words.
    pub(crate) fn says_later(&self) -> Option<String> {
        let says = |(n, window): (usize, &RefusedWindow)| {
            let from = window.from.as_deref().unwrap_or_default();
            let begin = match n {
                0 if self.would_be_allowed() => format!("allowed, until {from}"),
                0 => format!("refused from {from} on"),
                _ => format!("refused again from {from} on"),
            };
            let until = window.until.as_ref();
            let until = until.map_or_else(String::new, |until| {
                format!(", and allowed again from {until} on")
            });
            let message = window.message.as_deref().unwrap_or_default();
            format!("{begin}{until}: {message}")
        };
        let all: Vec<String> = self.refused_windows.iter().enumerate().map(says).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The release that it was judged at, where that is not simply the cluster's, in words.
    pub(crate) fn says_release(&self) -> Option<String> {
        let release = self.release.as_deref();
        let pool = self.pool.as_deref().unwrap_or_default();
        match self.release_by {
            ReleaseBy::Pool => {
                let release = release?;
                Some(format!("at {release}, which pool {pool} serves"))
            }
            ReleaseBy::NodePool => Some(format!("{}, the NodePool's own", release?)),
            ReleaseBy::PoolUnread => Some(format!(
                "{}, the cluster's: what its pool serves was not read",
                release?
            )),
            ReleaseBy::Cluster | ReleaseBy::Target => None,
        }
    }

    /// Tells whether it leaves the conclusion open.
    pub(crate) fn is_open(&self) -> bool {
        self.is_unknown() && !self.is_excepted()
    }

    /// Tells whether an exception says that it does not count.
    pub(crate) fn is_excepted(&self) -> bool {
        let exception = self.exception.as_ref();
        exception.is_some_and(|exception| !exception.ran_out)
    }

    /// Refused first, then what is not known, then what is allowed, what a later release refuses before the
    /// rest; by kind and name within.
    pub(crate) fn rank(&self) -> impl Ord + '_ {
        (
            self.would_be_allowed(),
            !self.would_be_refused(),
            self.refused_from.is_none(),
            self.object(),
            &self.row_name,
        )
    }
}
