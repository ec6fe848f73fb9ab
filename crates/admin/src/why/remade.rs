//! Machines that a health check or the cluster-autoscaler ends before they can join, again and again (pure).

use super::case::{Case, last};
use super::deletion::Deletion;
use super::finding::Finding;
use super::index::Index;
use super::moment::span;
use super::rows::{Row, row};
use super::way::Stage;
use skewguard_cluster::kinds::{Event, HealthCheck, Machine};
use skewguard_cluster::names::count;
use std::collections::BTreeMap;

/// The Machines of a Machine's set that a health check deleted, each once.
fn deleted<'a>(index: &Index<'a>, machine: &Machine) -> Vec<Deletion<'a>> {
    let all = set_of(machine).and_then(|set| {
        let key = (&*machine.metadata.namespace, &**set);
        index.deleted.get(&key)
    });
    let all = all.into_iter().flatten();
    let all = all.filter(|deletion| deletion.machine != machine.metadata.name);
    let each: BTreeMap<&str, &Deletion<'_>> = all.map(|one| (one.machine, one)).collect();
    each.into_values().cloned().collect()
}

/// Tells if health checks delete the Machines of its set again and again.
pub(super) fn is_remade(index: &Index<'_>, machine: &Machine) -> bool {
    deleted(index, machine).len() > 1
}

/// Tells if the cluster-autoscaler gave up machines of its set.
pub(super) fn is_given_up(index: &Index<'_>, machine: &Machine) -> bool {
    let mut events = index.autoscaler.iter();
    events.any(|event| is_of_set(event, machine))
}

impl<'a> Case<'a> {
    /// The finding, told as a part of the loop in which a health check deletes the machines of its set.
    pub(super) fn remade(&mut self, finding: Finding) -> Finding {
        let Some(machine) = self.machine else {
            return finding;
        };
        let finding = self.remediated(machine, finding);
        let finding = self.given_up(machine, finding);
        let deleted = deleted(self.index, machine);
        if deleted.len() < 2 || finding.stage == Stage::Joined {
            return finding;
        }
        for one in deleted.iter().take(5) {
            let node = if one.had_node { "a" } else { "no" };
            let source = format!(
                "Event of Machine {}/{}",
                machine.metadata.namespace, one.machine
            );
            let text =
                format!("MachineDeleted: the MachineHealthCheck deleted it, which had {node} Node");
            self.see(source, one.at, text);
        }
        self.see_more("Events MachineDeleted", deleted.len(), 5);
        let with_node = deleted.iter().filter(|one| one.had_node).count();
        let named = deleted.iter().find_map(|one| one.check);
        let mut checks = self.facts.health_checks.iter();
        let check = match named {
            Some(name) => checks.find(|check| {
                let own = &check.metadata;
                own.name == name && own.namespace == machine.metadata.namespace
            }),
            None => self.covering(machine),
        };
        let name = named.or(check.map(|one| &*one.metadata.name));
        let begin = self.loop_words(machine, &deleted, name);
        let conditions = check.filter(|_| with_node > 0);
        let conditions = conditions.map(|check| self.conditions(check));
        let row = if with_node == deleted.len() {
            row!(HealthCheckLoopWithNodes begin, conditions)
        } else {
            let after = check.map(|check| self.startup_timeout(check));
            let without = count(deleted.len() - with_node, "Machine");
            let some = (with_node > 0).then_some(with_node);
            let check = check.map(|check| check.metadata.full_name());
            row!(HealthCheckLoop begin, without, some, after, conditions, check)
        };
        self.with_events(finding, row)
    }

    /// The finding, with what Events alone say beside it.
    fn with_events(&mut self, finding: Finding, row: Row) -> Finding {
        let finding = self.with(finding, row);
        self.told_by(true, finding)
    }

    /// The finding, beside the Events of a health check that had its host switched off and on.
    fn remediated(&mut self, machine: &Machine, finding: Finding) -> Finding {
        let is_request = |event: &&Event| {
            event.reason == "ExternalAnnotationAdded" && !self.is_before(event.last)
        };
        let events = self.index.events_of(machine);
        let events: Vec<&Event> = events.into_iter().filter(is_request).collect();
        let Some(newest) = events.last().filter(|_| is_on_the_way(&finding)) else {
            return finding;
        };
        self.see_events(&self.object(), last(&events, 5));
        self.see_more("such Events before", events.len(), 5);
        let (times, ago) = (count(events.len(), "time"), self.ago(newest.last));
        let check = self.covering(machine).filter(|check| check.is_external);
        let check = check.map(|check| check.metadata.full_name());
        self.with_events(finding, row!(HostRestarted times, ago, check))
    }

    /// The finding, told as a part of the loop in which the cluster-autoscaler gives up the machines of its
    /// set.
    fn given_up(&mut self, machine: &Machine, finding: Finding) -> Finding {
        let events = self.index.autoscaler.iter().copied();
        let own = events.clone().filter(|event| is_of_set(event, machine));
        let own: Vec<&Event> = own.collect();
        let Some(newest) = own.last().filter(|_| is_on_the_way(&finding)) else {
            return finding;
        };
        let times = (own.len() > 1).then_some(own.len());
        let minutes = newest.message.split("within ").nth(1);
        let minutes = minutes.and_then(|rest| rest.split('m').next()?.parse::<u8>().ok());
        let removed = events.filter(|event| event.reason == "DeleteUnregistered");
        let removed: Vec<&Event> = removed.collect();
        self.see_more("Events DeleteUnregistered before", removed.len(), 4);
        let seen = last(&removed, 4).chain([*newest]);
        self.see_events("the cluster-autoscaler", seen);
        let removed = Some(removed.len()).filter(|all| *all > 0);
        let set = set_of(machine);
        self.with_events(finding, row!(AutoscalerLoop set, times, minutes, removed))
    }

    /// ` after 2 hours`, the time that a health check gives a machine to become a Node.
    fn startup_timeout(&mut self, check: &HealthCheck) -> String {
        let timeout = span(check.startup_timeout());
        let name = check.metadata.full_name();
        let source = format!("MachineHealthCheck {name}, spec.nodeStartupTimeout");
        let default = if check.timeout().is_none() {
            "none: "
        } else {
            ""
        };
        self.see(source, None, format!("{default}{timeout}"));
        format!(" after {timeout}")
    }

    /// `Ready False for 300s, Ready Unknown for 300s`, for which a health check ends a machine with a Node.
    fn conditions(&mut self, check: &HealthCheck) -> String {
        let all = check.conditions().join(", ");
        let name = check.metadata.full_name();
        let source = format!("MachineHealthCheck {name}, spec.unhealthyConditions");
        self.see(source, None, if all.is_empty() { "none" } else { &all });
        all
    }

    /// `worker-7 comes after 4 Machines of worker that MachineHealthCheck workers deleted in 33 minutes`.
    fn loop_words(
        &mut self,
        machine: &Machine,
        deleted: &[Deletion<'_>],
        check: Option<&str>,
    ) -> String {
        let times = deleted.iter().filter_map(|one| one.at);
        let within = times.clone().min().zip(times.max());
        let within = within.map(|(first, last)| last.since(first));
        let within = within.filter(|within| *within > 0).map(span);
        let (machines, set) = (count(deleted.len(), "Machine"), set_of(machine));
        self.says(row!(ComesAfter machines, set, check, within))
    }

    /// The health check that surely looks after a Machine, the one that waits least.
    fn covering(&self, machine: &Machine) -> Option<&'a HealthCheck> {
        let checks = self.facts.health_checks.iter();
        let own = checks.filter(|check| check.startup_timeout() > 0 && check.covers(machine));
        own.min_by_key(|check| check.startup_timeout())
    }

    /// Says when a health check will delete it.
    pub(super) fn warned(&mut self, finding: Finding) -> Finding {
        let warning = || {
            // One that has failed is deleted at once, whatever the timeout.
            let machine = self.machine.filter(|machine| !machine.is_failed())?;
            let check = self.covering(machine)?;
            let at = machine.since?.plus(check.startup_timeout());
            (at >= self.now).then(|| {
                let does = match check.is_external {
                    true => "has it remediated",
                    false => "deletes it",
                };
                row!(EndsAt check = check.metadata.name, does, at, command = keep_command(check))
            })
        };
        let is_over = matches!(
            finding.stage,
            Stage::BeingRemade | Stage::Joined | Stage::NodeNotReady
        );
        let warning = warning().filter(|_| !is_over);
        self.with_all(finding, warning)
    }
}

/// Tells if a finding is of a machine that has no Node yet.
fn is_on_the_way(finding: &Finding) -> bool {
    !matches!(finding.stage, Stage::Joined | Stage::NodeNotReady)
}

/// Tells if the cluster-autoscaler gave up machines of a Machine's set, by an Event: `Nodes added to group
/// MachineSet/NAMESPACE/NAME failed to register within 15m0s`.
fn is_of_set(event: &Event, machine: &Machine) -> bool {
    machine.owners.first().is_some_and(|(kind, name)| {
        let group = format!("group {kind}/{}/{name} ", machine.metadata.namespace);
        event.reason == "ScaleUpTimedOut" && event.message.contains(&group)
    })
}

/// The name of what made a Machine.
fn set_of(machine: &Machine) -> Option<&String> {
    machine.owners.first().map(|(_, set)| set)
}

/// The command that keeps a health check from deleting machines without a Node.
fn keep_command(check: &HealthCheck) -> String {
    let group = check.group;
    let spec = match check.has_checks {
        true => r#"{"checks":{"nodeStartupTimeoutSeconds":0}}"#,
        false => r#"{"nodeStartupTimeout":"0"}"#,
    };
    let (space, name) = (&check.metadata.namespace, &check.metadata.name);
    format!(
        "oc patch machinehealthchecks.{group} -n {space} {name} --type merge -p '{{\"spec\":{spec}}}'"
    )
}
