//! Karpenter's NodeClaims without a Node (pure). One has no address, and says by its conditions how far
//! it came.

use super::case::Case;
use super::cause::Cause;
use super::failures::Failure;
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::moment::span;
use super::way::Stage;
use crate::forms::shell::word;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::metadata::{Condition, condition};
use skewguard_core::platform::Platform;

impl Case<'_> {
    /// The instance of a NodeClaim.
    pub(super) fn claimed_instance(&mut self, claim: &Machine) -> Result<String, Finding> {
        let launched = condition(&claim.conditions, "Launched");
        if let Some(id) = &claim.provider_id {
            return Ok(id.clone());
        }
        if launched.is_some_and(Condition::is_true) {
            return Ok("launched".to_owned());
        }
        let name = self.name;
        let made = |why: String| {
            Finding::new(
                Stage::NoInstance,
                Cause::NodeClaimNotLaunched,
                "it is not launched",
                format!("{name} has no instance{why}"),
            )
        };
        let look = format!(
            "Look at it: `oc describe nodeclaims.karpenter.sh {}`",
            word(name)
        );
        let said = launched.filter(|launched| !launched.message.is_empty());
        let Some(launched) = said.filter(|launched| launched.reason != WAITS) else {
            self.unseen("why: Karpenter's log");
            return Err(made(", and no condition says why.".to_owned()).next(look));
        };
        self.see_condition(launched);
        let source = self.field("condition Launched");
        // Karpenter's own providers: a NodeClaim does not say which it is of.
        let mut platforms = [Platform::Aws, Platform::Azure].into_iter();
        let of = |platform| Failure::of_platform(Some(platform), &launched.says());
        let failure = platforms.find_map(of);
        let finding = made(format!(": {}", sentence(&launched.says())));
        let finding = finding.because(failure).says(&launched.says());
        let help = failure.map(|failure| failure.next.clone());
        let finding = help.into_iter().chain([look]).fold(finding, Finding::next);
        Err(finding.proved(self, source, &[Counter::Nodes]))
    }

    /// A NodeClaim whose instance is launched, and whose Node has not come.
    pub(super) fn unregistered(&mut self, claim: &Machine) -> Finding {
        let registered = condition(&claim.conditions, "Registered");
        if let Some(registered) = registered {
            self.see_condition(registered);
        }
        let made = claim.metadata.created.unwrap_or(self.now);
        if let Some(finding) = self.of_another_name(made) {
            return finding;
        }
        let says = registered.filter(|registered| !registered.message.is_empty());
        let says = says.map_or(".".to_owned(), |says| {
            format!(": {}", sentence(&says.says()))
        });
        let age = self.age();
        let age = age.map_or(String::new(), |age| format!(" in {}", span(age)));
        self.unread(&[Counter::Requests, Counter::Nodes]);
        self.unseen(
            "whether it asked for its config: a NodeClaim has no address; its console has it",
        );
        Finding::new(
            Stage::Unknown,
            Cause::NodeClaimNotRegistered,
            "cannot be told",
            format!(
                "{}'s instance was launched, and its Node has not registered{age}{says}",
                self.name
            ),
        )
        .next("Look at its console: Ignition says there whether it gets its config")
    }
}

/// Karpenter has not looked at it yet.
const WAITS: &str = "AwaitingReconciliation";
