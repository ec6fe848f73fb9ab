//! `why` for a person: how many, then of each the sentence, what to do, the steps with a mark each,
//! and what says so (pure).

use super::groups::{Group, groups};
use crate::forms::terminal::Terminal;
use crate::why::{Mark, Stage, Step, WhyReport};
use std::collections::BTreeMap;

/// So many machines are explained with all that is known; of the others there is the sentence.
const WHOLE: usize = 10;

/// So many are told at all; JSON has each.
pub(super) const MOST: usize = 100;

/// The most that were not read, by name.
const UNREAD: usize = 20;

pub(super) fn render(report: &WhyReport, terminal: Terminal) -> String {
    let mut out = summary(terminal, report);
    let groups = groups(&report.machines);
    for (n, group) in groups.iter().enumerate().take(MOST) {
        if n <= WHOLE && !out.is_empty() {
            out.push(String::new());
        }
        if n == WHOLE {
            let more = groups.len() - WHOLE;
            let text =
                format!("{more} more, by their sentence; each by itself: `oc skewguard why NAME`");
            out.extend(terminal.prose(0, &text));
        }
        if n < WHOLE {
            machine(terminal, group, &mut out);
        } else {
            out.extend(terminal.text("  ", 4, &group.sentence()));
        }
    }
    if groups.len() > MOST {
        let text = format!("{} more: `oc skewguard why -o json`", groups.len() - MOST);
        out.extend(terminal.prose(2, &text));
    }
    if report.machines.is_empty() {
        out.extend(terminal.prose(0, &no_machine(report)));
    }
    let notes = notes(report);
    if !notes.is_empty() {
        out.push(String::new());
    }
    out.extend(notes.iter().flat_map(|note| terminal.text("  ", 4, note)));
    out.join("\n") + "\n"
}

/// What is said where nothing waits: only where all was read that would show it is there none.
pub(super) fn no_machine(report: &WhyReport) -> String {
    let of =
        (report.namespace.as_ref()).map_or(String::new(), |name| format!(" of namespace {name}"));
    let begin = if report.unread.is_empty() {
        format!("No machine{of} waits to become a Node")
    } else {
        format!("In what was read no machine{of} waits to become a Node")
    };
    let young = match report.young {
        0 => ".".to_owned(),
        1 => " for more than ten minutes; 1 was made just now.".to_owned(),
        young => format!(" for more than ten minutes; {young} were made just now."),
    };
    let end = if report.unread.is_empty() {
        ""
    } else {
        " Whether others wait is unknown: see what was not read."
    };
    format!("{begin}{young}{end}")
}

/// The text of a machine, and of those that are alike: the sentence, what to do, the steps, what says
/// so.
fn machine(terminal: Terminal, group: &Group<'_>, out: &mut Vec<String>) {
    let machine = group.first;
    out.extend(terminal.prose(0, &group.sentence()));
    for next in &machine.next {
        out.extend(terminal.advice("  - ", 4, next));
    }
    out.push(String::new());
    for step in &machine.steps {
        let lead = format!("  {}", step_lead(step));
        let lines = terminal.text(&lead, lead.len(), &step.text);
        out.extend(lines.iter().map(|line| line.trim_end().to_owned()));
    }
    let seen = machine.evidence.iter().map(|evidence| {
        let time = evidence.time.as_ref();
        let time = time.map_or(String::new(), |time| format!("{time} "));
        format!("{time}{}: {}", evidence.source, evidence.text)
    });
    for (title, texts) in [
        ("Seen", seen.collect()),
        ("Not seen", machine.unseen.clone()),
    ] {
        if !texts.is_empty() {
            out.extend([String::new(), format!("  {title}:")]);
        }
        out.extend(texts.iter().flat_map(|text| terminal.text("    ", 6, text)));
    }
}

/// Mark and name of a step, before its text.
pub(super) fn step_lead(step: &Step) -> String {
    let mark = match step.mark {
        Mark::Done => "[x]",
        Mark::Stopped => "[!]",
        Mark::NotReached => "[ ]",
        Mark::Unknown => "[?]",
    };
    format!("{mark} {:<17}", step.name)
}

/// The numbers of those that stopped at each stage, if there are several.
fn summary(terminal: Terminal, report: &WhyReport) -> Vec<String> {
    if report.machines.len() < 2 {
        return Vec::new();
    }
    let mut counts: BTreeMap<Stage, usize> = BTreeMap::new();
    for machine in &report.machines {
        *counts.entry(machine.stage).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(stage, count)| format!("{count} {}", stage_words(*stage)))
        .collect();
    let text = format!("Of {}: {}.", report.machines.len(), counts.join(", "));
    terminal.prose(0, &text)
}

pub(super) fn stage_words(stage: Stage) -> &'static str {
    match stage {
        Stage::BeingRemade => "made anew again and again",
        Stage::NoInstance => "without an instance",
        Stage::NoRequest => "did not ask for a config",
        Stage::RequestRefused => "did not get a config",
        Stage::Refused => "refused by skewguard",
        Stage::FirstBoot => "in the first boot",
        Stage::NoCertificate => "without a certificate",
        Stage::NodeNotReady => "with a Node that is not Ready or not linked",
        Stage::Unknown => "unknown",
        Stage::Joined => "joined",
    }
}

/// What was read of logs, and what was not read.
fn notes(report: &WhyReport) -> Vec<String> {
    let log = &report.server_log;
    let plural = |number: usize| if number == 1 { "" } else { "s" };
    let logs = (log.servers > 0).then(|| {
        let since = log.since.as_ref();
        let since = since.map_or(String::new(), |since| format!(" since {since}"));
        format!(
            "Logs of {} machine-config-server{}{since}: {} request{}.",
            log.servers,
            plural(log.servers),
            log.requests,
            plural(log.requests)
        )
    });
    let unread = report.unread.iter().take(UNREAD);
    (logs.into_iter())
        .chain(log.notes.iter().cloned())
        .chain(unread.map(ToString::to_string))
        .collect()
}
