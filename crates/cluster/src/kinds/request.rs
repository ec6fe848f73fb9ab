//! Certificate requests of nodes (pure).

use super::certificate::Validity;
use super::groups::REQUEST;
use super::metadata::{Condition, Metadata, condition, conditions};
use super::names::normal;
use super::request_name::{NODE_USER, Subject};
use crate::lenient::Raw;
use crate::text::{is_dns_name, printable};
use serde::Deserialize;

/// Who asks for the certificate of a machine that is no Node yet.
const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";

/// The groups of the bootstrapper, and of a node (cluster-machine-approver, `nodeBootstrapperGroups`).
const BOOTSTRAPPERS: &[&str] = &[
    "system:serviceaccounts",
    "system:serviceaccounts:openshift-machine-config-operator",
    "system:authenticated",
];
const NODES: &[&str] = &["system:nodes", "system:authenticated"];

/// The usages of every certificate of a kubelet.
const USAGES: [&str; 2] = ["digital signature", "key encipherment"];

/// The signer of clients that are no kubelets.
const OTHER_CLIENTS: &str = "kubernetes.io/kube-apiserver-client";

/// The longest name of a request or a Node.
const MAX_NAME: usize = 253;

/// A CertificateSigningRequest of a node.
#[derive(Debug, Default)]
pub struct CertificateRequest {
    pub metadata: Metadata,
    /// The node that it is for, in lower case; empty where that is unknown.
    pub node: String,
    /// The same as the request has it, by which the approver looks for its Machine.
    pub as_written: String,
    /// A node's certificate as a client; else the one that it serves with.
    pub is_client: bool,
    /// The machine's first request; a Node asks under its own name.
    pub is_first: bool,
    /// The part of it that no node's request has: of a first one the bootstrapper asks, else the node itself. Names are
    /// names of DNS: whoever asks chooses them, and the API server takes any for a request.
    pub odd: Option<OddPart>,
    pub is_approved: bool,
    pub is_signed: bool,
    /// Dates of the certificate, where it is there.
    pub dates: Option<Validity>,
    /// The reason of a denial or a failure.
    pub denied: Option<String>,
}

/// The part of a request that differs from a node's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OddPart {
    Name,
    /// Its name has the root's dot, as DHCP or reverse DNS may give it, and else nothing is odd.
    TrailingDot,
    User,
    /// Groups or usages were not read: the API server writes both.
    Unread,
    Groups,
    Usages,
    /// Organization or common name.
    Subject,
    AlternativeNames,
    /// A kubelet asks the kubelets' signers alone: this one gives other clients their certificates.
    Signer,
}

/// A request as the API has it.
#[derive(Debug, Default, Deserialize)]
pub struct RequestObject {
    metadata: Metadata,
    #[serde(rename = "spec.signerName")]
    signer: String,
    #[serde(rename = "spec.username")]
    username: Raw<String>,
    #[serde(rename = "spec.groups")]
    groups: Raw<Vec<String>>,
    #[serde(rename = "spec.usages")]
    usages: Raw<Vec<String>>,
    #[serde(rename = "spec.request")]
    request: Option<Raw<String>>,
    #[serde(rename = "status.certificate")]
    certificate: Option<Raw<String>>,
    #[serde(rename = "status.conditions", deserialize_with = "conditions")]
    conditions: Vec<Condition>,
}

/// The odd one of groups and usages: where one has none these were not read, and say nothing.
fn odd_means(
    (is_client, is_first): (bool, bool),
    groups: &[String],
    usages: &[String],
) -> Option<OddPart> {
    let own = if is_first { BOOTSTRAPPERS } else { NODES };
    let usage = if is_client {
        "client auth"
    } else {
        "server auth"
    };
    let is_usage = |own: &str| own == usage || USAGES.contains(&own);
    if groups.is_empty() || usages.is_empty() {
        Some(OddPart::Unread)
    } else if !groups.iter().all(|group| own.contains(&&**group)) {
        Some(OddPart::Groups)
    } else {
        let are_own = usages.iter().all(|own| is_usage(own));
        (!are_own).then_some(OddPart::Usages)
    }
}

impl CertificateRequest {
    /// `None` for one that is not a node's, or has no name.
    pub fn of(object: RequestObject) -> Option<Self> {
        let RequestObject {
            metadata,
            username: Raw(username),
            conditions,
            groups: Raw(groups),
            usages: Raw(usages),
            ..
        } = object;
        let is_client = match &*object.signer {
            "kubernetes.io/kube-apiserver-client-kubelet" | OTHER_CLIENTS => true,
            "kubernetes.io/kubelet-serving" => false,
            _ => return None,
        };
        let is_first = is_client && !username.starts_with(NODE_USER);
        let subject = (object.request).and_then(|Raw(text)| Subject::of_request(&text));
        let subject = subject.unwrap_or_default();
        let is_of_other_signer = object.signer == OTHER_CLIENTS;
        if is_of_other_signer && subject.node.is_none() {
            return None;
        }
        let own = username.strip_prefix(NODE_USER).map(printable);
        let is_own = own.as_ref().map_or(username == BOOTSTRAPPER, |own| {
            subject.node.as_ref() == Some(own)
        });
        let is_stranger = own.is_none();
        let as_written = own.or(subject.node).unwrap_or_default();
        let host = as_written.strip_suffix('.').unwrap_or(&as_written);
        let names = [&*metadata.name, host];
        let is_named = names.iter().all(|name| is_dns_name(name, MAX_NAME));
        let odd = if is_of_other_signer {
            Some(OddPart::Signer)
        } else if !is_own && is_stranger {
            Some(OddPart::User)
        } else if !is_own || !subject.is_a_nodes {
            Some(OddPart::Subject)
        } else if !is_named {
            Some(OddPart::Name)
        } else if is_client && subject.has_other_names {
            // A client's has no alternative names.
            Some(OddPart::AlternativeNames)
        } else {
            let odd = odd_means((is_client, is_first), &groups, &usages);
            odd.or(as_written.ends_with('.').then_some(OddPart::TrailingDot))
        };
        let has = |kind| condition(&conditions, kind);
        (!metadata.name.is_empty()).then(|| Self {
            metadata,
            node: normal(&as_written),
            as_written,
            is_client,
            is_first,
            odd,
            // A signer, which alone says that it failed, takes approved ones.
            is_approved: has("Approved").or_else(|| has("Failed")).is_some(),
            is_signed: object.certificate.is_some(),
            dates: (object.certificate).and_then(|Raw(pem)| Validity::of_encoded_pem(&pem)),
            denied: has("Denied").or_else(|| has("Failed")).map(Condition::says),
        })
    }

    /// Kind and name.
    pub fn source(&self) -> String {
        format!("{REQUEST} {}", self.metadata.name)
    }

    pub fn is_pending(&self) -> bool {
        !self.is_approved && self.denied.is_none()
    }
}
