//! Which transport a host gets (pure).

/// What the choice rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostFacts {
    /// This build carries its own TLS (feature `tls`).
    pub tls_built: bool,
    /// The host runs in FIPS mode (`/proc/sys/crypto/fips_enabled` is 1): only the host's validated cryptography may be used.
    pub fips: bool,
    /// There is a curl to run.
    pub curl: bool,
}

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// reqwest and rustls, in this process.
    Tls,
    /// The host's curl, a process per request.
    Curl,
}

/// No transport fits this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTransport {
    /// FIPS mode, and no curl.
    #[error("this host is in FIPS mode, where only its own curl may be used, and there is no {}", CURL)]
    Fips,
    /// No TLS of our own, and no curl.
    #[error("this build of skewguard reports through the host's curl, and there is no {}", CURL)]
    NothingBuilt,
}

/// Where every RHCOS has it.
pub const CURL: &str = "/usr/bin/curl";

/// Our own TLS unless the host is in FIPS mode or the build has none; then curl.
///
/// # Errors
/// Curl is needed and missing.
pub fn choose(facts: HostFacts) -> Result<Choice, NoTransport> {
    match facts {
        HostFacts { tls_built: true, fips: false, .. } => Ok(Choice::Tls),
        HostFacts { curl: true, .. } => Ok(Choice::Curl),
        HostFacts { fips: true, .. } => Err(NoTransport::Fips),
        HostFacts { .. } => Err(NoTransport::NothingBuilt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host() {
        let table = [
            ((true, false, true), Ok(Choice::Tls)),
            ((true, false, false), Ok(Choice::Tls)),
            ((true, true, true), Ok(Choice::Curl)),
            ((true, true, false), Err(NoTransport::Fips)),
            ((false, false, true), Ok(Choice::Curl)),
            ((false, false, false), Err(NoTransport::NothingBuilt)),
            ((false, true, true), Ok(Choice::Curl)),
            ((false, true, false), Err(NoTransport::Fips)),
        ];
        for ((tls_built, fips, curl), want) in table {
            assert_eq!(choose(HostFacts { tls_built, fips, curl }), want, "tls built {tls_built}, FIPS {fips}, curl {curl}");
        }
    }
}
