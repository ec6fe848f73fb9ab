//! The audit as one HTML file without scripts and without links to anywhere else (pure).

use super::chart::{count, svg};
use super::page::{Word, clues, escape, head, remedies};
use crate::audit::{BootImageAudit, SetAudit, full_name};

const STYLE: &str = include_str!("html.css");

pub(crate) fn render(audit: &BootImageAudit) -> String {
    let title = match audit
        .origin
        .as_ref()
        .and_then(|origin| origin.cluster_id.as_ref())
    {
        Some(id) => format!("Boot images of cluster {}", escape(id)),
        None => "Boot images".to_owned(),
    };
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    page += &facts(audit);
    page += &tiles(audit);
    page += &format!(
        "<h2>The fleet by boot image</h2>\n<p class=\"soft\">Joined nodes by the image that they were made from, oldest first. \
         The colour is the verdict on the sets whose next node is made from it.</p>\n{}",
        svg(audit)
    );
    page += &to_do(audit);
    page += &sets(&audit.sets);
    page += &waiting(audit);
    page += &doubts(audit);
    page += &format!(
        "<footer>skewguard {} audit. A verdict is on the next node of a set, as if the policy enforced.</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    page
}

fn facts(audit: &BootImageAudit) -> String {
    let rows: String = head(audit)
        .into_iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(&value)))
        .collect();
    format!("<dl>\n{rows}</dl>\n")
}

fn tiles(audit: &BootImageAudit) -> String {
    let summary = audit.summary;
    let tile = |class: &str, number: usize, what: &str| {
        format!("<div class=\"tile {class}\"><b>{number}</b>{what}</div>\n")
    };
    [
        "<div class=\"tiles\">\n".to_owned(),
        tile("refused", summary.would_be_refused, "would be refused"),
        tile("unknown", summary.undetermined, "not known"),
        tile("allowed", summary.would_be_allowed, "allowed"),
        tile("", summary.sets, "sets in all"),
        "</div>\n".to_owned(),
    ]
    .concat()
}

fn to_do(audit: &BootImageAudit) -> String {
    let item = |number, what: &str, text: &str| {
        format!(
            "<li>{} ({}): {}</li>\n",
            count(number, "set", "sets"),
            escape(what),
            escape(text)
        )
    };
    let items: String = remedies(audit)
        .into_iter()
        .map(|((platform, remedy), number)| item(number, platform, remedy))
        .chain(
            clues(audit)
                .into_iter()
                .map(|(clue, number)| item(number, "unknown", clue)),
        )
        .collect();
    if items.is_empty() {
        return String::new();
    }
    format!("<h2>What to do</h2>\n<ul>\n{items}</ul>\n")
}

fn sets(sets: &[SetAudit]) -> String {
    let rows: String = sets.iter().map(row).collect();
    format!(
        "<h2>Sets</h2>\n<table>\n<thead><tr><th>Verdict</th><th>Set</th><th>Boot image</th><th>Nodes</th><th class=\"what\">Why, and what to do</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n"
    )
}

fn row(set: &SetAudit) -> String {
    let word = Word::of(set);
    let soft = |text: &str| format!("<br><span class=\"soft\">{}</span>", escape(text));
    let mut name = format!(
        "{} <code class=\"name\">{}</code>",
        escape(set.kind),
        escape(&full_name(&set.namespace, &set.name))
    );
    let place: Vec<String> = [&set.platform, &set.region, &set.architecture]
        .into_iter()
        .flatten()
        .cloned()
        .chain(set.pool.as_ref().map(|pool| format!("pool {pool}")))
        .collect();
    if !place.is_empty() {
        name += &soft(&place.join(", "));
    }
    let mut image = match &set.boot_image {
        Some(image) => format!(
            "<code class=\"image\">{}</code>{}",
            escape(&image.version),
            soft(&image.systems().join(", "))
        ),
        None => "not known".to_owned(),
    };
    if let Some(from) = &set.known_from {
        image += &soft(&format!("by {from}"));
    }
    let mut what = Vec::new();
    if !set.would_be_allowed() {
        what.push(format!("<p>{}</p>", escape(&set.message)));
    }
    what.extend(
        set.known_issues
            .iter()
            .map(|issue| format!("<p>known issue {}</p>", escape(&issue.says()))),
    );
    if let Some(clue) = &set.to_know {
        what.push(format!("<p>{}</p>", escape(clue)));
    }
    if let Some(remedy) = &set.remedy {
        what.push(format!("<p>{}</p>", escape(remedy)));
    }
    what.extend(
        set.notes
            .iter()
            .map(|note| format!("<p class=\"soft\">{}</p>", escape(note))),
    );
    if let Some(patch) = &set.patch {
        what.push(format!("<pre><code>{}</code></pre>", escape(patch)));
    }
    let joined: usize = set.nodes.iter().map(|nodes| nodes.count).sum();
    let nodes = match set.replicas {
        Some(wanted) => format!("{joined} of {wanted}"),
        None => joined.to_string(),
    };
    format!(
        "<tr><td class=\"verdict {}\">{}</td><td>{name}</td><td>{image}</td><td class=\"nodes\">{nodes}</td><td>{}</td></tr>\n",
        word.class(),
        word.lower(),
        what.concat()
    )
}

/// The machines that have not joined.
fn waiting(audit: &BootImageAudit) -> String {
    if audit.provisioned.is_empty() {
        return String::new();
    }
    let items: String = audit
        .provisioned
        .iter()
        .map(|machine| format!("<li>{}</li>\n", escape(&machine.says())))
        .collect();
    format!("<h2>Machines that have not become nodes</h2>\n<ul>\n{items}</ul>\n")
}

/// What limits what this page can say.
fn doubts(audit: &BootImageAudit) -> String {
    let unread = audit
        .unread
        .iter()
        .map(|unread| format!("not read: {}: {}", unread.what, unread.why));
    let items: String = audit
        .warnings
        .iter()
        .cloned()
        .chain(unread)
        .map(|text| format!("<li>{}</li>\n", escape(&text)))
        .collect();
    if items.is_empty() {
        return String::new();
    }
    format!("<h2>Warnings, and what was not read</h2>\n<ul>\n{items}</ul>\n")
}
