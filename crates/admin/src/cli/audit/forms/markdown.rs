//! The audit as Markdown, for the summary of a job or a comment on a pull request (pure).

use super::facts::{
    BIRTHS, CLUSTER_COLUMNS, FactKind, cluster_cells, cluster_notes, cluster_word, facts, head,
    names, to_do, waiting,
};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, SetAudit};
use crate::cli::audit::conclusion::Conclusion;
use crate::cli::audit::later::Later;
use crate::cli::audit::word::{Word, count};
use crate::forms::markdown::{block, code, marked, plain};

/// The most rows of sets, and items of a list.
const MOST: usize = 100;

/// The sets that are not allowed, and how many are, with a row for each cluster where there are
/// several. GitHub takes 65,536 characters for a comment.
pub(crate) fn render(fleet: &FleetAudit, conclusion: &Conclusion) -> String {
    let mut out = begin(conclusion, fleet.alone());
    match fleet.alone() {
        Some(audit) => {
            let facts = head(audit);
            let facts = facts
                .iter()
                .map(|(name, value)| format!("{name}: {}", marked(value)));
            out += &format!("\n{}\n", facts.collect::<Vec<_>>().join(" · "));
        }
        None => out += &clusters(fleet),
    }
    let items = fleet.items.iter();
    let mut sets: Vec<(Option<&str>, &SetAudit)> = items
        .filter_map(|item| Some((item, item.audit.as_ref()?)))
        .flat_map(|(item, audit)| audit.sets.iter().map(|set| (name(item), set)))
        .collect();
    sets.sort_by_key(|(_, set)| Word::of(set));
    out += &table(&sets);
    out += &list("What to do", items_of(fleet, items_to_do));
    out += &list(BIRTHS, items_of(fleet, births));
    let machines = |item: &ClusterAudit| item.audit.as_ref().map(waiting).unwrap_or_default();
    let machines = items_of(fleet, |item| texts(machines(item)));
    out += &list(&format!("Not joined: {}", code(&conclusion.why)), machines);
    out + &list("Warnings", items_of(fleet, |item| texts(doubts(item))))
}

/// The name of a cluster beside others.
fn name(item: &ClusterAudit) -> Option<&str> {
    (!item.is_alone()).then_some(item.context.as_str())
}

/// The items of all clusters, each with its cluster's name where there are several.
fn items_of(fleet: &FleetAudit, items: impl Fn(&ClusterAudit) -> Vec<String>) -> Vec<String> {
    let of = |item| {
        let name = name(item).map(code);
        let items = items(item).into_iter();
        items.map(move |text| match &name {
            Some(name) => format!("{name}: {text}"),
            None => text,
        })
    };
    fleet.items.iter().flat_map(of).collect()
}

fn texts(texts: Vec<String>) -> Vec<String> {
    texts.iter().map(|text| marked(text)).collect()
}

fn births(item: &ClusterAudit) -> Vec<String> {
    let births = item.audit.iter().flat_map(|audit| &audit.births);
    births.map(|birth| plain(&birth.says())).collect()
}

/// Warnings, and what was not read.
fn doubts(item: &ClusterAudit) -> Vec<String> {
    let audit = item.audit.iter();
    let warnings = audit.clone().flat_map(|audit| &audit.warnings).cloned();
    let unread = audit.flat_map(|audit| &audit.unread);
    let unread = unread.map(ToString::to_string);
    if item.is_alone() {
        warnings.chain(unread).collect()
    } else {
        warnings.chain(cluster_notes(item)).collect()
    }
}

fn begin(conclusion: &Conclusion, audit: Option<&BootImageAudit>) -> String {
    let mut out = format!("## Boot images\n\n**{}**\n", plain(&conclusion.sentence));
    if let Some(Later { sentence, command }) = &conclusion.later {
        out += &format!("\n{}: {}\n", plain(sentence), code(command));
    }
    if let Some(next) = conclusion.next_shown(audit) {
        out += &format!("\nNext: {}\n", marked(&next.says()));
    }
    out
}

/// Things to do, with the commands and files that do them.
fn items_to_do(item: &ClusterAudit) -> Vec<String> {
    let of = |(sets, what): (Vec<&SetAudit>, String)| {
        let patches = sets.iter().flat_map(|set| facts(set));
        let patches = patches.filter_map(|(kind, text)| match kind {
            FactKind::Command => Some(format!("\n\n{}", block(2, "sh", &text))),
            FactKind::ForGit => Some(format!("\n\n  {}:", code(&text))),
            FactKind::Patch => Some(format!("\n\n{}", block(2, "yaml", &text))),
            _ => None,
        });
        let patches: String = patches.take(MOST).collect();
        format!("{}: {}{patches}", code(&names(&sets)), marked(&what))
    };
    let audit = item.audit.iter();
    audit.flat_map(to_do).map(of).collect()
}

/// A row for each cluster.
fn clusters(fleet: &FleetAudit) -> String {
    let row = |cluster: &ClusterAudit| {
        let [context, cells @ ..] = cluster_cells(cluster);
        let word = cluster_word(cluster).lower();
        let cells = cells.map(|cell| plain(&cell)).join(" | ");
        format!("| {word} | {} | {cells} |\n", code(&context))
    };
    let columns = CLUSTER_COLUMNS.map(str::to_lowercase).join(" | ");
    let rows: String = fleet.items.iter().map(row).collect();
    format!(
        "\n| verdict | {columns} |\n|{}\n{rows}",
        "---|".repeat(CLUSTER_COLUMNS.len() + 1)
    )
}

/// The sets that are not allowed, each with its cluster where there are several.
fn table(sets: &[(Option<&str>, &SetAudit)]) -> String {
    let is_shown = |(_, set): &&(_, &SetAudit)| {
        !set.would_be_allowed() || !set.known_issues.is_empty() || set.refused_from.is_some()
    };
    let shown: Vec<_> = sets.iter().filter(is_shown).collect();
    let rows: Vec<String> = shown
        .iter()
        .take(MOST)
        .map(|(cluster, set)| row(*cluster, set))
        .collect();
    let more = match shown.len() - rows.len() {
        0 => String::new(),
        more => format!("\n{more} more: `-o csv` has all.\n"),
    };
    let allowed = match sets.len() - shown.len() {
        0 => String::new(),
        more => format!("\n{} allowed.\n", count(more, "set is", "sets are")),
    };
    if rows.is_empty() {
        return allowed;
    }
    let (cluster, line) = match sets.first() {
        Some((Some(_), _)) => (" cluster |", "---|"),
        _ => ("", ""),
    };
    format!(
        "\n| verdict |{cluster} set | boot image | nodes | why |\n|---|{line}---|---|---|---|\n{}{more}{allowed}",
        rows.concat()
    )
}

fn row(cluster: Option<&str>, set: &SetAudit) -> String {
    let cluster = cluster.map_or_else(String::new, |cluster| format!(" {} |", code(cluster)));
    let joined = set.joined();
    let joined = joined.map_or_else(|| "-".to_owned(), |joined| joined.to_string());
    let nodes = match set.replicas {
        Some(wanted) => format!("{joined} of {wanted}"),
        None => joined,
    };
    let image = set.boot_image.as_ref();
    let image = image.map_or_else(|| probable(set), |image| code(&image.version));
    let why = facts(set)
        .into_iter()
        .filter_map(|(kind, text)| match kind {
            FactKind::Issue => Some(format!("known issue {}", plain(&text))),
            FactKind::Later | FactKind::Excepted => Some(plain(&text)),
            _ => None,
        });
    let why: Vec<String> = std::iter::once(plain(&set.message)).chain(why).collect();
    format!(
        "| {} |{cluster} {} | {image} | {nodes} | {} |\n",
        Word::of(set).lower(),
        code(&set.row().title(None)),
        why.join("; ")
    )
}

/// In the place of an unknown version.
fn probable(set: &SetAudit) -> String {
    match &set.estimate {
        Some(estimate) => format!("probably {}", plain(&estimate.ocp_version)),
        None => "not known".to_owned(),
    }
}

/// The first items, for which a comment has room.
fn list(title: &str, items: Vec<String>) -> String {
    if items.is_empty() {
        return String::new();
    }
    let shown: String = items
        .iter()
        .take(MOST)
        .map(|item| format!("- {item}\n"))
        .collect();
    let more = match items.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("- and {more} more: `-o json` has all\n"),
    };
    format!("\n### {title}\n\n{shown}{more}")
}
