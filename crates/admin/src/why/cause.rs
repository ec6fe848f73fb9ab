//! Names of causes (pure): machines are grouped by them, and scripts match them.

use super::failures::FailureKind;
use super::rows::Cause;
use schemars::JsonSchema;
use serde::Serialize;

/// The name of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum CauseName {
    Seen(Cause),
    /// A failure of the provider.
    Failure(FailureKind),
}

/// The cloud could not be asked for an instance.
pub(super) const INSTANCE_UNKNOWN: Cause = Cause("InstanceUnknown");

impl CauseName {
    /// Tells if it is one cause for all machines, whoever made them.
    pub(crate) fn is_of_all(self) -> bool {
        matches!(
            self,
            Self::Seen(INSTANCE_UNKNOWN)
                | Self::Failure(FailureKind::CredentialsInvalid | FailureKind::ProviderUnreachable)
        )
    }
}
