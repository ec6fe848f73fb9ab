//! Files, folders and archives, and the objects in them.

pub mod archive;
pub mod cut_short;
pub mod documents;
pub mod folder;
pub mod input;
pub mod staged;
pub mod yaml;
pub mod yaml_list;
