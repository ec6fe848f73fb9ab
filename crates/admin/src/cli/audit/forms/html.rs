//! The audit as one HTML file without scripts and without links to anywhere else (pure).

use super::page::Page;
use crate::audit::results::fleet::FleetAudit;
use crate::cli::audit::conclusion::Conclusions;
use crate::forms::markdown::in_parts;
use crate::forms::template::templates;
use minijinja::value::Serde;
use minijinja::{Error, Value as Markup};
use serde_json::json;
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
    let page = json!({
        "title": title,
        "version": env!("CARGO_PKG_VERSION"),
        "style": include_str!("html.css"),
        "time": fleet.time,
        "page": Page::of(fleet, conclusions),
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
