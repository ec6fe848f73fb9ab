//! `oc skewguard audit`, as a whole: on what `oc get -o json` prints of clusters of every platform, on
//! what is broken, and (`served`) on an API server.

mod absence;
mod architectures;
mod auditor;
mod bad_input;
mod claims;
mod cpu;
mod effects;
mod evidence;
mod fips;
mod fixtures;
mod fleet;
mod fleet_forms;
mod folders;
mod horizon;
mod hostile;
mod inputs;
mod installed_from;
mod known;
mod known_facts;
mod kubeconfigs;
mod login;
mod makers;
mod not_read;
mod operator;
mod output;
mod path;
mod pipeline;
mod pools;
mod published;
mod read;
pub(crate) mod real;
mod released;
mod samples;
mod sarif;
mod secrets;
pub(crate) mod served;
mod silent_files;
mod since;
mod strangers;
mod streams;
mod swapped;
mod terminal;
mod unknown;
mod upkeep;
mod whole;

use skewguard_admin::cli::{Exit, Io};
use std::path::Path;

const POLICY: &str = "tests/data/audit/policy.json";

/// What the command prints to stdout and stderr, and its outcome.
fn audit(args: &[&str]) -> (String, String, Exit) {
    run(&[&["audit"], args].concat())
}

pub(crate) fn run(args: &[&str]) -> (String, String, Exit) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["skewguard"]
        .iter()
        .chain(args)
        .map(std::ffi::OsString::from);
    let exit = skewguard_admin::cli::run(
        args,
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    );
    (
        without_time(&String::from_utf8(out).unwrap()),
        String::from_utf8(err).unwrap(),
        exit,
    )
}

/// What was printed, without the time at which it was.
fn without_time(text: &str) -> String {
    let plain = |line: &str| {
        let begin = line
            .find("read at")
            .or_else(|| line.find("\"time\": "))
            .or_else(|| line.starts_with("  time: ").then_some(0));
        match (begin, line.find("T")) {
            (Some(begin), Some(at)) if begin < at => {
                let end = line[at..].find('Z').map_or(line.len(), |end| at + end + 1);
                format!("{}TIME{}", &line[..at - 10], &line[end..])
            }
            _ => line.to_owned(),
        }
    };
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// The same on a file with this text.
fn audit_text(text: &str, more: &[&str]) -> (String, String, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.json");
    std::fs::write(&file, text).unwrap();
    let (out, err, exit) = audit(
        &[
            &["--policy", POLICY, "--from", file.to_str().unwrap()],
            more,
        ]
        .concat(),
    );
    let short = |text: String| text.replace(&format!("{}/", dir.path().display()), "");
    (short(out), short(err), exit)
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(Path::new("tests/data/audit").join(name)).unwrap()
}

/// The objects of a case from the field.
fn items(case: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(format!("tests/data/cases/{case}/objects.json")).unwrap();
    let list: serde_json::Value = serde_json::from_str(&text).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// The audit of a case from the field, or of one of its files.
fn case(name: &str) -> (serde_json::Value, Exit) {
    let from = format!("tests/data/cases/{name}");
    let policy = "tests/data/cases/policy.json";
    let (out, err, exit) = audit(&["--policy", policy, "--from", &from, "--output", "json"]);
    (
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}")),
        exit,
    )
}
