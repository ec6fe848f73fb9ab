//! Text in Markdown as GitHub shows it, in which nothing that was read is markup (pure).

use super::template::templates;
use minijinja::value::Serde;
use minijinja::{Error, Value as Markup};

/// A page by a template, in which each text is escaped but for what a filter made.
pub(crate) fn render_template(template: &str, page: serde_json::Value) -> Result<String, Error> {
    let mut templates = templates(plain)?;
    templates.add_filter("code", |text: &str| Markup::from_safe_string(code(text)));
    templates.add_filter("marked", |text: &str| {
        Markup::from_safe_string(marked(text))
    });
    templates.add_filter("block", |text: &str, language: &str, indent: usize| {
        Markup::from_safe_string(block(indent, language, text))
    });
    templates.render_str(template, Serde(page))
}

/// Text that is no markup: no link, image, table cell, HTML, and nobody is mentioned. References
/// such as `@team` and `#1` are found in what is shown, so a character of no width breaks them. What
/// GitHub makes a link of by itself is code, which can be copied.
pub(crate) fn plain(text: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace);
    let word = |word: &str| {
        let is_link = word.contains("://") || word.contains("www.");
        let link = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
        match word.split_once(link).filter(|_| is_link) {
            Some((before, after)) => escaped(before) + &code(link) + &escaped(after),
            None => escaped(word),
        }
    };
    words.map(word).collect()
}

fn escaped(text: &str) -> String {
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
    out
}

/// Prose, in which commands stand between backticks: those are code.
pub(crate) fn marked(text: &str) -> String {
    in_parts(text, plain, code)
}

/// The same in another markup, of which these are text and code.
pub(crate) fn in_parts(
    text: &str,
    plain: impl Fn(&str) -> String,
    code: impl Fn(&str) -> String,
) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // One without an end is text.
    if parts.len().is_multiple_of(2) {
        return plain(text);
    }
    let part = |(n, part): (usize, &&str)| match n % 2 {
        1 if !part.is_empty() => code(part),
        _ => plain(part),
    };
    parts.iter().enumerate().map(part).collect()
}

/// A name as code; in a table a `|` ends a cell also there.
pub(crate) fn code(text: &str) -> String {
    let text = text
        .replace(|c: char| c.is_control(), " ")
        .replace('|', "\\|");
    let longest = longest_fence(&text);
    let fence = "`".repeat(longest + 1);
    if longest == 0 {
        format!("`{text}`")
    } else {
        format!("{fence} {text} {fence}")
    }
}

/// A block of code, each line after `indent` columns.
pub(crate) fn block(indent: usize, language: &str, text: &str) -> String {
    let margin = " ".repeat(indent);
    let fence = "`".repeat(longest_fence(text).max(2) + 1);
    let lines = text.lines().map(|line| {
        let line = line.replace(|c: char| c.is_control(), " ");
        format!("{margin}{line}\n")
    });
    format!(
        "{margin}{fence}{language}\n{}{margin}{fence}",
        lines.collect::<String>()
    )
}

/// The longest run of backticks.
fn longest_fence(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(
            plain("[x](https://a.b) ![i](y) <b> a|b `c` @team #1 www.x.y a_b*c"),
            "\\[`x](https://a.b`) \\!\\[i\\](y) &lt;b&gt; a\\|b \\`c\\` @\u{200b}team #\u{200b}1 \
             `www.x.y` a\\_b\\*c"
        );
        assert_eq!(plain("a\nb\x1b"), "a b ");
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a``b|c"), "``` a``b\\|c ```");
        assert_eq!(marked("run `oc x` @team"), "run `oc x` @\u{200b}team");
        assert_eq!(block(2, "", "a```b"), "  ````\n  a```b\n  ````");
    }
}
