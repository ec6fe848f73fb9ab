//! What tests of several subjects use.

pub(crate) mod apiserver;
#[allow(dead_code, reason = "the tests from inside have one that is kept")]
pub(crate) mod certificate;
pub(crate) mod expected;
pub(crate) mod machines;
#[allow(dead_code, reason = "the tests from outside make no scripts")]
pub(crate) mod script;
pub(crate) mod world;
