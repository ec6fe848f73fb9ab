//! Requests of a machine-config-server's log, and the failures that are theirs (pure).
//!
//! A failure has no address, but for an answer that broke off. It is of one of the requests for its pool from
//! the time that such a failure takes. One alone failed for certain. Of several one is the most probable, and
//! each is doubtful, until as many failures as requests are of the same ones.

use super::server_line::{Failure, FailureKind, PeerAddress};
use super::server_log::{MAX_TEXT, Outcome, Request, ServerLogs};
use crate::moment::Moment;
use crate::text::printable_up_to;
use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

/// Seconds after a request in which its failure may be written.
const FAILURE_DELAY: u64 = 180;

/// Seconds in which a failure is written for which nobody waits.
const NOT_SLOW: u64 = 30;

/// Seconds after which an API server gives up, by which the failure finds its request.
const API_TIMEOUT: u64 = 60;

/// Requests whose failure may follow.
const MAX_PENDING: usize = 1_000;

/// A request whose failure may follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) at: Moment,
    pub(super) pool: usize,
    pub(super) accept: usize,
    pub(super) peer: Option<PeerAddress>,
    /// Its number in the log.
    number: usize,
    /// A failure may be its own, or another's.
    is_doubtful: bool,
    /// It was the most probable one for a failure.
    is_given: bool,
}

impl Pending {
    pub(super) fn new(at: Moment, pool: usize, accept: usize, peer: Option<PeerAddress>) -> Self {
        Self {
            at,
            pool,
            accept,
            peer,
            number: 0,
            is_doubtful: false,
            is_given: false,
        }
    }
}

/// Requests and failures that look for each other.
#[derive(Debug, Default)]
pub(super) struct Matching {
    pending: VecDeque<Pending>,
    /// Texts of Accept headers that the server refuses, whoever sends them.
    refused: BTreeSet<usize>,
    count: usize,
    /// The log's beginning, where that is not the server's, and the age of the log from which a failure
    /// may be of a request before it.
    begin: Option<(Moment, u64)>,
    /// The time of the last request for which there was no room.
    left_out: Option<Moment>,
    /// The numbers of the requests that the last failure of several may be of, and all failures of the same.
    shared: (Vec<usize>, Vec<Outcome>),
}

impl Matching {
    /// Notes that the log begins in the middle of a server's life. Where nothing of it was read before,
    /// a machine that asks in its first minute was made before it began.
    pub(super) fn begins(&mut self, at: Moment, is_continued: bool) {
        self.begin = Some((at, if is_continued { 0 } else { 60 }));
    }

    /// Adds a request; the oldest of too many goes.
    pub(super) fn push(&mut self, mut request: Pending) {
        request.number = self.count;
        self.count += 1;
        if self.pending.len() == MAX_PENDING {
            let oldest = self.pending.pop_front();
            self.left_out = self.left_out.max(oldest.map(|oldest| oldest.at));
        }
        self.pending.push_back(request);
    }

    /// Tells whether a failure may be of a request that is not there.
    fn is_open(&self, at: Moment) -> bool {
        let is_early =
            |(begin, from): (Moment, u64)| (from..=FAILURE_DELAY).contains(&at.since(begin));
        let is_late = |left_out: Moment| at.since(left_out) <= FAILURE_DELAY;
        self.begin.is_some_and(is_early) || self.left_out.is_some_and(is_late)
    }

    /// The places of the requests that a failure may be of: those of the time that it usually takes, or if
    /// there is none of any time.
    fn places(
        &mut self,
        at: Moment,
        usual: &RangeInclusive<u64>,
        is_of: &dyn Fn(&Pending) -> bool,
    ) -> Vec<usize> {
        let is_old = |request: &Pending| at.since(request.at) > FAILURE_DELAY;
        while self.pending.front().is_some_and(is_old) {
            self.pending.pop_front();
        }
        let within = |times: &RangeInclusive<u64>| -> Vec<usize> {
            let all = self.pending.iter().enumerate();
            let own = all.filter(|(_, one)| times.contains(&at.since(one.at)) && is_of(one));
            own.map(|(place, _)| place).collect()
        };
        let found = within(usual);
        match found.is_empty() {
            true => within(&(0..=FAILURE_DELAY)),
            false => found,
        }
    }

    /// The most probable of these places: the last, or where somebody waited the one whose time was up.
    fn probable(&self, places: &[usize], at: Moment, is_of_minute: bool) -> Option<usize> {
        let one = |place: &&usize| self.pending.get(**place);
        let is_free = |place: &&usize| one(place).is_some_and(|one| !one.is_given);
        let free: Vec<&usize> = places.iter().filter(is_free).collect();
        let all = if free.is_empty() {
            places.iter().collect()
        } else {
            free
        };
        let is_up = |place: &&usize| one(place).is_some_and(|one| at.since(one.at) == API_TIMEOUT);
        let chosen = match is_of_minute {
            true => all.iter().copied().find(is_up).or(all.first().copied()),
            false => all.last().copied(),
        };
        chosen.copied()
    }

    /// Notes a failure that each of these requests may have; `true` where as many failures are theirs.
    fn share(&mut self, places: &[usize], outcome: Outcome) -> bool {
        let numbers = places.iter().filter_map(|place| self.pending.get(*place));
        let numbers: Vec<usize> = numbers.map(|request| request.number).collect();
        if self.shared.0 != numbers {
            self.shared = (numbers, Vec::new());
        }
        self.shared.1.push(outcome);
        self.shared.0.len() == self.shared.1.len()
    }
}

impl ServerLogs {
    /// The request that is kept of this.
    fn kept(&mut self, request: &Pending) -> Option<&mut Request> {
        let PeerAddress { address, port } = request.peer?;
        let peer = self.peers.get_mut(&address)?;
        peer.requests.iter_mut().rev().find(|known| {
            known.at == request.at && known.pool == request.pool && known.port == port
        })
    }

    /// Says how a request went.
    fn settle(&mut self, request: &Pending, outcome: Outcome, is_doubtful: bool) {
        if let Some(kept) = self.kept(request) {
            kept.outcome = outcome;
            kept.is_doubtful = is_doubtful;
        }
    }

    /// Notes the failure of a request.
    pub(super) fn note_failure(
        &mut self,
        failure: &Failure<'_>,
        matching: &mut Matching,
        at: Moment,
    ) {
        let outcome = Outcome::Failed(failure.kind, self.keep(failure.error));
        if let Some(peer) = failure.peer {
            matching
                .pending
                .retain(|request| request.peer != Some(peer));
            self.break_off(peer, outcome, at);
            return;
        }
        let pool = failure.pool.map(|pool| self.keep(pool));
        let is_of_spec = failure.kind == FailureKind::Spec;
        let usual = usual(failure);
        let refused = std::mem::take(&mut matching.refused);
        let places = matching.places(at, &usual, &|request| match is_of_spec {
            true => self.is_refused(failure.error, request.accept),
            false => {
                pool.is_none_or(|pool| pool == request.pool) && !refused.contains(&request.accept)
            }
        });
        matching.refused = refused;
        let probable = matching.probable(&places, at, *usual.start() > 0);
        let Some(chosen) = probable.and_then(|place| matching.pending.get(place).copied()) else {
            return;
        };
        let is_refused = is_of_spec && !self.text(chosen.accept).is_empty();
        matching.refused.extend(is_refused.then_some(chosen.accept));
        // Whoever asks so fails: no doubt about whose it is.
        let is_of_all =
            is_refused || matches!(failure.kind, FailureKind::NoPool | FailureKind::Bootstrap);
        if is_of_all || places.len() == 1 && !matching.is_open(at) {
            self.settle(&chosen, outcome, false);
            matching.pending.retain(|one| one.number != chosen.number);
        } else {
            self.note_doubt(matching, &places, &chosen, (outcome, at));
        }
    }

    /// Notes a failure that several requests may have, or one that is not in the log.
    fn note_doubt(
        &mut self,
        matching: &mut Matching,
        places: &[usize],
        chosen: &Pending,
        (outcome, at): (Outcome, Moment),
    ) {
        self.settle(chosen, outcome, true);
        for place in places {
            if let Some(request) = matching.pending.get_mut(*place) {
                request.is_given |= request.number == chosen.number;
                if !std::mem::replace(&mut request.is_doubtful, true)
                    && let Some(kept) = self.kept(request)
                {
                    kept.is_doubtful = true;
                }
            }
        }
        if matching.is_open(at) || !matching.share(places, outcome) {
            return;
        }
        let (numbers, outcomes) = std::mem::take(&mut matching.shared);
        let is_one = outcomes.iter().all(|known| *known == outcome);
        matching.pending.retain(|request| {
            let is_own = numbers.binary_search(&request.number).is_ok();
            if is_own && is_one {
                self.settle(request, outcome, false);
            }
            !is_own
        });
    }

    /// Tells if a client of this Accept header is refused for it; a line of the oldest form has none.
    fn is_refused(&self, error: &str, accept: usize) -> bool {
        let accept = self.text(accept);
        accept.is_empty() || accept == printable_up_to(error, MAX_TEXT)
    }

    /// An answer that broke off, of this client.
    fn break_off(&mut self, peer: PeerAddress, outcome: Outcome, at: Moment) {
        let known = self.peers.get_mut(&peer.address);
        let requests = known
            .into_iter()
            .flat_map(|peer| peer.requests.iter_mut().rev());
        let mut own = requests.filter(|request| request.port == peer.port && request.at <= at);
        if let Some(request) = own.next() {
            request.outcome = outcome;
            request.is_doubtful = false;
        }
    }
}

/// Seconds after its request in which such a failure is usually written.
fn usual(failure: &Failure<'_>) -> RangeInclusive<u64> {
    match failure.kind {
        FailureKind::NoPool
        | FailureKind::Bootstrap
        | FailureKind::Conversion
        | FailureKind::Spec => 0..=NOT_SLOW,
        FailureKind::NoConfig if failure.error.contains("in the time allotted") => {
            API_TIMEOUT - 1..=API_TIMEOUT + 1
        }
        FailureKind::NoConfig if failure.error.ends_with(" not found") => 0..=NOT_SLOW,
        FailureKind::NoConfig | FailureKind::Write => 0..=FAILURE_DELAY,
    }
}
