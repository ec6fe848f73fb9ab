//! Absence is never good news: of every input of `tests/data` each object, each kind, each file and each field is
//! taken away, and no answer gets better or more certain by that.
//!
//! `cargo test` takes every object, kind and file, and a sample of the fields;
//! `SKEWGUARD_ABSENCE=all cargo test -p skewguard-admin --test it absence::` takes all of them, in an hour.

use super::audit;
use serde_json::Value;
use skewguard_admin::cli::Exit;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One field of this many is taken where not all are.
const SAMPLE: usize = 40;

/// The changes for the better that are right: the input, what is taken away, what gets better, and the reason. `*` is
/// any text.
const JUSTIFIED: &str = "tests/data/absence.tsv";

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

/// One file of an input: its path below the input, and its objects, or its text where it is no JSON of objects.
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
}

/// An answer, as far as absence may not better it.
#[derive(Clone)]
struct Answer {
    exit: Exit,
    rows: BTreeMap<String, String>,
    commands: BTreeSet<String>,
}

fn objects_of(text: &str) -> Option<Vec<Value>> {
    let value: Value = serde_json::from_str(text).ok()?;
    match value.get("items") {
        Some(items) => items.as_array().cloned(),
        None => value.get("kind").is_some().then(|| vec![value]),
    }
}

fn files_below(root: &Path, at: &Path, files: &mut Vec<File>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(at)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(root, &path, files);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let objects = objects_of(&text);
            let path = path.strip_prefix(root).unwrap().to_owned();
            files.push(File {
                path,
                text,
                objects,
            });
        }
    }
}

/// Every file of `tests/data/audit`, its folders, and every case: a folder is one input where a test reads it so, and
/// its files are one each.
fn inputs() -> Vec<Input> {
    let mut inputs = Vec::new();
    for of in ["audit", "audit/real", "cases"] {
        let root = Path::new("tests/data").join(of);
        for entry in std::fs::read_dir(&root).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix("tests/data").unwrap();
            let name = name.display().to_string();
            let mut files = Vec::new();
            if path.is_dir() {
                files_below(&path, &path, &mut files);
            } else if path.extension().is_some_and(|end| end == "json") {
                let text = std::fs::read_to_string(&path).unwrap();
                let objects = objects_of(&text);
                let path = PathBuf::from(path.file_name().unwrap());
                files.push(File {
                    path,
                    text,
                    objects,
                });
            }
            if files.len() > 1 {
                inputs.push(Input {
                    name: name.clone(),
                    files: files.clone(),
                });
            }
            for file in files.into_iter().filter(|file| file.objects.is_some()) {
                let name = format!("{name}:{}", file.path.display());
                let files = vec![file];
                inputs.push(Input { name, files });
            }
        }
    }
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    inputs
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

fn commands(value: &Value, is_command: bool, all: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_command => {
            all.insert(text.clone());
        }
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
fn answer(files: &[File], at: &Path) -> Option<Answer> {
    write(files, at);
    let policy = "tests/data/cases/policy.json";
    let from = at.to_str().unwrap();
    let (out, _, exit) = audit(&["--policy", policy, "--from", from, "-o", "json"]);
    let audit: Value = serde_json::from_str(&out).ok()?;
    let mut all = BTreeSet::new();
    commands(&audit, false, &mut all);
    let mut rows = BTreeMap::new();
    for set in audit["sets"].as_array()? {
        let text = |field: &str| set[field].as_str().unwrap_or_default().to_owned();
        let key = ["kind", "namespace", "name", "rowName"].map(text).join("/");
        rows.insert(key, text("verdict"));
    }
    Some(Answer {
        exit,
        rows,
        commands: all,
    })
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
    for command in after.commands.difference(&before.commands) {
        let begin: Vec<&str> = command.split(' ').take(3).collect();
        all.push(format!("command {}", begin.join(" ")));
    }
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
            let mut files = input.files.clone();
            files[place].objects.as_mut().unwrap().remove(number);
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            all.push((format!("object {} {name}", kind(object)), files));
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
                let at = dir.path().join("g");
                while let Some(input) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(before) = answer(&input.files, &at) else {
                        continue;
                    };
                    for (what, files) in variants(input, &takes) {
                        count.fetch_add(1, Ordering::Relaxed);
                        let Some(after) = answer(&files, &at) else {
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
