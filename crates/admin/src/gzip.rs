//! gzip files (RFC 1952), in memory.

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use std::io::Read;

/// Reason why bytes could not be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unpack {
    /// Not a gzip file, a broken one, or one with several members.
    Broken,
    TooLarge,
}

/// Unpacks a gzip file of one member to at most `max` bytes. Like Ignition's reader it accepts
/// nothing behind the trailer.
pub(crate) fn unpack(file: &[u8], max: u64) -> Result<Vec<u8>, Unpack> {
    let mut decoder = GzDecoder::new(file);
    let mut bytes = Vec::new();
    let read = decoder
        .by_ref()
        .take(max.saturating_add(1))
        .read_to_end(&mut bytes);
    read.map_err(|_| Unpack::Broken)?;
    if bytes.len() as u64 > max {
        return Err(Unpack::TooLarge);
    }
    if decoder.into_inner().is_empty() {
        Ok(bytes)
    } else {
        Err(Unpack::Broken)
    }
}

/// Packs `bytes` as small as deflate can. The result depends on the bytes alone: the header has no
/// name and no time.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new()
        .operating_system(UNKNOWN_SYSTEM)
        .buf_read(bytes, Compression::best());
    let mut packed = Vec::new();
    // Memory is read, and written to: neither fails.
    let _ = encoder.read_to_end(&mut packed);
    packed
}

/// RFC 1952, 2.3.1: the system is unknown, and not the one that packs.
const UNKNOWN_SYSTEM: u8 = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_broken_files_are_told_from_large_ones() {
        for bytes in [&b""[..], b"a policy of some length, length, length"] {
            let file = pack(bytes);
            assert_eq!(file[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255]);
            assert_eq!(unpack(&file, bytes.len() as u64).as_deref(), Ok(bytes));
            for end in 0..file.len() {
                assert_eq!(unpack(&file[..end], 100), Err(Unpack::Broken), "{end}");
            }
            for behind in [&file[..], b"\0"] {
                assert_eq!(unpack(&[&file, behind].concat(), 100), Err(Unpack::Broken));
            }
        }
        let bomb = pack(&vec![0; 16 << 20]);
        assert_eq!(unpack(&bomb, (16 << 20) - 1), Err(Unpack::TooLarge));
        assert!(unpack(&bomb, 16 << 20).is_ok());
        assert_eq!(unpack(&bomb, 0), Err(Unpack::TooLarge));
    }
}
