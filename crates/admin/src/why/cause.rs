//! Names of causes (pure): machines are grouped by them, and scripts match them.

use super::failures::FailureKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A thing that was seen, or a remark about it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, Serialize,
)]
#[schemars(transform = super::rows::describe)]
pub(crate) enum Cause {
    AddressTaken,
    AddressesMissing,
    AgentBootsItsIso,
    AgentNotApproved,
    AgentNotInstalled,
    AgentWaitsForUser,
    AnswerLost,
    AuthorityExpired,
    AutoscalerLoop,
    BeingDeleted,
    BootstrapAnswers,
    CannotBeToldApart,
    CertificateNotSigned,
    CertificateOutlived,
    ConfigNotAsked,
    ConfigNotConvertible,
    ConfigNotRendered,
    ConnectionBreaks,
    FirstBootFailed,
    FirstBootHangs,
    FirstBootRepeats,
    FirstBootStalled,
    FirstBootWentOn,
    HandshakeFails,
    HealthCheckLoop,
    HealthCheckLoopWithNodes,
    HostFails,
    HostIsOff,
    HostNameInvalid,
    HostNotInspected,
    HostNotInstalled,
    HostPaused,
    HostRestarted,
    IgnitionEndpointNotReached,
    IgnitionTooNew,
    InstallerRefused,
    InstanceBroken,
    InstanceEnded,
    InstanceNotMade,
    InstanceNotMadeByState,
    InstanceNotMadeSilently,
    InstanceStateOdd,
    InstanceStopped,
    InstanceUnknown,
    JoinHangs,
    Joined,
    MachineFailed,
    MachinePaused,
    MayBeInFirstBoot,
    NameOrClock,
    NoAddressFromDhcp,
    NoMachineMade,
    NoServerReady,
    NodeClaimNotLaunched,
    NodeClaimNotRegistered,
    NodeGone,
    NodeMissing,
    NodeNotInitialized,
    NodeNotLinked,
    NodeNotReady,
    NodePoolEmpty,
    NodePoolEmptySilent,
    NodesOfNobody,
    NotSeen,
    NotSeenFromHere,
    NothingSinceConfig,
    OtherCopyCounts,
    PayloadInvalid,
    PayloadNotServed,
    PayloadServed,
    PerhapsBeforeLogs,
    PoolMissing,
    PoolSilent,
    RefusedByItself,
    RejectsCertificate,
    RequestDenied,
    RequestOfOtherName,
    RequestPending,
    RequestsOfOtherNames,
    SilentInSomeLogs,
    SkewguardRefuses,
    TokenMissing,
    TokenUnknown,
    TwoClusters,
    UnknownAuthority,
    UserDataForOtherHost,
    UserDataSpecTooNew,
    WindowsMachine,
}

/// The name of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum CauseName {
    Seen(Cause),
    /// A failure of the provider.
    Failure(FailureKind),
}

impl CauseName {
    /// Tells if it is one cause for all machines, whoever made them.
    pub(crate) fn is_of_all(self) -> bool {
        matches!(
            self,
            Self::Seen(Cause::InstanceUnknown)
                | Self::Failure(FailureKind::CredentialsInvalid | FailureKind::ProviderUnreachable)
        )
    }
}
