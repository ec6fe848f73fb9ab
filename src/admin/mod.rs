//! What admins run and no node does: policies checked, clusters audited, and what to apply to them
//! rendered.

pub mod audit;
pub(crate) mod lint;
pub mod render;
pub(crate) mod yaml;
