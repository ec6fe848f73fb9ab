//! Reasons why a Machine did not become a Node: the steps on the way, the signs of each in the
//! cluster, and one sentence (pure).
//!
//! A cluster is objects and logs; [`why`] makes a [`WhyReport`] of them. Each step is seen
//! by somebody else: the Machine API, the machine-config-server, the node's own agent, the
//! machine-approver.

mod advice;
mod agents;
mod bare_metal;
mod case;
mod cause;
mod claims;
mod deletion;
mod explain;
mod failures;
mod finding;
mod first_boot;
mod ground;
mod handshake;
mod hosted;
mod hosted_cluster;
mod index;
mod instance;
mod instance_state;
mod log_report;
mod node;
mod node_claim;
mod pending;
mod power;
mod release_issues;
mod remade;
mod report;
mod request_step;
mod request_words;
mod rows;
mod sets;
mod subject;
mod subjects;
mod taken_name;
mod way;
mod why_not_made;

use skewguard_cluster::kinds::ignition_specs;
use skewguard_cluster::logs::{ignition_server, server_line, server_log};
use skewguard_cluster::moment;

pub(crate) use cause::CauseName;
pub(crate) use explain::{Question, why};
pub(crate) use report::{Explanation, HOST, WhyReport};
pub(crate) use way::{Mark, Stage, Step};
