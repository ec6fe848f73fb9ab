//! The text of `--version`: which build this is, how it reaches the cluster, and which commit it
//! was made from.

/// Set by `dist/build`, from git or from the source archive.
const COMMIT: Option<&str> = option_env!("SKEWGUARD_COMMIT");

/// The build's name: `full` has TLS of its own, `embed` is the one that fits into a MachineConfig.
const BUILD: &str = if cfg!(feature = "tls") {
    "full"
} else {
    "embed"
};

const TRANSPORT: &str = if cfg!(feature = "tls") {
    "rustls (TLS 1.2 and 1.3); /usr/bin/curl on FIPS hosts"
} else {
    "/usr/bin/curl of the node"
};

/// `-V`.
pub(super) fn short() -> String {
    format!("skewguard {}\n", env!("CARGO_PKG_VERSION"))
}

/// `--version`.
pub(super) fn long() -> String {
    let libc = if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
        "static musl"
    } else {
        "linked to the system's libraries"
    };
    format!(
        "{}build: {BUILD}, {}, {libc}\ntransport: {TRANSPORT}\ncommit: {}\n",
        short(),
        std::env::consts::ARCH,
        COMMIT.unwrap_or("unknown"),
    )
}
