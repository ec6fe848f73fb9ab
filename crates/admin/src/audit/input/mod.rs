//! Connections and bytes, from which objects are read.

pub(crate) mod cut_short;
pub(crate) mod documents;
pub(crate) mod fetch;
pub(crate) mod gathers;
pub(crate) mod kubeconfigs;
pub mod login;
pub(crate) mod server;
pub(crate) mod yaml_list;
