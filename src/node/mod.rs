//! What is read from a node, all of it under a [`Root`].

pub mod root;

pub use root::{FileError, Problem, Root};
