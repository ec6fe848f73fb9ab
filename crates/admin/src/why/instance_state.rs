//! States of instances and hosts: what runs, and what does not (pure).

use super::case::Case;
use super::index::Index;
use skewguard_cluster::kinds::Machine;

/// States of a cloud's instance that runs nothing.
const OFF: &str = "error stopped stopping terminated shutting-down deallocated deallocating poweredoff off \
    shutoff paused suspended suspending failed deleted deleting soft_deleted shelved shelved_offloaded";

/// States of one that was ended.
pub(super) const ENDED: &str = "terminated shutting-down deleted deleting soft_deleted";

/// States of one that runs.
const ON: &str = "running active poweredon on succeeded";

pub(super) fn is_one_of(states: &str, state: &str) -> bool {
    let state = state.to_ascii_lowercase();
    states.split_whitespace().any(|known| known == state)
}

/// The state of an instance that runs nothing.
pub(super) fn off_state(machine: &Machine) -> Option<&str> {
    let state = machine.instance_state.as_deref();
    state.filter(|state| is_one_of(OFF, state))
}

/// Tells if its instance or its host is off.
pub(super) fn is_off(index: &Index<'_>, machine: &Machine) -> bool {
    let host = index.links.host_of(machine).and_then(|host| host.is_on);
    off_state(machine).is_some() || host == Some(false)
}

impl<'a> Case<'a> {
    /// The state of its instance, where that is neither known to run nor known not to.
    pub(super) fn odd_state(&self) -> Option<&'a str> {
        let state = self.machine?.instance_state.as_deref()?;
        let is_known = state.is_empty() || is_one_of(ON, state) || is_one_of(OFF, state);
        (!is_known).then_some(state)
    }

    /// Its instance does not run, and its Node is silent, or was not read whole: what runs nothing asks for nothing.
    pub(super) fn is_off_and_silent(&self) -> bool {
        let is_off = self.machine.is_some_and(|one| is_off(self.index, one));
        let ready = self.node.map(|node| node.ready.as_ref());
        is_off && ready.is_some_and(|ready| ready.is_none_or(|ready| ready.status == "Unknown"))
    }
}
