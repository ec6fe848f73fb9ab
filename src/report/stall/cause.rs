//! Why a first boot does not finish, by name: what the programs of a first boot print, in the
//! versions of RHEL 8 to 10 (pure).
//!
//! No line of a journal leaves the node, because it may hold a credential: only the row's own words
//! do. `tests/data/stall-lines.tsv` has the real lines, and where each was published.

use crate::text::string_enums;

string_enums! {
    /// Why a first boot does not finish.
    pub(crate) enum Cause {
        /// The rebase was staged, and the next boot is the old deployment.
        NotFinalized = "NotFinalized",
        SignatureMissing = "SignatureMissing",
        /// The signature policy refuses the image.
        PolicyRejects = "PolicyRejects",
        /// The node's podman does not understand the signature policy.
        PolicyUnreadable = "PolicyUnreadable",
        UnknownAuthority = "UnknownAuthority",
        CertificateExpired = "CertificateExpired",
        /// Most often the clock.
        NotYetValid = "NotYetValid",
        CertificateNameMismatch = "CertificateNameMismatch",
        /// The image exists, but not for this node's architecture.
        ArchitectureMissing = "ArchitectureMissing",
        ImageNotFound = "ImageNotFound",
        /// The API server refuses the bootstrap identity.
        BootstrapRefused = "BootstrapRefused",
        /// The kubelet's certificate request waits.
        CertificateNotSigned = "CertificateNotSigned",
        /// The registry refuses the pull secret.
        Unauthorized = "Unauthorized",
        TooManyRequests = "TooManyRequests",
        RegistryError = "RegistryError",
        NoSpace = "NoSpace",
        PackageConflict = "PackageConflict",
        KernelArgumentsFailed = "KernelArgumentsFailed",
        CPUUnsupported = "CPUUnsupported",
        ProgramMissing = "ProgramMissing",
        RuntimeConfigInvalid = "RuntimeConfigInvalid",
        OrderingCycle = "OrderingCycle",
        ProxyInvalid = "ProxyInvalid",
        NameNotResolved = "NameNotResolved",
        Unreachable = "Unreachable",
        RPMOSTreeUnavailable = "RPMOSTreeUnavailable",
        /// No row knows the line.
        Unknown = "Unknown",
    }
}

/// One cause.
struct Row {
    cause: Cause,
    /// What a line has to contain, in any case of its letters; `*` stands for anything.
    prints: &'static [&'static str],
    /// The cause, in one clause.
    sentence: &'static str,
    /// What to do, in whole sentences.
    remedy: &'static str,
}

/// If several rows know a line, the first one counts. A pull names every mirror and then the
/// source, which disconnected nodes never reach: so what says more comes before names and
/// connections.
const ROWS: &[Row] = &[
    Row {
        cause: Cause::NotFinalized,
        // What the next boot says of it (ostree-boot-complete.service).
        prints: &["ostree-finalize-staged.service failed on previous boot"],
        sentence: "the rebase was staged, but not finalized at the last shutdown, so the node still runs its old OS",
        remedy: "A full /boot and SELinux modules are known to do this. Make the machine anew, from a newer boot image if it happens again.",
    },
    Row {
        cause: Cause::SignatureMissing,
        prints: &["a signature was required, but no signature exists"],
        sentence: "the image has no signature where it is pulled from, and the policy wants one",
        remedy: "Mirror the signatures, too: oc-mirror v2 copies them. With a multi-arch release, a skopeo older than 1.22.2 in the boot image does not find them: use a newer boot image.",
    },
    Row {
        cause: Cause::PolicyRejects,
        prints: &["is rejected by policy"],
        sentence: "the node's signature policy refuses the image",
        remedy: "Look at /etc/containers/policy.json and at the cluster's ClusterImagePolicy objects.",
    },
    Row {
        cause: Cause::PolicyUnreadable,
        prints: &["invalid policy in "],
        sentence: "podman does not understand the signature policy in /etc/containers/policy.json",
        remedy: "Use a newer boot image: a podman older than 4.4.1 does not know sigstore's signatures.",
    },
    Row {
        cause: Cause::UnknownAuthority,
        prints: &["certificate signed by unknown authority"],
        sentence: "a server's certificate is signed by an authority that this node does not trust",
        remedy: "For a registry or a proxy, add its CA to the cluster (additionalTrustBundle, additionalTrustedCA). For the API server, the node's config is older than the CA: make the machine anew.",
    },
    Row {
        cause: Cause::CertificateExpired,
        prints: &["certificate has expired or is not yet valid*is after "],
        sentence: "a server's certificate has expired by this node's clock",
        remedy: "Compare the clock of the node with the real time; if it is right, renew the certificate of the registry or of the API server.",
    },
    Row {
        cause: Cause::NotYetValid,
        prints: &["certificate has expired or is not yet valid"],
        sentence: "a server's certificate is not valid by this node's clock",
        remedy: "Compare the clock of the node with the real time (timedatectl, chronyc sources), and correct it in the firmware or the hypervisor.",
    },
    Row {
        cause: Cause::CertificateNameMismatch,
        prints: &[
            "x509: certificate is valid for ",
            "x509: certificate relies on legacy common name field",
        ],
        sentence: "a server's certificate does not have the name by which the node reaches it",
        remedy: "Give the server a certificate with this name as its subject alternative name.",
    },
    Row {
        cause: Cause::ArchitectureMissing,
        prints: &[
            "no image found in manifest list for architecture",
            "no image found in image index for architecture",
        ],
        sentence: "the image does not exist for the architecture of this node",
        remedy: "Use a release for this architecture, or a multi-arch one, and mirror all of it.",
    },
    Row {
        cause: Cause::ImageNotFound,
        prints: &["manifest unknown", "name unknown"],
        sentence: "the registry or the mirror does not have the image",
        remedy: "Mirror the release that the cluster runs, and look at the ImageDigestMirrorSet objects.",
    },
    Row {
        cause: Cause::BootstrapRefused,
        prints: &[
            "cannot create certificate signing request: unauthorized",
            "certificatesigningrequests.certificates.k8s.io is forbidden",
        ],
        sentence: "the API server refuses the bootstrap credentials of this node",
        remedy: "The node's config is older than the credentials: make the machine anew, with the cluster's current user data.",
    },
    Row {
        cause: Cause::CertificateNotSigned,
        prints: &[
            "forbidden: user \"system:anonymous\" cannot",
            "certificate request was not signed",
        ],
        sentence: "the kubelet's certificate request is not approved and signed yet",
        remedy: "See whether it waits: oc get csr. Then: oc adm certificate approve NAME.",
    },
    Row {
        cause: Cause::Unauthorized,
        prints: &[
            "unauthorized: ",
            "authentication required",
            "invalid username/password",
            "access to the resource is denied",
        ],
        sentence: "the registry refuses the node's pull secret",
        remedy: "Check the cluster's pull secret (openshift-config/pull-secret) for this registry or mirror.",
    },
    Row {
        cause: Cause::TooManyRequests,
        prints: &["toomanyrequests: "],
        sentence: "the registry limits how often it is asked",
        remedy: "Use a mirror, or a pull secret with a higher limit.",
    },
    Row {
        cause: Cause::RegistryError,
        prints: &[
            "received unexpected http status: 5",
            "invalid status code from registry 5",
            "can't talk to a v1 container registry",
        ],
        sentence: "the registry, or a proxy before it, answers with an error of its own",
        remedy: "Look at the log of the registry or the proxy.",
    },
    Row {
        cause: Cause::NoSpace,
        prints: &["no space left on device"],
        sentence: "a file system of the node is full",
        remedy: "Give the machine a larger disk. /boot has the size that the boot image gave it: use a newer one.",
    },
    Row {
        cause: Cause::PackageConflict,
        prints: &[
            "could not depsolve transaction",
            "packages not found: ",
            "forbidden base package replacements",
        ],
        sentence: "rpm-ostree cannot install the packages that the config asks for",
        remedy: "Look at the extensions and the kernelType of the pool's MachineConfigs, and at packages that the boot image was given.",
    },
    Row {
        cause: Cause::KernelArgumentsFailed,
        prints: &[
            "error: no karg '",
            "error: no key '",
            "error: multiple values for key '",
            "cannot specify both --delete and --append",
        ],
        sentence: "rpm-ostree cannot set the kernel arguments that the config asks for",
        remedy: "Look at the kernelArguments of the pool's MachineConfigs.",
    },
    Row {
        cause: Cause::CPUUnsupported,
        prints: &["cpu does not support x86-64-v"],
        sentence: "the CPU of this machine is too old for the OS of the target release",
        remedy: "RHEL 9 needs x86-64-v2, RHEL 10 x86-64-v3: change the machine type, or the CPU model of the virtual machine.",
    },
    Row {
        cause: Cause::ProgramMissing,
        prints: &["failed at step exec spawning"],
        sentence: "a program that the unit starts is not in the OS that runs",
        remedy: "The OS is not the target release's. Look at the rebase: rpm-ostree status.",
    },
    Row {
        cause: Cause::RuntimeConfigInvalid,
        prints: &[
            "level=fatal*validating runtime config",
            "validating network config: ",
        ],
        sentence: "CRI-O does not start with its configuration",
        remedy: "Look at /etc/crio and at the ContainerRuntimeConfig objects.",
    },
    Row {
        cause: Cause::OrderingCycle,
        prints: &["deleted to break ordering cycle"],
        sentence: "systemd has left out a unit, because units wait for each other in a circle",
        remedy: "Use a newer boot image: 4.3 and 4.5 are known for this on vSphere.",
    },
    Row {
        cause: Cause::ProxyInvalid,
        prints: &["proxyconnect", "net/url: invalid userinfo"],
        sentence: "the proxy cannot be used: its URL is wrong, or it does not answer or refuses the node",
        remedy: "Look at the cluster's Proxy object (oc get proxy cluster -o yaml). In a password, special characters have to be percent-encoded.",
    },
    Row {
        cause: Cause::NameNotResolved,
        prints: &["no such host", "server misbehaving", "lookup *:53: "],
        sentence: "a host name cannot be resolved",
        remedy: "Check the DNS servers of the node, and that they know the registry, the mirror and api-int.",
    },
    Row {
        cause: Cause::Unreachable,
        prints: &[
            "connect: connection refused",
            "connect: no route to host",
            "connect: network is unreachable",
            "i/o timeout",
            "tls handshake timeout",
        ],
        sentence: "a server cannot be reached",
        remedy: "Check network, firewall and proxy between the node and the registry, the mirror or the API server.",
    },
    Row {
        cause: Cause::RPMOSTreeUnavailable,
        prints: &[
            "error: timeout was reached",
            "bus owner changed, aborting",
            "could not activate remote peer*startup job failed",
        ],
        sentence: "rpm-ostree's daemon does not start, does not answer in time, or has crashed",
        remedy: "Read its own journal: journalctl -b -u rpm-ostreed.",
    },
];

/// What the kubelet prints of its pods' probes, which say nothing about its own connections.
const PROBE: &str = " prober.go:";

/// What is said where no row knows a line.
const UNKNOWN: Row = Row {
    cause: Cause::Unknown,
    prints: &[],
    sentence: "skewguard does not recognize it",
    remedy: "Read what the unit says.",
};

impl Cause {
    fn row(self) -> &'static Row {
        let mut rows = ROWS.iter();
        rows.find(|row| row.cause == self).unwrap_or(&UNKNOWN)
    }

    /// The cause, in one clause.
    pub(super) fn sentence(self) -> &'static str {
        self.row().sentence
    }

    /// What to do, in whole sentences.
    pub(super) fn remedy(self) -> &'static str {
        self.row().remedy
    }

    /// The cause that a journal names: its newest line that a row knows.
    pub(crate) fn of(journal: &[u8]) -> Self {
        journal
            .rsplit(|byte| *byte == b'\n')
            .find_map(Self::read_line)
            .unwrap_or(Self::Unknown)
    }

    fn read_line(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line).to_ascii_lowercase();
        if line.contains(PROBE) {
            return None;
        }
        let knows = |row: &&Row| row.prints.iter().any(|pattern| contains(&line, pattern));
        ROWS.iter().find(knows).map(|row| row.cause)
    }
}

/// Whether the parts of the pattern are in the line, one after the other.
fn contains(line: &str, pattern: &str) -> bool {
    let mut rest = Some(line);
    for part in pattern.split('*') {
        rest = rest
            .and_then(|rest| rest.split_once(part))
            .map(|(_, after)| after);
    }
    rest.is_some()
}
