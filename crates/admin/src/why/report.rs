//! The answer of `why`, serialised as `WhyReport`: fields are only ever added.

use super::cause::CauseName;
use super::rows::Cause;
use super::way::{Stage, Step};
use crate::audit::{Origin, Unread};
use crate::finding::Subject;
use schemars::JsonSchema;
use serde::Serialize;

/// The kind of a host.
pub(crate) const HOST: &str = "BareMetalHost";

/// Reasons why machines did not become nodes. What is unknown is absent.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhyReport {
    #[schemars(extend("const" = crate::API_VERSION))]
    pub(crate) api_version: &'static str,
    #[schemars(extend("const" = "WhyReport"))]
    pub(crate) kind: &'static str,
    /// The moment that ages are counted to: now, and for a gather the newest time in it. RFC 3339.
    pub(crate) time: String,
    /// The cluster that the objects were read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<Origin>,
    /// The namespace that was looked at; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    pub(crate) machines: Vec<Explanation>,
    /// Machines that wait for less than ten minutes.
    pub(crate) young: usize,
    pub(crate) server_log: LogReport,
    /// Things that could not be read, and why.
    pub(crate) unread: Vec<Unread>,
}

/// The reason why a machine is no Node.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    /// `Machine`, `BareMetalHost`, `NodeClaim`, `Agent`, `MachineSet`, `NodePool`, `HostedCluster`, `Node`, or
    /// `CertificateSigningRequest` of a node without a Machine. Later releases may add words.
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Kind and name of what made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// The pool whose config it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) age_seconds: Option<u64>,
    pub(crate) stage: Stage,
    /// The name of the cause: a failure of the provider by its kind, else what was seen. Later releases may
    /// add names.
    pub(crate) cause: CauseName,
    /// Loops and the like that it is a part of, by their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<Cause>,
    /// Names of the rows that it is told by: another's advice is no help.
    #[serde(skip)]
    pub(crate) rows: Vec<&'static str>,
    /// The words that tell it from another of the same cause.
    #[serde(skip)]
    pub(crate) key: Vec<String>,
    /// It has a proof. What a node says of itself is none.
    pub(crate) is_certain: bool,
    /// Proof that makes it certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proof: Option<Proof>,
    /// The reason why it is no node.
    pub(crate) sentence: String,
    /// Things to do.
    pub(crate) next: Vec<String>,
    /// They name a certificate request.
    #[serde(skip)]
    pub(crate) names_request: bool,
    /// They name a host.
    #[serde(skip)]
    pub(crate) names_host: bool,
    pub(crate) steps: Vec<Step>,
    pub(crate) evidence: Vec<Evidence>,
    /// Things that could not be seen, and by what they could.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unseen: Vec<String>,
}

impl Explanation {
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject::new(self.kind, &self.namespace, &self.name)
    }

    /// The objects of a kind in its evidence, by their names: certificate requests and BareMetalHosts.
    pub(crate) fn seen(&self, kind: &str) -> impl Iterator<Item = &str> {
        let about = self.evidence.iter().filter_map(|one| one.about.as_ref());
        let own = about.filter(move |(of, _)| *of == kind);
        own.map(|(_, name)| &**name)
    }
}

/// Something that was read and says so, and what could say otherwise and was read, too.
// Only `Finding::sure` makes one.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Proof {
    /// The object and its field, or the log, that says so.
    pub(super) by: String,
    /// Things that could say otherwise, and were read.
    pub(super) against: Vec<&'static str>,
}

/// A statement, and its source.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Evidence {
    /// The object and its field, or the log.
    pub(crate) source: String,
    /// RFC 3339 in UTC; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
    pub(crate) text: String,
    /// Kind and name of the object of the source, where others ask for it.
    #[serde(skip)]
    pub(crate) about: Option<(&'static str, String)>,
}

/// The logs of the machine-config-server that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogReport {
    /// Servers whose log was read.
    pub(crate) servers: usize,
    /// The moment that all of them go back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    pub(crate) lines: usize,
    pub(crate) requests: usize,
    /// Lines that are not understood.
    pub(crate) unknown_lines: usize,
    pub(crate) notes: Vec<String>,
}
