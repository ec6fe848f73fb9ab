//! The audit as one HTML file without scripts and without links to anywhere else (pure).

use super::chart::bars;
use super::commands::keep_commands;
use super::facts::{above_command, head, in_use, operator_says, waiting};
use super::page::{doubts, of_conclusion, of_image, of_set, page, things_to_do};
use crate::audit::results::fleet::FleetAudit;
use crate::audit::{BirthAudit, BootImageAudit};
use crate::cli::audit::conclusion::{Conclusion, Conclusions};
use crate::forms::markdown::in_parts;
use crate::forms::template::templates;
use minijinja::value::Serde;
use minijinja::{Error, Value as Markup};
use serde_json::{Value, json};
use skewguard_cluster::names::count;

/// Its lines are for who reads it: the page has none.
const TEMPLATE: &str = include_str!("page.html");

pub(crate) fn render(fleet: &FleetAudit, conclusions: &Conclusions) -> Result<String, Error> {
    let title = match fleet.alone().map(|audit| audit.origin.name()) {
        Some(Some(name)) => format!("Boot images of cluster {name}"),
        Some(None) => "Boot images".to_owned(),
        None => {
            let clusters = count(fleet.items.len(), "cluster");
            format!("Boot images of {clusters}")
        }
    };
    let clusters = fleet.items.iter().zip(&conclusions.each);
    let parts =
        clusters.map(|(cluster, own)| Some(of_audit(cluster.audit.as_ref()?, own.as_ref()?)));
    let page = json!({
        "title": title,
        "version": env!("CARGO_PKG_VERSION"),
        "style": include_str!("html.css"),
        "time": fleet.time,
        "parts": parts.collect::<Vec<_>>(),
        "page": page(fleet, &conclusions.all),
    });
    let mut templates = templates(escape)?;
    templates.add_filter("marked", marked);
    let template: String = TEMPLATE.lines().map(str::trim).collect();
    Ok(templates.render_str(&template, Serde(page))? + "\n")
}

/// Text that is no markup, also in an attribute.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Prose, in which commands stand between backticks.
fn marked(text: &str) -> Markup {
    // A browser breaks an option behind its hyphens.
    let code = |text: &str| match text.starts_with("--") && !text.contains(' ') {
        true => format!("<code class=\"option\">{}</code>", escape(text)),
        false => format!("<code>{}</code>", escape(text)),
    };
    Markup::from_safe_string(in_parts(text, escape, code))
}

/// A cluster.
fn of_audit(audit: &BootImageAudit, conclusion: &Conclusion) -> Value {
    let oldest = audit.oldest.as_ref().map(|oldest| {
        json!({
            "says": in_use(oldest, audit.oldest_birth.as_ref()),
            "operator": operator_says(audit),
            "above_command": above_command(audit.cluster.as_ref()),
            "command": oldest.command,
            "back": oldest.way_back,
        })
    });
    json!({
        "conclusion": of_conclusion(conclusion, Some(audit)),
        "head": head(audit),
        "bars": bars(audit),
        "to_do": things_to_do(audit),
        "sets": audit.sets.iter().map(of_set).collect::<Vec<_>>(),
        "births": audit.births.iter().map(of_birth).collect::<Vec<_>>(),
        "keep": keep_commands(audit),
        "waiting": waiting(audit),
        "doubts": doubts(audit),
        "oldest": oldest,
    })
}

/// Joined nodes that the update breaks.
fn of_birth(birth: &BirthAudit) -> Value {
    json!({
        "names": birth.names(),
        "boot_image": birth.boot_image.as_ref().map(of_image),
        "birth": birth,
    })
}
