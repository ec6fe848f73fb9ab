//! A machine's requests in the machine-config-server's logs (pure).

use super::case::Case;
use super::finding::count;
use super::moment::{Moment, span};
use super::server_line::FailureKind;
use super::server_log::{Outcome, Request};
use std::net::IpAddr;

/// Seconds by which a clock may differ from another.
const CLOCKS: u64 = 60;

/// The logs' answer.
#[derive(Debug)]
pub(super) enum Asked {
    /// No log was read.
    NoLog,
    /// It asked, and how often and when at last.
    Seen(Seen),
    /// It did not ask, as far back as this.
    Not {
        since: Moment,
        /// All logs have all since then, and no request in them may be its own.
        is_told_apart: bool,
        /// It connected, and did not trust the server.
        distrust: Option<Moment>,
    },
    /// Its address is hidden, and others asked for the same pool.
    Hidden { why: String },
}

#[derive(Debug)]
pub(super) struct Seen {
    pub(super) address: IpAddr,
    pub(super) count: usize,
    /// Boots that the requests are of: Ignition tries again within seconds, a boot takes minutes.
    pub(super) boots: usize,
    pub(super) first: Moment,
    pub(super) last: Request,
    pub(super) failure: Option<(FailureKind, String)>,
}

impl Case<'_> {
    /// Looks for its requests by every address that it has.
    pub(super) fn asked(&mut self) -> Asked {
        let logs = &self.facts.logs;
        if logs.sources.is_empty() {
            self.unseen(NO_LOG);
            return Asked::NoLog;
        }
        let created = self.created();
        let from = created.map_or(Moment(0), |created| created.minus(CLOCKS));
        let addresses = self.addresses();
        let mut seen: Option<Seen> = None;
        let mut distrust = None;
        for address in &addresses {
            let Some(peer) = logs.peers.get(address) else {
                continue;
            };
            distrust = distrust.max(peer.distrust.filter(|at| *at >= from));
            let own: Vec<&Request> = peer
                .requests
                .iter()
                .filter(|request| request.at >= from)
                .collect();
            let (Some(first), Some(last)) = (own.first(), own.last()) else {
                continue;
            };
            // All that are not kept are older than those that are, and so may be an earlier
            // machine's.
            let count = if first.at == last.at || peer.requests.len() > own.len() {
                own.len()
            } else {
                peer.count
            };
            if seen.as_ref().is_none_or(|seen| seen.last.at < last.at) {
                let failure = match last.outcome {
                    Outcome::Served => None,
                    Outcome::Failed(kind, text) => Some((kind, logs.text(text).to_owned())),
                };
                seen = Some(Seen {
                    address: *address,
                    count,
                    boots: boots(&own),
                    first: first.at,
                    last: **last,
                    failure,
                });
            }
        }
        match seen {
            Some(seen) => Asked::Seen(seen),
            None => self.not_seen(from, distrust),
        }
    }

    /// The meaning of no request from any of its addresses.
    fn not_seen(&mut self, from: Moment, distrust: Option<Moment>) -> Asked {
        let facts = self.facts;
        let logs = &facts.logs;
        let pool = self.pool();
        let begin = logs.begin();
        let made = self.created().unwrap_or(from);
        let since = begin.map_or(made, |begin| begin.max(made));
        let peers = || logs.peers.iter().filter(|(_, peer)| peer.count > 0);
        let known = |address: &IpAddr| self.index.known.contains(address);
        let is_hidden = peers().next().is_some() && !peers().any(|(address, _)| known(address));
        let asked = logs.asked_since(pool.as_deref(), since);
        let is_unaddressed = self.addresses().is_empty();
        // Requests of addresses that are nobody's, for its pool.
        let strangers = peers()
            .filter(|(address, _)| !known(address))
            .filter(|(_, peer)| {
                peer.requests.iter().any(|request| {
                    request.at >= since
                        && pool
                            .as_deref()
                            .is_none_or(|pool| logs.text(request.pool) == pool)
                })
            })
            .count();
        if asked > 0 && (is_hidden || is_unaddressed && strangers > 0) {
            let why = self.hidden(is_hidden, asked, pool.as_deref(), since);
            return Asked::Hidden { why };
        }
        if strangers > 0 {
            self.unseen(format!(
                "whose the requests of {strangers} address{} are that no Machine, host or Node has",
                if strangers == 1 { "" } else { "es" }
            ));
        }
        Asked::Not {
            since,
            is_told_apart: strangers == 0 && (!is_unaddressed || asked == 0),
            distrust,
        }
    }

    /// What of the machine-config-servers' logs since it is there was not read, or not understood.
    pub(super) fn missing_logs(&self) -> Vec<String> {
        let logs = &self.facts.logs;
        if logs.sources.is_empty() {
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
        let cut = logs.sources.iter().filter(|source| source.cut.is_some());
        missing.extend(cut.map(|source| format!("the rest of the log of {}", source.name)));
        if logs.peers_left_out > 0 {
            missing.push("requests of more addresses than are kept".to_owned());
        }
        let odd = logs.unknown + logs.without_address;
        if odd > 0 {
            missing.push(format!(
                "what {} of the machine-config-servers' logs {}, which {} not understood",
                count(odd, "line"),
                if odd == 1 { "says" } else { "say" },
                if odd == 1 { "is" } else { "are" },
            ));
        }
        missing
    }

    /// Servers whose log was not read.
    fn missing_servers(&self) -> Option<String> {
        let facts = self.facts;
        let read = facts.logs.sources.len();
        let masters = facts.nodes.values().filter(|node| node.is_control_plane);
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
                " (others asked in the same seconds: it may be theirs)"
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

/// The number of boots that requests are of, in the order of time.
fn boots(requests: &[&Request]) -> usize {
    let gaps = requests.windows(2).filter(|pair| match pair {
        [one, next] => next.at.since(one.at) > SAME_BOOT,
        _ => false,
    });
    1 + gaps.count()
}

/// Seconds between two requests of one boot, at most: Ignition waits ten for an answer, and at most five
/// between tries.
const SAME_BOOT: u64 = 45;

const NO_LOG: &str = "requests for its config: the machine-config-server's logs (get pods/log in openshift-machine-config-operator; a must-gather has them)";
