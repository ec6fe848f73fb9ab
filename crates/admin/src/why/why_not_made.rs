//! Who says why a Machine has no instance (pure): its infrastructure object, its conditions, its NodePool, an Event.

use super::case::Case;
use super::failures::{Failure, FailureKind};
use skewguard_cluster::kinds::{Condition, Event, Machine, condition};

impl Case<'_> {
    /// The error, the condition or the Event that says why there is no instance, and who says it; empty where none does.
    pub(super) fn why_not_made(&mut self, machine: &Machine) -> (String, By) {
        if let Some(text) = error(machine) {
            self.see(self.field(error_field(machine)), machine.since, &text);
            return (text, By::Object);
        }
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
        let events = self.index.events_of(machine).into_iter();
        let is_failure = |event: &&Event| event.is_warning && event.reason.starts_with("Failed");
        let event = events.rev().find(is_failure);
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
            self.see_events(&self.object(), [event]);
            return (format!("an Event says: {}", event.message), By::Event);
        }
        (condition.map_or(String::new(), Condition::says), By::State)
    }

    /// Its infrastructure object says that it is ready.
    pub(super) fn is_infrastructure_ready(&self, machine: &Machine) -> bool {
        let own = self.facts.infrastructure_conditions(machine);
        let said = condition(own, "Ready");
        let said = said.or_else(|| condition(&machine.conditions, "InfrastructureReady"));
        machine.is_of_cluster_api() && said.is_some_and(Condition::is_true)
    }

    /// The condition of its infrastructure object that says why.
    pub(super) fn infrastructure_says(&mut self, machine: &Machine) -> Option<String> {
        let all = self.facts.infrastructure_conditions(machine).iter();
        let told = all.filter(|condition| !is_bare(machine, condition));
        // `Ready` sums the others up.
        let condition = told.min_by_key(|condition| condition.kind == "Ready")?;
        let (kind, name) = machine.source.infrastructure.as_ref()?;
        let object = format!("{kind} {}/{name}", machine.metadata.namespace);
        self.see_condition_of(&object, condition);
        Some(condition.says())
    }

    /// The line about it in its NodePool's condition: `Machine NAME: Reason: message`.
    fn node_pool_says(&mut self, machine: &Machine) -> Option<String> {
        let pool = self.own_node_pool()?;
        let condition = condition(&pool.conditions, ALL_READY)?;
        let (_, says) = condition.message.split_once(&machine_line(machine))?;
        // A line's end is shown, as all that cannot be printed.
        let says = says.split("\\n").next()?;
        // A reason alone is no cause.
        let says = Some(says.trim()).filter(|says| says.contains(": "))?;
        let object = format!("NodePool {}", pool.metadata.full_name());
        self.see_condition_of(&object, condition);
        Some(says.to_owned())
    }
}

/// The condition of a NodePool that names the Machines that are not ready, a line each.
pub(super) const ALL_READY: &str = "AllMachinesReady";

/// The beginning of its line.
pub(super) fn machine_line(machine: &Machine) -> String {
    format!("Machine {}: ", machine.metadata.name)
}

/// Who says why there is no instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
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
    let failure = Failure::of(machine, &condition.reason);
    if failure.is_some_and(|one| one.is_of_instance() || one.cause == FailureKind::HostMissing) {
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
pub(super) fn error_field(machine: &Machine) -> &'static str {
    match machine.is_of_cluster_api() {
        true => "failureReason and failureMessage (since v1beta2 under status.deprecated.v1beta1)",
        false => "status.errorReason and errorMessage",
    }
}

/// The error of a Machine in its own words.
pub(super) fn error(machine: &Machine) -> Option<String> {
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
