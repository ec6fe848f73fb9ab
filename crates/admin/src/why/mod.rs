//! Reasons why a Machine did not become a Node: the steps on the way, the signs of each in the
//! cluster, and one sentence (pure).
//!
//! [`Facts`] are kept of objects and logs, [`why`] makes a [`WhyReport`] of them. Each step is seen
//! by somebody else: the Machine API, the machine-config-server, the node's own agent, the
//! machine-approver.

mod approver_line;
mod case;
mod certificate;
mod explain;
mod facts;
mod finding;
mod first_boot;
mod hosted;
mod ignition_server;
pub(crate) mod ignition_specs;
mod index;
mod kinds;
mod later;
mod listen;
mod log_lines;
pub(crate) mod moment;
mod records;
mod remade;
mod report;
mod request_name;
mod request_step;
mod request_words;
mod server_line;
mod server_log;
mod told;
mod user_data;

pub(crate) use explain::{Judged, JudgedSets, Question, why};
pub(crate) use facts::Facts;
pub(crate) use report::{Explanation, Mark, Stage, WhyReport};
