//! What boot images ignore or refuse of the units that the Machine Config Operator served: the output of
//! `tests/units/laboratory`, a person's judgement of each row, and the known issues that follow from it.

use super::{DIRECTIVES, OLDEST};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

const HISTORY: &str = "tests/data/mco-history.tsv";
const TABLE: &str = "tests/data/systemd-directives.tsv";

/// A judgement of what boot images do with a unit.
enum Judged {
    /// The known issue that has its windows.
    Issue(&'static str),
    /// Harmless, and why.
    Harmless(&'static str),
}

use Judged::{Harmless, Issue};

/// Every unit of the history, what boot images do with it, and what follows.
const JUDGED: [(&str, &str, Judged); 8] = [
    (
        "on-prem-resolv-prepender.service",
        "refuses OneshotRestart",
        Issue("OneshotRestartResolvPrepender"),
    ),
    (
        "afterburn-hostname.service",
        "refuses OneshotRestart",
        Harmless("QE saw the node go on to its second boot, whose systemd runs it (#4608)"),
    ),
    (
        "wait-for-primary-ip.service",
        "refuses OneshotRestart",
        Harmless("network-online.target wants it, and requires nothing"),
    ),
    (
        "untaint-node@.service",
        "refuses OneshotRestart",
        Harmless("control planes with fencing have no boot images of RHEL 8"),
    ),
    (
        "afterburn-hostname.service",
        "ignores Service.RestartMode=",
        Harmless("it restarts in the older way"),
    ),
    (
        "kubelet.service",
        "ignores Service.ExecCondition=",
        Harmless("the kubelet starts after the rebase, whose systemd knows it"),
    ),
    (
        "on-prem-resolv-prepender.service",
        "ignores Service.StartLimitIntervalSec=",
        Harmless("every systemd ignores it in [Service]"),
    ),
    (
        "vsphere-hostname.service",
        "ignores Service.StartLimitIntervalSec=",
        Harmless("every systemd ignores it in [Service]"),
    ),
];

/// The rows of a table, without comments and head.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .skip(1)
        .map(|line| line.split('\t').collect())
        .collect()
}

#[test]
fn a_person_judged_every_row_of_the_history() {
    let history = fs::read_to_string(HISTORY).unwrap();
    let found: BTreeSet<_> = rows(&history).iter().map(|row| (row[1], row[3])).collect();
    let judged: BTreeSet<_> = JUDGED
        .iter()
        .map(|(unit, what, _)| (*unit, *what))
        .collect();
    assert_eq!(found, judged);
    for (unit, _, judged) in &JUDGED {
        if let Harmless(why) = judged {
            assert!(!why.is_empty(), "{unit}");
        }
    }
}

/// A known issue names the pull requests with which its windows begin and end.
#[test]
fn the_windows_of_known_issues_are_those_of_the_history() {
    let history = fs::read_to_string(HISTORY).unwrap();
    let issues: Value = serde_json::from_str(skewguard_admin::lint::starter::KNOWN_ISSUES).unwrap();
    for (unit, what, judged) in &JUDGED {
        let Issue(id) = judged else { continue };
        let issues = issues.as_array().unwrap();
        let issue = issues.iter().find(|issue| issue["id"] == *id).unwrap();
        let ticket = issue["ticket"].as_str().unwrap();
        let mut windows = BTreeSet::new();
        for row in rows(&history) {
            let [branch, of, _, does, images, from, until] = row[..] else {
                panic!("{row:?}")
            };
            // main is no release.
            let (true, Some(release)) =
                ((of, does) == (unit, what), branch.strip_prefix("release-"))
            else {
                continue;
            };
            assert!(
                images.starts_with("8.0 ") && images.ends_with(" 8.6"),
                "{images}"
            );
            for change in [from, until] {
                let (_, request) = change.split_once(" #").unwrap();
                assert!(
                    ticket.contains(&format!("#{request}")),
                    "{change}: {ticket}"
                );
            }
            windows.insert(release);
        }
        let targets = issue["targets"].as_str().unwrap().split(" || ");
        let of_issue =
            targets.map(|window| window.trim_start_matches(">=").rsplit_once(" <").unwrap().1);
        let of_issue: BTreeSet<_> = of_issue
            .map(|end| end.rsplit_once('.').unwrap().0)
            .collect();
        assert_eq!(windows, of_issue);
    }
}

/// Our own table of directives, made from systemd's news, against systemd's sources.
#[test]
fn the_oldest_boot_images_know_what_is_as_old_as_their_systemd() {
    let table = fs::read_to_string(TABLE).unwrap();
    let known: BTreeMap<_, _> = rows(&table).iter().map(|row| (row[0], row[1])).collect();
    let sections = ["Unit", "Service", "Install"];
    for (name, since) in DIRECTIVES {
        let name = name.trim_end_matches('+');
        let images = sections
            .iter()
            .find_map(|section| known.get(&*format!("{section}.{name}")));
        let images = images.unwrap_or_else(|| panic!("no systemd knows {name}"));
        let knows = ["all", "8.0"].contains(&images.split(' ').next().unwrap());
        assert_eq!(knows, since <= OLDEST, "{name}: {images}");
    }
}

fn command(folder: &Path, program: &str, args: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command.args(args).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{program} {args:?}: {err}");
    out
}

/// A template that waits in one way or another, and for bare metal restarts.
const TEMPLATE: &str = "name: wait.service\nenabled: true\ncontents: |\n  [Unit]\n  Description=Wait\n\n  [Service]\n  {{if .Long -}}\n  \
    Type=oneshot\n  {{else -}}\n  Type=simple\n  {{end -}}\n  ExecStart=/bin/wait \\\n    {{.Name}}\n";

#[test]
fn the_laboratory_finds_from_which_commit_to_which() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        command(folder, "git", &[&identity, args].concat())
    };
    git(&["init", "-q", "-b", "main"]);
    let units = folder.join("templates/common/on-prem/units");
    fs::create_dir_all(&units).unwrap();
    let mut commits = Vec::new();
    for (text, subject) in [
        (TEMPLATE.to_owned(), "Merge pull request #1 from wait"),
        (
            format!("{TEMPLATE}  Restart=on-failure\n"),
            "Merge pull request #2 from restart",
        ),
        (
            format!("{TEMPLATE}  Restart=no\n  MadeUp=1\n"),
            "Merge pull request #3 from mend",
        ),
    ] {
        fs::write(units.join("wait.service.yaml"), text).unwrap();
        git(&["add", "-A"]);
        git(&["commit", "-qm", subject]);
        let commit = git(&["log", "-1", "--format=%h %cs", "--abbrev=9"]);
        commits.push(format!("{} #{}", commit.trim(), commits.len() + 1));
        if commits.len() == 2 {
            git(&["branch", "release-4.99"]);
        }
    }
    let laboratory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/units/laboratory");
    let laboratory = laboratory.to_str().unwrap();
    let found = command(folder, laboratory, &["history", "."]);
    let found: Vec<String> = rows(&found).iter().map(|row| row.join("\t")).collect();
    let [_, since, until] = &commits[..] else {
        panic!("{commits:?}")
    };
    let refused = "wait.service\tcommon/on-prem\trefuses OneshotRestart\t8.0 8.1 8.2 8.4 8.6";
    assert_eq!(
        found,
        [
            format!("release-4.99\t{refused}\t{since}\t"),
            format!("main\twait.service\tcommon/on-prem\tignores Service.MadeUp=\tall\t{until}\t"),
            format!("main\t{refused}\t{since}\t{until}"),
        ]
    );
    for (commit, want) in [("main~2", ""), ("main~1", &*format!("{refused}\n"))] {
        assert_eq!(command(folder, laboratory, &["at", ".", commit]), want);
    }
}
