//! Telling the cluster: over which connection, as whom, and what came back.
//!
//! [`transport`] carries one request, [`answer`] says what came of it.
//!
//! [`situation`] reads what there is to tell; [`objects`], [`event`] and [`inventory`] say it as Kubernetes objects (pure); [`delivery`]
//! decides when to send what (pure); [`run`] does it, through a [`carrier`].

pub mod answer;
pub mod carrier;
mod clock;
pub mod delivery;
pub mod event;
pub mod inventory;
pub mod names;
pub mod objects;
pub mod random;
pub mod run;
pub mod situation;
pub mod state;
pub mod transport;
pub mod watch;
