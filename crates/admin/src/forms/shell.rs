//! Words of a POSIX shell (pure).

/// `text` as one word of a command. What needs no quotes has none.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_word_stays_one_word() {
        for (text, wanted) in [
            ("policy.json", "policy.json"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(id)", "'$(id)'"),
            ("it's", r"'it'\''s'"),
            ("~/x", "'~/x'"),
        ] {
            assert_eq!(word(text), wanted);
        }
    }
}
