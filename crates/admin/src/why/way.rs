//! The steps on the way to a Node (pure).

use std::iter::successors;

/// A step on the way to a Node, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    pub(super) fn all() -> impl Iterator<Item = Self> {
        successors(Some(Self::Instance), |at| at.following())
    }

    fn following(self) -> Option<Self> {
        match self {
            Self::Instance => Some(Self::Requested),
            Self::Requested => Some(Self::Served),
            Self::Served => Some(Self::LetIn),
            Self::LetIn => Some(Self::FirstBoot),
            Self::FirstBoot => Some(Self::Certificate),
            Self::Certificate => Some(Self::Node),
            Self::Node => None,
        }
    }

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
