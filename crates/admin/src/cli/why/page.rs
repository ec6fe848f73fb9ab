//! What `why` says to people, put together once; a template writes it for a terminal, another one for a
//! ticket (pure).

use super::groups::{Group, groups};
use crate::audit::Unread;
use crate::forms::markdown::render_template;
use crate::forms::template::templates;
use crate::forms::terminal::Terminal;
use crate::why::{Mark, Stage, Step, WhyReport};
use minijinja::Error;
use minijinja::value::Serde;
use serde_json::{Value, json};
use skewguard_cluster::names::{count, first_of};
use std::collections::BTreeMap;

/// So many machines are told at all; JSON has each.
const MOST: usize = 100;

/// For a person: how many, then of each the sentence, what to do, the steps with a mark each, and what
/// says so.
pub(super) fn text(report: &WhyReport, terminal: Terminal) -> Result<String, Error> {
    let joined = |lines: Vec<String>| {
        let lines = lines.iter().map(|line| line.trim_end());
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut templates = templates(str::to_owned)?;
    templates.add_filter("text", move |text: &str, lead: &str, hang: usize| {
        joined(terminal.text(lead, hang, text))
    });
    templates.add_filter("advice", move |text: &str, lead: &str, hang: usize| {
        joined(terminal.advice(lead, hang, text))
    });
    templates.render_str(include_str!("page.txt"), Serde(page(report)))
}

/// For a ticket.
pub(super) fn markdown(report: &WhyReport) -> Result<String, Error> {
    render_template(include_str!("page.md"), page(report))
}

fn page(report: &WhyReport) -> Value {
    let groups = groups(&report.machines);
    json!({
        "all": groups.len(),
        "most": MOST,
        "groups": groups.iter().take(MOST).map(of_group).collect::<Vec<_>>(),
        "summary": (report.machines.len() > 1).then(|| summary(report)),
        "no_machine": report.machines.is_empty().then(|| no_machine(report)),
        "logs": (report.server_log.servers > 0).then(|| logs(report)),
        "notes": report.server_log.notes,
        "unread": unread(&report.unread),
    })
}

/// A line for each reason; JSON has each thing that was not read.
fn unread(all: &[Unread]) -> Vec<String> {
    let mut lines: Vec<(&Unread, Vec<&str>)> = Vec::new();
    for one in all {
        let is_like = |of: &Unread| (of.makes_nodes, &of.why) == (one.makes_nodes, &one.why);
        match lines.iter_mut().find(|(of, _)| is_like(of)) {
            Some((_, names)) => names.push(&one.what),
            None => lines.push((one, vec![&one.what])),
        }
    }
    let line = |(first, names): (&Unread, Vec<&str>)| {
        let what = first_of(names.iter().copied(), 3, names.len());
        let all = Unread {
            what,
            ..first.clone()
        };
        all.to_string()
    };
    lines.into_iter().map(line).collect()
}

fn of_group(group: &Group<'_>) -> Value {
    let steps = group.first.steps.iter();
    json!({
        "first": group.first,
        "next": group.next(),
        "others": group.others.len(),
        "stage": words(group.first.stage),
        "sentence": group.sentence(),
        "steps": steps.map(|step| (lead(step), &step.text)).collect::<Vec<_>>(),
    })
}

/// Mark and name of a step, before its text.
fn lead(step: &Step) -> String {
    let mark = match step.mark {
        Mark::Done => "[x]",
        Mark::Stopped => "[!]",
        Mark::NotReached => "[ ]",
        Mark::Unknown => "[?]",
    };
    format!("{mark} {:<17}", step.name)
}

/// What is said where nothing waits: only where all was read that would show it is there none.
fn no_machine(report: &WhyReport) -> String {
    let namespace = report.namespace.as_ref();
    let of = namespace.map_or(String::new(), |name| format!(" of namespace {name}"));
    let (begin, end) = match report.unread.is_empty() {
        true => ("No", ""),
        false => (
            "In what was read no",
            " Whether others wait is unknown: see what was not read.",
        ),
    };
    let young = match report.young {
        0 => ".".to_owned(),
        1 => " for more than ten minutes; 1 was made just now.".to_owned(),
        young => format!(" for more than ten minutes; {young} were made just now."),
    };
    format!("{begin} machine{of} waits to become a Node{young}{end}")
}

/// The numbers of those that stopped at each stage.
fn summary(report: &WhyReport) -> String {
    let mut counts: BTreeMap<(Stage, &str), usize> = BTreeMap::new();
    for machine in &report.machines {
        let mut steps = machine.steps.iter();
        // An unknown address asked, which may be its own.
        let is_open =
            machine.stage == Stage::NoRequest && steps.all(|step| step.mark != Mark::Stopped);
        let perhaps = if is_open { "perhaps " } else { "" };
        *counts.entry((machine.stage, perhaps)).or_default() += 1;
    }
    let counts = counts.iter();
    let counts =
        counts.map(|((stage, perhaps), count)| format!("{count} {perhaps}{}", words(*stage)));
    let counts: Vec<String> = counts.collect();
    format!("Of {}: {}.", report.machines.len(), counts.join(", "))
}

fn words(stage: Stage) -> &'static str {
    match stage {
        Stage::BeingRemade => "made anew again and again",
        Stage::NoInstance => "without a running instance",
        Stage::NoRequest => "did not ask for a config",
        Stage::RequestRefused => "did not get a config",
        Stage::Refused => "refused by skewguard",
        Stage::FirstBoot => "in the first boot",
        Stage::NoCertificate => "without a certificate",
        Stage::NodeNotReady => "with a Node that is missing, not Ready or not linked",
        Stage::Unknown => "unknown",
        Stage::Joined => "joined",
    }
}

/// What was read of logs.
fn logs(report: &WhyReport) -> String {
    let log = &report.server_log;
    let since = log.since.as_ref();
    let since = since.map_or(String::new(), |since| format!(" since {since}"));
    format!(
        "Logs of {}{since}: {}.",
        count(log.servers, "machine-config-server"),
        count(log.requests, "request")
    )
}
