//! Failures of reading, as facts, and what helps, by its name: words for it are those of whoever has a
//! command line.

use crate::text::printable;

/// A way out that a person has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Help {
    /// Nothing that was named has objects of sets, or anything that says why a machine is no node.
    NoSets,
    NoNodes,
    /// An object does not say its kind, its group or its items.
    SayKind,
    /// It is neither JSON nor YAML of the cluster, or only a part of it.
    PrintObjects,
    PrintAll,
    PrintWhole,
    /// It is a document of this kind, which an option reads, or none.
    Own(&'static str),
    /// A copy of the Insights Operator.
    OfInsights,
    /// A file of another ending has objects.
    Unnamed,
    FollowLink,
    /// Objects within another object.
    NameInner,
    Split,
    Unpack,
    UnpackBy(&'static str),
    UnpackFolders,
    /// Files of several gathers, or of several clusters, contradict each other.
    EachGather,
    OneCluster,
    /// Nothing to log in with, or no context of it.
    NameKubeconfig,
    NameContext,
    /// The kubeconfig trusts any server.
    NameCa,
    /// Credentials that are not supported.
    OtherCredentials,
    LogInFirst,
    RunByHand,
    /// Something else than an API server answers.
    OtherServer,
    OwnCertificate,
    TlsServerName,
    /// The account may read nothing.
    Rights,
    TryAgain,
}

/// Facts of a failure, and what helps beside mending them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trouble {
    pub what: String,
    pub help: Option<Help>,
}

impl Trouble {
    /// The same of a file, a field or a server.
    #[must_use]
    pub fn of(self, name: impl std::fmt::Display) -> Self {
        Self {
            what: format!("{name}: {}", self.what),
            ..self
        }
    }

    #[must_use]
    pub fn printable(self) -> Self {
        Self {
            what: printable(&self.what),
            ..self
        }
    }
}

impl From<String> for Trouble {
    fn from(what: String) -> Self {
        Self { what, help: None }
    }
}

impl From<&str> for Trouble {
    fn from(what: &str) -> Self {
        what.to_owned().into()
    }
}

impl From<Help> for Trouble {
    fn from(help: Help) -> Self {
        help.after("")
    }
}

impl Help {
    pub fn after(self, what: impl Into<String>) -> Trouble {
        Trouble {
            what: what.into(),
            help: Some(self),
        }
    }
}
