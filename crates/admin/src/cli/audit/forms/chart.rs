//! The fleet by boot image, as bars in an HTML page (pure).

use crate::audit::BootImageAudit;
use crate::audit::results::by_release;
use crate::cli::audit::word::Word;
use crate::version::{ImageVersion, OcpMinor};
use serde_json::{Value, json};
use skewguard_cluster::names::count;
use std::collections::BTreeMap;

/// The most bars; the rest of the images share the last one.
const MAX_BARS: usize = 24;

/// A boot image, and who uses it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bar {
    label: String,
    /// Joined nodes that were made from it.
    nodes: usize,
    /// Sets whose next node is made from it, by their verdict, worst first.
    sets: BTreeMap<Word, usize>,
}

impl Bar {
    fn add(&mut self, other: &Self) {
        self.nodes += other.nodes;
        for (word, sets) in &other.sets {
            *self.sets.entry(*word).or_default() += sets;
        }
    }

    fn says(&self) -> String {
        let nodes = count(self.nodes, "node");
        let all: usize = self.sets.values().sum();
        let words = match self.sets.len() {
            0 => return nodes,
            1 => self
                .sets
                .keys()
                .map(|word| word.lower().to_owned())
                .collect(),
            _ => (self
                .sets
                .iter()
                .map(|(word, sets)| format!("{sets} {}", word.lower())))
            .collect::<Vec<_>>()
            .join(", "),
        };
        format!("{nodes}; next of {}: {words}", count(all, "set"))
    }
}

/// The place of an image: by release, then by date. A text that names neither comes last.
type Place = (bool, (bool, Option<OcpMinor>), ImageVersion);

fn place(version: &str) -> Place {
    let version = ImageVersion::parse(version);
    (!version.is_known(), by_release(&version), version)
}

/// The images in use, oldest first, and the unknown ones last.
fn in_use(audit: &BootImageAudit) -> Vec<Bar> {
    let mut known: BTreeMap<Place, Bar> = BTreeMap::new();
    let mut unknown = Bar {
        label: "image not known".to_owned(),
        ..Bar::default()
    };
    let mut add = |version: Option<&String>, more: Bar| match version {
        Some(version) => known.entry(place(version)).or_default().add(&more),
        None => unknown.add(&more),
    };
    for set in &audit.sets {
        let next = Bar {
            sets: BTreeMap::from([(Word::of(set), 1)]),
            ..Bar::default()
        };
        add(set.boot_image.as_ref().map(|image| &image.version), next);
    }
    for nodes in &audit.joined {
        let joined = Bar {
            nodes: nodes.count,
            ..Bar::default()
        };
        add(nodes.version.as_ref(), joined);
    }
    let mut bars: Vec<Bar> = known
        .into_iter()
        .map(|((.., version), bar)| Bar {
            label: version.text,
            ..bar
        })
        .collect();
    if bars.len() > MAX_BARS {
        let newer = bars.split_off(MAX_BARS - 1);
        let mut rest = Bar {
            label: count(newer.len(), "newer image"),
            ..Bar::default()
        };
        newer.iter().for_each(|bar| rest.add(bar));
        bars.push(rest);
    }
    if unknown.nodes > 0 || !unknown.sets.is_empty() {
        bars.push(unknown);
    }
    bars
}

/// The bars as the page shows them.
pub(super) fn bars(audit: &BootImageAudit) -> Vec<Value> {
    let bars = in_use(audit);
    let most = bars.iter().map(|bar| bar.nodes).max().unwrap_or_default();
    let shown = |bar: &Bar| {
        // A bar of one node is still seen beside one of 5,000.
        let width = match bar.nodes {
            0 => "0".to_owned(),
            nodes => format!("max({}%, 3px)", nodes * 100 / most.max(1)),
        };
        let worst = bar.sets.keys().next();
        let class = worst.map_or("other", |word| word.lower());
        json!({ "label": bar.label, "class": class, "width": width, "says": bar.says() })
    };
    bars.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 412 of January was built before 411 of August.
    #[test]
    fn the_oldest_is_of_the_oldest_release() {
        let wanted = [
            "411.86.202207010000-0",
            "411.86.202308081056-0",
            "412.86.202301311551-0",
            "9.6.20251015-1",
            "strange",
        ];
        let mut versions = wanted;
        versions.reverse();
        versions.sort_by_key(|version| place(version));
        assert_eq!(versions, wanted);
    }

    #[test]
    fn bars_that_share_a_line_count_each_verdict() {
        let bar = |word: Option<Word>| Bar {
            nodes: 2,
            sets: word.map(|word| (word, 1)).into_iter().collect(),
            ..Bar::default()
        };
        let mut both = bar(Some(Word::Allowed));
        both.add(&bar(None));
        assert_eq!(both.says(), "4 nodes; next of 1 set: allowed");
        both.add(&bar(Some(Word::Refused)));
        both.add(&bar(Some(Word::Unknown)));
        assert_eq!(
            both.says(),
            "8 nodes; next of 3 sets: 1 refused, 1 unknown, 1 allowed"
        );
    }
}
