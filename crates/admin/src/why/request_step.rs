//! A machine's requests in the machine-config-server's logs (pure).

use super::case::Case;
use super::finding::count;
use super::moment::{Moment, span};
use super::server_line::FailureKind;
use super::server_log::{Outcome, Request};
use std::net::IpAddr;

/// Seconds by which a clock may differ from another.
const CLOCKS: u64 = 60;

/// Seconds between two requests of one boot, at most: Ignition waits ten for an answer, and at most five
/// between tries.
const SAME_BOOT: u64 = 45;

/// The requests of one boot, each ten to twenty seconds after the one before and without an error, that
/// tell of answers which do not arrive.
const UNANSWERED: usize = 3;

/// The logs' answer.
#[derive(Debug)]
pub(super) enum Asked {
    /// No log was read.
    NoLog,
    /// It asked, and how often and when at last.
    Seen(Seen),
    /// Another client asked from its address, and was refused: the installer that writes its disk.
    Other(Seen),
    /// It did not ask, as far back as this.
    Not {
        since: Moment,
        /// No request in the logs may be its own.
        is_told_apart: bool,
        /// It connected, and TLS failed.
        tls: Tls,
    },
    /// Its address is hidden, and others asked for the same pool.
    Hidden { why: String },
}

/// The last handshakes that failed, and the errors.
#[derive(Debug, Default)]
pub(super) struct Tls {
    /// It does not trust the server.
    pub(super) distrust: Option<(Moment, String)>,
    pub(super) broken: Option<(Moment, String)>,
}

#[derive(Debug)]
pub(super) struct Seen {
    pub(super) address: IpAddr,
    pub(super) count: usize,
    /// Boots that the requests are of.
    pub(super) boots: usize,
    /// Tries of the last boot, where each came when no answer had come to the one before.
    pub(super) unanswered: Option<usize>,
    pub(super) first: Moment,
    pub(super) last: Request,
    pub(super) failure: Option<(FailureKind, String)>,
}

impl Seen {
    /// Tells if it still asks, and no answer arrives: the tries that have ended may have got one.
    pub(super) fn is_unanswered(&self, now: Moment) -> bool {
        self.unanswered.is_some() && now.since(self.last.at) <= STILL_ASKS
    }
}

/// Seconds since its last request in which a machine still asks: logs are gathered one after another.
const STILL_ASKS: u64 = 300;

impl Case<'_> {
    /// Looks for its requests by every address that it has.
    pub(super) fn asked(&mut self) -> Asked {
        let logs = &self.facts.logs;
        if logs.servers().next().is_none() {
            let is_hosted = self
                .machine
                .is_some_and(|machine| machine.node_pool.is_some());
            if !is_hosted {
                self.unseen(NO_LOG);
            }
            return Asked::NoLog;
        }
        let created = self.created();
        let from = created.map_or(Moment(0), |created| created.minus(CLOCKS));
        let (mut seen, mut other): (Option<Seen>, Option<Seen>) = (None, None);
        let mut tls = Tls::default();
        for address in &self.addresses() {
            let Some(peer) = logs.peers.get(address) else {
                continue;
            };
            let last = |old: Option<(Moment, String)>, new: Option<(Moment, usize)>| {
                let new = new.filter(|(at, _)| *at >= from);
                old.max(new.map(|(at, text)| (at, logs.text(text).to_owned())))
            };
            tls.distrust = last(tls.distrust, peer.distrust);
            tls.broken = last(tls.broken, peer.broken);
            let of = |is_ignition: bool| {
                let own: Vec<&Request> = (peer.requests.iter())
                    .filter(|request| request.at >= from && request.is_ignition == is_ignition)
                    .collect();
                self.seen(*address, &own)
            };
            let is_later = |old: &Option<Seen>, new: &Option<Seen>| match (old, new) {
                (Some(old), Some(new)) => old.last.at < new.last.at,
                (old, _) => old.is_none(),
            };
            for (is_ignition, kept) in [(true, &mut seen), (false, &mut other)] {
                let found = of(is_ignition);
                if is_later(kept, &found) {
                    *kept = found;
                }
            }
        }
        let is_refused = |other: &Seen| other.failure.is_some();
        match (seen, other.filter(is_refused)) {
            (Some(seen), _) => Asked::Seen(seen),
            (None, Some(other)) => Asked::Other(other),
            (None, None) => self.not_seen(from, tls),
        }
    }

    /// The requests of an address, in the order of time.
    fn seen(&self, address: IpAddr, own: &[&Request]) -> Option<Seen> {
        let logs = &self.facts.logs;
        let (first, last) = (own.first()?, own.last()?);
        let failure = match last.outcome {
            Outcome::Served => None,
            Outcome::Failed(kind, text) => Some((kind, logs.text(text).to_owned())),
        };
        let boots: Vec<&[&Request]> = own
            .chunk_by(|one, next| next.at.since(one.at) <= SAME_BOOT)
            .collect();
        Some(Seen {
            address,
            count: own.len(),
            boots: boots.len(),
            unanswered: boots.last().and_then(|boot| unanswered(boot)),
            first: first.at,
            last: **last,
            failure,
        })
    }

    /// The meaning of no request from any of its addresses.
    fn not_seen(&mut self, from: Moment, tls: Tls) -> Asked {
        let logs = &self.facts.logs;
        let pool = self.pool();
        let begin = logs.begin();
        let made = self.created().unwrap_or(from);
        let since = begin.map_or(made, |begin| begin.max(made));
        let is_hidden = self.index.is_everybody_strange;
        let asked = logs.asked_since(pool.as_deref(), since);
        let is_unaddressed = self.addresses().is_empty();
        let is_of_pool = |of: usize| {
            let pool = pool.as_deref();
            pool.is_none_or(|pool| logs.text(of) == pool)
        };
        let askers = self.index.strange_askers.iter();
        let strangers = askers
            .filter(|asker| asker.last >= since && is_of_pool(asker.pool))
            .count();
        if asked > 0 && (is_hidden || is_unaddressed && strangers > 0) {
            let why = self.hidden(is_hidden, asked, pool.as_deref(), since);
            return Asked::Hidden { why };
        }
        if strangers > 0 {
            self.unseen(format!(
                "whose the requests of {strangers} address{} are that no Machine, host or Node has, or no longer asks from",
                if strangers == 1 { "" } else { "es" }
            ));
        }
        Asked::Not {
            since,
            is_told_apart: strangers == 0 && (!is_unaddressed || asked == 0),
            tls,
        }
    }

    /// What of the machine-config-servers' logs since it is there was not read, or not understood.
    pub(super) fn missing_logs(&self) -> Vec<String> {
        let logs = &self.facts.logs;
        if logs.servers().next().is_none() {
            return vec![NO_LOG.to_owned()];
        }
        let mut missing = Vec::new();
        missing.extend(self.missing_servers());
        let begin = logs.begin();
        let from = self.created().unwrap_or(Moment(0));
        if begin.is_none_or(|begin| begin > from) {
            let before = begin.map_or_else(|| "they end".to_owned(), |begin| begin.to_string());
            missing.push(format!(
                "what the machine-config-servers served before {before}, or elsewhere: their logs do not have it"
            ));
        }
        let cut = logs.servers().filter(|source| source.cut.is_some());
        missing.extend(cut.map(|source| format!("the rest of the log of {}", source.name)));
        if logs.peers_left_out > 0 {
            missing.push("requests of more addresses than are kept".to_owned());
        }
        if logs.last_odd >= Some(from) {
            missing.push(format!(
                "what {} of the machine-config-servers' logs say, which are not understood or have no address",
                count(logs.unknown + logs.without_address, "line"),
            ));
        }
        missing
    }

    /// Servers whose log was not read.
    fn missing_servers(&self) -> Option<String> {
        let facts = self.facts;
        let read = facts.logs.servers().count();
        let masters = facts.all_nodes().filter(|node| node.is_control_plane);
        let wanted = facts.servers.len().max(masters.count());
        if wanted == 0 {
            return Some(
                "how many machine-config-servers there are: the control plane's Nodes, or the pods in openshift-machine-config-operator"
                    .to_owned(),
            );
        }
        (read < wanted).then(|| {
            format!(
                "the logs of {} of {wanted} machine-config-servers",
                wanted - read
            )
        })
    }

    fn hidden(&self, is_hidden: bool, asked: usize, pool: Option<&str>, since: Moment) -> String {
        let logs = &self.facts.logs;
        let addresses: Vec<String> = logs
            .peers
            .iter()
            .filter(|(_, peer)| peer.count > 0)
            .take(3)
            .map(|(address, _)| address.to_string())
            .collect();
        let count = logs.peers.values().filter(|peer| peer.count > 0).count();
        let pool = pool.map_or_else(|| "a pool".to_owned(), |pool| format!("pool {pool}"));
        let requests = format!(
            "{asked} request{} for {pool} between {since} and {}",
            if asked == 1 { "" } else { "s" },
            self.now
        );
        if !is_hidden {
            format!("{requests}; its own address is not known")
        } else if count == 1 {
            format!(
                "{requests}, all from {}: NAT or a load balancer hides who asked",
                addresses.join(", ")
            )
        } else {
            format!(
                "{requests}, from {count} addresses ({}) of which no Machine, host or Node of the cluster has one: a load balancer hides who asked, or the logs are another cluster's",
                addresses.join(", ")
            )
        }
    }

    /// Puts a request into the evidence.
    pub(super) fn see_request(&mut self, seen: &Seen) {
        let logs = &self.facts.logs;
        let agent = match logs.text(seen.last.agent) {
            "" => "Ignition".to_owned(),
            agent => agent.to_owned(),
        };
        let pool = logs.text(seen.last.pool);
        let times = match seen.count {
            1 => String::new(),
            count => format!(", {count} times since {}", seen.first),
        };
        let text = format!("{} asked for {pool} with {agent}{times}", seen.address);
        self.see("log of the machine-config-server", Some(seen.last.at), text);
        if let Some((_, error)) = &seen.failure {
            let doubt = if seen.last.is_doubtful {
                " (others asked in the same time: it may be theirs)"
            } else {
                ""
            };
            self.see(
                "log of the machine-config-server",
                Some(seen.last.at),
                format!("{error}{doubt}"),
            );
        }
    }

    /// A time span before now, in words.
    pub(super) fn ago(&self, at: Moment) -> String {
        format!("{} ago", span(self.now.since(at)))
    }
}

/// The tries of a boot to which no answer came: each is what Ignition does ten to twenty seconds after one
/// without an answer, and none has an error.
fn unanswered(boot: &[&Request]) -> Option<usize> {
    let is_silent = |request: &&Request| request.outcome == Outcome::Served;
    let is_try = |pair: &[&Request]| match pair {
        [one, next] => (8..=25).contains(&next.at.since(one.at)),
        _ => false,
    };
    let is_so =
        boot.len() >= UNANSWERED && boot.iter().all(is_silent) && boot.windows(2).all(is_try);
    is_so.then_some(boot.len())
}

const NO_LOG: &str = "requests for its config: the machine-config-server's logs (get pods/log in openshift-machine-config-operator; a must-gather has them)";
