//! The agent's binary as it is delivered: checked, and packed (pure).

use crate::gzip;

/// Largest binary that is read, in bytes; the full build has about 3 MB.
pub const MAX_BINARY: u64 = 32 << 20;

/// An architecture that OpenShift nodes have and skewguard is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// x86_64.
    X86_64,
    /// aarch64.
    Aarch64,
}

impl Arch {
    /// As `uname -m` names it.
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
        }
    }

    /// As `ConditionArchitecture=` names it (systemd.unit(5)).
    pub fn systemd(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86-64",
            Arch::Aarch64 => "arm64",
        }
    }
}

/// Why a file is not a binary that can be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// Not an ELF executable, nor one packed with gzip.
    #[error("is not a program (64-bit ELF, or that packed with gzip); give what `dist/build` made, target/dist/skewguard-embed")]
    NotElf,
    /// For a machine that is not supported.
    #[error("is a program for another machine (ELF machine {0}); skewguard is built for x86_64 and aarch64")]
    Machine(u16),
    /// Needs a loader or libraries of the node.
    #[error("is linked dynamically and would not start on every boot image; give what `dist/build` made, target/dist/skewguard-embed")]
    Dynamic,
    /// The packed form is broken or larger than [`MAX_BINARY`].
    #[error("is a gzip file that cannot be unpacked, or of more than {MAX_BINARY} bytes")]
    Gzip,
}

/// A static binary, packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// What it runs on.
    pub arch: Arch,
    /// The `.gz` file.
    pub gz: Vec<u8>,
    /// Size when unpacked, in bytes.
    pub unpacked: usize,
}

impl Binary {
    /// Takes the bytes of a program, or of one packed with gzip. The result depends on them only: no name, no time of day.
    pub fn new(bytes: &[u8]) -> Result<Self, BinaryError> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let program = gzip::unpack(bytes, MAX_BINARY).map_err(|_| BinaryError::Gzip)?;
            return Ok(Self { arch: static_elf(&program)?, gz: bytes.to_vec(), unpacked: program.len() });
        }
        Ok(Self { arch: static_elf(bytes)?, gz: gzip::pack(bytes), unpacked: bytes.len() })
    }
}

/// The architecture of a static 64-bit little-endian ELF executable (elf(5)).
fn static_elf(bytes: &[u8]) -> Result<Arch, BinaryError> {
    const PT_DYNAMIC: u32 = 2;
    const PT_INTERP: u32 = 3;
    let u16_at = |at: usize| bytes.get(at..at.checked_add(2)?)?.try_into().ok().map(u16::from_le_bytes);
    let u32_at = |at: usize| bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes);
    let u64_at = |at: usize| bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes);
    if !bytes.starts_with(b"\x7fELF\x02\x01\x01") {
        return Err(BinaryError::NotElf);
    }
    let (Some(kind), Some(machine), Some(table), Some(size), Some(count)) = (u16_at(16), u16_at(18), u64_at(32), u16_at(54), u16_at(56))
    else {
        return Err(BinaryError::NotElf);
    };
    let arch = match machine {
        62 => Arch::X86_64,
        183 => Arch::Aarch64,
        other => return Err(BinaryError::Machine(other)),
    };
    // Executable, or position-independent executable.
    if !matches!(kind, 2 | 3) || count == 0 {
        return Err(BinaryError::NotElf);
    }
    for n in 0..count {
        let at = usize::try_from(table).ok().and_then(|table| table.checked_add(usize::from(n) * usize::from(size)));
        let at = at.ok_or(BinaryError::NotElf)?;
        match u32_at(at).ok_or(BinaryError::NotElf)? {
            PT_INTERP => return Err(BinaryError::Dynamic),
            // A library has no interpreter, but needs others like it.
            PT_DYNAMIC => {
                let (Some(offset), Some(length)) = (u64_at(at.saturating_add(8)), u64_at(at.saturating_add(32))) else {
                    return Err(BinaryError::NotElf);
                };
                if needs_libraries(bytes, offset, length).ok_or(BinaryError::NotElf)? {
                    return Err(BinaryError::Dynamic);
                }
            }
            _ => {}
        }
    }
    Ok(arch)
}

/// Whether a dynamic section names a library; `None` where it is not in the file.
fn needs_libraries(bytes: &[u8], offset: u64, length: u64) -> Option<bool> {
    const DT_NEEDED: [u8; 8] = 1_u64.to_le_bytes();
    let start = usize::try_from(offset).ok()?;
    let section = bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)?;
    Some(section.chunks_exact(16).any(|entry| entry.starts_with(&DT_NEEDED)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::GzDecoder;
    use flate2::write::GzEncoder;
    use std::io::{Read as _, Write as _};

    /// The smallest file that counts as a static program: a header and one loadable segment.
    pub(crate) fn program(machine: u16, segment: u32) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64 + 56, 0);
        elf[16] = 3;
        elf[18..20].copy_from_slice(&machine.to_le_bytes());
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = 1;
        elf[64..68].copy_from_slice(&segment.to_le_bytes());
        elf
    }

    #[test]
    fn packs_a_static_program_and_keeps_a_packed_one() {
        let elf = program(62, 1);
        let binary = Binary::new(&elf).unwrap();
        assert_eq!((binary.arch, binary.unpacked), (Arch::X86_64, elf.len()));
        let mut back = Vec::new();
        GzDecoder::new(&binary.gz[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, elf);
        // No modification time in the gzip header (RFC 1952, MTIME), so the same binary gives the same object.
        assert_eq!(binary.gz[4..8], [0; 4]);
        assert_eq!(Binary::new(&binary.gz).unwrap(), binary);
        assert_eq!(Binary::new(&program(183, 1)).unwrap().arch, Arch::Aarch64);
    }

    #[test]
    fn refuses_what_would_not_run() {
        assert_eq!(Binary::new(b""), Err(BinaryError::NotElf));
        assert_eq!(Binary::new(b"#!/bin/sh\n"), Err(BinaryError::NotElf));
        assert_eq!(Binary::new(&program(62, 1)[..66]), Err(BinaryError::NotElf));
        assert_eq!(Binary::new(&program(62, 3)), Err(BinaryError::Dynamic));
        assert_eq!(Binary::new(&program(21, 1)), Err(BinaryError::Machine(21)));
        assert_eq!(Binary::new(b"\x1f\x8bnonsense"), Err(BinaryError::Gzip));
        let mut library = program(62, 2);
        (library[72], library[96]) = (120, 32);
        assert_eq!(Binary::new(&library), Err(BinaryError::NotElf), "its dynamic section is not in it");
        library.resize(120 + 32, 0);
        assert!(Binary::new(&library).is_ok(), "one that needs nothing is static and position-independent");
        library[120 + 16] = 1;
        assert_eq!(Binary::new(&library), Err(BinaryError::Dynamic));
        let mut far = program(62, 1);
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(Binary::new(&far), Err(BinaryError::NotElf));
    }

    #[test]
    fn refuses_a_gzip_bomb() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        for _ in 0..33 {
            encoder.write_all(&vec![0; 1 << 20]).unwrap();
        }
        assert_eq!(Binary::new(&encoder.finish().unwrap()), Err(BinaryError::Gzip));
    }
}
