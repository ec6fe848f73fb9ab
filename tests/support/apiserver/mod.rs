//! A test API server: real TLS, real routes, every body checked against the cluster's own schemas,
//! and faults on demand.
//!
//! It knows exactly what an agent on a node needs and refuses everything else: creating
//! BootImageReports and Events, and patching Nodes. It grants what the manifests in dist/manifests
//! grant, and enforces their schema, admission policies and quota. The admin's token may also list,
//! delete, create Namespaces, apply objects of every kind, and read whatever [`Lists`] has; the bootstrap identity may read the
//! certificate requests among that.

#![allow(dead_code, unused_imports, unreachable_pub)] // Each test target uses its own part of it.

pub mod admission;
pub mod apply;
mod connection;
mod fault;
mod identity;
mod lists;
mod objects;
pub mod pki;
mod rbac;
mod route;
pub mod schema;
mod server;

pub use fault::Fault;
pub use identity::{ADMIN_TOKEN, ADMIN_USER, BOOTSTRAP_TOKEN, BOOTSTRAP_USER};
pub use lists::Lists;
pub use pki::{Key, Validity};
pub use server::{ApiServer, Logged, Options, Tls};

/// The repository, whichever of its packages is tested.
pub fn repository() -> &'static std::path::Path {
    let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .find(|folder| folder.join("dist/manifests").is_dir())
        .unwrap_or(package)
}
