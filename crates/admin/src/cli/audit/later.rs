//! The second line of a conclusion: from which release on sets would be refused (pure).

use super::conclusion::count;
use super::next::release_of;
use crate::audit::SetAudit;
use crate::audit::results::fleet::ClusterAudit;
use crate::version::Release;
use std::collections::BTreeMap;

/// What later releases of the policy would refuse, in words, and the command that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Later {
    pub(super) sentence: String,
    pub(super) command: String,
}

impl Later {
    /// As one line.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.sentence, self.command)
    }
}

/// Numbers of sets that later releases would refuse. Sets with an exception do not count.
#[derive(Debug, Default)]
pub(super) struct LaterCounts {
    /// By the release that would refuse them first: the one that allows them again, of each.
    sets: BTreeMap<Release, Vec<Option<Release>>>,
    pub(super) clusters: usize,
}

impl LaterCounts {
    pub(super) fn of(clusters: &[ClusterAudit]) -> Self {
        let mut counts = Self::default();
        for cluster in clusters {
            let sets = cluster.audit.iter().flat_map(|audit| &audit.sets);
            let mut later = sets.filter(|set| is_refused_later(set)).peekable();
            counts.clusters += usize::from(later.peek().is_some());
            for set in later {
                let [from, until] = [&set.refused_from, &set.refused_until]
                    .map(|release| release.as_deref().and_then(release_of));
                if let Some(from) = from {
                    counts.sets.entry(from).or_default().push(until);
                }
            }
        }
        counts
    }

    /// The first of these releases.
    pub(super) fn first(&self) -> Option<String> {
        self.sets.keys().next().map(|release| short(*release))
    }

    /// Each of these releases with the number of sets that it refuses.
    fn numbers(&self) -> Vec<(Release, usize)> {
        let refused_by = |release: Release| {
            let before = self.sets.range(..=release).flat_map(|(_, untils)| untils);
            before.filter(move |until| until.is_none_or(|until| until > release))
        };
        let releases = self.sets.keys();
        releases
            .map(|release| (*release, refused_by(*release).count()))
            .collect()
    }

    /// `From 4.22 on 2 of 7 sets would be refused, from 4.23 on 3`; `more` where some are refused
    /// already.
    pub(super) fn sentence(&self, sets: usize, refused: usize) -> Option<String> {
        let mut numbers = self.numbers().into_iter();
        let (release, number) = numbers.next()?;
        let ends = |release: &Release| {
            let untils = self.sets.get(release).into_iter().flatten();
            untils.clone().all(Option::is_some)
        };
        let begin = match ends(&release) {
            true => format!("In {}", short(release)),
            false => format!("From {} on", short(release)),
        };
        let more = if refused > 0 { " more" } else { "" };
        let mut sentence = format!(
            "{begin} {number}{more} of {} would be refused",
            count(sets, "set", "sets")
        );
        for (release, number) in numbers {
            sentence += &match ends(&release) {
                true => format!(", in {} {number}", short(release)),
                false => format!(", from {} on {number}", short(release)),
            };
        }
        Some(sentence)
    }
}

/// `4.22` for 4.22.0.
fn short(release: Release) -> String {
    match release.patch {
        0 => release.minor.to_string(),
        _ => release.to_string(),
    }
}

/// Tells whether a later release would refuse a set that counts.
fn is_refused_later(set: &SetAudit) -> bool {
    set.refused_from.is_some() && !set.is_excepted()
}
