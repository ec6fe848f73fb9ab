//! The audit for a person: a table with one line for each set, or all that is known of each; and
//! the summary last, right above the prompt (pure).

use super::page::{Page, Style, Word, clues, head, remedies, shown};
use crate::audit::{BootImageAudit, ClusterSkew, Oldest, SetAudit, full_name};
use crate::text::cut;

/// How much is said of each set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// One line.
    Line,
    All,
}

pub(crate) fn render(audit: &BootImageAudit, detail: Detail, style: Style) -> String {
    let mut page = Page::new(style);
    for (name, value) in head(audit) {
        page.line(&format!("{name:<9}{value}"));
    }
    match detail {
        Detail::Line => table(&mut page, &audit.sets),
        Detail::All => audit.sets.iter().for_each(|set| item(&mut page, set)),
    }
    page.line("");
    if let Some(oldest) = &audit.oldest {
        of_oldest(&mut page, oldest, audit.cluster.as_ref());
        page.line("");
    }
    doubts(&mut page, audit);
    summary(&mut page, audit);
    if detail == Detail::Line && audit.sets.iter().any(|set| !set.would_be_allowed()) {
        page.prose("All that is known of each set: -o wide, or name the sets.");
    }
    page.out
}

const COLUMNS: [&str; 8] = [
    "VERDICT",
    "KIND",
    "NAME",
    "POOL",
    "BOOT IMAGE",
    "SAYS",
    "NODES",
    "WHY",
];

/// The table. Only the last column is cut, and only on a terminal.
fn table(page: &mut Page, sets: &[SetAudit]) {
    if sets.is_empty() {
        return;
    }
    let cells: Vec<[String; 8]> = sets.iter().map(cells).collect();
    let mut widths = COLUMNS.map(str::len);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    page.line("");
    let [first, .., _] = widths;
    let columns = page.columns();
    let line = |row: [&str; 8], head: String| {
        let mut line = head;
        let last = row.len() - 1;
        for (n, (cell, width)) in row.iter().zip(widths).enumerate().skip(1) {
            line += "  ";
            match columns {
                // Two columns between each two cells; colour takes none.
                Some(columns) if n == last => {
                    let used: usize = widths.iter().take(last).map(|width| width + 2).sum();
                    line += &cut(cell, columns.saturating_sub(used).max(24));
                }
                _ if n == last => line += cell,
                _ => line += &format!("{cell:<width$}"),
            }
        }
        line.trim_end().to_owned()
    };
    let head = format!("{:<first$}", "VERDICT");
    page.line(&line(COLUMNS, head));
    for (set, row) in sets.iter().zip(&cells) {
        let word = page.word(Word::of(set), first);
        let row = row.each_ref().map(String::as_str);
        page.line(&line(row, word));
    }
}

fn cells(set: &SetAudit) -> [String; 8] {
    let image = set.boot_image.as_ref();
    let says = image.map(|image| image.systems().pop().unwrap_or_default());
    let joined: usize = set.nodes.iter().map(|nodes| nodes.count).sum();
    let wanted = set.replicas.map(|wanted| format!("/{wanted}"));
    let why = match (set.would_be_allowed(), &*set.known_issues, set.notes.len()) {
        (false, ..) => set.message.clone(),
        (true, [issue, ..], _) => format!("known issue {}", issue.says()),
        (true, [], 0) => String::new(),
        (true, [], 1) => "1 note".to_owned(),
        (true, [], more) => format!("{more} notes"),
    };
    [
        Word::of(set).text().to_owned(),
        set.kind.to_owned(),
        full_name(&set.namespace, &set.name),
        set.pool.clone().unwrap_or_else(|| "-".to_owned()),
        image.map_or_else(|| "-".to_owned(), |image| image.version.clone()),
        says.filter(|says| !says.is_empty())
            .unwrap_or_else(|| "-".to_owned()),
        format!("{joined}{}", wanted.unwrap_or_default()),
        why,
    ]
}

/// All that is known of a set.
fn item(page: &mut Page, set: &SetAudit) {
    page.line("");
    let word = page.word(Word::of(set), 9);
    page.line(&format!(
        "{word}  {} {}",
        set.kind,
        full_name(&set.namespace, &set.name)
    ));
    let place = [&set.platform, &set.region, &set.architecture]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let place = if place.is_empty() {
        place
    } else {
        format!(" ({place})")
    };
    match (&set.image_field, &set.image) {
        (Some(field), Some(image)) => page.item("image", &format!("{image}{place}: {field}")),
        (Some(field), None) => page.item("image", &format!("not named by {field}{place}")),
        (None, _) if place.is_empty() => {}
        (None, _) => page.item("image", &format!("not known{place}")),
    }
    if let (Some(image), Some(from)) = (&set.boot_image, &set.known_from) {
        page.item("version", &format!("{}, by {from}", shown(image)));
    }
    if !set.would_be_allowed() {
        page.item("why", &set.message);
    }
    for issue in &set.known_issues {
        page.item("issue", &issue.says());
    }
    if let Some(clue) = &set.to_know {
        page.item("to know", clue);
    }
    if let Some(remedy) = &set.remedy {
        page.item("fix", remedy);
    }
    if let Some(patch) = &set.patch {
        page.line(&format!("  {:<9}{patch}", "command"));
    }
    for note in &set.notes {
        page.item("note", note);
    }
    nodes(page, set);
}

fn nodes(page: &mut Page, set: &SetAudit) {
    let nodes: Vec<String> = set
        .nodes
        .iter()
        .map(|nodes| match &nodes.version {
            Some(version) => format!("{} of {version}", nodes.count),
            None => format!("{} without a label", nodes.count),
        })
        .collect();
    let wanted = set.replicas.map(|replicas| format!("{replicas} wanted"));
    let pool = set.pool.as_ref().map(|pool| format!("pool {pool}"));
    let joined = if nodes.is_empty() {
        "none joined".to_owned()
    } else {
        nodes.join(", ")
    };
    if nodes.is_empty() && wanted.is_none() {
        return;
    }
    let all: Vec<String> = [Some(joined), wanted, pool].into_iter().flatten().collect();
    page.item("nodes", &all.join("; "));
}

fn of_oldest(page: &mut Page, oldest: &Oldest, cluster: Option<&ClusterSkew>) {
    if let Some(cluster) = cluster {
        let ocp = cluster.ocp_version.as_ref().map(|ocp| format!("OCP {ocp}"));
        let says = [cluster.rhcos_version.clone(), ocp]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ");
        let says = if says.is_empty() {
            "names no version".to_owned()
        } else {
            format!("says {says}")
        };
        let judged = match cluster.older_in_use {
            Some(true) => "THAT IS NEWER than the oldest boot image in use",
            Some(false) => "no older boot image was found in use",
            None => "that cannot be compared with what was found",
        };
        page.prose(&format!(
            "The cluster (bootImageSkewEnforcement, mode {}) {says}: {judged}.",
            cluster.mode
        ));
    }
    page.prose(&format!(
        "Oldest boot image in use: {}, by {}.",
        shown(&oldest.boot_image),
        oldest.used_by
    ));
    if oldest.unknown > 0 {
        page.prose(&format!(
            "The image of {} more sets or nodes is unknown, and may be older.",
            oldest.unknown
        ));
    }
    if let Some(command) = &oldest.command {
        page.prose("To tell the Machine Config Operator, where nothing older is in use:");
        page.line(&format!("  {command}"));
    }
}

/// Machines that do not come up, warnings, and what could not be read.
fn doubts(page: &mut Page, audit: &BootImageAudit) {
    for machine in &audit.provisioned {
        page.prose(&format!("not joined: {}", machine.says()));
    }
    for warning in &audit.warnings {
        page.prose(&format!("warning: {warning}"));
    }
    for unread in &audit.unread {
        let hides = if unread.hides_sets {
            "; sets may be missing above"
        } else {
            ""
        };
        page.prose(&format!("not read: {}: {}{hides}", unread.what, unread.why));
    }
}

fn summary(page: &mut Page, audit: &BootImageAudit) {
    let summary = audit.summary;
    let undetermined = match summary.undetermined {
        0 => String::new(),
        some => format!("; of {some} it is not known"),
    };
    let note = if summary.would_be_refused + summary.undetermined == 0 && audit.unread.is_empty() {
        ": nothing stands against Enforce"
    } else {
        ""
    };
    page.prose(&format!(
        "{} of {} sets would be refused{undetermined}{note}.",
        summary.would_be_refused, summary.sets
    ));
    for ((platform, remedy), count) in remedies(audit) {
        let sets = if count == 1 { "set" } else { "sets" };
        page.item(platform, &format!("{count} {sets}: {remedy}"));
    }
    for (clue, count) in clues(audit) {
        let sets = if count == 1 { "set" } else { "sets" };
        page.item("unknown", &format!("{count} {sets}: {clue}"));
    }
}
