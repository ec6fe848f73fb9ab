//! The audit as one HTML file without scripts and without links to anywhere else (pure).

use super::chart::chart;
use super::commands::KEEP;
use super::facts::{
    self, BIRTHS, CLUSTER_COLUMNS, FactKind, cluster_cells, cluster_notes, cluster_word, facts,
    head, names, waiting,
};
use super::text::{UNTIL_THEN, in_use, operator_says};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BirthAudit, BootImageAudit, SetAudit};
use crate::cli::audit::conclusion::{Conclusion, Conclusions};
use crate::cli::audit::word::{Word, count};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("html.css");

/// Nothing is loaded, nothing runs.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(crate) fn render(fleet: &FleetAudit, conclusions: &Conclusions) -> String {
    let title = match fleet.alone().map(|audit| audit.origin.name()) {
        Some(Some(name)) => format!("Boot images of cluster {name}"),
        Some(None) => "Boot images".to_owned(),
        None => {
            let clusters = count(fleet.items.len(), "cluster", "clusters");
            format!("Boot images of {clusters}")
        }
    };
    let body = html! {
        @if let Some(audit) = fleet.alone() {
            (part(audit, &conclusions.all, Level::Page))
            (footer("audit"))
        } @else {
            (conclusion(&conclusions.all, None))
            (tiles(&conclusions.all))
            h2 { "Clusters" }
            (clusters(fleet))
            @for (n, (cluster, own)) in fleet.items.iter().zip(&conclusions.each).enumerate() {
                @if let (Some(audit), Some(own)) = (&cluster.audit, own) {
                    section.cluster {
                        h2 id=(anchor(n)) { (cluster.context) }
                        (part(audit, own, Level::Part))
                    }
                }
            }
            (footer(&format!("audit of {}", fleet.time)))
        }
    };
    page(&title, &body)
}

/// The place of a cluster: the whole page, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Page,
    Part,
}

impl Level {
    fn heading(self, text: &str) -> Markup {
        html! {
            @match self {
                Self::Page => h2 { (text) },
                Self::Part => h3 { (text) },
            }
        }
    }
}

/// A cluster.
fn part(audit: &BootImageAudit, conclusion: &Conclusion, level: Level) -> Markup {
    html! {
        (place(audit))
        (self::conclusion(conclusion, Some(audit)))
        (tiles(conclusion))
        @if let Some(chart) = chart(audit) {
            (level.heading("The fleet by boot image"))
            (chart)
        }
        (to_do(audit, level))
        (sets(&audit.sets, level))
        (births(&audit.births, level))
        @for (kind, command) in &audit.keep_commands {
            p { (KEEP) " " (kind) "s:" }
            pre { code { (command) } }
        }
        (machines(audit, conclusion, level))
        (list("Warnings, and what was not read", doubts(audit), level))
        (level.heading("What was audited"))
        dl { @for (name, value) in head(audit) { dt { (name) } dd { (marked(&value)) } } }
        (oldest(audit, level))
    }
}

/// The cluster, and when it was read.
fn place(audit: &BootImageAudit) -> Markup {
    let facts = head(audit).into_iter();
    let facts = facts.filter(|(name, _)| *name != "policy");
    let facts = facts.map(|(name, value)| format!("{name} {value}"));
    html! { p.soft { (facts.collect::<Vec<_>>().join(" · ")) } }
}

/// Machines that have not joined, and the command that says why.
fn machines(audit: &BootImageAudit, conclusion: &Conclusion, level: Level) -> Markup {
    let waiting = waiting(audit);
    html! {
        @if !waiting.is_empty() {
            (list("Machines that have not become nodes", waiting, level))
            p { "Why: " code { (conclusion.why) } }
        }
    }
}

fn footer(what: &str) -> Markup {
    html! {
        footer {
            "skewguard " (env!("CARGO_PKG_VERSION")) " " (what) ". "
            "A verdict is on the next node of a set, as if the policy enforced."
        }
    }
}

/// A whole file.
fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(CONTENT_POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                (body)
            }
        }
    };
    page.into_string() + "\n"
}

fn conclusion(conclusion: &Conclusion, audit: Option<&BootImageAudit>) -> Markup {
    let next = conclusion.next_shown(audit);
    let class = conclusion.readiness.word();
    html! {
        div class={ "conclusion " (class.lower()) } {
            p { b { (conclusion.sentence) } }
            @if let Some(later) = &conclusion.later {
                p { (later.sentence) ": " code { (later.command) } }
            }
            @if let Some(next) = next { p { "Next: " (marked(&next.says())) } }
        }
    }
}

fn clusters(fleet: &FleetAudit) -> Markup {
    html! {
        table {
            thead { tr { th { "Verdict" } @for column in CLUSTER_COLUMNS { th { (column_title(column)) } } } }
            tbody { @for (n, cluster) in fleet.items.iter().enumerate() { (cluster_row(n, cluster)) } }
        }
    }
}

/// `OLDEST IMAGE` as the head of a column beside `Verdict`.
fn column_title(column: &str) -> String {
    let (first, rest) = column.split_at(1);
    format!("{first}{}", rest.to_lowercase())
}

/// A cluster's sums, and its notes below its name.
fn cluster_row(n: usize, cluster: &ClusterAudit) -> Markup {
    let verdict = cluster_word(cluster).lower();
    let [context, values @ ..] = cluster_cells(cluster);
    html! {
        tr {
            td class={ "verdict " (verdict) } { (verdict) }
            td {
                @if cluster.audit.is_some() {
                    a href={ "#" (anchor(n)) } { (context) }
                } @else { b { (context) } }
                @for note in cluster_notes(cluster) { p.soft { (note) } }
            }
            @for (column, value) in CLUSTER_COLUMNS.iter().skip(1).zip(values) {
                td.sum { span.unit { (column.to_lowercase()) " " } (value) }
            }
        }
    }
}

fn anchor(n: usize) -> String {
    format!("cluster-{}", n + 1)
}

/// The oldest image in use, and the operator's value for it.
fn oldest(audit: &BootImageAudit, level: Level) -> Markup {
    html! {
        @if let Some(oldest) = &audit.oldest {
            (level.heading("The oldest boot image"))
            p { (in_use(oldest, audit.oldest_birth.as_ref())) }
            @if let Some(words) = audit.cluster.as_ref().and_then(operator_says) { p { (words) } }
            @if let Some(command) = &oldest.command {
                p { (UNTIL_THEN) }
                pre { code { (command) } }
                @if let Some(back) = &oldest.way_back {
                    p { "The way back:" }
                    pre { code { (back) } }
                }
            }
        }
    }
}

/// The numbers of the conclusion.
fn tiles(conclusion: &Conclusion) -> Markup {
    html! {
        div.tiles {
            @for (class, number, what) in &conclusion.figures {
                @let what = if *number == 1 { what.replacen("sets", "set", 1) } else { (*what).to_string() };
                div class={ "tile " (class) } { b { (number) } (what) }
            }
        }
    }
}

/// Things to do: the same remedy of several sets once, with the commands and files of each.
fn to_do(audit: &BootImageAudit, level: Level) -> Markup {
    let all = facts::to_do(audit);
    html! {
        @if !all.is_empty() {
            (level.heading("What to do"))
            ul.todo {
                @for (sets, what) in all {
                    li {
                        p { b { (names(&sets)) } ": " (marked(&what)) }
                        @for (kind, text) in sets.iter().flat_map(|set| facts(set)) {
                            @match kind {
                                FactKind::Command | FactKind::Patch => pre { code { (text) } },
                                FactKind::ForGit => p { "For Git: " code { (text) } },
                                _ => {},
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Prose, in which commands stand between backticks.
fn marked(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // One without an end is text.
    let has_ends = parts.len() % 2 == 1;
    html! {
        @if has_ends {
            @for (n, part) in parts.iter().enumerate() {
                @if n % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

fn sets(sets: &[SetAudit], level: Level) -> Markup {
    html! {
        (level.heading("Sets"))
        table {
            thead { tr {
                th { "Verdict" } th { "Set" } th { "Boot image" } th { "Nodes" }
                th.what { "Why" }
            } }
            tbody { @for set in sets { (row(set)) } }
        }
    }
}

/// Joined nodes that the update breaks.
fn births(births: &[BirthAudit], level: Level) -> Markup {
    html! {
        @if !births.is_empty() {
            (level.heading(BIRTHS))
            table {
                thead { tr {
                    th { "Update" } th { "Pool" } th { "Born from" } th { "Nodes" }
                    th.what { "Why, and what to do" }
                } }
                tbody { @for birth in births { (birth_row(birth)) } }
            }
        }
    }
}

fn birth_row(birth: &BirthAudit) -> Markup {
    let (word, says) = match birth.to_know {
        None => (Word::Refused, "breaks"),
        Some(_) => (Word::Unknown, "may break"),
    };
    html! {
        tr {
            td class={ "verdict " (word.lower()) } { (says) }
            td { (birth.pool.as_deref().unwrap_or("not known")) }
            td { @match &birth.boot_image {
                Some(image) => { code.image { (image.version) } br; span.soft { (image.systems().join(", ")) } }
                None => "not known",
            } }
            td.nodes { (birth.count) (unit(birth.count == 1)) }
            td {
                p { "known issue " (birth.issue) " at the update to " (birth.release) ": " (birth.reason) }
                @for text in [&birth.to_know, &birth.remedy].into_iter().flatten() { p { (marked(text)) } }
                @if let Some(url) = &birth.url { p.soft { (url) } }
                p.soft { (birth.names()) }
            }
        }
    }
}

/// The unit behind a number of nodes, on a narrow page.
fn unit(is_one: bool) -> Markup {
    html! { span.unit { @if is_one { " node" } @else { " nodes" } } }
}

fn row(set: &SetAudit) -> Markup {
    let word = Word::of(set).lower();
    let joined = set.joined();
    html! {
        tr {
            td class={ "verdict " (word) } { (word) }
            td { (name(set)) }
            td { (image(set)) }
            td.nodes {
                @match joined { Some(joined) => (joined), None => "-" } @if let Some(wanted) = set.replicas { " of " (wanted) }
                (unit(joined == Some(1) && set.replicas.is_none()))
            }
            td { (reasons(set)) }
        }
    }
}

fn name(set: &SetAudit) -> Markup {
    let pool = set.pool.as_ref().map(|pool| format!("pool {pool}"));
    let place: Vec<&str> = [&set.platform, &set.region, &set.architecture, &pool]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    html! {
        (set.kind) " " code.name { (set.row().full_name()) }
        @if !place.is_empty() { br; span.soft { (place.join(", ")) } }
    }
}

fn image(set: &SetAudit) -> Markup {
    html! {
        @match &set.boot_image {
            Some(image) => { code.image { (image.version) } br; span.soft { (image.systems().join(", ")) } }
            None => @match &set.estimate {
                Some(estimate) => { "probably " (estimate.ocp_version) },
                None => "not known",
            },
        }
        @if let Some(image) = &set.image { br; code.name { (image) } }
        @if let Some(from) = &set.known_from { br; span.soft { "by " (from) } }
    }
}

/// The reason, and remarks; what to do is above.
fn reasons(set: &SetAudit) -> Markup {
    html! {
        @for (kind, text) in facts(set) {
            @match kind {
                FactKind::Why | FactKind::Later => p { (marked(&text)) },
                FactKind::Excepted => p { b { (text) } },
                FactKind::Issue => p { "known issue " (marked(&text)) },
                FactKind::Note | FactKind::Upkeep => p.soft { (marked(&text)) },
                _ => {},
            }
        }
    }
}

/// The limits of what this page can say.
fn doubts(audit: &BootImageAudit) -> Vec<String> {
    let unread = audit.unread.iter().map(ToString::to_string);
    audit.warnings.iter().cloned().chain(unread).collect()
}

fn list(title: &str, items: Vec<String>, level: Level) -> Markup {
    html! {
        @if !items.is_empty() {
            (level.heading(title))
            ul { @for item in items { li { (marked(&item)) } } }
        }
    }
}
