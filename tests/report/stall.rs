//! A first boot that does not finish: what it waits for, in which words, and when it is told.

use crate::inside::report::sample;
use crate::inside::report::stage::{Cluster, Log, Node, status};
use crate::node::LostRebase;
use crate::node::units::KUBELET;
use crate::report::run::{End, run};
use crate::report::stall::{
    Finding, Phase, Rebase, Unit, Units, Waiting, beside, to_ask, waits_for,
};
use crate::verdict::{Action, GateStatus, Outcome, Verdict};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

const MINUTE: Duration = Duration::from_secs(60);

const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

const ENCAPSULATED: &str = "/etc/ignition-machine-config-encapsulated.json";

/// Cause, source and line of what programs print on a first boot that does not finish.
fn messages() -> Vec<[String; 3]> {
    let text = std::fs::read_to_string("tests/data/stall-lines.tsv").unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = |line: &str| line.splitn(3, '\t').map(str::to_owned).collect::<Vec<_>>();
    lines.map(|line| fields(line).try_into().unwrap()).collect()
}

/// The cause that a journal names, of whatever unit.
fn cause(journal: &[u8]) -> String {
    Finding::read(journal, Phase::Other).cause.to_string()
}

#[test]
fn a_line_of_a_real_program_has_its_cause() {
    for [wanted, source, message] in messages() {
        assert!(source.starts_with("https://github.com/"), "{source}");
        assert_eq!(cause(message.as_bytes()), wanted, "{message}");
    }
}

/// Every line of every cause, in every phase: it is that cause, or none. After the rebase nothing
/// that is told names the boot image, and no cause of it counts.
#[test]
fn a_cause_counts_in_its_phases_alone() {
    let table = include_str!("../../src/report/stall/causes.txt");
    let heads = table.split("\n\n").map(|one| one.lines().next().unwrap());
    let phases: BTreeMap<&str, &str> = heads.filter_map(|head| head.split_once(": ")).collect();
    for [wanted, _, message] in messages() {
        for phase in [Phase::Pull, Phase::Rebase, Phase::Join] {
            let found = Finding::read(message.as_bytes(), phase).cause;
            let counts = phases
                .get(wanted.as_str())
                .is_some_and(|of| of.split(' ').any(|one| one == phase.as_str()));
            if counts {
                assert_eq!(found.as_str(), wanted, "{phase:?}: {message}");
            }
            if phase == Phase::Join {
                let told = [found.sentence(), found.remedy(phase)].join(" ");
                // Whose file system a newer OS made is the one cause that stays.
                let is_of_image = told.to_lowercase().contains("boot image");
                let says_no = told.contains("no boot image is the cause");
                let stays = found.as_str() == "FileSystemTooNew";
                assert!(!is_of_image || says_no || stays, "{told}: {message}");
            }
        }
    }
}

/// `tests/data/cases/journal`, after public reports: the phase, and what is wanted.
#[test]
fn journals_of_the_field_have_their_cause() {
    for (name, phase, wanted) in [
        (
            "3-kubelet-reserved-cpus",
            Phase::Join,
            "KubeletConfigInvalid",
        ),
        ("3-kubelet-waits", Phase::Join, "Unknown"),
        ("3-ovs", Phase::Join, "NetworkNotConfigured"),
        ("3-resolv-prepender", Phase::Join, "ResolvConfNotWritten"),
        ("3-crio-address", Phase::Join, "RuntimeAddressInvalid"),
        ("3-metadata-timeout", Phase::Join, "MetadataUnavailable"),
        ("3-metadata-timeout", Phase::Other, "MetadataUnavailable"),
        ("3-metadata-provider", Phase::Other, "MetadataUnavailable"),
        ("3-no-repositories", Phase::Rebase, "PackageConflict"),
        ("3-boot-loader-then-rebase", Phase::Rebase, "UnderWay"),
        ("3-finalize-timed-out", Phase::Rebase, "NotFinalized"),
    ] {
        let journal = std::fs::read(format!("tests/data/cases/journal/{name}.txt")).unwrap();
        let found = Finding::read(&journal, phase);
        assert_eq!(found.cause.as_str(), wanted, "{name}");
    }
}

/// A unit's journal with a failure, once or again and again, and then what `now` says.
fn journal_of(failure: &str, times: usize, now: &str) -> String {
    let unit = "machine-config-daemon-firstboot.service";
    let line = |unit: &str, text: &str| format!("Sep 23 08:00:01 w {unit}[1]: {text}\n");
    let lines = |text: &str| {
        text.lines()
            .map(|text| line(unit, text))
            .collect::<String>()
    };
    let start = line("init.scope", "Starting Machine Config Daemon Firstboot...");
    let ends = format!("{unit}: Failed with result 'exit-code'.");
    let failed = start.clone() + &lines(failure) + &line("init.scope", &ends);
    failed.repeat(times) + &start + &lines(now)
}

/// A failure of a process that has ended is over while another one is at work, unless it came
/// twice.
#[test]
fn a_new_start_ends_what_an_old_one_said() {
    let rebases = "I0923 08:05:05.2 1912 rpm-ostree.go:190] Executing rebase to quay.io/a\nPulling manifest: a";
    let kubelet = "I0611 09:20:15.7 9575 server.go:895] \"Client rotation is on, will bootstrap in background\"";
    for (phase, failure, now, wanted) in [
        (
            Phase::Rebase,
            "Error: unknown command \"firstboot-complete-machineconfig\" for \"machine-config-daemon\"",
            rebases,
            "BootImageToolTooOld",
        ),
        (
            Phase::Rebase,
            "I0923 08:00:05.2 1712 rpm-ostree.go:190] Executing rebase to quay.io/a\nerror: Installing kernel: regfile copy: No space left on device",
            rebases,
            "NoSpace",
        ),
        (
            Phase::Join,
            "E0611 09:00:15.7 2575 run.go:72] \"command failed\" err=\"failed to run Kubelet: invalid CPUs \\\"9-15\\\" specified by --reserved-cpus\"",
            kubelet,
            "KubeletConfigInvalid",
        ),
    ] {
        let read = |times, now| Finding::read(journal_of(failure, times, now).as_bytes(), phase);
        assert_eq!(read(1, now).cause.as_str(), "UnderWay", "{failure}");
        assert_eq!(read(2, now).cause.as_str(), wanted, "{failure}");
        assert_eq!(read(1, failure).cause.as_str(), wanted, "{failure}");
        let again = "kubelet.service: Scheduled restart job, restart counter is at 212.";
        let restarts = read(0, &format!("{failure}\n{again}"));
        assert_eq!(restarts.cause.as_str(), wanted, "{failure}");
    }
}

const ANONYMOUS: &str = "E0923 08:00:15.7 2575 reflector.go:158] \"Unhandled Error\" err=\"Failed to watch *v1.Service: failed to list *v1.Service: services is forbidden: User \\\"system:anonymous\\\" cannot list resource \\\"services\\\"\"";
const NO_NODE: &str = "E0923 08:00:15.9 2575 kubelet_node_status.go:497] \"Error getting the current node from lister\" err=\"node \\\"w7\\\" not found\"";

/// Informers without a certificate ask anonymously many times between two words of the certificate
/// manager.
#[test]
fn the_certificate_manager_outweighs_anonymous_answers() {
    let manager = |says: &str| {
        format!(
            "E0923 08:00:15.7 2575 certificate_manager.go:562] \"Unhandled Error\" err=\"{says}\""
        )
    };
    let asks = "Failed while requesting a signed certificate from the control plane: cannot create certificate signing request: ";
    let forbidden = "certificatesigningrequests.certificates.k8s.io is forbidden: User \\\"system:serviceaccount:openshift-machine-config-operator:node-bootstrapper\\\" cannot create resource";
    let watch = "certificate request was not signed: ";
    for (says, wanted) in [
        (format!("{asks}{forbidden}"), "BootstrapRefused"),
        (format!("{asks}Unauthorized"), "BootstrapRefused"),
        (
            format!(
                "{watch}cannot watch on the certificate signing request: certificate signing request is denied, reason: NodeCSRApprove"
            ),
            "CertificateDenied",
        ),
        (
            format!("{asks}admission webhook \\\"csr.example.com\\\" denied the request"),
            "CertificateNotRequested",
        ),
        (
            format!("{watch}timed out waiting for the condition"),
            "CertificateNotSigned",
        ),
        ("x".to_owned(), "CertificateNotSigned"),
    ] {
        let said = manager(&says);
        let lines = [
            "Started Kubernetes Kubelet.",
            &said,
            ANONYMOUS,
            ANONYMOUS,
            NO_NODE,
        ];
        let found = Finding::read(lines.join("\n").as_bytes(), Phase::Join);
        assert_eq!(found.cause.as_str(), wanted, "{says}");
    }
}

/// A try that failed is over once the next one has come further; a warning about a local socket is
/// no failure.
#[test]
fn what_was_tried_again_and_went_well_decides_nothing() {
    let retries = r#"time="2026-09-23T08:00:13Z" level=warning msg="Failed, retrying in 1s ... (1/3). Error: initializing source docker://a: lookup quay.io on 10.0.0.2:53: server misbehaving""#;
    let socket = r#"W0923 08:00:15.7 2575 logging.go:55] [core] [Channel #1 SubChannel #2]grpc: addrConn.createTransport failed to connect to {Addr: "/x.sock"}. Err: connection error: desc = "transport: Error while dialing: dial unix /x.sock: connect: connection refused""#;
    let socket_opens = "W0923 08:00:15.7 2575 logging.go:55] [core] [Channel #1 SubChannel #2]grpc: addrConn.createTransport failed to connect to {";
    let socket_ends = r#"}. Err: connection error: desc = "transport: Error while dialing: dial unix /x.sock: connect: connection refused""#;
    let fetch = "http://metadata.google.internal/computeMetadata/v1/instance/hostname";
    let fetching =
        |attempt| format!("Sep 23 08:00:01.001 INFO Fetching {fetch}: Attempt #{attempt}");
    let not_fetched = format!(
        "Sep 23 08:00:01.101 INFO Failed to fetch: error sending request for url ({fetch}): error trying to connect: dns error: failed to lookup address information: Temporary failure in name resolution"
    );
    let up = |attempt| format!("Attempt {attempt} to bring up connection enp0s4-slave-ovs-clone");
    let not_up = "Error: Connection activation failed: Unknown reason";
    let is_up = "Connection successfully activated (D-Bus active path: /org/freedesktop/NetworkManager/ActiveConnection/198)";
    let pulls = ["Trying to pull a...", retries];
    let copies = ["Getting image source signatures", "Copying blob sha256:1"];
    let fetched = "Sep 23 08:00:02.301 INFO Fetch successful";
    for (phase, lines, wanted) in [
        (Phase::Pull, [&pulls[..], &copies].concat(), "UnderWay"),
        (Phase::Pull, pulls.to_vec(), "NameNotResolved"),
        (Phase::Join, vec!["Started a.", socket, NO_NODE], "Unknown"),
        (
            Phase::Join,
            vec![&up(1), not_up, "+ sleep 5", &up(2), is_up],
            "UnderWay",
        ),
        (
            Phase::Join,
            vec![&up(1), not_up, &up(2), not_up, &up(3)],
            "NetworkNotConfigured",
        ),
        (
            Phase::Join,
            vec![&fetching(1), &not_fetched, &fetching(2), fetched],
            "UnderWay",
        ),
        (
            Phase::Join,
            vec![&fetching(1), &not_fetched],
            "MetadataUnavailable",
        ),
        (
            Phase::Join,
            vec![
                "    0: fetching metadata from provider",
                "    1: failed to fetch",
                "    2: tcp connect error",
                "    3: No route to host (os error 113)",
            ],
            "MetadataUnavailable",
        ),
        (
            Phase::Rebase,
            vec![
                "error: Importing: unexpected EOF",
                "Pulling manifest: a",
                "ostree chunk layers stored: 12 needed: 39 (0.8 GB)",
                "[12/52] Fetching ostree chunk sha256:aa (20.1 MB)...",
            ],
            "UnderWay",
        ),
        (
            Phase::Join,
            vec![
                "Started a.",
                socket_opens,
                "  \"Addr\": \"/x.sock\"",
                socket_ends,
                NO_NODE,
            ],
            "Unknown",
        ),
    ] {
        let found = Finding::read(lines.join("\n").as_bytes(), phase);
        assert_eq!(found.cause.as_str(), wanted, "{lines:?}");
    }
}

/// What a journal does not name is told by what systemd says of the unit.
#[test]
fn where_nothing_failed_it_says_what_it_waits_for() {
    let read = |name: &str, phase| {
        let journal = std::fs::read(format!("tests/data/cases/journal/{name}.txt")).unwrap();
        Finding::read(&journal, phase)
    };
    let slow = Finding::read(b"Trying to pull a...\nCopying blob 1\n", Phase::Pull);
    let (waits, rebases) = (
        read("3-kubelet-waits", Phase::Join),
        read("3-boot-loader-then-rebase", Phase::Rebase),
    );
    let reserved = read("3-kubelet-reserved-cpus", Phase::Join);
    for (found, phase, id, state, wanted) in [
        (waits, Phase::Join, KUBELET, RUNS, "NoCertificateYet"),
        (
            Finding::NOTHING,
            Phase::Join,
            KUBELET,
            RUNS,
            "NoCertificateYet",
        ),
        (
            waits,
            Phase::Join,
            KUBELET,
            ("activating", "auto-restart"),
            "Unknown",
        ),
        (reserved, Phase::Join, KUBELET, RUNS, "KubeletConfigInvalid"),
        (rebases, Phase::Rebase, FIRSTBOOT, WORKS, "UnderWay"),
        (slow, Phase::Pull, PULL, WORKS, "UnderWay"),
        (slow, Phase::Pull, PULL, ("failed", "failed"), "Unknown"),
        (Finding::NOTHING, Phase::Pull, PULL, WORKS, "Unknown"),
    ] {
        let waiting = Waiting {
            phase,
            unit: Some(Unit {
                id: id.to_owned(),
                active: state.0.to_owned(),
                sub: state.1.to_owned(),
                ..Unit::default()
            }),
            cause: None,
        };
        assert_eq!(
            waiting.settle(found).cause.as_str(),
            wanted,
            "{id} {state:?}"
        );
    }
}

/// klog's `W` of every kubelet, after which it waits for its Node.
#[test]
fn a_warning_is_no_cause_in_any_phase() {
    let warning =
        b"W0611 09:00:15.602512    2575 feature_gate.go:330] unrecognized feature gate: GatewayAPI";
    for phase in [Phase::Other, Phase::Pull, Phase::Rebase, Phase::Join] {
        assert_eq!(Finding::read(warning, phase).cause.as_str(), "Unknown");
    }
}

/// `tests/data/cases/journal`: a question mark follows a name that was proposed.
#[test]
fn a_line_of_the_field_has_the_cause_that_was_asked_for() {
    let lines = include_str!("../data/cases/journal/lines.tsv");
    for line in lines.lines().filter(|line| !line.starts_with('#')) {
        let [wanted, _, line] = line.splitn(3, '\t').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(
            cause(line.as_bytes()),
            wanted.trim_end_matches('?'),
            "{line}"
        );
    }
}

#[test]
fn a_line_of_the_field_that_had_no_cause_has_one() {
    let lines = include_str!("../data/cases/journal/lines-2.tsv").lines();
    let lines = lines.map(|line| line.split_once('\t').unwrap().1);
    let causes: Vec<String> = lines.map(|line| cause(line.as_bytes())).collect();
    let wanted = [
        "SkopeoFailed",
        "RPMOSTreeUnavailable",
        "RPMOSTreeUnavailable",
        "RuntimeConfigInvalid",
        "RuntimeConfigInvalid",
        "MetadataNotWritten",
        "SysrootInvalid",
        "RemountFailed",
        "Unreachable",
        "KubeletStatisticsMissing",
    ];
    assert_eq!(causes, wanted);
}

/// No cause and no pattern without a real line, and none without a word in the documentation.
#[test]
fn every_row_of_the_table_is_shown_by_a_real_line() {
    let table = include_str!("../../src/report/stall/causes.txt");
    let docs = include_str!("../../docs/did-not-join.md");
    let messages = messages();
    let causes: BTreeSet<&str> = messages.iter().map(|[cause, ..]| cause.as_str()).collect();
    let mut found = BTreeSet::new();
    for paragraph in table.trim_end().split("\n\n") {
        let mut lines = paragraph.lines();
        let head = lines.next().unwrap();
        let cause = head.split(": ").next().unwrap();
        assert!(docs.contains(&format!("`{cause}`")), "{cause}");
        if found.insert(cause) {
            let words = [lines.next().unwrap(), lines.next().unwrap()];
            assert!(
                words[0].starts_with(|c: char| !c.is_whitespace()),
                "{cause}"
            );
            assert!(words[1].ends_with('.'), "{cause}");
        }
        let mut lines = lines.peekable();
        if let Some(own) = lines.next_if(|line| !line.starts_with('\t')) {
            let (phase, _) = own.split_once(": ").unwrap();
            assert!(["Join", "Rebase"].contains(&phase), "{cause}");
            assert!(own.ends_with('.') && head.contains(phase), "{cause}");
        }
        for pattern in lines {
            let pattern = pattern.strip_prefix('\t').unwrap();
            assert_eq!(pattern, pattern.to_lowercase());
            let is_shown = messages.iter().any(|[of, _, line]| {
                let line = format!(" {}", line.to_lowercase());
                let mut parts = pattern.split('*');
                of == cause && parts.all(|part| line.contains(part))
            });
            assert!(is_shown, "no line of {cause} has {pattern:?}");
        }
    }
    // By files and by systemd, not by a line.
    for cause in ["NotBooted", "NoCertificateYet"] {
        assert!(found.remove(cause), "{cause}");
    }
    assert_eq!(found, causes);
}

#[test]
fn the_newest_line_that_is_known_has_the_cause() {
    let journal = b"x: no such host\nunauthorized: authentication required\nTrying to pull\n\n";
    assert_eq!(cause(journal), "Unauthorized");
    assert_eq!(cause(b""), "Unknown");
    assert_eq!(cause(b"\n\n"), "Unknown");
    assert_eq!(cause(b"\n\xff\xfe\x00\n"), "UnderWay");
    // A byte that is not UTF-8, in the line and elsewhere.
    assert_eq!(
        cause(b"\xff\nError: \xff No space left on device\n\xc3"),
        "NoSpace"
    );
    let long = [b"lookup a: no such host".to_vec(), vec![b'x'; 1 << 20]].concat();
    assert_eq!(cause(&long), "NameNotResolved");
}

const WRAPPED: &str = "W0711 05:41:03.1 1712 firstboot_complete_machineconfig.go:65] error: failed to update OS to quay.io/a : exit status 1";
const SLEEPS: &str =
    "I0711 05:41:03.2 1712 firstboot_complete_machineconfig.go:66] Sleeping 1 minute for retry";
const RUNS_REBASE: &str = "I0711 05:41:02.1 1712 update.go:2371] Running: rpm-ostree rebase a";
const NO_HOST: &str =
    "error: Preparing import: dial tcp: lookup quay.io on 10.0.0.2:53: no such host";
const NEW: &str = "error: Preparing import: the moon is full";

#[test]
fn only_the_last_attempt_counts() {
    let stale = include_bytes!("../data/cases/journal/stale.txt");
    assert_eq!(cause(stale), "SysrootReadOnly");
    // The same with words that nobody knows.
    let stale = String::from_utf8_lossy(stale).replace("Remounting /sysroot", "Renaming /sysroot");
    assert_eq!(cause(stale.as_bytes()), "Unknown");

    let known = [RUNS_REBASE, NO_HOST, WRAPPED, SLEEPS];
    let unknown = [RUNS_REBASE, NEW, WRAPPED, SLEEPS];
    let silent = [RUNS_REBASE, WRAPPED, SLEEPS];
    for (lines, wanted, what) in [
        (
            vec![&known[..]],
            "NameNotResolved",
            "the wrapper says nothing",
        ),
        (
            vec![&unknown[..], &known],
            "NameNotResolved",
            "the newer is known",
        ),
        (
            vec![&known[..], &unknown],
            "Unknown",
            "the newer is not known",
        ),
        (
            vec![&known[..], &silent],
            "Unknown",
            "the newer says nothing",
        ),
        (
            vec![&known[..], &[RUNS_REBASE, "Pulling manifest: a"]],
            "UnderWay",
            "the next attempt goes on",
        ),
        (
            vec![&unknown[..], &[RUNS_REBASE, "Pulling manifest: a"]],
            "UnderWay",
            "the same after words that nobody knows",
        ),
        (
            vec![&known[..], &known, &[RUNS_REBASE, "Pulling manifest: a"]],
            "NameNotResolved",
            "the two before it failed alike",
        ),
        (
            vec![&unknown[..], &unknown, &[RUNS_REBASE]],
            "Unknown",
            "the same after words that nobody knows",
        ),
        (
            vec![&unknown[..], &known, &[RUNS_REBASE]],
            "UnderWay",
            "the two before it failed each in its way",
        ),
        (
            vec![
                &known[..],
                &[RUNS_REBASE, "ostree chunk layers needed: 51 (600 MB)"],
            ],
            "UnderWay",
            "the next attempt has come further",
        ),
        (
            vec![&known[..], &[RUNS_REBASE, NEW]],
            "Unknown",
            "it has failed before it sleeps",
        ),
        (
            vec![
                &[
                    RUNS_REBASE,
                    NO_HOST,
                    "] Running: rpm-ostree cleanup -p",
                    WRAPPED,
                    SLEEPS,
                ][..],
            ],
            "NameNotResolved",
            "cleaning up goes well",
        ),
        (
            vec![&["Error: x: no such host", "Error: the moon is full"][..]],
            "Unknown",
            "podman, again and again",
        ),
        (
            vec![
                &[
                    "Error: x: no such host",
                    "ERRO[0000] a: layer not known",
                    "Error: new",
                ][..],
            ],
            "StorageCorrupted",
            "two lines of one podman",
        ),
        (
            vec![
                &[
                    "Trying to pull a...",
                    "Error: x: no such host",
                    "Trying to pull a...",
                    "Copying blob 1",
                ][..],
            ],
            "UnderWay",
            "a slow pull",
        ),
        (
            vec![
                &[
                    "E1 x: no such host",
                    "kubelet.service: Scheduled restart job, restart counter is at 2.",
                    "E1 error: new",
                ][..],
            ],
            "Unknown",
            "a kubelet that was started again",
        ),
    ] {
        assert_eq!(
            cause(lines.concat().join("\n").as_bytes()),
            wanted,
            "{what}"
        );
    }
}

/// A dependency that failed is explained by what failed before it, and by nothing else.
#[test]
fn a_failed_dependency_is_explained_by_its_mount() {
    let running = "I0711 05:41:02.1 1712 update.go:2371] Running: rpm-ostree cleanup -p";
    let mount = "boot.mount: Mount process exited, code=exited, status=32/n/a";
    let checked = "/dev/vda3 has unsupported feature(s): FEATURE_C12";
    let boot = "Dependency failed for CoreOS Dynamic Mount for /boot.";
    let daemon = "Dependency failed for rpm-ostree System Management Daemon.";
    let client =
        "A dependency job for rpm-ostreed.service failed. See 'journalctl -xe' for details.";
    for (lines, wanted) in [
        (&[running, daemon, client][..], "RPMOSTreeUnavailable"),
        (&[running, mount, daemon, client], "BootNotMounted"),
        (&[running, boot, daemon, client], "BootNotMounted"),
        (&[running, checked, boot, daemon], "FileSystemTooNew"),
        (&[running, NO_HOST, daemon, client], "RPMOSTreeUnavailable"),
        (
            &[running, mount, SLEEPS, running, daemon],
            "RPMOSTreeUnavailable",
        ),
        (
            &[
                running,
                "Starting rpm-ostreed.service - rpm-ostree System Management Daemon...",
                NO_HOST,
                "Stopped rpm-ostreed.service - rpm-ostree System Management Daemon.",
            ],
            "NameNotResolved",
        ),
    ] {
        assert_eq!(cause(lines.join("\n").as_bytes()), wanted, "{lines:?}");
    }
}

/// It is tried seven times before the daemon sleeps (MCO pull request 6413).
#[test]
fn what_a_retried_rebase_passes_on_says_nothing() {
    let passed_on = "W0811 05:41:03.1 1712 firstboot_complete_machineconfig.go:65] error: failed to update OS to quay.io/a after retries: exit status 1: timed out waiting for the condition";
    for (said, wanted) in [(NO_HOST, "NameNotResolved"), (NEW, "Unknown")] {
        let lines = [RUNS_REBASE, said, passed_on, SLEEPS];
        assert_eq!(cause(lines.join("\n").as_bytes()), wanted);
    }
}

/// Nothing of these proves what words that are alike prove elsewhere.
#[test]
fn a_line_that_only_looks_alike_has_no_cause() {
    for line in [
        "Failed to mount boot-efi.mount - CoreOS Dynamic Mount for /boot/efi.",
        "Dependency failed for /boot/efi.",
        "sysroot-boot.mount: Failed with result 'exit-code'.",
        "mount: /boot/efi: unknown filesystem type 'vfat'.",
        "I1117 kubelet.go:1] timed out waiting for the condition",
        "Starting rpm-ostreed.service - rpm-ostree System Management Daemon...",
        "rpm-ostreed.service: Deactivated successfully.",
        "User \"system:anonymous\" was mapped to no group",
        "level=info msg=\"Using runtime config: /etc/crio/crio.conf.d\"",
        "Dependency failed for Machine Config Daemon Firstboot.",
        "mount: /boot: WARNING: source write-protected, mounted read-only.",
        "E1115 cri_stats_provider.go:455] \"Failed to get the info of the filesystem with mountpoint\" err=\"unable to find data in memory cache\" mountpoint=\"/var/lib/containers/storage/overlay-images\"",
        "boot.mount: Directory /boot to mount over is not empty, mounting anyway.",
        "crio.service: Failed at step EXEC spawning /usr/bin/crio: Exec format error",
    ] {
        let found = Finding::read(line.as_bytes(), Phase::Other).cause;
        assert!(found.is_open(), "{found}: {line}");
    }
}

/// The lines of `journalctl -o with-unit` over firstboot's unit and those beside it.
#[test]
fn the_unit_that_says_why_is_found_in_a_transient_one() {
    let line =
        |unit: &str, text: &str| format!("Thu 2026-11-26 13:00:00 UTC node {unit}[17]: {text}\n");
    let pull = "machine-config-daemon-update-rpmostree-via-container";
    let running = "error running systemd-run --unit a --collect --wait -- podman pull b: Running as unit: a.service\n   : exit status 125";
    let journal = |text: &str| {
        [
            line(FIRSTBOOT, NO_HOST),
            line(FIRSTBOOT, SLEEPS),
            line("init.scope", "Started /usr/bin/podman pull b."),
            line(&format!("{pull}.service"), text),
            line(
                "init.scope",
                "a.service: Main process exited, code=exited, status=125/n/a",
            ),
            line(
                "init.scope",
                "Starting rpm-ostreed.service - rpm-ostree System Management Daemon...",
            ),
            line(FIRSTBOOT, running),
            line(FIRSTBOOT, SLEEPS),
        ]
        .concat()
    };
    let read = |journal: &str| Finding::read(journal.as_bytes(), Phase::Rebase);
    let found = read(&journal(
        "Error: initializing source docker://a: reading manifest: unauthorized: access",
    ));
    assert_eq!(
        (found.cause.as_str(), found.unit),
        ("Unauthorized", Some(pull))
    );
    let found = read(&journal("Error: the moon is full"));
    assert_eq!((found.cause.as_str(), found.unit), ("Unknown", Some(pull)));
    let found = read(&line(
        "machine-config-daemon-bootupd-update.service",
        "error: x: No space left on device",
    ));
    assert_eq!(found.unit, Some("machine-config-daemon-bootupd*"));
    let found = read(&line(FIRSTBOOT, NO_HOST));
    assert_eq!(
        (found.cause.as_str(), found.unit),
        ("NameNotResolved", None)
    );
    assert_eq!(beside(PULL), [""; 0]);
    assert_eq!(beside(FIRSTBOOT)[0], pull);
}

/// The four units that do the work of a first boot, in these states.
fn units(states: [(&str, &str); 4]) -> Units {
    let names = [PULL, FIRSTBOOT, "kubelet.service", "crio.service"];
    let unit = |(name, (active, sub)): (&str, (&str, &str))| Unit {
        id: name.to_owned(),
        active: active.to_owned(),
        sub: sub.to_owned(),
        restarts: 2,
        since: Duration::from_secs(61),
        ..Unit::default()
    };
    let units = names.into_iter().zip(states).map(unit);
    units.map(|unit| (unit.id.clone(), unit)).collect()
}

const IDLE: (&str, &str) = ("inactive", "dead");
const EXITED: (&str, &str) = ("active", "exited");
const RUNS: (&str, &str) = ("active", "running");
const WORKS: (&str, &str) = ("activating", "start");
const FAILED: (&str, &str) = ("failed", "failed");

const PULL: &str = "machine-config-daemon-pull.service";
const FIRSTBOOT: &str = "machine-config-daemon-firstboot.service";

#[test]
fn a_phase_is_told_by_the_units() {
    for (states, rebase, phase, unit) in [
        ([WORKS, IDLE, IDLE, IDLE], Rebase::ToCome, Phase::Pull, PULL),
        (
            [EXITED, WORKS, IDLE, IDLE],
            Rebase::ToCome,
            Phase::Rebase,
            FIRSTBOOT,
        ),
        // Up to 4.10 (MCO pull request 3070).
        (
            [EXITED, FAILED, IDLE, IDLE],
            Rebase::ToCome,
            Phase::Rebase,
            FIRSTBOOT,
        ),
        // Wiring B: only the firstboot unit failed, and the kubelet runs on the old OS.
        (
            [FAILED, FAILED, RUNS, RUNS],
            Rebase::ToCome,
            Phase::Rebase,
            FIRSTBOOT,
        ),
        (
            [FAILED, IDLE, IDLE, IDLE],
            Rebase::ToCome,
            Phase::Pull,
            PULL,
        ),
        (
            [IDLE, IDLE, IDLE, IDLE],
            Rebase::ToCome,
            Phase::Other,
            "a.service",
        ),
        // The reboot is under way.
        (
            [EXITED, EXITED, IDLE, IDLE],
            Rebase::ToCome,
            Phase::Rebase,
            FIRSTBOOT,
        ),
        (
            [EXITED, WORKS, IDLE, IDLE],
            Rebase::Over,
            Phase::Rebase,
            FIRSTBOOT,
        ),
        (
            [EXITED, WORKS, IDLE, IDLE],
            Rebase::Lost(LostRebase::NotFinalized),
            Phase::Rebase,
            FIRSTBOOT,
        ),
        (
            [IDLE, IDLE, RUNS, RUNS],
            Rebase::Over,
            Phase::Join,
            "kubelet.service",
        ),
        // Nothing had to be rebased, and the kubelet runs on the first boot.
        (
            [EXITED, EXITED, RUNS, RUNS],
            Rebase::Over,
            Phase::Join,
            "kubelet.service",
        ),
        (
            [IDLE, IDLE, IDLE, FAILED],
            Rebase::Over,
            Phase::Join,
            "crio.service",
        ),
        (
            [IDLE, IDLE, RUNS, RUNS],
            Rebase::Lost(LostRebase::NotFinalized),
            Phase::Rebase,
            "ostree-finalize-staged.service",
        ),
    ] {
        let mut units = units(states);
        units.get_mut(PULL).unwrap().after = vec!["a.service".to_owned()];
        for name in [PULL, "a.service"] {
            let unit = units.entry(name.to_owned()).or_default();
            (unit.id, unit.has_job) = (name.to_owned(), true);
        }
        let found = waits_for(&units, rebase).unwrap();
        assert_eq!(
            (found.phase, found.unit.unwrap().id.as_str()),
            (phase, unit),
            "{states:?}"
        );
    }
}

#[test]
fn no_answer_of_systemd_is_no_phase() {
    for rebase in [
        Rebase::ToCome,
        Rebase::Lost(LostRebase::NotFinalized),
        Rebase::Over,
    ] {
        assert_eq!(waits_for(&Units::new(), rebase), None);
    }
    let nothing = Some(Waiting {
        phase: Phase::Other,
        unit: None,
        cause: None,
    });
    let idle = units([IDLE, IDLE, IDLE, IDLE]);
    assert_eq!(
        waits_for(&idle, Rebase::ToCome),
        nothing,
        "no job is in the way"
    );
}

/// Unit, whether it has a job, and what it comes after.
type Queued<'a> = (&'a str, bool, &'a [&'a str]);

/// The four units idle, and these.
fn queued(jobs: &[Queued<'_>]) -> Units {
    let mut units = units([IDLE, IDLE, IDLE, IDLE]);
    for (name, has_job, after) in jobs {
        let unit = units.entry((*name).to_owned()).or_default();
        unit.id = (*name).to_owned();
        unit.has_job = *has_job;
        unit.after = after.iter().map(|&name| name.to_owned()).collect();
    }
    units
}

fn blocking_unit(jobs: &[Queued<'_>]) -> Option<String> {
    let waiting = waits_for(&queued(jobs), Rebase::ToCome).unwrap();
    assert_eq!(waiting.phase, Phase::Other);
    waiting.unit.map(|unit| unit.id)
}

const ONLINE: &str = "network-online.target";
const WAIT_ONLINE: &str = "NetworkManager-wait-online.service";

#[test]
fn only_a_job_that_the_pull_waits_for_is_in_its_way() {
    let wait_online = [
        ("sssd.service", true, &[][..]),
        (FIRSTBOOT, true, &[PULL, "sshd.service"]),
        ("sshd.service", false, &["sssd.service"]),
        (PULL, true, &[ONLINE, "basic.target"]),
        ("basic.target", false, &[]),
        (ONLINE, true, &[WAIT_ONLINE, "basic.target"]),
        (WAIT_ONLINE, true, &["basic.target"]),
    ];
    assert_eq!(blocking_unit(&wait_online).as_deref(), Some(WAIT_ONLINE));
    // A unit in a circle of jobs waits, too, and so does one whose other unit is not known.
    for jobs in [
        &[("sssd.service", true, &[][..])][..],
        &[("sssd.service", true, &[]), (PULL, true, &[])],
        &[(PULL, true, &["--x"]), ("--x", true, &[])],
        &[(PULL, false, &["a.service"]), ("a.service", true, &[])],
        &[(PULL, true, &["a.service"]), ("a.service", false, &[])],
        &[
            (PULL, true, &["a.service"]),
            ("a.service", true, &["b.service"]),
        ],
        &[(PULL, true, &["a.service"]), ("a.service", true, &[PULL])],
    ] {
        assert_eq!(blocking_unit(jobs), None, "{jobs:?}");
    }
}

#[test]
fn systemd_is_asked_about_the_jobs_that_the_pull_waits_for() {
    let first = [PULL, FIRSTBOOT, "kubelet.service", "crio.service"];
    assert_eq!(to_ask(&Units::new()), first);
    // No job waits, or the pull has begun.
    assert!(to_ask(&queued(&[])).is_empty());
    let jobs = [
        (PULL, true, &[ONLINE, "a.mount"][..]),
        (FIRSTBOOT, true, &[PULL]),
    ];
    let mut begun = queued(&jobs);
    begun.get_mut(PULL).unwrap().active = "activating".to_owned();
    assert!(to_ask(&begun).is_empty());

    assert_eq!(to_ask(&queued(&jobs)), [ONLINE, "a.mount"]);
    let more = [
        jobs[0],
        jobs[1],
        (ONLINE, true, &[WAIT_ONLINE]),
        ("a.mount", false, &["b.mount"]),
    ];
    assert_eq!(to_ask(&queued(&more)), [WAIT_ONLINE]);
    // However many there are, it is asked about a bounded number.
    let names: Vec<String> = (0..2000).map(|n| format!("u{n}.service")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(to_ask(&queued(&[(PULL, true, &names)])).len(), 998);
    assert_eq!(blocking_unit(&[(PULL, true, &names)]), None);
}

/// The four units at rest on a later boot, and these.
fn joining(more: &[(&str, &str, bool, &[&str])], kubelet: (bool, &[&str], &[&str])) -> Units {
    let mut units = units([IDLE, IDLE, IDLE, IDLE]);
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    for (name, active, has_job, after) in more {
        let unit = units.entry((*name).to_owned()).or_default();
        (unit.id, unit.active) = ((*name).to_owned(), (*active).to_owned());
        (unit.has_job, unit.after) = (*has_job, names(after));
    }
    let unit = units.get_mut("kubelet.service").unwrap();
    (unit.has_job, unit.after, unit.requires) = (kubelet.0, names(kubelet.1), names(kubelet.2));
    units
}

#[test]
fn a_kubelet_that_waits_names_the_unit_that_it_waits_for() {
    const NODE_IP: &str = "nodeip-configuration.service";
    const DEPENDENCIES: &str = "kubelet-dependencies.target";
    let waits = (true, &[DEPENDENCIES, "crio.service"][..], &[][..]);
    let requires = (false, &[][..], &[DEPENDENCIES][..]);
    let target = (DEPENDENCIES, "inactive", true, &[NODE_IP][..]);
    let crio = ("crio.service", "inactive", true, &[DEPENDENCIES][..]);
    let node_ip = (NODE_IP, "activating", true, &[][..]);
    for (more, kubelet, unit) in [
        (vec![target, crio, node_ip], waits, NODE_IP),
        (
            vec![target, crio, (NODE_IP, "active", false, &[])],
            waits,
            DEPENDENCIES,
        ),
        // What its dependency requires has failed, and there is no job any more.
        (
            vec![(DEPENDENCIES, "failed", false, &[])],
            requires,
            DEPENDENCIES,
        ),
        // A unit that it only comes after has failed.
        (
            vec![
                (NODE_IP, "failed", false, &[]),
                ("crio.service", "active", false, &[]),
            ],
            (false, &[NODE_IP][..], &[][..]),
            "kubelet.service",
        ),
        (
            vec![("crio.service", "activating", false, &[])],
            (false, &[][..], &[][..]),
            "crio.service",
        ),
        // CRI-O rests as the kubelet does, and nothing is in the way.
        (vec![], (false, &[][..], &[][..]), "kubelet.service"),
    ] {
        let found = waits_for(&joining(&more, kubelet), Rebase::Over).unwrap();
        assert_eq!(found.phase, Phase::Join);
        let found = found.unit.unwrap();
        assert_eq!(found.id, unit, "{more:?}");
    }
    // systemd is asked about them, in two rounds.
    assert_eq!(
        to_ask(&joining(&[], waits)),
        [DEPENDENCIES],
        "CRI-O is known"
    );
    assert_eq!(to_ask(&joining(&[target, crio], waits)), [NODE_IP]);
    assert_eq!(to_ask(&joining(&[], requires)), [DEPENDENCIES]);
    let mut rebasing = joining(&[], waits);
    rebasing.get_mut(FIRSTBOOT).unwrap().active = "activating".to_owned();
    assert!(to_ask(&rebasing).is_empty(), "the rebase comes first");
}

fn allowed(policy: &str) -> Verdict {
    let mut verdict = sample::refused();
    (verdict.verdict, verdict.action) = (Outcome::Allowed, Action::Proceed);
    verdict.gate = None::<GateStatus>;
    verdict.findings.clear();
    verdict.policy = serde_json::from_str(policy).unwrap();
    verdict
}

const FIVE: &str = r#"{ "path": "/etc/skewguard/policy.json", "stalledAfterMinutes": 5 }"#;

fn first_boot(verdict: &Verdict) -> Node {
    let node = Node::with_verdict(verdict);
    node.write(ENCAPSULATED, "{}");
    node.write("/etc/kubernetes/kubeconfig", "");
    node.write("/proc/uptime", "361.00 1000.00\n");
    node
}

/// A host whose units are in these states, one after the other.
struct Host<'a> {
    node: &'a Node,
    states: RefCell<[(&'static str, &'static str); 4]>,
    /// What the journal of every unit says.
    journal: RefCell<Vec<u8>>,
    /// systemd answers.
    answers: Cell<bool>,
    asked: Cell<usize>,
}

const REFUSED: &[u8] = b"Error: initializing source docker://quay.io/a: reading manifest: unauthorized: authentication required, password=hunter2\n";

impl<'a> Host<'a> {
    fn new(node: &'a Node, states: [(&'static str, &'static str); 4]) -> Self {
        Self {
            node,
            states: RefCell::new(states),
            journal: RefCell::new(REFUSED.to_vec()),
            answers: Cell::new(true),
            asked: Cell::new(0),
        }
    }

    async fn run(&self, cluster: &Cluster, log: &Log, time: Duration) -> Option<End> {
        let started = tokio::time::Instant::now();
        let now = || UNIX_EPOCH + Duration::from_secs(1_772_323_200) + started.elapsed();
        let ask = || self.asked.set(self.asked.get() + 1);
        let systemd = || {
            ask();
            self.answers.get().then(|| units(*self.states.borrow()))
        };
        let journal = |_: &str| {
            ask();
            Some(self.journal.borrow().clone())
        };
        let mut parts = self.node.parts(cluster, log, &now);
        (parts.systemd, parts.journal) = (&systemd, &journal);
        tokio::time::timeout(time, run(parts)).await.ok()
    }
}

fn bodies(cluster: &Cluster, what: &str) -> Vec<Value> {
    cluster
        .arrived()
        .into_iter()
        .filter(|arrived| arrived.path.ends_with(what))
        .map(|arrived| arrived.body)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_pull_that_loops_is_told_once_and_that_it_goes_on() {
    let verdict = allowed(FIVE);
    let (node, log) = (first_boot(&verdict), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.run(&cluster, &log, 4 * MINUTE).await;
    assert_eq!(
        (cluster.paths(), host.asked.get()),
        (vec![], 0),
        "silent before its time"
    );

    let cluster = Cluster::new(|_, _| status(201));
    host.run(&cluster, &log, 60 * MINUTE).await;
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    let progress = &report["report"]["progress"];
    assert_eq!(report["report"]["verdict"]["verdict"], "Allowed");
    assert_eq!(
        *progress,
        json!({
            "phase": "Pull", "unit": "machine-config-daemon-pull.service", "activeState": "activating", "subState": "start",
            "since": progress["since"], "restarts": 2, "minutes": 5,
            "cause": "Unauthorized", "message": "the registry refuses the node's pull secret",
        })
    );
    assert_eq!(
        report["report"]["remediation"]["text"],
        "Check the cluster's pull secret (openshift-config/pull-secret; hosted: the HostedCluster's) for this registry or mirror. On the node: journalctl -b -u machine-config-daemon-pull.service (more: oc skewguard why)"
    );
    let since = progress["since"].as_str().unwrap();
    assert!(since.starts_with("2026-03-01T00:0"), "{since}");
    let [event] = bodies(&cluster, "/events").try_into().unwrap();
    assert_eq!(
        (
            &event["reason"],
            &event["type"],
            &event["regarding"]["name"]
        ),
        (
            &json!("FirstBootStalled"),
            &json!("Warning"),
            &report["metadata"]["name"]
        )
    );
    assert_eq!(
        event["note"],
        format!(
            "Node ip-10-0-1-23.eu-west-1.compute.internal (10.0.1.23): the first boot has not finished after 5 minutes; it waits in the phase Pull: machine-config-daemon-pull.service is activating (start) since {since}; cause Unauthorized: the registry refuses the node's pull secret. Check the cluster's pull secret (openshift-config/pull-secret; hosted: the HostedCluster's) for this registry or mirror. On the node: journalctl -b -u machine-config-daemon-pull.service (more: oc skewguard why)"
        )
    );
    assert_eq!(
        *log.notes.lock().unwrap(),
        [format!(
            "*** FIRST BOOT NOT FINISHED ***
The first boot has not finished after 5 minutes; it waits in the phase Pull:
machine-config-daemon-pull.service is activating (start) since
{since}.
Cause: Unauthorized: the registry refuses the node's pull secret.
Check the cluster's pull secret (openshift-config/pull-secret; hosted: the
HostedCluster's) for this registry or mirror.
Read more with: journalctl -b -u machine-config-daemon-pull.service

"
        )]
    );
    assert_eq!(log.phases(), [Some("Pull")]);

    // The next boot of the same installation, the rebase done: it goes on, and waits for the
    // kubelet's certificate.
    let next = Cluster::new(|_, _| status(201));
    node.root
        .remove("/etc/ignition-machine-config-encapsulated.json")
        .unwrap();
    *host.states.borrow_mut() = [IDLE, IDLE, RUNS, RUNS];
    host.run(&next, &log, 90 * MINUTE).await;
    let events = bodies(&next, "/events");
    let reasons: Vec<_> = events
        .iter()
        .map(|event| event["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["FirstBootWentOn", "FirstBootStalled"]);
    assert_eq!(events[0]["regarding"]["name"], report["metadata"]["name"]);
    assert_eq!(events[0]["type"], "Normal");
    // The admission policy takes no other names (dist/manifests/admission).
    for event in &events {
        let name = event["metadata"]["name"].as_str().unwrap();
        let (_, number) = name.rsplit_once('.').unwrap();
        assert!(
            number.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{name}"
        );
    }
    let [joining] = bodies(&next, "/bootimagereports").try_into().unwrap();
    assert_ne!(joining["metadata"]["name"], report["metadata"]["name"]);
    let progress = &joining["report"]["progress"];
    assert_eq!(
        (&progress["phase"], &progress["unit"]),
        (&json!("Join"), &json!("kubelet.service"))
    );
    assert!(
        progress["minutes"].as_u64().unwrap() >= 60,
        "the time before the reboot counts: {progress}"
    );

    // It joins.
    let joined = Cluster::new(|_, _| status(201));
    *joined.node.lock().unwrap() = Some("worker-0");
    node.write(CERTIFICATE, "");
    node.write("/var/lib/kubelet/kubeconfig", "");
    host.run(&joined, &log, 60 * MINUTE).await;
    let [event] = bodies(&joined, "/events").try_into().unwrap();
    assert_eq!(event["reason"], "FirstBootWentOn");
    assert_eq!(log.phases(), [Some("Pull"), None, Some("Join"), None]);
}

#[tokio::test(start_paused = true)]
async fn a_stall_that_the_cluster_did_not_hear_of_is_told_on_the_next_boot() {
    let verdict = allowed(FIVE);
    let (node, log) = (first_boot(&verdict), Log::default());
    let host = Host::new(&node, [EXITED, FAILED, IDLE, IDLE]);
    let cluster = Cluster::new(|_, _| status(503));
    host.run(&cluster, &log, 20 * MINUTE).await;
    let first = bodies(&cluster, "/bootimagereports")[0]["metadata"]["name"].clone();
    let next = Cluster::new(|_, _| status(201));
    host.run(&next, &log, 20 * MINUTE).await;
    let [report] = bodies(&next, "/bootimagereports").try_into().unwrap();
    assert_eq!(report["metadata"]["name"], first);
    assert_eq!(report["report"]["progress"]["phase"], "Rebase");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_where_nothing_hangs_or_it_is_switched_off() {
    let finished = first_boot(&allowed(FIVE));
    finished.write(CERTIFICATE, "");
    let mut off = allowed(FIVE);
    off.verdict = Outcome::Disabled;
    let held = first_boot(&sample::refused());
    held.write("/run/skewguard/refused", "");
    let patient = first_boot(&allowed(r#"{ "path": "p", "stalledAfterMinutes": 1440 }"#));
    for (node, what) in [
        (finished, "joined"),
        (first_boot(&off), "switched off"),
        (held, "refused"),
        (patient, "the policy waits for a day"),
    ] {
        let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(201)));
        let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
        host.run(&cluster, &log, 240 * MINUTE).await;
        assert_eq!((host.asked.get(), log.phases()), (0, vec![]), "{what}");
        for report in bodies(&cluster, "/bootimagereports") {
            assert_eq!(report["report"]["progress"], Value::Null, "{what}");
        }
    }
}

/// A drop-in of an admin's was in the way of the hold.
#[tokio::test(start_paused = true)]
async fn a_refused_node_that_could_not_be_held_is_watched() {
    let mut verdict = sample::refused();
    verdict.gate.as_mut().unwrap().held = false;
    verdict.policy = serde_json::from_str(FIVE).unwrap();
    let (node, log) = (first_boot(&verdict), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.run(&cluster, &log, 20 * MINUTE).await;
    assert_eq!(log.phases(), [Some("Pull")]);
    let reports = bodies(&cluster, "/bootimagereports");
    let told: Vec<_> = reports
        .iter()
        .map(|report| {
            let report = &report["report"];
            (&report["verdict"]["action"], &report["progress"]["phase"])
        })
        .collect();
    let block = json!("Block");
    let wanted = [(&block, &Value::Null), (&block, &json!("Pull"))];
    assert_eq!(told, wanted);
}

/// PID 1 is slow, or there is no memory for a program.
#[tokio::test(start_paused = true)]
async fn no_answer_of_systemd_is_no_news() {
    let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.answers.set(false);
    host.run(&cluster, &log, 20 * MINUTE).await;
    assert_eq!((cluster.paths(), log.phases()), (vec![], vec![]));

    // It answers again: the time before counts. What the journal does not say is not known.
    host.answers.set(true);
    host.journal.borrow_mut().clear();
    host.run(&cluster, &log, 3 * MINUTE).await;
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    let progress = &report["report"]["progress"];
    assert_eq!(
        (&progress["phase"], &progress["cause"]),
        (&json!("Pull"), &json!("Unknown"))
    );
    assert!(progress["minutes"].as_u64().unwrap() >= 20, "{progress}");
    assert_eq!(
        report["report"]["remediation"]["text"],
        "Read what the unit says last. On the node: journalctl -b -u machine-config-daemon-pull.service (more: oc skewguard why)"
    );

    // It goes silent after a stall was told, on this boot and on the next.
    host.answers.set(false);
    let silent = Cluster::new(|_, _| status(201));
    host.run(&silent, &log, 60 * MINUTE).await;
    assert_eq!(silent.paths(), [""; 0]);
    assert_eq!(log.phases(), [Some("Pull")], "the note stays");
}

/// A stall has another cause after the first one was mended.
#[tokio::test(start_paused = true)]
async fn another_cause_is_told_once() {
    let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    let running = host.run(&cluster, &log, 60 * MINUTE);
    let mending = async {
        for journal in [
            REFUSED,
            b"Error: reading manifest: manifest unknown\n",
            b"Trying to pull quay.io/a...\n",
            REFUSED,
        ] {
            *host.journal.borrow_mut() = journal.to_vec();
            tokio::time::sleep(10 * MINUTE).await;
        }
    };
    tokio::join!(running, mending);
    let reports = bodies(&cluster, "/bootimagereports");
    let causes: Vec<_> = reports
        .iter()
        .map(|report| report["report"]["progress"]["cause"].as_str().unwrap())
        .collect();
    assert_eq!(causes, ["Unauthorized", "ImageNotFound"]);
    assert_ne!(
        reports[0]["metadata"]["name"],
        reports[1]["metadata"]["name"]
    );
    assert_eq!(bodies(&cluster, "/events").len(), 2);
}

/// A node whose daemon renamed its config and rebooted, and whose deployment is the old one
/// (okd #1885).
fn not_finalized() -> Node {
    let node = first_boot(&allowed(FIVE));
    node.root.remove(ENCAPSULATED).unwrap();
    node.root.remove("/run/skewguard/verdict.json").unwrap();
    let target = json!({ "metadata": { "name": "rendered-worker-1" }, "spec": { "osImageURL": format!("quay.io/a@sha256:{}", "a".repeat(64)) } });
    let record = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord", "deployment": "c0ffee.0", "bootID": "boot-0" });
    for (path, text) in [
        (
            "/etc/ignition-machine-config-encapsulated.json.bak",
            target.to_string(),
        ),
        ("/etc/skewguard/boot-image.json", record.to_string()),
        (
            "/proc/cmdline",
            "ostree=/ostree/boot.1/rhcos/b007/0".to_owned(),
        ),
        (
            "/sysroot/ostree/deploy/rhcos/deploy/c0ffee.0.origin",
            "[origin]\nrefspec=x\n".to_owned(),
        ),
    ] {
        node.write(path, &text);
    }
    let link = node.dir.path().join("sysroot/ostree/boot.1/rhcos/b007");
    std::fs::create_dir_all(&link).unwrap();
    let deployment = "../../../deploy/rhcos/deploy/c0ffee.0";
    std::os::unix::fs::symlink(deployment, link.join("0")).unwrap();
    keep_verdict(&node);
    node
}

/// What the first run of this installation decided.
fn keep_verdict(node: &Node) {
    node.keep(
        "/var/lib/skewguard/verdict.json",
        &serde_json::to_string(&allowed(FIVE)).unwrap(),
    );
}

#[tokio::test(start_paused = true)]
async fn a_rebase_that_was_not_finalized_is_told_as_that() {
    let (node, log) = (not_finalized(), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [IDLE, IDLE, RUNS, RUNS]);
    host.run(&cluster, &log, 20 * MINUTE).await;
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    assert_eq!(
        report["report"]["progress"],
        json!({
            "phase": "Rebase", "unit": "ostree-finalize-staged.service", "restarts": 0, "minutes": 5, "cause": "NotFinalized",
            "message": "the rebase was staged, but not finalized at the last shutdown, so the node still runs its old OS",
        })
    );
    assert_eq!(
        report["report"]["remediation"]["text"],
        "A full /boot, SELinux modules, a slow disk and a grub2-probe that does not know composefs are known to do this. Make the machine anew; if it happens again, on a faster disk where stopping timed out, else from a newer boot image. On the node: journalctl -b -1 -u ostree-finalize-staged (more: oc skewguard why)"
    );
    assert_eq!(
        *log.notes.lock().unwrap(),
        ["*** FIRST BOOT NOT FINISHED ***
The first boot has not finished after 5 minutes; it waits in the phase Rebase:
ostree-finalize-staged.service.
Cause: NotFinalized: the rebase was staged, but not finalized at the last
shutdown, so the node still runs its old OS.
A full /boot, SELinux modules, a slow disk and a grub2-probe that does not know
composefs are known to do this. Make the machine anew; if it happens again, on
a faster disk where stopping timed out, else from a newer boot image.
Read more with: journalctl -b -1 -u ostree-finalize-staged

"]
    );
}

/// The target's deployment is in the boot menu.
#[tokio::test(start_paused = true)]
async fn a_rebase_whose_entry_was_not_booted_is_told_with_its_own_remedy() {
    let (node, log) = (not_finalized(), Log::default());
    let origin = format!(
        "[origin]\ncontainer-image-reference=ostree-unverified-registry:quay.io/a@sha256:{}\n",
        "a".repeat(64)
    );
    for (path, text) in [
        (
            "/sysroot/ostree/deploy/rhcos/deploy/decade.0.origin",
            &*origin,
        ),
        (
            "/boot/loader/entries/ostree-2-rhcos.conf",
            "options ostree=/ostree/boot.0/rhcos/c0de/0\n",
        ),
    ] {
        node.write(path, text);
    }
    let link = node.dir.path().join("sysroot/ostree/boot.0/rhcos/c0de");
    std::fs::create_dir_all(&link).unwrap();
    let deployment = "../../../deploy/rhcos/deploy/decade.0";
    std::os::unix::fs::symlink(deployment, link.join("0")).unwrap();
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [IDLE, IDLE, RUNS, RUNS]);
    host.run(&cluster, &log, 20 * MINUTE).await;
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    assert_eq!(
        report["report"]["progress"],
        json!({
            "phase": "Rebase", "restarts": 0, "minutes": 5, "cause": "NotBooted",
            "message": "the rebase is in the boot menu, but the machine booted the entry of its old OS",
        })
    );
    let remedy = report["report"]["remediation"]["text"].as_str().unwrap();
    assert!(
        remedy.contains("On the node: journalctl -b -1 (more"),
        "{remedy}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_rebase_that_took_effect_or_may_have_is_waiting_to_join() {
    let record = |deployment: &str, boot: &str| {
        json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord", "deployment": deployment, "bootID": boot }).to_string()
    };
    let origin = format!(
        "[origin]\ncontainer-image-reference=ostree-unverified-registry:quay.io/a@sha256:{}\n",
        "a".repeat(64)
    );
    let origin_path = "/sysroot/ostree/deploy/rhcos/deploy/c0ffee.0.origin";
    let record_path = "/etc/skewguard/boot-image.json";
    for (path, text, what) in [
        (record_path, record("decade.0", "boot-0"), "rebased"),
        (
            record_path,
            record("c0ffee.1", "boot-0"),
            "kernel arguments",
        ),
        // node.boot_id is boot-1, which is no id.
        (record_path, "{".to_owned(), "a damaged record"),
        (origin_path, origin, "the target's deployment"),
        ("/proc/cmdline", "ro".to_owned(), "no ostree="),
    ] {
        let (node, log) = (not_finalized(), Log::default());
        node.write(path, &text);
        keep_verdict(&node);
        let cluster = Cluster::new(|_, _| status(201));
        let host = Host::new(&node, [IDLE, IDLE, RUNS, RUNS]);
        host.run(&cluster, &log, 20 * MINUTE).await;
        assert_eq!(log.phases(), [Some("Join")], "{what}");
    }
}

/// The record of the first run is lost.
#[tokio::test(start_paused = true)]
async fn without_a_record_the_versions_tell_a_rebase_that_was_not_finalized() {
    let origin = "/sysroot/ostree/deploy/rhcos/deploy/c0ffee.0.origin";
    let release = "ID=rhcos\nOSTREE_VERSION='413.92.202305021736-0'\n";
    for (path, text, phase, what) in [
        ("/etc/os-release", release, "Rebase", "the boot image's OS"),
        (
            "/etc/os-release",
            "ID=rhcos\nOSTREE_VERSION='414.92.202309051636-0'\n",
            "Join",
            "another OS",
        ),
        (
            origin,
            "[origin]\ncustom-url=pivot://quay.io/a@sha256:00\n",
            "Join",
            "rebased by a daemon of 4.11",
        ),
    ] {
        let (node, log) = (not_finalized(), Log::default());
        node.root.remove("/etc/skewguard/boot-image.json").unwrap();
        node.write("/etc/os-release", release);
        node.write(
            "/sysroot/.coreos-aleph-version.json",
            r#"{ "version": "413.92.202305021736-0" }"#,
        );
        node.write(path, text);
        keep_verdict(&node);
        let cluster = Cluster::new(|_, _| status(201));
        let host = Host::new(&node, [IDLE, IDLE, RUNS, RUNS]);
        host.run(&cluster, &log, 20 * MINUTE).await;
        assert_eq!(log.phases(), [Some(phase)], "{what}");
    }
}

/// Up to 4.10 the unit can fail, and nothing tries again (MCO pull request 3070).
#[tokio::test(start_paused = true)]
async fn a_rebase_that_failed_is_told() {
    let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [EXITED, FAILED, IDLE, IDLE]);
    *host.journal.borrow_mut() = b"error running rpm-ostree rebase: error: Timeout was reached\n: exit status 1\nmachine-config-daemon-firstboot.service: Failed with result 'exit-code'.\n".to_vec();
    host.run(&cluster, &log, 20 * MINUTE).await;
    let [event] = bodies(&cluster, "/events").try_into().unwrap();
    let note = event["note"].as_str().unwrap();
    assert!(note.contains("it waits in the phase Rebase: machine-config-daemon-firstboot.service is failed (failed) since "), "{note}");
    assert!(note.contains("; cause RPMOSTreeUnavailable: rpm-ostree's daemon does not start, does not answer in time, or has crashed. Read its own journal: journalctl -b -u rpm-ostreed. If a dependency failed, see which: systemctl --failed. On the node: "), "{note}");
}

/// Everything that a run sends, shows and logs about a node whose journal is this.
fn everything_told(journal: &[u8], state: (&'static str, &'static str)) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
        let cluster = Cluster::new(|_, _| status(201));
        let host = Host::new(&node, [state, IDLE, IDLE, IDLE]);
        *host.journal.borrow_mut() = journal.to_vec();
        host.run(&cluster, &log, 10 * MINUTE).await;
        let bodies = cluster.arrived().into_iter().map(|it| it.body.to_string());
        let bodies: Vec<String> = bodies.collect();
        assert_eq!(bodies.len(), 2, "a report and an Event");
        let (notes, lines) = (log.notes.lock().unwrap(), log.lines.lock().unwrap());
        let kept = node
            .root
            .read("/var/lib/skewguard/report-state.json", 1 << 20);
        let kept = String::from_utf8(kept.unwrap().unwrap()).unwrap();
        format!(
            "{bodies:?} {notes:?} {lines:?} {kept} {}",
            log.entries.lock().unwrap().join("\n")
        )
    })
}

/// Where credentials were seen in what Go, podman and people print.
const PLACES: &[&str] = &[
    "Error: pinging container registry: Get \"https://robot:SECRET@mirror/v2/\": proxyconnect tcp: parse \"http://u:SECRET#/@proxy:3128\": invalid port \":SECRET\" after host: no such host",
    "unauthorized: authentication required, password = SECRET",
    "podman login -u admin -p SECRET quay.io: invalid username/password",
    "creds robot:SECRET: x509: certificate signed by unknown authority",
    "{\"auths\":{\"quay.io\":{\"auth\":\"SECRET\"}}}: manifest unknown: manifest unknown",
    "SECRET",
    "SECRET no space left on device SECRET",
    "error: No karg 'SECRET' found",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    /// No line of a journal leaves the node, nor reaches console and logs.
    #[test]
    fn nothing_of_a_journal_is_told(
        secret in "[A-Za-z0-9+/]{16,64}",
        place in proptest::sample::select(PLACES),
        around in "[ -~]{0,80}",
        pulls in proptest::bool::ANY,
    ) {
        let line = place.replace("SECRET", &secret);
        let journal = format!("{around}\n{line}\n{around} {secret}\n");
        let told = everything_told(journal.as_bytes(), if pulls { WORKS } else { FAILED });
        proptest::prop_assert!(!told.contains(&secret), "{}", told);
    }
}

/// Another installation, whose /var was kept.
#[tokio::test(start_paused = true)]
async fn the_time_of_an_earlier_installation_does_not_count() {
    let node = first_boot(&allowed(FIVE));
    node.write(
        "/var/lib/skewguard/report-state.json",
        r#"{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState",
             "installation": "another", "firstBoot": { "total": 90000, "waited": 90000 } }"#,
    );
    let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(201)));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.run(&cluster, &log, 4 * MINUTE).await;
    assert_eq!(cluster.paths(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_before_the_boot_image_was_built_is_named() {
    let mut verdict = allowed(FIVE);
    verdict.boot_image.as_mut().unwrap().build_date = Some("2027-01-01".to_owned());
    let (node, log) = (first_boot(&verdict), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    *host.journal.borrow_mut() =
        b"x509: certificate has expired or is not yet valid: current time 2026-03-01T00:00:00Z is before 2027-01-02T00:00:00Z".to_vec();
    host.run(&cluster, &log, 20 * MINUTE).await;
    let progress = &bodies(&cluster, "/bootimagereports")[0]["report"]["progress"];
    assert_eq!(
        (&progress["cause"], &progress["message"]),
        (
            &json!("NotYetValid"),
            &json!(
                "a server's certificate is not valid by this node's clock: it says 2026-03-01, before the boot image was built (2027-01-01)"
            )
        )
    );
    let note = log.notes.lock().unwrap()[0].clone();
    assert!(note.lines().all(|line| line.len() <= 80), "{note}");
}

/// CSRs that somebody approves by hand, after hours.
#[tokio::test(start_paused = true)]
async fn a_node_that_joins_after_hours_is_labelled() {
    let node = Node::with_verdict(&allowed(
        "{ \"path\": \"p\", \"stalledAfterMinutes\": 1440 }",
    ));
    node.write("/etc/kubernetes/kubeconfig", "");
    let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(200)));
    let running = node.run(&cluster, &log, 20 * 60 * MINUTE);
    let joining = async {
        tokio::time::sleep(9 * 60 * MINUTE).await;
        assert_eq!(cluster.paths(), [""; 0]);
        node.write("/var/lib/kubelet/kubeconfig", "");
        *cluster.node.lock().unwrap() = Some("worker-0");
    };
    let (end, ()) = tokio::join!(running, joining);
    assert!(end.is_some(), "it ends once the label is there");
    assert_eq!(cluster.paths(), ["/api/v1/nodes/worker-0"]);
    assert!(cluster.arrived()[0].at < (9 * 60 + 11) * MINUTE);
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_without_a_certificate_points_to_the_requests() {
    let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
    node.root.remove(ENCAPSULATED).unwrap();
    // The kubelet writes it before it asks for a certificate.
    node.write("/var/lib/kubelet/kubeconfig", "");
    let cluster = Cluster::new(|_, _| status(201));
    let host = Host::new(&node, [IDLE, IDLE, RUNS, RUNS]);
    *host.journal.borrow_mut() = br#"nodes "worker-3" is forbidden: User "system:anonymous" cannot list nodes at the cluster scope"#.to_vec();
    host.run(&cluster, &log, 10 * MINUTE).await;
    // Nothing is looked up in the cluster.
    assert_eq!(cluster.paths().len(), 2);
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    let report = &report["report"];
    assert_eq!(
        (&report["progress"]["phase"], &report["progress"]["cause"]),
        (&json!("Join"), &json!("CertificateNotSigned"))
    );
    assert_eq!(
        report["remediation"]["text"],
        "Approve it (oc get csr) only where its name and addresses are this machine's. On the node: journalctl -b -u kubelet.service (more: oc skewguard why)"
    );
}

/// An admin took the certificates of a joined node's kubelet away, so that it gets new ones: its
/// Node was labelled. A ledger of an earlier installation is no evidence.
#[tokio::test(start_paused = true)]
async fn a_joined_node_whose_certificate_is_renewed_is_no_first_boot() {
    let state = |patch: Value| json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState", "nodePatch": patch, "installation": "boot-0" });
    let record = |boot: &str| json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord", "deployment": "c0ffee.0", "bootID": boot });
    let line = "ostree=/ostree/boot.1/rhcos/b007/0";
    let first = format!("{line} ignition.firstboot");
    for (patch, boot, line, phases, what) in [
        (json!("0f"), "boot-0", line, vec![], "its Node was labelled"),
        (
            json!(null),
            "boot-0",
            line,
            vec![Some("Join")],
            "it was not",
        ),
        (json!("0f"), "boot-x", line, vec![Some("Join")], "another's"),
        (
            json!("0f"),
            "boot-0",
            &first,
            vec![Some("Join")],
            "a new installation",
        ),
    ] {
        let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
        node.root.remove(ENCAPSULATED).unwrap();
        node.root.remove("/run/skewguard/verdict.json").unwrap();
        for (path, text) in [
            ("/var/lib/skewguard/report-state.json", state(patch)),
            ("/etc/skewguard/boot-image.json", record(boot)),
        ] {
            node.write(path, &text.to_string());
        }
        node.write("/proc/cmdline", line);
        keep_verdict(&node);
        let cluster = Cluster::new(|_, _| status(201));
        let host = Host::new(&node, [IDLE, IDLE, RUNS, RUNS]);
        host.run(&cluster, &log, 60 * MINUTE).await;
        assert_eq!(log.phases(), phases, "{what}");
        let reports = bodies(&cluster, "/bootimagereports");
        assert_eq!(reports.len(), phases.len(), "{what}");
    }
}

/// The record of the first run names a certificate that an earlier installation left on /var.
#[tokio::test(start_paused = true)]
async fn a_first_boot_on_the_var_of_an_earlier_installation_is_watched() {
    let node = first_boot(&allowed(FIVE));
    let certificate = include_str!("../data/certificates/kubelet.pem");
    node.write(CERTIFICATE, certificate);
    node.write("/var/lib/kubelet/kubeconfig", "");
    let block = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let record = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageRecord",
        "certificates": [crate::node::sha256_hex(&block)], "kubeletOnEtc": true });
    node.write("/etc/skewguard/boot-image.json", &record.to_string());
    let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(201)));
    *cluster.node.lock().unwrap() = Some("worker-0");
    let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
    host.run(&cluster, &log, 20 * MINUTE).await;
    assert_eq!(log.phases(), [Some("Pull")]);
}

/// `skewguard.service` was killed or failed.
#[tokio::test(start_paused = true)]
async fn a_first_boot_without_a_verdict_is_watched() {
    let node = Node::new();
    for (path, text) in [
        ("/run/ostree-booted", ""),
        ("/etc/ignition-machine-config-encapsulated.json", "{}"),
        ("/etc/kubernetes/kubeconfig", ""),
        (
            "/sysroot/.coreos-aleph-version.json",
            r#"{ "version": "413.92.202305021736-0" }"#,
        ),
    ] {
        node.write(path, text);
    }
    let (log, cluster) = (Log::default(), Cluster::new(|_, _| status(201)));
    let host = Host::new(&node, [EXITED, WORKS, IDLE, IDLE]);
    host.run(&cluster, &log, 60 * MINUTE).await;
    assert_eq!(log.phases(), [Some("Rebase")]);
    let events = bodies(&cluster, "/events");
    let reasons: Vec<_> = events
        .iter()
        .map(|event| event["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["NoVerdict", "FirstBootStalled"]);
    let [report] = bodies(&cluster, "/bootimagereports").try_into().unwrap();
    let report = &report["report"];
    assert_eq!(
        (&report["verdict"]["verdict"], &report["verdict"]["action"]),
        (&json!("NoPolicy"), &json!("Proceed"))
    );
    assert_eq!(
        report["verdict"]["bootImage"]["version"],
        "413.92.202305021736-0"
    );
    let warnings = report["verdict"]["warnings"].to_string();
    assert!(
        warnings.contains("skewguard.service left no verdict on this boot"),
        "{warnings}"
    );
    assert_eq!(report["progress"]["phase"], "Rebase");
}

/// Once the node has joined, the bootstrap identity may be gone.
#[tokio::test(start_paused = true)]
async fn a_node_that_may_not_say_that_it_went_on_gives_up() {
    for answer in [401, 403] {
        let (node, log) = (first_boot(&allowed(FIVE)), Log::default());
        let host = Host::new(&node, [WORKS, IDLE, IDLE, IDLE]);
        host.run(&Cluster::new(|_, _| status(201)), &log, 10 * MINUTE)
            .await;
        node.root
            .remove("/etc/ignition-machine-config-encapsulated.json")
            .unwrap();
        node.write(CERTIFICATE, "");
        node.write("/var/lib/kubelet/kubeconfig", "");
        let cluster = Cluster::new(move |_, path| {
            status(if path.contains("/nodes/") {
                200
            } else {
                answer
            })
        });
        *cluster.node.lock().unwrap() = Some("worker-0");
        let end = host.run(&cluster, &log, 24 * 60 * MINUTE).await;
        assert!(end.is_some(), "the run ends");
        let tries = bodies(&cluster, "/events").len();
        assert!((1..=4).contains(&tries), "{tries}");
        assert_eq!(bodies(&cluster, "/nodes/worker-0").len(), 1);
    }
}
