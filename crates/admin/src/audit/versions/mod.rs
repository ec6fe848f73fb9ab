//! Versions of images, and what they are known from (pure).

pub(crate) mod image_versions;
pub(crate) mod known_version;
mod listed;
pub(crate) mod published;
pub(crate) mod why_not;
