//! Names of objects, in words (pure).

/// `namespace/name`, or the name alone.
pub fn full_name(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

/// `a, b and 3 more`.
pub fn some_of(names: &[&str]) -> String {
    let shown = names.iter().take(2).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 2 {
        format!("{shown} and {} more", names.len() - 2)
    } else {
        shown
    }
}
