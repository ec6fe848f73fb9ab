//! Names of objects, in words (pure).

/// `namespace/name`, or the name alone.
pub fn full_name(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

/// `1 request`, `2 requests`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `a, b and 3 more`.
pub fn some_of(names: &[&str]) -> String {
    first_of(names.iter().copied(), 2, names.len())
}

/// The first names, and how many there are more of all.
pub fn first_of<'a>(names: impl Iterator<Item = &'a str>, most: usize, all: usize) -> String {
    let shown: Vec<&str> = names.take(most).collect();
    let more = match all.saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}
