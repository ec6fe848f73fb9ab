//! Requests that were refused, and machines that did not ask: why, and what to do (pure).

use super::case::Case;
use super::explain::Judged;
use super::finding::{Counter, Finding, count, sentence};
use super::ignition_specs::{images_of_agent, of_agent, of_image};
use super::moment::{Moment, span};
use super::request_step::{Seen, Tls};
use super::server_line::FailureKind;
use super::way::{At, Stage};
use crate::version::ImageVersion;

/// What could say otherwise where a request was refused.
const REFUSED_AGAINST: &[Counter] = &[Counter::Requests, Counter::Nodes, Counter::ServerLogs];

/// What could say otherwise where none was made.
const NOT_ASKED_AGAINST: &[Counter] = REFUSED_AGAINST;

impl Case<'_> {
    pub(super) fn refused_request(&mut self, seen: &Seen) -> Finding {
        let logs = &self.facts.logs;
        let Some((kind, error)) = &seen.failure else {
            return self.unreachable_request();
        };
        let pool = logs.text(seen.last.pool).to_owned();
        let agent = logs.text(seen.last.agent).to_owned();
        let client = match agent.as_str() {
            "" => "its Ignition".to_owned(),
            agent => format!("its {}", agent.replace('/', " ")),
        };
        let status = kind
            .status()
            .map_or(String::new(), |status| format!(" ({status})"));
        let begin = format!("{}{status}", self.asked_in_vain(seen));
        let made = |sentence: String| {
            Finding::new(
                Stage::RequestRefused,
                At::Served,
                format!("refused{status}"),
                sentence,
            )
        };
        let finding = match kind {
            FailureKind::NoPool => {
                let finding = made(format!("{begin}: there is no MachineConfigPool {pool}."));
                let others = &self.facts.pools;
                let names: Vec<&str> = others.iter().take(5).map(String::as_str).collect();
                let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
                finding.next(format!("Create MachineConfigPool {pool}, or give the set the user data of one that exists{names}; then delete the Machine"))
            }
            FailureKind::Bootstrap => made(format!("{begin}: the bootstrap machine's server answered, not the cluster's, and it serves the control plane alone."))
                .next("Take the bootstrap machine out of the load balancer of port 22623, or switch it off: Ignition asks again by itself"),
            FailureKind::NoConfig => made(format!("{begin}: {}", sentence(error)))
                .next(format!("Ignition asks again by itself; look at the pool: `oc describe mcp {pool}`"))
                .next("Look at the operator: `oc describe co machine-config`"),
            FailureKind::Conversion => {
                let reads = of_agent(&agent).map_or(String::new(), |spec| format!(", which reads specs up to {spec}"));
                let images = images_of_agent(&agent).map_or(String::new(), |images| format!(" ({images})"));
                made(format!("{begin}: the pool's config cannot be written for {client}{reads}{images}: {}", sentence(error)))
                    .next(format!("Make the machine from a newer boot image, or take out of the MachineConfigs of pool {pool} what this spec does not have"))
            }
            FailureKind::Spec => {
                let images = images_of_agent(&agent).map_or(String::new(), |images| format!(" ({images})"));
                made(format!("{begin}: the machine-config-server has no config of a spec that {client} accepts{images}."))
                    .next("Make the machine from a boot image of the cluster's own release")
            }
            FailureKind::Write => made(format!("{begin}: the connection broke while it was sent: {}", sentence(error)))
                .next("Look at the network and the load balancer of port 22623 between the machine and the control plane (MTU)"),
        };
        if seen.last.is_doubtful {
            self.unseen("whose the failure is: others asked for the same pool at the same time");
            self.unread(REFUSED_AGAINST);
            return finding;
        }
        finding.proved(self, "log of the machine-config-server", REFUSED_AGAINST)
    }

    fn asked_in_vain(&self, seen: &Seen) -> String {
        let (name, when) = (self.name(), self.ago(seen.last.at));
        let pool = self.facts.logs.text(seen.last.pool);
        let times = match seen.count {
            1 => String::new(),
            count => format!(" {count} times"),
        };
        format!(
            "{name} asked{times} for the config of pool {pool}, the last time {when}, and did not get it"
        )
    }

    /// It asks again and again within one boot, as Ignition does when no answer comes, and the server knows
    /// of no error.
    pub(super) fn unanswered_request(&mut self, seen: &Seen, tries: usize) -> Finding {
        let (name, when) = (self.name(), self.ago(seen.last.at));
        let pool = self.facts.logs.text(seen.last.pool).to_owned();
        self.unread(REFUSED_AGAINST);
        self.unseen("whether the last answer arrived: its console has Ignition's error");
        Finding::new(
            Stage::RequestRefused,
            At::Served,
            format!("{tries} tries, no answer arrives"),
            format!(
                "{name} asked for the config of pool {pool} {tries} times in one boot, the last time {when}, as Ignition does when no answer comes; the machine-config-server logged no error: its answers do not arrive, as it seems."
            ),
        )
        .next("Look at the network and the load balancer of port 22623 between the machine and the control plane (MTU, firewall): answers are far larger than requests")
        .next("Look at its console: Ignition says there what it gets")
    }

    /// Another client of its address was refused: the assisted installer, which asks before Ignition does.
    pub(super) fn other_client(&mut self, seen: &Seen) -> Finding {
        let (name, when) = (self.name(), self.ago(seen.last.at));
        let logs = &self.facts.logs;
        let pool = logs.text(seen.last.pool).to_owned();
        let agent = logs.text(seen.last.agent).to_owned();
        let (status, error) = match &seen.failure {
            Some((kind, error)) => (kind.status(), error.clone()),
            None => (None, String::new()),
        };
        let status = status.map_or(String::new(), |status| format!(" ({status})"));
        let who = match agent.starts_with("Go-http-client") {
            true => "the installer on it".to_owned(),
            false => format!("a client on it ({agent})"),
        };
        let finding = Finding::new(
            Stage::RequestRefused,
            At::Served,
            format!("refused{status} to {agent}"),
            format!(
                "{name} has not asked for its config itself; {who} asked {} for the config of pool {pool}, the last time {when}, and did not get it{status}: {}",
                count(seen.count, "time"),
                sentence(&error)
            ),
        )
        .next(format!("Look at the pool: `oc describe mcp {pool}`"))
        .next("The installer goes on once its request is served: correct what the error names");
        if seen.last.is_doubtful {
            self.unseen("whose the failure is: others asked for the same pool at the same time");
            return finding;
        }
        finding.proved(self, "log of the machine-config-server", REFUSED_AGAINST)
    }

    fn unreachable_request(&self) -> Finding {
        Finding::new(Stage::Unknown, At::Served, "", String::new())
    }

    /// It is up, and did not ask.
    pub(super) fn not_asked(
        &mut self,
        since: Moment,
        is_told_apart: bool,
        tls: &Tls,
        judged: Option<&Judged>,
    ) -> Finding {
        self.see_nothing(since);
        let is_whole = self.missing_logs().is_empty();
        let (finding, is_cause) =
            self.why_not_asked((since, is_whole && is_told_apart), tls, judged);
        // Where there are Agents and hosts without a Machine, other clusters are installed.
        let is_of_others = self.machine.is_none();
        if is_of_others {
            self.unseen("whether it joins this cluster: the logs of another's machine-config-servers would have it");
        }
        if !is_told_apart || !is_cause || is_of_others {
            self.unread(NOT_ASKED_AGAINST);
            return finding;
        }
        finding.proved(
            self,
            "logs of all machine-config-servers",
            NOT_ASKED_AGAINST,
        )
    }

    /// The finding, and whether what it says follows from what was read.
    fn why_not_asked(
        &mut self,
        (since, is_whole): (Moment, bool),
        tls: &Tls,
        judged: Option<&Judged>,
    ) -> (Finding, bool) {
        let name = self.name();
        let age = span(self.now.since(since));
        let reached = tls.distrust.is_some() || tls.broken.is_some();
        let odd_state = self.odd_state().filter(|_| !reached).map(str::to_owned);
        let begin = if is_whole {
            let up = odd_state.as_ref().map_or(" is up and", |_| "");
            format!("{name}{up} has not asked for its config in {age}")
        } else {
            format!(
                "{name} has not asked for its config in the last {age}, as far as the logs go back"
            )
        };
        let step = format!("none since {}", since.clock());
        let made = |why: String| {
            Finding::new(
                Stage::NoRequest,
                At::Requested,
                step.clone(),
                format!("{begin}{why}"),
            )
        };
        if let Some((at, error)) = &tls.distrust {
            return self.distrusts(*at, error, &made);
        }
        if let Some((at, error)) = &tls.broken {
            return (self.breaks_tls(*at, error, &made), true);
        }
        if let Some(state) = odd_state {
            self.unseen("whether its instance runs: the cloud's console");
            let finding = made(format!(": its instance's state is {state}."))
                .next("Look in the cloud's console whether it runs");
            return (finding, false);
        }
        if let Some(finding) = self.unreadable_pointer(&begin, &step, judged) {
            return (finding, false);
        }
        // A client that distrusts the server is in the server's log.
        if let Some(why) = self.wrong_authority() {
            let finding = made(format!(": {why}."));
            return (self.about_authority(finding), false);
        }
        if let Some(finding) = self.wrong_host(&begin, &step) {
            return (finding, false);
        }
        let from = self.created().map(|made| made.plus(60));
        if from.is_some_and(|from| self.facts.logs.begin().is_none_or(|begin| begin > from)) {
            return (self.perhaps_before(&begin, &step), false);
        }
        let finding = made(": user data, network or load balancer.".to_owned())
            .next("Look at its console: Ignition says there what it asks for, and the error")
            .next(self.curl());
        (finding, true)
    }

    /// Silence since the logs begin, which is later than the machine was made: it may have got its config
    /// before, and its control plane's first machines do so from the bootstrap machine.
    fn perhaps_before(&self, begin: &str, step: &str) -> Finding {
        let role = self.machine.and_then(|machine| machine.role.as_deref());
        let by = match role {
            Some("master") => ", from the bootstrap machine's server,",
            _ => "",
        };
        Finding::new(
            Stage::Unknown,
            At::Requested,
            step,
            format!("{begin}; whether it did before{by} cannot be told."),
        )
        .next("Look at its console: Ignition says there whether it got its config")
    }

    fn curl(&self) -> String {
        let host = self.facts.server_host.as_deref().unwrap_or("API-INT");
        format!("From its network: `curl -k https://{host}:22623/healthz`")
    }

    /// Puts into the evidence that nothing was asked.
    fn see_nothing(&mut self, since: Moment) {
        let addresses: Vec<String> = self.addresses().iter().map(ToString::to_string).collect();
        let from = match addresses.as_slice() {
            [] => "it has no address yet".to_owned(),
            [one] => format!("no request from {one}"),
            [one, ..] => format!(
                "no request from {one} or its {} other addresses",
                addresses.len() - 1
            ),
        };
        let servers = self.facts.logs.sources.len();
        let text = format!(
            "{from} in the log{} of {servers} server{}",
            if servers == 1 { "" } else { "s" },
            if servers == 1 { "" } else { "s" }
        );
        self.see(
            "log of the machine-config-server",
            Some(since),
            format!("since then {text}"),
        );
    }

    pub(super) fn no_user_data(&self) -> String {
        let Some(machine) = self.machine else {
            return "its user data, which its installer wrote: its console has Ignition's error"
                .to_owned();
        };
        let secret = machine.source.secret().unwrap_or("of its user data");
        let namespace = &machine.metadata.namespace;
        format!(
            "its user data: Secret {namespace}/{secret} and the machine-config-server's CA (get secrets, configmaps; must-gathers hide Secrets)"
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
        finding.next(format!("Give the user data Secret the present CA: {present}, field ignition.security.tls.certificateAuthorities; then delete the Machine"))
    }

    /// Tells if its user data trusts the machine-config-server; `None` where that was not read.
    pub(super) fn trusts_server(&mut self) -> Option<bool> {
        let machine = self.machine?;
        let facts = self.facts;
        let user_data = facts.user_data_of(machine)?;
        let own = facts.authorities();
        if own.is_empty() || user_data.authorities.fingerprints.is_empty() {
            return None;
        }
        let trusts = user_data
            .authorities
            .fingerprints
            .iter()
            .any(|ca| own.contains(ca));
        let secret = machine.source.secret().unwrap_or_default();
        self.see(
            format!("Secret {}/{secret}", machine.metadata.namespace),
            None,
            if trusts {
                "trusts the machine-config-server's CA"
            } else {
                "has none of the machine-config-server's CAs"
            },
        );
        Some(trusts)
    }

    /// The CA in its user data, where that does not fit the machine-config-server's.
    fn wrong_authority(&mut self) -> Option<String> {
        if let Some(why) = self.expired_authority() {
            return Some(why);
        }
        match self.trusts_server() {
            Some(false) => {
                Some("its user data trusts another CA than the machine-config-server's".to_owned())
            }
            Some(true) => None,
            None => {
                self.unseen(self.no_user_data());
                None
            }
        }
    }

    /// A CA that has expired: the one in its user data, or the machine-config-server's own.
    pub(super) fn expired_authority(&mut self) -> Option<String> {
        let machine = self.machine?;
        let (facts, now) = (self.facts, self.now);
        let expired = |until: Option<Moment>| until.filter(|until| *until < now);
        let own = facts.user_data_of(machine);
        if let Some(until) = expired(own.and_then(|user_data| user_data.authorities.until)) {
            let secret = machine.source.secret().unwrap_or_default();
            let source = format!("Secret {}/{secret}", machine.metadata.namespace);
            self.see(source, Some(until), "its last CA expired");
            return Some(format!(
                "the CA in its user data expired {}",
                self.ago(until)
            ));
        }
        let until = expired(facts.own_authorities.until)?;
        let source = "ConfigMap openshift-machine-config-operator/machine-config-server-ca";
        self.see(source, Some(until), "its last CA expired");
        Some(format!(
            "the machine-config-server's CA expired {}",
            self.ago(until)
        ))
    }

    /// User data of a spec that the image's Ignition does not read.
    fn unreadable_pointer(
        &mut self,
        begin: &str,
        step: &str,
        judged: Option<&Judged>,
    ) -> Option<Finding> {
        let machine = self.machine?;
        let user_data = self.facts.user_data_of(machine)?;
        let version = judged?.version.clone()?;
        let ignition = of_image(&ImageVersion::parse(&version))?;
        let spec = user_data.spec;
        let secret = machine.source.secret().unwrap_or_default();
        if ignition.can_read(spec) != Some(false) {
            return None;
        }
        self.see(
            format!("Secret {}/{secret}", machine.metadata.namespace),
            None,
            format!("user data of Ignition spec {spec}"),
        );
        self.see(
            judged?.set.clone(),
            None,
            format!("boot image {version}: {}", ignition.says()),
        );
        Some(
            Finding::new(
                Stage::NoRequest,
                At::Requested,
                step,
                format!(
                    "{begin}: its user data is of Ignition spec {spec}, which its boot image {version} cannot read ({}).",
                    ignition.says()
                ),
            )
            .next(format!("Give {} a newer boot image, or user data of spec {}; then delete the Machine", judged?.set, ignition.reads)),
        )
    }

    /// User data that asks another host than the cluster's.
    fn wrong_host(&mut self, begin: &str, step: &str) -> Option<Finding> {
        let machine = self.machine?;
        let facts = self.facts;
        let own = facts.server_host.as_ref()?;
        let user_data = facts.user_data_of(machine)?;
        // On bare metal and the like it is an address.
        let is_name = |host: &String| host.parse::<std::net::IpAddr>().is_err();
        if user_data.hosts.is_empty()
            || !user_data.hosts.iter().all(is_name)
            || user_data.hosts.contains(own)
        {
            return None;
        }
        let secret = machine.source.secret().unwrap_or_default();
        self.see(
            format!("Secret {}/{secret}", machine.metadata.namespace),
            None,
            "asks another host than the cluster's internal API",
        );
        Some(
            Finding::new(
                Stage::NoRequest,
                At::Requested,
                step,
                format!("{begin}: its user data asks another host than {own}, the cluster's internal API."),
            )
            .next(format!("Compare the URL in Secret {}/{secret} with the cluster's", machine.metadata.namespace)),
        )
    }
}
