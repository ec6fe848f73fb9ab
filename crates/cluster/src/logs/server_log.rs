//! The logs of the machine-config-server, of all its pods together (pure).
//!
//! A line names the address that asked, or the failure, never both, but for an answer that broke off: a
//! failure is that of a request for its pool that has none yet, of the last one, or of the one whose
//! time was up. Only times order the requests of several servers.

use super::server_line::FailureKind;
use crate::moment::Moment;
use crate::secrets::without_secrets;
use crate::text::printable_up_to;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// At most this many addresses are kept.
pub(super) const MAX_PEERS: usize = 50_000;

/// Texts that are kept of pools, clients and errors.
const MAX_TEXTS: usize = 2_000;

/// The longest of these, in characters.
pub(super) const MAX_TEXT: usize = 300;

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
    /// It was read when the objects were, as a live cluster's and a gather's are: of a file that somebody
    /// saved nothing says when.
    pub(super) is_of_now: bool,
    /// The gathers that it is in.
    pub(super) gathers: BTreeSet<PathBuf>,
    /// Only a part was read, and which.
    pub cut: Option<String>,
    /// It is the bootstrap machine's, which is not the cluster's.
    pub is_bootstrap: bool,
    /// Hashes of its lines: two gathers may have the same.
    pub(super) known: HashSet<u64>,
}

/// All logs.
#[derive(Debug, Default)]
pub struct ServerLogs {
    pub sources: Vec<Source>,
    pub peers: BTreeMap<IpAddr, Peer>,
    /// When Ignition asked for each pool.
    pub(super) times: BTreeMap<usize, Vec<Moment>>,
    texts: Vec<String>,
    places: BTreeMap<String, usize>,
    pub lines: usize,
    pub requests: usize,
    /// Requests whose address cannot be read.
    pub without_address: usize,
    /// The last of the lines that nobody knows, or that have no address.
    pub last_odd: Option<Moment>,
    /// Words of nodes about their first boots: when at last, and what, by the node in lower case.
    pub told: BTreeMap<String, (Moment, String)>,
    /// Requests that are kept, times of requests, and lines that are known again.
    pub(super) kept_requests: usize,
    pub(super) kept_times: usize,
    pub(super) known_lines: usize,
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

    /// Notes that only a part of a server's log was read.
    pub fn cut(&mut self, name: &str, what: String) {
        if let Some(source) = self.sources.iter_mut().find(|source| source.name == name) {
            source.cut = Some(what);
        }
    }

    /// Notes that a server's log was read when the objects were, of the gather where it is in one.
    pub fn read_now(&mut self, name: &str, gather: Option<PathBuf>) {
        if let Some(source) = self.sources.iter_mut().find(|source| source.name == name) {
            source.is_of_now = true;
            source.gathers.extend(gather);
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

    /// As far as all of them go, where the objects were read now, and gathers at times of their own: a log
    /// that was saved shows nothing after its last line. `None` where one has no time at all.
    pub fn reach(&self, now: Moment, time_of: &dyn Fn(&Path) -> Moment) -> Option<Moment> {
        let end = |source: &Source| {
            let gathers = source.gathers.iter().map(|gather| time_of(gather));
            let read = gathers.max().unwrap_or(now);
            if source.is_of_now {
                Some(read)
            } else {
                source.last
            }
        };
        let ends: Option<Vec<Moment>> = self.servers().map(end).collect();
        ends?.into_iter().min()
    }

    /// The logs of the cluster's own servers. One without a line that is understood is none.
    pub fn servers(&self) -> impl Iterator<Item = &Source> {
        let own = self.sources.iter().filter(|source| !source.is_bootstrap);
        own.filter(|source| source.first.is_some())
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

    pub(super) fn peer(&mut self, address: IpAddr) -> Option<&mut Peer> {
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&address) {
            self.peers_left_out += 1;
            return None;
        }
        Some(self.peers.entry(address).or_default())
    }
}
