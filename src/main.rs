//! The `skewguard` command.

fn main() {}
