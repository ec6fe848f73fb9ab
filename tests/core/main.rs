//! The core through its public interface: versions, policies, the decision. No files, no processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod policy_choose;
mod policy_parse;
