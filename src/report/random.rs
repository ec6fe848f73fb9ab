//! Random numbers from the kernel (random(4)).

use std::fs::File;
use std::io::{Error, Read};

pub(super) const SOURCE: &str = "/dev/urandom";

pub(super) fn bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    File::open(SOURCE)?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A random number in 0.0..1.0; one half where the kernel has none.
pub fn chance() -> f64 {
    bytes().map_or(0.5, |bytes| {
        f64::from(u32::from_ne_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
    })
}
