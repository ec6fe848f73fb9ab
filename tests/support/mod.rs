//! What tests of several subjects use.

pub(crate) mod apiserver;
pub(crate) mod expected;
pub(crate) mod machines;
pub(crate) mod script;
pub(crate) mod world;
