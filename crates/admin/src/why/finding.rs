//! The stage that a machine reached, by what is seen (pure). What is seen later on the way proves
//! all that comes before.

use super::case::{Case, Subject};
use super::kinds::{Condition, Machine, condition};
use super::moment::{Moment, span};
use super::report::{Mark, Stage, Step};

/// The steps on the way to a Node.
pub(super) const STEPS: [&str; 7] = [
    "instance",
    "config requested",
    "config served",
    "let in",
    "first boot",
    "certificate",
    "Node",
];

/// The places of [`STEPS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum At {
    Instance,
    Requested,
    Served,
    LetIn,
    FirstBoot,
    Certificate,
    Node,
}

/// The step at which it stopped, and why.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) stage: Stage,
    pub(super) at: At,
    /// The text beside the step.
    pub(super) step: String,
    pub(super) is_certain: bool,
    pub(super) sentence: String,
    pub(super) next: Vec<String>,
}

impl Finding {
    pub(super) fn new(stage: Stage, at: At, step: impl Into<String>, sentence: String) -> Self {
        Self {
            stage,
            at,
            step: step.into(),
            is_certain: true,
            sentence,
            next: Vec::new(),
        }
    }

    pub(super) fn next(mut self, what: impl Into<String>) -> Self {
        self.next.push(what.into());
        self
    }

    pub(super) fn doubtful(mut self, is_doubtful: bool) -> Self {
        self.is_certain &= !is_doubtful;
        self
    }

    /// The steps: those before are done, as far as nothing says otherwise, those behind were not
    /// reached.
    pub(super) fn steps(&self, known: &[(At, String)]) -> Vec<Step> {
        let text = |at: At| {
            let found = known.iter().rev().find(|(of, _)| *of == at);
            found.map(|(_, text)| text.clone()).unwrap_or_default()
        };
        let all = [
            At::Instance,
            At::Requested,
            At::Served,
            At::LetIn,
            At::FirstBoot,
            At::Certificate,
            At::Node,
        ];
        all.into_iter()
            .zip(STEPS)
            .map(|(at, name)| {
                let is_known = known.iter().any(|(of, _)| *of >= at);
                let (mark, text) = match (self.stage, at.cmp(&self.at)) {
                    (Stage::Joined, _) => (Mark::Done, text(at)),
                    (_, std::cmp::Ordering::Greater) => (Mark::NotReached, text(at)),
                    (Stage::Unknown, std::cmp::Ordering::Equal) => {
                        (Mark::Unknown, self.step.clone())
                    }
                    (_, std::cmp::Ordering::Equal) => (Mark::Stopped, self.step.clone()),
                    (_, std::cmp::Ordering::Less) if is_known => (Mark::Done, text(at)),
                    // Without the agent nobody looks at the boot image.
                    (_, std::cmp::Ordering::Less)
                        if at == At::LetIn && self.at == At::FirstBoot =>
                    {
                        (Mark::Unknown, "no report of skewguard".to_owned())
                    }
                    // What comes later was seen: it went through here.
                    (Stage::Unknown, std::cmp::Ordering::Less) => (Mark::Unknown, text(at)),
                    (_, std::cmp::Ordering::Less) => (Mark::Done, text(at)),
                };
                Step { name, mark, text }
            })
            .collect()
    }
}

/// A cloud's failures by their words, and what helps.
const FAILURES: [(&[&str], &str); 4] = [
    (
        &["quota", "limit exceeded", "LimitExceeded", "QuotaExceeded"],
        "Raise the quota, or ask for less; then delete the Machine",
    ),
    (
        &[
            "InsufficientInstanceCapacity",
            "InsufficientResources",
            "capacity",
            "ZonalAllocationFailed",
            "SkuNotAvailable",
            "ZONE_RESOURCE_POOL_EXHAUSTED",
        ],
        "Choose another instance type or zone in its set; then delete the Machine",
    ),
    (
        &[
            "InvalidConfiguration",
            "invalid",
            "not found",
            "NotFound",
            "does not exist",
        ],
        "Correct the provider spec of its set; then delete the Machine",
    ),
    (
        &["denied", "Unauthorized", "AuthFailure", "Forbidden"],
        "Give the machine-api's cloud credentials the right that the message names",
    ),
];

const OTHER_FAILURE: &str = "Correct what the message names; then delete the Machine";

fn what_helps(text: &str) -> &'static str {
    let text = text.to_ascii_lowercase();
    FAILURES
        .iter()
        .find(|(words, _)| {
            words
                .iter()
                .any(|word| text.contains(&word.to_ascii_lowercase()))
        })
        .map_or(OTHER_FAILURE, |(_, help)| help)
}

impl Case<'_> {
    /// The instance: what stands where there is one, and the finding where there is none.
    pub(super) fn instance(&mut self) -> Result<String, Finding> {
        match self.subject {
            Subject::Machine(_) if self.host.is_some_and(|host| !host.state.is_empty()) => {
                self.machine_instance().and_then(|_| self.host_instance())
            }
            Subject::Machine(_) => self.machine_instance(),
            Subject::Host(_) => self.host_instance(),
            Subject::Agent(_) => self.agent_instance(),
        }
    }

    fn machine_instance(&mut self) -> Result<String, Finding> {
        let Some(machine) = self.machine else {
            return Ok(String::new());
        };
        let phase = machine.phase.as_deref().unwrap_or_default();
        self.see(
            format!("{}, status.phase", self.object()),
            machine.since,
            if phase.is_empty() { "none" } else { phase },
        );
        if phase == "Failed" || machine.error_reason.is_some() || machine.error_message.is_some() {
            return Err(self.failed(machine));
        }
        let exists = condition(&machine.conditions, "InstanceExists");
        let is_made = machine.provider_id.is_some()
            || machine.instance.is_some()
            || !machine.addresses.is_empty()
            || matches!(phase, "Provisioned" | "Running")
            || exists.is_some_and(|exists| exists.status == "True");
        if !is_made {
            return Err(self.not_made(machine));
        }
        if let Some(state) = machine.instance_state.as_deref()
            && is_off(state)
        {
            let name = self.name();
            let source = format!("{}, status.providerStatus", self.object());
            self.see(source, None, format!("instance state {state}"));
            return Err(Finding::new(
                Stage::NoInstance,
                At::Instance,
                format!("the instance is {state}"),
                format!("{name}'s instance is {state}."),
            )
            .next("Start it in the cloud's console, or delete the Machine"));
        }
        let name = machine
            .instance
            .as_deref()
            .or(machine.provider_id.as_deref());
        Ok(name.unwrap_or("there").to_owned())
    }

    fn failed(&mut self, machine: &Machine) -> Finding {
        let reason = machine.error_reason.as_deref();
        let message = machine.error_message.as_deref();
        let text = [reason, message]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(": ");
        let text = if text.is_empty() {
            "its phase is Failed".to_owned()
        } else {
            text
        };
        self.see(
            format!("{}, status.errorReason and errorMessage", self.object()),
            machine.since,
            text.clone(),
        );
        let name = self.name();
        Finding::new(
            Stage::NoInstance,
            At::Instance,
            reason.unwrap_or("Failed").to_owned(),
            format!("{name} has no instance: {}", sentence(&text)),
        )
        .next(format!(
            "{}: one that failed is not tried again",
            what_helps(&text)
        ))
    }

    /// A Machine whose instance is not there yet, or is refused to it.
    fn not_made(&mut self, machine: &Machine) -> Finding {
        let why = self.why_not_made(machine);
        let name = self.name();
        let age = self.created().map(|created| span(self.now.since(created)));
        let age = age.map_or(String::new(), |age| format!(" after {age}"));
        if why.is_empty() {
            self.unseen("why: the machine-controller's log (get pods/log in openshift-machine-api), or the cloud's console");
            return Finding::new(
                Stage::NoInstance,
                At::Instance,
                "there is none",
                format!("{name} has no instance{age}, and no condition or Event says why."),
            )
            .next("Read the machine-controller's log: oc logs -n openshift-machine-api deployment/machine-api-controllers -c machine-controller");
        }
        Finding::new(
            Stage::NoInstance,
            At::Instance,
            "there is none",
            format!("{name} has no instance{age}: {}", sentence(&why)),
        )
        .next(what_helps(&why))
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
        let events = self
            .index
            .events("Machine", &machine.meta.namespace, &machine.meta.name);
        let event = events
            .iter()
            .rev()
            .find(|event| event.is_warning && event.reason.starts_with("Failed"));
        match (&condition, event) {
            (Some(condition), _) => {
                self.see_condition(condition);
                condition.says()
            }
            (None, Some(event)) => {
                let source = format!("Event {} of {}", event.reason, self.object());
                self.see(source, event.last, event.message.clone());
                event.message.clone()
            }
            (None, None) => String::new(),
        }
    }

    fn host_instance(&mut self) -> Result<String, Finding> {
        let Some(host) = self.host else {
            return Ok(String::new());
        };
        let full_name = host.meta.full_name();
        let source = format!("BareMetalHost {full_name}, status.provisioning.state");
        self.see(source, host.since, host.state.clone());
        let name = self.name();
        if let Some(kind) = &host.error_type {
            let message = host.error_message.clone().unwrap_or_default();
            let source = format!("BareMetalHost {full_name}, status.errorMessage");
            self.see(source, None, format!("{kind}: {message}"));
            return Err(Finding::new(
                Stage::NoInstance,
                At::Instance,
                format!("{kind} of host {full_name}"),
                format!(
                    "{name} is not installed: host {full_name} has {kind}: {}",
                    sentence(&message)
                ),
            )
            .next("Correct what the message names; the host is then tried again"));
        }
        if host.is_external || host.state == "provisioned" {
            if host.is_on == Some(false) {
                return Err(Finding::new(
                    Stage::NoInstance,
                    At::Instance,
                    format!("host {full_name} is off"),
                    format!("{name} is installed, and its host {full_name} is powered off."),
                )
                .next(format!(
                    "Set spec.online of BareMetalHost {full_name} to true"
                )));
            }
            return Ok(format!("host {full_name}, {}", host.state));
        }
        let since = host.since.map_or(String::new(), |since| {
            format!(" for {}", span(self.now.since(since)))
        });
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
            "Look at the host: oc describe baremetalhosts.metal3.io -n {} {}",
            host.meta.namespace, host.meta.name
        )))
    }

    fn agent_instance(&mut self) -> Result<String, Finding> {
        let Some(agent) = self.agent else {
            return Ok(String::new());
        };
        let state = if agent.state.is_empty() {
            "unknown"
        } else {
            &agent.state
        };
        let info = agent.state_info.clone().unwrap_or_default();
        let progress = agent.progress.as_deref().unwrap_or_default();
        let source = format!("{}, status.debugInfo and status.progress", self.object());
        let text = format!("{state} {progress}: {info}");
        self.see(source, None, text.trim_end_matches([':', ' ']));
        let name = self.name();
        let is_past_write = matches!(
            progress,
            "Rebooting" | "Configuring" | "Waiting for ignition" | "Joined" | "Done"
        );
        if is_past_write && state != "error" {
            return Ok(format!("agent {state}, {progress}"));
        }
        let at = match progress {
            "" => state.to_owned(),
            progress => format!("{state}, {progress}"),
        };
        Err(Finding::new(
            Stage::NoInstance,
            At::Instance,
            format!("agent is {at}"),
            format!(
                "{name} is not installed: its Agent is {at}{}",
                match info.as_str() {
                    "" => ".".to_owned(),
                    info => format!(": {}", sentence(info)),
                }
            ),
        )
        .next("Correct what the Agent's conditions name"))
    }
}

/// A state of a cloud's instance that runs nothing.
fn is_off(state: &str) -> bool {
    let state = state.to_ascii_lowercase();
    [
        "stopped",
        "stopping",
        "terminated",
        "shutting-down",
        "deallocated",
        "poweredoff",
        "shutoff",
        "suspended",
        "failed",
    ]
    .iter()
    .any(|off| state == *off)
}

/// A text of somebody else as the end of a sentence.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let text = crate::text::cut(text, 300);
    if text.ends_with(['.', '!', '?']) {
        text
    } else {
        format!("{text}.")
    }
}

/// A moment in the evidence, for a sentence.
pub(super) fn ago(now: Moment, at: Option<Moment>) -> String {
    at.map_or(String::new(), |at| format!(" {} ago", span(now.since(at))))
}
