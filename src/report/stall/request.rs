//! What became of the kubelet's certificate request, from the cluster's list of them (pure).

use crate::kubeconfig::requested_name;
use crate::text::bounded;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// The requests for a kubelet's first certificate, some at a time: one has a few kilobytes.
pub const LIST: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=50&fieldSelector=spec.signerName%3Dkubernetes.io%2Fkube-apiserver-client-kubelet";

/// Most pages that are read. A request that waits is kept for a day, and the kubelet makes a new
/// one every quarter of an hour.
pub(crate) const PAGES_MAX: usize = 20;

/// Longest name of a request that is shown, in bytes.
const NAME_MAX: usize = 128;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Requests {
    #[serde(default)]
    metadata: ListMetadata,
    items: Vec<SigningRequest>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListMetadata {
    r#continue: String,
}

#[derive(Debug, Deserialize)]
struct SigningRequest {
    metadata: Metadata,
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    #[serde(default)]
    creation_timestamp: String,
}

#[derive(Debug, Deserialize)]
struct Spec {
    request: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<Condition>,
    certificate: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    r#type: String,
}

/// The newest request of one node.
#[derive(Debug, Default)]
pub struct Newest {
    found: Option<SigningRequest>,
}

impl Newest {
    /// Looks through one page. Returns the token of the next one; empty after the last.
    ///
    /// # Errors
    /// This is no list of certificate requests.
    pub fn look(&mut self, host: &str, page: &[u8]) -> Result<String, serde_json::Error> {
        let page: Requests = serde_json::from_slice(page)?;
        let age = |request: &SigningRequest| request.metadata.creation_timestamp.clone();
        for request in page.items {
            let is_newer = self
                .found
                .as_ref()
                .is_none_or(|it| age(it) <= age(&request));
            if is_newer && request.is_of(host) {
                self.found = Some(request);
            }
        }
        Ok(page.metadata.r#continue)
    }

    /// What became of it, in one clause.
    pub fn clause(&self) -> String {
        let Some(request) = &self.found else {
            return "it has no certificate request of this node".to_owned();
        };
        let has = |kind: &str| {
            let mut conditions = request.status.conditions.iter();
            conditions.any(|condition| condition.r#type == kind)
        };
        let state = if has("Denied") {
            "is denied"
        } else if has("Failed") {
            "could not be signed"
        } else if request.status.certificate.is_some() {
            "is approved and signed"
        } else if has("Approved") {
            "is approved and not signed yet"
        } else {
            "waits for approval"
        };
        let Metadata {
            name,
            creation_timestamp: made,
        } = &request.metadata;
        format!(
            "its certificate request {} of {} {state}",
            bounded(name, NAME_MAX),
            bounded(made, 32)
        )
    }
}

impl SigningRequest {
    /// Whether the node of this host name made it. One of the two names may lack the domain.
    fn is_of(&self, host: &str) -> bool {
        let begins = |long: &str, short: &str| {
            long.strip_prefix(short)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let pem = STANDARD.decode(&self.spec.request).unwrap_or_default();
        requested_name(&pem).is_some_and(|node| begins(&node, host) || begins(host, &node))
    }
}
