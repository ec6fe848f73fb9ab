//! Karpenter's NodeClaims without a Node (pure). One has no address, and says by its conditions how far
//! it came.

use super::case::Case;
use super::failures::Failure;
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::moment::span;
use super::rows::row;
use skewguard_cluster::kinds::{Condition, Machine, condition};
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
        let said = launched.filter(|launched| !launched.message.is_empty());
        let Some(launched) = said.filter(|launched| launched.reason != WAITS) else {
            return Err(self.tell(row!(NodeClaimSilent)));
        };
        self.see_condition(launched);
        let source = self.field("condition Launched");
        // Karpenter's own providers: a NodeClaim does not say which it is of.
        let mut platforms = [Platform::Aws, Platform::Azure].into_iter();
        let of = |platform| Failure::of_platform(Some(platform), &launched.says());
        let failure = platforms.find_map(of);
        let help = failure.map(|failure| &failure.next);
        let says = sentence(&launched.says());
        let finding = self
            .tell(row!(NodeClaimNotLaunched says, help))
            .because(failure);
        Err(finding.sure(self, source))
    }

    /// A NodeClaim whose instance is launched, and whose Node has not come.
    pub(super) fn unregistered(&mut self, claim: &Machine) -> Finding {
        let registered = condition(&claim.conditions, "Registered");
        let says = self.said(registered);
        let made = claim.metadata.created.unwrap_or(self.now);
        if let Some(finding) = self.of_another_name(made) {
            return finding;
        }
        let says = says.filter(|_| registered.is_some_and(|one| !one.message.is_empty()));
        self.unread(&[Counter::Requests, Counter::Nodes]);
        self.tell(row!(NodeClaimNotRegistered age = self.age().map(span), says))
    }
}

/// Karpenter has not looked at it yet.
const WAITS: &str = "AwaitingReconciliation";
