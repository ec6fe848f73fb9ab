//! Telling the cluster: over which connection, as whom, and what came back.
//!
//! [`kubeconfig`] says where the API server is and who we are, [`transport`] carries one request, [`api`] says what an answer means.

pub mod api;
pub mod kubeconfig;
pub mod secret;
pub mod transport;
