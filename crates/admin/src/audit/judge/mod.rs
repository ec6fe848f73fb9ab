//! The verdict (pure): on what makes nodes, by the image that it makes them from.

pub(crate) mod amis;
pub(crate) mod births;
pub(crate) mod change;
pub(crate) mod effect;
pub(crate) mod estimate;
mod horizon;
pub(crate) mod image_versions;
pub(crate) mod issues;
pub(crate) mod known_version;
pub(crate) mod lookup_help;
pub(crate) mod missing;
pub(crate) mod node_classes;
pub(crate) mod operator;
pub(crate) mod own;
pub(crate) mod platform_fixes;
pub(crate) mod published;
mod published_images;
pub(crate) mod remedy;
pub(crate) mod sets;
pub(crate) mod skew;
pub(crate) mod swapped;
pub(crate) mod upkeep;
pub(crate) mod upkeep_rules;
pub(crate) mod user_data;
pub(crate) mod verdicts;
pub(crate) mod without_set;
