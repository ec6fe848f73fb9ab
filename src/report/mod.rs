//! Tells the cluster about this node.
//!
//! [`situation`] reads what there is to tell. [`objects`], [`event`] and [`inventory`] make
//! Kubernetes objects of it (pure), and `payload` the requests. [`schedule`] decides when to send
//! which (pure). [`run`] ties them together: it sends the requests through a [`client`], reads each
//! [`answer`], and lets [`output`] tell journal and console. [`stall`] says when a first boot that
//! was let in does not finish.

pub mod answer;
pub mod client;
pub mod event;
pub(crate) mod inventory;
pub(crate) mod ledger;
pub mod names;
mod node_failure;
pub mod objects;
pub mod output;
mod payload;
pub mod random;
pub mod run;
pub(crate) mod schedule;
pub mod situation;
pub mod stall;
