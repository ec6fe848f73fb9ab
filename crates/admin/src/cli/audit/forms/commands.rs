//! `--print-commands fix`: what one command each mends, as a script (pure).

use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, SetAudit};
use crate::cli::audit::conclusion::Conclusion;
use crate::cli::audit::facts::{above_command, head, in_use};
use crate::cli::audit::later::Later;
use crate::forms::shell::word;
use crate::forms::template::templates;
use minijinja::Error;
use minijinja::value::Serde;
use serde_json::{Value, json};
use std::path::Path;

/// The sentence above a command of [`BootImageAudit::keep_commands`], before a kind.
const KEEP: &str = "To have the cluster keep the images up to date from now on, those of all its";

/// The commands with which the cluster keeps its images, each with the sentence above it.
pub(super) fn keep_commands(audit: &BootImageAudit) -> Vec<(String, &str)> {
    let all = audit.keep_commands.iter();
    all.map(|(kind, command)| (format!("{KEEP} {kind}s:"), command.as_str()))
        .collect()
}

/// A function of the shell for `oc`: the script runs later, when another context may be the current
/// one. Empty where plain `oc` does. Standard input is gone by then.
fn function(kubeconfig: Option<&Path>, context: Option<&str>) -> String {
    let kubeconfig = kubeconfig.filter(|path| *path != Path::new("-"));
    let mut options = String::new();
    if let Some(path) = kubeconfig {
        options += &format!(" --kubeconfig {}", word(&path.to_string_lossy()));
    }
    if let Some(context) = context {
        options += &format!(" --context {}", word(context));
    }
    match options.as_str() {
        "" => options,
        options => format!("oc() {{\n    command oc{options} \"$@\"\n}}\n\n"),
    }
}

/// A script of POSIX sh. Sets with an exception are left as they are. Of several clusters each has
/// a shell of its own, and the first that fails ends the script.
pub(crate) fn render(
    fleet: &FleetAudit,
    conclusion: &Conclusion,
    kubeconfig: Option<&Path>,
) -> Result<String, Error> {
    let of = |cluster: &ClusterAudit| {
        let context = (!cluster.is_alone()).then_some(&*cluster.context);
        let audit = cluster.audit.as_ref().map(|audit| {
            let context = context.or(audit.origin.context.as_deref());
            of_audit(audit, &function(kubeconfig, context))
        });
        json!({ "context": context, "audit": audit, "error": cluster.error })
    };
    let script = json!({
        "sentence": conclusion.sentence,
        "later": conclusion.later.as_ref().map(Later::line),
        "alone": fleet.alone().is_some(),
        "clusters": fleet.items.iter().map(of).collect::<Vec<_>>(),
    });
    // No text ends a comment, whatever is in it.
    let templates = templates(|text| text.replace(|c: char| c.is_control(), " "))?;
    templates.render_str(include_str!("fix.sh"), Serde(script))
}

/// Commands for one cluster, and what is left to do by hand.
fn of_audit(audit: &BootImageAudit, oc: &str) -> Value {
    // The release that the cluster runs, where another one was asked about.
    let own = &audit.origin.release;
    let own = (audit.release != *own).then(|| own.as_deref().unwrap_or("unknown"));
    // What is unknown may have something to change, too, which decides nothing.
    let is_open =
        |set: &&SetAudit| set.would_be_refused() || set.is_unknown() && set.remedy.is_some();
    let open = audit
        .sets
        .iter()
        .filter(is_open)
        .filter(|set| !set.is_excepted());
    let (mended, by_hand): (Vec<_>, Vec<_>) = open.partition(|set| set.mended_by().is_some());
    let oldest = audit.oldest.as_ref();
    let oldest = oldest.filter(|oldest| oldest.command.is_some());
    let rows = |sets: Vec<&SetAudit>| sets.into_iter().map(row).collect::<Vec<_>>();
    json!({
        "head": head(audit),
        "own": own,
        "oc": oc,
        "mended": rows(mended),
        "by_hand": rows(by_hand),
        "keep": keep_commands(audit),
        "oldest": oldest.map(|oldest| with(json!(oldest), json!({
            "says": in_use(oldest, audit.oldest_node.as_ref()),
            "above_command": above_command(audit.cluster.as_ref()),
        }))),
    })
}

/// A set as in JSON, its title and its advice.
fn row(set: &SetAudit) -> Value {
    let said = json!({ "title": set.row().title(None), "advice": set.advice() });
    with(json!(set), said)
}

/// An object with the fields of another one.
pub(super) fn with(object: Value, more: Value) -> Value {
    match (object, more) {
        (Value::Object(mut fields), Value::Object(more)) => {
            fields.extend(more);
            Value::Object(fields)
        }
        (object, _) => object,
    }
}
