//! Machines without an instance, and instances that do not run (pure).

use super::case::{Case, Subject};
use super::finding::{Counter, Finding, sentence};
use super::moment::span;
use super::way::{At, Stage};
use skewguard_cluster::kinds::agent::Agent;
use skewguard_cluster::kinds::groups::KARPENTER;
use skewguard_cluster::kinds::host::Host;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::metadata::{Condition, condition};

/// The failures of clouds, in paragraphs: a name, what helps, and after a tab each what the message
/// contains, in lower case. The first one that knows a message counts, the last one knows all.
const FAILURES: &str = include_str!("failures.txt");

/// What helps against a failure.
fn what_helps(message: &str) -> &'static str {
    let message = message.to_ascii_lowercase();
    let mut last = "";
    for paragraph in FAILURES.split("\n\n") {
        last = paragraph.lines().nth(1).unwrap_or_default();
        let words = paragraph.lines().filter_map(|line| line.strip_prefix('\t'));
        if words.into_iter().any(|words| message.contains(words)) {
            return last;
        }
    }
    last
}

/// States of a cloud's instance that runs nothing.
const OFF: &str = "error stopped stopping terminated shutting-down deallocated deallocating poweredoff off \
    shutoff paused suspended suspending failed deleted deleting soft_deleted shelved shelved_offloaded";

/// States of one that runs.
const ON: &str = "running active poweredon on succeeded";

fn is_one_of(states: &str, state: &str) -> bool {
    let state = state.to_ascii_lowercase();
    states.split_whitespace().any(|known| known == state)
}

fn is_off(state: &str) -> bool {
    is_one_of(OFF, state)
}

impl Case<'_> {
    /// The instance: what stands where there is one, and the finding where there is none.
    pub(super) fn instance(&mut self) -> Result<String, Finding> {
        match self.subject {
            Subject::Machine(machine) => self.machine_instance(machine),
            Subject::Host(host) => self.host_instance(host),
            Subject::Agent(agent) => self.agent_instance(agent),
            Subject::Request(_) | Subject::Set(_) | Subject::NodePool(_) => Ok(String::new()),
        }
    }

    fn machine_instance(&mut self, machine: &Machine) -> Result<String, Finding> {
        if machine.group == KARPENTER {
            return self.claimed_instance(machine);
        }
        let phase = machine.phase.as_deref().unwrap_or_default();
        self.see(
            format!("{}, status.phase", self.object()),
            machine.since,
            if phase.is_empty() { "none" } else { phase },
        );
        if machine.is_failed() {
            return Err(self.failed(machine));
        }
        // The host of a Machine says more than the Machine, whose phase stays `Provisioning`.
        let host = self.host.filter(|host| !host.state.is_empty());
        let of_host = host.map(|host| self.host_instance(host)).transpose()?;
        let exists = condition(&machine.conditions, "InstanceExists");
        let is_made = machine.provider_id.is_some()
            || machine.instance.is_some()
            || !machine.addresses.is_empty()
            || matches!(phase, "Provisioned" | "Running")
            || exists.is_some_and(|exists| exists.status == "True");
        if !is_made {
            return Err(match self.paused(machine) {
                Some(finding) => finding,
                None => self.not_made(machine),
            });
        }
        if let Some(state) = machine.instance_state.as_deref()
            && is_off(state)
        {
            return Err(self.off(state));
        }
        let name = machine.instance.as_deref();
        let name = name.or(machine.provider_id.as_deref());
        Ok(of_host.unwrap_or_else(|| name.unwrap_or("there").to_owned()))
    }

    /// The state of its instance, where that is neither known to run nor known not to.
    pub(super) fn odd_state(&self) -> Option<&str> {
        let state = self.machine?.instance_state.as_deref()?;
        (!state.is_empty() && !is_one_of(ON, state) && !is_off(state)).then_some(state)
    }

    fn off(&mut self, state: &str) -> Finding {
        let name = self.name();
        let source = format!("{}, the instance's state", self.object());
        self.see(source.clone(), None, format!("instance state {state}"));
        let is_error = matches!(&*state.to_ascii_lowercase(), "error" | "failed");
        Finding::new(
            Stage::NoInstance,
            At::Instance,
            format!("the instance is {state}"),
            format!("{name}'s instance is not up: its state is {state}."),
        )
        .next(if is_error {
            "Read in the cloud's console why: an instance in this state is not started again"
        } else {
            "Start it in the cloud's console, or delete the Machine"
        })
        .proved(self, source, &[Counter::Nodes])
    }

    /// A Machine in the phase `Failed`, which is final. It says so itself, whatever its Node does.
    fn failed(&mut self, machine: &Machine) -> Finding {
        let reason = machine.error_reason.as_deref();
        let message = machine.error_message.as_deref();
        let parts: Vec<&str> = [reason, message].into_iter().flatten().collect();
        let text = match parts.as_slice() {
            [] => self.why_not_made(machine),
            parts => parts.join(": "),
        };
        let source = format!("{}, status.errorReason and errorMessage", self.object());
        let shown = if text.is_empty() { "none" } else { &text };
        self.see(source.clone(), machine.since, shown.to_owned());
        let name = self.name();
        let state = machine
            .instance_state
            .as_deref()
            .filter(|state| is_off(state));
        let why = match (text.as_str(), state) {
            ("", None) => ": it does not say why.".to_owned(),
            ("", Some(state)) => format!(": its instance is {state}."),
            (text, None) => format!(": {}", sentence(text)),
            (text, Some(state)) => format!(": {} Its instance is {state}.", sentence(text)),
        };
        let node = self.node().map_or(String::new(), |node| {
            let ready = node.ready.as_ref().filter(|ready| ready.status != "True");
            let ready = ready.map_or(String::new(), |ready| {
                format!(" and not Ready: {}", sentence(&ready.says()))
            });
            let end = if ready.is_empty() { "." } else { "" };
            format!(
                " Its Node {} is still there{ready}{end}",
                node.metadata.name
            )
        });
        Finding::new(
            Stage::NoInstance,
            At::Instance,
            reason.unwrap_or("Failed").to_owned(),
            format!("{name} has failed{why}{node}"),
        )
        .next(format!(
            "{}; then delete the Machine: one that failed is not tried again",
            what_helps(&text)
        ))
        .proved(self, source, &[Counter::Itself])
    }

    /// A Machine that its controller leaves alone.
    fn paused(&mut self, machine: &Machine) -> Option<Finding> {
        let name = self.name();
        let made = |step: &str, why: String| {
            Finding::new(
                Stage::NoInstance,
                At::Instance,
                step,
                format!("{name} has no instance: {why}"),
            )
        };
        let authority = machine.authority.as_deref().unwrap_or_default();
        if !machine.is_of_cluster_api() && authority == "ClusterAPI" {
            self.unseen("its copy of the Cluster API, which counts: Machine of cluster.x-k8s.io in openshift-cluster-api");
            let why =
                "its other copy counts, of the Cluster API (authoritativeAPI), and was not read.";
            return Some(made("the other copy counts", why.to_owned()));
        }
        let paused =
            condition(&machine.conditions, "Paused").filter(|paused| paused.status == "True");
        if let Some(paused) = paused {
            self.see_condition(paused);
        }
        if paused.is_none() && !machine.is_paused {
            return None;
        }
        let says = match paused {
            Some(paused) => paused.says(),
            None => "annotation cluster.x-k8s.io/paused".to_owned(),
        };
        let object = self.object();
        let source = format!("{object}, condition Paused");
        let finding = made(
            "it is paused",
            format!("{object} is paused: {}", sentence(&says)),
        );
        let finding = if authority == "Migrating" {
            finding.next("Wait until it is moved between the two Machine APIs; its condition Synchronized says what keeps it")
        } else if machine.is_paused {
            finding.next(format!(
                "Find out who paused it, then take the annotation away: `oc annotate machines.cluster.x-k8s.io -n {} {name} cluster.x-k8s.io/paused-`",
                machine.metadata.namespace
            ))
        } else {
            finding.next("Find out who paused it, or its Cluster")
        };
        Some(finding.proved(self, source, &[Counter::Nodes]))
    }

    /// A Machine whose instance is not there yet, or is refused to it.
    fn not_made(&mut self, machine: &Machine) -> Finding {
        let parts = [&machine.error_reason, &machine.error_message];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        let why = match parts.as_slice() {
            [] => self.why_not_made(machine),
            parts => {
                let text = parts.join(": ");
                let source = format!("{}, status.errorReason and errorMessage", self.object());
                self.see(source, machine.since, text.clone());
                text
            }
        };
        let name = self.name();
        let age = self.created().map(|created| span(self.now.since(created)));
        let age = age.map_or(String::new(), |age| format!(" after {age}"));
        if why.is_empty() {
            self.unread(&[Counter::Host]);
            self.unseen("why: the machine-controller's log (get pods/log in openshift-machine-api), or the cloud's console");
            return Finding::new(
                Stage::NoInstance,
                At::Instance,
                "there is none",
                format!("{name} has no instance{age}, and no condition or Event says why."),
            )
            .next("Read the machine-controller's log: `oc logs -n openshift-machine-api deployment/machine-api-controllers -c machine-controller`");
        }
        let hosts = if why.contains("BareMetalHost") {
            self.free_hosts(machine)
        } else {
            String::new()
        };
        Finding::new(
            Stage::NoInstance,
            At::Instance,
            "there is none",
            format!("{name} has no instance{age}: {}{hosts}", sentence(&why)),
        )
        .next(what_helps(&why))
        .next("Leave the Machine: its controller tries again by itself")
        .proved(self, self.object(), &[Counter::Nodes, Counter::Host])
    }

    /// The hosts of no Machine, in their own words.
    fn free_hosts(&mut self, machine: &Machine) -> String {
        let facts = self.facts;
        let mut said = Vec::new();
        let free = facts.hosts.iter().filter(|host| {
            host.consumer.is_none() && host.metadata.namespace == machine.metadata.namespace
        });
        for host in free {
            let full_name = host.metadata.full_name();
            let words = words(host);
            self.see(
                format!("BareMetalHost {full_name}, status"),
                host.since,
                words.clone(),
            );
            said.push(format!("host {full_name} is {words}"));
        }
        let more = said.len().saturating_sub(3);
        said.truncate(3);
        if more > 0 {
            said.push(format!("{more} more"));
        }
        match said.as_slice() {
            [] => String::new(),
            said => format!(" Of no Machine: {}", sentence(&said.join("; "))),
        }
    }

    /// The condition or the Event that says why there is no instance; empty where none does.
    fn why_not_made(&mut self, machine: &Machine) -> String {
        let no =
            |condition: &&Condition| condition.status == "False" && condition.kind != "Drainable";
        let blame = |kinds: &[&str]| {
            let all = machine
                .provider_conditions
                .iter()
                .chain(&machine.conditions);
            all.filter(no)
                .find(|condition| {
                    kinds.contains(&&*condition.kind) && !condition.message.is_empty()
                })
                .cloned()
        };
        let condition = blame(&[
            "MachineCreation",
            "MachineCreated",
            "InfrastructureReady",
            "BootstrapReady",
            "InstanceExists",
            "Ready",
        ]);
        let events = self.index.events_of(machine);
        let event = events
            .iter()
            .rev()
            .find(|event| event.is_warning && event.reason.starts_with("Failed"));
        // Of an instance that is not made yet the condition says no more than that.
        let is_bare = |condition: &Condition| condition.reason == "InstanceNotCreated";
        match (&condition, event) {
            (Some(condition), None) => {
                self.see_condition(condition);
                condition.says()
            }
            (Some(condition), Some(_)) if !is_bare(condition) => {
                self.see_condition(condition);
                condition.says()
            }
            (_, Some(event)) => {
                let source = format!("Event {} of {}", event.reason, self.object());
                self.see(source, event.last, event.message.clone());
                event.message.clone()
            }
            (None, None) => String::new(),
        }
    }

    fn host_instance(&mut self, host: &Host) -> Result<String, Finding> {
        let full_name = host.metadata.full_name();
        let source = format!("BareMetalHost {full_name}, status.provisioning.state");
        self.see(source.clone(), host.since, host.state.clone());
        let is_installed = host.is_external || host.state == "provisioned";
        if let Some(kind) = &host.error_type {
            let message = host.error_message.clone().unwrap_or_default();
            let source = format!("BareMetalHost {full_name}, status.errorMessage");
            self.see(source.clone(), None, format!("{kind}: {message}"));
            // An error of one that is installed is about its management.
            if !is_installed {
                let name = self.name();
                return Err(Finding::new(
                    Stage::NoInstance,
                    At::Instance,
                    format!("{kind} of host {full_name}"),
                    format!(
                        "{name} is not installed: host {full_name} has {kind}: {}",
                        sentence(&message)
                    ),
                )
                .next("Correct what the message names; the host is then tried again by itself")
                .proved(self, source, &[Counter::Nodes]));
            }
        }
        if is_installed {
            return self.installed_host(host, source);
        }
        let since = host.since.map_or(String::new(), |since| {
            format!(" for {}", span(self.now.since(since)))
        });
        let name = self.name();
        Err(Finding::new(
            Stage::NoInstance,
            At::Instance,
            format!("host {full_name} is {}", host.state),
            format!(
                "{name} is not installed yet: host {full_name} is {}{since}.",
                host.state
            ),
        )
        .next(format!(
            "Look at the host: `oc describe baremetalhosts.metal3.io -n {} {}`",
            host.metadata.namespace, host.metadata.name
        ))
        .proved(self, source, &[Counter::Nodes]))
    }

    fn installed_host(&mut self, host: &Host, source: String) -> Result<String, Finding> {
        let full_name = host.metadata.full_name();
        if host.is_on != Some(false) {
            return Ok(format!("host {full_name}, {}", host.state));
        }
        let name = self.name();
        Err(Finding::new(
            Stage::NoInstance,
            At::Instance,
            format!("host {full_name} is off"),
            format!("{name} is installed, and its host {full_name} is powered off."),
        )
        .next(format!(
            "Set spec.online of BareMetalHost {full_name} to true"
        ))
        .proved(self, source, &[Counter::Nodes]))
    }

    fn agent_instance(&mut self, agent: &Agent) -> Result<String, Finding> {
        let state = if agent.state.is_empty() {
            "unknown"
        } else {
            &agent.state
        };
        let info = agent.state_info.clone().unwrap_or_default();
        let progress = agent.progress.as_deref().unwrap_or_default();
        let source = format!("{}, status.debugInfo and status.progress", self.object());
        let text = format!("{state} {progress}: {info}");
        self.see(source.clone(), None, text.trim_end_matches([':', ' ']));
        let name = self.name();
        let is_past_write = matches!(
            progress,
            "Rebooting" | "Configuring" | "Waiting for ignition" | "Joined" | "Done"
        );
        let waits_for_user = state.ends_with("-pending-user-action");
        if is_past_write && !waits_for_user && state != "error" {
            return Ok(format!("agent {state}, {progress}"));
        }
        let at = match progress {
            "" => state.to_owned(),
            progress => format!("{state}, {progress}"),
        };
        let bad = agent.conditions.iter().find(|condition| {
            matches!(
                &*condition.kind,
                "SpecSynced" | "Connected" | "RequirementsMet" | "Validated"
            ) && condition.status == "False"
        });
        if let Some(bad) = bad {
            self.see_condition(bad);
        }
        let bad = bad.map_or(String::new(), |bad| format!(" {}", sentence(&bad.says())));
        let end = match info.as_str() {
            "" => format!(".{bad}"),
            info => format!(": {}{bad}", sentence(info)),
        };
        let finding = Finding::new(
            Stage::NoInstance,
            At::Instance,
            format!("agent is {at}"),
            if waits_for_user {
                format!("{name} waits for its user: its Agent is {at}{end}")
            } else {
                format!("{name} is not installed: its Agent is {at}{end}")
            },
        );
        let finding = finding.next(agent_advice(agent, waits_for_user));
        Err(finding.proved(self, source, &[Counter::Itself]))
    }
}

/// What to do for an agent that does not go on.
fn agent_advice(agent: &Agent, waits_for_user: bool) -> String {
    let info = agent.state_info.as_deref().unwrap_or_default();
    if waits_for_user && info.contains("booted the installation image") {
        "Correct the boot order in its firmware, its disk first, or take the ISO out; then start it again".to_owned()
    } else if agent.is_approved == Some(false) {
        format!(
            "Approve it, if the host is yours: `oc patch agents.agent-install.openshift.io -n {} {} --type merge -p '{{\"spec\":{{\"approved\":true}}}}'`",
            agent.metadata.namespace, agent.metadata.name
        )
    } else if waits_for_user {
        "Do what its Agent says; it then goes on by itself".to_owned()
    } else {
        "Correct what the Agent's conditions name".to_owned()
    }
}

/// The state of a host, and its error if it has one.
fn words(host: &Host) -> String {
    let state = match &*host.state {
        "" => "without a state",
        state => state,
    };
    match (&host.error_type, &host.error_message) {
        (Some(kind), Some(message)) => format!("{state}, {kind}: {message}"),
        (Some(kind), None) => format!("{state}, {kind}"),
        (None, _) => state.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_a_name_and_what_helps() {
        for paragraph in FAILURES.split("\n\n") {
            let lines: Vec<&str> = paragraph.trim_end().lines().collect();
            assert!(lines.len() >= 2, "{paragraph}");
            assert!(
                lines[..2].iter().all(|line| !line.starts_with('\t')),
                "{paragraph}"
            );
            for words in &lines[2..] {
                assert!(
                    words.starts_with('\t') && *words == words.to_lowercase(),
                    "{words}"
                );
            }
        }
        assert_eq!(what_helps("whatever"), "Correct what the message names");
        assert_eq!(
            what_helps("QuotaExceeded"),
            "Raise the quota, or ask for less"
        );
    }
}
