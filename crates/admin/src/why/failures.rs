//! Failures of providers, known by their own codes (pure): `failures.yaml` has them, with a source each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skewguard_cluster::kinds::Machine;
use skewguard_core::platform::Platform;
use std::sync::LazyLock;

/// A failure, whatever the provider calls it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, Serialize,
)]
pub(crate) enum FailureKind {
    /// It is installed, and its firmware boots the installer again.
    AgentBootsItsIso,
    /// Somebody switched the approver off for first requests.
    ApprovalDisabled,
    BootImageNotFound,
    CapacityMissing,
    ConfigurationInvalid,
    CredentialsInvalid,
    EncryptionKey,
    HostMissing,
    /// A host of bare metal failed, or its deployment.
    HostFails,
    /// Its BMC did not answer as it should.
    HostUnreachable,
    InstanceBroken,
    /// It was made, and is not there any more.
    InstanceGone,
    NetworkNotFound,
    /// It passes by itself.
    Passes,
    ProviderUnreachable,
    QuotaExceeded,
    RateLimited,
    RegionNotEnabled,
    ReservationFull,
    RightsMissing,
    SecretMissing,
    /// Our own admission policy.
    SkewguardRefuses,
    SpotLimit,
    /// A state, and no cause.
    StateOnly,
    SubnetFull,
    TermsNotAccepted,
    TypeNotAvailable,
    Unschedulable,
    /// A webhook that is asked about each object did not answer.
    WebhookUnreachable,
}

/// Whom a failure concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Scope {
    Machine,
    Set,
    /// The account at the cloud: all sets that ask for the same.
    Account,
    /// Each Machine of the provider.
    Cluster,
}

#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    code: String,
    pub(super) cause: FailureKind,
    scope: Scope,
    /// A reason or the beginning of a text, which counts where no other code is in it.
    #[serde(default)]
    outer: bool,
    /// The code is mostly of this cause, and not always.
    #[serde(default)]
    pub(super) supposed: bool,
    /// No other try is made.
    #[serde(default)]
    pub(super) over: bool,
    pub(super) next: String,
}

#[derive(Debug, Deserialize)]
struct Group {
    provider: String,
    failures: Vec<Failure>,
}

static GROUPS: LazyLock<Vec<Group>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("failures.yaml")).unwrap_or_default());

/// The next step about a failure, known or not.
pub(super) fn help(failure: Option<&'static Failure>) -> &'static str {
    failure.map_or("Correct what the message names", |failure| &failure.next)
}

impl Failure {
    /// Tells if a message says, by how it begins or by its cause, that the cloud could not be asked at all, of no Machine
    /// of the cluster.
    pub(super) fn is_of_cloud(machine: &Machine, message: &str) -> bool {
        let all = Self::all(machine.source.platform(), message).into_iter();
        let outer = all.filter(|one| one.outer);
        outer.chain(Self::of(machine, message)).any(|one| {
            one.scope == Scope::Cluster
                && matches!(
                    one.cause,
                    FailureKind::CredentialsInvalid
                        | FailureKind::ProviderUnreachable
                        | FailureKind::SecretMissing
                )
        })
    }

    /// Tells if an instance was made, and does not run.
    pub(super) fn is_of_instance(&self) -> bool {
        matches!(
            self.cause,
            FailureKind::InstanceBroken | FailureKind::InstanceGone
        )
    }

    /// Tells if the spec of a set is to be changed: its Machines keep what they were made with.
    pub(super) fn is_of_spec(&self) -> bool {
        let is_elsewhere = matches!(
            self.cause,
            FailureKind::HostMissing
                | FailureKind::Passes
                | FailureKind::ProviderUnreachable
                | FailureKind::SecretMissing
                | FailureKind::StateOnly
        );
        !is_elsewhere && self.scope == Scope::Set
    }

    /// The failure that a message tells of, among those of the Machine's provider.
    pub(super) fn of(machine: &Machine, message: &str) -> Option<&'static Self> {
        Self::of_platform(machine.source.platform(), message)
    }

    pub(super) fn of_platform(platform: Option<Platform>, message: &str) -> Option<&'static Self> {
        let known = Self::all(platform, message).into_iter();
        known.max_by_key(|failure| (!failure.outer, failure.code.len()))
    }

    /// Those whose code a message has.
    fn all(platform: Option<Platform>, message: &str) -> Vec<&'static Self> {
        // The end of a line is shown, as all that cannot be printed.
        let message = message.replace("\\n", " ").replace("\\t", " ");
        let is_own = |group: &&Group| {
            let own = platform.map(Platform::id);
            group.provider == "any" || own == Some(&*group.provider)
        };
        let all = GROUPS.iter().filter(is_own);
        let known = all.flat_map(|group| &group.failures);
        let known = known.filter(|failure| has_code(&message, &failure.code));
        known.collect()
    }
}

/// Tells if a text has the parts of a code, in their order.
fn has_code(text: &str, code: &str) -> bool {
    let mut rest = text;
    code.split('…').all(|part| {
        let behind = behind_word(rest, part);
        rest = behind.unwrap_or_default();
        behind.is_some()
    })
}

/// The text behind a code that is no part of a longer word.
fn behind_word<'a>(text: &'a str, code: &str) -> Option<&'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let touches = |own: Option<char>, other: Option<char>| {
        own.is_some_and(is_word) && other.is_some_and(is_word)
    };
    text.match_indices(code).find_map(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let behind = rest.strip_prefix(code)?;
        let is_whole = !touches(code.chars().next(), before.chars().next_back())
            && !touches(code.chars().next_back(), behind.chars().next());
        is_whole.then_some(behind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn each_failure_has_a_source_and_what_to_do() {
        let text = include_str!("failures.yaml");
        let groups: Vec<Value> = serde_saphyr::from_str(text).unwrap();
        assert_eq!(groups.len(), GROUPS.len());
        for group in &groups {
            assert!(!group["source"].as_str().unwrap().is_empty(), "{group}");
            let provider = group["provider"].as_str().unwrap();
            assert!(
                provider == "any" || Platform::named(provider).is_some(),
                "{provider}"
            );
        }
        for failure in GROUPS.iter().flat_map(|group| &group.failures) {
            assert!(
                !failure.next.is_empty() && !failure.next.ends_with('.'),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn after_these_no_other_try_is_made() {
        let all = GROUPS.iter().flat_map(|group| &group.failures);
        let over = all
            .filter(|failure| failure.over)
            .map(|failure| &*failure.code);
        let wanted = [
            "InstanceStateError",
            "has already been deleted or has not been completely created",
            "retry limit",
        ];
        assert_eq!(
            over.collect::<std::collections::BTreeSet<_>>(),
            wanted.into()
        );
    }

    #[test]
    fn a_code_is_a_whole_word_and_the_longest_counts() {
        let of = |platform, message| Failure::of_platform(platform, message).map(|one| one.cause);
        let (aws, azure, gcp) = (
            Some(Platform::Aws),
            Some(Platform::Azure),
            Some(Platform::Gcp),
        );
        for (platform, message, wanted) in [
            (
                aws,
                "InvalidIdentityToken: No OpenIDConnect provider",
                Some(FailureKind::CredentialsInvalid),
            ),
            (
                aws,
                "AuthFailure: Not authorized for images: [ami-1]",
                Some(FailureKind::BootImageNotFound),
            ),
            (
                aws,
                "InvalidConfiguration: error launching instance: Max spot instance count exceeded",
                Some(FailureKind::SpotLimit),
            ),
            (aws, "InvalidConfiguration: the flavour is odd", None),
            (
                azure,
                "Code=\"ZonalAllocationFailed\"",
                Some(FailureKind::CapacityMissing),
            ),
            (
                azure,
                "RESPONSE 409\\nERROR CODE: SubnetIsFull\\n---",
                Some(FailureKind::SubnetFull),
            ),
            (azure, "AllocationFailedAgain", None),
            (
                gcp,
                "googleapi: Error 403: x, quotaExceeded",
                Some(FailureKind::QuotaExceeded),
            ),
            (None, "InvalidAMIID.NotFound", None),
            (None, "No available BareMetalHost found", None),
            (
                Some(Platform::Metal),
                "No available BareMetalHost found",
                Some(FailureKind::HostMissing),
            ),
            (
                Some(Platform::VSphere),
                r#"secret a/b does not have "vc.example.com.username" field set"#,
                Some(FailureKind::SecretMissing),
            ),
            (
                Some(Platform::VSphere),
                "error setting up new vSphere SOAP client: ServerFaultCode: Cannot complete login due to an incorrect user name or password.",
                Some(FailureKind::CredentialsInvalid),
            ),
            (
                Some(Platform::VSphere),
                "datastore a does not have what was asked for",
                None,
            ),
            (
                Some(Platform::Metal),
                "Redfish exception occurred. Error: HTTP GET https://b/redfish/v1/ returned code 401.",
                Some(FailureKind::CredentialsInvalid),
            ),
            (gcp, "the answer is unexpected", None),
            (azure, "the Secret a has been deleted", None),
        ] {
            assert_eq!(of(platform, message), wanted, "{message}");
        }
    }
}
