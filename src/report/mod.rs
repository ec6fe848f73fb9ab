//! Telling the cluster: over which connection, with which credentials, and what came back.
//!
//! [`transport`] carries one request, [`answer`] says what came of it.
//!
//! [`situation`] reads what there is to tell; [`objects`], [`event`] and [`inventory`] say it as Kubernetes objects (pure); [`delivery`]
//! decides when to send what (pure); `matter` makes the requests of it; [`run`] sends them, through a [`carrier`], and [`watch`] says so.

pub mod answer;
pub mod carrier;
mod clock;
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
pub mod transport;
pub mod watch;
