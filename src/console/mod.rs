//! Texts for an admin at the console of a node that did not join.
//!
//! [`message`] makes the texts (pure). [`install`] puts them on top of `/etc/issue` and into
//! `/etc/motd.d`, and takes them away again. [`live`] refreshes the login prompts and writes the
//! short form to the console and the kernel log.

mod context;
mod fix;
mod page;

pub(crate) mod install;
pub(crate) mod live;
pub(crate) mod message;

pub use context::Context;
pub use install::update;
pub(crate) use install::{hide_first_boot, pending_restore, refresh, restore, show_first_boot};
