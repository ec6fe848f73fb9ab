//! The agent's binary as it is delivered: checked, and packed (pure).

use crate::gzip::{self, Unpack};
use elf::ElfBytes;
use elf::abi::{DT_NEEDED, EM_AARCH64, EM_PPC64, EM_S390, EM_X86_64, ET_DYN, ET_EXEC, PT_INTERP};
use elf::endian::AnyEndian;
use elf::file::Class;
use lzma_rust2::{CheckType, FilterType, LzmaOptions, XzOptions, XzReader, XzWriter};
use std::io::{ErrorKind, Read as _, Write as _};

/// Largest binary that is read, in bytes; the full build has about 3 MB. The unit that unpacks on the node makes no larger one either.
pub const MAX_BINARY: u64 = 32 << 20;
/// Memory that unpacking may take, here and on the node, in MiB. What is packed here takes 2.
pub(super) const MAX_MEMORY: u32 = 64;

/// An architecture that OpenShift nodes have and skewguard is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// x86_64.
    X86_64,
    /// aarch64.
    Aarch64,
    /// 64-bit Power, little-endian.
    Ppc64le,
    /// IBM Z.
    S390x,
}

impl Arch {
    /// As `uname -m` names it.
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
            Arch::Ppc64le => "ppc64le",
            Arch::S390x => "s390x",
        }
    }

    /// As `ConditionArchitecture=` names it (systemd.unit(5)).
    pub fn systemd(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86-64",
            Arch::Aarch64 => "arm64",
            Arch::Ppc64le => "ppc64-le",
            Arch::S390x => "s390x",
        }
    }
}

/// How the binary is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compression {
    /// A fifth smaller. Its program is in RHCOS from OpenShift 4.8 on, at the latest.
    Xz,
    /// Its program is in every RHCOS.
    Gzip,
}

/// Why a file is not a binary that can be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// Not an ELF executable, nor one that is packed.
    #[error("is not a program (64-bit ELF, or that packed with xz or gzip); give what `dist/build` made, target/dist/skewguard-embed")]
    NotElf,
    /// For a machine that is not supported.
    #[error("is a program for another machine (ELF machine {0}); skewguard is built for x86_64, aarch64, ppc64le and s390x")]
    Machine(u16),
    /// Needs a loader or libraries of the node.
    #[error("is linked dynamically and would not start on every boot image; give what `dist/build` made, target/dist/skewguard-embed")]
    Dynamic,
    /// The packed form is broken.
    #[error("is packed, and damaged")]
    Damaged,
    /// It unpacks to more than [`MAX_BINARY`].
    #[error("is packed, and has more than {MAX_BINARY} bytes unpacked")]
    TooLarge,
    /// Its dictionary is larger than [`MAX_MEMORY`].
    #[error("is packed with xz, and takes more than {MAX_MEMORY} MiB of memory to unpack")]
    Memory,
    /// A packed file was packed again.
    #[error("is packed twice; unpack it once")]
    Twice,
}

/// A static binary, packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// What it runs on.
    pub arch: Arch,
    /// How it is packed.
    pub compression: Compression,
    /// The `.xz` or `.gz` file.
    pub packed: Vec<u8>,
    /// Size when unpacked, in bytes.
    pub unpacked: usize,
}

impl Binary {
    /// Takes the bytes of a program, packed or not, and packs it. The result depends on the program only: no name, no time of day.
    pub fn new(bytes: &[u8], compression: Compression) -> Result<Self, BinaryError> {
        let unpacked = unpack(bytes)?;
        let program = unpacked.as_deref().unwrap_or(bytes);
        if unpacked.is_some() && compression_of(program).is_some() {
            return Err(BinaryError::Twice);
        }
        let arch = static_elf(program)?;
        let packed = match compression {
            Compression::Gzip => gzip::pack(program),
            // It fails where memory is written to, and there is no such failure.
            Compression::Xz => xz(program, arch).map_err(|_| BinaryError::Damaged)?,
        };
        Ok(Self { arch, compression, packed, unpacked: program.len() })
    }
}

fn compression_of(bytes: &[u8]) -> Option<Compression> {
    [(Compression::Xz, &b"\xfd7zXZ\0"[..]), (Compression::Gzip, b"\x1f\x8b")]
        .into_iter()
        .find_map(|(compression, magic)| bytes.starts_with(magic).then_some(compression))
}

/// What a packed file has in it; `None` for one that is not packed.
fn unpack(bytes: &[u8]) -> Result<Option<Vec<u8>>, BinaryError> {
    let Some(compression) = compression_of(bytes) else { return Ok(None) };
    if compression == Compression::Gzip {
        return gzip::unpack(bytes, MAX_BINARY).map(Some).map_err(|error| match error {
            Unpack::Broken => BinaryError::Damaged,
            Unpack::TooLarge => BinaryError::TooLarge,
        });
    }
    let mut program = vec![];
    XzReader::new_mem_limit(bytes, false, MAX_MEMORY << 10)
        .take(MAX_BINARY + 1)
        .read_to_end(&mut program)
        .map_err(|error| if error.kind() == ErrorKind::OutOfMemory { BinaryError::Memory } else { BinaryError::Damaged })?;
    if program.len() as u64 > MAX_BINARY { Err(BinaryError::TooLarge) } else { Ok(Some(program)) }
}

/// Packed with what xz 5.2 (RHEL 8 and 9) knows: of the filters for branches only that of x86_64, since the one for aarch64 came with 5.4.
///
/// The decoder takes as much memory as the dictionary has, which therefore is no larger than the program.
fn xz(program: &[u8], arch: Arch) -> std::io::Result<Vec<u8>> {
    let (lc, lp, pb) = match arch {
        Arch::X86_64 => (4, 0, 0),
        // Instructions of four bytes, and of two.
        Arch::Aarch64 | Arch::Ppc64le => (2, 2, 2),
        Arch::S390x => (3, 1, 1),
    };
    // The format knows 2^n and 3 * 2^n, and rounds up.
    let whole = u32::try_from(program.len()).unwrap_or(u32::MAX).max(4096);
    let power = 1 << whole.ilog2();
    let dict_size = if whole >= power / 2 * 3 { power / 2 * 3 } else { power };
    let lzma_options =
        LzmaOptions { dict_size, lc, lp, pb, nice_len: LzmaOptions::NICE_LEN_MAX, depth_limit: 512, ..LzmaOptions::with_preset(9) };
    let mut options = XzOptions { lzma_options, check_type: CheckType::Crc32, ..XzOptions::default() };
    if arch == Arch::X86_64 {
        options.prepend_pre_filter(FilterType::BcjX86, 0);
    }
    let mut writer = XzWriter::new(vec![], options)?;
    writer.write_all(program)?;
    writer.finish()
}

/// The architecture of a static 64-bit ELF executable (elf(5)).
fn static_elf(bytes: &[u8]) -> Result<Arch, BinaryError> {
    let file = ElfBytes::<AnyEndian>::minimal_parse(bytes).map_err(|_| BinaryError::NotElf)?;
    let arch = match (file.ehdr.class, file.ehdr.endianness, file.ehdr.e_machine) {
        (Class::ELF64, AnyEndian::Little, EM_X86_64) => Arch::X86_64,
        (Class::ELF64, AnyEndian::Little, EM_AARCH64) => Arch::Aarch64,
        (Class::ELF64, AnyEndian::Little, EM_PPC64) => Arch::Ppc64le,
        (Class::ELF64, AnyEndian::Big, EM_S390) => Arch::S390x,
        (_, _, machine) => return Err(BinaryError::Machine(machine)),
    };
    let segments = file.segments().filter(|_| matches!(file.ehdr.e_type, ET_EXEC | ET_DYN)).ok_or(BinaryError::NotElf)?;
    // A library has no interpreter, but needs others like it.
    let mut dynamic = file.dynamic().map_err(|_| BinaryError::NotElf)?.into_iter().flat_map(|table| table.iter());
    if segments.iter().any(|segment| segment.p_type == PT_INTERP) || dynamic.any(|entry| entry.d_tag == DT_NEEDED) {
        return Err(BinaryError::Dynamic);
    }
    Ok(arch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;

    /// The smallest file that counts as a static program: a header and one loadable segment.
    fn program(machine: u16, segment: u32) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64 + 56, 0);
        elf[16] = 3;
        elf[18..20].copy_from_slice(&machine.to_le_bytes());
        elf[20] = 1;
        elf[32] = 64;
        elf[52] = 64;
        elf[54] = 56;
        elf[56] = 1;
        elf[64..68].copy_from_slice(&segment.to_le_bytes());
        elf
    }

    /// The same for IBM Z, whose numbers have their largest byte first.
    fn big_endian(machine: u16) -> Vec<u8> {
        let mut elf = program(machine, 1);
        elf[5] = 2;
        for field in [16..18, 18..20, 20..24, 32..40, 52..54, 54..56, 56..58, 64..68] {
            elf[field].reverse();
        }
        elf
    }

    /// What xz 5.2 made of it, the one that RHEL 8 and 9 have.
    fn xz_5_2(file: &[u8]) -> Vec<u8> {
        let (mut back, mut decoder) = (vec![], xz2::stream::Stream::new_stream_decoder(4 << 20, 0).unwrap());
        back.reserve(4 << 20);
        assert_eq!(decoder.process_vec(file, &mut back, xz2::stream::Action::Finish).unwrap(), xz2::stream::Status::StreamEnd);
        back
    }

    #[test]
    fn packs_a_static_program_of_every_architecture() {
        for (elf, arch) in [
            (program(62, 1), Arch::X86_64),
            (program(183, 1), Arch::Aarch64),
            (program(21, 1), Arch::Ppc64le),
            (big_endian(22), Arch::S390x),
        ] {
            let xz = Binary::new(&elf, Compression::Xz).unwrap();
            assert_eq!((xz.arch, xz.unpacked), (arch, elf.len()));
            assert_eq!(xz_5_2(&xz.packed), elf);
            let gzip = Binary::new(&elf, Compression::Gzip).unwrap();
            assert_eq!(gzip::unpack(&gzip.packed, MAX_BINARY).unwrap(), elf);
            // No modification time in the gzip header (RFC 1952, MTIME), so the same binary gives the same object.
            assert_eq!(gzip.packed[4..8], [0; 4]);
            // Whatever it comes in.
            assert_eq!(Binary::new(&gzip.packed, Compression::Xz), Ok(xz.clone()));
            assert_eq!(Binary::new(&xz.packed, Compression::Gzip), Ok(gzip));
        }
    }

    #[test]
    fn the_dictionary_is_no_larger_than_the_program() {
        for length in [5000, 100_000, 0x17_ffff, 0x18_0000, 0x18_0001] {
            let mut elf = program(62, 1);
            elf.resize(length, 7);
            let packed = Binary::new(&elf, Compression::Xz).unwrap().packed;
            // Block header: sizes and flags, the filter for branches (4), then LZMA2 (0x21) and the bits of its dictionary's size.
            let [_, 1, 4, 0, 0x21, 1, bits, ..] = packed[12..] else { panic!("{:x?}", &packed[12..24]) };
            let size = (2 | usize::from(bits) & 1) << (bits / 2 + 11);
            assert!(size <= length && size * 2 > length, "{size} of {length}");
            assert_eq!(xz_5_2(&packed), elf);
        }
    }

    #[test]
    fn refuses_what_would_not_run() {
        let refused = |bytes: &[u8]| Binary::new(bytes, Compression::Gzip).unwrap_err();
        assert_eq!(refused(b""), BinaryError::NotElf);
        assert_eq!(refused(b"#!/bin/sh\n"), BinaryError::NotElf);
        assert_eq!(refused(&program(62, 1)[..66]), BinaryError::NotElf);
        assert_eq!(refused(&program(62, 3)), BinaryError::Dynamic);
        assert_eq!(refused(&program(243, 1)), BinaryError::Machine(243));
        assert_eq!(refused(&big_endian(21)), BinaryError::Machine(21), "Power with its largest byte first");
        let mut small = program(62, 1);
        small[4] = 1;
        assert!(matches!(refused(&small), BinaryError::NotElf | BinaryError::Machine(_)), "of 32 bits");
        let mut library = program(62, 2);
        (library[72], library[96]) = (120, 32);
        assert_eq!(refused(&library), BinaryError::NotElf, "its dynamic section is not in it");
        library.resize(120 + 32, 0);
        assert!(Binary::new(&library, Compression::Gzip).is_ok(), "one that needs nothing is static and position-independent");
        library[120] = 1;
        assert_eq!(refused(&library), BinaryError::Dynamic);
        let mut far = program(62, 1);
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(refused(&far), BinaryError::NotElf);
    }

    #[test]
    fn refuses_what_is_damaged_packed_twice_or_a_bomb() {
        let refused = |bytes: &[u8]| Binary::new(bytes, Compression::Xz).unwrap_err();
        let elf = [program(62, 1), vec![9; 5000]].concat();
        for compression in [Compression::Xz, Compression::Gzip] {
            let packed = Binary::new(&elf, compression).unwrap().packed;
            assert_eq!(refused(&packed[..packed.len() - 20]), BinaryError::Damaged);
            let mut changed = packed.clone();
            changed[packed.len() / 2] ^= 0x10;
            assert_eq!(refused(&changed), BinaryError::Damaged, "{compression:?}");
            for again in [gzip::pack(&packed), xz(&packed, Arch::X86_64).unwrap()] {
                assert_eq!(refused(&again), BinaryError::Twice);
            }
        }
        let zeros = vec![0; 33 << 20];
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&zeros).unwrap();
        assert_eq!(refused(&encoder.finish().unwrap()), BinaryError::TooLarge);
        let mut encoder = xz2::write::XzEncoder::new(vec![], 0);
        encoder.write_all(&zeros).unwrap();
        assert_eq!(refused(&encoder.finish().unwrap()), BinaryError::TooLarge);
        // A dictionary of 1 GiB in the block header, which has a checksum of its own.
        let mut greedy = xz(&elf, Arch::X86_64).unwrap();
        let end = 12 + (usize::from(greedy[12]) + 1) * 4 - 4;
        greedy[18] = 36;
        let mut sum = flate2::Crc::new();
        sum.update(&greedy[12..end]);
        greedy[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
        assert_eq!(refused(&greedy), BinaryError::Memory);
    }
}
