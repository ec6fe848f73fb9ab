//! The audit as Markdown, for the summary of a job or a comment on a pull request (pure).

use super::conclusion::Conclusion;
use super::page::{BIRTHS, Word, clues, count, head, names, remedies, title, waiting};
use crate::audit::{BootImageAudit, SetAudit};

/// What is not allowed, and how many are. GitHub takes 65,536 characters for a comment.
pub(crate) fn render(audit: &BootImageAudit, conclusion: &Conclusion) -> String {
    let mut out = format!("## Boot images\n\n**{}**\n", plain(&conclusion.sentence));
    let next = &conclusion.next;
    if next.starts_with("oc ") {
        out += &format!("\nNext: {}\n", code(next));
    } else if !next.is_empty() {
        out += &format!("\nNext: {}\n", plain(next));
    }
    let facts = head(audit);
    let facts = facts
        .iter()
        .map(|(name, value)| format!("{name}: {}", plain(value)));
    out += &format!("\n{}\n", facts.collect::<Vec<_>>().join(" · "));
    out += &table(&audit.sets);
    let remedies = remedies(audit)
        .into_iter()
        .map(|((_, remedy), sets)| (names(&sets), remedy.to_owned()));
    let clues = clues(audit)
        .into_iter()
        .map(|(clue, sets)| (names(&sets), clue.to_owned()));
    let items = remedies
        .chain(clues)
        .map(|(sets, what)| format!("{}: {}", code(&sets), plain(&what)));
    out += &list("What to do", items);
    let births = audit.births.iter();
    out += &list(BIRTHS, births.map(|birth| plain(&birth.says())));
    out += &list("Not joined", waiting(audit).iter().map(|text| plain(text)));
    let unread = audit.unread.iter();
    let unread = unread.map(|unread| format!("not read: {}: {}", unread.what, unread.why));
    let doubts = audit.warnings.iter().cloned().chain(unread);
    out + &list("Warnings", doubts.map(|text| plain(&text)))
}

fn table(sets: &[SetAudit]) -> String {
    let is_shown = |set: &&SetAudit| !set.would_be_allowed() || !set.known_issues.is_empty();
    let rows: Vec<String> = sets.iter().filter(is_shown).map(row).collect();
    let allowed = match sets.len() - rows.len() {
        0 => String::new(),
        more => format!("\n{} allowed.\n", count(more, "set is", "sets are")),
    };
    if rows.is_empty() {
        return allowed;
    }
    format!(
        "\n| verdict | set | boot image | nodes | why |\n|---|---|---|---|---|\n{}{allowed}",
        rows.concat()
    )
}

fn row(set: &SetAudit) -> String {
    let joined: usize = set.nodes.iter().map(|nodes| nodes.count).sum();
    let nodes = match set.replicas {
        Some(wanted) => format!("{joined} of {wanted}"),
        None => joined.to_string(),
    };
    let image = set.boot_image.as_ref();
    let image = image.map_or_else(|| "not known".to_owned(), |image| code(&image.version));
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
        "| {} | {} | {image} | {nodes} | {} |\n",
        Word::of(set).lower(),
        code(&title(set, None)),
        why.join("; ")
    )
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
