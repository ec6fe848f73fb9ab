//! The audits of several clusters as one HTML file: the conclusion, a row of sums for each cluster,
//! then each cluster's part (pure).

use super::fleet_text::{COLUMNS, cells, notes, word};
use super::html::{self, Level, footer, part};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::cli::audit::conclusion::count;
use crate::cli::audit::fleet_conclusion::FleetConclusion;
use maud::{Markup, html};

pub(in crate::cli::audit) fn render(fleet: &FleetAudit, conclusion: &FleetConclusion) -> String {
    let clusters = count(fleet.items.len(), "cluster", "clusters");
    html::page(
        &format!("Boot images of {clusters}"),
        &html! {
            (html::conclusion(&conclusion.all))
            (tiles(fleet))
            h2 { "Clusters" }
            (table(fleet))
            @for (n, (cluster, own)) in fleet.items.iter().zip(&conclusion.each).enumerate() {
                @if let (Some(audit), Some(own)) = (&cluster.audit, own) {
                    section.cluster {
                        h2 id=(anchor(n)) { (cluster.context) }
                        (part(audit, own, Level::Part))
                    }
                }
            }
            (footer(&format!("audit of {}", fleet.time)))
        },
    )
}

/// The sums of all clusters.
fn tiles(fleet: &FleetAudit) -> Markup {
    let summary = fleet.summary;
    let (sets, lacking) = (summary.counted, summary.not_audited + summary.incomplete);
    html! {
        div.tiles {
            @for (class, number, what) in [
                ("refused", sets.would_be_refused, "sets would be refused"),
                ("unknown", sets.undetermined, "sets not known"),
                ("allowed", sets.would_be_allowed, "sets allowed"),
                ("unknown", summary.of_sets.excepted, "sets excepted"),
                ("unknown", lacking, "clusters not read, or not whole"),
                ("", summary.clusters, "clusters in all"),
            ] {
                @if number > 0 || class != "unknown" {
                    div class={ "tile " (class) } { b { (number) } (what) }
                }
            }
        }
    }
}

fn table(fleet: &FleetAudit) -> Markup {
    html! {
        table {
            thead { tr { th { "Verdict" } @for column in COLUMNS { th { (title(column)) } } } }
            tbody { @for (n, cluster) in fleet.items.iter().enumerate() { (row(n, cluster)) } }
        }
    }
}

/// `OLDEST IMAGE` as the head of a column beside `Verdict`.
fn title(column: &str) -> String {
    let (first, rest) = column.split_at(1);
    format!("{first}{}", rest.to_lowercase())
}

/// A cluster's sums, and its notes below its name.
fn row(n: usize, cluster: &ClusterAudit) -> Markup {
    let verdict = word(cluster).lower();
    let [context, values @ ..] = cells(cluster);
    html! {
        tr {
            td class={ "verdict " (verdict) } { (verdict) }
            td {
                @if cluster.audit.is_some() {
                    a href={ "#" (anchor(n)) } { (context) }
                } @else { b { (context) } }
                @for note in notes(cluster) { p.soft { (note) } }
            }
            @for (column, value) in COLUMNS.iter().skip(1).zip(values) {
                td.sum { span.unit { (column.to_lowercase()) " " } (value) }
            }
        }
    }
}

fn anchor(n: usize) -> String {
    format!("cluster-{}", n + 1)
}
