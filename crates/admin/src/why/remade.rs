//! Machines that a health check deletes and their set makes anew, again and again (pure).

use super::case::Case;
use super::deletion::Deletion;
use super::finding::Finding;
use super::index::Index;
use super::moment::span;
use super::way::Stage;
use skewguard_cluster::kinds::groups::{CLUSTER_API, MACHINE_API};
use skewguard_cluster::kinds::health_check::HealthCheck;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::names::count;
use std::collections::BTreeMap;

/// The Machines of a Machine's set that a health check deleted, each once.
fn deleted<'a>(index: &Index<'a>, machine: &Machine) -> Vec<Deletion<'a>> {
    let Some((_, set)) = machine.owners.first() else {
        return Vec::new();
    };
    let key = (&*machine.metadata.namespace, &**set);
    let all = index.deleted.get(&key).into_iter().flatten();
    let all = all.filter(|deletion| deletion.machine != machine.metadata.name);
    let each: BTreeMap<&str, &Deletion<'_>> = all.map(|one| (one.machine, one)).collect();
    each.into_values().cloned().collect()
}

/// Tells if health checks delete the Machines of its set again and again.
pub(super) fn is_remade(index: &Index<'_>, machine: &Machine) -> bool {
    deleted(index, machine).len() > 1
}

impl<'a> Case<'a> {
    /// The finding, told as a part of the loop in which a health check deletes the machines of its set.
    pub(super) fn remade(&mut self, finding: Finding) -> Finding {
        let Some(machine) = self.machine else {
            return finding;
        };
        let deleted = deleted(self.index, machine);
        if deleted.len() < 2 || finding.stage == Stage::Joined {
            return finding;
        }
        for one in deleted.iter().take(5) {
            let node = match one.had_node {
                Some(true) => ", which had a Node",
                Some(false) => ", which had no Node",
                None => "",
            };
            self.see(
                format!(
                    "Event of Machine {}/{}",
                    machine.metadata.namespace, one.machine
                ),
                one.at,
                format!("MachineDeleted: the MachineHealthCheck deleted it{node}"),
            );
        }
        let had_node = deleted.iter().filter(|one| one.had_node == Some(true));
        let with_node = had_node.count();
        let named = deleted.iter().find_map(|one| one.check);
        let check = self.check_of(machine, named);
        let begin = loop_words(self.name, machine, &deleted, named, check);
        let (why, first) = if with_node == deleted.len() {
            (
                ". They had Nodes: their unhealthyConditions are why, and another timeout changes nothing.".to_owned(),
                Some("Find out what their Nodes had: `oc get events -A --field-selector involvedObject.kind=Node`".to_owned()),
            )
        } else {
            let why = self.without_node(check, deleted.len() - with_node, with_node);
            let first = check.map(|check| {
                format!(
                    "Stop the loop until the cause is gone: `{}`",
                    keep_command(check)
                )
            });
            (why, first)
        };
        let sentence = format!("{begin}{why} {}", finding.sentence);
        let finding = finding.retold(Stage::BeingRemade, sentence, first);
        self.told_by(true, finding)
    }

    /// Why a health check deleted machines without a Node.
    fn without_node(&mut self, check: Option<&HealthCheck>, without: usize, with: usize) -> String {
        let after = check.map_or(String::new(), |check| {
            let timeout = span(check.startup_timeout);
            let full_name = check.metadata.full_name();
            let default = if check.is_default { "none: " } else { "" };
            self.see(
                format!("MachineHealthCheck {full_name}, spec.nodeStartupTimeout"),
                None,
                format!("{default}{timeout}"),
            );
            format!(" after {timeout}")
        });
        match with {
            0 => format!(", because they had no Node{after}."),
            with => format!(
                ": {} had no Node{after}, {with} had one and were deleted for their unhealthyConditions.",
                count(without, "Machine")
            ),
        }
    }

    /// The health check that the Events name, else the one that surely looks after the Machine.
    fn check_of(&self, machine: &Machine, named: Option<&str>) -> Option<&'a HealthCheck> {
        let Some(name) = named else {
            return self.covering(machine);
        };
        let mut checks = self.facts.health_checks.iter();
        checks.find(|check| {
            check.metadata.name == name && check.metadata.namespace == machine.metadata.namespace
        })
    }

    /// The health check that surely looks after a Machine, the one that waits least.
    fn covering(&self, machine: &Machine) -> Option<&'a HealthCheck> {
        let checks = self.facts.health_checks.iter();
        checks
            .filter(|check| check.startup_timeout > 0 && check.covers(machine))
            .min_by_key(|check| check.startup_timeout)
    }

    /// Says when a health check will delete it.
    pub(super) fn warned(&self, finding: Finding) -> Finding {
        let warning = || {
            let machine = self.machine?;
            let check = self.covering(machine)?;
            let at = machine.since?.plus(check.startup_timeout);
            (at >= self.now).then(|| {
                format!(
                    "MachineHealthCheck {} deletes it at {at}. To keep it: {}",
                    check.metadata.name,
                    keep_command(check)
                )
            })
        };
        let is_over = matches!(
            finding.stage,
            Stage::BeingRemade | Stage::Joined | Stage::NodeNotReady
        );
        match warning().filter(|_| !is_over) {
            Some(warning) => finding.next(warning),
            None => finding,
        }
    }
}

/// `worker-7 comes after 4 Machines of worker that MachineHealthCheck workers deleted in 33 minutes`.
fn loop_words(
    name: &str,
    machine: &Machine,
    deleted: &[Deletion<'_>],
    named: Option<&str>,
    check: Option<&HealthCheck>,
) -> String {
    let times = deleted.iter().filter_map(|one| one.at);
    let within = match (times.clone().min(), times.max()) {
        (Some(first), Some(last)) if last > first => format!(" in {}", span(last.since(first))),
        _ => String::new(),
    };
    let by = match named.or(check.map(|check| &*check.metadata.name)) {
        Some(name) => format!("MachineHealthCheck {name}"),
        None => "a MachineHealthCheck".to_owned(),
    };
    let set = machine.owners.first().map_or("", |(_, set)| set);
    format!(
        "{name} comes after {} of {set} that, as Events say, {by} deleted{within}",
        count(deleted.len(), "Machine")
    )
}

/// The command that keeps a health check from deleting machines without a Node.
fn keep_command(check: &HealthCheck) -> String {
    let group = match check.is_of_cluster_api {
        true => CLUSTER_API,
        false => MACHINE_API,
    };
    let spec = match check.has_checks {
        true => r#"{"checks":{"nodeStartupTimeoutSeconds":0}}"#,
        false => r#"{"nodeStartupTimeout":"0"}"#,
    };
    format!(
        "oc patch machinehealthchecks.{group} -n {} {} --type merge -p '{{\"spec\":{spec}}}'",
        check.metadata.namespace, check.metadata.name
    )
}
