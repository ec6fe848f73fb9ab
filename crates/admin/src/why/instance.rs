//! Machines without an instance, and instances that do not run (pure).

use super::case::{Case, Subject};
use super::cause::Cause;
use super::failures::{Failure, FailureKind, OTHER};
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::index::Index;
use super::moment::span;
use super::request_step::{Asked, STILL_ASKS};
use super::way::{At, Stage};
use crate::forms::shell::word;
use skewguard_cluster::kinds::event::Event;
use skewguard_cluster::kinds::groups::{KARPENTER, MACHINE_API};
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::metadata::{Condition, condition};
use skewguard_cluster::kinds::node::Node;
use skewguard_core::platform::Platform;

/// States of a cloud's instance that runs nothing.
const OFF: &str = "error stopped stopping terminated shutting-down deallocated deallocating poweredoff off \
    shutoff paused suspended suspending failed deleted deleting soft_deleted shelved shelved_offloaded";

/// States of one that was ended.
const ENDED: &str = "terminated shutting-down deleted deleting soft_deleted";

/// States of one that runs.
const ON: &str = "running active poweredon on succeeded";

fn is_one_of(states: &str, state: &str) -> bool {
    let state = state.to_ascii_lowercase();
    states.split_whitespace().any(|known| known == state)
}

fn is_off_state(state: &str) -> bool {
    is_one_of(OFF, state)
}

/// Tells if its instance or its host is off.
pub(super) fn is_off(index: &Index<'_>, machine: &Machine) -> bool {
    let state = machine.instance_state.as_deref();
    let host = index.links.host_of(machine).and_then(|host| host.is_on);
    state.is_some_and(is_off_state) || host == Some(false)
}

pub(super) fn no_instance(cause: Cause, step: impl Into<String>, sentence: String) -> Finding {
    Finding::new(Stage::NoInstance, cause, step, sentence)
}

impl<'a> Case<'a> {
    /// The instance: what stands where there is one, and the finding where there is none.
    pub(super) fn instance(&mut self) -> Result<String, Finding> {
        match self.subject {
            Subject::Machine(machine) => self.machine_instance(machine),
            Subject::Host(host) => self.host_instance(host),
            Subject::Agent(agent) => self.agent_instance(agent),
            Subject::Request(_)
            | Subject::Set(..)
            | Subject::NodePool(_)
            | Subject::HostedCluster(_)
            | Subject::Node(_) => Ok(String::new()),
        }
    }

    fn machine_instance(&mut self, machine: &Machine) -> Result<String, Finding> {
        if machine.group == KARPENTER {
            return self.claimed_instance(machine);
        }
        let phase = machine.phase.as_deref().unwrap_or_default();
        let shown = if phase.is_empty() { "none" } else { phase };
        self.see(self.field("status.phase"), machine.since, shown);
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
            || exists.is_some_and(Condition::is_true)
            || self.is_infrastructure_ready(machine);
        if !is_made {
            return match self.paused(machine) {
                Some(paused) => Err(paused),
                None => self.not_made(machine),
            };
        }
        let state = machine.instance_state.as_deref();
        if let Some(state) = state.filter(|state| is_off_state(state)) {
            return Err(self.off(machine, state));
        }
        let name = machine.instance.as_deref();
        let name = name.or(machine.provider_id.as_deref());
        Ok(of_host.unwrap_or_else(|| name.unwrap_or("there").to_owned()))
    }

    /// The state of its instance, where that is neither known to run nor known not to.
    pub(super) fn odd_state(&self) -> Option<&'a str> {
        let state = self.machine?.instance_state.as_deref()?;
        (!state.is_empty() && !is_one_of(ON, state) && !is_off_state(state)).then_some(state)
    }

    /// Its instance does not run, and its Node is silent, or was not read whole: what runs nothing asks for nothing.
    pub(super) fn is_off_and_silent(&self) -> bool {
        let is_off = self
            .machine
            .is_some_and(|machine| is_off(self.index, machine));
        let silent = |node: &Node| {
            node.ready
                .as_ref()
                .is_none_or(|ready| ready.status == "Unknown")
        };
        is_off && self.node.is_some_and(silent)
    }

    fn off(&mut self, machine: &Machine, state: &str) -> Finding {
        let source = self.field("the instance's state");
        self.see(source.clone(), None, format!("instance state {state}"));
        // Google Compute's TERMINATED is a stopped one.
        let is_stopped = machine.source.platform() == Some(Platform::Gcp) || state == "TERMINATED";
        let node = self.silent_node();
        let (is_broken, is_ended) = (
            is_one_of("error failed", state),
            is_one_of(ENDED, state) && !is_stopped,
        );
        let cause = match (is_broken, is_ended) {
            (true, _) => Cause::InstanceBroken,
            (_, true) => Cause::InstanceEnded,
            _ => Cause::InstanceStopped,
        };
        let finding = no_instance(
            cause,
            format!("the instance is {state}"),
            format!(
                "{}'s instance is not up: its state is {state}.{node}",
                self.name
            ),
        );
        let finding = if is_broken {
            finding.next(
                "Read in the cloud's console why: an instance in this state is not started again",
            )
        } else if is_ended {
            finding.next(format!(
                "Its instance was ended, and is never started again: {}",
                replace(machine)
            ))
        } else {
            finding.next("Find out who or what stopped it, and start it in the cloud's console")
        };
        if let Asked::Seen(seen) = self.asked()
            && self.now.since(seen.last.at) <= STILL_ASKS
        {
            self.see_request(&seen);
            self.unseen("whether that state is of now: it asked for its config just now, and what is off asks for nothing");
            return finding;
        }
        self.off_proved(finding, source)
    }

    /// The finding of a machine that is off, which is proved where nobody asks in the name of its Node.
    pub(super) fn off_proved(&mut self, finding: Finding, source: String) -> Finding {
        match self.request_of_silent_node() {
            None => finding.proved(self, source, &[Counter::Nodes]),
            Some(request) => {
                self.unseen("whether that state is of now: the machine's console");
                finding.next(format!("Leave request {request} alone until the machine is known to run: what is off asks for nothing"))
            }
        }
    }

    /// ` Its Node x has not been Ready for 4 hours.`
    pub(super) fn silent_node(&mut self) -> String {
        let Some(node) = self.node else {
            return String::new();
        };
        let name = &node.metadata.name;
        let Some(ready) = node.ready.as_ref().filter(|ready| !ready.is_true()) else {
            return String::new();
        };
        self.see_condition_of(&format!("Node {name}"), ready);
        let since = ready.since();
        let since = since.map_or(String::new(), |since| {
            format!(" for {}", span(self.now.since(since)))
        });
        format!(" Its Node {name} has not been Ready{since}.")
    }

    /// A Machine in the phase `Failed`, which is final. It says so itself, whatever its Node does.
    fn failed(&mut self, machine: &Machine) -> Finding {
        let own = error(machine);
        let source = self.field(
            own.as_ref()
                .map_or("status.phase", |_| error_field(machine)),
        );
        let (text, by) = match own {
            Some(text) => {
                self.see(source.clone(), machine.since, &text);
                let more = self.infrastructure_says_more(machine, &text);
                (format!("{}{more}", text.trim_end_matches('.')), By::Object)
            }
            None => self.why_not_made(machine),
        };
        let state = machine.instance_state.as_deref();
        let why = match (text.as_str(), state.filter(|state| is_off_state(state))) {
            ("", None) => "it does not say why.".to_owned(),
            ("", Some(state)) => format!("its instance is {state}."),
            (text, None) => sentence(text),
            (text, Some(state)) => format!("{} Its instance is {state}.", sentence(text)),
        };
        let ready = self.node.and_then(|node| node.ready.as_ref());
        let runs = ready.is_some_and(|ready| ready.is_true());
        // It had joined, and whether its Node is Ready was not read.
        let node_unread = machine
            .node
            .as_deref()
            .filter(|_| ready.is_none() && (self.node.is_some() || !self.index.ground.has_nodes));
        let node = self.node.map_or(String::new(), |node| {
            let ready = match ready {
                Some(_) if runs => ", and Ready.".to_owned(),
                Some(ready) => format!(" and not Ready: {}", sentence(&ready.says())),
                None => ".".to_owned(),
            };
            format!(" Its Node {} is still there{ready}", node.metadata.name)
        });
        let help = match node_unread {
            _ if runs => "Look in the cloud whether its instance runs, as its Node says. If it does, keep the Machine: deleting it ends the instance".to_owned(),
            Some(node) => format!("Look whether its Node is Ready: `oc get node {node}`. If it is, keep the Machine: deleting it ends the instance; if not, delete it: one that failed is not tried again", node = word(node)),
            None => format!(
                "{}; then {}: one that failed is not tried again",
                Failure::of(machine, &text).map_or(OTHER, |failure| &failure.next),
                replace(machine)
            ),
        };
        let finding = no_instance(
            Cause::MachineFailed,
            machine.error_reason.as_deref().unwrap_or("Failed"),
            format!("{} has failed: {why}{node}", self.name),
        )
        .because(Failure::of(machine, &text))
        .says(&text)
        .next(help)
        .proved(self, source, &[Counter::Itself]);
        let finding = self.of_control_plane(machine, finding);
        self.told_by(by == By::Event, finding)
    }

    /// Adds what a change of its set does, where that is the control plane's.
    fn of_control_plane(&self, machine: &Machine, finding: Finding) -> Finding {
        let mut owners = machine.owners.iter();
        match owners.any(|(kind, _)| kind == "ControlPlaneMachineSet") {
            true => finding.next("Its set is a ControlPlaneMachineSet: one that is Active and has RollingUpdate replaces every control plane node after a change"),
            false => finding,
        }
    }

    /// A Windows Machine, which asks for no config of the cluster's.
    pub(super) fn windows(&mut self) -> Finding {
        self.unseen("the Windows Machine Config Operator's log, which is not read here");
        let missing = self.missing_addresses();
        let missing = missing.map_or(
            "",
            |_| " The Machine has no addresses, by which that operator reaches it.",
        );
        let request = self.own_requests().pop().filter(|last| last.is_pending());
        let request = request.map_or(String::new(), |last| {
            self.see(last.source(), last.metadata.created, "pending");
            format!(
                " Its request {} is pending, which that operator approves.",
                last.metadata.name
            )
        });
        let text = format!(
            "{} is a Windows Machine: the Windows Machine Config Operator makes it a Node, and it asks for no config.{missing}{request}",
            self.name
        );
        Finding::new(Stage::Unknown, Cause::WindowsMachine, "a Windows Machine asks for none", text)
            .next("Read the log of that operator: `oc logs -n openshift-windows-machine-config-operator deployment/windows-machine-config-operator`")
    }

    /// A Machine that its controller leaves alone.
    fn paused(&mut self, machine: &Machine) -> Option<Finding> {
        let name = self.name;
        let authority = machine.authority.as_deref().unwrap_or_default();
        if !machine.is_of_cluster_api() && authority == "ClusterAPI" {
            self.unseen("its copy of the Cluster API, which counts: Machine of cluster.x-k8s.io in openshift-cluster-api");
            let kept = condition(&machine.conditions, "Synchronized");
            let kept = kept.filter(|kept| kept.status == "False");
            let kept = kept.map_or(String::new(), |kept| {
                self.see_condition(kept);
                format!(" The two are not the same: {}", sentence(&kept.says()))
            });
            return Some(no_instance(Cause::OtherCopyCounts,
                "the other copy counts",
                format!(
                    "{name} has no instance: its other copy counts, of the Cluster API (authoritativeAPI), and was not read.{kept}"
                ),
            )
            .next("Look at the copy that counts: `oc get machines.cluster.x-k8s.io -n openshift-cluster-api`"));
        }
        let paused = condition(&machine.conditions, "Paused").filter(|paused| paused.is_true());
        let (says, source) = match paused {
            Some(paused) => {
                self.see_condition(paused);
                (paused.says(), self.field("condition Paused"))
            }
            None if machine.is_paused => {
                let says = "annotation cluster.x-k8s.io/paused";
                (says.to_owned(), self.field(says))
            }
            None if self.facts.is_cluster_paused(machine) == Some(true) => {
                let cluster = machine.cluster.as_deref().unwrap_or_default();
                let object = format!("Cluster {}/{cluster}", machine.metadata.namespace);
                let source = format!("{object}, spec.paused");
                self.see(&source, None, "true");
                (format!("spec.paused of {object}"), source)
            }
            None => return None,
        };
        let help = if authority == "Migrating" {
            "Wait until it is moved between the two Machine APIs; its condition Synchronized says what keeps it".to_owned()
        } else if machine.is_paused {
            format!(
                "Find out who paused it, then take the annotation away: `oc annotate machines.cluster.x-k8s.io -n {} {name} cluster.x-k8s.io/paused-`",
                word(&machine.metadata.namespace),
                name = word(name)
            )
        } else {
            "Find out who paused it, or its Cluster".to_owned()
        };
        let object = self.object();
        let finding = no_instance(
            Cause::MachinePaused,
            "it is paused",
            format!(
                "{name} has no instance: {object} is paused: {}",
                sentence(&says)
            ),
        );
        Some(finding.next(help).proved(self, source, &[Counter::Nodes]))
    }

    /// A Machine whose instance is not there yet, or is refused to it; the instance, where a request proves it.
    fn not_made(&mut self, machine: &Machine) -> Result<String, Finding> {
        let exists = condition(&machine.conditions, "InstanceExists");
        if let Some(exists) = exists.filter(|exists| exists.status == "Unknown") {
            self.see_condition(exists);
            return self.not_known(machine, &exists.says(), "condition InstanceExists");
        }
        let (why, by) = match error(machine) {
            Some(text) => {
                self.see(self.field(error_field(machine)), machine.since, &text);
                (text, By::Object)
            }
            None => self.why_not_made(machine),
        };
        let name = self.name;
        let age = self.age();
        let age = age.map_or(String::new(), |age| format!(" after {}", span(age)));
        if by == By::State {
            if let Some(finding) = self.of_hosted_cloud() {
                return Err(finding);
            }
            let says = match &*why {
                "" => ", and no condition or Event that was read says why.".to_owned(),
                state => format!(
                    ": {} That is its state, not the cause of it.",
                    sentence(state)
                ),
            };
            let cause = match &*why {
                "" => Cause::InstanceNotMadeSilently,
                _ => Cause::InstanceNotMadeByState,
            };
            let finding = no_instance(
                cause,
                "there is none",
                format!("{name} has no instance{age}{says}"),
            )
            .says(&why);
            return Err(self.ask_controller(machine, finding));
        }
        let failure = Failure::of(machine, &why);
        if failure.is_some_and(Failure::is_of_cloud) && by == By::Object {
            return self.not_known(machine, &why, "its conditions");
        }
        let hosts = match failure.map(|failure| failure.cause) {
            Some(FailureKind::HostMissing) => self.free_hosts(machine) + &self.free_agents(),
            _ => String::new(),
        };
        let runs = match failure.map(|failure| failure.cause) {
            Some(FailureKind::InstanceBroken) => " that runs",
            _ => "",
        };
        let finding = no_instance(
            Cause::InstanceNotMade,
            "there is none",
            format!(
                "{name} has no instance{runs}{age}: {}{hosts}",
                sentence(&why)
            ),
        )
        .because(failure)
        .says(&why)
        .next(failure.map_or(OTHER, |failure| &failure.next))
        .next(self.then(machine, failure))
        .proved(self, self.object(), &[Counter::Nodes, Counter::Host]);
        Err(self.told_by(by == By::Event, finding))
    }

    /// The step after its failure is mended, for a Machine whose instance was not made.
    fn then(&self, machine: &Machine, failure: Option<&Failure>) -> String {
        let is_over = failure.is_none_or(|failure| failure.cause != FailureKind::Passes);
        if let Some(task) = machine.task.as_ref().filter(|_| is_over) {
            return format!(
                "Then {}: its controller makes no other try while status.providerStatus.taskRef names {task}",
                replace(machine)
            );
        }
        if failure.is_some_and(|failure| failure.over) {
            return format!("Then {}: no other try is made by itself", replace(machine));
        }
        let is_of_set = failure.is_some_and(Failure::is_of_spec);
        match is_of_set && machine.is_owned_by("MachineSet", None) {
            true => "After a change of the set delete the Machine, which keeps what it was made with; else leave it: its controller tries again by itself",
            false if Self::is_cloned_once(machine) => "Leave the Machine, if status.providerStatus.taskRef names no task: its controller then tries again by itself, and else never",
            false => "Leave the Machine: its controller tries again by itself",
        }
        .to_owned()
    }

    /// Tells if its controller makes one try alone (machine-api-operator, vSphere).
    fn is_cloned_once(machine: &Machine) -> bool {
        machine.group == MACHINE_API && machine.source.platform() == Some(Platform::VSphere)
    }

    /// A Machine whose cloud could not be asked: nothing is known of its instance, unless that asked for
    /// its config.
    fn not_known(&mut self, machine: &Machine, why: &str, field: &str) -> Result<String, Finding> {
        if let Asked::Seen(seen) = self.asked() {
            return Ok(format!(
                "there, as its request at {} says",
                seen.last.at.clock()
            ));
        }
        let failure = Failure::of(machine, why);
        self.see_hosted_cluster();
        let finding = Finding::new(
            Stage::Unknown,
            Cause::InstanceUnknown,
            "the cloud could not be asked",
            format!(
                "Whether {} has an instance is unknown, because the cloud could not be asked: {}",
                self.name,
                sentence(why)
            ),
        );
        let source = self.field(field);
        Err(finding
            .at(At::Instance)
            .because(failure)
            .says(why)
            .next(failure.map_or("Repair the credentials of the Machine's controller, or its way to the cloud, by what the message names", |failure| &failure.next))
            .next("Leave Machines and sets as they are: the controller asks again by itself")
            .proved(self, source, &[Counter::Nodes]))
    }

    /// Adds who knows why an instance is not made, where nothing that was read says it.
    fn ask_controller(&mut self, machine: &Machine, finding: Finding) -> Finding {
        self.unread(&[Counter::Host]);
        if machine.is_of_cluster_api() {
            let object = match self.facts.has_infrastructure_of(machine) {
                true => "",
                false => "its infrastructure object, ",
            };
            let cluster = match self.facts.is_cluster_paused(machine) {
                Some(_) => "",
                None => "its Cluster, and ",
            };
            self.unseen(format!(
                "why: {object}{cluster}the logs of the Cluster API's controllers"
            ));
            let namespace = &machine.metadata.namespace;
            let mut conditions = machine.conditions.iter();
            let waits = conditions.any(|one| one.reason == "WaitingForBootstrapData");
            let finding = match machine.source.bootstrap {
                None if waits => {
                    self.see(self.field("spec.bootstrap.dataSecretName"), None, "none");
                    finding.next("Make its user data: spec.bootstrap.dataSecretName names no Secret, and until it does the cloud is not asked")
                }
                _ => finding,
            };
            return finding.next(format!(
                "Read the logs of the Cluster API's controllers: `oc get pods -n {namespace}`",
                namespace = word(namespace)
            ));
        }
        self.unseen("why: the machine-controller's log (get pods/log in openshift-machine-api), or the cloud's console");
        finding.next("Read the machine-controller's log: `oc logs -n openshift-machine-api deployment/machine-api-controllers -c machine-controller`")
    }

    /// The condition or the Event that says why there is no instance, and who says it; empty where none does.
    fn why_not_made(&mut self, machine: &Machine) -> (String, By) {
        if let Some(why) = self.infrastructure_says(machine) {
            return (why, By::Object);
        }
        let says_why = |condition: &&Condition| {
            !(condition.is_true() || condition.message.is_empty() && condition.reason.is_empty())
        };
        let blamed = machine.conditions.iter();
        let blamed = blamed.filter(|condition| BLAMED.contains(&&*condition.kind));
        let mut conditions = machine.provider_conditions.iter().chain(blamed);
        let condition = conditions.find(says_why);
        let events = self.index.events_of(machine);
        let is_failure = |event: &&&Event| event.is_warning && event.reason.starts_with("Failed");
        let event = events.iter().rev().find(is_failure);
        if let Some(condition) = condition {
            self.see_condition(condition);
            if !is_bare(machine, condition) {
                return (cause_of(condition), By::Object);
            }
        }
        if let Some(why) = self.node_pool_says(machine) {
            return (why, By::Object);
        }
        if let Some(event) = event {
            let source = format!("Event {} of {}", event.reason, self.object());
            self.see(source, event.last, &event.message);
            return (format!("an Event says: {}", event.message), By::Event);
        }
        (condition.map_or(String::new(), Condition::says), By::State)
    }

    /// Its infrastructure object says that it is ready.
    fn is_infrastructure_ready(&self, machine: &Machine) -> bool {
        let own = self.facts.infrastructure_conditions(machine);
        let said = condition(own, "Ready");
        let said = said.or_else(|| condition(&machine.conditions, "InfrastructureReady"));
        machine.is_of_cluster_api() && said.is_some_and(Condition::is_true)
    }

    /// The condition of its infrastructure object that says why.
    fn infrastructure_says(&mut self, machine: &Machine) -> Option<String> {
        let all = self.facts.infrastructure_conditions(machine).iter();
        let told = all.filter(|condition| !is_bare(machine, condition));
        // `Ready` sums the others up.
        let condition = told.min_by_key(|condition| condition.kind == "Ready")?;
        let (kind, name) = machine.source.infrastructure.as_ref()?;
        let object = format!("{kind} {}/{name}", machine.metadata.namespace);
        self.see_condition_of(&object, condition);
        Some(condition.says())
    }

    /// What its infrastructure object says beside this.
    fn infrastructure_says_more(&mut self, machine: &Machine, text: &str) -> String {
        let more = self.infrastructure_says(machine);
        let more = more.filter(|more| !text.contains(&**more));
        more.map_or(String::new(), |more| {
            format!(". Its infrastructure object says: {more}")
        })
    }

    /// The line about it in its NodePool's condition: `Machine NAME: Reason: message`.
    fn node_pool_says(&mut self, machine: &Machine) -> Option<String> {
        let pool = self.own_node_pool()?;
        let condition = condition(&pool.conditions, "AllMachinesReady")?;
        let line = format!("Machine {}: ", machine.metadata.name);
        let (_, says) = condition.message.split_once(&line)?;
        // A line's end is shown, as all that cannot be printed.
        let says = says.split("\\n").next()?;
        // A reason alone is no cause.
        let says = Some(says.trim()).filter(|says| says.contains(": "))?;
        let object = format!("NodePool {}", pool.metadata.full_name());
        self.see_condition_of(&object, condition);
        Some(says.to_owned())
    }
}

/// What makes another Machine in its place.
pub(super) fn replace(machine: &Machine) -> &'static str {
    let is_of = |kind| machine.is_owned_by(kind, None);
    if is_of("ControlPlaneMachineSet") || machine.role.as_deref() == Some("master") {
        "have it replaced by its ControlPlaneMachineSet, if that is Active; without one nothing makes it anew"
    } else if machine.owners.is_empty() {
        "make another, which no set does"
    } else {
        DELETE
    }
}

const DELETE: &str = "delete the Machine";

/// Who says why there is no instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Object,
    Event,
    /// Nobody: a state is known, or nothing.
    State,
}

/// The words of a condition that says no. vSphere's provider and others give a failure the reason of a success.
fn cause_of(condition: &Condition) -> String {
    match condition.reason.ends_with("Succeeded") {
        true => condition.message.clone(),
        false => condition.says(),
    }
}

/// Tells if a condition says a state, and no cause: a reason alone that is not known as one, `0 of 1 completed`, or
/// that there is no instance.
fn is_bare(machine: &Machine, condition: &Condition) -> bool {
    let failure = Failure::of(machine, &condition.reason).map(|failure| failure.cause);
    if matches!(
        failure,
        Some(FailureKind::HostMissing | FailureKind::InstanceBroken)
    ) {
        return false;
    }
    let message = &*condition.message;
    let is_count = || {
        let words: Vec<&str> = message.split(' ').collect();
        let is_number = |word: &str| word.parse::<u32>().is_ok();
        matches!(words.as_slice(), [done, "of", all, "completed"] if is_number(done) && is_number(all))
    };
    message.is_empty() || condition.reason == "InstanceNotCreated" || is_count()
}

/// The fields in which a Machine says why it failed.
fn error_field(machine: &Machine) -> &'static str {
    match machine.is_of_cluster_api() {
        true => "failureReason and failureMessage (since v1beta2 under status.deprecated.v1beta1)",
        false => "status.errorReason and errorMessage",
    }
}

/// The error of a Machine in its own words.
fn error(machine: &Machine) -> Option<String> {
    match (&machine.error_reason, &machine.error_message) {
        (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
        (reason, message) => reason.clone().or(message.clone()),
    }
}

/// Conditions that say why there is no instance.
const BLAMED: [&str; 6] = [
    "MachineCreation",
    "MachineCreated",
    "InfrastructureReady",
    "BootstrapReady",
    "InstanceExists",
    "Ready",
];
