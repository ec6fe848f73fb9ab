//! Machines that a health check deletes before they can join (pure).

use super::case::Case;
use super::facts::Facts;
use super::finding::Finding;
use super::kinds::Machine;
use super::moment::{Moment, span};
use super::records::HealthCheck;
use super::report::Stage;
use std::collections::BTreeMap;

impl Case<'_> {
    /// A health check that deletes machines of its set before they join.
    pub(super) fn remade(&mut self, finding: &Finding) -> Option<Finding> {
        let machine = self.machine?;
        if matches!(finding.stage, Stage::Joined) {
            return None;
        }
        let (_, set) = machine.owner.as_ref()?;
        let check = check_of(self.facts, machine)?;
        let deleted = deleted(self.facts, machine);
        let last = deleted.values().max().copied().flatten();
        for (name, at) in deleted.iter().take(5) {
            let text = "MachineDeleted: the MachineHealthCheck deleted it".to_owned();
            self.see(
                format!("Event of Machine {}/{name}", machine.meta.namespace),
                *at,
                text,
            );
        }
        if deleted.len() < 2 {
            return None;
        }
        let first = deleted.values().min().copied().flatten();
        let timeout = span(check.startup_timeout);
        let full_name = check.meta.full_name();
        self.see(
            format!("MachineHealthCheck {full_name}, spec.nodeStartupTimeout"),
            None,
            if check.is_default {
                format!("none: {timeout}")
            } else {
                timeout.clone()
            },
        );
        let within = match (first, last) {
            (Some(first), Some(last)) if last > first => format!(" in {}", span(last.since(first))),
            _ => String::new(),
        };
        let of_inner = finding.sentence.clone();
        let name = self.name();
        Some(
            Finding {
                stage: Stage::BeingRemade,
                at: finding.at,
                step: finding.step.clone(),
                is_certain: finding.is_certain,
                sentence: format!(
                    "{name} comes after {} Machines of {set} that MachineHealthCheck {} deleted{within}, because they had no Node after {timeout}. {of_inner}",
                    deleted.len(),
                    check.meta.name
                ),
                next: vec![format!(
                    "Stop the loop until the cause is gone: {}",
                    keep_command(check)
                )],
            }
            .append(&finding.next),
        )
    }

    /// Says when a health check will delete it.
    pub(super) fn warned(&mut self, finding: Finding) -> Finding {
        let Some(machine) = self.machine else {
            return finding;
        };
        if matches!(
            finding.stage,
            Stage::BeingRemade | Stage::Joined | Stage::NodeNotReady
        ) {
            return finding;
        }
        let check = check_of(self.facts, machine);
        let (Some(check), Some(since)) = (check, machine.since) else {
            return finding;
        };
        let at = since.plus(check.startup_timeout);
        if at < self.now {
            return finding;
        }
        finding.next(format!(
            "MachineHealthCheck {} deletes it at {at}. To keep it: {}",
            check.meta.name,
            keep_command(check)
        ))
    }
}

impl Finding {
    fn append(mut self, next: &[String]) -> Self {
        self.next.extend_from_slice(next);
        self
    }
}

/// Tells if a health check deletes the Machines of its set again and again.
pub(super) fn is_remade(facts: &Facts, machine: &Machine) -> bool {
    check_of(facts, machine).is_some() && deleted(facts, machine).len() > 1
}

/// The Machines of its set that a health check deleted, and when.
fn deleted<'f>(facts: &'f Facts, machine: &Machine) -> BTreeMap<&'f str, Option<Moment>> {
    let Some((_, set)) = &machine.owner else {
        return BTreeMap::new();
    };
    let start = format!("{set}-");
    facts
        .events
        .iter()
        .filter(|event| event.reason == "MachineDeleted" && event.kind == "Machine")
        .filter(|event| event.namespace == machine.meta.namespace)
        .filter(|event| event.name.starts_with(&start) && event.name != machine.meta.name)
        .map(|event| (&*event.name, event.last))
        .collect()
}

/// The health check that surely looks after a Machine, the one that waits least.
fn check_of<'f>(facts: &'f Facts, machine: &Machine) -> Option<&'f HealthCheck> {
    let checks = facts.checks.iter();
    checks
        .filter(|check| check.startup_timeout > 0 && check.covers(machine))
        .min_by_key(|check| check.startup_timeout)
}

/// The command that keeps a health check from deleting machines without a Node.
fn keep_command(check: &HealthCheck) -> String {
    let group = if check.is_of_cluster_api {
        "cluster.x-k8s.io"
    } else {
        "machine.openshift.io"
    };
    let spec = if check.has_checks {
        r#"{"checks":{"nodeStartupTimeoutSeconds":0}}"#
    } else {
        r#"{"nodeStartupTimeout":"0"}"#
    };
    format!(
        "oc patch machinehealthchecks.{group} -n {} {} --type merge -p '{{\"spec\":{spec}}}'",
        check.meta.namespace, check.meta.name
    )
}
