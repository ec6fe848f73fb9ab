//! The steps on the way to a later release.

use super::effect::Effect;
use super::set::SetAudit;
use schemars::JsonSchema;
use serde::Serialize;

/// The steps on the way to a later release, by when. A thing that it does not name is no promise.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Path {
    /// The cluster's own release.
    pub(crate) from: String,
    pub(crate) to: String,
    /// The minor releases between the two.
    pub(crate) through: Vec<String>,
    pub(crate) steps: Vec<Step>,
    /// Changes that happen without anybody.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_itself: Vec<String>,
    /// Rows of sets that no step is for.
    pub(crate) nothing_to_do: usize,
    pub(crate) not_compared: Vec<String>,
    /// The rows of the steps, each at its release.
    #[serde(skip)]
    pub(crate) rows: Vec<SetAudit>,
}

/// A thing to do, or to find out.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    /// Later releases may add words.
    pub(crate) kind: StepKind,
    /// The object that it is about.
    pub(crate) subject: String,
    /// The same on a screen.
    #[serde(skip)]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// Event before which it has to be done; absent where that is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<By>,
    /// The release that the cluster has to have first, `x.y`; absent where it may be done now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_before: Option<String>,
    /// The thing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
    /// The last release up to which the remedy was found to be enough; absent where that was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holds_to: Option<String>,
    /// Effects of the remedy beside its field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) effects: Vec<Effect>,
    pub(crate) because: String,
    /// False where what was read leaves it open.
    pub(crate) certain: bool,
}

/// A kind of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) enum StepKind {
    /// The next node would be refused.
    Image,
    /// It is not known whether it would be.
    FindOut,
    /// Joined nodes that an update breaks.
    Nodes,
    /// The Machine Config Operator's value for the oldest boot image.
    OperatorValue,
    /// A change of defaults that an administrator has to acknowledge.
    Acknowledge,
}

/// An event of an update.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
pub(crate) struct By {
    /// `x.y`, or x.y.z where it is the cluster's own.
    pub(crate) release: String,
    pub(crate) event: Event,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
pub(crate) enum Event {
    /// The cluster's update to the release.
    UpdateStarts,
    /// A pool's nodes are updated to it.
    PoolRolls,
    /// The first node that is made at it.
    NextNode,
}

impl Path {
    /// Steps of that kind, or of another.
    pub(crate) fn count(&self, is_to_find_out: bool) -> usize {
        let is_it = |step: &&Step| (step.kind == StepKind::FindOut) == is_to_find_out;
        self.steps.iter().filter(is_it).count()
    }
}
