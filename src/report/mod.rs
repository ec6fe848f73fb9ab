//! Tells the cluster about this node.
//!
//! [`situation`] reads what there is to tell. [`objects`], [`event`] and [`inventory`] make Kubernetes objects of it (pure), and `matter`
//! the requests. [`delivery`] decides when to send which (pure). [`run`] ties them together: it sends the requests through a [`carrier`],
//! reads each [`answer`], and lets [`watch`] tell journal and console.

pub mod answer;
pub mod carrier;
pub mod delivery;
pub mod event;
pub mod inventory;
mod matter;
pub mod names;
pub mod objects;
pub mod random;
pub mod run;
pub mod situation;
pub mod state;
pub mod watch;
