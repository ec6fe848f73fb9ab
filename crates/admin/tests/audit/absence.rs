//! Absence is never good news: of every input of `tests/data` each object, each kind, each file and each field is
//! taken away, and no answer gets better or more certain by that.
//!
//! `cargo test` takes every object, kind and file, and a sample of the fields;
//! `SKEWGUARD_ABSENCE=all cargo test -p skewguard-admin --test it absence::` takes all of them, in some minutes of an idle machine.

use super::run;
use crate::agree::{DATA, sorted};
use serde_json::Value;
use skewguard_admin::cli::Exit;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One field of this many is taken where not all are.
const SAMPLE: usize = 300;

/// The changes for the better that are right: the input, what is taken away, what gets better, and the reason. `*` is
/// any text.
const JUSTIFIED: &str = "tests/data/absence.tsv";

/// The policy of an input that has none of its own.
const POLICY: &str = "tests/data/cases/policy.json";

/// Inputs that are asked about a later release, too.
const TARGETS: [(&str, &str); 4] = [
    ("cases/admission-for-a-later-release", "4.22"),
    ("cases/nodepool-runc", "5.0"),
    ("cases/remedy-not-before", "4.22"),
    ("cases/set-of-4.1-alone", "4.22"),
];

fn justified() -> Vec<[String; 4]> {
    let text = std::fs::read_to_string(JUSTIFIED).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("not four cells: {line}"))
    };
    lines.map(row).collect()
}

/// One file of an input: its path below the input, and its objects, or its text where it has none.
#[derive(Clone)]
struct File {
    path: PathBuf,
    text: String,
    objects: Option<Vec<Value>>,
}

#[derive(Clone)]
struct Input {
    name: String,
    files: Vec<File>,
    policy: String,
    target: Option<&'static str>,
}

/// An answer, as far as absence may not better it.
#[derive(Clone)]
struct Answer {
    exit: Exit,
    rows: BTreeMap<String, String>,
    /// By what they change.
    commands: BTreeMap<String, BTreeSet<String>>,
    /// The commands of the script that mends, those in comments included.
    fixes: BTreeMap<String, BTreeSet<String>>,
    /// The images that admission denies.
    denials: BTreeSet<String>,
}

fn objects_of(path: &Path, text: &str) -> Option<Vec<Value>> {
    let is = |ending: &str| path.extension().is_some_and(|own| own == ending);
    let documents: Vec<Value> = match serde_json::from_str(text) {
        Ok(value) => vec![value],
        Err(_) if is("yaml") => serde_saphyr::from_multiple(text).ok()?,
        Err(_) => return None,
    };
    let mut objects = Vec::new();
    for document in documents {
        match document.get("items") {
            Some(items) => objects.extend(items.as_array()?.iter().cloned()),
            None => objects.push(document),
        }
    }
    let has_kind = |object: &Value| object["kind"].is_string();
    objects.iter().all(has_kind).then_some(objects)
}

fn file_at(root: &Path, path: &Path) -> Option<File> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(File {
        path: path.strip_prefix(root).unwrap().to_owned(),
        objects: objects_of(path, &text),
        text,
    })
}

fn files_below(root: &Path, at: &Path, files: &mut Vec<File>) {
    if at.is_file() {
        files.extend(file_at(root, at));
        return;
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(at)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        files_below(root, &path, files);
    }
}

/// Everything of `tests/data` that an audit reads. A folder is one input where a test reads it so, and the files of
/// one without folders are one each.
fn inputs() -> Vec<Input> {
    let (root, mut inputs) = (Path::new(DATA), Vec::new());
    for of in [
        "audit",
        "audit/real",
        "cases",
        "operator",
        "cases-why",
        "why",
    ] {
        for path in sorted(of) {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let mut files = Vec::new();
            let (at, has_folders) = match path.is_dir() {
                true => (
                    &*path,
                    of == "why" || entries(&path).any(|entry| entry.is_dir()),
                ),
                false => (path.parent().unwrap(), false),
            };
            files_below(at, &path, &mut files);
            if of == "why" {
                files_below(root, &root.join("why/cluster"), &mut files);
            }
            let is_policy = |file: &File| {
                let first = file.objects.as_ref().and_then(|objects| objects.first());
                first.is_some_and(|object| object["kind"] == "BootImageSkewPolicy")
            };
            let own = files.iter().find(|file| is_policy(file));
            let policy = own.map_or(POLICY.to_owned(), |own| {
                at.join(&own.path).display().to_string()
            });
            files.retain(|file| !is_policy(file));
            if path.is_dir() && of == "audit" && name == "audit/real" {
                continue;
            }
            let of_files = |name: String, files| Input {
                name,
                files,
                policy: policy.clone(),
                target: None,
            };
            if files.len() > 1 {
                inputs.push(of_files(name.clone(), files.clone()));
            }
            let alone = files
                .into_iter()
                .filter(|file| file.objects.is_some() && !has_folders);
            inputs.extend(
                alone.map(|file| of_files(format!("{name}:{}", file.path.display()), vec![file])),
            );
        }
    }
    let asked = inputs.iter().flat_map(|input: &Input| {
        let of = TARGETS.iter().filter(|(of, _)| input.name.starts_with(of));
        of.map(|(_, target)| Input {
            name: format!("{} to {target}", input.name),
            target: Some(*target),
            ..input.clone()
        })
    });
    let asked: Vec<Input> = asked.collect();
    inputs.extend(asked);
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    inputs
}

fn entries(at: &Path) -> impl Iterator<Item = PathBuf> {
    let all = std::fs::read_dir(at).unwrap();
    all.map(|entry| entry.unwrap().path())
}

fn write(files: &[File], at: &Path) {
    let _ = std::fs::remove_dir_all(at);
    for file in files {
        let path = at.join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = match &file.objects {
            Some(objects) => {
                serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects })
                    .to_string()
            }
            None => file.text.clone(),
        };
        std::fs::write(path, text).unwrap();
    }
}

/// Adds a command by what it changes: its first words, the object, and the field where several share one.
fn add(command: &str, all: &mut BTreeMap<String, BTreeSet<String>>) {
    let fields = ["bootImageSkewEnforcement", "managedBootImages"];
    let field = fields.into_iter().find(|field| command.contains(field));
    let words = command.split(' ').filter(|word| *word != "\"$@\"");
    let begin = words.take_while(|word| !word.starts_with("--") && *word != "-p");
    let what: Vec<&str> = begin.chain(field).collect();
    all.entry(what.join(" "))
        .or_default()
        .insert(command.to_owned());
}

fn commands(value: &Value, is_command: bool, all: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::String(text) if is_command => add(text, all),
        Value::Array(items) => {
            for item in items {
                commands(item, is_command, all);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_one = ["patch", "keepCommands", "command", "wayBack"].contains(&&**name);
                commands(field, is_command || is_one, all);
            }
        }
        _ => {}
    }
}

/// The answer about these files; `None` where nothing was judged.
fn answer(input: &Input, files: &[File], dir: &Path) -> Option<Answer> {
    let at = dir.join("g");
    write(files, &at);
    let policy = ["--policy", &input.policy];
    let target = input.target.map(|target| vec!["--target", target]);
    let target = target.unwrap_or_default();
    let asked = [
        &["audit", "--from", at.to_str().unwrap()],
        &policy[..],
        &target,
    ]
    .concat();
    let (out, _, exit) = run(&[&asked[..], &["-o", "json"]].concat());
    let audit: Value = serde_json::from_str(&out).ok()?;
    let mut answer = Answer {
        exit,
        rows: BTreeMap::new(),
        commands: BTreeMap::new(),
        fixes: BTreeMap::new(),
        denials: BTreeSet::new(),
    };
    commands(&audit, false, &mut answer.commands);
    for set in audit["sets"].as_array()? {
        let text = |field: &str| set[field].as_str().unwrap_or_default().to_owned();
        let key = ["kind", "namespace", "name", "rowName"].map(text).join("/");
        answer.rows.insert(key, text("verdict"));
    }
    let any_release = input.target.map(|_| "--any-release");
    let (script, _, _) = run(&[
        &asked[..],
        &["--print-commands", "fix"],
        any_release.as_slice(),
    ]
    .concat());
    for line in script.lines() {
        let line = line.trim_start_matches(['#', ' ']);
        if line.starts_with("oc ") {
            add(line, &mut answer.fixes);
        }
    }
    let file = dir.join("audit.json");
    std::fs::write(&file, &out).unwrap();
    let render = ["render", "admission", "--audit", file.to_str().unwrap()];
    let (denials, _, _) = run(&[&render[..], &policy, any_release.as_slice()].concat());
    let objects: Vec<Value> = serde_saphyr::from_multiple(&denials).unwrap();
    let variables = objects
        .iter()
        .filter_map(|object| object["spec"]["variables"].as_array());
    for variable in variables.flatten() {
        let list = serde_json::from_str(variable["expression"].as_str().unwrap());
        let list: BTreeMap<String, String> = list.unwrap_or_default();
        answer.denials.extend(list.into_keys());
    }
    Some(answer)
}

/// What is better or more certain after than before.
fn better(before: &Answer, after: &Answer) -> Vec<String> {
    let mut all = Vec::new();
    if before.exit != Exit::Done && after.exit == Exit::Done {
        all.push(format!("exit {:?} -> Done", before.exit));
    }
    for (key, verdict) in &after.rows {
        let Some(was) = before.rows.get(key) else {
            continue;
        };
        let is_better = matches!(
            (&**was, &**verdict),
            ("Refused" | "Undetermined", "Allowed") | ("Undetermined", "Refused")
        );
        if is_better {
            let kind = key.split('/').next().unwrap();
            all.push(format!("{kind} {was} -> {verdict}"));
        }
    }
    for (word, before, after) in [
        ("command", &before.commands, &after.commands),
        ("fix", &before.fixes, &after.fixes),
    ] {
        for (what, commands) in after {
            match before.get(what) {
                None => all.push(format!("{word} {what}")),
                Some(known) if !commands.is_subset(known) => {
                    all.push(format!("other {word} {what}"))
                }
                Some(_) => {}
            }
        }
    }
    let denials = after.denials.difference(&before.denials);
    all.extend(denials.map(|image| format!("denial {image}")));
    all.sort();
    all.dedup();
    all
}

/// Every field below a value: its way, and the way in words.
fn fields(value: &Value, way: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
    let mut take = |name: String, field: &Value| {
        way.push(name);
        all.push(way.clone());
        fields(field, way, all);
        way.pop();
    };
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(name, field)| take(name.clone(), field)),
        Value::Array(items) => {
            let items = items.iter().take(3).enumerate();
            items.for_each(|(place, item)| take(place.to_string(), item));
        }
        _ => {}
    }
}

fn without(value: &mut Value, way: &[String]) {
    let (last, ways) = way.split_last().unwrap();
    let at = ways.iter().fold(value, |at, name| match at {
        Value::Array(items) => &mut items[name.parse::<usize>().unwrap()],
        other => &mut other[&**name],
    });
    match at {
        Value::Object(map) => {
            map.remove(last);
        }
        Value::Array(items) => {
            items.remove(last.parse().unwrap());
        }
        _ => {}
    }
}

/// The input without each part, and what the part is.
fn variants(input: &Input, takes: &dyn Fn(usize) -> bool) -> Vec<(String, Vec<File>)> {
    let mut all = Vec::new();
    let mut kinds = BTreeSet::new();
    let mut count = input.name.len();
    let kind = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
    for (place, file) in input.files.iter().enumerate() {
        if input.files.len() > 1 {
            let mut files = input.files.clone();
            files.remove(place);
            all.push((format!("file {}", file.path.display()), files));
        }
        for (number, object) in file.objects.iter().flatten().enumerate() {
            kinds.insert(kind(object));
            count += 1;
            // The inputs of `why` have many objects that no audit reads.
            if !input.name.contains("why/") || takes(count) {
                let mut files = input.files.clone();
                files[place].objects.as_mut().unwrap().remove(number);
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                all.push((format!("object {} {name}", kind(object)), files));
            }
            let mut ways = Vec::new();
            fields(object, &mut Vec::new(), &mut ways);
            for way in ways {
                count += 1;
                if !takes(count) {
                    continue;
                }
                let mut files = input.files.clone();
                let objects = files[place].objects.as_mut().unwrap();
                without(&mut objects[number], &way);
                all.push((format!("field {} {}", kind(object), way.join(".")), files));
            }
        }
    }
    for of in kinds {
        let mut files = input.files.clone();
        for objects in files.iter_mut().filter_map(|file| file.objects.as_mut()) {
            objects.retain(|object| kind(object) != of);
        }
        all.push((format!("kind {of}"), files));
    }
    all
}

/// Tells whether a text fits a pattern, in which `*` is any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap()) else {
        return false;
    };
    let mut is_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        is_open = part.is_empty();
    }
    rest.is_empty() || is_open
}

#[test]
fn taking_evidence_away_betters_no_answer() {
    let takes_all = std::env::var_os("SKEWGUARD_ABSENCE").is_some();
    let takes = move |count: usize| takes_all || count.is_multiple_of(SAMPLE);
    let (inputs, justified) = (inputs(), justified());
    let (next, reds) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (used, count) = (Mutex::new(BTreeSet::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                let dir = tempfile::tempdir().unwrap();
                while let Some(input) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(before) = answer(input, &input.files, dir.path()) else {
                        continue;
                    };
                    for (what, files) in variants(input, &takes) {
                        count.fetch_add(1, Ordering::Relaxed);
                        let Some(after) = answer(input, &files, dir.path()) else {
                            continue;
                        };
                        for change in better(&before, &after) {
                            let is_it = |[of, taken, gain, _]: &[String; 4]| {
                                fits(of, &input.name) && fits(taken, &what) && fits(gain, &change)
                            };
                            match justified.iter().position(is_it) {
                                Some(place) => {
                                    used.lock().unwrap().insert(place);
                                }
                                None => reds
                                    .lock()
                                    .unwrap()
                                    .push(format!("{} | {what} | {change}", input.name)),
                            }
                        }
                    }
                }
            });
        }
    });
    let mut reds = reds.into_inner().unwrap();
    reds.sort();
    let count = count.into_inner();
    assert!(count > 1000, "{count} variants");
    assert!(
        reds.is_empty(),
        "{} of {count} variants are better:\n{}",
        reds.len(),
        reds.join("\n")
    );
    let used = used.into_inner().unwrap();
    let unused = (0..justified.len()).filter(|place| !used.contains(place));
    let unused: Vec<_> = unused.map(|place| &justified[place]).collect();
    assert!(!takes_all || unused.is_empty(), "no longer so: {unused:?}");
}
