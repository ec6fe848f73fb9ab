//! Versions of RPM packages without an epoch, such as `15.8-3.el9` (pure).

use std::cmp::Ordering;

/// A package's version, and its release where the text has one: `15.8-3.el9`, or `15.8` for every
/// release of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpmVersion(String);

impl RpmVersion {
    /// `None` where the text is not a version: it begins with a digit and has only characters that
    /// RPM allows there.
    pub fn parse(text: &str) -> Option<Self> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        let is_version = text.len() <= 64
            && text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(allowed);
        is_version.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares as RPM does, version first. Where one side has no release, only the versions are
    /// compared.
    pub fn compare(&self, other: &Self) -> Ordering {
        let (version, release) = parts(&self.0);
        let (other_version, other_release) = parts(&other.0);
        compare(version, other_version).then_with(|| match (release, other_release) {
            (Some(release), Some(other)) => compare(release, other),
            _ => Ordering::Equal,
        })
    }
}

fn parts(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once('-') {
        Some((version, release)) => (version, Some(release)),
        None => (text, None),
    }
}

/// rpmvercmp(3) without `~` and `^`: runs of digits and of letters, one after the other. A number
/// is newer than a word, and what goes on is newer than what has ended.
fn compare(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (segments(a), segments(b));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => segment(a, b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn segment(a: &str, b: &str) -> Ordering {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    match (is_number(a), is_number(b)) {
        (true, true) => {
            let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        }
        (number, other) if number != other => number.cmp(&other),
        _ => a.cmp(b),
    }
}

/// Runs of digits and runs of letters; everything else only separates them.
fn segments(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .flat_map(|part| {
            part.char_indices()
                .filter_map(|(at, c)| {
                    let before = part.get(..at)?.chars().next_back();
                    before
                        .is_none_or(|before| before.is_ascii_digit() != c.is_ascii_digit())
                        .then_some(at)
                })
                .map(move |start| {
                    let run = part.get(start..).unwrap_or_default();
                    let is_digit = run.starts_with(|c: char| c.is_ascii_digit());
                    let end = run.find(|c: char| c.is_ascii_digit() != is_digit);
                    run.get(..end.unwrap_or(run.len())).unwrap_or_default()
                })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shim_versions_compare_as_rpm_compares_them() {
        use Ordering::{Equal, Greater, Less};
        for (a, order, b) in [
            ("15.6-1.el9", Less, "15.8-3"),
            ("15.8-3.el9", Greater, "15.8-3"),
            ("15.8-4.el9_3", Greater, "15.8-3.el9"),
            ("15-8.el8_1", Less, "15.4-2.el8_1"),
            ("15.8-2", Less, "15.8-3"),
            ("15.8-1", Equal, "15.8"),
            ("15.10-1", Greater, "15.8-3"),
            ("15.8-03", Equal, "15.8-3"),
            ("16.1-1.el10", Greater, "15.8-3"),
            ("15.8a", Greater, "15.8"),
            ("15.8.1", Greater, "15.8a"),
        ] {
            let [left, right] = [a, b].map(|text| RpmVersion::parse(text).unwrap());
            assert_eq!(left.compare(&right), order, "{a} {b}");
            assert_eq!(right.compare(&left), order.reverse(), "{b} {a}");
        }
    }

    #[test]
    fn what_is_not_a_version_is_not_read_as_one() {
        for text in ["", "el9", "15.8 3", "15.8\n", "1:15.8-3", &"1".repeat(65)] {
            assert_eq!(RpmVersion::parse(text), None, "{text}");
        }
        let longest = "1".repeat(64);
        assert_eq!(RpmVersion::parse(&longest).unwrap().as_str(), longest);
    }
}
