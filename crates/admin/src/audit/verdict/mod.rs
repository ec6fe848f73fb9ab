//! The verdict on a set's next node, by the rules that nodes apply (pure).

pub(crate) mod cpu;
pub(crate) mod estimate;
pub(crate) mod evidence;
pub(crate) mod horizon;
pub(crate) mod image_judge;
pub(crate) mod issues;
pub(crate) mod lookup_help;
pub(crate) mod missing_limit;

use crate::policy::Policy;
use crate::verdict::PolicyInput;

/// The policy, where one could be read.
pub(crate) fn valid(policy: &PolicyInput) -> Option<&Policy> {
    match policy {
        PolicyInput::Valid { policy, .. } => Some(policy),
        PolicyInput::Absent | PolicyInput::Invalid { .. } => None,
    }
}
