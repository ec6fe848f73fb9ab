//! A machine's requests in the machine-config-server's logs (pure).

use super::case::{Case, joined};
use super::ground::Counter;
use super::index::StrangeAsker;
use super::moment::{CLOCKS, Moment};
use super::server_line::FailureKind;
use super::server_log::{Outcome, Peer, Request};
use skewguard_cluster::names::{count, first_of};
use std::collections::BTreeSet;
use std::net::IpAddr;

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
    Other(Seen, (FailureKind, String)),
    /// It did not ask.
    Not(Silence),
    /// Its address is hidden, and others asked for the same pool: why.
    Hidden(String),
}

/// No request of a machine.
#[derive(Debug)]
pub(super) struct Silence {
    /// As far back as this.
    pub(super) since: Moment,
    /// Up to this: now, or where the logs end.
    pub(super) until: Moment,
    /// No request in the logs may be its own.
    pub(super) is_told_apart: bool,
    /// Addresses that are nobody's asked for a config: it may have others than its known ones.
    pub(super) has_strangers: bool,
    /// It connected, and TLS failed.
    pub(super) tls: Option<Tls>,
}

/// The last handshake that failed, and the error.
#[derive(Debug)]
pub(super) struct Tls {
    pub(super) at: Moment,
    pub(super) error: String,
    /// It does not trust the server.
    pub(super) is_distrust: bool,
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
    /// The pool and the agent of the last one.
    pub(super) pool: String,
    pub(super) agent: String,
    pub(super) failure: Option<(FailureKind, String)>,
    /// The last boot before that failure of which the last request has no error, and the requests since.
    pub(super) before: Option<Before>,
}

/// A request without an error, after which the machine asked again and was refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) at: Moment,
    /// The requests since.
    pub(super) refused: usize,
    /// The first of these.
    pub(super) again: Moment,
}

/// Seconds since its last request in which a machine still asks: logs are gathered one after another.
pub(super) const STILL_ASKS: u64 = 300;

impl Case<'_> {
    /// Looks for its requests by every address that it has.
    pub(super) fn asked(&mut self) -> Asked {
        let logs = &self.facts.logs;
        if logs.servers().next().is_none() {
            if self
                .machine
                .is_none_or(|machine| machine.node_pool.is_none())
            {
                self.unseen(self.no_log());
            }
            return Asked::NoLog;
        }
        let from = self.created.unwrap_or(Moment(0)).minus(CLOCKS);
        let addresses = self.aliases.addresses.iter();
        let peers = addresses.filter_map(|ip| Some((*ip, logs.peers.get(ip)?)));
        let peers: Vec<(IpAddr, &Peer)> = peers.collect();
        let last = |is_distrust: bool| {
            let of = |peer: &Peer| {
                if is_distrust {
                    peer.distrust
                } else {
                    peer.broken
                }
            };
            let all = peers.iter().filter_map(|(_, peer)| of(peer));
            let own = all.filter(|(at, _)| *at >= from);
            let (at, error) = own.map(|(at, text)| (at, logs.text(text))).max()?;
            let error = error.to_owned();
            Some(Tls {
                at,
                error,
                is_distrust,
            })
        };
        let seen = |is_ignition: bool| {
            let own = |request: &&Request| request.at >= from && request.is_ignition == is_ignition;
            let all = peers.iter().rev().filter_map(|(ip, peer)| {
                let own: Vec<&Request> = peer.requests.iter().filter(own).collect();
                self.seen(*ip, &own)
            });
            // Of two at one time that of the first address.
            all.max_by_key(|seen| seen.last.at)
        };
        if let Some(seen) = seen(true) {
            return Asked::Seen(seen);
        }
        if let Some(other) = seen(false)
            && let Some(failure) = other.failure.clone()
        {
            return Asked::Other(other, failure);
        }
        let tls = last(true).or_else(|| last(false));
        self.not_seen(from, tls)
    }

    /// The requests of an address, in the order of time.
    fn seen(&self, address: IpAddr, own: &[&Request]) -> Option<Seen> {
        let logs = &self.facts.logs;
        let (first, last) = (own.first()?, own.last()?);
        let failure = match last.outcome {
            Outcome::Served => None,
            Outcome::Failed(kind, text) => Some((kind, logs.text(text).to_owned())),
        };
        let boots = own.chunk_by(|one, next| next.at.since(one.at) <= SAME_BOOT);
        let before = failure.as_ref().and_then(|_| before(boots.clone()));
        Some(Seen {
            address,
            count: own.len(),
            boots: boots.clone().count(),
            unanswered: boots.last().and_then(unanswered),
            first: first.at,
            last: **last,
            pool: logs.text(last.pool).to_owned(),
            agent: logs.text(last.agent).to_owned(),
            failure,
            before,
        })
    }

    /// The meaning of no request from any of its addresses.
    fn not_seen(&mut self, from: Moment, tls: Option<Tls>) -> Asked {
        let logs = &self.facts.logs;
        let pool = self.pool();
        let pool = pool.as_deref();
        let made = self.created.unwrap_or(from);
        let since = logs.begin().map_or(made, |begin| begin.max(made));
        let asked = logs.asked_since(pool, since);
        let is_of_pool = |of: usize| pool.is_none_or(|pool| logs.text(of) == pool);
        let askers = self.index.strange_askers.iter();
        let askers = askers.filter(|asker| asker.last >= since && is_of_pool(asker.pool));
        let strangers = askers.clone().count();
        // A control plane Node that asks for another pool's config passes requests on.
        let passes_on =
            |asker: &&StrangeAsker| asker.is_control_plane && logs.text(asker.pool) != "master";
        let relays = (askers.clone())
            .filter(passes_on)
            .map(|asker| asker.address.to_string());
        let relays: BTreeSet<String> = relays.collect();
        if !relays.is_empty() {
            let (requests, relays) = (self.all_asked(asked, pool, since), joined(relays));
            return Asked::Hidden(format!(
                "{requests}, also from control plane Nodes ({relays}): a load balancer or SNAT there hides who asked"
            ));
        }
        let is_unaddressed = self.aliases.addresses.is_empty();
        if asked > 0 && (self.index.is_everybody_strange || is_unaddressed && strangers > 0) {
            return Asked::Hidden(self.hidden(asked, pool, since));
        }
        if strangers > 0 {
            self.unseen(whose(askers.collect()));
        }
        let until = self.end_of_logs().unwrap_or(self.now);
        // Logs that end before it was made say nothing of it.
        if until < since && tls.is_none() {
            self.unread(&[Counter::ServerLogs]);
            return Asked::NoLog;
        }
        Asked::Not(Silence {
            since,
            until,
            is_told_apart: strangers == 0 && (!is_unaddressed || asked == 0),
            has_strangers: strangers > 0,
            tls,
        })
    }

    /// What of the machine-config-servers' logs since it is there was not read, or not understood.
    pub(super) fn missing_logs(&self) -> Vec<String> {
        let logs = &self.facts.logs;
        if logs.servers().next().is_none() {
            return vec![self.no_log()];
        }
        let mut missing = Vec::new();
        missing.extend(self.missing_servers());
        let begin = logs.begin();
        let from = self.created.unwrap_or(Moment(0));
        if begin.is_none_or(|begin| begin > from) {
            let before = begin.map_or("they end".to_owned(), Moment::text);
            missing.push(format!(
                "what the machine-config-servers served before {before}, or elsewhere: their logs do not have it"
            ));
        }
        if let Some(reach) = self.end_of_logs() {
            missing.push(format!(
                "what the machine-config-servers served after {reach}, where the first of their logs ends: a saved log goes to its last line, and one of a gather to the time of that"
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

    /// What would say whether it asked, where no log does.
    fn no_log(&self) -> String {
        match self.facts.logs.sources.len() {
            0 => NO_LOG.to_owned(),
            all => format!(
                "requests for its config: {} of machine-config-servers that were read have no line that is understood",
                count(all, "log")
            ),
        }
    }

    /// As far as the logs go, where they end long before now.
    pub(super) fn end_of_logs(&self) -> Option<Moment> {
        let reach = self.facts.end_of_logs(self.now)?;
        (reach.plus(STILL_ASKS) < self.now).then_some(reach)
    }

    /// Servers whose log was not read.
    pub(super) fn missing_servers(&self) -> Option<String> {
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
        let missing = wanted.saturating_sub(read);
        (missing > 0).then(|| format!("the logs of {missing} of {wanted} machine-config-servers"))
    }

    /// How many requests there were.
    fn all_asked(&self, asked: usize, pool: Option<&str>, since: Moment) -> String {
        let pool = pool.map_or("a pool".to_owned(), |pool| format!("pool {pool}"));
        let (requests, now) = (count(asked, "request"), self.now);
        format!("{requests} for {pool} between {since} and {now}")
    }

    /// Who asked instead, where nobody can tell who it was.
    fn hidden(&self, asked: usize, pool: Option<&str>, since: Moment) -> String {
        let askers = self.index.strange_askers.iter();
        let askers = askers.filter(|asker| !asker.has_joined);
        let addresses: BTreeSet<IpAddr> = askers.map(|asker| asker.address).collect();
        let shown = joined(addresses.iter().take(3));
        let requests = self.all_asked(asked, pool, since);
        let mut sources = self.facts.logs.sources.iter();
        let own = match sources.any(|source| source.is_bootstrap) {
            true => ", those to the cluster's own servers",
            false => "",
        };
        if !self.index.is_everybody_strange {
            format!("{requests}; its own address is not known")
        } else if self.aliases.addresses.is_empty() {
            format!("{requests}, from {shown}; its own address is not known, and may be among them")
        } else if addresses.len() == 1 {
            format!("{requests}{own}, all from {shown}: NAT or a load balancer hides who asked")
        } else {
            format!(
                "{requests}{own}, all from {} addresses ({shown}) of which no Machine, host or Node of the cluster has one: a load balancer hides who asked, or the logs are another cluster's",
                addresses.len()
            )
        }
    }

    /// Puts a request into the evidence.
    pub(super) fn see_request(&mut self, seen: &Seen) {
        let at = Some(seen.last.at);
        let Seen { pool, agent, .. } = seen;
        let agent = if agent.is_empty() { "Ignition" } else { agent };
        let times = match seen.count {
            1 => String::new(),
            count => format!(", {count} times since {}", seen.first),
        };
        let text = format!("{} asked for {pool} with {agent}{times}", seen.address);
        self.see(SERVER_LOG, at, text);
        if let Some((_, error)) = &seen.failure {
            let doubt = " (others asked in the same time: it may be theirs)";
            let doubt = if seen.last.is_doubtful { doubt } else { "" };
            self.see(SERVER_LOG, at, format!("{error}{doubt}"));
        }
    }
}

/// What is not seen of requests from addresses that are nobody's, the first ones by name.
fn whose(mut askers: Vec<&StrangeAsker>) -> String {
    askers.sort_by_key(|asker| (asker.last, asker.address));
    let each = |asker: &&StrangeAsker| format!("{} (last at {})", asker.address, asker.last);
    let each: Vec<String> = askers.iter().map(each).collect();
    let some = first_of(each.iter().map(String::as_str), 3, each.len());
    let an_address = if each.len() == 1 {
        "an address"
    } else {
        "addresses"
    };
    format!(
        "whose the requests from {some} are: {an_address} that no Machine, host or Node has, or a Node that had joined before"
    )
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

/// The last boot before the last one that ended without an error: within a boot an answer would have ended it.
fn before<'a>(boots: impl DoubleEndedIterator<Item = &'a [&'a Request]>) -> Option<Before> {
    let (mut refused, mut again) = (0, None);
    for boot in boots.rev() {
        let last = boot.last()?;
        if let Some(again) = again
            && last.outcome == Outcome::Served
        {
            let at = last.at;
            return Some(Before { at, refused, again });
        }
        refused += boot.len();
        again = boot.first().map(|first| first.at);
    }
    None
}

const NO_LOG: &str = "requests for its config: the machine-config-server's logs (get pods/log in openshift-machine-config-operator; a must-gather has them)";

/// The log, as a source.
pub(super) const SERVER_LOG: &str = "log of the machine-config-server";
