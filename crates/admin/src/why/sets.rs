//! Sets that want more machines than they have, and were refused them (pure).

use super::case::{Case, Subject};
use super::finding::{Counter, Finding, ago, sentence};
use super::hosted::is_invalid;
use super::index::Index;
use super::moment::Moment;
use super::way::{At, Stage};
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::machine_set::MachineSet;

/// The sets and NodePools that lack machines, and say why.
pub(super) fn sets_without_machines<'a>(facts: &'a Cluster, index: &Index<'a>) -> Vec<Subject<'a>> {
    let lacks = |set: &&MachineSet| {
        let is_own =
            |(kind, name): &(String, String)| kind == "MachineSet" && *name == set.metadata.name;
        let is_silent = || {
            let is_known = index.ground.has_machines && set.replicas_now.is_some();
            let mut machines = facts.all_machines();
            is_known && !set.is_mirror && !machines.any(|one| one.owners.iter().any(is_own))
        };
        set.wanted() > set.made() && (refusal(index, set).is_some() || is_silent())
    };
    let sets = facts.all_machine_sets().filter(lacks).map(Subject::Set);
    let pools = facts.node_pools.iter().filter(|pool| {
        let is_empty = !index
            .pools_with_machines
            .contains(&*pool.metadata.full_name());
        is_empty && pool.wanted > 0 && (index.ground.has_machines || is_invalid(pool))
    });
    sets.chain(pools.map(Subject::NodePool)).collect()
}

/// The last Event or the condition of a set that says why its Machines are not made, and its source.
fn refusal(index: &Index<'_>, set: &MachineSet) -> Option<(String, Option<Moment>, String)> {
    let events = index.events("MachineSet", &set.metadata.namespace, &set.metadata.name);
    let event = events
        .iter()
        .rev()
        .find(|event| event.is_warning && event.reason == "FailedCreate");
    if let Some(event) = event {
        let source = format!(
            "Event FailedCreate of MachineSet {}",
            set.metadata.full_name()
        );
        return Some((source, event.last, event.message.clone()));
    }
    let condition = set.conditions.iter().find(|condition| {
        matches!(
            &*condition.kind,
            "MachinesCreated" | "ReplicaFailure" | "Paused"
        ) && condition.status
            == if condition.kind == "MachinesCreated" {
                "False"
            } else {
                "True"
            }
    })?;
    let source = format!(
        "MachineSet {}, condition {}",
        set.metadata.full_name(),
        condition.kind
    );
    Some((source, condition.since(), condition.says()))
}

impl Case<'_> {
    /// A set that wants more machines than it has.
    pub(super) fn set_without_machines(&mut self, set: &MachineSet) -> Finding {
        let name = &set.metadata.name;
        let missing = set.wanted() - set.made();
        let is_one = missing == 1;
        let begin = format!(
            "{missing} Machine{} of MachineSet {name} {} not made",
            if is_one { "" } else { "s" },
            if is_one { "is" } else { "are" },
        );
        let Some((source, at, message)) = refusal(self.index, set) else {
            self.unseen("why: the machineset-controller's log (get pods/log in openshift-machine-api), and Events, which are kept for hours");
            let text = format!("{begin}, and nothing that was read says why.");
            return Finding::new(Stage::NoInstance, At::Instance, "no Machine is made", text)
                .next("Read the machineset-controller's log: `oc logs -n openshift-machine-api deployment/machine-api-controllers -c machineset-controller`");
        };
        self.see(source.clone(), at, message.clone());
        let is_event = source.starts_with("Event");
        let is_ours = message.contains("skewguard");
        let by = match (is_event, is_ours) {
            (_, true) => "skewguard's admission policy refuses it",
            (true, false) => "the API server refuses it",
            (false, false) => "the set says",
        };
        let tried = if is_event {
            format!(", the last try was{}", ago(self.now, at))
        } else {
            String::new()
        };
        let finding = Finding::new(
            Stage::NoInstance,
            At::Instance,
            "no Machine is made",
            format!("{begin}{tried}: {by}: {}", sentence(&message)),
        );
        let finding = if is_ours {
            finding.next(format!(
                "Set an allowed image in MachineSet {name}; which ones: `oc skewguard audit {name}`"
            ))
        } else {
            finding.next("Correct what the message names")
        };
        finding.proved(self, source, &[Counter::Itself])
    }
}
