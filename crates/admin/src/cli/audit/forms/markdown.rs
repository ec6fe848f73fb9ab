//! The audit as Markdown, for the summary of a job or a comment on a pull request (pure).

use super::facts::{cluster_notes, head, is_said, waiting};
use super::page::{doubts, of_set, page, things_to_do};
use super::path;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::cli::audit::conclusion::Conclusion;
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
pub(crate) fn render(fleet: &FleetAudit, conclusion: &Conclusion) -> Result<String, Error> {
    let sets = fleet.audits().flat_map(|audit| &audit.sets);
    let open = sets.filter(|set| !set.would_be_allowed()).count();
    let (mut rows, mut items) = (MOST.max(open).max(fleet.items.len()), MOST);
    loop {
        let text = bounded(fleet, conclusion, rows, items)?;
        if text.len() <= LONGEST || rows == 0 {
            return Ok(text);
        }
        match items {
            0..10 => rows /= 2,
            _ => items /= 2,
        }
    }
}

fn bounded(
    fleet: &FleetAudit,
    conclusion: &Conclusion,
    most_rows: usize,
    most: usize,
) -> Result<String, Error> {
    let mut sets = of_all(fleet, |of| of.audit.iter().flat_map(|audit| &audit.sets));
    sets.sort_by_key(|(_, set)| Word::of(set));
    let (rows, allowed): (Vec<_>, Vec<_>) = sets.into_iter().partition(|(_, set)| is_said(set));
    let shown = rows.iter().take(most_rows);
    let shown = shown.map(|(name, set)| (name, of_set(set)));
    let hidden = rows.iter().skip(most_rows).map(|(_, set)| Word::of(set));
    let births = of_all(fleet, |of| of.audit.iter().flat_map(|audit| &audit.births));
    let births = births.iter().map(|(name, birth)| (name, birth.says()));
    let page = json!({
        "most": most,
        "most_rows": most_rows,
        "head": fleet.alone().map(head),
        "rows": shown.collect::<Vec<_>>(),
        "more": counts(hidden),
        "allowed": allowed.len(),
        "to_do": of_all(fleet, |of| of.audit.iter().flat_map(things_to_do)),
        "births": births.collect::<Vec<_>>(),
        "waiting": of_all(fleet, |of| of.audit.iter().flat_map(waiting)),
        "doubts": of_all(fleet, doubts_of),
        "paths": of_all(fleet, |of| {
            let audit = of.audit.iter();
            audit.filter_map(|audit| audit.path.as_ref()).map(path::markdown)
        }),
        "page": page(fleet, conclusion),
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

/// The items of all clusters, each with its cluster's name where there are several.
fn of_all<'a, T, I: IntoIterator<Item = T>>(
    fleet: &'a FleetAudit,
    items: impl Fn(&'a ClusterAudit) -> I,
) -> Vec<(Option<&'a str>, T)> {
    let of = |cluster: &'a ClusterAudit| {
        let name = (!cluster.is_alone()).then_some(&*cluster.context);
        items(cluster).into_iter().map(move |item| (name, item))
    };
    fleet.items.iter().flat_map(of).collect()
}

/// Warnings, and what was not read.
fn doubts_of(cluster: &ClusterAudit) -> Vec<String> {
    let audit = cluster.audit.iter();
    if cluster.is_alone() {
        return audit.flat_map(doubts).collect();
    }
    let warnings = audit.flat_map(|audit| &audit.warnings).cloned();
    warnings.chain(cluster_notes(cluster)).collect()
}
