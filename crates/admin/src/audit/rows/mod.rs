//! Rows of the audit: sets, nodes without one, and what is missing (pure).

pub(crate) mod missing;
pub(crate) mod node_classes;
pub(crate) mod set;
pub(crate) mod sets;
pub(crate) mod user_data;
pub(crate) mod without_set;
