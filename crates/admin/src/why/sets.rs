//! Sets that want more machines than they have, and were refused them (pure).

use super::case::Case;
use super::failures::{Failure, FailureKind, help};
use super::finding::{Finding, sentence};
use super::hosted::{has_machines_of_no_pool, is_stopped, says_why};
use super::hosted_cluster::clusters_without_cloud;
use super::index::Index;
use super::rows::row;
use super::subject::Subject;
use super::why_not_made::{ALL_READY, machine_line};
use crate::audit::Unread;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::groups::MACHINE_API;
use skewguard_cluster::kinds::{
    Condition, Event, Machine, MachineSet, Metadata, NodePool, condition,
};
use skewguard_cluster::names::count;

const SET: &str = "MachineSet";
const CONTROL_PLANE: &str = "ControlPlaneMachineSet";

/// The sets and NodePools that lack machines, and say why.
pub(super) fn sets_without_machines<'a>(index: &Index<'a>) -> Vec<Subject<'a>> {
    let facts = index.facts;
    let ground = &index.ground;
    let (own, of_cluster_api) = (ground.has_machines, ground.has_pool_machines);
    let all = [
        (SET, &facts.machine_sets, own),
        (SET, &facts.windows_sets, own),
        (SET, &facts.cluster_api_sets, of_cluster_api),
        (CONTROL_PLANE, &facts.control_planes, own),
    ];
    let sets = all.into_iter().flat_map(|(kind, sets, has_machines)| {
        let short = sets.iter().filter(move |set| {
            // The other copy counts, it goes, or makes none.
            let is_over = set.is_mirror() || set.is_deleting || set.is_inactive();
            let is_known = has_machines && set.replicas_now.is_some();
            let is_short = set.wanted() > set.made() && !is_over;
            is_short && (is_known || refusal(index, kind, set).is_some())
        });
        short.map(move |set| Subject::Set(kind, set))
    });
    let has_nobodys = has_machines_of_no_pool(facts);
    // Fewer than it wants were read, and fewer that wait than it lacks: these are told by themselves.
    let is_short = |pool: &NodePool, own: &[&Machine], lacks: i64| {
        let waiting = own.iter().filter(|one| one.node.is_none()).count();
        own.len() < pool.wanted && i64::try_from(waiting).is_ok_and(|waiting| waiting < lacks)
    };
    let pools = facts.node_pools.iter().filter(|pool| {
        let own = own_machines(facts, pool);
        let is_empty = own.is_empty();
        // Where Machines were not read it may have some; it says itself where none is available.
        let available = pool.available.unwrap_or_default();
        let says_none = || is_stopped(pool) && available == 0;
        // It is short of some, and says why.
        let wanted = i64::try_from(pool.wanted).unwrap_or(i64::MAX);
        let says_few = || available > 0 && available < wanted;
        // Machines that name no NodePool may be its own.
        let is_perhaps_whole = available >= wanted && has_nobodys;
        is_empty
            && pool.wanted > 0
            && !is_perhaps_whole
            && (ground.has_pool_machines || says_none())
            || says_few() && says_why(pool) && is_short(pool, &own, wanted - available)
    });
    let pools: Vec<&NodePool> = pools.collect();
    let clusters = clusters_without_cloud(facts, &pools);
    let clusters = clusters.into_iter().map(Subject::HostedCluster);
    sets.chain(pools.into_iter().map(Subject::NodePool))
        .chain(clusters)
        .collect()
}

/// The Machines of a NodePool: those that name it, and those that it names as not ready, which may lack the annotation.
fn own_machines<'a>(facts: &'a Cluster, pool: &NodePool) -> Vec<&'a Machine> {
    let name = pool.metadata.full_name();
    let says = condition(&pool.conditions, ALL_READY).map_or("", |one| &one.message);
    let is_named = |one: &Machine| one.is_of_cluster_api() && says.contains(&machine_line(one));
    let own = facts.all_machines();
    let own = own.filter(|one| one.node_pool.as_ref() == Some(&name) || is_named(one));
    own.collect()
}

/// The Machines that sets have by their own status, and that were not read; none where no Machine says whose it is.
pub(super) fn machines_not_read(index: &Index<'_>) -> Vec<Unread> {
    let facts = index.facts;
    let has_owners = facts.all_machines().any(|one| one.is_owned_by(SET, None));
    let sets = facts.machine_sets.iter().filter(|_| has_owners);
    let sets = sets.filter(|set| !set.is_mirror() && !set.is_deleting);
    let missing = sets.filter_map(|set| {
        let Metadata {
            namespace, name, ..
        } = &set.metadata;
        let own = index.links.owned_by(MACHINE_API, SET, namespace, name);
        let made = set.made();
        let missing = made - i64::try_from(own.len()).unwrap_or(i64::MAX);
        (missing > 0).then(|| {
            let why = format!(
                "{missing} of MachineSet {name} were not read, which says that it has {made}"
            );
            Unread::new("Machines", why)
        })
    });
    missing.collect()
}

/// The condition of a set, else the last Event, that says why its Machines are not made.
enum Refusal<'a> {
    Event(&'a Event),
    Condition(&'a Condition),
}

/// The beginning of what the Machine API's controller says of a set whose Machines it cannot make.
const SYNC: &str = "failed to sync machines";

fn refusal<'a>(index: &Index<'a>, kind: &str, set: &'a MachineSet) -> Option<Refusal<'a>> {
    let events = index.events(kind, &set.metadata.namespace, &set.metadata.name);
    // The Machine API's controller of sets, and no provider's own.
    let is_sync =
        |event: &Event| event.reason == "ReconcileError" && event.message.starts_with(SYNC);
    let is_failure =
        |event: &&Event| event.is_warning && (event.reason == "FailedCreate" || is_sync(event));
    let event = || events.into_iter().rfind(is_failure);
    let says_why = |condition: &&Condition| {
        matches!(
            (&*condition.kind, &*condition.status),
            ("MachinesCreated", "False") | ("ReplicaFailure" | "Paused" | "Degraded", "True")
        )
    };
    let condition = set.conditions.iter().find(says_why);
    (condition.map(Refusal::Condition)).or_else(|| event().map(Refusal::Event))
}

impl<'a> Case<'a> {
    /// A set that wants more machines than it has.
    pub(super) fn set_without_machines(&mut self, set: &'a MachineSet) -> Finding {
        let kind = self.subject.kind();
        let missing = usize::try_from(set.wanted() - set.made()).unwrap_or_default();
        let are = if missing == 1 { "is" } else { "are" };
        let missing = count(missing, "Machine");
        let refusal = refusal(self.index, kind, set);
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
                let stale = set.is_stale();
                return self.tell(match kind {
                    CONTROL_PLANE => row!(NoControlPlaneMachineMade missing, kind, are, stale),
                    _ => row!(NoMachineMadeSilently missing, kind, are, stale),
                });
            }
        };
        self.see(&source, at, &message);
        let failure = Failure::of_platform(None, &message);
        let is_ours = failure.is_some_and(|one| one.cause == FailureKind::SkewguardRefuses);
        let by = match is_ours && !is_event {
            true => "skewguard's admission policy refuses it",
            false => by,
        };
        let (says, help) = (sentence(&message), help(failure));
        let finding = self.tell(match is_ours {
            true => row!(SkewguardRefuses missing, kind, are, tried, by, says),
            false => row!(NoMachineMade missing, kind, are, tried, by, says, help),
        });
        let finding = finding.because(failure).sure(self, source);
        self.told_by(is_event, finding)
    }
}
