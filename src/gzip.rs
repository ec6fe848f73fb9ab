//! Unpacks gzip files (RFC 1952), around miniz_oxide's inflate (RFC 1951).
//!
//! flate2 would do it, as it does for admins, but its checksum has 16 KB of tables that do not
//! compress, and its reader a window of 32 KB that every first boot would pay for. What is unpacked
//! here is small: files of a few hundred KB, in memory.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// `ID1`, `ID2`, and `CM` 8: deflate.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Reason that bytes could not be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpack {
    /// Not a gzip file, a broken one, or one with several members.
    Broken,
    TooLarge,
}

/// Unpacks a gzip file of one member to at most `max` bytes. Like Ignition's reader it accepts
/// nothing behind the trailer.
pub fn unpack(file: &[u8], max: u64) -> Result<Vec<u8>, Unpack> {
    let (stream, stored) = body(file)
        .and_then(<[u8]>::split_last_chunk::<8>)
        .ok_or(Unpack::Broken)?;
    // The stored length must be right in the end, so no more than that is ever allocated.
    let [_, _, _, _, a, b, c, d] = *stored;
    let (length, max) = (
        u32::from_le_bytes([a, b, c, d]) as usize,
        usize::try_from(max).unwrap_or(usize::MAX),
    );
    let mut bytes = vec![0; length.min(max)];
    let mut state = Box::<DecompressorOxide>::default();
    let (status, read, written) = decompress(
        &mut state,
        stream,
        &mut bytes,
        0,
        TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
    );
    if status == TINFLStatus::HasMoreOutput && length > max {
        return Err(Unpack::TooLarge);
    }
    let whole = status == TINFLStatus::Done && read == stream.len() && written == bytes.len();
    if whole && *stored == trailer(&bytes) {
        Ok(bytes)
    } else {
        Err(Unpack::Broken)
    }
}

/// Skips the header: its fixed fields, then the optional ones that `FLG` announces.
fn body(file: &[u8]) -> Option<&[u8]> {
    let (&[flags, _, _, _, _, _, _], mut rest) = file.strip_prefix(&MAGIC)?.split_first_chunk()?;
    let [text, header_crc, extra, name, comment] = [1, 2, 4, 8, 16];
    if flags & !(text | header_crc | extra | name | comment) != 0 {
        return None;
    }
    if flags & extra != 0 {
        let (&length, after) = rest.split_first_chunk()?;
        rest = after.get(usize::from(u16::from_le_bytes(length))..)?;
    }
    for present in [name, comment] {
        if flags & present != 0 {
            rest = rest.splitn(2, |&byte| byte == 0).nth(1)?;
        }
    }
    if flags & header_crc != 0 {
        rest.get(2..)
    } else {
        Some(rest)
    }
}

/// `CRC32` and `ISIZE`, the length modulo 2^32.
fn trailer(bytes: &[u8]) -> [u8; 8] {
    let length = u64::try_from(bytes.len()).unwrap_or_default() << 32;
    (length | u64::from(crc32(bytes))).to_le_bytes()
}

/// Half a byte at a time: 64 bytes of table.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 16] = [
        0x0000_0000,
        0x1db7_1064,
        0x3b6e_20c8,
        0x26d9_30ac,
        0x76dc_4190,
        0x6b6b_51f4,
        0x4db2_6158,
        0x5005_713c,
        0xedb8_8320,
        0xf00f_9344,
        0xd6d6_a3e8,
        0xcb61_b38c,
        0x9b64_c2b0,
        0x86d3_d2d4,
        0xa00a_e278,
        0xbdbd_f21c,
    ];
    let step = |crc: u32| {
        TABLE
            .get((crc & 15) as usize)
            .map_or(0, |entry| entry ^ crc >> 4)
    };
    !bytes
        .iter()
        .fold(!0, |crc, &byte| step(step(crc ^ u32::from(byte))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, GzBuilder, write::GzEncoder};
    use std::io::Write as _;

    fn packed(builder: GzBuilder, bytes: &[u8]) -> Vec<u8> {
        let mut encoder = builder.write(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_checksum_is_the_usual_one() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn every_header_of_another_writer_is_read() {
        let text: Vec<u8> = (0..300_000u32)
            .flat_map(|n| (n / 7).to_le_bytes())
            .collect();
        for bytes in [&b""[..], b"{}", &text] {
            let with = |builder| unpack(&packed(builder, bytes), bytes.len() as u64);
            assert_eq!(with(GzBuilder::new()).as_deref(), Ok(bytes));
            assert_eq!(
                with(
                    GzBuilder::new()
                        .mtime(7)
                        .filename("policy.json")
                        .comment("x")
                        .extra("ab\0c")
                )
                .as_deref(),
                Ok(bytes)
            );
        }
        // FHCRC, which flate2 reads but does not write: two bytes after the fixed ones.
        let mut file = packed(GzBuilder::new(), b"policy");
        file[3] = 2;
        file.splice(10..10, [0, 0]);
        assert_eq!(unpack(&file, 9).unwrap(), b"policy");
    }

    #[test]
    fn broken_files_are_told_from_large_ones() {
        let file = packed(
            GzBuilder::new().filename("n").extra("e"),
            b"a policy of some length, length, length",
        );
        for end in 0..file.len() {
            assert_eq!(
                unpack(&file[..end], 100),
                Err(Unpack::Broken),
                "cut after {end}"
            );
        }
        for at in (0..4).chain(file.len() - 8..file.len()) {
            let mut broken = file.clone();
            broken[at] ^= 0x80;
            assert_eq!(unpack(&broken, 100), Err(Unpack::Broken), "byte {at}");
        }
        assert_eq!(unpack(&file, 38), Err(Unpack::TooLarge));
        assert!(unpack(&file, 39).is_ok());
        // Ignition joins several members into one; that is not guessed at here.
        for behind in [&file[..], b"\0"] {
            assert_eq!(unpack(&[&file, behind].concat(), 100), Err(Unpack::Broken));
        }
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        for _ in 0..16 {
            bomb.write_all(&vec![0; 1 << 20]).unwrap();
        }
        assert_eq!(
            unpack(&bomb.finish().unwrap(), 1 << 20),
            Err(Unpack::TooLarge)
        );
    }
}
