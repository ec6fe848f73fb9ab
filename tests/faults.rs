//! Every system call that reads or changes a file, failing or killing the agent: strace(1) injects
//! that into the real program on sample nodes.
//!
//! By default a sample: a kill at every change that `enforce` makes to a refused node, and one in
//! so many of all other faults. `SKEWGUARD_TEST_FAULTS=all` (`tests/faults`) makes it all of
//! them, with a scenario's name all of that scenario; `SKEWGUARD_TEST_PROGRAM` names another
//! `skewguard` than cargo's.

#[path = "cut_off/mod.rs"]
pub(crate) mod cut_off;

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// System calls that change files.
const CHANGES: [&str; 9] = [
    "write",
    "fsync",
    "fchmod",
    "mkdirat",
    "linkat",
    "symlinkat",
    "unlinkat",
    "renameat",
    "rename",
];

/// System calls that find, read or lock them. `fcntl` and `close` are not: what they are used for
/// here does not fail.
const READS: [&str; 11] = [
    "openat",
    "openat2",
    "read",
    "pread64",
    "newfstatat",
    "fstat",
    "stat",
    "statx",
    "readlinkat",
    "getdents64",
    "flock",
];

/// What a fault does to a call.
const FAULTS: [(&str, &str); 8] = [
    ("error=EIO", "Input/output error"),
    ("error=ENOSPC", "No space left on device"),
    ("error=EROFS", "Read-only file system"),
    ("error=EACCES", "Permission denied"),
    ("error=EINTR", "Interrupted system call"),
    ("error=EMFILE", "Too many open files"),
    ("error=ENOMEM", "Cannot allocate memory"),
    (KILL, ""),
];
pub(crate) const KILL: &str = "signal=KILL";

/// The sample takes one fault in so many.
const SAMPLE: usize = 61;

const STAMP: &str = "run/skewguard/refused";
const RECORD: &str = "etc/skewguard/boot-image.json";
const SAVED: &str = "var/lib/skewguard/issue.saved";
/// The original, under a second name.
const ASIDE: &str = "etc/issue.skewguard-saved";
const VERDICTS: [&str; 2] = [
    "run/skewguard/verdict.json",
    "var/lib/skewguard/verdict.json",
];
const LOCK: &str = "run/skewguard/lock";
const ISSUE: &str = "etc/issue";
const CONFIG: &str = "etc/ignition-machine-config-encapsulated.json";

type Files = BTreeMap<String, Vec<u8>>;

struct Scenario {
    name: &'static str,
    tree: &'static str,
    prepare: fn(&Path),
    args: &'static [&'static str],
    /// The exit status of a run without a fault.
    code: i32,
}

const SCENARIOS: [Scenario; 11] = [
    Scenario {
        name: "enforce, refused",
        tree: "rhcos-4.12-refused",
        prepare: |_| {},
        args: &["enforce"],
        code: 3,
    },
    Scenario {
        name: "enforce, refused before",
        tree: "rhcos-4.12-refused",
        prepare: hold,
        args: &["enforce"],
        code: 3,
    },
    Scenario {
        name: "enforce, refused for its machine",
        tree: "rhcos-4.18-allowed",
        prepare: give_an_old_shim,
        args: &["enforce"],
        code: 3,
    },
    Scenario {
        name: "enforce, warned",
        tree: "rhcos-4.12-warn",
        prepare: |_| {},
        args: &["enforce"],
        code: 0,
    },
    Scenario {
        name: "enforce, allowed",
        tree: "rhcos-4.18-allowed",
        prepare: |_| {},
        args: &["enforce"],
        code: 0,
    },
    Scenario {
        name: "enforce, rebased",
        tree: "rhcos-4.12-refused",
        prepare: rebase,
        args: &["enforce"],
        code: 0,
    },
    Scenario {
        name: "allow",
        tree: "rhcos-4.12-refused",
        prepare: hold,
        args: &["allow"],
        code: 0,
    },
    Scenario {
        name: "check, refused",
        tree: "rhcos-4.12-refused",
        prepare: |_| {},
        args: &["check"],
        code: 3,
    },
    Scenario {
        name: "check, allowed",
        tree: "rhcos-4.18-allowed",
        prepare: |_| {},
        args: &["check"],
        code: 0,
    },
    Scenario {
        name: "report, held",
        tree: "rhcos-4.12-refused",
        prepare: tell,
        args: &["report", "--once"],
        code: 0,
    },
    Scenario {
        name: "report, rebased",
        tree: "rhcos-4.12-refused",
        prepare: rebase_untold,
        args: &["report", "--once"],
        code: 1,
    },
];

fn hold(root: &Path) {
    assert_eq!(skewguard(root, &["enforce"]).status.code(), Some(3));
}

/// Only its shim is refused, because Secure Boot is on; its CPU is allowed.
fn give_an_old_shim(root: &Path) {
    fs::remove_file(root.join("etc/mcs-machine-config-content.json")).expect("removed");
    let rules = r#"{ "minimumCPU": { "x86_64": "x86-64-v2" }, "minimumShim": "15.8-3" }"#;
    let policy = format!(
        r#"{{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [{rules}] }}"#
    );
    let state = r#"{ "installed": { "EFI": { "meta": { "version": "grub2-efi-x64-1:2.06-1,shim-x64-15.6-1.el9.x86_64" } } } }"#;
    let variable = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    let cpu = include_bytes!("data/cpuinfo/x86_64-v2-xeon-w3530");
    for (path, bytes) in [
        ("etc/skewguard/policy.json", policy.as_bytes()),
        ("proc/cpuinfo", cpu),
        ("boot/bootupd-state.json", state.as_bytes()),
        (variable, &[6, 0, 0, 0, 1]),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    }
}

/// Rebased, with the message still there, and on its way to join.
fn rebase(root: &Path) {
    hold(root);
    fs::remove_dir_all(root.join("run")).expect("removed");
    fs::rename(root.join(CONFIG), root.join(format!("{CONFIG}.bak"))).expect("renamed");
    fs::create_dir_all(root.join("var/lib/kubelet")).expect("made");
    fs::write(root.join("var/lib/kubelet/kubeconfig"), "{}").expect("written");
}

/// The same, and there is nothing to report: a report waits for a random part of a few seconds.
fn rebase_untold(root: &Path) {
    rebase(root);
    fs::remove_file(root.join("var/lib/skewguard/verdict.json")).expect("removed");
    let mut record = json(root, RECORD);
    record.as_object_mut().expect("an object").remove("refusal");
    fs::write(root.join(RECORD), record.to_string()).expect("written");
}

fn json(root: &Path, path: &str) -> serde_json::Value {
    serde_json::from_slice(&fs::read(root.join(path)).expect("read")).expect("JSON")
}

/// Held, and the cluster knows: what it was told has the name that a report has.
fn tell(root: &Path) {
    hold(root);
    fs::write(root.join("etc/hostname"), "worker-3\n").expect("written");
    let verdict = json(root, "var/lib/skewguard/verdict.json");
    let installation = verdict["installation"].as_str().expect("an id");
    let field = |(name, path): (&str, &str)| {
        let value = verdict.pointer(path).unwrap_or(&serde_json::Value::Null);
        format!("\"{name}\":{value}")
    };
    let fields = [
        ("verdict", "/verdict"),
        ("action", "/action"),
        ("reason", "/reason"),
        ("held", "/gate/held"),
        ("boot_image", "/bootImage/version"),
        ("release", "/target/release"),
        ("pool", "/target/pool"),
        ("machine_config", "/target/machineConfig"),
        ("os_image", "/target/osImageURL"),
        ("policy", "/policy/digest"),
        ("override", "/override"),
    ];
    let key = format!("{{{}}}", fields.map(field).join(","));
    let hash = Sha256::digest(format!("{installation}\n{key}"));
    let hash: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("worker-3-{hash}");
    // The last Event was a moment ago, so that no other is due.
    let now = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_secs();
    let state = serde_json::json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState",
        "installation": installation, "reports": [{ "name": name, "uid": "1" }],
        "event": { "report": name, "at": now } });
    let path = root.join("var/lib/skewguard/report-state.json");
    fs::write(path, state.to_string()).expect("written");
}

pub(crate) fn program() -> OsString {
    std::env::var_os("SKEWGUARD_TEST_PROGRAM")
        .filter(|program| !program.is_empty())
        .unwrap_or(env!("CARGO_BIN_EXE_skewguard").into())
}

fn skewguard(root: &Path, args: &[&str]) -> Output {
    Command::new(program())
        .arg(args[0])
        .arg("--root")
        .arg(root)
        .args(&args[1..])
        .output()
        .expect("skewguard starts")
}

/// The program under strace, with `inject` as its fault, and the trace.
fn traced(root: &Path, args: &[&str], calls: &[&str], inject: Option<&str>) -> (Output, String) {
    trace_of(root, args, calls, inject, false)
}

/// The same. `has_paths`: the trace names the path of each descriptor.
pub(crate) fn trace_of(
    root: &Path,
    args: &[&str],
    calls: &[&str],
    inject: Option<&str>,
    has_paths: bool,
) -> (Output, String) {
    let trace = tempfile::NamedTempFile::new_in("/dev/shm")
        .or_else(|_| tempfile::NamedTempFile::new())
        .expect("a temporary file");
    let mut strace = Command::new("strace");
    // A call that this architecture does not have is no error with a question mark.
    strace
        .args(["-f", "-qq", "-o"])
        .arg(trace.path())
        .args(["-e", &format!("trace=?{}", calls.join(",?"))]);
    strace.args(has_paths.then_some("-y"));
    // Stops at no other call, and so is faster; strace 6.1 then injects no signal.
    strace.args(
        inject
            .is_some_and(|inject| !inject.contains(KILL))
            .then_some("--seccomp-bpf"),
    );
    strace.args(
        inject
            .iter()
            .flat_map(|inject| ["-e".to_owned(), format!("inject={inject}")]),
    );
    strace
        .arg(program())
        .arg(args[0])
        .arg("--root")
        .arg(root)
        .args(&args[1..]);
    // Cargo's, which makes the dynamic loader look for every library in a dozen folders.
    let output = strace
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .unwrap_or_else(|error| panic!("strace: {error}; install the Debian package strace"));
    (output, fs::read_to_string(trace.path()).expect("a trace"))
}

fn temporary() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("temporary directory")
}

fn copy(from: &Path) -> TempDir {
    let dir = temporary();
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(from.join("."))
            .arg(dir.path())
            .status()
            .expect("cp runs")
            .success()
    );
    dir
}

/// Content, or target of the symlink, of everything below `dir` that is no directory.
fn files(dir: &Path) -> Files {
    let mut found = Files::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(here) = todo.pop() {
        for entry in fs::read_dir(&here)
            .expect("a directory")
            .map(|entry| entry.expect("an entry"))
        {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            let name = path
                .strip_prefix(dir)
                .expect("below")
                .to_str()
                .expect("UTF-8")
                .to_owned();
            if kind.is_dir() {
                todo.push(path);
            } else if kind.is_symlink() {
                found.insert(
                    name,
                    fs::read_link(&path)
                        .expect("a target")
                        .into_os_string()
                        .into_encoded_bytes(),
                );
            } else {
                found.insert(name, fs::read(&path).expect("read"));
            }
        }
    }
    found
}

/// The record, without the time of a refusal; and without the refusal, of which a run that is cut
/// off knows less.
fn record(bytes: &[u8], with_refusal: bool) -> Option<serde_json::Value> {
    let mut record: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let fields = record.as_object_mut()?;
    fields.remove("refusedAt");
    if !with_refusal {
        fields.remove("refusal");
    }
    Some(record)
}

fn is_record(bytes: &[u8], whole: Option<&Vec<u8>>) -> bool {
    whole.is_some_and(|whole| record(bytes, false) == record(whole, false))
}

fn is_temporary(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.starts_with('.') && name.contains(".skewguard-")
}

fn is_drop_in(path: &str) -> bool {
    path.starts_with("run/systemd/system/")
}

/// The paths that skewguard may change.
fn is_ours(path: &str) -> bool {
    let console = [
        "etc/issue.d/zz-skewguard.issue",
        "run/skewguard-prompt.issue",
        ASIDE,
        "etc/motd.d/skewguard",
    ];
    let folders = [
        "run/skewguard/",
        "var/lib/skewguard/",
        "run/systemd/system/",
    ];
    console.contains(&path)
        || path == RECORD
        || folders.iter().any(|folder| path.starts_with(folder))
        || is_temporary(path)
}

fn differing<'a>(a: &'a Files, b: &'a Files) -> Vec<&'a str> {
    let mut names: Vec<&str> = a
        .keys()
        .chain(b.keys())
        .filter(|path| match (a.get(*path), b.get(*path)) {
            (Some(a), Some(b)) if *path == RECORD => record(a, true) != record(b, true),
            (a, b) => a != b,
        })
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A scenario, and how it goes without a fault.
struct Clean {
    start: TempDir,
    before: Files,
    after: Files,
    /// After what [`repair`] runs.
    repaired: Vec<Files>,
    /// Every call, by name, and how often it is made.
    calls: Vec<(&'static str, usize)>,
}

/// What runs without a fault make of a node afterwards: where it is refused, the next boot's and
/// then `allow`; else the same once more.
fn repair(scenario: &Scenario, root: &Path) -> Result<Vec<Files>, String> {
    let run = |args: &[&str], code: i32| {
        let output = skewguard(root, args);
        if output.status.code() == Some(code) {
            Ok(files(root))
        } else {
            Err(format!("then {args:?}: {output:?}"))
        }
    };
    Ok(match (scenario.args[0], scenario.code) {
        ("enforce", 3) => {
            let _ = fs::remove_dir_all(root.join("run"));
            vec![run(&["enforce"], 3)?, run(&["allow"], 0)?]
        }
        // It starts the boot again, and with it our unit.
        ("allow", _) => {
            run(&["allow"], 0)?;
            vec![run(&["enforce"], 0)?]
        }
        _ => vec![run(scenario.args, scenario.code)?],
    })
}

fn clean(scenario: &Scenario) -> Clean {
    let start = copy(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/trees")
            .join(scenario.tree),
    );
    (scenario.prepare)(start.path());
    let node = copy(start.path());
    let all = [&CHANGES[..], &READS].concat();
    let (output, trace) = traced(node.path(), scenario.args, &all, None);
    assert_eq!(
        output.status.code(),
        Some(scenario.code),
        "{}: {output:?}",
        scenario.name
    );
    let count = |call: &str| {
        trace
            .lines()
            .filter(|line| line.contains(&format!(" {call}(")))
            .count()
    };
    let calls: Vec<_> = all
        .into_iter()
        .map(|call| (call, count(call)))
        .filter(|(_, count)| *count > 0)
        .collect();
    assert!(
        calls.len() >= 5,
        "strace sees no system calls: may a process of this machine be traced (ptrace(2))? {trace}"
    );
    let after = files(node.path());
    let repaired = repair(scenario, node.path()).expect("the next run");
    Clean {
        before: files(start.path()),
        start,
        after,
        repaired,
        calls,
    }
}

/// One fault in one run.
#[derive(Clone, Copy)]
struct Try {
    call: &'static str,
    nth: usize,
    fault: (&'static str, &'static str),
}

/// What is wrong with what a run under a fault leaves, if anything.
fn outcome(
    scenario: &Scenario,
    clean: &Clean,
    Try {
        call,
        nth,
        fault: (fault, words),
    }: Try,
) -> Result<(), String> {
    let dir = copy(clean.start.path());
    let (output, _) = traced(
        dir.path(),
        scenario.args,
        &[call],
        Some(&format!("{call}:{fault}:when={nth}")),
    );
    let said = [&output.stdout[..], &output.stderr]
        .map(String::from_utf8_lossy)
        .concat();
    let killed = fault == KILL;
    let is = |holds: bool, what: &str| {
        if holds {
            Ok(())
        } else {
            Err(format!("{what}; {}, it said: {said}", output.status))
        }
    };
    let code = output.status.code();
    if killed {
        is(
            output.status.signal().or(code.map(|code| code - 128)) == Some(9),
            "it is not killed",
        )?;
    } else {
        // 127: the dynamic loader could not load the program, which is static where it ships.
        is(
            matches!(code, Some(0 | 1 | 3 | 127)),
            "it ends otherwise than it may",
        )?;
    }

    // No file of anybody else is changed, and none is torn.
    let left = files(dir.path());
    for path in differing(&clean.before, &left) {
        is(
            is_ours(path) || path == ISSUE,
            &format!("{path} is changed"),
        )?;
    }
    let is_whole = |path: &str| {
        [&clean.before, &clean.after]
            .iter()
            .any(|whole| whole.get(path) == left.get(path))
    };
    let below: &[u8] = b"\\S \\S{VERSION_ID}\n";
    let issue = left.get(ISSUE).map(Vec::as_slice).unwrap_or_default();
    // What cannot be read is not repeated below the message; it is kept beside it.
    let ends = issue.ends_with(&[b"\n\n", below].concat())
        || left
            .get(ASIDE)
            .is_some_and(|aside| aside == b"../usr/lib/issue");
    is(
        is_whole(ISSUE) || (issue.starts_with(b"*** NODE") && ends),
        &format!("/etc/issue is torn: {}", String::from_utf8_lossy(issue)),
    )?;
    let has_way_back =
        clean.before.get(ISSUE).map(Vec::as_slice) == Some(issue) || left.contains_key(ASIDE);
    is(
        has_way_back || scenario.code != 3,
        "there is no way back for /etc/issue",
    )?;
    for (path, content) in left
        .iter()
        .filter(|(path, _)| is_ours(path) && !is_temporary(path))
    {
        let is_left = path == RECORD && is_record(content, clean.after.get(RECORD));
        is(
            !killed || is_left || is_whole(path),
            &format!("{path} is torn"),
        )?;
        is(
            !path.ends_with(".json")
                || serde_json::from_slice::<serde_json::Value>(content).is_ok(),
            &format!("{path} is no JSON"),
        )?;
    }

    // The stamp means that everything is held; nothing that goes on is ever held, and nothing that
    // is to be held goes on without a word.
    let held = left.contains_key(STAMP);
    let drop_ins = |files: &Files| {
        files
            .keys()
            .filter(|path| is_drop_in(path) && !is_temporary(path))
            .count()
    };
    let told = killed || matches!(code, Some(1 | 127)) || said.contains(words);
    match (scenario.args[0], scenario.code) {
        ("check", _) => is(
            differing(&clean.before, &left).is_empty(),
            "check changes something",
        )?,
        ("report", _) => is(
            differing(&clean.before, &left)
                .into_iter()
                .all(|path| path != STAMP && !is_drop_in(path)),
            "it changes the hold",
        )?,
        ("allow", _) => {
            is(
                code != Some(0) || (!held && drop_ins(&left) == 0),
                "it says that the node goes on",
            )?;
            is(
                left.get(ISSUE) == clean.after.get(ISSUE) || told,
                "the message stays, without a word",
            )?;
        }
        (_, 3) => {
            is(
                !held || drop_ins(&left) == drop_ins(&clean.after),
                "stamped, and not all is held",
            )?;
            is(
                held || scenario.name != SCENARIOS[1].name,
                "a boot that is refused does not stay refused",
            )?;
            let before_all = matches!(code, Some(1 | 127)) && clean.before.contains_key(STAMP);
            is(
                killed || before_all || held == (code == Some(3)),
                "stamp and exit status differ",
            )?;
        }
        _ => is(!held && drop_ins(&left) == 0, "a node that goes on is held")?,
    }
    is(
        code == Some(3) || scenario.code != 3 || told,
        "a refusal is lost without a word",
    )?;
    is(
        code != Some(3) || scenario.code == 3,
        "a node that goes on is refused",
    )?;

    // What the first run could not read stays unknown: a record made anew after a rebase would say
    // that there was none. Later boots say so.
    if left
        .get(RECORD)
        .is_some_and(|record| !is_record(record, clean.after.get(RECORD)))
    {
        is(told, "the record lacks something, without a word")?;
        fs::remove_dir_all(dir.path().join("run")).map_err(|error| error.to_string())?;
        let output = skewguard(dir.path(), &["enforce"]);
        let says_why = String::from_utf8_lossy(&output.stderr)
            .contains("whether the node was rebased since is not known");
        let code = output.status.code();
        return is(
            code == Some(scenario.code) || (code == Some(0) && says_why),
            &format!("the next boot: {output:?}"),
        );
    }
    for (n, (now, clean)) in repair(scenario, dir.path())?
        .iter()
        .zip(&clean.repaired)
        .enumerate()
    {
        let mut differs = differing(now, clean);
        // Elsewhere a temporary file stays until the next file of its folder is written.
        let is_refused = (scenario.args[0], scenario.code) == ("enforce", 3);
        let all_is_swept = is_refused && (killed || n == 1);
        differs.retain(|path| *path != LOCK && (all_is_swept || !is_temporary(path)));
        // What could not be repeated below the message comes back with `allow`.
        if is_refused && n == 0 && !killed {
            differs.retain(|path| ![ISSUE, SAVED].contains(path));
        }
        // In doubt whether the first boot is over it decides once more, and lets the node go on.
        if scenario.name == "enforce, rebased" && !killed {
            differs.retain(|path| !VERDICTS.contains(path));
        }
        let show = |files: &Files, path: &str| {
            files
                .get(path)
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let what: Vec<_> = differs
            .iter()
            .map(|path| (path, show(now, path), show(clean, path)))
            .collect();
        is(
            differs.is_empty(),
            &format!("after the next run without a fault these differ: {what:#?}"),
        )?;
    }
    Ok(())
}

#[test]
fn no_fault_holds_a_healthy_node_or_loses_a_refusal_without_a_word() {
    let wanted = std::env::var("SKEWGUARD_TEST_FAULTS")
        .ok()
        .filter(|value| !value.is_empty());
    let all = wanted.is_some();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut wrong, mut total) = (Vec::new(), 0);
    for scenario in SCENARIOS.iter().filter(|scenario| {
        wanted
            .as_ref()
            .is_none_or(|wanted| ["all", scenario.name].contains(&wanted.as_str()))
    }) {
        let clean = clean(scenario);
        let every = clean.calls.iter().flat_map(|&(call, count)| {
            (1..=count).flat_map(move |nth| FAULTS.map(|fault| Try { call, nth, fault }))
        });
        let killed_at_change = |at: &Try| {
            scenario.name == SCENARIOS[0].name && at.fault.0 == KILL && CHANGES.contains(&at.call)
        };
        let tries: Vec<Try> = every
            .enumerate()
            .filter(|(n, at)| all || n % SAMPLE == 0 || killed_at_change(at))
            .map(|(_, at)| at)
            .collect();
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            // A report that is to be made waits for a random part of a few seconds.
            for _ in 0..if scenario.args[0] == "report" {
                8 * threads
            } else {
                threads
            } {
                scope.spawn(|| {
                    while let Some(at) = tries.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(why) = outcome(scenario, &clean, *at) {
                            failed.lock().expect("a lock").push(format!(
                                "{}: {} {} {}: {why}",
                                scenario.name, at.call, at.nth, at.fault.0
                            ));
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner().expect("a lock");
        let calls: usize = clean.calls.iter().map(|(_, count)| count).sum();
        eprintln!(
            "{}: {calls} system calls, {} faults injected, {} wrong",
            scenario.name,
            tries.len(),
            failed.len()
        );
        total += tries.len();
        wrong.extend(failed);
    }
    assert!(
        wrong.is_empty(),
        "{} of {total}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(total > 200, "only {total} faults");
}

/// Opening a device can have effects, and a FIFO's writer would go on. The walk is that of kernels
/// before 5.6.
#[test]
fn a_fifo_is_looked_at_and_never_opened_by_the_kernels_walk_or_our_own() {
    let node = copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/rhcos-4.12-refused"));
    let policy = node.path().join("etc/skewguard/policy.json");
    fs::remove_file(&policy).expect("removed");
    nix::unistd::mkfifo(&policy, nix::sys::stat::Mode::S_IRWXU).expect("made");
    let runs = [
        None,
        Some("openat2:error=ENOSYS"),
        Some("openat2:error=EPERM"),
    ]
    .map(|refused| {
        let (output, trace) = traced(node.path(), &["check"], &["openat", "openat2"], refused);
        let looked_at: Vec<&str> = trace
            .lines()
            .filter(|line| line.contains("policy.json"))
            .collect();
        assert!(
            !looked_at.is_empty() && looked_at.iter().all(|line| line.contains("O_PATH")),
            "{trace}"
        );
        // Once refused it is not tried again.
        assert!(
            refused.is_none() || trace.matches("openat2(").count() <= 1,
            "{trace}"
        );
        String::from_utf8(output.stdout).expect("UTF-8")
    });
    assert!(
        runs[0].contains("policy.json: is a FIFO, not a regular file"),
        "{}",
        runs[0]
    );
    assert!(runs.iter().all(|run| *run == runs[0]), "{runs:#?}");
}
