//! Requests that were refused, and machines that did not ask: why, and what to do (pure).

use super::case::{Case, joined};
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::ignition_specs::{Spec, cannot_read, images_of_agent, of_agent, of_image};
use super::moment::{CLOCKS, Moment, span};
use super::request_step::{Before, SERVER_LOG, STILL_ASKS, Seen, Silence};
use super::rows::{Row, row};
use super::server_line::FailureKind;
use super::server_log::{Outcome, Request};
use crate::version::ImageVersion;
use skewguard_cluster::kinds::{Authorities, Machine};
use skewguard_cluster::names::count;
use skewguard_core::platform::Platform;
use std::net::IpAddr;

/// What could say otherwise where a request was refused, or none was made.
const AGAINST: &[Counter] = &[Counter::Requests, Counter::Nodes, Counter::ServerLogs];

/// The spec of the user data that clusters since 4.6 give their machines.
const USER_DATA: Spec = Spec { major: 3, minor: 0 };

const WHOSE: &str = "whose the failure is: others asked for the same pool at the same time";

/// `its Ignition 2.14.0`, by the name that it gives to the server.
fn client(agent: &str) -> String {
    match agent {
        "" => "its Ignition".to_owned(),
        agent => format!("its {}", agent.replace('/', " ")),
    }
}

impl<'a> Case<'a> {
    pub(super) fn refused_request(
        &mut self,
        seen: &Seen,
        (kind, error): &(FailureKind, String),
    ) -> Finding {
        let facts = self.facts;
        let Seen { pool, agent, .. } = seen;
        let (client, images) = (client(agent), images_of_agent(agent));
        let (says, status) = (sentence(error), status(*kind));
        let times = |count: usize| (count > 1).then(|| format!(" {count} times"));
        let ago = self.ago(seen.last.at);
        let begin = match seen.before {
            Some(Before { at, refused, again }) => {
                let (times, at, again) = (times(refused), at.clock(), again.clock());
                self.says(row!(AskedAgainInVain times, pool, at, again, ago, status))
            }
            None => self.says(row!(AskedInVain times = times(seen.count), pool, ago, status)),
        };
        // The logs may end long before now.
        let until = self.end_of_logs().unwrap_or(self.now);
        let asks = until.since(seen.last.at) <= STILL_ASKS;
        let row = match kind {
            FailureKind::NoPool => {
                row!(PoolMissing begin, status, pool, others = joined(facts.config_pools.keys().take(5)))
            }
            FailureKind::Bootstrap => row!(BootstrapAnswers begin, status, asks),
            FailureKind::NoConfig => row!(ConfigNotRendered begin, status, asks, pool, says),
            FailureKind::Conversion => {
                row!(ConfigNotConvertible begin, status, client, spec = of_agent(agent), images, says, pool)
            }
            FailureKind::Spec => row!(NoConfigForIgnition begin, status, client, images),
            FailureKind::Write => row!(ConnectionBreaks begin, status, says),
        };
        let finding = self.tell(row).says(error);
        if seen.last.is_doubtful {
            self.unseen(WHOSE);
            self.unread(AGAINST);
            return finding;
        }
        if seen.before.is_some() {
            self.unread(AGAINST);
            return self.with(finding, row!(ServedBefore));
        }
        finding.sure(self, SERVER_LOG)
    }

    /// It asks again and again within one boot, as Ignition does when no answer comes, and the server knows
    /// of no error.
    pub(super) fn unanswered_request(&mut self, seen: &Seen, tries: usize) -> Finding {
        let ago = self.ago(seen.last.at);
        let pool = &seen.pool;
        self.unread(AGAINST);
        self.tell(row!(AnswerLost pool, tries, ago))
    }

    /// Another client of its address was refused: the assisted installer, which asks before Ignition does.
    pub(super) fn other_client(
        &mut self,
        seen: &Seen,
        (kind, error): &(FailureKind, String),
    ) -> Finding {
        let Seen { pool, agent, .. } = seen;
        let installer = agent.starts_with("Go-http-client");
        let (status, tries) = (status(*kind), count(seen.count, "time"));
        let (ago, says) = (self.ago(seen.last.at), sentence(error));
        let row = row!(InstallerRefused status, agent, installer, tries, pool, ago, says);
        let finding = self.tell(row);
        if seen.last.is_doubtful {
            self.unseen(WHOSE);
            return finding;
        }
        finding.sure(self, SERVER_LOG)
    }

    /// It is up, and did not ask.
    pub(super) fn not_asked(&mut self, silence: &Silence) -> Finding {
        self.see_nothing(silence.since);
        if let Some(finding) = self.perhaps_a_node(silence) {
            self.unread(AGAINST);
            return finding;
        }
        let mut finding = self.why_not_asked(silence);
        if silence.has_strangers && silence.tls.is_none() {
            finding = self.with(finding, row!(PerhapsAsked));
        }
        // Where there are Agents and hosts without a Machine, other clusters are installed.
        let is_of_others = self.machine.is_none();
        if is_of_others {
            self.unseen("whether it joins this cluster: the logs of another's machine-config-servers would have it");
        }
        // With nothing against it no proof is wanted.
        let is_doubted = self.is_doubted() || finding.words.against.is_empty();
        if !silence.is_told_apart || is_of_others || is_doubted {
            self.unread(AGAINST);
            return finding;
        }
        finding.sure(self, "logs of all machine-config-servers")
    }

    /// Nodes that no Machine names and that came since, not more than machines that wait: it may be one of them,
    /// with another name and address.
    fn perhaps_a_node(&mut self, silence: &Silence) -> Option<Finding> {
        let made = self.machine?.metadata.created;
        let made = made.filter(|_| silence.tls.is_none())?;
        let later = self.nodes_of_nobody_since(made);
        if later.len() > self.index.unnamed.len() {
            return None;
        }
        let begin = self.says_silence(silence, true);
        self.of_nodes_since(&later, &format!("{begin}, and"))
    }

    /// Tells if a request of nobody's, or a Node that no Machine names, came since it was made: either may be
    /// its own, and then it has its config.
    fn is_doubted(&mut self) -> bool {
        let made = self.created.map(|made| made.minus(CLOCKS));
        let strangers = self.index.strangers.iter();
        let requests = strangers.filter(|one| one.first >= made);
        let request = requests.map(|one| &one.last.metadata.name).min();
        let nodes = self.index.nodes_of_nobody.iter();
        let nodes = nodes.filter(|node| node.metadata.created >= made);
        let node = nodes.map(|node| &node.metadata.name).min();
        if let Some(request) = request {
            self.unseen(format!("whose request {request} is, which no Machine, host or Node has as its name: it may be its own"));
        }
        if let Some(node) = node {
            self.unseen(format!(
                "which machine Node {node} is, which no Machine names: it may be this one"
            ));
        }
        request.is_some() || node.is_some()
    }

    /// The beginning of a sentence about a machine that did not ask, as far as the logs go.
    fn says_silence(&mut self, silence: &Silence, is_up: bool) -> String {
        let age = span(silence.until.since(silence.since));
        let is_whole = self.missing_logs().is_empty();
        match (silence.is_told_apart, is_whole) {
            (true, true) => self.says(row!(SilentSince up = is_up, age)),
            (false, true) => self.says(row!(SilentByKnownAddress age)),
            (_, false) if silence.until <= silence.since => self.says(row!(SilentInLogs)),
            (_, false) if self.end_of_logs().is_some() => {
                let until = silence.until.clock();
                self.says(row!(SilentUntil age, until))
            }
            (_, false) => {
                let whole = self.created == Some(silence.since);
                self.says(row!(SilentByLogs age, whole))
            }
        }
    }

    /// Says why: what can be proved has what could say otherwise.
    fn why_not_asked(&mut self, silence: &Silence) -> Finding {
        let odd_state = self.odd_state().filter(|_| silence.tls.is_none());
        let begin = self.says_silence(silence, odd_state.is_none());
        let own = match silence.has_strangers {
            true => " known as its own",
            false => "",
        };
        let step = format!("none{own} since {}", silence.since.clock());
        self.holes.extend([("silence", begin), ("silent", step)]);
        if let Some(tls) = &silence.tls {
            return match tls.is_distrust {
                true => self.distrusts(tls.at, &tls.error),
                false => self.breaks_tls(tls.at, &tls.error),
            };
        }
        if let Some(state) = odd_state {
            return self.tell(row!(InstanceStateOdd state));
        }
        if let Some(why) = self.no_server_is_ready() {
            return self.tell(row!(NoServerReady why));
        }
        // Without an address that others reach, none of these is asked for.
        let is_cut_off = !self.aliases.addresses.is_empty();
        let cut_off = is_cut_off.then(|| self.without_usable_address());
        let guess = (cut_off.flatten())
            .or_else(|| self.unreadable_pointer())
            .or_else(|| self.wrong_authority())
            .or_else(|| self.wrong_host());
        if let Some(guess) = guess {
            return guess;
        }
        let alike = self.served_alike();
        let alike = alike.filter(|_| self.trusts_server() == Some(false));
        let alike = alike.map(|(other, at)| row!(ServedAlike other, ago = self.ago(at)));
        let finding = self.silent_by_logs(silence);
        self.with_all(finding, alike)
    }

    /// No request in the logs, and nothing else that says why.
    fn silent_by_logs(&mut self, silence: &Silence) -> Finding {
        if let Some(missing) = self.missing_servers() {
            return self.tell(row!(SilentInSomeLogs missing));
        }
        let doubt = self.perhaps_before();
        if let Some(finding) = doubt.or_else(|| self.without_usable_address()) {
            return finding;
        }
        let image = self.possible_image();
        let (apart, server) = (silence.is_told_apart, self.server());
        let finding = self.tell(row!(ConfigNotAsked apart, server));
        self.with_all(finding, image)
    }

    /// Silence since the logs begin, which is later than the machine was made: it may have got its config
    /// before, and its control plane's first machines do so from the bootstrap machine.
    fn perhaps_before(&mut self) -> Option<Finding> {
        let from = self.created?.plus(CLOCKS);
        if self.facts.logs.begin().is_some_and(|begin| begin <= from) {
            return None;
        }
        let role = self.machine.and_then(|machine| machine.role.as_deref());
        Some(self.tell(row!(PerhapsBeforeLogs first = role == Some("master"))))
    }

    /// The audit's word on the image of its set, where that may be too old for the platform.
    fn possible_image(&mut self) -> Option<Row> {
        let judged = self.judged?;
        let (set, version) = (judged.short_name(), judged.sure_version());
        let is_of_spec_2 = version.is_some_and(|version| {
            // The image's name may say the release alone.
            let named = judged.image.as_deref();
            let named = named.and_then(ImageVersion::from_image_name);
            let both = [Some(ImageVersion::parse(version)), named];
            let mut both = both.iter().flatten();
            both.any(|version| cannot_read(version, USER_DATA))
        });
        // An estimate is of the release with which the set was made.
        let release = self.facts.release.as_deref().unwrap_or_default();
        let is_earlier = judged.estimate.as_ref().is_some_and(|estimate| {
            let patch = release.strip_prefix(&*estimate.ocp_version);
            !patch.is_some_and(|patch| patch.starts_with('.'))
        });
        let is_old = judged.would_be_refused()
            || judged.refused_from.is_some()
            || is_of_spec_2
            || is_earlier;
        let image = match (version, &judged.estimate) {
            (Some(version), _) => version.to_owned(),
            (None, Some(estimate)) => estimate.from.clone(),
            (None, None) => return None,
        };
        self.see(&set, None, format!("boot image {image}"));
        is_old.then(|| row!(ImageTooOld set, image))
    }

    /// An address that it gave itself, where no log was read.
    pub(super) fn with_own_address_alone(&mut self) -> Option<Finding> {
        if self.aliases.addresses.is_empty() {
            return None;
        }
        let alone = self.own_addresses_alone()?;
        let begin = format!("{} is no Node", self.name);
        self.holes.push(("silence", begin));
        Some(self.tell(row!(NoAddressAndNoLog alone)))
    }

    /// No address, or one that a machine gives itself, where it is the machine that tells of its addresses.
    fn without_usable_address(&mut self) -> Option<Finding> {
        let alone = self.own_addresses_alone()?;
        Some(self.tell(row!(NoAddressFromDhcp alone)))
    }

    /// Addresses that it gave itself, where it has no other and is the one that tells of them.
    fn own_addresses_alone(&self) -> Option<String> {
        let machine = self.machine?;
        let is_told_by_cloud = matches!(
            machine.source.platform(),
            None | Some(Platform::Aws | Platform::Azure | Platform::Gcp)
        );
        let is_own = |ip: &IpAddr| match ip {
            IpAddr::V4(ip) => ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_unicast_link_local(),
        };
        let own = &self.aliases.addresses;
        ((!is_told_by_cloud || !own.is_empty()) && own.iter().all(is_own)).then(|| joined(own))
    }

    /// Puts into the evidence that nothing was asked.
    fn see_nothing(&mut self, since: Moment) {
        let addresses = &self.aliases.addresses;
        let from = match (addresses.first(), addresses.len()) {
            (None, _) => "no request that is known as its own, as it has no address,".to_owned(),
            (Some(one), 1) => format!("no request from {one}"),
            (Some(one), all) => {
                format!("no request from {one} or its {} other addresses", all - 1)
            }
        };
        let servers = self.facts.logs.servers().count();
        let logs = if servers == 1 { "log" } else { "logs" };
        let text = format!(
            "since then {from} in the {logs} of {}",
            count(servers, "server")
        );
        self.see(SERVER_LOG, Some(since), text);
    }

    pub(super) fn no_user_data(&self) -> String {
        let Some(secret) = self.secret() else {
            return "its user data, which its installer wrote: its console has Ignition's error"
                .to_owned();
        };
        format!(
            "its user data: {secret} and the machine-config-server's CA (get secrets, configmaps; must-gathers hide Secrets)"
        )
    }

    /// The advice about a CA: it names the ConfigMap that was read.
    pub(super) fn about_authority(&mut self, finding: Finding) -> Finding {
        let facts = self.facts;
        let until = facts.own_authorities.until;
        if let Some(until) = until.filter(|until| *until < self.now) {
            self.see(OWN_AUTHORITY, Some(until), EXPIRED);
            return self.with(finding, row!(RenewAuthority));
        }
        let present = if !facts.own_authorities.fingerprints.is_empty() {
            "ConfigMap machine-config-server-ca of openshift-machine-config-operator"
        } else if facts.root_authorities.fingerprints.is_empty() {
            "that the machine-config-server shows"
        } else {
            "ConfigMap root-ca of kube-system"
        };
        self.with(finding, row!(GiveAuthority present))
    }

    /// Tells if its user data trusts the machine-config-server; `None` where that was not read.
    pub(super) fn trusts_server(&mut self) -> Option<bool> {
        let trusted = &self.user_data()?.authorities.fingerprints;
        let own = self.facts.authorities();
        if own.is_empty() || trusted.is_empty() {
            return None;
        }
        let trusts = !trusted.is_disjoint(own);
        let text = match trusts {
            true => "trusts the machine-config-server's CA",
            false => "has none of the machine-config-server's CAs",
        };
        self.see(self.secret()?, None, text);
        Some(trusts)
    }

    /// The CA in its user data, where that does not fit the machine-config-server's: a client that
    /// distrusts the server is in the server's log.
    fn wrong_authority(&mut self) -> Option<Finding> {
        let row = match self.expired_authority() {
            Some(why) => row!(PerhapsAuthorityExpired why),
            None => match self.trusts_server() {
                Some(false) if self.served_alike().is_none() => row!(PerhapsUnknownAuthority),
                Some(_) => return None,
                None => {
                    self.unseen(self.no_user_data());
                    return None;
                }
            },
        };
        let finding = self.tell(row);
        Some(self.about_authority(finding))
    }

    /// The last that got its config with the same user data since this one was made.
    fn served_alike(&self) -> Option<(&'a str, Moment)> {
        let own = self.machine?;
        let (secret, from) = (own.source.secret()?, self.created?.minus(CLOCKS));
        let served = |other: &'a Machine| {
            let peers = other.ips().filter_map(|ip| self.facts.logs.peers.get(&ip));
            let from = other.metadata.created.max(Some(from));
            let is_served = |one: &&Request| {
                one.is_ignition && one.outcome == Outcome::Served && Some(one.at) >= from
            };
            let all = peers.flat_map(|peer| &peer.requests).filter(is_served);
            Some((&*other.metadata.name, all.map(|one| one.at).max()?))
        };
        let alike = self.facts.all_machines().filter(|other| {
            let is_there = other.metadata.namespace == own.metadata.namespace;
            is_there && other.source.secret() == Some(secret)
        });
        alike.filter_map(served).max_by_key(|(_, at)| *at)
    }

    /// A CA that has expired: the one in its user data, or the machine-config-server's own.
    pub(super) fn expired_authority(&mut self) -> Option<String> {
        self.machine?;
        let own = self.user_data().map(|user_data| &user_data.authorities);
        let over = |of: &Authorities| of.until.filter(|at| *at < self.now);
        let (until, source, whose) = match own.and_then(over) {
            Some(until) => (until, self.secret()?, "the CA in its user data"),
            None => (
                over(&self.facts.own_authorities)?,
                OWN_AUTHORITY.to_owned(),
                "the machine-config-server's CA",
            ),
        };
        self.see(source, Some(until), EXPIRED);
        Some(format!("{whose} expired{}", self.ago(until)))
    }

    /// User data of a spec that the image's Ignition does not read.
    fn unreadable_pointer(&mut self) -> Option<Finding> {
        let spec = self.user_data()?.spec;
        let judged = self.judged?;
        let (set, version) = (judged.short_name(), judged.sure_version()?);
        let ignition = of_image(&ImageVersion::parse(version))?;
        if ignition.can_read(spec) != Some(false) {
            return None;
        }
        let (says, reads) = (ignition.says(), ignition.reads);
        let text = format!("user data of Ignition spec {spec}");
        self.see(self.secret()?, None, text);
        self.see(&set, None, format!("boot image {version}: {says}"));
        Some(self.tell(row!(UserDataSpecTooNew spec, version, says, set, reads)))
    }

    /// User data that asks another host than the cluster's.
    fn wrong_host(&mut self) -> Option<Finding> {
        let host = self.facts.server_host.as_ref()?;
        let hosts = &self.user_data()?.hosts;
        // On bare metal and the like it is an address.
        let is_name = |host: &String| host.parse::<IpAddr>().is_err();
        if hosts.is_empty() || !hosts.iter().all(is_name) || hosts.contains(host) {
            return None;
        }
        let secret = self.secret()?;
        let text = "asks another host than the cluster's internal API";
        self.see(&secret, None, text);
        Some(self.tell(row!(UserDataForOtherHost host, secret)))
    }
}

/// The machine-config-server's own CA, as a source.
const OWN_AUTHORITY: &str = "ConfigMap openshift-machine-config-operator/machine-config-server-ca";

const EXPIRED: &str = "its last CA expired";

/// The HTTP status of a failure, where the client got one.
fn status(kind: FailureKind) -> Option<String> {
    kind.status().map(|status| format!(" ({status})"))
}
