//! The audit for a person: the conclusion, then a row for each set that fits a screen, or all that
//! is known of each (pure).

use super::commands::KEEP;
use super::facts::{
    BIRTHS, Terminal, head, lookup_helps, names, namespace, remedies, shown, title, wait,
};
use super::screen::{Block, Item, fit};
use crate::audit::BirthAudit;
use crate::audit::results::some_of;
use crate::audit::{BootImageAudit, ClusterSkew, Oldest, OldestBirth, SetAudit, full_name};
use crate::cli::audit::conclusion::Conclusion;
use crate::cli::audit::conclusion::Word;

/// How much is said of each set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A row.
    Row,
    All,
}

pub(crate) fn render(
    audit: &BootImageAudit,
    conclusion: &Conclusion,
    detail: Detail,
    terminal: Terminal,
) -> String {
    let mut blocks = vec![Block::of(terminal.conclusion(conclusion))];
    blocks.push(Block::of(facts(terminal, audit, detail)));
    match detail {
        Detail::Row => blocks.push(table(terminal, &audit.sets)),
        Detail::All => blocks.extend(audit.sets.iter().map(|set| Block::of(item(terminal, set)))),
    }
    blocks.extend(lists(terminal, audit, detail));
    blocks.push(Block {
        head: oldest(terminal, audit, detail),
        ..Block::default()
    });
    if detail == Detail::All {
        let keep = audit.keep_commands.iter();
        let keep = keep.map(|(kind, command)| {
            let mut lines = terminal.prose(0, &format!("{KEEP} {kind}s:"));
            lines.push(format!("  {command}"));
            Block::of(lines)
        });
        blocks.extend(keep);
    }
    fit(blocks, (detail == Detail::Row).then(|| terminal.screen()))
}

/// What was audited.
fn facts(terminal: Terminal, audit: &BootImageAudit, detail: Detail) -> Vec<String> {
    let is_row = detail == Detail::Row;
    let shared = namespace(&audit.sets).filter(|_| is_row);
    let shared = shared.map(|namespace| ("namespace", namespace.to_owned()));
    // Who reads a screen reads it now.
    let facts = head(audit)
        .into_iter()
        .filter(|(name, _)| !is_row || *name != "read at")
        .chain(shared);
    facts
        .flat_map(|(name, value)| terminal.fact(name, &value))
        .collect()
}

const COLUMNS: [&str; 4] = ["VERDICT", "SET", "BOOT IMAGE", "NODES"];

/// A row for each set. Names are never cut. What several sets have in common is said once, below
/// them.
fn table(terminal: Terminal, sets: &[SetAudit]) -> Block {
    let shared = namespace(sets);
    let mut rows: Vec<(Word, String, [String; 3])> = Vec::new();
    for set in sets {
        let (word, why) = (Word::of(set), why(set));
        let row = (word, why, cells(set, shared));
        // Sets of one reason stand together.
        let is_same = |other: &(Word, String, _)| (other.0, &other.1) == (row.0, &row.1);
        let at = rows.iter().rposition(is_same).map_or(rows.len(), |n| n + 1);
        rows.insert(at, row);
    }
    let [_, set, image, nodes] = COLUMNS;
    let mut widths = [set, image, nodes].map(str::len);
    for (_, _, cells) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |word: &str, cells: [&str; 3]| {
        let cells = cells.iter().zip(widths);
        let cells: String = cells
            .map(|(cell, width)| format!("  {cell:<width$}"))
            .collect();
        format!("{word}{}", cells.trim_end())
    };
    Block {
        head: vec![line(COLUMNS[0], [set, image, nodes])],
        items: rows
            .iter()
            .map(|(word, why, cells)| Item {
                lines: vec![line(
                    &terminal.word(*word),
                    cells.each_ref().map(String::as_str),
                )],
                note: terminal.prose(COLUMNS[0].len() + 2, why),
            })
            .collect(),
        what: "sets",
        least: 6,
    }
}

fn cells(set: &SetAudit, shared: Option<&str>) -> [String; 3] {
    let image = set.boot_image.as_ref();
    let joined = set.joined();
    let joined = joined.map_or_else(|| "-".to_owned(), |joined| joined.to_string());
    let wanted = set.replicas.map(|wanted| format!("/{wanted}"));
    [
        title(set, shared),
        image.map_or_else(|| probable(set), |image| image.version.clone()),
        format!("{joined}{}", wanted.unwrap_or_default()),
    ]
}

/// In the place of an unknown version.
fn probable(set: &SetAudit) -> String {
    let estimate = set.estimate.as_ref();
    estimate.map_or_else(
        || "-".to_owned(),
        |estimate| format!("{}?", estimate.ocp_version),
    )
}

/// What is said of a set in a line of its own; empty where nothing has to be.
fn why(set: &SetAudit) -> String {
    let exception = set.exception.as_ref().map(|exception| exception.says());
    let reason = (!set.would_be_allowed()).then(|| set.message.clone());
    let issue = set
        .known_issues
        .first()
        .filter(|_| set.would_be_allowed())
        .map(|issue| format!("known issue {}", issue.says()));
    let said = reason.or(issue).into_iter().chain(exception);
    said.collect::<Vec<_>>().join("; ")
}

/// All that is known of a set.
fn item(terminal: Terminal, set: &SetAudit) -> Vec<String> {
    let mut lines = vec![format!(
        "{}  {} {}",
        terminal.word(Word::of(set)),
        set.kind,
        full_name(&set.namespace, &set.name)
    )];
    let mut add = |name: &str, text: &str| lines.extend(terminal.item(name, text));
    if let Some(image) = image(set) {
        add("image", &image);
    }
    if let (Some(image), Some(from)) = (&set.boot_image, &set.known_from) {
        add("version", &format!("{}, by {from}", shown(image)));
    } else if let Some(from) = &set.known_from {
        add("version", from);
    }
    if !set.members.is_empty() {
        add(
            "members",
            &some_of(&set.members.iter().map(String::as_str).collect::<Vec<_>>()),
        );
    }
    if !set.would_be_allowed() {
        add("why", &set.message);
    }
    if let Some(exception) = &set.exception {
        add("excepted", &exception.says());
    }
    for issue in &set.known_issues {
        add("issue", &issue.says());
    }
    if let Some(help) = &set.to_know {
        add("to know", help);
    }
    if let Some(advice) = set.advice() {
        add("fix", &advice);
    }
    if let Some(patch) = &set.patch {
        lines.push(format!("  {:<9}{patch}", "command"));
    }
    if let Some(file) = &set.patch_file {
        lines.push(format!("  {:<9}{}", "for Git", file.name));
        lines.extend(file.text.lines().map(|line| format!("    {line}")));
    }
    let mut add = |name: &str, text: &str| lines.extend(terminal.item(name, text));
    for note in &set.notes {
        add("note", note);
    }
    if let Some(nodes) = nodes(set) {
        add("nodes", &nodes);
    }
    lines
}

/// The image field, and where the image is.
fn image(set: &SetAudit) -> Option<String> {
    let place: Vec<&str> = [&set.platform, &set.region, &set.architecture]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let place = match place.join(", ") {
        none if none.is_empty() => none,
        place => format!(" ({place})"),
    };
    match (&set.image_field, &set.image) {
        (Some(field), Some(image)) => Some(format!("{image}{place}: {field}")),
        (Some(field), None) => Some(format!("not named by {field}{place}")),
        (None, _) if place.is_empty() => None,
        (None, _) => Some(format!("not known{place}")),
    }
}

fn nodes(set: &SetAudit) -> Option<String> {
    let nodes: Vec<String> = set
        .nodes
        .iter()
        .map(|nodes| match &nodes.version {
            Some(version) => format!("{} of {version}", nodes.count),
            None => format!("{} without a label", nodes.count),
        })
        .collect();
    let wanted = set.replicas.map(|replicas| format!("{replicas} wanted"));
    if nodes.is_empty() && wanted.is_none() {
        return None;
    }
    let pool = set.pool.as_ref().map(|pool| format!("pool {pool}"));
    let joined = if set.nodes_unread {
        "not read".to_owned()
    } else if nodes.is_empty() {
        "none joined".to_owned()
    } else {
        nodes.join(", ")
    };
    let all: Vec<String> = [Some(joined), wanted, pool].into_iter().flatten().collect();
    Some(all.join("; "))
}

/// What stands above the command for the operator.
pub(in crate::cli::audit) const UNTIL_THEN: &str = "Give these sets a newer image. To tell the Machine Config Operator until then, which turns mode Automatic off, \
     and blocks updates of the cluster where the image is below the operator's own minimum:";

/// The oldest image in use, and what the Machine Config Operator takes for it.
fn oldest(terminal: Terminal, audit: &BootImageAudit, detail: Detail) -> Vec<String> {
    let Some(oldest) = &audit.oldest else {
        return Vec::new();
    };
    let mut lines = terminal.prose(0, &in_use(oldest, audit.oldest_birth.as_ref()));
    if let Some(words) = audit.cluster.as_ref().and_then(operator_says) {
        lines.extend(terminal.prose(0, &words));
    }
    if let (Some(command), Some(back), Detail::All) = (&oldest.command, &oldest.way_back, detail) {
        lines.extend(terminal.prose(0, UNTIL_THEN));
        lines.push(format!("  {command}"));
        lines.extend(terminal.prose(0, "The way back:"));
        lines.push(format!("  {back}"));
    }
    lines
}

/// The oldest boot image that sets make nodes from, and beside it that of joined nodes, in words.
pub(in crate::cli::audit) fn in_use(oldest: &Oldest, birth: Option<&OldestBirth>) -> String {
    let unknown = match oldest.unknown {
        0 => String::new(),
        1 => " The image of 1 more set is unknown, and may be older.".to_owned(),
        more => format!(" The images of {more} more sets are unknown, and may be older."),
    };
    let birth = birth.filter(|birth| birth.boot_image != oldest.boot_image);
    let birth = birth.map_or_else(String::new, |birth| {
        format!(
            " The oldest that a joined node was made from: {}, by {}.",
            shown(&birth.boot_image),
            birth.used_by
        )
    });
    format!(
        "Oldest boot image that sets make nodes from: {}, by {}.{unknown}{birth}",
        shown(&oldest.boot_image),
        oldest.used_by
    )
}

/// What the Machine Config Operator takes for the oldest boot image, in words; nothing where it
/// cannot be compared with what was found.
pub(in crate::cli::audit) fn operator_says(cluster: &ClusterSkew) -> Option<String> {
    let ocp = cluster.ocp_version.as_ref().map(|ocp| format!("OCP {ocp}"));
    let says = [cluster.rhcos_version.clone(), ocp];
    let says: Vec<String> = says.into_iter().flatten().collect();
    let judged = if cluster.older_in_use? {
        "THAT IS NEWER than the oldest boot image that sets make nodes from"
    } else {
        "no set makes nodes from an older boot image"
    };
    Some(format!(
        "The cluster (bootImageSkewEnforcement, mode {}) says {}: {judged}.",
        cluster.mode,
        says.join(", ")
    ))
}

/// What has to be done, machines that do not come up, and what limits what is said here.
fn lists(terminal: Terminal, audit: &BootImageAudit, detail: Detail) -> Vec<Block> {
    let list = |head: &str, what, texts: Vec<String>| {
        let has_head = !head.is_empty() && !texts.is_empty();
        let indent = if has_head { 2 } else { 0 };
        let item = |text: &String| Item {
            lines: terminal.prose(indent, text),
            note: Vec::new(),
        };
        Block {
            head: has_head.then(|| head.to_owned()).into_iter().collect(),
            items: texts.iter().map(item).collect(),
            what,
            least: 0,
        }
    };
    let remedies = remedies(audit)
        .into_iter()
        .map(|((platform, remedy), sets)| format!("{} ({platform}): {remedy}", names(&sets)));
    let lookup_helps = lookup_helps(audit)
        .into_iter()
        .map(|(help, sets)| format!("{}: {help}", names(&sets)));
    let each = match detail {
        Detail::Row => &[],
        Detail::All => &*audit.provisioned,
    };
    let each = each
        .iter()
        .map(|machine| format!("not joined: {}", machine.says()));
    let waiting = each.chain(wait(audit));
    let unread = audit.unread.iter().map(|unread| {
        let hides = if unread.hides_sets {
            "; sets may be missing above"
        } else {
            ""
        };
        let word = if unread.makes_nodes {
            "not understood"
        } else {
            "not read"
        };
        format!("{word}: {}: {}{hides}", unread.what, unread.why)
    });
    let warnings = audit.warnings.iter().map(|text| format!("warning: {text}"));
    let differences = audit.policy_differs_from_operator.iter().map(|difference| {
        format!(
            "the policy differs from the Machine Config Operator: {}",
            difference.message
        )
    });
    vec![
        list("What to change:", "remedies", remedies.collect()),
        list(
            "How to find the unknown versions:",
            "ways",
            lookup_helps.collect(),
        ),
        list(&format!("{BIRTHS}:"), "rows", births(audit)),
        list("", "resources and files not read", unread.collect()),
        list("", "sets with such Machines", waiting.collect()),
        list("", "differences", differences.collect()),
        list("", "warnings", warnings.collect()),
    ]
}

/// Joined nodes that a known issue hits at their update.
fn births(audit: &BootImageAudit) -> Vec<String> {
    audit.births.iter().map(BirthAudit::says).collect()
}
