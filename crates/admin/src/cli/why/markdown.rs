//! `why` for a ticket (pure).

use super::groups::{Group, groups};
use super::text::{MOST, mark, no_machine, stage_words};
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
        out += &no_machine(report).replace('\n', " ");
        out.push('\n');
    }
    for unread in &report.unread {
        out += &format!(
            "- not read: {}: {}\n",
            plain(&unread.what),
            plain(&unread.why)
        );
    }
    for note in &report.server_log.notes {
        out += &format!("- {}\n", plain(note));
    }
    out
}

fn machine_text(group: &Group<'_>) -> String {
    let machine = group.first;
    let mut out = format!(
        "### {}\n\n{}\n\n",
        plain(&machine.name),
        plain(&group.sentence())
    );
    for next in &machine.next {
        out += &format!("- {}\n", plain(next));
    }
    out += "\n```\n";
    for step in &machine.steps {
        let line = format!("{} {:<17}{}", mark(step.mark), step.name, step.text);
        out += line.trim_end();
        out.push('\n');
    }
    out += "```\n\n";
    if !machine.evidence.is_empty() {
        out += "| seen | time | says |\n|---|---|---|\n";
    }
    for evidence in &machine.evidence {
        out += &format!(
            "| {} | {} | {} |\n",
            plain(&evidence.source),
            evidence.time.as_deref().unwrap_or_default(),
            plain(&evidence.text)
        );
    }
    for unseen in &machine.unseen {
        out += &format!("\nNot seen: {}\n", plain(unseen));
    }
    out.push('\n');
    out
}

/// A text of others, without what Markdown gives a meaning.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_[]<>|#".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
