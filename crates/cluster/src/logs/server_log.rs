//! The logs of the machine-config-server, of all its pods together (pure).
//!
//! A line names the address that asked, or the failure, never both, but for an answer that broke off: a
//! failure is that of a request for its pool that has none yet, of the last one, or of the one whose
//! time was up. Only times order the requests of several servers.

use super::log_lines::lines;
use super::matching::{Matching, Pending};
use super::server_line::{FailureKind, Line, PeerAddress, read, split};
use crate::moment::{Moment, year};
use crate::secrets::without_secrets;
use crate::text::printable_up_to;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::net::IpAddr;

/// At most this many addresses are kept.
const MAX_PEERS: usize = 50_000;

/// Requests that are kept of an address: the last ones, and fewer where many are kept in all.
const MAX_REQUESTS: usize = 64;
const FEW_REQUESTS: usize = 16;
const MANY_REQUESTS: usize = 500_000;

/// Times of requests that are kept of a pool: the last ones.
const MAX_TIMES: usize = 500_000;

/// Texts that are kept of pools, clients and errors.
const MAX_TEXTS: usize = 2_000;

/// The longest of these, in characters.
pub(super) const MAX_TEXT: usize = 300;

/// Lines of a server that are known again in another copy of its log.
const MAX_KNOWN: usize = 1_000_000;

/// Nodes that told of a failure.
const MAX_TOLD: usize = 10_000;

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was logged against it.
    Served,
    /// It failed, and the place of the error's text.
    Failed(FailureKind, usize),
}

/// A request for a config.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub at: Moment,
    /// The places of texts.
    pub pool: usize,
    pub agent: usize,
    pub(super) port: u16,
    /// Of Ignition; else the installer's, a health check's or a person's.
    pub is_ignition: bool,
    pub outcome: Outcome,
    /// Others asked for the same pool in the same seconds, so that the failure may be theirs.
    pub is_doubtful: bool,
}

/// An address that asked.
#[derive(Debug, Default)]
pub struct Peer {
    /// All of Ignition's, kept or not.
    pub count: usize,
    /// In the order of time.
    pub requests: Vec<Request>,
    /// The last handshake that the client ended because it does not trust the server, and the last that
    /// failed for another reason: when, and the places of the errors' texts.
    pub distrust: Option<(Moment, usize)>,
    pub broken: Option<(Moment, usize)>,
}

/// The log of one server.
#[derive(Debug, Default)]
pub struct Source {
    pub name: String,
    pub first: Option<Moment>,
    pub last: Option<Moment>,
    /// Only a part was read, and which.
    pub cut: Option<String>,
    /// It is the bootstrap machine's, which is not the cluster's.
    pub is_bootstrap: bool,
    /// Hashes of its lines: two gathers may have the same.
    known: HashSet<u64>,
}

/// All logs.
#[derive(Debug, Default)]
pub struct ServerLogs {
    pub sources: Vec<Source>,
    pub peers: BTreeMap<IpAddr, Peer>,
    /// When Ignition asked for each pool.
    times: BTreeMap<usize, Vec<Moment>>,
    texts: Vec<String>,
    places: BTreeMap<String, usize>,
    pub lines: usize,
    pub requests: usize,
    /// Requests whose address cannot be read.
    pub without_address: usize,
    /// The last of the lines that nobody knows, or that have no address.
    pub last_odd: Option<Moment>,
    /// What nodes told of their first boots: when at last, and what, by the node in lower case.
    pub told: BTreeMap<String, (Moment, String)>,
    /// Requests that are kept.
    kept_requests: usize,
    /// Lines that nobody knows, and the first of them.
    pub unknown: usize,
    pub unknown_sample: Option<String>,
    /// Addresses that are not kept.
    pub peers_left_out: usize,
}

impl ServerLogs {
    pub fn text(&self, place: usize) -> &str {
        self.texts.get(place).map_or("", String::as_str)
    }

    /// The place of a text; all that come after the last are one.
    pub(super) fn keep(&mut self, text: &str) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        if self.texts.len() == MAX_TEXTS {
            return MAX_TEXTS;
        }
        let place = self.texts.len();
        self.places.insert(text.to_owned(), place);
        let plain = without_secrets(text);
        self.texts.push(printable_up_to(&plain, MAX_TEXT));
        place
    }

    /// Adds the log of a server. `now` is a moment after the log's end, for years that lines do not
    /// have.
    ///
    /// # Errors
    /// It cannot be read to its end. What came before stays added.
    pub fn add(&mut self, name: &str, log: &mut dyn Read, now: Moment) -> std::io::Result<()> {
        // A rotated log and the present one are one server's, and so are two copies of one.
        let place = self.sources.iter().position(|known| known.name == name);
        let known = place.map(|place| self.sources.swap_remove(place));
        let known = known.unwrap_or_else(|| Source {
            name: name.to_owned(),
            ..Source::default()
        });
        let mut reading = Reading::new(self, known, now);
        let done = lines(log, &mut |line| reading.line(line));
        let source = reading.end();
        self.sources.push(source);
        done
    }

    /// Notes that only a part of a server's log was read.
    pub fn cut(&mut self, name: &str, what: String) {
        if let Some(source) = self.sources.iter_mut().find(|source| source.name == name) {
            source.cut = Some(what);
        }
    }

    /// Notes that a server's log has all since then.
    pub fn covers(&mut self, name: &str, since: Moment) {
        if let Some(source) = self.sources.iter_mut().find(|source| source.name == name) {
            source.first = Some(source.first.map_or(since, |first| first.min(since)));
        }
    }

    /// When the logs begin, as far as all of them go back.
    pub fn begin(&self) -> Option<Moment> {
        let sources = self.servers();
        let begins: Option<Vec<Moment>> = sources.map(|source| source.first).collect();
        begins?.into_iter().max()
    }

    /// The logs of the cluster's own servers.
    pub fn servers(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| !source.is_bootstrap)
    }

    /// The last line of all.
    pub fn end(&self) -> Option<Moment> {
        self.sources.iter().filter_map(|source| source.last).max()
    }

    /// The number of Ignition's requests for a pool since then, or for any.
    pub fn asked_since(&self, pool: Option<&str>, since: Moment) -> usize {
        self.times
            .iter()
            .filter(|(place, _)| pool.is_none_or(|pool| self.text(**place) == pool))
            .map(|(_, times)| times.iter().filter(|at| **at >= since).count())
            .sum()
    }

    /// The place of what was asked for, for a failure that may follow.
    fn pending(&mut self, asked: &Asked<'_>, at: Moment) -> Pending {
        let (pool, accept) = (self.keep(asked.pool), self.keep(asked.accept));
        Pending::new(at, pool, accept, asked.peer)
    }

    fn note_request(&mut self, asked: &Asked<'_>, request: &Pending) {
        self.requests += 1;
        let agent = self.keep(asked.agent);
        let (at, pool) = (request.at, request.pool);
        let is_ignition = is_ignition(asked.agent);
        if is_ignition {
            let times = self.times.entry(pool).or_default();
            if times.len() < MAX_TIMES {
                times.push(at);
            }
        }
        let Some(PeerAddress { address, port }) = request.peer else {
            self.without_address += 1;
            self.last_odd = self.last_odd.max(Some(at));
            return;
        };
        let most = if self.kept_requests < MANY_REQUESTS {
            MAX_REQUESTS
        } else {
            FEW_REQUESTS
        };
        let Some(peer) = self.peer(address) else {
            return;
        };
        peer.count += usize::from(is_ignition);
        // Those of another server may be later.
        let place = peer.requests.partition_point(|known| known.at <= at);
        let request = Request {
            at,
            pool,
            agent,
            port,
            is_ignition,
            outcome: Outcome::Served,
            is_doubtful: false,
        };
        peer.requests.insert(place, request);
        let before = peer.requests.len();
        if before > most {
            peer.requests.drain(..before - most);
        }
        let kept = peer.requests.len();
        self.kept_requests = (self.kept_requests + 1 + kept).saturating_sub(before);
    }

    fn peer(&mut self, address: IpAddr) -> Option<&mut Peer> {
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&address) {
            self.peers_left_out += 1;
            return None;
        }
        Some(self.peers.entry(address).or_default())
    }

    /// Notes what a node told of its first boot.
    fn note_told(&mut self, node: &str, what: &str, at: Moment) {
        let node = printable_up_to(node, 253)
            .trim_end_matches('.')
            .to_ascii_lowercase();
        if self.told.len() == MAX_TOLD && !self.told.contains_key(&node) {
            return;
        }
        let known = self.told.entry(node).or_insert((at, String::new()));
        if at >= known.0 {
            *known = (at, printable_up_to(what, MAX_TEXT));
        }
    }
}

/// Tells if a client is Ignition: health checks and people with curl ask, too. Before 4.5 the log
/// does not say.
fn is_ignition(agent: &str) -> bool {
    agent.is_empty() || agent.starts_with("Ignition/")
}

/// The parts of a request's line.
struct Asked<'a> {
    pool: &'a str,
    peer: Option<PeerAddress>,
    agent: &'a str,
    accept: &'a str,
}

/// A log that is read.
struct Reading<'a> {
    logs: &'a mut ServerLogs,
    source: Source,
    now: Moment,
    matching: Matching,
    /// Its last line has an end.
    is_ended: bool,
    /// Hashes of this log's own lines.
    own: Vec<u64>,
    /// The time of the line before.
    before: Option<Moment>,
}

impl<'a> Reading<'a> {
    fn new(logs: &'a mut ServerLogs, source: Source, now: Moment) -> Self {
        Self {
            logs,
            source,
            now,
            matching: Matching::default(),
            is_ended: true,
            own: Vec::new(),
            before: None,
        }
    }

    /// The source, which now knows the lines of this log.
    fn end(mut self) -> Source {
        self.source.known.extend(self.own);
        self.logs.doubt(self.matching);
        if !self.is_ended && self.source.cut.is_none() {
            self.source.cut =
                Some("its last line has no end: what came after is missing".to_owned());
        }
        self.source
    }

    fn line(&mut self, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let now = self.now;
        let (at, message) = split(line.trim_end(), &|month, day| year(now, month, day));
        if let Some(at) = at {
            let is_start = message.starts_with("Version: ") || message.starts_with("Launching ");
            if self.before.is_none() && !is_start {
                let is_continued = !self.source.known.is_empty();
                self.matching.begins(at, is_continued);
            }
            self.source.first = Some(self.source.first.map_or(at, |first| first.min(at)));
            self.source.last = self.source.last.max(Some(at));
            self.before = Some(at);
        }
        // A line without a time is as old as the last one, and may be as new as the log's end.
        let newest = at.unwrap_or(now);
        let at = self.before.unwrap_or(Moment(0));
        let is_whole = bytes.last() == Some(&b'\n');
        self.is_ended = is_whole;
        // Without the kubelet's stamp it is the same line.
        let mut hasher = DefaultHasher::new();
        (at.0, message).hash(&mut hasher);
        let hash = hasher.finish();
        let is_known = self.source.known.contains(&hash);
        if !is_known {
            self.logs.lines += 1;
            if self.source.known.len() + self.own.len() < MAX_KNOWN {
                self.own.push(hash);
            }
        }
        let line = read(message);
        self.source.is_bootstrap |= line.is_of_bootstrap();
        match line {
            // The last line of a log that was cut: how it went is not there.
            Line::Request { .. } if !is_whole => {}
            Line::Request {
                pool,
                peer,
                agent,
                accept,
            } => {
                let asked = Asked {
                    pool,
                    peer,
                    agent,
                    accept,
                };
                self.request(&asked, at, is_known);
            }
            Line::Failure(failure) => {
                self.logs.note_failure(&failure, &mut self.matching, at);
            }
            Line::Handshake { address, error } => self.handshake(address, error, at),
            Line::Told { node, what } => self.logs.note_told(node, what, at),
            Line::Unknown if !is_known => {
                self.logs.unknown += 1;
                self.logs.last_odd = self.logs.last_odd.max(Some(newest));
                if self.logs.unknown_sample.is_none() {
                    self.logs.unknown_sample = Some(printable_up_to(message, 100));
                }
            }
            Line::Start(_) | Line::Bootstrap | Line::Known | Line::Unknown => {}
        }
    }

    /// Notes a request; of one that is known only that its failure may follow.
    fn request(&mut self, asked: &Asked<'_>, at: Moment, is_known: bool) {
        let request = self.logs.pending(asked, at);
        if !is_known {
            self.logs.note_request(asked, &request);
        }
        self.matching.push(request);
    }

    /// Notes a handshake that failed.
    fn handshake(&mut self, address: Option<IpAddr>, error: &str, at: Moment) {
        let distrusts = [
            "bad certificate",
            "unknown certificate",
            "unknown authority",
            "certificate unknown",
            "expired certificate",
        ];
        // A net error begins with the two addresses.
        let is_of_net = error.starts_with("read tcp") || error.starts_with("write tcp");
        let net_error = error.rsplit(": ").next().filter(|_| is_of_net);
        let is_distrust = distrusts.iter().any(|alert| error.contains(alert));
        let text = self.logs.keep(net_error.unwrap_or(error));
        let Some(peer) = address.and_then(|address| self.logs.peer(address)) else {
            return;
        };
        let last = if is_distrust {
            &mut peer.distrust
        } else {
            &mut peer.broken
        };
        *last = (*last).max(Some((at, text)));
    }
}

#[cfg(test)]
#[path = "server_log_tests.rs"]
mod tests;
