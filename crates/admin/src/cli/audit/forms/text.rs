//! The audit for a person: the conclusion, then a row for each set, or all that is
//! known of each (pure).

use super::page::{AuditPage, ConclusionPage, Doubt, Page, SetRow, ToDo};
use super::path;
use crate::audit::SetAudit;
use crate::audit::results::Summary;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::results::set::ReleaseBy;
use crate::cli::audit::conclusion::Conclusions;
use crate::cli::audit::facts::{BROKEN, FactKind, namespace};
use crate::cli::audit::later::Later;
use crate::cli::audit::next::NextStep;
use crate::cli::audit::word::Word;
use crate::forms::blocks::{Block, Item, page as written};
use crate::forms::terminal::Terminal;

/// The detail in which sets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A row.
    Row,
    All,
}

pub(crate) fn render(
    fleet: &FleetAudit,
    conclusions: &Conclusions,
    detail: Detail,
    terminal: Terminal,
) -> String {
    if fleet.audits().any(|audit| audit.path.is_some()) {
        return paths(fleet, terminal);
    }
    let page = Page::of(fleet, conclusions);
    let mut blocks = vec![Block::of(head_lines(terminal, &page.conclusion))];
    if !page.alone {
        blocks.push(clusters(terminal, &page));
    }
    for of in page
        .clusters
        .iter()
        .filter(|_| page.alone || detail == Detail::All)
    {
        let Some(audit) = &of.audit else { continue };
        if !page.alone {
            blocks.push(Block::of(vec![format!("== {}", of.name())]));
            blocks.push(Block::of(head_lines(terminal, &audit.conclusion)));
        }
        blocks.extend(cluster(audit, detail, terminal));
    }
    written(blocks, detail == Detail::All)
}

/// The way of each cluster.
fn paths(fleet: &FleetAudit, terminal: Terminal) -> String {
    let of = |cluster: &ClusterAudit| {
        let head = match cluster.is_alone() {
            true => String::new(),
            false => format!("== {}\n", cluster.context),
        };
        let path = cluster.audit.as_ref()?.path.as_ref()?;
        Some(head + &path::text(terminal, path))
    };
    let all: Vec<String> = fleet.items.iter().filter_map(of).collect();
    all.join("\n")
}

/// The sentence, and what is next.
fn head_lines(terminal: Terminal, conclusion: &ConclusionPage<'_>) -> Vec<String> {
    let style = conclusion.word.style();
    let said = terminal.prose(0, conclusion.sentence);
    let said = said.iter().map(|line| terminal.styled(style, line));
    let next = conclusion.next.as_ref().map(|next| match next {
        // A command is copied: it is not broken.
        NextStep::Command(_) => vec![next.line()],
        _ => terminal.prose(0, &next.line()),
    });
    said.chain(conclusion.later.map(Later::line))
        .chain(next.into_iter().flatten())
        .collect()
}

/// A cluster without its conclusion. What to change comes before what is allowed.
fn cluster(page: &AuditPage<'_>, detail: Detail, terminal: Terminal) -> Vec<Block> {
    let list = |head, what, texts| list(terminal, head, what, texts);
    let doubts = |what, kind| list("", what, page.doubts(kind));
    let mut blocks = vec![Block::of(audited(terminal, page, detail))];
    let unread = doubts("resources and files not read", Doubt::Unread);
    match detail {
        Detail::Row => {
            let [open, allowed] = tables(terminal, page);
            let (remedies, helps): (Vec<_>, Vec<_>) = page
                .to_do
                .iter()
                .partition(|to_do| to_do.platform.is_some());
            let remedies = list("What to change:", "remedies", says(remedies));
            let helps = list("How to find the unknown versions:", "ways", says(helps));
            blocks.extend([open, remedies, helps, unread, allowed]);
        }
        // Each set has its own.
        Detail::All => {
            blocks.extend(page.sets.iter().map(|row| Block::of(item(terminal, row))));
            blocks.push(unread);
        }
    }
    let broken = page.broken.iter().map(|nodes| nodes.says.clone()).collect();
    let warnings = page.doubts(Doubt::Warning).into_iter();
    let warnings = warnings.map(|text| format!("warning: {text}")).collect();
    blocks.extend([
        list(BROKEN, "nodes that the update breaks", broken),
        waiting(terminal, page, detail),
        doubts("differences", Doubt::Difference),
        list("", "warnings", warnings),
        Block::of(oldest(terminal, page, detail)),
    ]);
    if detail == Detail::All {
        blocks.push(list(PASSED, "", page.conclusion.passed.to_vec()));
        blocks.extend(page.keep.iter().map(|(what, command)| {
            let mut lines = terminal.prose(0, what);
            lines.push(format!("  {command}"));
            Block::of(lines)
        }));
    }
    blocks
}

/// Things to do, each with its sets.
fn says(all: Vec<&ToDo<'_>>) -> Vec<String> {
    let all = all.into_iter().map(
        |ToDo {
             names,
             platform,
             what,
             ..
         }| match platform {
            Some(platform) => format!("{names} ({platform}): {what}"),
            None => format!("{names}: {what}"),
        },
    );
    all.collect()
}

/// Machines that do not come up, and the command that says why, which is copied: it is not broken.
fn waiting(terminal: Terminal, page: &AuditPage<'_>, detail: Detail) -> Block {
    let each = page.waiting.each.iter();
    let each = each.filter(|_| detail == Detail::All);
    let each = each.map(|machine| format!("not joined: {machine}"));
    let mut block = list(terminal, "", "Machines that wait", each.collect());
    let says = page.waiting.says.as_ref();
    let why = says.map(|says| vec![format!("{says}: {}", page.conclusion.why)]);
    block.items.extend(why.map(Item::from));
    block
}

/// A row for each cluster.
fn clusters(terminal: Terminal, page: &Page<'_>) -> Block {
    let head = page.columns.map(str::to_owned);
    let rows = page.clusters.iter().map(|cluster| cluster.cells.clone());
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(rows).collect();
    let mut rows = terminal.table(0, &rows).into_iter();
    let head = rows.next().unwrap_or_default();
    let items = page.clusters.iter().zip(rows).map(|(cluster, mut lines)| {
        let notes = cluster.notes.iter();
        lines.extend(notes.flat_map(|note| terminal.prose(2, note)));
        Item::from(lines)
    });
    Block {
        head,
        items: items.collect(),
        what: "clusters",
        is_whole: true,
        ..Block::default()
    }
}

/// Columns before the value of a fact.
const INDENT: usize = 11;

/// The cluster, and what it was audited with.
fn audited(terminal: Terminal, page: &AuditPage<'_>, detail: Detail) -> Vec<String> {
    let is_row = detail == Detail::Row;
    let shared = namespace(&page.audit.sets).filter(|_| is_row);
    // Who reads a screen reads it now.
    let facts = page
        .head
        .iter()
        .map(|(name, value)| (*name, value.as_str()));
    let facts = facts
        .filter(|(name, _)| !is_row || *name != "read at")
        .chain(shared.map(|namespace| ("namespace", namespace)));
    facts
        .flat_map(|(name, value)| terminal.text(&format!("{name:<INDENT$}"), INDENT, value))
        .collect()
}

const COLUMNS: [&str; 5] = ["VERDICT", "SET", "BOOT IMAGE", "NODES", "UNTIL"];

/// Columns before the name of a set.
const VERDICT: usize = 9;

/// A row for each set, and those that are allowed apart. Names are never cut. What several sets have
/// in common is said once, below them.
fn tables(terminal: Terminal, page: &AuditPage<'_>) -> [Block; 2] {
    let sets = &page.audit.sets;
    if sets.is_empty() {
        return [Block::default(), Block::default()];
    }
    let shared = namespace(sets);
    let mut rows: Vec<(Word, String, [String; 4])> = Vec::new();
    for SetRow { set, word, .. } in &page.sets {
        let row = (*word, why(set), cells(set, shared));
        // Sets of one reason stand together.
        let is_same = |other: &(Word, String, _)| (other.0, &other.1) == (row.0, &row.1);
        let at = rows.iter().rposition(is_same).map_or(rows.len(), |n| n + 1);
        rows.insert(at, row);
    }
    let [verdict, mut columns @ ..] = COLUMNS;
    let has_until = rows.iter().any(|(.., [.., until])| !until.is_empty());
    let [.., until] = &mut columns;
    *until = if has_until { until } else { "" };
    let indent = VERDICT;
    let cells = rows.iter().map(|(_, _, cells)| cells.clone());
    let cells: Vec<_> = std::iter::once(columns.map(str::to_owned))
        .chain(cells)
        .collect();
    let mut lines = terminal.table(indent, &cells).into_iter();
    let mut line = |word: &str| {
        let mut lines = lines.next().unwrap_or_default();
        if let Some(first) = lines.first_mut() {
            *first = format!("{word}  {first}");
        }
        lines
    };
    let head = line(verdict);
    let mut items = rows.iter().map(|(word, why, _)| Item {
        lines: line(&terminal.styled(word.style(), word.text())),
        note: terminal.prose(indent, why),
    });
    let is_open = |(word, ..): &&(Word, _, _)| *word != Word::Allowed;
    let open = rows.iter().filter(is_open).count();
    let open: Vec<Item> = items.by_ref().take(open).collect();
    let block = |head: Vec<String>, items: Vec<Item>, is_whole| Block {
        legend: match head.is_empty() {
            true => Vec::new(),
            false => terminal.prose(indent, &legend(sets)),
        },
        head,
        items,
        what: "sets",
        is_whole,
    };
    let allowed = items.collect();
    if open.is_empty() {
        [Block::default(), block(head, allowed, false)]
    } else {
        [block(head, open, true), block(Vec::new(), allowed, false)]
    }
}

/// The meaning of the last column.
fn legend(sets: &[SetAudit]) -> String {
    let nodes = match sets.iter().any(|set| set.nodes_unread) {
        true => "NODES: joined/wanted; -: not read",
        false => "NODES: joined/wanted",
    };
    let summary = Summary::of(sets.iter());
    match summary.rows.sets > summary.whole_sets.sets {
        true => format!("{nodes}; a set has a row for each of its images"),
        false => nodes.to_owned(),
    }
}

fn cells(set: &SetAudit, shared: Option<&str>) -> [String; 4] {
    let image = set.boot_image.as_ref();
    let joined = set.joined();
    let joined = joined.map_or_else(|| "-".to_owned(), |joined| joined.to_string());
    let wanted = set.replicas.map(|wanted| format!("/{wanted}"));
    let inactive = if set.inactive { ", Inactive" } else { "" };
    [
        set.row().title(shared),
        image.map_or_else(|| probable(set), |image| image.version.clone()),
        format!("{joined}{}{inactive}", wanted.unwrap_or_default()),
        until(set),
    ]
}

/// The release until which the set is allowed; of what was asked about, nothing is known before.
fn until(set: &SetAudit) -> String {
    match &set.refused_from {
        _ if set.would_be_refused() && set.release_by == ReleaseBy::Target => String::new(),
        _ if set.would_be_refused() => "now".to_owned(),
        from => from.clone().unwrap_or_default(),
    }
}

/// In the place of an unknown version.
fn probable(set: &SetAudit) -> String {
    let estimate = set.estimate.as_ref();
    estimate.map_or_else(
        || "-".to_owned(),
        |estimate| format!("{}?", estimate.ocp_version),
    )
}

/// The line below a set's row; empty where nothing has to be.
fn why(set: &SetAudit) -> String {
    let exception = set.exception.as_ref().map(|exception| exception.says());
    let reason = (!set.would_be_allowed()).then(|| why_of(set));
    let issue = set
        .known_issues
        .first()
        .filter(|_| set.would_be_allowed())
        .map(|issue| format!("known issue {}", issue.says()));
    // Without a version of its own.
    let of_release = set.boot_image.is_none().then(|| set.message.clone());
    // The column says it of what is allowed.
    let later = set.says_later().filter(|_| !set.would_be_allowed());
    let at = set.release_by == ReleaseBy::Pool;
    let at = at.then(|| set.says_release()).flatten();
    let said = reason
        .or(issue)
        .or(of_release)
        .into_iter()
        .chain(at)
        .chain(later)
        .chain(exception);
    said.collect::<Vec<_>>().join("; ")
}

/// Message and word of the reason, by which one finds more.
fn why_of(set: &SetAudit) -> String {
    format!("{} ({})", set.message, set.reason)
}

/// All that is known of a set.
fn item(terminal: Terminal, row: &SetRow<'_>) -> Vec<String> {
    let word = row.word;
    let name = row.set.row().to_string();
    let mut lines = terminal.text(&format!("{}  ", word.text()), VERDICT, &name);
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(word.text(), &terminal.styled(word.style(), word.text()), 1);
    }
    for (kind, text) in &row.facts {
        let label = kind.label();
        match kind {
            // Copied, and so not broken.
            FactKind::Command | FactKind::ForGit => lines.push(format!("  {label:<9}{text}")),
            FactKind::Patch => lines.extend(text.lines().map(|line| format!("    {line}"))),
            FactKind::Why => {
                lines.extend(terminal.advice(&format!("  {label:<9}"), INDENT, &why_of(row.set)));
            }
            _ => lines.extend(terminal.advice(&format!("  {label:<9}"), INDENT, text)),
        }
    }
    lines
}

/// The title of what was compared, and is as it should be.
const PASSED: &str = "Compared, and no cause for concern:";

/// The oldest image in use, and what the Machine Config Operator takes for it.
fn oldest(terminal: Terminal, page: &AuditPage<'_>, detail: Detail) -> Vec<String> {
    let Some(of) = &page.oldest else {
        return Vec::new();
    };
    let mut lines = terminal.prose(0, &of.says);
    let cluster = page.audit.cluster.as_ref();
    let is_shown = detail == Detail::All || cluster.is_some_and(|cluster| cluster.blocks_alone);
    if let Some(words) = &of.operator {
        let more = match of.oldest.command.is_some() && !is_shown {
            true => " The command that corrects it: -o wide",
            false => "",
        };
        lines.extend(terminal.prose(0, &format!("{words}{more}")));
    }
    if let (Some(command), Some(back), true) = (&of.oldest.command, &of.oldest.way_back, is_shown) {
        lines.extend(terminal.prose(0, of.above_command));
        lines.push(format!("  {command}"));
        lines.extend(terminal.prose(0, "The way back:"));
        lines.push(format!("  {back}"));
    }
    lines
}

/// A list below a title.
fn list(terminal: Terminal, head: &str, what: &'static str, texts: Vec<String>) -> Block {
    let has_head = !head.is_empty() && !texts.is_empty();
    let indent = if has_head { 2 } else { 0 };
    let item = |text: &String| terminal.advice(&" ".repeat(indent), indent, text).into();
    Block {
        head: has_head.then(|| head.to_owned()).into_iter().collect(),
        items: texts.iter().map(item).collect(),
        what,
        ..Block::default()
    }
}
