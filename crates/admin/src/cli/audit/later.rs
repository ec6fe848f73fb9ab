//! The second line of a conclusion: from which release on sets would be refused (pure).

use super::audit_request::{AuditRequest, release_of};
use super::word::count;
use crate::audit::results::AuditChanges;
use crate::audit::results::fleet::ClusterAudit;
use crate::audit::{BootImageAudit, SetAudit};
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

/// Refusals of one set's rows: from which release on, and until which one.
type Refusals = Vec<(Release, Option<Release>)>;

/// Sets that later releases would refuse, beside those that are refused already. Sets with an exception do
/// not count.
#[derive(Debug, Default)]
pub(super) struct LaterCounts {
    sets: Vec<Refusals>,
    clusters: usize,
    /// Others are known since the audit that was named.
    has_known: bool,
}

impl LaterCounts {
    pub(super) fn of(clusters: &[ClusterAudit]) -> Self {
        let mut counts = Self::default();
        for audit in clusters.iter().filter_map(|cluster| cluster.audit.as_ref()) {
            let mut sets: BTreeMap<_, Option<Refusals>> = BTreeMap::new();
            for set in &audit.sets {
                let refusals = sets.entry(set.object()).or_insert_with(|| Some(Vec::new()));
                match refusals {
                    _ if set.would_be_refused() && !set.is_excepted() => *refusals = None,
                    Some(refusals) if is_news(audit, set) => refusals.extend(refusal(set)),
                    _ => counts.has_known |= refusal(set).is_some(),
                }
            }
            let sets = sets.into_values().flatten();
            let before = counts.sets.len();
            counts
                .sets
                .extend(sets.filter(|refusals| !refusals.is_empty()));
            counts.clusters += usize::from(counts.sets.len() > before);
        }
        counts
    }

    /// The releases that would refuse sets, and those of them that end so.
    fn releases(&self) -> BTreeMap<Release, bool> {
        let mut releases = BTreeMap::new();
        for (from, until) in self.sets.iter().flatten() {
            let ends = releases.entry(*from).or_insert(true);
            *ends = *ends && until.is_some();
        }
        releases
    }

    /// Tells whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    fn refused_by(&self, release: Release) -> usize {
        let is_refused = |(from, until): &(Release, Option<Release>)| {
            *from <= release && until.is_none_or(|until| until > release)
        };
        let sets = self.sets.iter();
        sets.filter(|refusals| refusals.iter().any(is_refused))
            .count()
    }

    /// The line of a conclusion about so many sets, of which so many are refused already, in so many
    /// clusters where it is of several; with the command that asks about the first of the releases.
    pub(super) fn line_of(
        &self,
        sets: usize,
        refused: usize,
        clusters: Option<usize>,
        asked: &AuditRequest,
    ) -> Option<Later> {
        let sentence = self.sentence(sets, refused)?;
        let within = clusters.map_or_else(String::new, |all| {
            let all = count(all, "cluster", "clusters");
            format!(", in {} of {all}", self.clusters)
        });
        let first = self.releases().into_keys().next().map(short);
        Some(Later {
            sentence: sentence + &within,
            command: asked.command(first.as_deref()),
        })
    }

    /// `From 4.22 on 2 of 7 sets would be refused, from 4.23 on 3`; `more` where some are refused
    /// already.
    fn sentence(&self, sets: usize, refused: usize) -> Option<String> {
        let mut releases = self.releases().into_iter();
        let words = |(release, ends): (Release, bool)| {
            let number = self.refused_by(release);
            match ends {
                true => (format!("In {}", short(release)), number),
                false => (format!("From {} on", short(release)), number),
            }
        };
        let (begin, number) = words(releases.next()?);
        let is_more = refused > 0 || self.has_known;
        let more = if is_more { " more" } else { "" };
        let sets = count(sets, "set", "sets");
        let mut sentence = format!("{begin} {number}{more} of {sets} would be refused");
        for (begin, number) in releases.map(words) {
            sentence += &format!(", {} {number}", begin.to_lowercase());
        }
        Some(sentence)
    }
}

/// The refusal by a later release, of a set that counts.
fn refusal(set: &SetAudit) -> Option<(Release, Option<Release>)> {
    let release = |text: &Option<String>| text.as_deref().and_then(release_of);
    let from = release(&set.refused_from).filter(|_| !set.is_excepted())?;
    Some((from, release(&set.refused_until)))
}

/// Tells whether a later release would refuse the set, and the earlier audit did not say so.
pub(super) fn is_new(since: &AuditChanges, set: &SetAudit) -> bool {
    refusal(set).is_some() && !since.known_later.contains(set.row_name())
}

/// Tells whether an earlier audit, where one was named, did not say so.
fn is_news(audit: &BootImageAudit, set: &SetAudit) -> bool {
    let since = audit.since.as_ref();
    since.is_none_or(|since| !since.known_later.contains(set.row_name()))
}

/// `4.22` for 4.22.0.
fn short(release: Release) -> String {
    match release.patch {
        0 => release.minor.to_string(),
        _ => release.to_string(),
    }
}
