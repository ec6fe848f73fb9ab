//! `--print-commands fix`: what one command each mends, as a script (pure).

use super::facts::head;
use crate::audit::results::fleet::FleetAudit;
use crate::audit::{BootImageAudit, SetAudit};
use crate::cli::audit::conclusion::Conclusion;
use crate::forms::shell::word;
use std::path::Path;

/// The sentence above a command of [`BootImageAudit::keep_commands`], before a kind.
pub(in crate::cli::audit) const KEEP: &str =
    "To have the cluster keep the images up to date from now on, those of all its";

/// The options of `oc`: the script runs later, when another context may be the current one.
#[derive(Debug, Clone, Copy)]
struct Oc<'a> {
    kubeconfig: Option<&'a Path>,
    context: Option<&'a str>,
}

impl Oc<'_> {
    /// A function of the shell; empty where plain `oc` does. Standard input is gone by then.
    fn function(self) -> String {
        let kubeconfig = self.kubeconfig.filter(|path| *path != Path::new("-"));
        let mut options = String::new();
        if let Some(path) = kubeconfig {
            options += &format!(" --kubeconfig {}", word(&path.to_string_lossy()));
        }
        if let Some(context) = self.context {
            options += &format!(" --context {}", word(context));
        }
        if options.is_empty() {
            return String::new();
        }
        format!("oc() {{\n    command oc{options} \"$@\"\n}}\n\n")
    }
}

/// A script of POSIX sh. Sets with an exception are left as they are. Of several clusters each has
/// a shell of its own, and the first that fails ends the script.
pub(crate) fn render(
    fleet: &FleetAudit,
    conclusion: &Conclusion,
    kubeconfig: Option<&Path>,
) -> String {
    let mut out = String::from("#!/bin/sh\n");
    comment(
        &mut out,
        "What `oc skewguard audit` found, and one command each mends. Read it before you run it.",
    );
    comment(&mut out, &conclusion.sentence);
    if let Some(later) = &conclusion.later {
        comment(&mut out, &later.line());
    }
    if let Some(audit) = fleet.alone() {
        head_of_cluster(&mut out, audit);
        let context = audit.origin.context.as_deref();
        part(
            &mut out,
            audit,
            Oc {
                kubeconfig,
                context,
            },
            "set -eu\n\n",
        );
        return out;
    }
    comment(
        &mut out,
        "One cluster after another; where one of them refuses something, the script ends.",
    );
    out += "\nset -eu\n";
    for cluster in &fleet.items {
        out.push('\n');
        comment(&mut out, &format!("== {}", cluster.context));
        let Some(audit) = &cluster.audit else {
            let why = cluster.error.as_deref().unwrap_or_default();
            comment(&mut out, &format!("not audited: {why}"));
            continue;
        };
        head_of_cluster(&mut out, audit);
        out += "(\n";
        let oc = Oc {
            kubeconfig,
            context: Some(&cluster.context),
        };
        part(&mut out, audit, oc, "");
        out += ":\n)\n";
    }
    out
}

/// The head of an audit, and the release that the cluster runs, where another one was asked about.
fn head_of_cluster(out: &mut String, audit: &BootImageAudit) {
    for (name, value) in head(audit) {
        comment(out, &format!("{name}: {value}"));
    }
    let own = &audit.origin.release;
    if audit.release != *own {
        let own = own.as_deref().unwrap_or("unknown");
        comment(out, &format!("the cluster's own release: {own}"));
    }
}

/// Commands for one cluster, and what is left to do by hand.
fn part(out: &mut String, audit: &BootImageAudit, oc: Oc<'_>, before: &str) {
    let refused = audit
        .sets
        .iter()
        .filter(|set| set.would_be_refused() && !set.is_excepted());
    let (mended, by_hand): (Vec<&SetAudit>, Vec<&SetAudit>) =
        refused.partition(|set| set.patch.is_some());
    out.push('\n');
    if mended.is_empty() {
        comment(out, "There is nothing that one command mends.");
    } else {
        *out += before;
        *out += &oc.function();
        comment(
            out,
            "Only the next machine of each set is made from the new image. What would replace or stop machines that run is below, by hand.",
        );
        *out += "patches() {\n";
        for set in &mended {
            entry(out, set);
        }
        *out += "}\n\n";
        comment(
            out,
            "The server tries all of it first, and changes nothing. If it rejects one, nothing is applied.",
        );
        *out += "patches --dry-run=server\npatches\n";
    }
    if !by_hand.is_empty() {
        out.push('\n');
        comment(out, "By hand:");
    }
    for set in by_hand {
        let advice = set.advice().unwrap_or_else(|| set.message.clone());
        comment(out, &format!("{}: {advice}", set.row().title(None)));
        let file = set.patch_file.iter();
        for line in file.flat_map(|file| file.text.lines()) {
            comment(out, &format!("    {line}"));
        }
    }
    for (kind, command) in &audit.keep_commands {
        out.push('\n');
        comment(out, &format!("{KEEP} {kind}s:"));
        comment(out, command);
    }
    if let Some(command) = audit
        .oldest
        .as_ref()
        .and_then(|oldest| oldest.command.as_ref())
    {
        out.push('\n');
        comment(
            out,
            "To tell the Machine Config Operator the oldest boot image, where nothing older is in use:",
        );
        comment(out, command);
    }
}

fn entry(out: &mut String, set: &SetAudit) {
    let Some(patch) = &set.patch else {
        return;
    };
    out.push_str("    ");
    comment(out, &format!("{}: {}", set.row().title(None), set.message));
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
