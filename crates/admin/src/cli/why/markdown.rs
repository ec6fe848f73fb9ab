//! `why` for a ticket (pure).

use super::groups::{Group, groups};
use super::text::{MOST, no_machine, stage_words, step_lead};
use crate::forms::markdown::{block, marked, plain};
use crate::why::WhyReport;

pub(super) fn render(report: &WhyReport) -> String {
    let mut out = String::new();
    let groups = groups(&report.machines);
    if groups.len() > 1 {
        out += "| machine | stage |\n|---|---|\n";
        for group in groups.iter().take(MOST) {
            let more = match group.others.len() {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            out += &format!(
                "| {}{more} | {} |\n",
                plain(&group.first.name),
                stage_words(group.first.stage)
            );
        }
        out.push('\n');
    }
    for group in groups.iter().take(MOST) {
        out += &machine_text(group);
    }
    if groups.len() > MOST {
        out += &format!(
            "{} more: `oc skewguard why -o json`\n\n",
            groups.len() - MOST
        );
    }
    if report.machines.is_empty() {
        out += &(no_machine(report) + "\n");
    }
    for unread in &report.unread {
        out += &format!("- {}\n", marked(&unread.to_string()));
    }
    for note in &report.server_log.notes {
        out += &format!("- {}\n", marked(note));
    }
    out
}

fn machine_text(group: &Group<'_>) -> String {
    let machine = group.first;
    let mut out = format!(
        "### {}\n\n{}\n\n",
        plain(&machine.name),
        marked(&group.sentence())
    );
    for next in &machine.next {
        out += &format!("- {}\n", marked(next));
    }
    let steps = machine.steps.iter();
    let steps = steps.map(|step| step_lead(step) + &step.text);
    let steps: Vec<String> = steps.map(|step| step.trim_end().to_owned()).collect();
    out += &format!("\n{}\n\n", block(0, "", &steps.join("\n")));
    if !machine.evidence.is_empty() {
        out += "| seen | time | says |\n|---|---|---|\n";
    }
    for evidence in &machine.evidence {
        out += &format!(
            "| {} | {} | {} |\n",
            plain(&evidence.source),
            evidence.time.as_deref().unwrap_or_default(),
            marked(&evidence.text)
        );
    }
    for unseen in &machine.unseen {
        out += &format!("\nNot seen: {}\n", marked(unseen));
    }
    out.push('\n');
    out
}
