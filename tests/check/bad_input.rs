//! Every file that is read, broken in every way: no panic, no hang, bounded memory, no good boot
//! image blocked, and the file is named.

use crate::check::{copy_tree, tree};
use nix::sys::stat::Mode;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const ALEPH: &str = "sysroot/.aleph-version.json";
const ENCAPSULATED: &str = "etc/ignition-machine-config-encapsulated.json";
const SERVED: &str = "etc/mcs-machine-config-content.json";
const POLICY: &str = "etc/skewguard/policy.json";
const RECORD: &str = "etc/skewguard/boot-image.json";
const OS_RELEASE: &str = "usr/lib/os-release";
const CMDLINE: &str = "proc/cmdline";
const OVERRIDE: &str = "run/skewguard/override";
const ORIGIN: &str = "sysroot/ostree/deploy/rhcos/deploy/c0ffee0000000000000000000000000000000000000000000000000000000000.0.origin";

const JSON: [&str; 5] = [ALEPH, ENCAPSULATED, SERVED, POLICY, RECORD];
const TEXT: [&str; 4] = [OS_RELEASE, CMDLINE, OVERRIDE, ORIGIN];

/// Most processor time a check may use, in seconds: a loop that never ends is killed.
const PROCESSOR: u32 = 10;

/// When a check that waits for something is killed, in seconds.
const HANG: u32 = 100;

/// Most memory a check may use, in KiB of address space.
const MEMORY_KIB: u32 = 64 << 10;

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs `check` with little memory and processor time, as nobody where `unprivileged`. One that
/// hangs is killed and has no exit status.
fn check(dir: &Path, unprivileged: bool) -> Run {
    check_within(dir, unprivileged, MEMORY_KIB)
}

fn check_within(dir: &Path, unprivileged: bool, memory_kib: u32) -> Run {
    let program = dir.join("skewguard");
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!(
        "ulimit -v {memory_kib}; ulimit -t {PROCESSOR}; exec timeout -s KILL {HANG} \"$0\" \"$@\""
    ));
    command
        .arg(&program)
        .args(["check", "--output", "json", "--root"])
        .arg(dir.join("root"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if unprivileged && nix::unistd::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let output = command.output().expect("sh starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// A good node with every optional file present, and the program beside it.
fn good_node(dir: &Path) {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("opened up");
    // By another process: a descriptor open for writing, inherited by a test that forks meanwhile,
    // would make the program "busy".
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_skewguard"))
        .arg(dir.join("skewguard"))
        .status();
    assert!(copied.expect("cp starts").success());
    let root = dir.join("root");
    fs::create_dir(&root).expect("root made");
    copy_tree(&tree("rhcos-4.18-allowed"), &root);
    for (path, content) in [
        (
            RECORD,
            "{\"apiVersion\":\"skewguard.dev/v1alpha1\",\"kind\":\"BootImageRecord\",\"version\":\"418.94.202511191518-0\",\
             \"deployment\":\"c0ffee0000000000000000000000000000000000000000000000000000000000.0\",\"base\":\"x\"}",
        ),
        (OVERRIDE, "enforce\n"),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, content).expect("written");
    }
}

/// Breaks `path` under a good node and runs `check` on it.
fn broken(path: &str, unprivileged: bool, break_it: &dyn Fn(&Path)) -> Run {
    let dir = tempfile::tempdir().expect("tempdir");
    good_node(dir.path());
    break_it(&dir.path().join("root").join(path));
    check(dir.path(), unprivileged)
}

/// The path under which a warning names the file.
fn shown(path: &str) -> String {
    match path {
        ALEPH => "/sysroot/.coreos-aleph-version.json".to_owned(),
        OS_RELEASE => "/etc/os-release".to_owned(),
        ORIGIN => ".origin".to_owned(),
        path => format!("/{path}"),
    }
}

fn assert_survived(what: &str, path: &str, run: &Run, must_warn: bool) {
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(0), ""),
        "{what} {path}: a good boot image goes on\n{}",
        run.stdout
    );
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("the verdict is JSON");
    assert_eq!(json["action"], "Proceed", "{what} {path}");
    let warnings = json["warnings"].to_string();
    if must_warn {
        assert!(
            warnings.contains(&shown(path)),
            "{what} {path}: no warning names it: {warnings}"
        );
    }
    assert!(
        run.stdout
            .bytes()
            .all(|b| b == b'\n' || (b' '..=b'~').contains(&b)),
        "{what} {path}: raw bytes in {:?}",
        run.stdout
    );
}

fn replace(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("broken");
}

#[test]
fn the_good_node_is_good() {
    let dir = tempfile::tempdir().expect("tempdir");
    good_node(dir.path());
    let run = check(dir.path(), true);
    assert_survived("whole", ALEPH, &run, false);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(
        (
            json["verdict"].as_str(),
            json["warnings"].to_string().as_str()
        ),
        (Some("Allowed"), "[]")
    );
}

#[test]
fn broken_json_is_named_and_never_blocks() {
    let deep = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    let deep_field = [b"{\"metadata\":".as_slice(), &deep, b"}"].concat();
    let wide = format!("{{\"limits\":[{}1]}}", "[],".repeat(60_000));
    let contents: [(&str, &[u8]); 10] = [
        ("empty", b""),
        ("binary", b"\x7fELF\x02\x01\x01\0\0\xff\xfe\x80"),
        ("a number", b"42"),
        ("a list", b"[]"),
        ("a string", b"\"x\""),
        ("null", b"null"),
        ("wrong types", br#"{"version":7,"build":[],"metadata":[],"spec":"x","mode":{},"limits":7,"apiVersion":1,"kind":2,"ostree":3}"#),
        ("200,000 levels", &deep),
        ("200,000 levels in a field", &deep_field),
        ("a wide list", wide.as_bytes()),
    ];
    for path in JSON {
        for (what, bytes) in &contents {
            assert_survived(
                what,
                path,
                &broken(path, true, &|file| replace(file, bytes)),
                true,
            );
        }
        let halved = broken(path, true, &|file| {
            let bytes = fs::read(file).expect("read");
            replace(file, &bytes[..bytes.len() / 2]);
        });
        assert_survived("truncated", path, &halved, true);
    }
}

#[test]
fn what_is_no_readable_file_is_named_and_never_blocks() {
    let outside = tempfile::tempdir().expect("tempdir");
    let secret = outside.path().join("secret");
    fs::write(&secret, "{\"version\":\"411.86.202308081056-0\"}").expect("written");
    let remove = |file: &Path| fs::remove_file(file).expect("removed");
    type Way<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>);
    let ways: [Way<'_>; 7] = [
        (
            "2 GiB sparse",
            Box::new(|file| {
                fs::OpenOptions::new()
                    .write(true)
                    .open(file)
                    .and_then(|f| f.set_len(2 << 30))
                    .expect("grown")
            }),
        ),
        (
            "directory",
            Box::new(|file| {
                remove(file);
                fs::create_dir(file).expect("made");
            }),
        ),
        (
            "FIFO",
            Box::new(|file| {
                remove(file);
                nix::unistd::mkfifo(file, Mode::S_IRUSR | Mode::S_IROTH).expect("made");
            }),
        ),
        (
            "symlink loop",
            Box::new(|file| {
                remove(file);
                symlink(file.file_name().expect("named"), file).expect("linked");
            }),
        ),
        (
            "symlink out of the root",
            Box::new(|file| {
                remove(file);
                symlink(&secret, file).expect("linked");
            }),
        ),
        (
            "symlink out of the root by dots",
            Box::new(|file| {
                remove(file);
                let up = "../".repeat(40);
                symlink(format!("{up}{}", secret.display()), file).expect("linked");
            }),
        ),
        (
            "unreadable",
            Box::new(|file| {
                fs::set_permissions(file, fs::Permissions::from_mode(0o000)).expect("closed")
            }),
        ),
    ];
    for path in JSON.into_iter().chain(TEXT) {
        for (what, way) in &ways {
            let run = broken(path, true, way.as_ref());
            if *what == "unreadable" {
                // The node reads it as root, and may decide otherwise.
                let file = shown(path);
                assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{path}");
                assert!(run.stderr.contains(&file), "{path}: {}", run.stderr);
                let remedy = "Permission denied (os error 13); run it with sudo";
                assert!(run.stderr.contains(remedy), "{path}: {}", run.stderr);
                continue;
            }
            assert_survived(what, path, &run, true);
            assert!(
                !run.stdout.contains("411.86"),
                "{what} {path}: read from outside the root"
            );
        }
    }
}

/// The node decides as root. Somebody who may not see the kubelet's folder cannot say that the node
/// goes on.
#[test]
fn what_only_root_may_see_of_a_refused_node_is_an_error() {
    let dir = tempfile::tempdir().expect("tempdir");
    good_node(dir.path());
    let root = dir.path().join("root");
    fs::remove_dir_all(&root).expect("removed");
    fs::create_dir(&root).expect("made");
    copy_tree(&tree("rhcos-4.12-refused"), &root);
    assert_eq!(check(dir.path(), true).code, Some(3));
    let kubelet = root.join("var/lib/kubelet");
    fs::create_dir_all(&kubelet).expect("made");
    fs::set_permissions(&kubelet, fs::Permissions::from_mode(0o000)).expect("closed");
    let run = check(dir.path(), true);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (
            Some(1),
            "",
            "skewguard: /var/lib/kubelet/pki/kubelet-client-current.pem: Permission denied (os error 13); run it with sudo\n"
        )
    );
    assert_eq!(check(dir.path(), false).code, Some(3), "as root");
}

#[test]
fn binary_text_files_are_named_and_never_block() {
    for path in TEXT {
        let run = broken(path, true, &|file| replace(file, b"\xff\xfe\0ostree=\x80"));
        // os-release has many values, and what is not UTF-8 spoils one of them.
        assert_survived("binary", path, &run, path != OS_RELEASE);
        assert_survived(
            "empty",
            path,
            &broken(path, true, &|file| replace(file, b"")),
            false,
        );
    }
}

#[test]
fn hostile_strings_never_reach_the_output_raw() {
    let hostile = "9.9\u{1b}[2J\\S\\n\u{202e}\u{9b}31m\u{7f}\r";
    let aleph = serde_json::json!({ "version": hostile }).to_string();
    assert_survived(
        "version",
        ALEPH,
        &broken(ALEPH, true, &|file| replace(file, aleph.as_bytes())),
        false,
    );
    let config = serde_json::json!({"metadata": {"name": hostile, "annotations": {
        "machineconfiguration.openshift.io/release-image-version": hostile},
        "ownerReferences": [{"kind": "MachineConfigPool", "name": hostile}]}, "spec": {"osImageURL": hostile}})
    .to_string();
    assert_survived(
        "target",
        ENCAPSULATED,
        &broken(ENCAPSULATED, true, &|file| replace(file, config.as_bytes())),
        false,
    );
    let line =
        format!("ostree=/ostree/{hostile} ignition.platform.id={hostile} skewguard={hostile}\n");
    assert_survived(
        "arguments",
        CMDLINE,
        &broken(CMDLINE, true, &|file| replace(file, line.as_bytes())),
        false,
    );
    assert_survived(
        "override",
        OVERRIDE,
        &broken(OVERRIDE, true, &|file| replace(file, hostile.as_bytes())),
        true,
    );
}

/// Policies of the largest size that is read, made of as many of the shortest elements as fit.
#[test]
fn a_policy_as_large_as_allowed_stays_within_memory_and_its_verdict_small() {
    let many = |what: &str, of: &str| {
        let head = r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce","#;
        let room = (256 << 10) - head.len() - what.len() - of.len();
        let list = format!("{of},").repeat(room / (of.len() + 1));
        format!("{head}{}", what.replace('@', &format!("{list}{of}")))
    };
    for (what, of) in [
        (r#""limits":[@]}"#, "{}"),
        (r#""limits":[@]}"#, "0"),
        (r#""limits":[{"rhelMajors":[@]}]}"#, "9"),
        (r#""limits":[{"deniedVersions":[@]}]}"#, "{}"),
        (r#""limits":[{"deniedVersions":[@]}]}"#, r#"{"version":""}"#),
        (r#""limits":[{"pools":[@]}]}"#, r#""""#),
        (r#""limits":[{"x":[@]}]}"#, "[]"),
        (r#""limits":[],"x":[@]}"#, "[]"),
        (r#""limits":[{@}]}"#, r#""":0"#),
    ] {
        let dir = tempfile::tempdir().expect("tempdir");
        good_node(dir.path());
        fs::remove_file(dir.path().join("root").join(SERVED)).expect("removed");
        replace(
            &dir.path().join("root").join(POLICY),
            many(what, of).as_bytes(),
        );
        let run = check_within(dir.path(), true, MEMORY_KIB / 2);
        assert_survived(of, POLICY, &run, false);
        // More than that is not read back.
        assert!(
            run.stdout.len() < 256 << 10,
            "{what} {of}: {} bytes",
            run.stdout.len()
        );
    }
}

#[test]
fn a_served_config_as_large_as_allowed_stays_within_memory() {
    let files = "{},".repeat((8 << 20) / 3 - 100);
    let many = format!(
        "{{\"metadata\":{{}},\"spec\":{{\"config\":{{\"storage\":{{\"files\":[{files}{{}}]}}}}}}}}"
    );
    assert_survived(
        "files without a path",
        SERVED,
        &broken(SERVED, true, &|file| replace(file, many.as_bytes())),
        true,
    );
    let owners = format!("{{\"metadata\":{{\"ownerReferences\":[{files}{{}}]}},\"spec\":{{}}}}");
    assert_survived(
        "owners",
        ENCAPSULATED,
        &broken(ENCAPSULATED, true, &|file| replace(file, owners.as_bytes())),
        false,
    );
    let zeros = "AAAA".repeat((8 << 20) / 4 - 200);
    let large = format!(
        "{{\"metadata\":{{}},\"spec\":{{\"config\":{{\"storage\":{{\"files\":[{{\"path\":\"/etc/skewguard/policy.json\",\
         \"contents\":{{\"source\":\"data:;base64,{zeros}\"}}}}]}}}}}}}}"
    );
    assert_survived(
        "a policy of 6 MiB",
        SERVED,
        &broken(SERVED, true, &|file| replace(file, large.as_bytes())),
        true,
    );
}
