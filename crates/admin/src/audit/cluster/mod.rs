//! The objects of a cluster, as far as the audit keeps them (pure).

pub(crate) mod fields;
pub(crate) mod image;
pub(crate) mod infrastructure;
pub(crate) mod karpenter;
pub mod kind_table;
pub(crate) mod kinds;
pub(crate) mod listener;
pub(crate) mod nodes;
pub(crate) mod objects;
pub(crate) mod others;
pub(crate) mod owner;
pub(crate) mod platforms;
pub(crate) mod settings;
pub(crate) mod site;
pub(crate) mod staged;
pub(crate) mod stream;
pub(crate) mod target;
mod unfit;
pub(crate) mod user_data;
