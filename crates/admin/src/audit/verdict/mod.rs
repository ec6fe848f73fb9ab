//! The verdict on a set's next node, by the rules that nodes apply (pure).

pub(crate) mod cpu;
pub(crate) mod evidence;
pub(crate) mod horizon;
pub(crate) mod image_judge;
pub(crate) mod issues;
pub(crate) mod missing_limit;
pub(crate) mod own;
pub(crate) mod served;
pub(crate) mod verdicts;

use crate::policy::Policy;
use crate::verdict::PolicyInput;

/// The policy, where one could be read.
pub(crate) fn valid(policy: &PolicyInput) -> Option<&Policy> {
    match policy {
        PolicyInput::Valid { policy, .. } => Some(policy),
        PolicyInput::Absent | PolicyInput::Invalid { .. } => None,
    }
}
