//! `--print-commands fix`: what one command each mends, as a script (pure).

use super::conclusion::Conclusion;
use super::page::{head, title};
use crate::audit::{BootImageAudit, SetAudit};

/// A script of POSIX sh. Sets with an exception are left as they are.
pub(crate) fn render(audit: &BootImageAudit, conclusion: &Conclusion) -> String {
    let refused = audit
        .sets
        .iter()
        .filter(|set| set.would_be_refused() && !set.is_excepted());
    let (mended, by_hand): (Vec<&SetAudit>, Vec<&SetAudit>) =
        refused.partition(|set| set.patch.is_some());
    let mut out = String::from("#!/bin/sh\n");
    comment(
        &mut out,
        "What `oc skewguard audit` found, and one command each mends. Read it before you run it.",
    );
    comment(&mut out, &conclusion.sentence);
    for (name, value) in head(audit) {
        comment(&mut out, &format!("{name}: {value}"));
    }
    if mended.is_empty() {
        out.push('\n');
        comment(&mut out, "There is nothing that one command mends.");
    } else {
        out += "\nset -eu\n\n";
        comment(
            &mut out,
            "The next machine of each set is made from the new image; those that are there stay as they are.",
        );
        out += "patches() {\n";
        for set in &mended {
            entry(&mut out, set);
        }
        out += "}\n\n";
        comment(
            &mut out,
            "The server tries all of it first, and changes nothing. Where it refuses one, none is made.",
        );
        out += "patches --dry-run=server\npatches\n";
    }
    if !by_hand.is_empty() {
        out.push('\n');
        comment(&mut out, "By hand:");
    }
    for set in by_hand {
        let remedy = set.remedy.as_deref().unwrap_or(&set.message);
        comment(&mut out, &format!("{}: {remedy}", title(set, None)));
    }
    if let Some(command) = audit
        .oldest
        .as_ref()
        .and_then(|oldest| oldest.command.as_ref())
    {
        out.push('\n');
        comment(
            &mut out,
            "To tell the Machine Config Operator the oldest boot image, where nothing older is in use:",
        );
        comment(&mut out, command);
    }
    out
}

fn entry(out: &mut String, set: &SetAudit) {
    let Some(patch) = &set.patch else {
        return;
    };
    out.push_str("    ");
    comment(out, &format!("{}: {}", title(set, None), set.message));
    if let Some(version) = &set.want_version {
        out.push_str("    ");
        comment(
            out,
            &format!(
                "from {} to {version}",
                set.image.as_deref().unwrap_or("no image")
            ),
        );
    }
    out.push_str(&format!("    {patch} \"$@\"\n"));
}

/// A line that the shell passes over, whatever is in it.
fn comment(out: &mut String, text: &str) {
    let text = text.replace(|c: char| c.is_control(), " ");
    out.push_str(&format!("# {text}\n"));
}
