//! What the logs of the machine-config-server say, of all its pods together (pure).
//!
//! A line names the address that asked, or the failure, never both: a failure is that of the last
//! request for its pool that has none yet.

use super::moment::Moment;
use super::server_line::{Failure, FailureKind, Line, read, split};
use crate::text::printable_up_to;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};
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

/// The longest line that is read; bootstrap servers of 4.14 to 4.20 print whole configs.
const MAX_LINE: u64 = 16 << 10;

/// How long after a request its failure may be written.
const FAILURE_DELAY: u64 = 5;

/// How a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing was logged against it.
    Served,
    /// It failed, and the place of the error's text.
    Failed(FailureKind, usize),
}

/// A request for a config.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) at: Moment,
    /// The places of texts.
    pub(crate) pool: usize,
    pub(crate) agent: usize,
    pub(crate) outcome: Outcome,
    /// Others asked for the same pool in the same seconds, so that the failure may be theirs.
    pub(crate) is_doubtful: bool,
}

/// An address that asked.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// All of it, kept or not.
    pub(crate) count: usize,
    pub(crate) requests: Vec<Request>,
    /// The last handshake that the client ended because it does not trust the server.
    pub(crate) distrust: Option<Moment>,
}

/// The log of one server.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) first: Option<Moment>,
    pub(crate) last: Option<Moment>,
    /// Only a part was read, and which.
    pub(crate) cut: Option<String>,
}

/// All logs.
#[derive(Debug, Default)]
pub(crate) struct ServerLogs {
    pub(crate) sources: Vec<Source>,
    pub(crate) peers: BTreeMap<IpAddr, Peer>,
    /// When Ignition asked for each pool.
    times: BTreeMap<usize, Vec<Moment>>,
    texts: Vec<String>,
    places: BTreeMap<String, usize>,
    pub(crate) lines: usize,
    pub(crate) requests: usize,
    /// Requests whose address cannot be read.
    pub(crate) without_address: usize,
    /// Lines that nobody knows, and the first of them.
    pub(crate) unknown: usize,
    pub(crate) unknown_sample: Option<String>,
    /// Addresses that are not kept.
    pub(crate) peers_left_out: usize,
}

impl ServerLogs {
    pub(crate) fn text(&self, place: usize) -> &str {
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
    pub(crate) fn add(
        &mut self,
        name: &str,
        log: &mut dyn Read,
        now: Moment,
    ) -> std::io::Result<()> {
        let mut reading = Reading::new(self, name, now);
        let done = lines(log, &mut |line| reading.line(line));
        let source = reading.source;
        // A rotated log and the present one are one server's.
        match self.sources.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.first = [known.first, source.first].into_iter().flatten().min();
                known.last = known.last.max(source.last);
                known.cut = known.cut.take().or(source.cut);
            }
            None => self.sources.push(source),
        }
        done
    }

    /// Notes that only a part of a server's log was read.
    pub(crate) fn cut(&mut self, name: &str, what: String) {
        if let Some(source) = self.sources.iter_mut().find(|source| source.name == name) {
            source.cut = Some(what);
        }
    }

    /// Notes that a server's log has all since then.
    pub(crate) fn covers(&mut self, name: &str, since: Moment) {
        if let Some(source) = self.sources.iter_mut().find(|source| source.name == name) {
            source.first = Some(source.first.map_or(since, |first| first.min(since)));
        }
    }

    /// When the logs begin, as far as all of them go back.
    pub(crate) fn begin(&self) -> Option<Moment> {
        let begins: Option<Vec<Moment>> = self.sources.iter().map(|source| source.first).collect();
        begins?.into_iter().max()
    }

    /// The last line of all.
    pub(crate) fn end(&self) -> Option<Moment> {
        self.sources.iter().filter_map(|source| source.last).max()
    }

    /// How often Ignition asked for a pool since then, or for any.
    pub(crate) fn asked_since(&self, pool: Option<&str>, since: Moment) -> usize {
        self.times
            .iter()
            .filter(|(place, _)| pool.is_none_or(|pool| self.text(**place) == pool))
            .map(|(_, times)| times.iter().filter(|at| **at >= since).count())
            .sum()
    }

    fn note_request(&mut self, asked: &Asked<'_>, at: Moment) -> Pending {
        self.requests += 1;
        let (pool, agent, accept) = (
            self.keep(asked.pool),
            self.keep(asked.agent),
            self.keep(asked.accept),
        );
        let is_ignition = is_ignition(asked.agent);
        if is_ignition {
            let times = self.times.entry(pool).or_default();
            if times.len() < MAX_TIMES {
                times.push(at);
            }
        }
        let pending = Pending {
            at,
            pool,
            accept,
            address: asked.address.filter(|_| is_ignition),
        };
        let Some(address) = pending.address else {
            self.without_address += usize::from(asked.address.is_none());
            return pending;
        };
        if let Some(peer) = self.peer(address) {
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
        pending
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

/// Whether a client is Ignition: health checks and people with curl ask, too. Before 4.5 the log
/// does not say.
fn is_ignition(agent: &str) -> bool {
    agent.is_empty() || agent.starts_with("Ignition/")
}

/// What a request's line has.
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
}

impl<'a> Reading<'a> {
    fn new(logs: &'a mut ServerLogs, name: &str, now: Moment) -> Self {
        let source = Source {
            name: name.to_owned(),
            ..Source::default()
        };
        Self {
            logs,
            source,
            now,
            pending: Vec::new(),
        }
    }

    fn line(&mut self, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        self.logs.lines += 1;
        let now = self.now;
        let (at, message) = split(line.trim_end(), &|month, day| year(now, month, day));
        if let Some(at) = at {
            self.source.first = Some(self.source.first.map_or(at, |first| first.min(at)));
            self.source.last = self.source.last.max(Some(at));
        }
        // A line without a time is as old as the last one.
        let at = at.or(self.source.last).unwrap_or(Moment(0));
        match read(message) {
            // The last line of a log that was cut: how it went is not there.
            Line::Request { .. } if bytes.last() != Some(&b'\n') => {}
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
                let pending = self.logs.note_request(&asked, at);
                if self.pending.len() == 64 {
                    self.pending.remove(0);
                }
                self.pending.push(pending);
            }
            Line::Failure(failure) => {
                self.logs.note_failure(&failure, &mut self.pending, at);
            }
            Line::Handshake { address, error } => {
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
            Line::Start(_) | Line::Known => {}
            Line::Unknown => {
                self.logs.unknown += 1;
                if self.logs.unknown_sample.is_none() {
                    self.logs.unknown_sample = Some(printable_up_to(message, 100));
                }
            }
        }
    }
}

/// The year in which a month and day last were, seen from `now`.
fn year(now: Moment, month: u8, day: u8) -> Option<u16> {
    let tomorrow = now.plus(86_400);
    let year: u16 = tomorrow.text().get(..4)?.parse().ok()?;
    let of = |year: u16| Moment::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"));
    // The 29th of February is in some years only.
    (0..8)
        .filter_map(|back| year.checked_sub(back))
        .find(|year| of(*year).is_some_and(|at| at <= tomorrow))
}

/// Gives each line to `take`, and no more of it than [`MAX_LINE`].
pub(super) fn lines(log: &mut dyn Read, take: &mut dyn FnMut(&[u8])) -> std::io::Result<()> {
    let mut reader = std::io::BufReader::with_capacity(64 << 10, log);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        take(&line);
        if line.last() != Some(&b'\n') {
            skip_line(&mut reader)?;
        }
    }
}

fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(());
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

    #[test]
    fn years_that_klog_leaves_out_are_the_last_possible() {
        let now = Moment::parse("2027-01-02T00:00:00Z").unwrap();
        assert_eq!(year(now, 12, 31), Some(2026));
        assert_eq!(year(now, 1, 1), Some(2027));
        assert_eq!(year(now, 1, 3), Some(2027), "clocks differ");
        assert_eq!(year(now, 2, 29), Some(2024));
        assert_eq!(year(now, 13, 1), None);
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
