//! Making text that came from outside safe to show (pure).
//!
//! Everything read from the node or the network may hold terminal escapes, bidirectional overrides
//! or agetty escapes. It is made printable once, where it enters, so that no output can forget to.

/// Longest untrusted text that is kept, such as a version, a pool or an image reference: in
/// characters, before escaping.
pub const KEPT_MAX: usize = 512;

/// Returns `text` in printable ASCII, at most `max` characters before escaping.
///
/// Control characters, backslashes and everything beyond ASCII are shown in their escaped form
/// (`\n`, `\\`, `\u{202e}`), so that two different inputs never look the same and none of them
/// moves a cursor. A cut is marked with `...`.
pub fn printable_up_to(text: &str, max: usize) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'\\';
    if text.len() <= max && text.bytes().all(is_plain) {
        return text.to_owned();
    }
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

/// [`printable_up_to`] [`KEPT_MAX`] characters.
pub fn printable(text: &str) -> String {
    printable_up_to(text, KEPT_MAX)
}

/// Makes `text` printable ASCII of at most `max` bytes in JSON, where a quote and a backslash count
/// as two. A cut is marked with `...`. Unlike [`printable`] it keeps backslashes: those of text
/// that is printable already must not be escaped again.
pub fn bounded(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    let (mut size, mut fits) = (0, 0);
    for c in text.chars() {
        let start = out.len();
        match c {
            ' '..='~' => out.push(c),
            _ => out.extend(c.escape_default()),
        }
        size += out
            .bytes()
            .skip(start)
            .map(|byte| if matches!(byte, b'"' | b'\\') { 2 } else { 1 })
            .sum::<usize>();
        if size > max {
            out.truncate(fits);
            out.push_str("...");
            break;
        }
        if size + 3 <= max {
            fits = out.len();
        }
    }
    out
}

pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 0xf])
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}

/// Tells whether Kubernetes takes this as a name (RFC 1123, a DNS subdomain) of at most `max` characters.
pub fn is_dns_name(text: &str, max: usize) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.starts_with(edge)
            && label.ends_with(edge)
            && label.chars().all(|c| edge(c) || c == '-')
    };
    text.len() <= max && text.split('.').all(is_label)
}

/// Breaks `text` at spaces into lines of at most `width` bytes. A longer word is broken as well.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        for piece in word.as_bytes().chunks(width) {
            let piece = String::from_utf8_lossy(piece);
            match lines.last_mut() {
                Some(line) if line.len() + 1 + piece.len() <= width => line.extend([" ", &piece]),
                _ => lines.push(piece.into_owned()),
            }
        }
    }
    lines
}

/// `text` in at most `width` characters; a cut is marked with `...`.
pub fn cut(text: &str, width: usize) -> String {
    if text.len() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

/// Longest [`UnknownWord`] value, in bytes.
const UNKNOWN_MAX: usize = 64;

/// A value that another release of skewguard wrote and this one does not know, with a question mark
/// for each byte that is not printable ASCII: dropped, it could leave a word that is known. It is
/// stored inline, padded with zeros, so that enums with it stay `Copy`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnknownWord([u8; UNKNOWN_MAX]);

impl UnknownWord {
    pub fn new(word: &str) -> Self {
        let mut bytes = [0; UNKNOWN_MAX];
        for (to, from) in bytes.iter_mut().zip(word.bytes()) {
            *to = if matches!(from, b' '..=b'~') {
                from
            } else {
                b'?'
            };
        }
        Self(bytes)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0)
            .unwrap_or_default()
            .trim_end_matches('\0')
    }
}

impl std::fmt::Debug for UnknownWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// Enums that are strings in JSON. A string that this release does not know, because another one
/// wrote it, is kept as `Other` and passed on.
#[macro_export]
#[doc(hidden)]
macro_rules! string_enums {
    ($($(#[$about:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ })+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $($(#[$doc])* $variant,)+
            Other($crate::text::UnknownWord),
        }

        impl $name {
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word.as_str(),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(deserializer)?;
                Ok(match word.as_str() {
                    $($word => Self::$variant,)+
                    other => Self::Other($crate::text::UnknownWord::new(other)),
                })
            }
        }
    )+};
}
pub use string_enums;

/// Longest label value, in characters (Kubernetes, "Labels and Selectors").
const LABEL_MAX: usize = 63;

/// Makes `text` a label value: at most 63 characters, with `_` for those that are not allowed, and
/// a letter or digit at both ends; `unknown` if nothing is left. Real boot image versions stay as
/// they are.
pub fn label_value(text: &str) -> String {
    let fitting = text.chars().map(|c| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') {
            c
        } else {
            '_'
        }
    });
    let fitting: String = fitting.collect();
    let start = fitting.trim_start_matches(['-', '.', '_']);
    let value = start
        .get(..LABEL_MAX)
        .unwrap_or(start)
        .trim_end_matches(['-', '.', '_']);
    if value.is_empty() {
        "unknown".to_owned()
    } else {
        value.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_moves_a_cursor_and_keeps_what_does_not() {
        assert_eq!(printable("418.94.202511191518-0"), "418.94.202511191518-0");
        assert_eq!(printable("a\x1b[2Jb\nc\\S"), "a\\u{1b}[2Jb\\nc\\\\S");
        assert_eq!(
            printable("x\u{202e}y\u{7f}\u{9b}"),
            "x\\u{202e}y\\u{7f}\\u{9b}"
        );
    }

    #[test]
    fn lines_break_between_words_and_within_long_ones() {
        assert_eq!(wrap("aaa bbb ccc ddd", 7), ["aaa bbb", "ccc ddd"]);
        assert_eq!(wrap(" aaa  bbb c", 7), ["aaa bbb", "c"]);
        assert_eq!(wrap("abcdefghi j", 4), ["abcd", "efgh", "i j"]);
        assert!(wrap("", 4).is_empty());
    }

    #[test]
    fn cuts_visibly() {
        assert_eq!(printable_up_to("abcdef", 3), "abc...");
        assert_eq!(printable_up_to("abc", 3), "abc");
    }
}
