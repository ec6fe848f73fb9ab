//! `why` for a ticket (pure).

use super::text::{mark, stage_words};
use crate::why::{Explanation, WhyReport};

pub(super) fn render(report: &WhyReport) -> String {
    let mut out = String::new();
    if report.machines.len() > 1 {
        out += "| machine | stage |\n|---|---|\n";
        for machine in &report.machines {
            out += &format!(
                "| {} | {} |\n",
                plain(&machine.name),
                stage_words(machine.stage)
            );
        }
        out.push('\n');
    }
    for machine in &report.machines {
        out += &machine_text(machine);
    }
    if report.machines.is_empty() {
        out += "No machine waits to become a Node for more than ten minutes.\n";
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

fn machine_text(machine: &Explanation) -> String {
    let mut out = format!(
        "### {}\n\n{}\n\n",
        plain(&machine.name),
        plain(&machine.sentence)
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
