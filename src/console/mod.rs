//! What an admin reads on the console of a node that did not join.
//!
//! [`message`] makes the texts (pure). [`install`] puts them on top of `/etc/issue` and into `/etc/motd.d`, and takes them away again.
//! [`live`] refreshes the login prompts and writes the short form to the console and the kernel log.

mod known;
mod page;
mod platform;

pub mod install;
pub mod live;
pub mod message;

pub use install::{pending_restore, refresh, restore, update};
pub use known::Context;
