//! Texts with holes, which stand beside the code (pure).

use std::fmt::Display;

/// The holes of a text by their names, and what fills them.
pub(crate) type Holes<'a> = [(&'a str, &'a dyn Display)];

/// A text with its holes filled: `{name}`. What fills one is not read again, and braces around
/// anything but a hole's name stay.
pub(crate) fn fill(text: &str, holes: &Holes<'_>) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let hole = part.split_once('}').and_then(|(name, rest)| {
            let (_, value) = holes.iter().find(|(hole, _)| *hole == name)?;
            Some(format!("{value}{rest}"))
        });
        filled += &hole.unwrap_or_else(|| format!("{{{part}"));
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn holes_are_filled_once_and_other_braces_stay() {
        let text = "{a} of { \"b\": [{b}] }, {{b}}, {c}{";
        assert_eq!(
            fill(text, &[("a", &"{b}"), ("b", &2)]),
            "{b} of { \"b\": [2] }, {2}, {c}{"
        );
    }
}
