//! The audit of several clusters for a person: the conclusion, then a row for each cluster (pure).

use super::facts::Terminal;
use super::screen::{Block, Item, fit};
use super::text::{self, Detail};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::cli::audit::conclusion::{Word, count};
use crate::cli::audit::fleet_conclusion::FleetConclusion;

pub(in crate::cli::audit) const COLUMNS: [&str; 7] = [
    "CONTEXT",
    "RELEASE",
    "SETS",
    "REFUSED",
    "UNKNOWN",
    "ALLOWED",
    "OLDEST IMAGE",
];

pub(in crate::cli::audit) fn render(
    fleet: &FleetAudit,
    conclusion: &FleetConclusion,
    has_all: bool,
    terminal: Terminal,
) -> String {
    let mut blocks = vec![
        Block::of(terminal.conclusion(&conclusion.all)),
        table(terminal, fleet),
    ];
    if !has_all {
        return fit(blocks, Some(terminal.screen()));
    }
    for (cluster, own) in fleet.items.iter().zip(&conclusion.each) {
        if let (Some(audit), Some(own)) = (&cluster.audit, own) {
            let whole = text::render(audit, own, Detail::All, terminal);
            let head = format!("== {}\n\n{}", cluster.context, whole.trim_end());
            blocks.push(Block::of(head.lines().map(str::to_owned).collect()));
        }
    }
    fit(blocks, None)
}

/// The cells of a cluster's row.
pub(in crate::cli::audit) fn cells(cluster: &ClusterAudit) -> [String; 7] {
    let audit = cluster.audit.as_ref();
    let number = |number: Option<usize>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let summary = cluster.summary;
    let oldest = audit.and_then(|audit| audit.oldest.as_ref());
    let dash = || "-".to_owned();
    [
        cluster.context.clone(),
        audit
            .and_then(|audit| audit.release.clone())
            .unwrap_or_else(dash),
        number(summary.map(|summary| summary.sets)),
        number(summary.map(|_| cluster.counted.would_be_refused)),
        number(summary.map(|_| cluster.counted.undetermined)),
        number(summary.map(|summary| summary.would_be_allowed)),
        oldest.map_or_else(dash, |oldest| oldest.boot_image.version.clone()),
    ]
}

/// What is said below the row.
pub(in crate::cli::audit) fn notes(cluster: &ClusterAudit) -> Vec<String> {
    let mut notes = doubts(cluster);
    let excepted = cluster.summary.map_or(0, |summary| summary.excepted);
    if excepted > 0 {
        notes.push(format!("{} excepted", count(excepted, "set", "sets")));
    }
    if !cluster.other_contexts.is_empty() {
        let others = cluster.other_contexts.join(", ");
        notes.push(format!("the same cluster: {others}"));
    }
    notes
}

/// What may hide sets.
pub(in crate::cli::audit) fn doubts(cluster: &ClusterAudit) -> Vec<String> {
    let error = cluster.error.iter();
    let error = error.map(|error| format!("not audited: {error}"));
    let audit = cluster.audit.iter();
    let unread = audit.flat_map(|audit| &audit.unread);
    let unread = unread.filter(|unread| unread.hides_sets || unread.makes_nodes);
    let unread = unread.map(|unread| format!("not read: {}: {}", unread.what, unread.why));
    error.chain(unread).collect()
}

/// The worst verdict.
pub(in crate::cli::audit) fn word(cluster: &ClusterAudit) -> Word {
    let counted = cluster.counted;
    if counted.would_be_refused > 0 {
        Word::Refused
    } else if cluster.error.is_some()
        || cluster.is_incomplete()
        || cluster.has_unknown_makers()
        || counted.undetermined > 0
    {
        Word::Unknown
    } else {
        Word::Allowed
    }
}

fn table(terminal: Terminal, fleet: &FleetAudit) -> Block {
    let rows: Vec<[String; 7]> = fleet.items.iter().map(cells).collect();
    let mut widths = COLUMNS.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; 7]| {
        let cells = cells.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    let item = |(cluster, row): (&ClusterAudit, &[String; 7])| {
        let mut lines = vec![line(row.each_ref().map(String::as_str))];
        for note in notes(cluster) {
            lines.extend(terminal.prose(2, &note));
        }
        Item {
            lines,
            note: Vec::new(),
        }
    };
    Block {
        head: vec![line(COLUMNS)],
        items: fleet.items.iter().zip(&rows).map(item).collect(),
        what: "clusters",
        least: 6,
    }
}
