//! `--print-commands fix`: what one command each mends, as a script (pure).

use super::facts::{head, title};
use super::shell::word;
use crate::audit::results::fleet::FleetAudit;
use crate::audit::{BootImageAudit, SetAudit};
use crate::cli::audit::conclusion::Conclusion;
use crate::cli::audit::fleet_conclusion::FleetConclusion;
use std::path::Path;

/// What stands above a command of [`BootImageAudit::keep_commands`], before a kind.
pub(in crate::cli::audit) const KEEP: &str =
    "To have the cluster keep the images up to date from now on, those of all its";

/// What `oc` is called with: the script runs later, when another context may be the current one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Oc<'a> {
    pub(crate) kubeconfig: Option<&'a Path>,
    pub(crate) context: Option<&'a str>,
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

/// A script of POSIX sh. Sets with an exception are left as they are.
pub(crate) fn render(audit: &BootImageAudit, conclusion: &Conclusion, oc: Oc<'_>) -> String {
    let mut out = head_of_script(conclusion);
    head_of_cluster(&mut out, audit);
    part(&mut out, audit, oc, "set -eu\n\n");
    out
}

/// The same for several clusters, one after another: each in a shell of its own, the first that
/// fails ends the script.
pub(in crate::cli::audit) fn render_fleet(
    fleet: &FleetAudit,
    conclusion: &FleetConclusion,
    kubeconfig: Option<&Path>,
) -> String {
    let mut out = head_of_script(&conclusion.all);
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

/// What was audited, and the release that the cluster runs, where another one was asked about.
fn head_of_cluster(out: &mut String, audit: &BootImageAudit) {
    for (name, value) in head(audit) {
        comment(out, &format!("{name}: {value}"));
    }
    let origin = audit.origin.as_ref();
    let own = origin.and_then(|origin| origin.release.as_deref());
    if audit.release.as_deref() != own {
        let own = own.unwrap_or("unknown");
        comment(out, &format!("the cluster's own release: {own}"));
    }
}

fn head_of_script(conclusion: &Conclusion) -> String {
    let mut out = String::from("#!/bin/sh\n");
    comment(
        &mut out,
        "What `oc skewguard audit` found, and one command each mends. Read it before you run it.",
    );
    comment(&mut out, &conclusion.sentence);
    out
}

/// What is mended in one cluster, and what is left to do by hand.
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
        comment(out, &format!("{}: {advice}", title(set, None)));
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
