//! The agent's binary as it is delivered: checked, and packed (pure).

use crate::API_VERSION;
use crate::gzip::{self, Unpack};
use crate::text::hex;
use elf::ElfBytes;
use elf::abi::{DT_NEEDED, EM_AARCH64, EM_PPC64, EM_S390, EM_X86_64, ET_DYN, ET_EXEC, PT_INTERP};
use elf::endian::AnyEndian;
use elf::file::Class;
use lzma_rust2::{CheckType, FilterType, LzmaOptions, XzOptions, XzReader, XzWriter};
use sha2::{Digest as _, Sha256};
use std::io::{ErrorKind, Read as _, Write as _};

/// Largest binary, in bytes, here and for the unit that unpacks it on the node. The full build has
/// about 3 MB.
pub const MAX_BINARY: u64 = 32 << 20;
/// The most memory for unpacking, in MiB, here and on the node. What is packed here needs 2 MiB.
pub(super) const MAX_MEMORY: u32 = 64;

/// The remedy for what is not the agent.
pub(crate) const EMBED_REMEDY: &str = "give skewguard-embed, of a release or of `dist/build`";
const NOT_ELF: &str = "is not a program (64-bit ELF, or that packed with xz or gzip); give skewguard-embed, of a release or of `dist/build`";
const NOT_OURS: &str =
    "is a program, and not skewguard; give skewguard-embed, of a release or of `dist/build`";
/// A text that every build of skewguard has in it: its API version is in each verdict.
const MARK: &[u8] = API_VERSION.as_bytes();
const DAMAGED: &str = "is packed, and damaged";

/// An architecture that skewguard is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arch {
    /// Its name by `uname -m`.
    pub name: &'static str,
    /// Its name in `ConditionArchitecture=` (systemd.unit(5)).
    pub(super) systemd: &'static str,
    /// Its ELF files: machine and byte order.
    elf: (u16, AnyEndian),
    /// Settings of xz for its instructions: lc, lp and pb. On aarch64 and ppc64le they have four
    /// bytes, on s390x a multiple of two.
    lzma: (u32, u32, u32),
}

#[allow(missing_docs)]
impl Arch {
    pub const X86_64: Self = Self {
        name: "x86_64",
        systemd: "x86-64",
        elf: (EM_X86_64, AnyEndian::Little),
        lzma: (4, 0, 0),
    };
    pub const AARCH64: Self = Self {
        name: "aarch64",
        systemd: "arm64",
        elf: (EM_AARCH64, AnyEndian::Little),
        lzma: (2, 2, 2),
    };
    pub const PPC64LE: Self = Self {
        name: "ppc64le",
        systemd: "ppc64-le",
        elf: (EM_PPC64, AnyEndian::Little),
        lzma: (2, 2, 2),
    };
    pub const S390X: Self = Self {
        name: "s390x",
        systemd: "s390x",
        elf: (EM_S390, AnyEndian::Big),
        lzma: (3, 1, 1),
    };
    const ALL: [Self; 4] = [Self::X86_64, Self::AARCH64, Self::PPC64LE, Self::S390X];
}

/// Form in which the binary is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compression {
    /// A fifth smaller. RHCOS has xz from OpenShift 4.8 on, or earlier.
    Xz,
    /// Every RHCOS has gzip.
    Gzip,
}

/// A static binary, packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    pub arch: Arch,
    pub compression: Compression,
    /// The `.xz` or `.gz` file.
    pub packed: Vec<u8>,
    /// Size when unpacked, in bytes.
    pub unpacked: usize,
    /// SHA-256 of the program, in hexadecimal: what the node compares before anything runs it.
    pub digest: String,
}

impl Binary {
    /// Packs a program, which may be packed already. The result depends on the program alone: it
    /// has no name and no time.
    pub fn new(bytes: &[u8], compression: Compression) -> Result<Self, String> {
        let unpacked = unpack(bytes)?;
        let program = unpacked.as_deref().unwrap_or(bytes);
        if unpacked.is_some() && compression_of(program).is_some() {
            return Err("is packed twice; unpack it once".to_owned());
        }
        let arch = static_elf(program)?;
        if !program.windows(MARK.len()).any(|window| window == MARK) {
            return Err(NOT_OURS.to_owned());
        }
        let packed = match compression {
            Compression::Gzip => gzip::pack(program),
            // Never fails, because it writes to memory.
            Compression::Xz => xz(program, arch).map_err(|_| DAMAGED)?,
        };
        Ok(Self {
            arch,
            compression,
            packed,
            unpacked: program.len(),
            digest: hex(&Sha256::digest(program)),
        })
    }
}

fn compression_of(bytes: &[u8]) -> Option<Compression> {
    match bytes {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        _ => None,
    }
}

/// Unpacks a packed file; `None` if it is not packed.
fn unpack(bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let too_large = || format!("is packed, and has more than {MAX_BINARY} bytes unpacked");
    match compression_of(bytes) {
        None => Ok(None),
        Some(Compression::Gzip) => {
            gzip::unpack(bytes, MAX_BINARY)
                .map(Some)
                .map_err(|error| match error {
                    Unpack::Broken => DAMAGED.to_owned(),
                    Unpack::TooLarge => too_large(),
                })
        }
        Some(Compression::Xz) => {
            let mut program = vec![];
            let read = XzReader::new_mem_limit(bytes, false, MAX_MEMORY << 10)
                .take(MAX_BINARY + 1)
                .read_to_end(&mut program);
            read.map_err(|error| match error.kind() {
                ErrorKind::OutOfMemory => format!(
                    "is packed with xz, and takes more than {MAX_MEMORY} MiB of memory to unpack"
                ),
                _ => DAMAGED.to_owned(),
            })?;
            if program.len() as u64 > MAX_BINARY {
                Err(too_large())
            } else {
                Ok(Some(program))
            }
        }
    }
}

/// Packs a program so that xz 5.2 (RHEL 8 and 9) unpacks it. So of the branch filters only that for
/// x86_64 is used: the one for aarch64 came with 5.4.
///
/// Unpacking needs memory for the dictionary, so that is no larger than the program.
fn xz(program: &[u8], arch: Arch) -> std::io::Result<Vec<u8>> {
    let (lc, lp, pb) = arch.lzma;
    // The format only has sizes of 2^n and 3 * 2^n, and rounds up.
    let whole = u32::try_from(program.len()).unwrap_or(u32::MAX).max(4096);
    let power = 1 << whole.ilog2();
    let dict_size = if whole >= power / 2 * 3 {
        power / 2 * 3
    } else {
        power
    };
    let lzma_options = LzmaOptions {
        dict_size,
        lc,
        lp,
        pb,
        nice_len: LzmaOptions::NICE_LEN_MAX,
        depth_limit: 512,
        ..LzmaOptions::with_preset(9)
    };
    let mut options = XzOptions {
        lzma_options,
        check_type: CheckType::Crc32,
        ..XzOptions::default()
    };
    if arch == Arch::X86_64 {
        options.prepend_pre_filter(FilterType::BcjX86, 0);
    }
    let mut writer = XzWriter::new(vec![], options)?;
    writer.write_all(program)?;
    writer.finish()
}

/// The architecture of a static 64-bit ELF executable (elf(5)).
fn static_elf(bytes: &[u8]) -> Result<Arch, String> {
    let file = ElfBytes::<AnyEndian>::minimal_parse(bytes).map_err(|_| NOT_ELF)?;
    let (class, machine) = (file.ehdr.class, file.ehdr.e_machine);
    let arch = Arch::ALL
        .into_iter()
        .find(|arch| class == Class::ELF64 && arch.elf == (machine, file.ehdr.endianness));
    let ours = "skewguard is built for x86_64, aarch64, ppc64le and s390x";
    let arch = arch.ok_or_else(|| {
        format!("is a program for another machine (ELF machine {machine}); {ours}")
    })?;
    let segments = file
        .segments()
        .filter(|_| matches!(file.ehdr.e_type, ET_EXEC | ET_DYN))
        .ok_or(NOT_ELF)?;
    // Libraries have no interpreter, but need other libraries.
    let mut dynamic = file
        .dynamic()
        .map_err(|_| NOT_ELF)?
        .into_iter()
        .flat_map(|table| table.iter());
    if segments.iter().any(|segment| segment.p_type == PT_INTERP)
        || dynamic.any(|entry| entry.d_tag == DT_NEEDED)
    {
        return Err(format!(
            "is linked dynamically and would not start on every boot image; {EMBED_REMEDY}"
        ));
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
        elf.extend(MARK);
        elf
    }

    /// The same for IBM Z, whose numbers have their largest byte first.
    fn big_endian(machine: u16) -> Vec<u8> {
        let mut elf = program(machine, 1);
        elf[5] = 2;
        for field in [
            16..18,
            18..20,
            20..24,
            32..40,
            52..54,
            54..56,
            56..58,
            64..68,
        ] {
            elf[field].reverse();
        }
        elf
    }

    /// The output of xz 5.2, the one that RHEL 8 and 9 have.
    fn xz_5_2(file: &[u8]) -> Vec<u8> {
        let (mut back, mut decoder) = (
            vec![],
            xz2::stream::Stream::new_stream_decoder(4 << 20, 0).unwrap(),
        );
        back.reserve(4 << 20);
        assert_eq!(
            decoder
                .process_vec(file, &mut back, xz2::stream::Action::Finish)
                .unwrap(),
            xz2::stream::Status::StreamEnd
        );
        back
    }

    #[test]
    fn packs_a_static_program_of_every_architecture() {
        for (elf, arch) in [
            (program(62, 1), Arch::X86_64),
            (program(183, 1), Arch::AARCH64),
            (program(21, 1), Arch::PPC64LE),
            (big_endian(22), Arch::S390X),
        ] {
            let xz = Binary::new(&elf, Compression::Xz).unwrap();
            assert_eq!((xz.arch, xz.unpacked), (arch, elf.len()));
            assert_eq!(xz_5_2(&xz.packed), elf);
            let gzip = Binary::new(&elf, Compression::Gzip).unwrap();
            assert_eq!(gzip::unpack(&gzip.packed, MAX_BINARY).unwrap(), elf);
            // No modification time in the gzip header (RFC 1952, MTIME), so the same binary gives
            // the same object.
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
            // Block header: sizes and flags, the filter for branches (4), then LZMA2 (0x21) and the
            // bits of its dictionary's size.
            let [_, 1, 4, 0, 0x21, 1, bits, ..] = packed[12..] else {
                panic!("{:x?}", &packed[12..24])
            };
            let size = (2 | usize::from(bits) & 1) << (bits / 2 + 11);
            assert!(size <= length && size * 2 > length, "{size} of {length}");
            assert_eq!(xz_5_2(&packed), elf);
        }
    }

    #[test]
    fn refuses_what_would_not_run() {
        let refused = |bytes: &[u8]| Binary::new(bytes, Compression::Gzip).unwrap_err();
        assert_eq!(refused(b""), NOT_ELF);
        assert_eq!(refused(b"#!/bin/sh\n"), NOT_ELF);
        assert_eq!(refused(&program(62, 1)[..66]), NOT_ELF);
        assert_eq!(refused(&program(62, 1)[..120]), NOT_OURS);
        assert!(
            refused(&program(62, 3))
                .starts_with("is linked dynamically and would not start on every boot image; ")
        );
        assert_eq!(
            refused(&program(243, 1)),
            "is a program for another machine (ELF machine 243); skewguard is built for x86_64, aarch64, ppc64le and s390x"
        );
        assert!(
            refused(&big_endian(21)).contains("(ELF machine 21)"),
            "Power with its largest byte first"
        );
        let mut small = program(62, 1);
        small[4] = 1;
        let said = refused(&small);
        assert!(
            said == NOT_ELF || said.starts_with("is a program for another machine"),
            "of 32 bits: {said}"
        );
        let mut library = program(62, 2);
        (library[72], library[96]) = (120, 32);
        assert_eq!(
            refused(&library),
            NOT_ELF,
            "its dynamic section is not in it"
        );
        // A dynamic section of nought, and what makes it ours behind it.
        library.truncate(120);
        library.resize(120 + 32, 0);
        library.extend_from_slice(MARK);
        assert!(
            Binary::new(&library, Compression::Gzip).is_ok(),
            "one that needs nothing is static and position-independent"
        );
        library[120] = 1;
        assert!(refused(&library).starts_with("is linked dynamically"));
        let mut far = program(62, 1);
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(refused(&far), NOT_ELF);
    }

    #[test]
    fn refuses_what_is_damaged_packed_twice_or_a_bomb() {
        let refused = |bytes: &[u8]| Binary::new(bytes, Compression::Xz).unwrap_err();
        let elf = [program(62, 1), vec![9; 5000]].concat();
        for compression in [Compression::Xz, Compression::Gzip] {
            let packed = Binary::new(&elf, compression).unwrap().packed;
            assert_eq!(refused(&packed[..packed.len() - 20]), DAMAGED);
            let mut changed = packed.clone();
            changed[packed.len() / 2] ^= 0x10;
            assert_eq!(refused(&changed), DAMAGED, "{compression:?}");
            for again in [gzip::pack(&packed), xz(&packed, Arch::X86_64).unwrap()] {
                assert_eq!(refused(&again), "is packed twice; unpack it once");
            }
        }
        let zeros = vec![0; 33 << 20];
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&zeros).unwrap();
        assert_eq!(
            refused(&encoder.finish().unwrap()),
            "is packed, and has more than 33554432 bytes unpacked"
        );
        let mut encoder = xz2::write::XzEncoder::new(vec![], 0);
        encoder.write_all(&zeros).unwrap();
        assert_eq!(
            refused(&encoder.finish().unwrap()),
            "is packed, and has more than 33554432 bytes unpacked"
        );
        // A dictionary of 1 GiB in the block header, which has a checksum of its own.
        let mut greedy = xz(&elf, Arch::X86_64).unwrap();
        let end = 12 + (usize::from(greedy[12]) + 1) * 4 - 4;
        greedy[18] = 36;
        let mut sum = flate2::Crc::new();
        sum.update(&greedy[12..end]);
        greedy[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
        assert_eq!(
            refused(&greedy),
            "is packed with xz, and takes more than 64 MiB of memory to unpack"
        );
    }
}
