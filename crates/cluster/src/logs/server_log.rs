//! The logs of the machine-config-server, of all its pods together (pure).
//!
//! A line names the address that asked, or the failure, never both: a failure is that of the last
//! request for its pool that has none yet.

use super::log_lines::lines;
use super::server_line::{Failure, FailureKind, Line, read, split};
use crate::moment::{Moment, year};
use crate::text::printable_up_to;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::net::IpAddr;

/// At most this many addresses are kept.
const MAX_PEERS: usize = 50_000;

/// Requests that are kept of an address: the last ones.
const MAX_REQUESTS: usize = 16;

/// Times of requests that are kept of a pool: the last ones.
const MAX_TIMES: usize = 500_000;

/// Texts that are kept of pools, clients and errors.
const MAX_TEXTS: usize = 2_000;

/// The longest of these, in characters.
const MAX_TEXT: usize = 300;

/// Lines of a server that are known again in another copy of its log.
const MAX_KNOWN: usize = 1_000_000;

/// Seconds after a request in which its failure may be written.
const FAILURE_DELAY: u64 = 5;

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
    pub outcome: Outcome,
    /// Others asked for the same pool in the same seconds, so that the failure may be theirs.
    pub is_doubtful: bool,
}

/// An address that asked.
#[derive(Debug, Default)]
pub struct Peer {
    /// All of it, kept or not.
    pub count: usize,
    pub requests: Vec<Request>,
    /// The last handshake that the client ended because it does not trust the server.
    pub distrust: Option<Moment>,
}

/// The log of one server.
#[derive(Debug, Default)]
pub struct Source {
    pub name: String,
    pub first: Option<Moment>,
    pub last: Option<Moment>,
    /// Only a part was read, and which.
    pub cut: Option<String>,
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
    fn keep(&mut self, text: &str) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        if self.texts.len() == MAX_TEXTS {
            return MAX_TEXTS;
        }
        let place = self.texts.len();
        self.places.insert(text.to_owned(), place);
        self.texts.push(printable_up_to(text, MAX_TEXT));
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
        let begins: Option<Vec<Moment>> = self.sources.iter().map(|source| source.first).collect();
        begins?.into_iter().max()
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
        Pending {
            at,
            pool: self.keep(asked.pool),
            accept: self.keep(asked.accept),
            address: asked.address.filter(|_| is_ignition(asked.agent)),
        }
    }

    fn note_request(&mut self, asked: &Asked<'_>, request: &Pending) {
        self.requests += 1;
        let agent = self.keep(asked.agent);
        let (at, pool) = (request.at, request.pool);
        if is_ignition(asked.agent) {
            let times = self.times.entry(pool).or_default();
            if times.len() < MAX_TIMES {
                times.push(at);
            }
        }
        self.without_address += usize::from(asked.address.is_none());
        if let Some(peer) = request.address.and_then(|address| self.peer(address)) {
            peer.count += 1;
            if peer.requests.len() == MAX_REQUESTS {
                peer.requests.remove(0);
            }
            peer.requests.push(Request {
                at,
                pool,
                agent,
                outcome: Outcome::Served,
                is_doubtful: false,
            });
        }
    }

    fn peer(&mut self, address: IpAddr) -> Option<&mut Peer> {
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&address) {
            self.peers_left_out += 1;
            return None;
        }
        Some(self.peers.entry(address).or_default())
    }

    /// The failure of a request.
    fn note_failure(&mut self, failure: &Failure<'_>, pending: &mut Vec<Pending>, at: Moment) {
        pending.retain(|request| at.since(request.at) <= FAILURE_DELAY);
        let is_of = |request: &Pending| match failure.kind {
            FailureKind::Spec => {
                self.text(request.accept) == printable_up_to(failure.error, MAX_TEXT)
            }
            _ => failure
                .pool
                .is_none_or(|pool| self.text(request.pool) == pool),
        };
        let candidates = pending.iter().filter(|request| is_of(request)).count();
        let Some(place) = pending.iter().rposition(is_of) else {
            return;
        };
        let request = pending.remove(place);
        let error = self.keep(failure.error);
        // Whoever asks for a pool that is not there fails: no doubt about whose it is.
        let is_sure = candidates == 1 || failure.kind == FailureKind::NoPool;
        let Some(peer) = request.address.and_then(|peer| self.peers.get_mut(&peer)) else {
            return;
        };
        let last = peer
            .requests
            .iter_mut()
            .rev()
            .find(|known| known.at == request.at && known.pool == request.pool);
        if let Some(last) = last {
            last.outcome = Outcome::Failed(failure.kind, error);
            last.is_doubtful = !is_sure;
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
    address: Option<IpAddr>,
    agent: &'a str,
    accept: &'a str,
}

/// A request whose failure may follow.
struct Pending {
    at: Moment,
    pool: usize,
    accept: usize,
    address: Option<IpAddr>,
}

/// A log that is read.
struct Reading<'a> {
    logs: &'a mut ServerLogs,
    source: Source,
    now: Moment,
    pending: Vec<Pending>,
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
            pending: Vec::new(),
            own: Vec::new(),
            before: None,
        }
    }

    /// The source, which now knows the lines of this log.
    fn end(mut self) -> Source {
        self.source.known.extend(self.own);
        self.source
    }

    fn line(&mut self, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let now = self.now;
        let (at, message) = split(line.trim_end(), &|month, day| year(now, month, day));
        if let Some(at) = at {
            self.source.first = Some(self.source.first.map_or(at, |first| first.min(at)));
            self.source.last = self.source.last.max(Some(at));
            self.before = Some(at);
        }
        // A line without a time is as old as the last one.
        let at = self.before.unwrap_or(Moment(0));
        let is_whole = bytes.last() == Some(&b'\n');
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
        match read(message) {
            // The last line of a log that was cut: how it went is not there.
            Line::Request { .. } if !is_whole => {}
            Line::Request {
                pool,
                address,
                agent,
                accept,
            } => {
                let asked = Asked {
                    pool,
                    address,
                    agent,
                    accept,
                };
                self.request(&asked, at, is_known);
            }
            Line::Failure(failure) => {
                self.logs.note_failure(&failure, &mut self.pending, at);
            }
            Line::Handshake { address, error } => self.handshake(address, error, at),
            Line::Unknown if !is_known => {
                self.logs.unknown += 1;
                if self.logs.unknown_sample.is_none() {
                    self.logs.unknown_sample = Some(printable_up_to(message, 100));
                }
            }
            Line::Start(_) | Line::Known | Line::Unknown => {}
        }
    }

    /// Notes a request; of one that is known only that its failure may follow.
    fn request(&mut self, asked: &Asked<'_>, at: Moment, is_known: bool) {
        let request = self.logs.pending(asked, at);
        if !is_known {
            self.logs.note_request(asked, &request);
        }
        if self.pending.len() == 64 {
            self.pending.remove(0);
        }
        self.pending.push(request);
    }

    /// Notes a client that does not trust the server.
    fn handshake(&mut self, address: Option<IpAddr>, error: &str, at: Moment) {
        let distrusts = [
            "bad certificate",
            "unknown certificate authority",
            "unknown authority",
            "certificate unknown",
        ];
        if distrusts.iter().any(|alert| error.contains(alert))
            && let Some(peer) = address.and_then(|address| self.logs.peer(address))
        {
            peer.distrust = peer.distrust.max(Some(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-08-20T12:00:00Z";

    fn logs(texts: &[(&str, &str)]) -> ServerLogs {
        let mut logs = ServerLogs::default();
        for (name, text) in texts {
            let mut bytes = text.as_bytes();
            logs.add(name, &mut bytes, Moment::parse(NOW).unwrap())
                .unwrap();
        }
        logs
    }

    fn ask(time: &str, pool: &str, address: &str) -> String {
        format!(
            "I0820 {time}.000000       1 api.go:119] Pool \"{pool}\" requested by address:\"{address}:40312\" User-Agent:\"Ignition/2.14.0\" Accept-Header: \"application/vnd.coreos.ignition+json;version=3.3.0, */*;q=0.1\"\n"
        )
    }

    const NOT_FOUND: &str = "E0820 10:00:01.000000       1 api.go:136] couldn't get config for req: {machineConfigPool:gpu version:0xc0}, error: could not fetch pool. err: x \"gpu\" not found\n";

    #[test]
    fn a_failure_is_that_of_the_request_before_it() {
        let text = ask("10:00:00", "worker", "10.0.0.1")
            + &ask("10:00:01", "gpu", "10.0.0.2")
            + NOT_FOUND
            + &ask("10:00:02", "worker", "10.0.0.3");
        let logs = logs(&[("mcs-1", &text)]);
        let outcome = |address: &str| {
            let peer = &logs.peers[&address.parse::<IpAddr>().unwrap()];
            (peer.count, peer.requests[0].outcome)
        };
        assert_eq!(outcome("10.0.0.1"), (1, Outcome::Served));
        assert_eq!(outcome("10.0.0.3"), (1, Outcome::Served));
        let (_, Outcome::Failed(FailureKind::NoPool, text)) = outcome("10.0.0.2") else {
            panic!("{logs:?}");
        };
        assert_eq!(
            logs.text(text),
            "could not fetch pool. err: x \"gpu\" not found"
        );
        assert_eq!((logs.requests, logs.unknown, logs.lines), (3, 0, 4));
        let at = |text| Moment::parse(text).unwrap();
        assert_eq!(
            logs.asked_since(Some("worker"), at("2026-08-20T10:00:01Z")),
            1
        );
        assert_eq!(logs.asked_since(None, at("2026-08-20T00:00:00Z")), 3);
    }

    #[test]
    fn a_failure_of_one_of_several_requests_is_doubtful() {
        let convert = "E0820 10:00:01.000000       1 api.go:150] couldn't convert config for req: {worker 0xc0}, error: x\n";
        let text = ask("10:00:00", "worker", "10.0.0.1")
            + &ask("10:00:01", "worker", "10.0.0.2")
            + convert
            // Long after: whose it is cannot be known.
            + "E0820 10:09:00.000000       1 api.go:150] couldn't convert config for req: {worker 0xc0}, error: x\n";
        let logs = logs(&[("mcs-1", &text)]);
        let request = |address: &str| logs.peers[&address.parse::<IpAddr>().unwrap()].requests[0];
        assert!(request("10.0.0.2").is_doubtful);
        assert_eq!(request("10.0.0.1").outcome, Outcome::Served);
    }

    #[test]
    fn lines_that_nobody_knows_are_counted_and_the_first_is_kept() {
        let logs = logs(&[(
            "mcs-1",
            "I0820 10:00:00.000000       1 new.go:1] A new \u{1b}[31mmessage\nnonsense\n\n",
        )]);
        assert_eq!(logs.unknown, 2);
        assert_eq!(
            logs.unknown_sample.as_deref(),
            Some(r"A new \u{1b}[31mmessage")
        );
    }

    #[test]
    fn logs_go_back_as_far_as_the_shortest() {
        let logs = logs(&[
            ("mcs-1", &ask("08:00:00", "worker", "10.0.0.1")),
            ("mcs-2", &ask("09:00:00", "worker", "10.0.0.1")),
            // The rotated log of the second.
            ("mcs-2", &ask("07:00:00", "worker", "10.0.0.1")),
        ]);
        let text = |at: Option<Moment>| at.map(Moment::text);
        assert_eq!(text(logs.begin()).as_deref(), Some("2026-08-20T08:00:00Z"));
        assert_eq!(text(logs.end()).as_deref(), Some("2026-08-20T09:00:00Z"));
        assert_eq!((logs.sources.len(), logs.peers.len()), (2, 1));
    }

    /// Two gathers have the same pod: one cut after a request, the other without the kubelet's
    /// stamps and with the failure.
    #[test]
    fn copies_of_a_log_count_once() {
        let own = ask("10:00:00", "worker", "10.0.0.1") + &ask("10:00:01", "gpu", "10.0.0.2");
        let stamped: String = own
            .lines()
            .map(|line| {
                let time = line.split([' ', '.']).nth(1).unwrap();
                format!("2026-08-20T{time}.5Z {line}\n")
            })
            .collect();
        let later = own.clone() + NOT_FOUND + "nonsense\n" + &ask("10:00:02", "worker", "10.0.0.1");
        let logs = logs(&[("mcs-1", &stamped), ("mcs-1", &later), ("mcs-1", &later)]);
        let peer = |address: &str| &logs.peers[&address.parse::<IpAddr>().unwrap()];
        assert_eq!((peer("10.0.0.1").count, peer("10.0.0.2").count), (2, 1));
        assert!(matches!(
            peer("10.0.0.2").requests[0].outcome,
            Outcome::Failed(FailureKind::NoPool, _)
        ));
        assert_eq!((logs.requests, logs.unknown, logs.lines), (3, 1, 5));
        // The same lines of two servers are two requests.
        let two = super::tests::logs(&[("mcs-1", &own), ("mcs-2", &own)]);
        assert_eq!(two.requests, 4);
    }

    #[test]
    fn a_long_line_and_a_flood_of_addresses_are_bounded() {
        let long = format!(
            "I0820 10:00:00.000000       1 x.go:1] got ignconf {}\n",
            "x".repeat(1 << 20)
        );
        let text = long + &ask("10:00:00", "worker", "10.0.0.1");
        assert_eq!(logs(&[("mcs-1", &text)]).requests, 1);
        let flood: String = (0..=MAX_PEERS)
            .map(|n| {
                ask(
                    "10:00:00",
                    "worker",
                    &format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255),
                )
            })
            .collect();
        let logs = logs(&[("mcs-1", &flood)]);
        assert_eq!((logs.peers.len(), logs.peers_left_out), (MAX_PEERS, 1));
    }
}
