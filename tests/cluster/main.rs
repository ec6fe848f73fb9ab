//! The cluster tier: everything that goes over the wire, against an API server over real TLS.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "../support/apiserver/mod.rs"]
mod apiserver;
mod broken_servers;
mod kubeconfigs;
mod secrets;
mod tls;
mod way;
