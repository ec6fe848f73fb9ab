//! Versions by their beginnings, such as `412.86.` (pure).
//!
//! The beginnings are those of every published image, and of builds that are in no list: an assisted
//! installation writes the OS of its release, and Fedora CoreOS is published elsewhere. Any other is
//! newer than this program, and nothing is said of it.

use crate::data::all_versions;
use crate::version::{BY_RHEL, ImageVersion};
use std::collections::BTreeMap;

/// Versions that nothing but day and build tells apart.
#[derive(Debug)]
pub(super) struct Beginning {
    before: String,
    /// What may follow the day, such as `0000-0`.
    after: String,
    pub(super) published: Vec<&'static ImageVersion>,
}

/// The OS of releases whose published images begin otherwise.
const OF_RELEASES: [&str; 4] = [
    "400.7.20190306.0",
    "410.81.20200106.0",
    "42.81.20191203.0",
    "412.9.202211241749-0",
];

/// Releases whose OS is built as a layer, and names them.
const LAYERED: [&str; 6] = ["4.19", "4.20", "4.21", "4.22", "4.23", "5.0"];

pub(super) fn beginnings() -> impl Iterator<Item = Beginning> {
    // The last build of the last stream of a day.
    let of_fedora = (28..60).map(|fedora| format!("{fedora}.20200101.99.99"));
    let layered = LAYERED.iter().flat_map(|release| {
        BY_RHEL.map(|((major, minor), _)| format!("{release}.{major}.{minor}.202001010000-0"))
    });
    let more = of_fedora.chain(layered);
    let more = more.chain(OF_RELEASES.map(str::to_owned));
    let more = more.map(|text| (ImageVersion::parse(&text), None));
    let published = all_versions().iter();
    let published = published.map(|version| (version.clone(), Some(version)));
    let mut all: BTreeMap<_, Beginning> = BTreeMap::new();
    for (version, published) in more.chain(published) {
        let Some((before, after)) = around_day(&version) else {
            continue;
        };
        let found = all.entry((before.to_owned(), has_time(after)));
        let found = found.or_insert_with(|| Beginning {
            before: before.to_owned(),
            after: after.to_owned(),
            published: Vec::new(),
        });
        found.published.extend(published);
    }
    all.into_values()
}

/// The day that a version was built on, as it stands there.
pub(super) fn day(version: &ImageVersion) -> Option<String> {
    Some(version.build_date.as_ref()?.replace('-', ""))
}

fn around_day(version: &ImageVersion) -> Option<(&str, &str)> {
    version.text.split_once(&day(version)?)
}

fn has_time(after: &str) -> bool {
    after.starts_with(|c: char| c.is_ascii_digit())
}

impl Beginning {
    pub(super) fn on(&self, day: &str) -> ImageVersion {
        ImageVersion::parse(&format!("{}{day}{}", self.before, self.after))
    }

    /// A regular expression for its versions, or for those that are older than a day.
    pub(super) fn pattern(&self, older_than: Option<&String>) -> String {
        let days = older_than.map_or("20[0-9]{6}".to_owned(), |day| before(day));
        let rest = match has_time(&self.after) {
            true => "[0-9]{4}[-.].*",
            false => "(?:[-.].*)?",
        };
        format!("{}{days}{rest}", escaped(&self.before))
    }
}

/// A regular expression for the days before this one.
fn before(day: &str) -> String {
    let at_digit = |(at, digit): (usize, char)| {
        let below = digit.to_digit(10)?.checked_sub(1)?;
        let same = day.get(..at)?;
        Some(format!("{same}[0-{below}][0-9]{{{}}}", day.len() - at - 1))
    };
    let days: Vec<_> = day.char_indices().filter_map(at_digit).collect();
    format!("(?:{})", days.join("|"))
}

/// A text as a regular expression in a string of PromQL. It has the characters of label values.
pub(super) fn escaped(text: &str) -> String {
    text.replace('.', r"\\.")
}
