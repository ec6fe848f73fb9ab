//! Requests that were refused, and machines that did not ask: why, and what to do (pure).

use super::case::Case;
use super::cause::Cause;
use super::finding::{Finding, sentence};
use super::first_boot::SERVERS;
use super::ground::Counter;
use super::ignition_specs::{Spec, cannot_read, images_of_agent, of_agent, of_image};
use super::moment::{CLOCKS, Moment, span};
use super::request_step::{SERVER_LOG, Seen, Silence};
use super::server_line::FailureKind;
use super::way::Stage;
use crate::forms::shell::word;
use crate::version::ImageVersion;
use skewguard_cluster::names::count;
use skewguard_core::platform::Platform;
use std::net::IpAddr;

/// What could say otherwise where a request was refused, or none was made.
const AGAINST: &[Counter] = &[Counter::Requests, Counter::Nodes, Counter::ServerLogs];

/// The spec of the user data that clusters since 4.6 give their machines.
const USER_DATA: Spec = Spec { major: 3, minor: 0 };

const WHOSE: &str = "whose the failure is: others asked for the same pool at the same time";

const NETWORK: &str = "Look at the network and the load balancer of port 22623 between the machine and the control plane";

/// The beginning of what is said of a machine that did not ask.
pub(super) struct NotAsked {
    begin: String,
    step: String,
}

impl NotAsked {
    /// The finding, with the reason as the end of the sentence.
    pub(super) fn because(&self, cause: Cause, why: &str) -> Finding {
        let sentence = format!("{}{why}", self.begin);
        Finding::new(Stage::NoRequest, cause, self.step.clone(), sentence)
    }
}

/// `its Ignition 2.14.0`, by the name that it gives to the server.
fn client(agent: &str) -> String {
    match agent {
        "" => "its Ignition".to_owned(),
        agent => format!("its {}", agent.replace('/', " ")),
    }
}

/// ` 5 times`; nothing for once.
fn times(count: usize) -> String {
    match count {
        1 => String::new(),
        count => format!(" {count} times"),
    }
}

impl Case<'_> {
    pub(super) fn refused_request(
        &mut self,
        seen: &Seen,
        (kind, error): &(FailureKind, String),
    ) -> Finding {
        let facts = self.facts;
        let pool = facts.logs.text(seen.last.pool);
        let agent = facts.logs.text(seen.last.agent);
        let client = client(agent);
        let images = images_of_agent(agent);
        let images = images.map_or(String::new(), |images| format!(" ({images})"));
        let error_text = error.clone();
        let error = sentence(error);
        let status = status(*kind);
        let times = times(seen.count);
        let begin = format!(
            "{} asked{times} for the config of pool {pool}, the last time{}, and did not get it{status}: ",
            self.name,
            self.ago(seen.last.at)
        );
        let because = |cause, why: String| {
            Finding::new(
                Stage::RequestRefused,
                cause,
                format!("refused{status}"),
                begin + &why,
            )
        };
        let finding = match kind {
            FailureKind::NoPool => {
                let others: Vec<&str> = facts.pools.iter().take(5).map(String::as_str).collect();
                let others = match others.join(", ") {
                    none if none.is_empty() => none,
                    others => format!(" ({others})"),
                };
                because(Cause::PoolMissing, format!("there is no MachineConfigPool {pool}."))
                    .next(format!("Create MachineConfigPool {pool}, or give the set the user data of one that exists{others}; then delete the Machine"))
            }
            FailureKind::Bootstrap => because(Cause::BootstrapAnswers, "the bootstrap machine's server answered, not the cluster's, and it serves the control plane alone.".to_owned())
                .next("Take the bootstrap machine out of the load balancer of port 22623, or switch it off: Ignition asks again by itself"),
            FailureKind::NoConfig => because(Cause::ConfigNotRendered, error)
                .next(format!("Ignition asks again by itself; look at the pool: `oc describe mcp {pool}`", pool = word(pool)))
                .next("Look at the operator: `oc describe co machine-config`"),
            FailureKind::Conversion => {
                let reads = of_agent(agent).map_or(String::new(), |spec| format!(", which reads specs up to {spec}"));
                because(Cause::ConfigNotConvertible, format!("the pool's config cannot be written for {client}{reads}{images}: {error}"))
                    .next(format!("Make the machine from a newer boot image, or take out of the MachineConfigs of pool {pool} what this spec does not have"))
            }
            FailureKind::Spec => because(Cause::IgnitionTooNew, format!("the machine-config-server has no config of a spec that {client} accepts{images}."))
                .next("Make the machine from a boot image of the cluster's own release"),
            FailureKind::Write => because(Cause::ConnectionBreaks, format!("the connection broke while it was sent: {error}"))
                .next(format!("{NETWORK} (MTU)")),
        };
        let finding = finding.says(&error_text);
        if seen.last.is_doubtful {
            self.unseen(WHOSE);
            self.unread(AGAINST);
            return finding;
        }
        finding.proved(self, SERVER_LOG, AGAINST)
    }

    /// It asks again and again within one boot, as Ignition does when no answer comes, and the server knows
    /// of no error.
    pub(super) fn unanswered_request(&mut self, seen: &Seen, tries: usize) -> Finding {
        let (name, when) = (self.name, self.ago(seen.last.at));
        let pool = self.facts.logs.text(seen.last.pool);
        self.unread(AGAINST);
        self.unseen("whether the last answer arrived: its console has Ignition's error");
        Finding::new(
            Stage::RequestRefused, Cause::AnswerLost,
            format!("{tries} tries, no answer arrives"),
            format!(
                "{name} asked for the config of pool {pool} {tries} times in one boot, the last time{when}, as Ignition does when no answer comes; the machine-config-server logged no error: its answers do not arrive, as it seems."
            ),
        )
        .next(format!("{NETWORK} (MTU, firewall): answers are far larger than requests"))
        .next("Look at its console: Ignition says there what it gets")
    }

    /// Another client of its address was refused: the assisted installer, which asks before Ignition does.
    pub(super) fn other_client(
        &mut self,
        seen: &Seen,
        (kind, error): &(FailureKind, String),
    ) -> Finding {
        let (name, when) = (self.name, self.ago(seen.last.at));
        let logs = &self.facts.logs;
        let pool = logs.text(seen.last.pool);
        let agent = logs.text(seen.last.agent);
        let status = status(*kind);
        let who = match agent.starts_with("Go-http-client") {
            true => "the installer on it".to_owned(),
            false => format!("a client on it ({agent})"),
        };
        let finding = Finding::new(
            Stage::RequestRefused, Cause::InstallerRefused,
            format!("refused{status} to {agent}"),
            format!(
                "{name} has not asked for its config itself; {who} asked {} for the config of pool {pool}, the last time{when}, and did not get it{status}: {}",
                count(seen.count, "time"),
                sentence(error)
            ),
        )
        .next(format!("Look at the pool: `oc describe mcp {pool}`", pool = word(pool)))
        .next("The installer goes on once its request is served: correct what the error names");
        if seen.last.is_doubtful {
            self.unseen(WHOSE);
            return finding;
        }
        finding.proved(self, SERVER_LOG, AGAINST)
    }

    /// It is up, and did not ask.
    pub(super) fn not_asked(&mut self, silence: &Silence) -> Finding {
        self.see_nothing(silence.since);
        if let Some(finding) = self.perhaps_a_node(silence) {
            self.unread(AGAINST);
            return finding;
        }
        let (finding, is_cause) = self.why_not_asked(silence);
        // Where there are Agents and hosts without a Machine, other clusters are installed.
        let is_of_others = self.machine.is_none();
        if is_of_others {
            self.unseen("whether it joins this cluster: the logs of another's machine-config-servers would have it");
        }
        let is_doubted = self.is_doubted();
        if !silence.is_told_apart || !is_cause || is_of_others || is_doubted {
            self.unread(AGAINST);
            return finding;
        }
        finding.proved(self, "logs of all machine-config-servers", AGAINST)
    }

    /// Nodes that no Machine names and that came since, not more than machines that wait: it may be one of them,
    /// with another name and address.
    fn perhaps_a_node(&mut self, silence: &Silence) -> Option<Finding> {
        let is_silent = silence.tls.distrust.is_none() && silence.tls.broken.is_none();
        let made = self.machine?.metadata.created.filter(|_| is_silent)?;
        let later = self.nodes_of_nobody_since(made);
        if later.len() > self.index.unnamed {
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
        let request = strangers
            .filter(|one| one.first >= made)
            .map(|one| &one.last.metadata.name);
        let nodes = self.index.nodes_of_nobody.iter();
        let node = nodes
            .filter(|node| node.metadata.created >= made)
            .map(|node| &node.metadata.name);
        let (request, node) = (request.min(), node.min());
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
    fn says_silence(&self, silence: &Silence, is_up: bool) -> String {
        let name = self.name;
        let age = span(silence.until.since(silence.since));
        let is_whole = self.missing_logs().is_empty();
        match (silence.is_told_apart, is_whole) {
            (true, true) => {
                let up = if is_up { " is up and" } else { "" };
                format!("{name}{up} has not asked for its config in {age}")
            }
            (false, true) => format!(
                "{name} has not asked for its config in {age} from an address that is known as its own"
            ),
            (_, false) if silence.until <= silence.since => {
                format!("{name} did not ask for its config, as far as the logs go")
            }
            (_, false) if self.end_of_logs().is_some() => format!(
                "{name} did not ask for its config in {age} up to {}, where the logs end",
                silence.until.clock()
            ),
            (_, false) => format!(
                "{name} has not asked for its config in the last {age}, as far as the logs go back"
            ),
        }
    }

    /// The finding, and whether what it says follows from what was read.
    fn why_not_asked(&mut self, silence: &Silence) -> (Finding, bool) {
        let tls = &silence.tls;
        let reached = tls.distrust.is_some() || tls.broken.is_some();
        let odd_state = self.odd_state().filter(|_| !reached);
        let begin = self.says_silence(silence, odd_state.is_none());
        let step = format!("none since {}", silence.since.clock());
        let told = NotAsked { begin, step };
        if let Some((at, error)) = &tls.distrust {
            return self.distrusts(*at, error, &told);
        }
        if let Some((at, error)) = &tls.broken {
            return (self.breaks_tls(*at, error, &told), true);
        }
        if let Some(state) = odd_state {
            self.unseen("whether its instance runs: the cloud's console");
            let finding = told.because(
                Cause::InstanceStateOdd,
                &format!(": its instance's state is {state}."),
            );
            return (
                finding.next("Look in the cloud's console whether it runs"),
                false,
            );
        }
        if let Some(why) = self.no_server_is_ready() {
            return (
                told.because(Cause::NoServerReady, &format!(": {why}."))
                    .next(SERVERS),
                false,
            );
        }
        // Without an address that others reach, none of these is asked for.
        let is_cut_off = !self.aliases.addresses.is_empty();
        let cut_off = is_cut_off.then(|| self.without_usable_address(&told));
        let guess = (cut_off.flatten())
            .or_else(|| self.unreadable_pointer(&told))
            .or_else(|| self.wrong_authority(&told))
            .or_else(|| self.wrong_host(&told));
        if let Some(guess) = guess {
            return (guess, false);
        }
        if let Some(missing) = self.missing_servers() {
            let sentence = format!(
                "{}: {missing} were not read, and may have its request.",
                told.begin
            );
            let finding =
                Finding::new(Stage::Unknown, Cause::SilentInSomeLogs, told.step, sentence);
            return (finding.next("Get the other logs first: `oc get pods -n openshift-machine-config-operator -l k8s-app=machine-config-server`, and `oc logs` of each"), false);
        }
        if let Some(finding) = self
            .perhaps_before(&told)
            .or_else(|| self.without_usable_address(&told))
        {
            return (finding, false);
        }
        let causes = "user data, network or load balancer.";
        let why = if silence.is_told_apart {
            format!("; possible causes: {causes}")
        } else {
            format!(
                "; where no request of an unknown address is its own, possible causes: {causes}"
            )
        };
        let image = self.possible_image();
        let finding = told
            .because(Cause::ConfigNotAsked, &why)
            .next("Look at its console: Ignition says there what it asks for, and the error")
            .next(format!(
                "From its network: `curl -k https://{}:22623/healthz`",
                self.server()
            ));
        (image.into_iter().fold(finding, Finding::next), true)
    }

    /// Silence since the logs begin, which is later than the machine was made: it may have got its config
    /// before, and its control plane's first machines do so from the bootstrap machine.
    fn perhaps_before(&self, told: &NotAsked) -> Option<Finding> {
        let from = self.created?.plus(CLOCKS);
        if self.facts.logs.begin().is_some_and(|begin| begin <= from) {
            return None;
        }
        let role = self.machine.and_then(|machine| machine.role.as_deref());
        let by = match role {
            Some("master") => ", from the bootstrap machine's server,",
            _ => "",
        };
        let sentence = format!("{}; whether it did before{by} cannot be told.", told.begin);
        let finding = Finding::new(
            Stage::Unknown,
            Cause::PerhapsBeforeLogs,
            told.step.clone(),
            sentence,
        );
        Some(finding.next("Look at its console: Ignition says there whether it got its config"))
    }

    /// The audit's word on the image of its set, where that may be too old for the platform.
    fn possible_image(&mut self) -> Option<String> {
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
        is_old.then(|| format!("A possible cause is the boot image of {set} ({image}): one that is too old for its platform never comes up. `oc skewguard audit` has what to set"))
    }

    /// An address that it gave itself, where no log was read.
    pub(super) fn with_own_address_alone(&mut self) -> Option<Finding> {
        if self.aliases.addresses.is_empty() {
            return None;
        }
        let told = NotAsked {
            begin: format!("{} is no Node", self.name),
            step: "not seen".to_owned(),
        };
        self.without_usable_address(&told)
    }

    /// No address, or one that a machine gives itself, where it is the machine that tells of its addresses.
    fn without_usable_address(&mut self, told: &NotAsked) -> Option<Finding> {
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
        if is_told_by_cloud || !own.iter().all(is_own) {
            return None;
        }
        let own: Vec<String> = own.iter().map(IpAddr::to_string).collect();
        let has = match own.as_slice() {
            [] => "no address".to_owned(),
            own => format!("{} alone, which it gave itself", own.join(", ")),
        };
        self.unseen("whether DHCP answers it: its console, and the DHCP server's log");
        let why = format!(
            ": it has {has}; DHCP, its network or its port group gave it none, as it seems."
        );
        let finding = told.because(Cause::NoAddressFromDhcp, &why);
        Some(finding.next("Look at its console for its addresses, and at DHCP: the server, its range, its relay, the VLAN"))
    }

    /// The name by which machines reach the machine-config-servers.
    pub(super) fn server(&self) -> &str {
        self.facts.server_host.as_deref().unwrap_or("API-INT")
    }

    /// Puts into the evidence that nothing was asked.
    fn see_nothing(&mut self, since: Moment) {
        let addresses: Vec<String> = self
            .aliases
            .addresses
            .iter()
            .map(IpAddr::to_string)
            .collect();
        let from = match addresses.as_slice() {
            [] => "it has no address yet".to_owned(),
            [one] => format!("no request from {one}"),
            [one, others @ ..] => format!(
                "no request from {one} or its {} other addresses",
                others.len()
            ),
        };
        let servers = self.facts.logs.sources.len();
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
    pub(super) fn about_authority(&self, finding: Finding) -> Finding {
        let facts = self.facts;
        let present = if !facts.own_authorities.fingerprints.is_empty() {
            "ConfigMap machine-config-server-ca of openshift-machine-config-operator"
        } else if facts.root_authorities.fingerprints.is_empty() {
            "that the machine-config-server shows"
        } else {
            "ConfigMap root-ca of kube-system"
        };
        if facts
            .own_authorities
            .until
            .is_some_and(|until| until < self.now)
        {
            return finding.next("Renew the machine-config-server's own CA first, which has expired: `oc adm ocp-certificates regenerate-machine-config-server-serving-cert`; then give the user data Secrets the new one, and delete the Machine last");
        }
        finding.next(format!("Give the user data Secret the present CA: {present}, field ignition.security.tls.certificateAuthorities; then delete the Machine"))
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
    fn wrong_authority(&mut self, told: &NotAsked) -> Option<Finding> {
        let why = match self.expired_authority() {
            Some(why) => why,
            None => match self.trusts_server() {
                Some(false) => OTHER_CA.to_owned(),
                Some(true) => return None,
                None => {
                    self.unseen(self.no_user_data());
                    return None;
                }
            },
        };
        Some(self.about_authority(told.because(Cause::UnknownAuthority, &format!(": {why}."))))
    }

    /// A CA that has expired: the one in its user data, or the machine-config-server's own.
    pub(super) fn expired_authority(&mut self) -> Option<String> {
        self.machine?;
        let of_secret = self
            .user_data()
            .and_then(|user_data| user_data.authorities.until);
        let of_server = self.facts.own_authorities.until;
        let (until, source, whose) = if let Some(until) = of_secret.filter(|at| *at < self.now) {
            (until, self.secret()?, "the CA in its user data")
        } else {
            let source = "ConfigMap openshift-machine-config-operator/machine-config-server-ca";
            let until = of_server.filter(|at| *at < self.now)?;
            (until, source.to_owned(), "the machine-config-server's CA")
        };
        self.see(source, Some(until), "its last CA expired");
        Some(format!("{whose} expired{}", self.ago(until)))
    }

    /// User data of a spec that the image's Ignition does not read.
    fn unreadable_pointer(&mut self, told: &NotAsked) -> Option<Finding> {
        let spec = self.user_data()?.spec;
        let judged = self.judged?;
        let (set, version) = (judged.short_name(), judged.sure_version()?);
        let ignition = of_image(&ImageVersion::parse(version))?;
        if ignition.can_read(spec) != Some(false) {
            return None;
        }
        let says = ignition.says();
        self.see(
            self.secret()?,
            None,
            format!("user data of Ignition spec {spec}"),
        );
        self.see(&set, None, format!("boot image {version}: {says}"));
        let finding = told.because(Cause::UserDataSpecTooNew, &format!(": its user data is of Ignition spec {spec}, which its boot image {version} cannot read ({says})."));
        Some(finding.next(format!(
            "Give {set} a newer boot image, or user data of spec {}; then delete the Machine",
            ignition.reads
        )))
    }

    /// User data that asks another host than the cluster's.
    fn wrong_host(&mut self, told: &NotAsked) -> Option<Finding> {
        let own = self.facts.server_host.as_ref()?;
        let hosts = &self.user_data()?.hosts;
        // On bare metal and the like it is an address.
        let is_name = |host: &String| host.parse::<IpAddr>().is_err();
        if hosts.is_empty() || !hosts.iter().all(is_name) || hosts.contains(own) {
            return None;
        }
        let secret = self.secret()?;
        let help = format!("Compare the URL in {secret} with the cluster's");
        self.see(
            secret,
            None,
            "asks another host than the cluster's internal API",
        );
        let why =
            format!(": its user data asks another host than {own}, the cluster's internal API.");
        Some(told.because(Cause::UserDataForOtherHost, &why).next(help))
    }
}

pub(super) const OTHER_CA: &str =
    "its user data trusts another CA than the machine-config-server's";

/// The HTTP status of a failure, where the client got one.
fn status(kind: FailureKind) -> String {
    let status = kind.status();
    status.map_or(String::new(), |status| format!(" ({status})"))
}
