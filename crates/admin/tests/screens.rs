//! What people read fits their screen: `audit` and `why` on all fixtures, at six widths.
//! The truth is the JSON of the same input; of the texts only what is printed is looked at.

use crate::agree::{inputs, sorted};
use serde_json::Value;
use skewguard_admin::cli::{Io, Terminal, run_on};
use std::collections::BTreeSet;
use std::path::PathBuf;

const COLUMNS: [usize; 6] = [60, 72, 80, 100, 132, 200];

/// Programs whose commands a person copies.
const PROGRAMS: [&str; 7] = [
    "oc ", "openssl ", "curl ", "aws ", "az ", "gcloud ", "govc ",
];

/// What is printed on a terminal of that width.
fn on(columns: usize, from: &[PathBuf], args: &[&str]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let from = from.iter().map(|path| path.to_str().unwrap());
    let args = ["skewguard"].iter().chain(args).copied();
    let is_named = from.len() > 0;
    let args = args.chain(is_named.then_some("--from")).chain(from);
    let args = args.map(Into::into);
    let terminal = Terminal {
        columns,
        colour: false,
    };
    let io = &mut Io {
        out: &mut out,
        err: &mut err,
    };
    run_on(terminal, args, io);
    // Each run has its own time.
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.lines().map(|line| match line.starts_with("read at ") {
        true => "read at TIME",
        false => line,
    });
    lines.by_ref().collect::<Vec<_>>().join("\n")
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The text with one space between its words, and without the marks of commands.
fn plain(text: &str) -> String {
    words(&text.replace('`', "")).join(" ")
}

/// The parts of a line that nothing may break, behind what names it. In help an option and its values
/// are one.
fn atoms(line: &str) -> usize {
    let begins = |text: &str| PROGRAMS.iter().any(|program| text.starts_with(program));
    let line = line.trim_start();
    if line.starts_with("-o, --output <") {
        return 1;
    }
    let name = line.split("  ").next().unwrap();
    let rest = match line.strip_prefix(name).unwrap().trim_start() {
        "" => line,
        rest => rest,
    };
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    if begins(rest) || rest.split(": ").any(begins) {
        return 1;
    }
    let mut is_command = false;
    let spaces = rest.chars().filter(|c| {
        is_command ^= *c == '`';
        *c == ' ' && !is_command
    });
    spaces.count() + 1
}

/// What is wrong with a text of that width, whatever it says.
fn wrong(columns: usize, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in text.lines() {
        if line.len() > columns && atoms(line) > 1 {
            wrong.push(format!("is {} wide at {columns}: {line}", line.len()));
        }
        if line.contains('\u{2026}') || line.ends_with(' ') || line.ends_with('\\') {
            wrong.push(format!("is cut: {line}"));
        }
        let is_clock = |part: &str| {
            let shape = part.bytes().map(|byte| byte.is_ascii_digit());
            shape.eq([1, 1, 0, 1, 1, 0, 1, 1].map(|digit| digit == 1)) && part.contains(':')
        };
        let of = words(line);
        for (n, word) in of.iter().enumerate() {
            let has_zone = of.get(n + 1).is_some_and(|next| next.starts_with("UTC"));
            // The end of a line has its zone on the next.
            if is_clock(word) && !has_zone && n + 1 < of.len() {
                wrong.push(format!("has a time without a zone: {line}"));
            }
        }
    }
    wrong
}

/// All strings of these fields, wherever they stand.
fn fields<'a>(value: &'a Value, names: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields_of) => {
            for (name, value) in fields_of {
                if names.contains(&name.as_str()) {
                    let texts = value
                        .as_array()
                        .map_or(std::slice::from_ref(value), Vec::as_slice);
                    found.extend(texts.iter().filter_map(Value::as_str));
                }
                fields(value, names, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, names, found)),
        _ => {}
    }
}

/// The commands between backticks.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Tells whether a line has all of it.
fn is_whole(text: &str, part: &str) -> bool {
    text.lines().any(|line| line.contains(part))
}

/// The audits of one cluster each: their input, and the JSON.
fn audits() -> Vec<(Vec<PathBuf>, Value)> {
    let of = |from: Vec<PathBuf>| {
        let json = on(80, &from, &["audit", "-o", "json"]);
        let json: Value = serde_json::from_str(&json).ok()?;
        (json["kind"] == "BootImageAudit").then_some((from, json))
    };
    let from = ["audit", "cases"].iter().flat_map(|folder| sorted(folder));
    let all: Vec<_> = from.map(|path| vec![path]).filter_map(of).collect();
    assert!(all.len() >= 40, "{}", all.len());
    all
}

#[test]
fn an_audit_with_all_details_fits_and_cuts_nothing() {
    let mut all = Vec::new();
    for (from, json) in audits() {
        let widest = on(200, &from, &["audit", "-o", "wide"]);
        let (mut kept, mut copied, mut prose) = (Vec::new(), Vec::new(), Vec::new());
        fields(
            &json["sets"],
            &["imageField", "image", "rowName"],
            &mut kept,
        );
        let kept: Vec<&str> = kept.iter().flat_map(|part| words(part)).collect();
        fields(&json, &["patch", "command", "wayBack"], &mut copied);
        fields(&json["sets"], &["remedy", "toKnow"], &mut prose);
        copied.extend(prose.iter().flat_map(|text| commands(text)));
        for columns in COLUMNS {
            let text = on(columns, &from, &["audit", "-o", "wide"]);
            let mut found = wrong(columns, &text);
            if words(&text) != words(&widest) {
                found.push("has other words".to_owned());
            }
            let lost = kept
                .iter()
                .chain(&copied)
                .filter(|part| !is_whole(&text, part));
            found.extend(lost.map(|part| format!("has not whole: {part}")));
            all.extend(
                found
                    .iter()
                    .map(|what| format!("{from:?} {columns}: {what}")),
            );
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn the_sets_of_an_audit_fit_and_none_is_cut() {
    let mut all = Vec::new();
    for (from, json) in audits() {
        let widest = on(200, &from, &["audit"]);
        for columns in COLUMNS {
            let text = on(columns, &from, &["audit"]);
            let mut found = wrong(columns, &text);
            if words(&text) != words(&widest) {
                found.push("has other words".to_owned());
            }
            for set in json["sets"].as_array().unwrap() {
                let name = set["rowName"].as_str().or(set["name"].as_str()).unwrap();
                let version = set["bootImage"]["version"].as_str().unwrap_or("");
                // Its row is one line, and where there is no room two.
                let name = format!("{}/{name}", set["kind"].as_str().unwrap());
                let name = words(&name).pop().unwrap().to_owned();
                let is_named = |line: &str| words(line).contains(&name.as_str());
                // Two sets may share it.
                let lines: Vec<&str> = text.lines().collect();
                let has_row = lines.iter().enumerate().any(|(n, line)| {
                    let row = &lines[n..lines.len().min(n + 2)];
                    is_named(line) && row.iter().any(|line| line.contains(version))
                });
                if !has_row {
                    found.push(format!("has no row of {name} {version}"));
                }
                let is_open = set["action"] == "Block";
                let reason = set["reason"].as_str().unwrap();
                if is_open && !text.contains(&format!("({reason})")) {
                    found.push(format!("does not say {reason}"));
                }
            }
            if text.contains("\nVERDICT ") && !text.contains(" NODES: joined/wanted") {
                found.push("does not explain NODES".to_owned());
            }
            let is_unread = |line: &str| {
                words(line)
                    .last()
                    .is_some_and(|last| last.starts_with("-/"))
            };
            if text.lines().any(is_unread) && !text.contains("; -: not read") {
                found.push("does not explain -/".to_owned());
            }
            all.extend(
                found
                    .iter()
                    .map(|what| format!("{from:?} {columns}: {what}")),
            );
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// Only what was compared is said to have passed, by the numbers of the JSON.
#[test]
fn passed_checks_are_said() {
    let (mut all, mut said) = (Vec::new(), 0);
    for (from, json) in audits() {
        let text = on(200, &from, &["audit", "-o", "wide"]);
        let one_line = plain(&text);
        let has = |line: &str| one_line.contains(line);
        let begins = |line: &str| text.lines().any(|own| own.trim_start().starts_with(line));
        let sets = json["sets"].as_array().unwrap();
        let noun = |number: usize| if number == 1 { "set" } else { "sets" };
        let object =
            |set: &Value| ["kind", "namespace", "name"].map(|field| set[field].to_string());
        let all_sets: BTreeSet<_> = sets.iter().map(object).collect();
        // A set has several rows: all of them have to be so.
        let count = |is: &dyn Fn(&Value) -> bool| {
            let others: BTreeSet<_> = sets.iter().filter(|set| !is(set)).map(object).collect();
            all_sets.difference(&others).count()
        };
        let within = count(&|set| set["reason"] == "WithinLimits" && set["verdict"] == "Allowed");
        let limits = format!(
            "limits of the policy: {within} of {} {} within them",
            all_sets.len(),
            noun(all_sets.len())
        );
        let known = count(&|set| set["bootImage"].is_object());
        let none = count(&|set| set["bootImage"].is_object() && set["knownIssues"].is_null());
        let release = json["release"].as_str().unwrap_or("?");
        let issues = format!(
            "known issues with {release}: none found for {none} of {known} {} of a known image; what no object says, such as Secure Boot, was not compared",
            noun(known)
        );
        let is_same = json["cluster"].is_object() && json["policyDiffersFromOperator"].is_null();
        let has_update = json["update"].is_string() && json["births"].is_null();
        for (what, is, wanted) in [
            ("limits", has(&limits), within > 0),
            ("any limits", begins("limits of the policy: "), within > 0),
            ("issues", has(&issues), none > 0 && release != "?"),
            (
                "the operator",
                begins("Machine Config Operator of ") && !is_same,
                false,
            ),
            (
                "the update",
                begins("known issues of the update ") && !has_update,
                false,
            ),
        ] {
            if is != wanted {
                all.push(format!("{from:?}: {what}: {is}\n{text}"));
            }
            said += usize::from(is);
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(said >= 60, "{said}");
}

/// The rows of a screen, on which a long line takes several.
fn first_screen(columns: usize, rows: usize, text: &str) -> String {
    let mut left = rows;
    let fits = |line: &&str| {
        let takes = line.len().max(1).div_ceil(columns);
        let fits = takes <= left;
        left = left.saturating_sub(takes);
        fits
    };
    text.lines().take_while(fits).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_audit_begins_with_the_conclusion_and_what_to_do() {
    let mut all = Vec::new();
    for (from, _) in audits() {
        for columns in COLUMNS {
            let text = on(columns, &from, &["audit"]);
            let shown = first_screen(columns, 23, &text);
            let mut say = |what: &str| all.push(format!("{from:?} {columns}: {what}\n{text}"));
            if !["Ready", "Not ready", "Not known"]
                .iter()
                .any(|begin| shown.starts_with(begin))
            {
                say("has no conclusion first");
            }
            if !shown.contains("\nNext: ") {
                say("has nothing that is next");
            }
            let place = |what: &str| text.find(what);
            let change = place("\nWhat to change:").or(place("\nHow to find"));
            let change = change.or(place("\nnot read: "));
            if shown.contains("\nNext: see below what ") && change.is_none() {
                say("has not what to do");
            }
            if let (Some(change), Some(allowed)) = (change, place("\nallowed "))
                && change > allowed
            {
                say("has what is allowed before what to do");
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn an_explanation_fits_cuts_nothing_and_says_first_what_to_do() {
    let (mut all, mut read) = (Vec::new(), 0);
    let cases = sorted("cases-why").into_iter().map(|path| vec![path]);
    for from in inputs().into_iter().chain(cases) {
        let json = on(80, &from, &["why", "-o", "json"]);
        let Ok(json) = serde_json::from_str::<Value>(&json) else {
            continue;
        };
        let machines = json["machines"].as_array().unwrap();
        read += usize::from(!machines.is_empty());
        let widest = on(200, &from, &["why"]);
        for columns in COLUMNS {
            let text = on(columns, &from, &["why"]);
            let mut found = wrong(columns, &text);
            if words(&text) != words(&widest) {
                found.push("has other words".to_owned());
            }
            // Of several that are alike there is the first.
            if let [machine] = &**machines {
                let (mut prose, mut next) = (Vec::new(), Vec::new());
                fields(machine, &["sentence", "text", "unseen"], &mut prose);
                fields(machine, &["next"], &mut next);
                let whole = plain(&text);
                let lost = prose
                    .iter()
                    .chain(&next)
                    .filter(|part| !whole.contains(&plain(part)));
                found.extend(lost.map(|part| format!("does not say: {part}")));
                let mut copied = next.iter().flat_map(|next| commands(next));
                found.extend(
                    copied
                        .find(|part| !is_whole(&text, part))
                        .map(|part| format!("breaks {part}")),
                );
                let shown = plain(&first_screen(columns, 23, &text));
                let told = machine["sentence"]
                    .as_str()
                    .into_iter()
                    .chain(next.first().copied());
                let late = told.filter(|part| !shown.contains(&plain(part)));
                found.extend(late.map(|part| format!("says late: {part}")));
            }
            all.extend(
                found
                    .iter()
                    .map(|what| format!("{from:?} {columns}: {what}")),
            );
        }
    }
    assert!(all.is_empty(), "{all:#?}");
    assert!(read >= 30, "{read}");
}

/// Every page of help, of the commands that a person types.
#[test]
fn help_fits_and_breaks_no_example() {
    let mut all = Vec::new();
    let pages: [&[&str]; 15] = [
        &[],
        &["check"],
        &["inspect"],
        &["policy"],
        &["policy", "init"],
        &["policy", "lint"],
        &["audit"],
        &["why"],
        &["render"],
        &["render", "machineconfig"],
        &["render", "manifests"],
        &["render", "pointer"],
        &["render", "ignition"],
        &["render", "admission"],
        &["schema"],
    ];
    for page in pages {
        for flag in ["-h", "--help"] {
            let args = [page, &[flag]].concat();
            let of = |columns| on(columns, &[], &args);
            let widest = of(200);
            assert!(widest.contains("Usage: "), "{page:?}: {widest}");
            // Behind options, whose lines begin in column 3 or 7.
            let is_example = |line: &str| {
                line.starts_with("  ") && !line.starts_with("      ") && !line.starts_with("  -")
            };
            let (_, end) = widest.split_once("Print help").unwrap();
            let examples: Vec<&str> = end.lines().filter(|line| is_example(line)).collect();
            for columns in COLUMNS {
                let text = of(columns);
                let mut found: Vec<String> = text
                    .lines()
                    .filter(|line| line.len() > columns && atoms(line) > 1)
                    .filter(|line| !is_example(line))
                    .map(|line| format!("is {} wide: {line}", line.len()))
                    .collect();
                if words(&text) != words(&widest) {
                    found.push("has other words".to_owned());
                }
                let broken = examples
                    .iter()
                    .filter(|line| !text.lines().any(|own| own == **line));
                found.extend(broken.map(|line| format!("breaks {line}")));
                all.extend(
                    found
                        .iter()
                        .map(|what| format!("{args:?} {columns}: {what}")),
                );
            }
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}
