//! The cluster's API server: its kubeconfigs, the connection, and lists page by page.

pub mod fetch;
pub mod kubeconfigs;
pub mod live;
pub mod login;
mod program;
pub mod server;
pub mod stranger;
