//! The three requests (pure).

use super::answer::Channel;
use super::event::Event;
use super::inventory::{NodePatch, PATCH_TYPE};
use super::objects::{BootImageReport, NAMESPACE};
use super::transport::Request;
use serde::Serialize;

const JSON: &str = "application/json";

/// Creates the report.
pub fn create_report(report: &BootImageReport) -> Request {
    request(Channel::Report, format!("/apis/{}/namespaces/{NAMESPACE}/bootimagereports", crate::API_VERSION), JSON, report)
}

/// Creates the Event.
pub fn create_event(event: &Event) -> Request {
    request(Channel::Event, format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"), JSON, event)
}

/// Patches the Node of that name, which is a DNS subdomain ([`super::certificate::node_name`]).
pub fn patch_node(node: &str, patch: &NodePatch) -> Request {
    request(Channel::Node, format!("/api/v1/nodes/{node}"), PATCH_TYPE, patch)
}

fn request(channel: Channel, path: String, content_type: &'static str, body: &impl Serialize) -> Request {
    // Structs of strings always serialise.
    Request { method: channel.method(), path, content_type, body: serde_json::to_vec(body).unwrap_or_default() }
}
