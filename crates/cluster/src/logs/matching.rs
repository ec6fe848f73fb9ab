//! Requests of a machine-config-server's log, and the failures that are theirs (pure).
//!
//! A failure has no address, but for an answer that broke off. It is of a request for its pool that has
//! none yet: of the last one, or where somebody waited for it of the one whose time was up. There is no
//! doubt about a request that failed whichever failure is whose ([`surely_failed`]).

use super::failed::{Span, surely_failed};
use super::server_line::{Failure, FailureKind, PeerAddress};
use super::server_log::{MAX_TEXT, Outcome, Request, ServerLogs};
use crate::moment::Moment;
use crate::text::printable_up_to;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Seconds after a request in which its failure may be written.
const FAILURE_DELAY: u64 = 180;

/// Seconds in which a failure is written for which nobody waits: most of them, and all.
const QUICK: u64 = 5;
const NOT_SLOW: u64 = 30;

/// Seconds after which an API server gives up, by which the failure finds its request.
const API_TIMEOUT: u64 = 60;

/// Requests whose failure may follow.
const MAX_PENDING: usize = 2_000;

/// Requests and failures that are shared out together.
const MAX_GROUP: usize = 20_000;

/// Failures that are looked at to tell why requests of a group failed.
const MAX_STEPS: usize = 5_000_000;

/// A request whose failure may follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) at: Moment,
    pub(super) pool: usize,
    pub(super) accept: usize,
    pub(super) peer: Option<PeerAddress>,
    /// Its number in the log.
    number: usize,
}

impl Pending {
    pub(super) fn new(at: Moment, pool: usize, accept: usize, peer: Option<PeerAddress>) -> Self {
        Self {
            at,
            pool,
            accept,
            peer,
            number: 0,
        }
    }
}

/// A failure that does not name its request.
#[derive(Debug)]
struct Loose {
    at: Moment,
    /// The last request before it.
    after: usize,
    /// Seconds after its request.
    delay: Delay,
    what: (FailureKind, usize),
    /// The address of the request that it was given to.
    given: Option<PeerAddress>,
    /// It may be of a request before the log's beginning, or of another pool.
    is_open: bool,
}

/// How long after a request its failure is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delay {
    /// Nobody waits for anything.
    Short,
    /// The API server's own time.
    Minute,
    Any,
}

/// Requests for a pool, and the failures that may be of them, in the order of the log.
#[derive(Debug, Default)]
struct Group {
    requests: VecDeque<Pending>,
    failures: Vec<Loose>,
}

/// Requests and failures that look for each other.
#[derive(Debug, Default)]
pub(super) struct Matching {
    pending: VecDeque<Pending>,
    groups: BTreeMap<usize, Group>,
    /// Requests whose failure is known: by its address, or because all such requests fail.
    known: BTreeSet<usize>,
    /// Texts of Accept headers that the server refuses, whoever sends them.
    refused: BTreeSet<usize>,
    count: usize,
    /// The log's beginning, where that is not the server's, and the age of the log from which a failure
    /// may be of a request before it.
    begin: Option<(Moment, u64)>,
    /// Requests that may have failed or not.
    doubts: Vec<Pending>,
}

impl Matching {
    /// Notes that the log begins in the middle of a server's life. Where nothing of it was read before,
    /// a machine that asks in its first minute was made before it began.
    pub(super) fn begins(&mut self, at: Moment, is_continued: bool) {
        self.begin = Some((at, if is_continued { 0 } else { 60 }));
    }

    /// Ends the requests of this connection: what comes without a name is none of theirs.
    fn end(&mut self, peer: PeerAddress) {
        let own = |request: &Pending| request.peer == Some(peer);
        self.pending.retain(|request| !own(request));
        let all = self.groups.values().flat_map(|group| &group.requests);
        let found = all.filter(|request| own(request));
        self.known.extend(found.map(|request| request.number).max());
    }

    /// Adds a request; the oldest of too many goes.
    pub(super) fn push(&mut self, mut request: Pending) {
        request.number = self.count;
        self.count += 1;
        if self.pending.len() == MAX_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back(request);
        let group = self.groups.entry(request.pool).or_default();
        let is_over = |last: &Loose| request.at.since(last.at) > FAILURE_DELAY;
        let is_full = group.requests.len() + group.failures.len() >= MAX_GROUP;
        if group.failures.last().is_some_and(is_over) || is_full {
            let found = group.doubtful(&self.known, &self.refused);
            self.doubts.extend(found);
            group.failures.clear();
        }
        if group.failures.is_empty() {
            let is_old = |old: &Pending| request.at.since(old.at) > FAILURE_DELAY;
            while group.requests.front().is_some_and(is_old) {
                group.requests.pop_front();
            }
            if group.requests.len() >= MAX_GROUP {
                group.requests.clear();
                self.begin = Some((request.at, 0));
            }
        }
        group.requests.push_back(request);
    }

    /// Adds a failure to the groups that it may be of.
    fn add(&mut self, of_pool: &dyn Fn(usize) -> bool, made: &dyn Fn(bool) -> Loose) {
        let groups = self.groups.iter_mut().filter(|(pool, _)| of_pool(**pool));
        let mut groups: Vec<&mut Group> = groups.map(|(_, group)| group).collect();
        let is_open = groups.len() > 1;
        for group in &mut groups {
            group.failures.push(made(is_open));
        }
    }

    fn is_early(&self, at: Moment) -> bool {
        self.begin
            .is_some_and(|(begin, from)| (from..=FAILURE_DELAY).contains(&at.since(begin)))
    }
}

impl Group {
    /// The requests that failed in one way to give failures their requests, and not in another.
    fn doubtful(&self, known: &BTreeSet<usize>, refused: &BTreeSet<usize>) -> Vec<Pending> {
        let is_loose = |request: &&Pending| {
            !known.contains(&request.number) && !refused.contains(&request.accept)
        };
        let requests: Vec<&Pending> = self.requests.iter().filter(is_loose).collect();
        let spans: Vec<(Span, &Loose)> = (self.failures.iter())
            .map(|failure| (failure.span(&requests), failure))
            .collect();
        let fixed = spans.iter().filter(|(_, failure)| !failure.is_open);
        let fixed: Vec<Span> = fixed.map(|(span, _)| *span).collect();
        let is_failed = surely_failed(requests.len(), &fixed);
        let one = self.failures.first().map(|failure| failure.what);
        let is_one = (self.failures.iter()).all(|failure| Some(failure.what) == one);
        let mut steps = 0;
        let mut is_doubtful = |place: usize, request: &Pending, is_failed: bool| {
            if is_failed && is_one {
                return false;
            }
            if steps > MAX_STEPS {
                return true;
            }
            steps += spans.len();
            let mut own = spans.iter().filter(|(span, _)| span.has(place));
            if !is_failed {
                return own.next().is_some();
            }
            // It failed, and with which of these errors is another's, too.
            let own: Vec<(Span, &Loose)> = own.copied().collect();
            if own.iter().any(|(span, _)| span.is_of_one()) {
                return false;
            }
            let address = |peer: Option<PeerAddress>| peer.map(|peer| peer.address);
            let first = own.first().map(|(_, failure)| failure.what);
            let is_strange = |given| address(given) != address(request.peer);
            own.iter().any(|(_, failure)| Some(failure.what) != first)
                && own.iter().any(|(_, failure)| is_strange(failure.given))
        };
        let all = requests.iter().zip(is_failed).enumerate();
        let doubtful =
            all.filter(|(place, (request, is_failed))| is_doubtful(*place, request, *is_failed));
        doubtful.map(|(_, (request, _))| **request).collect()
    }
}

impl Loose {
    /// The requests that it may be of: those of the time that such a failure takes, or if there is none
    /// of any time.
    fn span(&self, requests: &[&Pending]) -> Span {
        let end = requests.partition_point(|request| request.number < self.after);
        let span = |from: u64, to: u64| Span {
            from: requests
                .partition_point(|request| self.at.since(request.at) > to)
                .min(end),
            to: requests
                .partition_point(|request| self.at.since(request.at) >= from)
                .min(end),
        };
        let usual = match self.delay {
            Delay::Short => span(0, NOT_SLOW),
            Delay::Minute => span(API_TIMEOUT - 1, API_TIMEOUT + 1),
            Delay::Any => span(0, FAILURE_DELAY),
        };
        if usual.from < usual.to {
            usual
        } else {
            span(0, FAILURE_DELAY)
        }
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
        let what = (failure.kind, error);
        let outcome = Outcome::Failed(failure.kind, error);
        if let Some(peer) = failure.peer {
            matching.end(peer);
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
        let is_of_pool = |pool: usize| failure.pool.is_none_or(|name| self.text(pool) == name);
        let is_of = |request: &Pending| match failure.kind {
            FailureKind::Spec => self.is_refused(failure.error, request.accept),
            FailureKind::NoPool
            | FailureKind::Bootstrap
            | FailureKind::NoConfig
            | FailureKind::Conversion
            | FailureKind::Write => is_of_pool(request.pool),
        };
        let delay = delay(failure);
        let place = candidate(pending, &is_of, delay, at);
        let chosen = place.and_then(|place| pending.remove(place));
        let refused = (failure.kind == FailureKind::Spec)
            .then_some(chosen)
            .flatten();
        if let Some(refused) = refused.filter(|refused| !self.text(refused.accept).is_empty()) {
            matching.refused.insert(refused.accept);
        } else {
            let (after, is_early) = (matching.count, matching.is_early(at));
            let given = chosen.and_then(|chosen| chosen.peer);
            matching.add(&is_of_pool, &|is_open| Loose {
                at,
                after,
                delay,
                what,
                given,
                is_open: is_open || is_early,
            });
        }
        // Whoever asks for a pool that is not there fails: no doubt about whose it is.
        if matches!(failure.kind, FailureKind::NoPool | FailureKind::Bootstrap) {
            matching.known.extend(chosen.map(|chosen| chosen.number));
        }
        if let Some(kept) = chosen.and_then(|chosen| self.kept(&chosen)) {
            kept.outcome = outcome;
            kept.is_doubtful = false;
        }
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

    /// Marks the requests that may have failed or not.
    pub(super) fn doubt(&mut self, matching: Matching) {
        let groups = matching.groups.values();
        let last = groups.flat_map(|group| group.doubtful(&matching.known, &matching.refused));
        for request in matching.doubts.iter().copied().chain(last) {
            if let Some(kept) = self.kept(&request) {
                kept.is_doubtful = true;
            }
        }
    }
}

/// The place of the request that a failure is most probably of.
fn candidate(
    pending: &VecDeque<Pending>,
    is_of: &dyn Fn(&Pending) -> bool,
    delay: Delay,
    at: Moment,
) -> Option<usize> {
    let is_within = |from: u64, to: u64| {
        move |(_, request): &(usize, &Pending)| {
            (from..=to).contains(&at.since(request.at)) && is_of(request)
        }
    };
    let mut all = pending.iter().enumerate();
    let usual = match delay {
        // Of those whose time was up it is the one that waits longest, to the second.
        Delay::Minute => (all.clone().find(is_within(API_TIMEOUT, API_TIMEOUT)))
            .or_else(|| all.find(is_within(API_TIMEOUT - 1, API_TIMEOUT + 1))),
        Delay::Short | Delay::Any => all.rfind(is_within(0, QUICK)),
    };
    let usual = usual.or_else(|| {
        let mut all = pending.iter().enumerate();
        all.rfind(is_within(0, FAILURE_DELAY))
    });
    usual.map(|(place, _)| place)
}

/// How long after its request such a failure is written.
fn delay(failure: &Failure<'_>) -> Delay {
    match failure.kind {
        FailureKind::NoPool
        | FailureKind::Bootstrap
        | FailureKind::Conversion
        | FailureKind::Spec => Delay::Short,
        FailureKind::NoConfig if failure.error.contains("in the time allotted") => Delay::Minute,
        FailureKind::NoConfig if failure.error.ends_with(" not found") => Delay::Short,
        FailureKind::NoConfig | FailureKind::Write => Delay::Any,
    }
}
