//! Levels of CPUs, which releases of RHEL are compiled for (pure).

/// Architectures as `uname -m` names them, and the names of their levels, the lowest first. x86_64:
/// the x86-64 psABI's "Micro-Architecture Levels". The others are named as GCC's `-mcpu=` and
/// `-march=` name them. aarch64 has none: RHEL takes every one.
const LEVELS: [(&str, &[&str]); 3] = [
    (
        "x86_64",
        &["x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"],
    ),
    ("ppc64le", &["power8", "power9", "power10", "power11"]),
    ("s390x", &["z13", "z14", "z15", "z16", "z17"]),
];

/// Rank of a level among those of its architecture; `None` where either is not known.
pub fn cpu_rank(architecture: &str, level: &str) -> Option<usize> {
    cpu_levels(architecture)?
        .iter()
        .position(|known| *known == level)
}

/// The levels of an architecture, the lowest first.
pub fn cpu_levels(architecture: &str) -> Option<&'static [&'static str]> {
    let (_, levels) = LEVELS.iter().find(|(name, _)| *name == architecture)?;
    Some(levels)
}
