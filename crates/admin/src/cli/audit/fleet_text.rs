//! The audit of several clusters for a person: the conclusion, then a row for each cluster (pure).

use super::conclusion::{Asked, Conclusion, Readiness};
use super::html;
use super::page::{Terminal, Word, count};
use super::screen::{Block, Item, fit};
use super::text::{self, Detail, ROWS};
use crate::audit::fleet::{ClusterAudit, FleetAudit};
use maud::html;

const COLUMNS: [&str; 7] = [
    "CONTEXT",
    "RELEASE",
    "SETS",
    "REFUSED",
    "UNKNOWN",
    "ALLOWED",
    "OLDEST IMAGE",
];

pub(super) fn render(
    fleet: &FleetAudit,
    target: Option<&str>,
    has_all: bool,
    terminal: Terminal,
) -> String {
    let mut blocks = vec![
        Block::of(terminal.conclusion(&conclusion(fleet, target))),
        table(terminal, fleet),
    ];
    // One line is the prompt's.
    let rows = terminal.rows.map_or(ROWS, |rows| rows.saturating_sub(1));
    if !has_all {
        return fit(blocks, Some(rows));
    }
    for cluster in &fleet.items {
        if let Some(audit) = &cluster.audit {
            let own = Conclusion::of(audit, &Asked::default());
            let whole = text::render(audit, &own, Detail::All, terminal);
            let head = format!("== {}\n\n{}", cluster.context, whole.trim_end());
            blocks.push(Block::of(head.lines().map(str::to_owned).collect()));
        }
    }
    fit(blocks, None)
}

/// What the audits come to.
fn conclusion(fleet: &FleetAudit, target: Option<&str>) -> Conclusion {
    let summary = fleet.summary;
    let (refused, sets) = (summary.of_sets.would_be_refused, summary.of_sets.sets);
    let (readiness, begin) = if refused > 0 {
        (Readiness::NotReady, "Not ready to enforce")
    } else if summary.not_audited + summary.incomplete + summary.of_sets.undetermined > 0 {
        (Readiness::NotKnown, "Not known to be ready to enforce")
    } else {
        (Readiness::Ready, "Ready to enforce")
    };
    let with = target.map_or_else(String::new, |release| format!(" with {release}"));
    let are = |number: usize| if number == 1 { "is" } else { "are" };
    let were = |number: usize| if number == 1 { "was" } else { "were" };
    let clusters = count(summary.clusters, "cluster", "clusters");
    let sets = count(sets, "set", "sets");
    let mut parts = vec![match refused {
        0 => format!("none of {sets} in {clusters} would be refused"),
        some => format!(
            "{some} of {sets} would be refused, in {} of {clusters}",
            summary.with_refused
        ),
    }];
    let unknown = summary.of_sets.undetermined;
    if unknown > 0 {
        parts.push(format!("{unknown} {} not known", are(unknown)));
    }
    if summary.not_audited > 0 {
        let all = count(summary.not_audited, "cluster", "clusters");
        parts.push(format!("{all} {} not audited", were(summary.not_audited)));
    }
    if summary.incomplete > 0 {
        let all = count(summary.incomplete, "cluster", "clusters");
        parts.push(format!("{all} {} not read whole", were(summary.incomplete)));
    }
    let worst = fleet
        .items
        .iter()
        .find(|cluster| cluster.audit.is_some())
        .filter(|_| readiness != Readiness::Ready);
    let next = worst.map(|cluster| {
        let context = super::shell::word(&cluster.context);
        format!("oc skewguard audit --context {context}")
    });
    Conclusion {
        readiness,
        sentence: format!("{begin}{with}: {}.", parts.join(", ")),
        next: next.unwrap_or_default(),
    }
}

/// The cells of a cluster's row.
fn cells(cluster: &ClusterAudit) -> [String; 7] {
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
        number(summary.map(|summary| summary.would_be_refused)),
        number(summary.map(|summary| summary.undetermined)),
        number(summary.map(|summary| summary.would_be_allowed)),
        oldest.map_or_else(dash, |oldest| oldest.boot_image.version.clone()),
    ]
}

/// What is said below the row.
fn notes(cluster: &ClusterAudit) -> Vec<String> {
    let mut notes: Vec<String> = cluster
        .error
        .iter()
        .map(|error| format!("not audited: {error}"))
        .collect();
    let audit = cluster.audit.iter();
    let unread = audit.flat_map(|audit| &audit.unread);
    notes.extend(
        unread
            .filter(|unread| unread.hides_sets)
            .map(|unread| format!("not read: {}: {}", unread.what, unread.why)),
    );
    if !cluster.other_contexts.is_empty() {
        let others = cluster.other_contexts.join(", ");
        notes.push(format!("the same cluster: {others}"));
    }
    notes
}

fn word(cluster: &ClusterAudit) -> Word {
    let summary = cluster.summary.unwrap_or_default();
    if summary.would_be_refused > 0 {
        Word::Refused
    } else if cluster.error.is_some() || cluster.is_incomplete() || summary.undetermined > 0 {
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

/// One page for all clusters.
pub(super) fn html(fleet: &FleetAudit, target: Option<&str>) -> String {
    let title = format!(
        "Boot images of {}",
        count(fleet.items.len(), "cluster", "clusters")
    );
    let body = html! {
        (html::conclusion(&conclusion(fleet, target)))
        table {
            thead { tr { th { "Verdict" } @for column in COLUMNS { th { (column.to_lowercase()) } } } }
            tbody { @for cluster in &fleet.items {
                tr {
                    td class={ "verdict " (word(cluster).lower()) } { (word(cluster).lower()) }
                    @for cell in cells(cluster) { td { (cell) } }
                }
                @for note in notes(cluster) { tr { td {} td colspan="7" { (note) } } }
            } }
        }
        @for cluster in &fleet.items {
            @if let Some(audit) = &cluster.audit {
                h2 { (cluster.context) }
                (html::sets(&audit.sets))
            }
        }
        footer {
            "skewguard " (env!("CARGO_PKG_VERSION")) " audit, made at " (fleet.time) ". "
            "A verdict is on the next node of a set, as if the policy enforced."
        }
    };
    html::page(&title, &body)
}
