//! What tests of several subjects use.

pub(crate) mod apiserver;
pub(crate) mod expected;
pub(crate) mod machines;
#[allow(dead_code, reason = "the tests from outside make no scripts")]
pub(crate) mod script;
pub(crate) mod world;
