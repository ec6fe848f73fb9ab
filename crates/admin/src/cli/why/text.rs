//! `why` for a person: the sentence first, then the steps with a mark each, then what says so. 80
//! columns (pure).

use super::groups::{Group, groups};
use crate::text::{cut, wrap};
use crate::why::{Mark, Stage, WhyReport};
use std::collections::BTreeMap;

const WIDTH: usize = 80;

/// So many machines are explained with all that is known; of the others there is the sentence.
const WHOLE: usize = 10;

/// So many are told at all; JSON has each.
pub(super) const MOST: usize = 100;

pub(super) fn render(report: &WhyReport) -> String {
    let mut out = String::new();
    let groups = groups(&report.machines);
    for (n, group) in groups.iter().enumerate().take(MOST) {
        if n > 0 && n <= WHOLE {
            out.push('\n');
        }
        if n == WHOLE {
            out += &paragraph(
                &format!(
                    "{} more, by their sentence; each by itself: oc skewguard why NAME",
                    groups.len() - WHOLE
                ),
                "",
            );
        }
        out += &if n < WHOLE {
            machine_text(group)
        } else {
            paragraph(&group.sentence(), "  ")
        };
    }
    if groups.len() > MOST {
        let text = format!("{} more: oc skewguard why -o json", groups.len() - MOST);
        out += &paragraph(&text, "  ");
    }
    if report.machines.is_empty() {
        out += &no_machine(report);
    } else {
        out += &summary(report);
    }
    out += &notes(report);
    out
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
    paragraph(&format!("{begin}{young}{end}"), "")
}

/// The text of a machine, and of those that are alike: the sentence, what to do, the steps, what says
/// so.
fn machine_text(group: &Group<'_>) -> String {
    let machine = group.first;
    let mut out = paragraph(&group.sentence(), "");
    for next in &machine.next {
        out += &next_text(next);
    }
    out.push('\n');
    for step in &machine.steps {
        let line = format!("  {} {:<17}{}", mark(step.mark), step.name, step.text);
        out += cut(&line, WIDTH).trim_end();
        out.push('\n');
    }
    if !machine.evidence.is_empty() {
        out += "\n  Seen:\n";
    }
    for evidence in &machine.evidence {
        let time = evidence.time.as_ref();
        let time = time.map_or(String::new(), |time| format!("{time} "));
        let text = format!("{time}{}: {}", evidence.source, evidence.text);
        out += &paragraph(&text, "    ");
    }
    if !machine.unseen.is_empty() {
        out += "\n  Not seen:\n";
    }
    for unseen in &machine.unseen {
        out += &paragraph(unseen, "    ");
    }
    out
}

/// A thing to do; a command in lines of its own, which a shell takes as they are.
fn next_text(next: &str) -> String {
    let command = [": oc ", ": curl "].iter().find_map(|mark| {
        let at = next.find(mark)?;
        next.split_at_checked(at + 1)
    });
    let Some((what, command)) = command else {
        return paragraph(&format!("- {next}"), "  ");
    };
    let lines = wrap(command, WIDTH - 8);
    let lines: Vec<String> = lines.iter().map(|line| format!("      {line}")).collect();
    format!(
        "{}{}\n",
        paragraph(&format!("- {what}"), "  "),
        lines.join(" \\\n")
    )
}

pub(super) fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::Done => "[x]",
        Mark::Stopped => "[!]",
        Mark::NotReached => "[ ]",
        Mark::Unknown => "[?]",
    }
}

/// The numbers of those that stopped at each stage, if there are several.
fn summary(report: &WhyReport) -> String {
    if report.machines.len() < 2 {
        return String::new();
    }
    let mut counts: BTreeMap<Stage, usize> = BTreeMap::new();
    for machine in &report.machines {
        *counts.entry(machine.stage).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(stage, count)| format!("{count} {}", stage_words(*stage)))
        .collect();
    format!(
        "\n{}",
        paragraph(
            &format!("Of {}: {}.", report.machines.len(), counts.join(", ")),
            ""
        )
    )
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

fn notes(report: &WhyReport) -> String {
    let log = &report.server_log;
    let mut all = Vec::new();
    if log.servers > 0 {
        let since = log.since.as_ref();
        let since = since.map_or(String::new(), |since| format!(" since {since}"));
        all.push(format!(
            "Logs of {} machine-config-server{}{since}: {} request{}.",
            log.servers,
            if log.servers == 1 { "" } else { "s" },
            log.requests,
            if log.requests == 1 { "" } else { "s" }
        ));
    }
    all.extend(log.notes.iter().cloned());
    all.extend(
        report
            .unread
            .iter()
            .take(20)
            .map(|unread| format!("not read: {}: {}", unread.what, unread.why)),
    );
    if all.is_empty() {
        return String::new();
    }
    let lines: String = all.iter().map(|note| paragraph(note, "  ")).collect();
    format!("\n{lines}")
}

/// Wrapped text, each line but the first further in.
fn paragraph(text: &str, indent: &str) -> String {
    let width = WIDTH - indent.len() - 2;
    let mut out = String::new();
    for (n, line) in wrap(text, width).iter().enumerate() {
        let hang = if n > 0 && !indent.is_empty() {
            "  "
        } else {
            ""
        };
        out += &format!("{indent}{hang}{line}\n");
    }
    out
}
