//! The audit as Markdown, for the summary of a job or a comment on a pull request (pure).

use super::page::{Doubt, Page};
use super::path;
use crate::audit::results::fleet::FleetAudit;
use crate::cli::audit::conclusion::Conclusions;
use crate::cli::audit::facts::is_said;
use crate::cli::audit::word::Word;
use crate::forms::markdown::render_template;
use minijinja::Error;
use serde_json::json;
use std::collections::BTreeMap;

/// The most rows of allowed sets, and items of a list.
const MOST: usize = 100;

/// GitHub takes so many characters for a comment.
const LONGEST: usize = 65_536;

/// The sets that are not allowed, and how many are, with a row for each cluster where there are
/// several. What is too long for a comment has fewer items of lists, then fewer rows, refused ones last.
pub(crate) fn render(fleet: &FleetAudit, conclusions: &Conclusions) -> Result<String, Error> {
    let page = Page::of(fleet, conclusions);
    let sets = fleet.audits().flat_map(|audit| &audit.sets);
    let open = sets.filter(|set| !set.would_be_allowed()).count();
    let (mut rows, mut items) = (MOST.max(open).max(fleet.items.len()), MOST);
    loop {
        let text = bounded(&page, rows, items)?;
        if text.len() <= LONGEST || rows == 0 {
            return Ok(text);
        }
        match items {
            0..10 => rows /= 2,
            _ => items /= 2,
        }
    }
}

fn bounded(page: &Page<'_>, most_rows: usize, most: usize) -> Result<String, Error> {
    let mut sets = page.of_all(|audit| &audit.sets);
    sets.sort_by_key(|(_, row)| row.word);
    let (rows, allowed): (Vec<_>, Vec<_>) = sets.into_iter().partition(|(_, row)| is_said(row.set));
    let hidden = rows.iter().skip(most_rows).map(|(_, row)| row.word);
    let page = json!({
        "most": most,
        "most_rows": most_rows,
        "rows": rows.iter().take(most_rows).collect::<Vec<_>>(),
        "more": counts(hidden),
        "allowed": allowed.len(),
        "to_do": page.of_all(|audit| &audit.to_do),
        "broken": page.of_all(|audit| &audit.broken),
        "waiting": page.of_all(|audit| &audit.waiting.by_set),
        "doubts": doubts(page),
        "paths": page.of_all(|audit| audit.audit.path.as_ref().map(path::markdown)),
        "page": page,
    });
    render_template(include_str!("page.md"), page)
}

/// `2 refused, 1 unknown`
fn counts(words: impl Iterator<Item = Word>) -> String {
    let mut counts: BTreeMap<Word, usize> = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    let counts = counts.iter();
    let counts = counts.map(|(word, count)| format!("{count} {}", word.lower()));
    counts.collect::<Vec<_>>().join(", ")
}

/// Doubts of all clusters. A cluster beside others has its notes for what was not read.
fn doubts<'a>(page: &'a Page<'a>) -> Vec<(Option<&'a str>, &'a str)> {
    let mut all = Vec::new();
    for cluster in &page.clusters {
        let name = (!page.alone).then(|| cluster.name());
        let audit = cluster.audit.iter().flat_map(|audit| &audit.doubts);
        let own = audit.filter(|(kind, _)| page.alone || *kind != Doubt::Unread);
        all.extend(own.map(|(_, text)| (name, text.as_str())));
        let notes = cluster.notes.iter().filter(|_| !page.alone);
        all.extend(notes.map(|note| (name, note.as_str())));
    }
    all
}
