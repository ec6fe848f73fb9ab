//! The forms of a result (pure).

pub(super) mod chart;
pub(super) mod commands;
pub(super) mod csv;
pub(super) mod html;
pub(in crate::cli) mod junit;
pub(super) mod markdown;
pub(super) mod page;
mod path;
pub(super) mod sarif;
pub(super) mod text;
