//! Sets that want more machines than they have, and were refused them (pure).

use super::case::{Case, Subject};
use super::cause::Cause;
use super::failures::{Failure, FailureKind, OTHER};
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::hosted::{is_stopped, says_why};
use super::index::Index;
use super::way::Stage;
use crate::forms::shell::word;
use skewguard_cluster::kinds::event::Event;
use skewguard_cluster::kinds::machine_set::MachineSet;
use skewguard_cluster::kinds::metadata::Condition;
use skewguard_cluster::kinds::node_pool::NodePool;
use std::collections::BTreeSet;

/// The sets and NodePools that lack machines, and say why.
pub(super) fn sets_without_machines<'a>(index: &Index<'a>) -> Vec<Subject<'a>> {
    let facts = index.facts;
    let lacks = |set: &MachineSet, has_machines: bool| {
        let is_silent = || {
            let is_known = has_machines && set.replicas_now.is_some();
            is_known && !set.is_mirror
        };
        set.wanted() > set.made() && (refusal(index, set).is_some() || is_silent())
    };
    let ground = &index.ground;
    let own = facts.machine_sets.iter().chain(&facts.windows_sets);
    let own = own.filter(|set| lacks(set, ground.has_machines));
    let of_cluster_api = facts.cluster_api_sets.iter();
    let of_cluster_api = of_cluster_api.filter(|set| lacks(set, ground.has_pool_machines));
    let sets = own.chain(of_cluster_api).map(Subject::Set);
    let machines = facts.all_machines();
    let used: BTreeSet<&str> = machines
        .clone()
        .filter_map(|one| one.node_pool.as_deref())
        .collect();
    let machines_of = |pool: &NodePool| {
        let name = pool.metadata.full_name();
        let own = machines
            .clone()
            .filter(|one| one.node_pool.as_ref() == Some(&name));
        own.count()
    };
    let pools = facts.node_pools.iter().filter(|pool| {
        let is_empty = !used.contains(&*pool.metadata.full_name());
        // Where Machines were not read it may have some; it says itself where none is available.
        let available = pool.available.unwrap_or_default();
        let says_none = || is_stopped(pool) && available == 0;
        // It is short of some, and says why.
        let wanted = i64::try_from(pool.wanted).unwrap_or(i64::MAX);
        let says_few = || available > 0 && available < wanted;
        is_empty && pool.wanted > 0 && (ground.has_pool_machines || says_none())
            || says_few() && says_why(pool) && machines_of(pool) < pool.wanted
    });
    sets.chain(pools.map(Subject::NodePool)).collect()
}

/// The condition of a set, else the last Event, that says why its Machines are not made.
enum Refusal<'a> {
    Event(&'a Event),
    Condition(&'a Condition),
}

/// The beginning of what the Machine API's controller says of a set whose Machines it cannot make.
const SYNC: &str = "failed to sync machines";

fn refusal<'a>(index: &Index<'a>, set: &'a MachineSet) -> Option<Refusal<'a>> {
    let events = index.events("MachineSet", &set.metadata.namespace, &set.metadata.name);
    // The Machine API's controller of sets, and no provider's own.
    let is_sync =
        |event: &Event| event.reason == "ReconcileError" && event.message.starts_with(SYNC);
    let is_failure =
        |event: &&Event| event.is_warning && (event.reason == "FailedCreate" || is_sync(event));
    let event = || events.into_iter().rfind(is_failure);
    let says_why = |condition: &&Condition| {
        matches!(
            (&*condition.kind, &*condition.status),
            ("MachinesCreated", "False") | ("ReplicaFailure" | "Paused", "True")
        )
    };
    let condition = set.conditions.iter().find(says_why);
    (condition.map(Refusal::Condition)).or_else(|| event().map(Refusal::Event))
}

impl<'a> Case<'a> {
    /// A set that wants more machines than it has.
    pub(super) fn set_without_machines(&mut self, set: &'a MachineSet) -> Finding {
        let name = self.name;
        let missing = set.wanted() - set.made();
        let (s, are) = if missing == 1 {
            ("", "is")
        } else {
            ("s", "are")
        };
        let begin = format!("{missing} Machine{s} of MachineSet {name} {are} not made");
        let step = "no Machine is made";
        let refusal = refusal(self.index, set);
        let is_event = matches!(refusal, Some(Refusal::Event(_)));
        let (source, at, message, by, tried) = match refusal {
            Some(Refusal::Event(event)) => (
                format!("Event {} of {}", event.reason, self.object()),
                event.last,
                event.message.clone(),
                "an Event says",
                format!(", the last try was{}", self.ago(event.last)),
            ),
            Some(Refusal::Condition(condition)) => (
                self.field(&format!("condition {}", condition.kind)),
                condition.since(),
                condition.says(),
                "the set says",
                String::new(),
            ),
            None => {
                self.unseen("why: the machineset-controller's log (get pods/log in openshift-machine-api), and Events, which are kept for hours");
                let text = format!("{begin}, and nothing that was read says why.");
                return Finding::new(Stage::NoInstance, Cause::NoMachineMade, step, text)
                    .next("Read the machineset-controller's log: `oc logs -n openshift-machine-api deployment/machine-api-controllers -c machineset-controller`");
            }
        };
        self.see(&source, at, &message);
        let failure = Failure::of_platform(None, &message).map(|failure| failure.cause);
        let is_ours = failure == Some(FailureKind::SkewguardRefuses);
        let (cause, help) = match is_ours {
            true => (
                Cause::SkewguardRefuses,
                format!(
                    "Set an allowed image in MachineSet {name}; which ones: `oc skewguard audit {name}`",
                    name = word(name)
                ),
            ),
            false => (Cause::NoMachineMade, OTHER.to_owned()),
        };
        let by = match is_ours && !is_event {
            true => "skewguard's admission policy refuses it",
            false => by,
        };
        let text = format!("{begin}{tried}: {by}: {}", sentence(&message));
        let finding = Finding::new(Stage::NoInstance, cause, step, text)
            .says(&message)
            .next(help);
        let finding = finding.proved(self, source, &[Counter::Itself]);
        self.told_by(is_event, finding)
    }
}
