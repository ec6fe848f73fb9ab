//! Instances that do not run (pure).

use super::case::Case;
use super::finding::Finding;
use super::instance_state::{ENDED, is_one_of, off_state};
use super::request_step::{Asked, STILL_ASKS};
use super::rows::row;
use skewguard_cluster::kinds::Machine;
use skewguard_core::platform::Platform;

impl Case<'_> {
    pub(super) fn off(&mut self, machine: &Machine, state: &str) -> Finding {
        let source = self.field("the instance's state");
        self.see(source.clone(), None, format!("instance state {state}"));
        // Google Compute's TERMINATED is a stopped one.
        let is_stopped = machine.source.platform() == Some(Platform::Gcp) || state == "TERMINATED";
        let is_broken = is_one_of("error failed", state);
        let is_ended = is_one_of(ENDED, state) && !is_stopped;
        let finding = self.tell(if is_broken {
            row!(InstanceBroken state)
        } else if is_ended {
            row!(InstanceEnded state, replace = self.replace(machine))
        } else {
            row!(InstanceStopped state)
        });
        let finding = self.beside_silent_node(finding);
        if let Asked::Seen(seen) = self.asked()
            && self.now.since(seen.last.at) <= STILL_ASKS
        {
            self.see_request(&seen);
            return self.with(finding, row!(AsksNow));
        }
        let again = !is_ended && self.is_made_again(machine);
        let again = again.then(|| row!(SetMakesAnother ends = is_broken));
        let finding = self.with_all(finding, again);
        self.off_proved(finding, source)
    }

    /// Adds that its instance is called off, though the kubelet of its Node tells of itself.
    pub(super) fn beside_old_state(&mut self, finding: Finding) -> Finding {
        let state = self.machine.and_then(off_state);
        self.with_all(finding, state.map(|state| row!(StateIsOld state)))
    }

    /// The finding of a machine that is off, which is proved where nobody asks in the name of its Node.
    pub(super) fn off_proved(&mut self, finding: Finding, source: String) -> Finding {
        match self.request_of_silent_node() {
            None => finding.sure(self, source),
            Some(request) => self.with(finding, row!(AsksWhileOff request)),
        }
    }

    /// Tells if it never joined, nor asked for a certificate, and its set makes another once it is deleted.
    fn is_made_again(&self, machine: &Machine) -> bool {
        let is_worker = machine.role.as_deref() != Some("master");
        let is_new = machine.node.is_none() && self.node.is_none();
        let mut sets = self.facts.all_machine_sets();
        let makes_another = sets.any(|set| {
            let is_in = set.metadata.namespace == machine.metadata.namespace;
            let is_own = is_in && machine.is_owned_by("MachineSet", Some(&set.metadata.name));
            is_own && !set.is_mirror() && !set.is_deleting && set.made() <= set.wanted()
        });
        is_worker && is_new && makes_another && self.own_requests().is_empty()
    }

    /// What makes another Machine in its place.
    pub(super) fn replace(&self, machine: &Machine) -> &'static str {
        let is_of = |kind| machine.is_owned_by(kind, None);
        if is_of("ControlPlaneMachineSet") || machine.role.as_deref() == Some("master") {
            let mut sets = self.facts.control_planes.iter();
            match sets.next().map(|set| set.is_inactive()) {
                Some(true) => BY_HAND,
                Some(false) => "have it replaced by its ControlPlaneMachineSet, which is Active",
                None => PERHAPS_BY_SET,
            }
        } else if machine.owners.is_empty() {
            "make another, which no set does"
        } else {
            "delete the Machine"
        }
    }

    /// Adds that its Node is silent.
    pub(super) fn beside_silent_node(&mut self, finding: Finding) -> Finding {
        let silent = self.node.and_then(|node| Some((node, node.not_ready()?)));
        let row = silent.map(|(node, ready)| {
            let node = &node.metadata.name;
            self.see_condition_of(&format!("Node {node}"), ready);
            row!(NodeSilent node, since = self.span_since(ready.since()))
        });
        self.with_all(finding, row)
    }
}

const BY_HAND: &str =
    "replace it by hand, since its ControlPlaneMachineSet is Inactive and makes none";

const PERHAPS_BY_SET: &str = "have it replaced by its ControlPlaneMachineSet, if that is Active; without one nothing makes it anew";
