//! The audit for a person: the conclusion, then a row for each set, or all that is
//! known of each (pure).

use super::commands::keep_commands;
use super::facts::{
    BIRTHS, CLUSTER_COLUMNS, FactKind, above_command, cluster_cells, cluster_notes, facts, head,
    in_use, lookup_helps, names, namespace, operator_says, remedies, wait,
};
use super::path;
use crate::audit::results::Summary;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::results::set::ReleaseBy;
use crate::audit::{BirthAudit, BootImageAudit, SetAudit, Unread};
use crate::cli::audit::conclusion::{Conclusion, Conclusions};
use crate::cli::audit::later::Later;
use crate::cli::audit::next::NextStep;
use crate::cli::audit::word::Word;
use crate::forms::blocks::{Block, Item, page};
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
    let all = &conclusions.all;
    if fleet.audits().any(|audit| audit.path.is_some()) {
        return paths(fleet, terminal);
    }
    let mut blocks = vec![Block::of(head_lines(terminal, all, fleet.alone()))];
    match fleet.alone() {
        Some(audit) => blocks.extend(cluster(audit, all, detail, terminal)),
        None => blocks.push(clusters(terminal, fleet)),
    }
    let parts = fleet.items.iter().zip(&conclusions.each);
    for (item, own) in parts.filter(|_| fleet.alone().is_none() && detail == Detail::All) {
        if let (Some(audit), Some(own)) = (&item.audit, own) {
            blocks.push(Block::of(vec![format!("== {}", item.context)]));
            blocks.push(Block::of(head_lines(terminal, own, Some(audit))));
            blocks.extend(cluster(audit, own, detail, terminal));
        }
    }
    page(blocks, detail == Detail::All)
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
fn head_lines(
    terminal: Terminal,
    conclusion: &Conclusion,
    audit: Option<&BootImageAudit>,
) -> Vec<String> {
    let style = conclusion.readiness.word().style();
    let said = terminal.prose(0, &conclusion.sentence);
    let said = said.iter().map(|line| terminal.styled(style, line));
    let next = conclusion.next_shown(audit).map(|next| match next {
        // A command is copied: it is not broken.
        NextStep::Command(_) => vec![next.line()],
        _ => terminal.prose(0, &next.line()),
    });
    said.chain(conclusion.later.as_ref().map(Later::line))
        .chain(next.into_iter().flatten())
        .collect()
}

/// A cluster without its conclusion. What to change comes before what is allowed.
fn cluster(
    audit: &BootImageAudit,
    conclusion: &Conclusion,
    detail: Detail,
    terminal: Terminal,
) -> Vec<Block> {
    let list = |head, what, texts| list(terminal, head, what, texts);
    let mut blocks = vec![Block::of(audited(terminal, audit, detail))];
    let unread = list("", "resources and files not read", unread(audit));
    match detail {
        Detail::Row => {
            let [open, allowed] = tables(terminal, &audit.sets);
            let [remedies, helps] = what_to_do(audit);
            let remedies = list("What to change:", "remedies", remedies);
            let helps = list("How to find the unknown versions:", "ways", helps);
            blocks.extend([open, remedies, helps, unread, allowed]);
        }
        // Each set has its own.
        Detail::All => {
            blocks.extend(audit.sets.iter().map(|set| Block::of(item(terminal, set))));
            blocks.push(unread);
        }
    }
    let births = audit.births.iter().map(BirthAudit::says).collect();
    blocks.extend([
        list(BIRTHS, "nodes that the update breaks", births),
        waiting(terminal, audit, conclusion, detail),
        list("", "differences", differences(audit)),
        list("", "warnings", warnings(audit)),
        Block::of(oldest(terminal, audit, detail)),
    ]);
    if detail == Detail::All {
        blocks.push(list(PASSED, "", conclusion.passed.clone()));
        blocks.extend(keep_commands(audit).into_iter().map(|(what, command)| {
            let mut lines = terminal.prose(0, &what);
            lines.push(format!("  {command}"));
            Block::of(lines)
        }));
    }
    blocks
}

/// Remedies, and ways to the unknown versions, each with its sets.
fn what_to_do(audit: &BootImageAudit) -> [Vec<String>; 2] {
    let remedies = remedies(audit).into_iter();
    let remedies = remedies
        .map(|((platform, remedy), sets)| format!("{} ({platform}): {remedy}", names(&sets)));
    let helps = lookup_helps(audit).into_iter();
    let helps = helps.map(|(help, sets)| format!("{}: {help}", names(&sets)));
    [remedies.collect(), helps.collect()]
}

fn unread(audit: &BootImageAudit) -> Vec<String> {
    let says = |unread: &Unread| match unread.hides_sets {
        true => format!("{unread}; sets may be missing"),
        false => unread.to_string(),
    };
    audit.unread.iter().map(says).collect()
}

fn differences(audit: &BootImageAudit) -> Vec<String> {
    let all = audit.policy_differs_from_operator.iter();
    let begin = "the policy differs from the Machine Config Operator";
    all.map(|difference| format!("{begin}: {}", difference.message))
        .collect()
}

fn warnings(audit: &BootImageAudit) -> Vec<String> {
    let all = audit.warnings.iter();
    all.map(|text| format!("warning: {text}")).collect()
}

/// Machines that do not come up, and the command that says why, which is copied: it is not broken.
fn waiting(
    terminal: Terminal,
    audit: &BootImageAudit,
    conclusion: &Conclusion,
    detail: Detail,
) -> Block {
    let each = audit.provisioned.iter();
    let each = each.filter(|_| detail == Detail::All);
    let each = each.map(|machine| format!("not joined: {}", machine.says()));
    let mut block = list(terminal, "", "Machines that wait", each.collect());
    let why = wait(audit).map(|wait| vec![format!("{wait}: {}", conclusion.why)]);
    block.items.extend(why.map(Item::from));
    block
}

/// A row for each cluster.
fn clusters(terminal: Terminal, fleet: &FleetAudit) -> Block {
    let head = CLUSTER_COLUMNS.map(str::to_owned);
    let rows = fleet.items.iter().map(cluster_cells);
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(rows).collect();
    let mut rows = terminal.table(0, &rows).into_iter();
    let head = rows.next().unwrap_or_default();
    let item = |(cluster, mut lines): (_, Vec<String>)| {
        for note in cluster_notes(cluster) {
            lines.extend(terminal.prose(2, &note));
        }
        Item::from(lines)
    };
    Block {
        head,
        items: fleet.items.iter().zip(rows).map(item).collect(),
        what: "clusters",
        is_whole: true,
        ..Block::default()
    }
}

/// Columns before the value of a fact.
const INDENT: usize = 11;

/// The cluster, and what it was audited with.
fn audited(terminal: Terminal, audit: &BootImageAudit, detail: Detail) -> Vec<String> {
    let is_row = detail == Detail::Row;
    let shared = namespace(&audit.sets).filter(|_| is_row);
    let shared = shared.map(|namespace| ("namespace", namespace.to_owned()));
    // Who reads a screen reads it now.
    let facts = head(audit)
        .into_iter()
        .filter(|(name, _)| !is_row || *name != "read at")
        .chain(shared);
    facts
        .flat_map(|(name, value)| terminal.text(&format!("{name:<INDENT$}"), INDENT, &value))
        .collect()
}

const COLUMNS: [&str; 5] = ["VERDICT", "SET", "BOOT IMAGE", "NODES", "UNTIL"];

/// Columns before the name of a set.
const VERDICT: usize = 9;

/// A row for each set, and those that are allowed apart. Names are never cut. What several sets have
/// in common is said once, below them.
fn tables(terminal: Terminal, sets: &[SetAudit]) -> [Block; 2] {
    if sets.is_empty() {
        return [Block::default(), Block::default()];
    }
    let shared = namespace(sets);
    let mut rows: Vec<(Word, String, [String; 4])> = Vec::new();
    for set in sets {
        let (word, why) = (Word::of(set), why(set));
        let row = (word, why, cells(set, shared));
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
fn item(terminal: Terminal, set: &SetAudit) -> Vec<String> {
    let word = Word::of(set);
    let name = set.row().to_string();
    let mut lines = terminal.text(&format!("{}  ", word.text()), VERDICT, &name);
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(word.text(), &terminal.styled(word.style(), word.text()), 1);
    }
    for (kind, text) in facts(set) {
        let label = kind.label();
        match kind {
            // Copied, and so not broken.
            FactKind::Command | FactKind::ForGit => lines.push(format!("  {label:<9}{text}")),
            FactKind::Patch => lines.extend(text.lines().map(|line| format!("    {line}"))),
            _ => {
                let text = if kind == FactKind::Why {
                    why_of(set)
                } else {
                    text
                };
                lines.extend(terminal.advice(&format!("  {label:<9}"), INDENT, &text));
            }
        }
    }
    lines
}

/// The title of what was compared, and is as it should be.
const PASSED: &str = "Compared, and no cause for concern:";

/// The oldest image in use, and what the Machine Config Operator takes for it.
fn oldest(terminal: Terminal, audit: &BootImageAudit, detail: Detail) -> Vec<String> {
    let Some(oldest) = &audit.oldest else {
        return Vec::new();
    };
    let mut lines = terminal.prose(0, &in_use(oldest, audit.oldest_birth.as_ref()));
    let cluster = audit.cluster.as_ref();
    let is_shown = detail == Detail::All || cluster.is_some_and(|cluster| cluster.blocks_alone);
    if let Some(words) = operator_says(audit) {
        let more = match oldest.command.is_some() && !is_shown {
            true => " The command that corrects it: -o wide",
            false => "",
        };
        lines.extend(terminal.prose(0, &format!("{words}{more}")));
    }
    if let (Some(command), Some(back), true) = (&oldest.command, &oldest.way_back, is_shown) {
        lines.extend(terminal.prose(0, above_command(cluster)));
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
