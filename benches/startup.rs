//! What `check` and `enforce` cost beside a static hello-world, all in one run: see
//! docs/dev/benchmarks.md.
//!
//! Ratios, not times: the machine's load and speed are in both. The programs take turns, so that
//! neither has the quiet half of the run.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use nix::sys::resource::{UsageWho, getrusage};
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 600;
const HELLO: &str = "hello-world";
const PEAK: &str = "--peak-of";

/// A rendered MachineConfig carries 200 to 300 KiB of the cluster's own.
const CLUSTERS_OWN: usize = 280 << 10;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == PEAK) {
        return peak_of(&args[at + 1..]);
    }
    // `cargo test --all-targets` only asks whether it runs.
    let rounds = if args.iter().any(|arg| arg == "--bench") {
        ROUNDS
    } else {
        3
    };
    let dir = tempfile::tempdir().expect("a directory");
    let [hello, program] = [hello(dir.path()), program()].map(|program| copy(&program, dir.path()));
    let (small, large) = (
        tree(dir.path(), "small", 0),
        tree(dir.path(), "large", CLUSTERS_OWN),
    );

    let mut command_lines: [(&str, Vec<&str>, Vec<Duration>); 6] = [
        (HELLO, vec![], vec![]),
        ("--version", vec!["--version"], vec![]),
        (
            "check",
            vec!["check", "--root", &small, "--output", "json"],
            vec![],
        ),
        (
            "check, large",
            vec!["check", "--root", &large, "--output", "json"],
            vec![],
        ),
        ("enforce", vec!["enforce", "--root", &small], vec![]),
        ("enforce, large", vec!["enforce", "--root", &large], vec![]),
    ];
    let of = |name: &str| if name == HELLO { &hello } else { &program };
    let peaks: Vec<String> = command_lines
        .iter()
        .map(|(name, args, _)| peak(of(name), args))
        .collect();
    let mut cpu = [Duration::ZERO; 6];
    for _ in 0..rounds {
        for ((name, args, times), cpu) in command_lines.iter_mut().zip(&mut cpu) {
            let before = cpu_of_children();
            times.push(run(of(name), args));
            *cpu += cpu_of_children().saturating_sub(before);
        }
    }
    let mut out = stdout().lock();
    let mut line = |text: String| writeln!(out, "{text}").expect("written");
    line(format!(
        "{}, {rounds} rounds, an allowed node; large: with a served config of {} KiB",
        program.display(),
        CLUSTERS_OWN >> 10
    ));
    line(format!(
        "{:15} {:>10} {:>7} {:>10} {:>7} {:>10} {:>7} {:>10}",
        "", "fastest", "", "median", "", "cpu", "", "peak"
    ));
    let mut hello = None;
    for (((name, _, times), cpu), peak) in command_lines.iter_mut().zip(cpu).zip(peaks) {
        let rounds = u32::try_from(rounds).expect("not so many");
        times.sort_unstable();
        let figures = [times[0], times[times.len() / 2], cpu / rounds];
        let hello = *hello.get_or_insert(figures);
        let pairs: Vec<String> = figures
            .iter()
            .zip(hello)
            .map(|(time, hello)| {
                format!(
                    "{:>7} us {:>6.2}x",
                    time.as_micros(),
                    time.as_secs_f64() / hello.as_secs_f64()
                )
            })
            .collect();
        line(format!("{name:15} {} {peak:>10}", pairs.join(" ")));
    }
}

/// User and system time of all programs so far.
fn cpu_of_children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage");
    let micros = [usage.user_time(), usage.system_time()]
        .map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
    Duration::from_micros(micros.iter().sum::<i64>().unsigned_abs())
}

/// A copy of the program. How a file came into the page cache decides what its page faults cost: up
/// to 100 us of a run.
fn copy(program: &Path, dir: &Path) -> PathBuf {
    let copy = dir
        .join(program.file_name().expect("a file"))
        .with_extension("copy");
    fs::copy(program, &copy).expect("copied");
    copy
}

/// What is measured is what ships.
fn program() -> PathBuf {
    let given = std::env::var_os("SKEWGUARD_BENCH_BINARY").map(PathBuf::from);
    let program = given
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/dist/skewguard"));
    assert!(
        program.exists(),
        "{} is missing: run dist/build, or set SKEWGUARD_BENCH_BINARY",
        program.display()
    );
    program
}

/// Peak of resident memory. The kernel gives the largest of all children that were waited for, so
/// each is a child of its own parent.
fn peak(program: &Path, args: &[&str]) -> String {
    let parent = std::env::current_exe().expect("our program");
    let output = Command::new(parent)
        .arg(PEAK)
        .arg(program)
        .args(args)
        .output()
        .expect("it starts");
    String::from_utf8(output.stdout).expect("text")
}

fn peak_of(command_line: &[String]) {
    let args: Vec<&str> = command_line[1..].iter().map(String::as_str).collect();
    run(Path::new(&command_line[0]), &args);
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN)
        .expect("usage")
        .max_rss();
    write!(stdout(), "{peak} KiB").expect("written");
}

/// Started by posix_spawn(3), as `Command` does where nothing has to happen between fork and exec.
fn run(program: &Path, args: &[&str]) -> Duration {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().expect("it starts");
    let took = began.elapsed();
    assert!(status.success(), "{} {args:?}: {status}", program.display());
    took
}

/// The smallest program that does something, linked and optimised as ours.
fn hello(dir: &Path) -> PathBuf {
    let (source, program) = (dir.join("hello.rs"), dir.join("hello"));
    fs::write(&source, "fn main() { println!(\"hello, world\"); }\n").expect("written");
    let flags = [
        "-Copt-level=z",
        "-Clto=fat",
        "-Ccodegen-units=1",
        "-Cpanic=abort",
        "-Cstrip=symbols",
    ];
    let done = Command::new("rustc")
        .args([
            "--target",
            &format!("{}-unknown-linux-musl", std::env::consts::ARCH),
            "--edition=2024",
        ])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(
        done.expect("rustc starts").success(),
        "a static hello-world: rustup target add <arch>-unknown-linux-musl"
    );
    program
}

/// An allowed node, with so many bytes of the cluster's own in its served config.
fn tree(dir: &Path, name: &str, clusters_own: usize) -> String {
    let root = dir.join(name);
    fs::create_dir(&root).expect("made");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/rhcos-4.18-allowed/.");
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(sample)
            .arg(&root)
            .status()
            .expect("cp starts")
            .success()
    );
    let path = root.join("etc/mcs-machine-config-content.json");
    let mut config: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).expect("a config")).expect("JSON");
    let files = config
        .pointer_mut("/spec/config/storage/files")
        .and_then(serde_json::Value::as_array_mut)
        .expect("its files");
    for n in 0..70 {
        let content = format!("data:;base64,{}", "QUJD".repeat(clusters_own / 70 / 4));
        files.insert(0, serde_json::json!({ "path": format!("/etc/cluster/{n}"), "mode": 420, "contents": { "source": content } }));
    }
    fs::write(&path, config.to_string()).expect("written");
    root.to_str().expect("a plain path").to_owned()
}
