//! Making text that came from outside safe to show (pure).
//!
//! Everything read from the node or the network may hold terminal escapes, bidirectional overrides or agetty escapes. It is made
//! printable once, where it enters, so that no output can forget to.

/// Longest text kept of one untrusted word such as a version, a pool or an image reference, in characters.
pub const WORD_MAX: usize = 512;

/// Returns `text` in printable ASCII, at most `max` characters before escaping.
///
/// Control characters, backslashes and everything beyond ASCII are shown in their escaped form (`\n`, `\\`, `\u{202e}`), so that two
/// different inputs never look the same and none of them moves a cursor. A cut is marked with `...`.
pub fn printable(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    for (n, c) in text.chars().enumerate() {
        if n == max {
            out.push_str("...");
            break;
        }
        match c {
            ' '..='~' if c != '\\' => out.push(c),
            _ => out.extend(c.escape_default()),
        }
    }
    out
}

/// [`printable`] with the limit for one word.
pub fn word(text: &str) -> String {
    printable(text, WORD_MAX)
}

/// `text` in at most `width` characters; a cut is marked with `...`.
pub fn cut(text: &str, width: usize) -> String {
    if text.len() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_moves_a_cursor_and_keeps_what_does_not() {
        assert_eq!(word("418.94.202511191518-0"), "418.94.202511191518-0");
        assert_eq!(word("a\x1b[2Jb\nc\\S"), "a\\u{1b}[2Jb\\nc\\\\S");
        assert_eq!(word("x\u{202e}y\u{7f}\u{9b}"), "x\\u{202e}y\\u{7f}\\u{9b}");
    }

    #[test]
    fn cuts_visibly() {
        assert_eq!(printable("abcdef", 3), "abc...");
        assert_eq!(printable("abc", 3), "abc");
    }
}
