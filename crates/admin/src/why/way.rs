//! The way to a Node: its steps, and the stages that a machine reached (pure).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest time that a machine takes to become a Node where nothing is wrong.
pub(super) const YOUNG: u64 = 600;

/// A step on the way to a Node, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum At {
    Instance,
    Requested,
    Served,
    LetIn,
    FirstBoot,
    Certificate,
    Node,
}

impl At {
    /// All of them, the first one first.
    pub(super) const ALL: [Self; 7] = [
        Self::Instance,
        Self::Requested,
        Self::Served,
        Self::LetIn,
        Self::FirstBoot,
        Self::Certificate,
        Self::Node,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Requested => "config requested",
            Self::Served => "config served",
            Self::LetIn => "let in",
            Self::FirstBoot => "first boot",
            Self::Certificate => "certificate",
            Self::Node => "Node",
        }
    }
}

/// The stage that a machine reached.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, Serialize,
)]
pub(crate) enum Stage {
    /// It is deleted and made again before it can join.
    BeingRemade,
    /// There is no instance.
    NoInstance,
    /// The instance has not asked for its config.
    NoRequest,
    /// The machine-config-server did not serve its config.
    RequestRefused,
    /// skewguard holds it back.
    Refused,
    /// It got its config, and its first boot is not over.
    FirstBoot,
    /// The kubelet waits for its certificate.
    NoCertificate,
    /// It got its certificate, and its Node is missing, not Ready or not linked.
    NodeNotReady,
    /// It cannot be told from what was read.
    Unknown,
    /// It is a Node.
    Joined,
}

impl Stage {
    /// The step at which a machine of this stage stopped.
    pub(super) fn at(self) -> At {
        match self {
            Self::BeingRemade | Self::NoInstance => At::Instance,
            Self::NoRequest | Self::Unknown => At::Requested,
            Self::RequestRefused => At::Served,
            Self::Refused => At::LetIn,
            Self::FirstBoot => At::FirstBoot,
            Self::NoCertificate => At::Certificate,
            Self::NodeNotReady | Self::Joined => At::Node,
        }
    }
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) enum Mark {
    Done,
    /// Here it stopped.
    Stopped,
    /// It did not come to it.
    NotReached,
    Unknown,
}

/// A step on the way to a Node.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) mark: Mark,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) text: String,
}
