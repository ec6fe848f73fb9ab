//! A server's log, line by line (pure but for the reader that it is given).

use super::log_lines::lines;
use super::matching::{Matching, Pending};
use super::server_line::{Asked, Line, PeerAddress, read, split};
use super::server_log::{MAX_TEXT, Outcome, Request, ServerLogs, Source};
use crate::moment::{Moment, year};
use crate::secrets::without_secrets;
use crate::text::printable_up_to;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::net::IpAddr;

/// Requests that are kept of an address: the last ones, and fewer where many are kept in all.
const MAX_REQUESTS: usize = 64;
const FEW_REQUESTS: usize = 16;
const MANY_REQUESTS: usize = 500_000;

/// Times of requests that are kept of all pools: the first ones.
const MAX_TIMES: usize = 500_000;

/// Lines of all servers that are known again in another copy of a log.
const MAX_KNOWN: usize = 1_000_000;

/// Nodes that told of a failure.
const MAX_TOLD: usize = 10_000;

impl ServerLogs {
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
        if is_ignition && self.kept_times < MAX_TIMES {
            self.times.entry(pool).or_default().push(at);
            self.kept_times += 1;
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
            *known = (at, printable_up_to(&without_secrets(what), MAX_TEXT));
        }
    }
}

/// Tells if a client is Ignition: health checks and people with curl ask, too. Before 4.5 the log
/// does not say.
fn is_ignition(agent: &str) -> bool {
    agent.is_empty() || agent.starts_with("Ignition/")
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
        if !self.is_ended && self.source.cut.is_none() {
            self.source.cut =
                Some("its last line has no end: what came after is missing".to_owned());
        }
        self.source
    }

    fn line(&mut self, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let now = self.now;
        let (at, message) = split(line.trim_end(), &mut |month, day| year(now, month, day));
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
        let is_known = self.is_known(at, message);
        let line = read(message);
        self.source.is_bootstrap |= line.is_of_bootstrap();
        match line {
            // The last line of a log that was cut: how it went is not there.
            Line::Request(_) if !is_whole => {}
            Line::Request(asked) => self.request(&asked, at, is_known),
            Line::Failure(failure) => {
                self.logs.note_failure(&failure, &mut self.matching, at);
            }
            Line::Handshake { address, error } => self.handshake(address, error, at),
            Line::Told { node, what } => self.logs.note_told(node, what, at),
            Line::Unknown if !is_known => {
                self.logs.unknown += 1;
                self.logs.last_odd = self.logs.last_odd.max(Some(newest));
                if self.logs.unknown_sample.is_none() {
                    self.logs.unknown_sample =
                        Some(printable_up_to(&without_secrets(message), 100));
                }
            }
            Line::Start(_) | Line::Bootstrap | Line::Known | Line::Unknown => {}
        }
    }

    /// Tells if a copy of this log had the line; counts and remembers it where none had.
    fn is_known(&mut self, at: Moment, message: &str) -> bool {
        // Without the kubelet's stamp it is the same line.
        let mut hasher = DefaultHasher::new();
        (at.0, message).hash(&mut hasher);
        let hash = hasher.finish();
        let is_known = self.source.known.contains(&hash);
        if !is_known {
            self.logs.lines += 1;
            if self.logs.known_lines < MAX_KNOWN {
                self.own.push(hash);
                self.logs.known_lines += 1;
            }
        }
        is_known
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
#[path = "reading_tests.rs"]
mod tests;
