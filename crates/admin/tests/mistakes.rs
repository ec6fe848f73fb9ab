//! What people name by mistake: each ends in one sentence with the file and the remedy, in its exit status, and
//! without a word of the operating system's numbers.

use crate::audit::run;
use skewguard_admin::cli::Exit;
use std::path::Path;
use std::process::Command;

const AWS: &str = "tests/data/audit/aws.json";
const POLICY: &str = "tests/data/audit/policy.json";
const FORM: &str =
    "the file is a list `exceptions` of `set`, `reason`, `until` (YYYY-MM-DD) and `cluster`";
const INIT: &str = "`oc skewguard policy init` writes one";

/// A folder of files that are wrong.
fn desk() -> tempfile::TempDir {
    let desk = tempfile::tempdir().unwrap();
    let write =
        |name: &str, content: &[u8]| std::fs::write(desk.path().join(name), content).unwrap();
    write("empty", b"");
    write("blank", b" \n\n");
    write("packed", &[0x1f, 0x8b, 8, 0, 0]);
    write("binary", &[0x7f, b'E', b'L', b'F', 0xff, 0xfe, 0x80, 0]);
    write("huge", &vec![b'a'; 300_000]);
    write(
        "list.yaml",
        b"- set: c1-old\n  reason: x\n  until: 2999-01-01\n",
    );
    write("names.yaml", b"exceptions:\n- name: c1-old\n");
    write("tab.yaml", b"kind: X\n\tlimits: []\n");
    write(
        "pod.yaml",
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n",
    );
    write(
        "audit.json",
        run(&["audit", "--policy", POLICY, "--from", AWS, "-o", "json"])
            .0
            .as_bytes(),
    );
    write(
        "why.json",
        run(&["why", "--from", "tests/data/why/cluster", "-o", "json"])
            .0
            .as_bytes(),
    );
    std::fs::create_dir(desk.path().join("folder")).unwrap();
    std::os::unix::fs::symlink("loop", desk.path().join("loop")).unwrap();
    for (name, from) in [("objects.json", AWS), ("policy.json", POLICY)] {
        std::fs::copy(from, desk.path().join(name)).unwrap();
    }
    desk
}

/// What is said, with names of the desk alone.
fn said(desk: &Path, args: &[&str]) -> (String, Exit) {
    let place = format!("{}/", desk.display());
    let args: Vec<String> = args.iter().map(|arg| arg.replace('@', &place)).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (_, err, exit) = run(&args);
    assert!(!err.contains("os error"), "{args:?}: {err}");
    (err.replace(&place, ""), exit)
}

/// The file as a policy: what is said after its name.
const NO_POLICY: [(&str, &str); 10] = [
    ("nosuch", "No such file or directory; INIT"),
    ("folder", "is a directory, not a regular file"),
    ("loop", "Too many levels of symbolic links"),
    ("huge", "is larger than 262,144 bytes"),
    ("empty", "is empty, so not a policy; INIT"),
    ("blank", "is empty, so not a policy; INIT"),
    ("packed", "is packed by gzip, so not a policy; INIT"),
    ("binary", "is not UTF-8, so not a policy; INIT"),
    (
        "objects.json",
        "this is a List of ClusterVersion, not a policy; INIT",
    ),
    (
        "tab.yaml",
        "line 1, column 7: the file is not YAML: while scanning a plain scalar, found a tab; write spaces instead of tabs",
    ),
];

#[test]
fn what_is_no_policy_is_said_to_be_none() {
    let desk = desk();
    for (file, why) in NO_POLICY {
        let why = why.replace("INIT", INIT);
        let path = format!("@{file}");
        for (args, begin) in [
            (
                &["check", "--image", "9.6.20250523-0", "--policy", &path][..],
                "--policy ",
            ),
            (&["audit", "--from", AWS, "--policy", &path], "--policy "),
            (&["why", "--from", AWS, "--policy", &path], "--policy "),
            (
                &[
                    "render",
                    "machineconfig",
                    "--policy-only",
                    "--policy",
                    &path,
                ],
                "",
            ),
            (
                &["render", "ignition", "--policy-only", "--policy", &path],
                "",
            ),
            (&["render", "alerts", "--policy", &path], ""),
            (
                &[
                    "render",
                    "admission",
                    "--audit",
                    "@audit.json",
                    "--policy",
                    &path,
                ],
                "",
            ),
            (&["policy", "refresh", &path], ""),
        ] {
            assert_eq!(
                said(desk.path(), args),
                (format!("skewguard: {begin}{file}: {why}\n"), Exit::Failed),
                "{args:?}"
            );
        }
        // Of a file that may be a policy the lint says each mistake.
        if why.contains("not a policy") && file != "binary" {
            let lint = said(desk.path(), &["policy", "lint", &path]);
            assert_eq!(lint, (format!("skewguard: {file}: {why}\n"), Exit::Failed));
        }
    }
}

const HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000\
                    0000000000000000000000000000000000000000000000000000000000000000";

/// The command without the name of its last file, what is said before that name, and the remedy behind it.
const MISSING: [(&[&str], &str, &str); 9] = [
    (&["policy", "lint"], "", INIT),
    (
        &["check", "--aleph"],
        "--aleph ",
        "a node has it as /sysroot/.coreos-aleph-version.json",
    ),
    (
        &["audit", "--from", AWS, "--exceptions"],
        "--exceptions ",
        FORM,
    ),
    (
        &["audit", "--from", AWS, "--since"],
        "--since ",
        "`oc skewguard audit -o json` of the same clusters prints what is read",
    ),
    (
        &["audit", "--from", AWS, "--streams"],
        "--streams ",
        "`openshift-install coreos print-stream-json` prints what is read",
    ),
    (
        &["render", "machineconfig", "--policy", POLICY, "--binary"],
        "",
        "give skewguard-embed, of a release or of `dist/build`",
    ),
    (
        &[
            "render",
            "machineconfig",
            "--policy-only",
            "--policy",
            POLICY,
            "--rendered",
        ],
        "",
        "write it with: oc get machineconfig rendered-... -o json",
    ),
    (
        &[
            "render",
            "pointer",
            "--url",
            "https://mirror.example.com/skewguard",
            "--sha512",
            HASH,
            "--user-data",
        ],
        "",
        "write it with: oc extract -n openshift-machine-api secret/worker-user-data --keys=userData --to=-",
    ),
    (
        &["render", "admission", "--policy", POLICY, "--audit"],
        "",
        "`oc skewguard audit -o json` prints one",
    ),
];

#[test]
fn a_missing_file_is_told_with_what_makes_one() {
    let desk = desk();
    for (args, begin, remedy) in MISSING {
        let args = [args, &["@nosuch"]].concat();
        assert_eq!(
            said(desk.path(), &args),
            (
                format!("skewguard: {begin}nosuch: No such file or directory; {remedy}\n"),
                Exit::Failed
            ),
            "{args:?}"
        );
    }
}

/// Windows PowerShell redirects in UTF-16: it is read as what it says.
#[test]
fn utf_16_is_read() {
    let desk = desk();
    let wide = |name: &str, text: &str| {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        let path = desk.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let policy = wide("wide.json", &std::fs::read_to_string(POLICY).unwrap());
    let aleph = wide("aleph.json", r#"{"version":"411.86.202308081056-0"}"#);
    let objects = wide("objects.json", &std::fs::read_to_string(AWS).unwrap());
    let (lint, err, exit) = run(&["policy", "lint", &policy]);
    assert_eq!((err.as_str(), exit), ("", Exit::Done), "{lint}");
    let warns = "the file is named .json and is UTF-16: nodes read JSON in UTF-8";
    assert!(lint.contains(warns), "{lint}");
    let yaml = desk.path().join("yaml.json");
    std::fs::write(
        &yaml,
        "apiVersion: skewguard.dev/v1alpha1\nkind: BootImageSkewPolicy\n",
    )
    .unwrap();
    let (lint, ..) = run(&["policy", "lint", yaml.to_str().unwrap()]);
    assert!(lint.contains(&warns.replace("UTF-16", "YAML")), "{lint}");
    let marked = desk.path().join("marked.json");
    let text = std::fs::read_to_string(POLICY).unwrap();
    std::fs::write(&marked, format!("\u{feff}{text}")).unwrap();
    let marked = marked.to_str().unwrap();
    let (lint, ..) = run(&["policy", "lint", marked]);
    let with_mark = warns.replace("UTF-16", "UTF-8 with a byte order mark");
    assert!(lint.contains(&with_mark), "{lint}");
    let judged = run(&["check", "--policy", marked, "--aleph", &aleph]);
    assert!(judged.0.contains("Would be refused: "), "{judged:?}");
    let judged = run(&["check", "--policy", &policy, "--aleph", &aleph]);
    assert!(judged.0.starts_with("Would be refused: "), "{judged:?}");
    let audited = run(&["audit", "--policy", &policy, "--from", &objects]).0;
    assert_eq!(
        audited.lines().next(),
        run(&["audit", "--policy", POLICY, "--from", AWS])
            .0
            .lines()
            .next()
    );
}

/// One sentence.
#[test]
fn another_file_than_was_meant_is_called_what_it_is() {
    let desk = desk();
    let nothing = |file: &str, why: &str| {
        format!(
            "skewguard: {file}: {why}\nskewguard: there is nothing to audit in {file}: no set of machines was read, and no machine or node \
             without one; `oc skewguard audit --print-commands` prints a script that gathers what is read"
        )
    };
    let an_audit = "this is a BootImageAudit, not objects of a cluster; --since reads it";
    let a_policy = "this is a BootImageSkewPolicy, not objects of a cluster; --policy reads it";
    let no_node = "\nskewguard: nothing was read that should become a node: no Machine, BareMetalHost or Agent; \
                   `oc skewguard why --print-commands` prints a script that gathers what is read";
    let aleph = "; a node has it as /sysroot/.coreos-aleph-version.json";
    let since = "; `oc skewguard audit -o json` of the same clusters prints what is read";
    for (args, says) in [
        (&["audit", "--from", "@audit.json"][..], nothing("audit.json", an_audit)),
        (&["audit", "--from", "@policy.json"], nothing("policy.json", a_policy)),
        (
            &["audit", "--from", "@why.json"],
            nothing("why.json", "this is a WhyReport, not objects of a cluster"),
        ),
        (&["audit", "--from", "@empty"], nothing("empty", "is empty")),
        (&["audit", "--from", "@binary"], nothing("binary", "is not UTF-8")),
        (
            &["audit", "--from", "@folder"],
            nothing("folder", "has no objects that the audit reads: `oc get -o json` prints them"),
        ),
        (
            &["audit", "--from", "@nosuch"],
            nothing("nosuch", "No such file or directory"),
        ),
        (
            &["audit", "--from", "@pod.yaml"],
            nothing("pod.yaml", "").split_once('\n').unwrap().1.to_owned(),
        ),
        (&["why", "--from", "@audit.json"], format!("skewguard: audit.json: {an_audit}{no_node}")),
        (&["why", "--from", "@policy.json"], format!("skewguard: policy.json: {a_policy}{no_node}")),
        (
            &["check", "--aleph", "@objects.json"],
            format!("skewguard: --aleph objects.json: this is a List of ClusterVersion, not an aleph file{aleph}"),
        ),
        (
            &["check", "--aleph", "@policy.json"],
            format!("skewguard: --aleph policy.json: names no version{aleph}"),
        ),
        (
            &["check", "--aleph", "@binary"],
            format!("skewguard: --aleph binary: is not an aleph: expected value at line 1 column 1{aleph}"),
        ),
        (
            &["check", "--aleph", "@empty"],
            format!("skewguard: --aleph empty: is empty{aleph}"),
        ),
        (
            &["audit", "--from", AWS, "--since", "@objects.json"],
            format!("skewguard: --since objects.json: this is a List, not a BootImageAudit{since}"),
        ),
        (
            &["audit", "--from", AWS, "--since", "@empty"],
            format!("skewguard: --since empty: is empty{since}"),
        ),
        (
            &["render", "admission", "--policy", POLICY, "--audit", "@objects.json"],
            "skewguard: objects.json: is not what `oc skewguard audit -o json` prints".to_owned(),
        ),
        (
            &["policy", "init", "--from", "@pod.yaml"],
            "skewguard: ClusterVersion `version` was not read, so the release is not known; `oc get clusterversion version -o json` prints it"
                .to_owned(),
        ),
        (
            &["audit", "--kubeconfig", "@objects.json"],
            "skewguard: objects.json: this is a List, not a kubeconfig".to_owned(),
        ),
        (
            &["why", "--kubeconfig", "@policy.json"],
            "skewguard: policy.json: this is a BootImageSkewPolicy, not a kubeconfig".to_owned(),
        ),
        (
            &["audit", "--kubeconfig", "@binary"],
            "skewguard: binary: is not UTF-8".to_owned(),
        ),
        (
            &["audit", "--kubeconfig", "@folder"],
            "skewguard: folder: is a directory".to_owned(),
        ),
        (
            &["policy", "init", "--file", "@folder"],
            "skewguard: folder: is a directory; name a file in it".to_owned(),
        ),
        (
            &["policy", "init", "--file", "@policy.json"],
            "skewguard: policy.json: exists already; --force replaces it".to_owned(),
        ),
        (
            &["render", "machineconfig", "--policy", POLICY, "--binary", "@objects.json"],
            "skewguard: objects.json: is not a program (64-bit ELF, or that packed with xz or gzip); give skewguard-embed, of a release or of \
             `dist/build`"
                .to_owned(),
        ),
        (
            &["inspect", "ami-0123456789abcdef0"],
            "skewguard: ami-0123456789abcdef0: no version that skewguard recognizes; an AMI's name may say it: aws ec2 describe-images \
             --image-ids AMI --query 'Images[].Name'"
                .to_owned(),
        ),
        (
            &["check", "--image", "ami-0123456789abcdef0"],
            "skewguard: --image ami-0123456789abcdef0: no version that skewguard recognizes; an AMI's name may say it: aws ec2 describe-images \
             --image-ids AMI --query 'Images[].Name'"
                .to_owned(),
        ),
        (
            &["audit", "--from", AWS, "--exceptions", "@list.yaml"],
            format!("skewguard: --exceptions list.yaml:1:1: begins with the list itself: {FORM}"),
        ),
        (
            &["audit", "--from", AWS, "--exceptions", "@names.yaml"],
            format!("skewguard: --exceptions names.yaml:2:3: unknown field `name`: {FORM}"),
        ),
    ] {
        let (err, exit) = said(desk.path(), args);
        let err: Vec<&str> = err.lines().filter(|line| line.starts_with("skewguard: ")).collect();
        assert_eq!((err.join("\n"), exit), (says, Exit::Failed), "{args:?}");
    }
}

/// Wrong usage is exit status 2, and its first line names what is wrong.
#[test]
fn wrong_usage_names_what_is_wrong() {
    for (args, says) in [
        (
            &["check"][..],
            "error: the following required arguments were not provided:",
        ),
        (
            &["check", "--image", "9.6.20250523-0", "--aleph", "x"],
            "error: the argument '--image <VERSION>' cannot be used with '--aleph <FILE>'",
        ),
        (
            &["check", "--image", "9.6.20250523-0", "--target", "x"],
            "error: invalid value 'x' for '--target <RELEASE>': not an OCP release: write x.y or x.y.z, such as 4.21 or 4.21.3",
        ),
        (
            &["check", "--image", "9.6.20250523-0", "--pool", ""],
            "error: a value is required for '--pool <POOL>' but none was supplied",
        ),
        (
            &[
                "render",
                "manifests",
                "--policy",
                POLICY,
                "--audit",
                "r.io/cli@sha256:DIGEST",
            ],
            "error: invalid value 'r.io/cli@sha256:DIGEST' for '--audit <IMAGE>': behind @sha256: stand 64 digits, 0 to 9 and a to f",
        ),
        (
            &["audit", "--request-timeout", "x"],
            "error: invalid value 'x' for '--request-timeout <TIME>': is no time: write it like 30s or 2m",
        ),
        (
            &["audit", "--request-timeout", "1h"],
            "error: invalid value '1h' for '--request-timeout <TIME>': must be at most 10m",
        ),
        (
            &["audit", "--from", AWS, "--context", "x"],
            "error: the argument '--from <FILE|DIR|TAR>...' cannot be used with '--context <NAME>'",
        ),
        (
            &["why", "-A", "-n", "x"],
            "error: the argument '--all-namespaces' cannot be used with '--namespace <NAMESPACE>'",
        ),
        (
            &["audit", "--policy", ""],
            "error: invalid value '' for '--policy <FILE>': is empty: name a file, or unset SKEWGUARD_POLICY",
        ),
        (
            &["audit", "--print-commands", "fix", "-o", "json"],
            "error: the argument '--print-commands [<objects|labels|alephs|fix>]' cannot be used with '--output \
             <text|wide|json|yaml|html|markdown|junit|csv|sarif>'",
        ),
        (
            &["audit", "--from", AWS, "--any-release"],
            "error: the following required arguments were not provided:",
        ),
        (
            &["policy", "lint", "-f", AWS],
            "error: the following required arguments were not provided:",
        ),
        (&["audti"], "error: unrecognized subcommand 'audti'"),
    ] {
        let (out, err, exit) = run(args);
        assert_eq!((out.as_str(), exit), ("", Exit::Usage), "{args:?}");
        assert_eq!(err.lines().next(), Some(says), "{args:?}: {err}");
    }
    let (_, err, _) = run(&["check"]);
    assert!(
        err.contains("\n  <--aleph <FILE>|--image <VERSION>>\n"),
        "{err}"
    );
}

/// A full disk, no home, no terminal: no panic, and no number.
#[test]
fn a_poor_environment_is_told_in_a_sentence() {
    let program = || Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"));
    for args in [
        &["audit", "--from", AWS][..],
        &["check", "--image", "9.6.20250523-0"],
        &["--help"],
    ] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let done = program().args(args).stdout(full).output().unwrap();
        assert_eq!(
            (
                String::from_utf8_lossy(&done.stderr).as_ref(),
                done.status.code()
            ),
            (
                "skewguard: standard output: No space left on device\n",
                Some(1)
            ),
            "{args:?}"
        );
    }
    let done = program().arg("audit").env_clear().output().unwrap();
    let wanted = "skewguard: neither KUBECONFIG nor HOME is set: name one with --kubeconfig, or objects that `oc get -o json` printed with --from\n";
    assert_eq!(
        (
            String::from_utf8_lossy(&done.stderr).as_ref(),
            done.status.code()
        ),
        (wanted, Some(1))
    );
    let done = program()
        .args(["audit", "--from", AWS])
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(
        (done.stderr.as_slice(), done.status.code()),
        (&b""[..], Some(4))
    );
    assert!(
        done.stdout
            .starts_with(b"Not known to be ready to enforce: ")
    );
}

/// The resolver of names panics where it gets no thread: root always gets one, nobody does not.
#[test]
fn a_panic_of_a_library_is_one_sentence() {
    use std::os::unix::{fs::MetadataExt as _, fs::PermissionsExt, process::CommandExt as _};
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let (program, kubeconfig) = (dir.path().join("program"), dir.path().join("kubeconfig"));
    std::fs::copy(env!("CARGO_BIN_EXE_kubectl-skewguard"), &program).unwrap();
    let cluster = r#"{clusters: [{name: a, cluster: {server: "https://localhost:1"}}], users: [{name: a, user: {token: x}}],
        contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}"#;
    std::fs::write(&kubeconfig, cluster).unwrap();
    let mut limited = Command::new("prlimit");
    limited.arg("--nproc=1").arg(program).arg("audit");
    limited.arg("--kubeconfig").arg(kubeconfig);
    if dir.path().metadata().unwrap().uid() == 0 {
        limited.gid(65534).uid(65534);
    }
    let done = limited.output().unwrap();
    let says = String::from_utf8(done.stderr).unwrap();
    let (start, place) = says.split_once(" (at ").unwrap();
    assert_eq!(
        start,
        concat!(
            "skewguard: this is a fault of kubectl-skewguard ",
            env!("CARGO_PKG_VERSION"),
            ": OS can't spawn worker thread: Resource temporarily unavailable (os error 11)"
        )
    );
    let end = "). Nothing was changed in the cluster. Please report it, with this line\n";
    assert!(place.ends_with(end) && place.lines().count() == 1, "{says}");
    assert_eq!(
        (done.stdout.as_slice(), done.status.code()),
        (&b""[..], Some(1))
    );
}

/// Without the agent beside the program: what to take, and from where.
#[test]
fn a_machineconfig_without_the_agent_says_where_it_comes_from() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("kubectl-skewguard");
    std::fs::copy(env!("CARGO_BIN_EXE_kubectl-skewguard"), &program).unwrap();
    let done = Command::new(program)
        .args(["render", "machineconfig", "--policy", POLICY])
        .output()
        .unwrap();
    let says = String::from_utf8(done.stderr).unwrap();
    let wanted = "skewguard: there is no skewguard-embed, the agent for nodes, beside this program: take it from the same release or build it with \
                  `dist/build embed`, and name it with --binary; or use --policy-only, where the nodes have the agent";
    assert_eq!(
        (says.lines().last(), done.status.code()),
        (Some(wanted), Some(1))
    );
}
