//! Steps on the way to a later release, for a person (pure).

use crate::audit::results::path::{By, Event, Path, Step, StepKind};
use crate::forms::terminal::Terminal;
use serde_json::{Value, json};
use skewguard_cluster::names::count;

/// Columns before what is to do.
const INDENT: usize = 24;

/// As a page.
pub(crate) fn text(terminal: Terminal, path: &Path) -> String {
    let mut lines = terminal.prose(0, &head(path));
    lines.push(OFFERED.to_owned());
    for (title, steps) in groups(path) {
        lines.extend([String::new(), title]);
        for step in steps {
            let label = format!("  {:<width$}", step.name, width = INDENT - 2);
            let label = match !label.ends_with(' ') {
                true => {
                    lines.push(label.trim_end().to_owned());
                    " ".repeat(INDENT)
                }
                false => label,
            };
            lines.extend(terminal.advice(&label, INDENT, &says(step)));
            let because = format!("because {}", step.because);
            lines.extend(terminal.text(&" ".repeat(INDENT), INDENT, &because));
        }
    }
    lines.push(String::new());
    for (name, value) in facts(path) {
        lines.extend(terminal.text(&format!("{name:<INDENT$}"), INDENT, &value));
    }
    lines.join("\n") + "\n"
}

/// For the template of Markdown.
pub(super) fn markdown(path: &Path) -> Value {
    let step =
        |step: &&Step| json!({ "name": step.name, "says": says(step), "because": step.because });
    let groups = groups(path).into_iter().map(|(title, steps)| {
        let steps: Vec<Value> = steps.iter().map(step).collect();
        json!({ "title": title, "steps": steps })
    });
    json!({
        "head": head(path),
        "offered": OFFERED,
        "groups": groups.collect::<Vec<_>>(),
        "facts": facts(path),
    })
}

const OFFERED: &str = "Which releases are offered says `oc adm upgrade`.";

/// `4.18.20 to 5.0, by 4.19, 4.20, 4.21, 4.22: 2 things to do, 1 to find out`
fn head(path: &Path) -> String {
    let by = match &*path.through {
        [] => String::new(),
        through => format!(", by {}", through.join(", ")),
    };
    let [to_do, to_find_out] = [false, true].map(|open| path.count(open));
    let to_do = count(to_do, "thing");
    let (from, to) = (&path.from, &path.to);
    format!("{from} to {to}{by}: {to_do} to do, {to_find_out} to find out")
}

/// Steps by when they have to be done, and the sentence above them.
fn groups(path: &Path) -> Vec<(String, Vec<&Step>)> {
    let mut groups: Vec<(String, Vec<&Step>)> = Vec::new();
    for step in &path.steps {
        let title = title(step);
        match groups.iter_mut().find(|(own, _)| *own == title) {
            Some((_, steps)) => steps.push(step),
            None => groups.push((title, vec![step])),
        }
    }
    groups
}

fn title(step: &Step) -> String {
    let when = match &step.not_before {
        None => "may be done now".to_owned(),
        Some(release) => format!("not before {release}"),
    };
    match (&step.by, &step.not_before) {
        (None, _) => format!("BEFORE THE NEXT NODE  ({when})"),
        (Some(By { release, event }), before) => match (event, before) {
            (Event::NextNode, _) => format!("BEFORE THE FIRST NEW NODE AT {release}  ({when})"),
            (Event::PoolRolls, _) => {
                format!("BEFORE A POOL'S NODES ARE UPDATED TO {release}  ({when})")
            }
            (Event::UpdateStarts, Some(before)) => format!("ON {before}, BEFORE {release}"),
            (Event::UpdateStarts, None) => format!("BEFORE THE UPDATE TO {release}  ({when})"),
        },
    }
}

/// Steps, and how long they are enough.
fn says(step: &Step) -> String {
    let remedy = step
        .remedy
        .as_deref()
        .unwrap_or("change what the next node is made from");
    match (&step.holds_to, step.kind) {
        (Some(to), StepKind::Image) => format!("{remedy}: allowed at each release to {to}"),
        _ => remedy.to_owned(),
    }
}

/// Sets that change without anybody, that need nothing, and that were not looked at.
fn facts(path: &Path) -> Vec<(&'static str, String)> {
    let nothing = path.nothing_to_do;
    let by_itself = path.by_itself.join("; ");
    let all = [
        ("By itself", by_itself),
        ("Nothing to do", count(nothing, "set")),
        ("Not compared", path.not_compared.join("; ")),
    ];
    let is_said = |(_, value): &(_, String)| !value.is_empty();
    all.into_iter().filter(is_said).collect()
}
