//! Machines without an instance (pure).

use super::case::Case;
use super::cause::INSTANCE_UNKNOWN;
use super::failures::{Failure, FailureKind, help};
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::instance_state::off_state;
use super::moment::span;
use super::request_step::Asked;
use super::rows::row;
use super::subject::Subject;
use super::why_not_made::{By, error, error_field};
use skewguard_cluster::kinds::groups::{KARPENTER, MACHINE_API};
use skewguard_cluster::kinds::{Condition, Machine, condition};
use skewguard_core::platform::Platform;

impl Case<'_> {
    /// The instance: what stands where there is one, and the finding where there is none.
    pub(super) fn instance(&mut self) -> Result<String, Finding> {
        match self.subject {
            Subject::Machine(machine) => self.machine_instance(machine),
            Subject::Host(host) => self.host_instance(host),
            Subject::Agent(agent) => self.agent_instance(agent),
            _ => Ok(String::new()),
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
        if let Some(state) = off_state(machine) {
            return Err(self.off(machine, state));
        }
        let name = machine.instance.clone().or(machine.provider_id.clone());
        Ok(of_host.or(name).unwrap_or_else(|| "there".to_owned()))
    }

    /// A Machine in the phase `Failed`, which is final. It says so itself, whatever its Node does.
    fn failed(&mut self, machine: &Machine) -> Finding {
        let (mut text, by) = self.why_not_made(machine);
        let mut source = "status.phase";
        if error(machine).is_some() {
            source = error_field(machine);
            let more = self.infrastructure_says(machine);
            let more = more.filter(|more| !text.contains(&**more));
            let more = more.map(|more| format!(". Its infrastructure object says: {more}"));
            text = text.trim_end_matches('.').to_owned() + &more.unwrap_or_default();
        }
        let source = self.field(source);
        let says = (!text.is_empty()).then(|| sentence(&text));
        let state = off_state(machine);
        if let Some(state) = state {
            let source = self.field("the instance's state");
            self.see(source, None, format!("instance state {state}"));
        }
        if let Some(node) = self.node {
            self.see_node(node);
        }
        let ready = self.node.and_then(|node| node.ready.as_ref());
        let node = self.node.map(|node| &node.metadata.name);
        let is = match ready {
            Some(ready) if ready.is_true() => ", and Ready.".to_owned(),
            Some(ready) => format!(" and not Ready: {}", sentence(&ready.says())),
            None => ".".to_owned(),
        };
        let reason = machine.error_reason.as_deref().unwrap_or("Failed");
        let failure = Failure::of(machine, &text);
        let finding = self
            .tell(row!(MachineFailed reason, says, state, node, ready = is))
            .because(failure)
            .sure(self, source);
        let finding = self.after_failure(machine, finding, &text);
        self.told_by(by == By::Event, finding)
    }

    /// Adds what to do with a Machine that has failed.
    fn after_failure(&mut self, machine: &Machine, finding: Finding, text: &str) -> Finding {
        // It had joined, and whether its Node is Ready was not read.
        let ready = self.node.and_then(|node| node.ready.as_ref());
        let is_unread = ready.is_none() && (self.node.is_some() || !self.index.ground.has_nodes);
        let replace = self.replace(machine);
        let finding = match machine.node.as_deref().filter(|_| is_unread) {
            _ if ready.is_some_and(|ready| ready.is_true()) => {
                self.with(finding, row!(FailedAndRuns))
            }
            Some(node) => self.with(finding, row!(FailedAndPerhapsRuns node)),
            None if text.is_empty() => self.with(
                finding,
                row!(FailedSilently cloud = !self.has_host(), replace),
            ),
            None => {
                let failure = Failure::of(machine, text);
                let finding = self.with(finding, row!(FailedForGood help = help(failure), replace));
                self.beside_unknown(machine, failure, finding)
            }
        };
        let is_of_set = machine.is_owned_by("ControlPlaneMachineSet", None);
        self.with_all(finding, is_of_set.then(|| row!(ControlPlaneSet)))
    }

    /// A Windows Machine, which asks for no config of the cluster's.
    pub(super) fn windows(&mut self) -> Finding {
        let missing = self.missing_addresses().is_some();
        let request = self.own_requests().pop().filter(|last| last.is_pending());
        if let Some(last) = request {
            self.see_csr(last, "pending");
        }
        let request = request.map(|last| &last.metadata.name);
        self.tell(row!(WindowsMachine missing, request))
    }

    /// A Machine that its controller leaves alone.
    fn paused(&mut self, machine: &Machine) -> Option<Finding> {
        let authority = machine.authority.as_deref().unwrap_or_default();
        if !machine.is_of_cluster_api() && authority == "ClusterAPI" {
            let kept = condition(&machine.conditions, "Synchronized");
            let kept = self.said(kept.filter(|kept| kept.status == "False"));
            return Some(self.tell(row!(OtherCopyCounts kept)));
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
        let says = sentence(&says);
        let row = if authority == "Migrating" {
            row!(MachineMigrating says)
        } else if machine.is_paused {
            row!(MachinePausedByAnnotation says)
        } else {
            row!(MachinePaused says)
        };
        Some(self.tell(row).sure(self, source))
    }

    /// A Machine whose instance is not there yet, or is refused to it; the instance, where a request proves it.
    fn not_made(&mut self, machine: &Machine) -> Result<String, Finding> {
        let exists = condition(&machine.conditions, "InstanceExists");
        if let Some(exists) = exists.filter(|exists| exists.status == "Unknown") {
            self.see_condition(exists);
            return self.not_known(machine, &exists.says(), "condition InstanceExists");
        }
        let (why, by) = self.why_not_made(machine);
        let age = self.age().map(span);
        if by == By::State {
            let known = self.of_hosted_cloud();
            if let Some(finding) = known.or_else(|| self.of_host_error(age.as_deref())) {
                return Err(finding);
            }
            let finding = self.tell(match &*why {
                "" => row!(InstanceNotMadeSilently age),
                why => row!(InstanceNotMadeByState age, says = sentence(why)),
            });
            return Err(self.ask_controller(machine, finding));
        }
        let failure = Failure::of(machine, &why);
        if by == By::Object && Failure::is_of_cloud(machine, &why) {
            return self.not_known(machine, &why, "its conditions");
        }
        let is_missing = failure.is_some_and(|one| one.cause == FailureKind::HostMissing);
        let hosts = is_missing.then(|| self.free_hosts(machine) + &self.free_agents());
        let runs = failure.is_some_and(Failure::is_of_instance);
        let (help, then) = (help(failure), self.then(machine, failure));
        let row = row!(InstanceNotMade runs, age, says = sentence(&why), hosts, help, then);
        let finding = self.tell(row).because(failure).sure(self, self.object());
        let finding = self.beside_unknown(machine, failure, finding);
        Err(self.told_by(by == By::Event, finding))
    }

    /// Adds whose log says more, of a failure that is not known here.
    fn beside_unknown(
        &mut self,
        machine: &Machine,
        failure: Option<&Failure>,
        finding: Finding,
    ) -> Finding {
        let api = machine.is_of_cluster_api();
        let row = failure.is_none().then(|| row!(LogIfNothingNamed api));
        self.with_all(finding, row)
    }

    /// The step after its failure is mended, for a Machine whose instance was not made.
    fn then(&self, machine: &Machine, failure: Option<&Failure>) -> String {
        let is_over = failure.is_none_or(|failure| failure.cause != FailureKind::Passes);
        let replace = self.replace(machine);
        if let Some(task) = machine.task.as_ref().filter(|_| is_over) {
            return format!(
                "Then {replace}: its controller makes no other try while status.providerStatus.taskRef names {task}"
            );
        }
        if failure.is_some_and(|failure| failure.over) {
            return format!("Then {replace}: no other try is made by itself");
        }
        let is_of_set = failure.is_some_and(Failure::is_of_spec);
        // Its controller makes one try alone (machine-api-operator, vSphere).
        let is_cloned_once =
            machine.group == MACHINE_API && machine.source.platform() == Some(Platform::VSphere);
        match is_of_set && machine.is_owned_by("MachineSet", None) {
            true => "After a change of the set delete the Machine, which keeps what it was made with; else leave it: its controller tries again by itself",
            // Where its provider's status was read it names none.
            false if is_cloned_once && machine.provider_conditions.is_empty() => "Leave the Machine, if status.providerStatus.taskRef names no task: its controller then tries again by itself, and else never",
            false => "Leave the Machine: its controller tries again by itself",
        }
        .to_owned()
    }

    /// A Machine whose cloud could not be asked: nothing is known of its instance, unless that asked for
    /// its config.
    fn not_known(&mut self, machine: &Machine, why: &str, field: &str) -> Result<String, Finding> {
        if let Asked::Seen(seen) = self.asked() {
            let at = seen.last.at.clock();
            return Ok(format!("there, as its request at {at} says"));
        }
        let failure = Failure::of(machine, why);
        self.see_hosted_cluster();
        let help = failure.map(|failure| &failure.next);
        let finding = self.tell(row!(InstanceUnknown says = sentence(why), help));
        let source = self.field(field);
        Err(finding.because(failure).sure(self, source))
    }

    /// Adds that the cloud cannot be asked by now, of a Machine whose instance is known otherwise.
    pub(super) fn beside_silent_cloud(&mut self, finding: Finding) -> Finding {
        let machine = self.machine.filter(|_| finding.cause != INSTANCE_UNKNOWN);
        let exists = machine.and_then(|one| condition(&one.conditions, "InstanceExists"));
        let exists = exists.filter(|one| one.status == "Unknown");
        let row = machine.zip(exists).map(|(machine, exists)| {
            let help = Failure::of(machine, &exists.says()).map(|failure| &failure.next);
            row!(CloudSilent says = self.said(Some(exists)), help)
        });
        self.with_all(finding, row)
    }

    /// Adds who knows why an instance is not made, where nothing that was read says it.
    fn ask_controller(&mut self, machine: &Machine, finding: Finding) -> Finding {
        self.unread(&[Counter::Host]);
        if machine.is_of_cluster_api() {
            let infrastructure = self.facts.has_infrastructure_of(machine);
            let infrastructure = (!infrastructure).then_some("its infrastructure object, ");
            let cluster = self.facts.is_cluster_paused(machine);
            let cluster = cluster.is_none().then_some("its Cluster, and ");
            let mut conditions = machine.conditions.iter();
            let waits = conditions.any(|one| WAITS.contains(&&*one.reason))
                && machine.source.bootstrap.is_none();
            if waits {
                self.see(self.field("spec.bootstrap.dataSecretName"), None, "none");
            }
            return self.with(
                finding,
                row!(LogOfClusterApi infrastructure, cluster, waits),
            );
        }
        self.with(finding, row!(LogOfMachineApi cloud = !self.has_host()))
    }
}

/// Reasons of the Cluster API and its providers for a Machine without user data.
const WAITS: [&str; 2] = ["WaitingForBootstrapData", "WaitingForDataSecret"];
