//! The second line of a conclusion: from which release on sets would be refused (pure).

use super::audit_request::{AuditRequest, release_of};
use crate::audit::results::set::by_object;
use crate::audit::{AuditChanges, BootImageAudit, SetAudit};
use crate::version::Release;
use serde::Serialize;
use skewguard_cluster::names::count;
use std::collections::BTreeMap;

/// Refusals by later releases of the policy, in words, and the command that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Later {
    pub(super) sentence: String,
    pub(super) command: String,
}

impl Later {
    /// The whole as one line.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.sentence, self.command)
    }
}

/// A refusal: from which release on, and until which one.
type Refusal = (Release, Option<Release>);

/// Refusals of one set's rows.
type Refusals = Vec<Refusal>;

/// Sets that later releases would refuse, beside those that are refused already. Sets with an exception do
/// not count.
#[derive(Debug, Default)]
pub(super) struct LaterCounts {
    sets: Vec<Refusals>,
    clusters: usize,
    /// The audit of `--since` had others already.
    has_known: bool,
}

impl LaterCounts {
    /// Adds the sets of a cluster.
    pub(super) fn add(&mut self, audit: &BootImageAudit) {
        let before = self.sets.len();
        for rows in by_object(&audit.sets) {
            let is_refused = |set: &&SetAudit| set.would_be_refused() && !set.is_excepted();
            if rows.iter().any(is_refused) {
                continue;
            }
            let later = rows.iter().flat_map(|set| refusals(set)).count();
            let since = audit.since.as_ref();
            let news: Refusals = rows.iter().flat_map(|set| news(since, set)).collect();
            self.has_known |= later > news.len();
            self.sets.extend((!news.is_empty()).then_some(news));
        }
        self.clusters += usize::from(self.sets.len() > before);
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
        let is_refused =
            |(from, until): &Refusal| *from <= release && until.is_none_or(|until| until > release);
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
            let all = count(all, "cluster");
            format!(", in {} of {all}", self.clusters)
        });
        let first = self.releases().into_keys().next().map(Release::short);
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
                true => (format!("In {}", release.short()), number),
                false => (format!("From {} on", release.short()), number),
            }
        };
        let (begin, number) = words(releases.next()?);
        let is_more = refused > 0 || self.has_known;
        let more = if is_more { " more" } else { "" };
        let sets = count(sets, "set");
        let mut sentence = format!("{begin} {number}{more} of {sets} would be refused");
        for (begin, number) in releases.map(words) {
            sentence += &format!(", {} {number}", begin.to_lowercase());
        }
        Some(sentence)
    }
}

/// The refusals by later releases, of a set that counts.
fn refusals(set: &SetAudit) -> Refusals {
    let release = |text: &Option<String>| text.as_deref().and_then(release_of);
    let windows = set.refused_windows.iter().filter(|_| !set.is_excepted());
    windows
        .filter_map(|window| Some((release(&window.from)?, release(&window.until))))
        .collect()
}

/// The refusals by later releases, where an earlier audit that was named did not say so.
pub(super) fn news(since: Option<&AuditChanges>, set: &SetAudit) -> Refusals {
    let is_known = since.is_some_and(|since| since.known_later.contains(set.row_name()));
    match is_known {
        true => Vec::new(),
        false => refusals(set),
    }
}
