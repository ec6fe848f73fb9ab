//! The audit as Markdown, for the summary of a job or a comment on a pull request (pure).

use super::facts::{BIRTHS, head, lookup_helps, names, remedies, title, waiting};
use super::fleet_text;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, SetAudit};
use crate::cli::audit::conclusion::Conclusion;
use crate::cli::audit::conclusion::{Word, count};

/// The most rows of sets, and items of a list, that several clusters have.
const MOST: usize = 100;

/// What is not allowed, and how many are. GitHub takes 65,536 characters for a comment.
pub(crate) fn render(audit: &BootImageAudit, conclusion: &Conclusion) -> String {
    let mut out = begin(conclusion);
    let facts = head(audit);
    let facts = facts
        .iter()
        .map(|(name, value)| format!("{name}: {}", plain(value)));
    out += &format!("\n{}\n", facts.collect::<Vec<_>>().join(" · "));
    let sets: Vec<_> = audit.sets.iter().map(|set| (None, set)).collect();
    out += &table(&sets, usize::MAX);
    out += &list("What to do", to_do(audit).into_iter());
    let births = audit.births.iter();
    out += &list(BIRTHS, births.map(|birth| plain(&birth.says())));
    out += &list(
        "Not joined: oc skewguard why",
        waiting(audit).iter().map(|text| plain(text)),
    );
    let unread = audit.unread.iter();
    let unread = unread.map(|unread| format!("not read: {}: {}", unread.what, unread.why));
    let doubts = audit.warnings.iter().cloned().chain(unread);
    out + &list("Warnings", doubts.map(|text| plain(&text)))
}

/// The same of several clusters: a row for each, then the sets with their cluster's name.
pub(crate) fn render_fleet(fleet: &FleetAudit, conclusion: &Conclusion) -> String {
    let mut out = begin(conclusion) + &clusters(fleet);
    let of_cluster = |cluster| move |set| (Some(cluster), set);
    let audits = || {
        let items = fleet.items.iter();
        items.filter_map(|item| Some((item.context.as_str(), item.audit.as_ref()?)))
    };
    let mut sets: Vec<_> = audits()
        .flat_map(|(cluster, audit)| audit.sets.iter().map(of_cluster(cluster)))
        .collect();
    sets.sort_by_key(|(_, set)| Word::of(set));
    out += &table(&sets, MOST);
    let to_do = audits().flat_map(|(cluster, audit)| {
        let items = to_do(audit).into_iter();
        items.map(move |item| format!("{}, {item}", code(cluster)))
    });
    out += &some("What to do", to_do);
    let births = audits().flat_map(|(cluster, audit)| {
        let births = audit.births.iter();
        births.map(move |birth| format!("{}, {}", code(cluster), plain(&birth.says())))
    });
    out += &some(BIRTHS, births);
    let waiting = audits().flat_map(|(cluster, audit)| {
        let items = waiting(audit).into_iter();
        items.map(move |text| format!("{}, {}", code(cluster), plain(&text)))
    });
    out += &some("Not joined: oc skewguard why", waiting);
    let notes = fleet.items.iter().flat_map(|item| {
        let notes = fleet_text::notes(item).into_iter();
        let warnings = item.audit.iter().flat_map(|audit| &audit.warnings).cloned();
        let notes = notes.chain(warnings);
        notes.map(move |text| format!("{}: {}", code(&item.context), plain(&text)))
    });
    out + &some("Warnings", notes)
}

fn begin(conclusion: &Conclusion) -> String {
    let mut out = format!("## Boot images\n\n**{}**\n", plain(&conclusion.sentence));
    let next = &conclusion.next;
    if next.starts_with("oc ") {
        out += &format!("\nNext: {}\n", code(next));
    } else if !next.is_empty() {
        out += &format!("\nNext: {}\n", plain(next));
    }
    out
}

fn to_do(audit: &BootImageAudit) -> Vec<String> {
    let remedies = remedies(audit)
        .into_iter()
        .map(|((_, remedy), sets)| (names(&sets), remedy));
    let lookup_helps = lookup_helps(audit)
        .into_iter()
        .map(|(help, sets)| (names(&sets), help.to_owned()));
    let all = remedies.chain(lookup_helps);
    all.map(|(sets, what)| format!("{}: {}", code(&sets), plain(&what)))
        .collect()
}

/// A row for each cluster.
fn clusters(fleet: &FleetAudit) -> String {
    let row = |cluster: &ClusterAudit| {
        let [context, cells @ ..] = fleet_text::cells(cluster);
        let word = fleet_text::word(cluster).lower();
        let cells = cells.map(|cell| plain(&cell)).join(" | ");
        format!("| {word} | {} | {cells} |\n", code(&context))
    };
    let columns = fleet_text::COLUMNS.map(str::to_lowercase).join(" | ");
    let rows: String = fleet.items.iter().map(row).collect();
    format!(
        "\n| verdict | {columns} |\n|{}\n{rows}",
        "---|".repeat(fleet_text::COLUMNS.len() + 1)
    )
}

/// The sets that are not allowed, each with its cluster where there are several; at most so many.
fn table(sets: &[(Option<&str>, &SetAudit)], most: usize) -> String {
    let is_shown =
        |(_, set): &&(_, &SetAudit)| !set.would_be_allowed() || !set.known_issues.is_empty();
    let shown: Vec<_> = sets.iter().filter(is_shown).collect();
    let rows: Vec<String> = shown
        .iter()
        .take(most)
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
    let exception = set.exception.as_ref().map(|exception| exception.says());
    let issues = set
        .known_issues
        .iter()
        .map(|issue| format!("known issue {}", issue.says()));
    let why: Vec<String> = std::iter::once(set.message.clone())
        .chain(issues)
        .chain(exception)
        .map(|text| plain(&text))
        .collect();
    format!(
        "| {} |{cluster} {} | {image} | {nodes} | {} |\n",
        Word::of(set).lower(),
        code(&title(set, None)),
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

/// As many as a comment has room for.
fn some(title: &str, mut items: impl Iterator<Item = String>) -> String {
    let mut shown: Vec<String> = items.by_ref().take(MOST).collect();
    match items.count() {
        0 => (),
        more => shown.push(format!("and {more} more: `-o json` has all")),
    }
    list(title, shown.into_iter())
}

fn list(title: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("- {item}\n")).collect();
    if items.is_empty() {
        items
    } else {
        format!("\n### {title}\n\n{items}")
    }
}

/// Text that is no markup: no link, image, table cell, HTML, and nobody is mentioned. References
/// such as `@team` and `#1` are found in what is shown, so a character of no width breaks them.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' | '#' => out.extend([c, '\u{200b}']),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    // What GitHub makes a link of by itself.
    out.replace("://", ":\u{200b}//")
        .replace("www.", "www\u{200b}.")
}

/// A name as code; in a table a `|` ends a cell also there.
fn code(text: &str) -> String {
    let text = text
        .replace(|c: char| c.is_control(), " ")
        .replace('|', "\\|");
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    if longest == 0 {
        format!("`{text}`")
    } else {
        format!("{fence} {text} {fence}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(
            plain("[x](https://a.b) ![i](y) <b> a|b `c` @team #1 www.x.y a_b*c"),
            "\\[x\\](https:\u{200b}//a.b) \\!\\[i\\](y) &lt;b&gt; a\\|b \\`c\\` @\u{200b}team #\u{200b}1 \
             www\u{200b}.x.y a\\_b\\*c"
        );
        assert_eq!(plain("a\nb\x1b"), "a b ");
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a``b|c"), "``` a``b\\|c ```");
    }
}
