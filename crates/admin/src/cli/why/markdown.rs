//! `why` for a ticket (pure).

use super::groups::{Group, groups};
use super::text::{MOST, no_machine, stage_words, step_lead};
use crate::forms::markdown::render_template;
use crate::why::{Step, WhyReport};
use minijinja::Error;
use serde_json::{Value, json};

pub(super) fn render(report: &WhyReport) -> Result<String, Error> {
    let groups = groups(&report.machines);
    let unread = report.unread.iter().map(ToString::to_string);
    let notes = unread.chain(report.server_log.notes.iter().cloned());
    let page = json!({
        "groups": groups.iter().take(MOST).map(of_group).collect::<Vec<_>>(),
        "more": groups.len().saturating_sub(MOST),
        "no_machine": report.machines.is_empty().then(|| no_machine(report)),
        "notes": notes.collect::<Vec<_>>(),
    });
    render_template(include_str!("ticket.md"), page)
}

fn of_group(group: &Group<'_>) -> Value {
    let step = |step: &Step| (step_lead(step) + &step.text).trim_end().to_owned();
    let steps: Vec<String> = group.first.steps.iter().map(step).collect();
    json!({
        "first": group.first,
        "others": group.others.len(),
        "stage": stage_words(group.first.stage),
        "sentence": group.sentence(),
        "steps": steps.join("\n"),
    })
}
