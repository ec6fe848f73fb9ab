//! Requests of a machine-config-server's log, and the failures that are theirs (pure).
//!
//! A failure has no address, but for an answer that broke off. It is of a request for its pool that has
//! none yet: of the last one, or where somebody waited for it of the one whose time was up. Where all
//! requests that it may be of failed, there is no doubt.

use super::server_line::{Failure, FailureKind, PeerAddress};
use super::server_log::{MAX_TEXT, Outcome, Request, ServerLogs};
use crate::moment::Moment;
use crate::text::printable_up_to;
use std::collections::VecDeque;

/// Seconds after a request in which its failure may be written.
const FAILURE_DELAY: u64 = 180;

/// Seconds in which a failure is written for which nobody waits.
const QUICK: u64 = 5;

/// Seconds after which an API server gives up, by which the failure finds its request.
const API_TIMEOUT: u64 = 60;

/// Requests whose failure may follow.
const MAX_PENDING: usize = 2_000;

/// Failures whose request is not sure, and the others that each may be of.
const MAX_DOUBTS: usize = 100_000;
const MAX_OTHERS: usize = 8;

/// A request whose failure may follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) at: Moment,
    pub(super) pool: usize,
    pub(super) accept: usize,
    pub(super) peer: Option<PeerAddress>,
}

/// Requests and failures that look for each other.
#[derive(Debug, Default)]
pub(super) struct Matching {
    pending: VecDeque<Pending>,
    /// Failures, and the other requests that each may be of.
    doubts: Vec<(Pending, Vec<Pending>)>,
}

impl Matching {
    /// Adds a request; the oldest of too many goes.
    pub(super) fn push(&mut self, request: Pending) {
        if self.pending.len() == MAX_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back(request);
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

    /// Notes the failure of a request.
    pub(super) fn note_failure(
        &mut self,
        failure: &Failure<'_>,
        matching: &mut Matching,
        at: Moment,
    ) {
        let error = self.keep(failure.error);
        let outcome = Outcome::Failed(failure.kind, error);
        if let Some(peer) = failure.peer {
            matching
                .pending
                .retain(|request| request.peer != Some(peer));
            self.break_off(peer, outcome, at);
            return;
        }
        let pending = &mut matching.pending;
        while pending
            .front()
            .is_some_and(|request| at.since(request.at) > FAILURE_DELAY)
        {
            pending.pop_front();
        }
        let is_of = |request: &Pending| match failure.kind {
            FailureKind::Spec => {
                self.text(request.accept) == printable_up_to(failure.error, MAX_TEXT)
            }
            FailureKind::NoPool
            | FailureKind::Bootstrap
            | FailureKind::NoConfig
            | FailureKind::Conversion
            | FailureKind::Write => failure
                .pool
                .is_none_or(|pool| self.text(request.pool) == pool),
        };
        let candidates = candidates(pending, &is_of, is_slow(failure.error), at);
        let Some((place, others)) = candidates.split_first() else {
            return;
        };
        let others: Vec<Pending> = others
            .iter()
            .filter_map(|place| pending.get(*place).copied())
            .collect();
        let Some(chosen) = pending.remove(*place) else {
            return;
        };
        // Whoever asks for a pool that is not there fails: no doubt about whose it is.
        let is_sure = matches!(failure.kind, FailureKind::NoPool | FailureKind::Bootstrap);
        let address = |request: &Pending| request.peer.map(|peer| peer.address);
        let others: Vec<Pending> = others
            .into_iter()
            .filter(|other| !is_sure && address(other) != address(&chosen))
            .collect();
        let is_too_many = others.len() > MAX_OTHERS || matching.doubts.len() == MAX_DOUBTS;
        if let Some(kept) = self.kept(&chosen) {
            kept.outcome = outcome;
            kept.is_doubtful = is_too_many;
        }
        if !others.is_empty() && !is_too_many {
            matching.doubts.push((chosen, others));
        }
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

    /// Marks the failures that may be of another request, which then has none, and those others.
    pub(super) fn doubt(&mut self, matching: Matching) {
        for (chosen, others) in matching.doubts {
            let mut is_doubtful = false;
            for other in &others {
                if let Some(other) = self.kept(other)
                    && other.outcome == Outcome::Served
                {
                    other.is_doubtful = true;
                    is_doubtful = true;
                }
            }
            if is_doubtful && let Some(kept) = self.kept(&chosen) {
                kept.is_doubtful = true;
            }
        }
    }
}

/// The places of the requests that a failure may be of, the most probable one first.
fn candidates(
    pending: &VecDeque<Pending>,
    is_of: &dyn Fn(&Pending) -> bool,
    is_slow: bool,
    at: Moment,
) -> Vec<usize> {
    let of = |from: u64, to: u64| -> Vec<usize> {
        let all = pending.iter().enumerate().rev();
        let within = all.filter(|(_, request)| {
            let age = at.since(request.at);
            (from..=to).contains(&age) && is_of(request)
        });
        within.map(|(place, _)| place).collect()
    };
    let first = if is_slow {
        // Of those whose time was up it is the one that waits longest.
        of(API_TIMEOUT - 1, API_TIMEOUT + 1)
            .into_iter()
            .rev()
            .collect()
    } else {
        of(0, QUICK)
    };
    if first.is_empty() {
        of(0, FAILURE_DELAY)
    } else {
        first
    }
}

/// Tells if somebody waited for this failure.
fn is_slow(error: &str) -> bool {
    let signs = [
        "in the time allotted",
        "timed out",
        "deadline exceeded",
        "Timeout",
    ];
    signs.iter().any(|sign| error.contains(sign))
}
