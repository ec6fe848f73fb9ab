//! Karpenter's NodeClaims without a Node (pure). One has no address, and says by its conditions how far
//! it came.

use super::case::Case;
use super::finding::{Counter, Finding, sentence};
use super::moment::span;
use super::way::{At, Stage};
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::metadata::condition;

impl Case<'_> {
    /// The instance of a NodeClaim.
    pub(super) fn claimed_instance(&mut self, claim: &Machine) -> Result<String, Finding> {
        let launched = condition(&claim.conditions, "Launched");
        if let Some(id) = &claim.provider_id {
            return Ok(id.clone());
        }
        if launched.is_some_and(|launched| launched.status == "True") {
            return Ok("launched".to_owned());
        }
        let (name, object) = (self.name(), self.object());
        let made = |why: String| {
            Finding::new(
                Stage::NoInstance,
                At::Instance,
                "it is not launched",
                format!("{name} has no instance{why}"),
            )
            .next(format!(
                "Look at it: `oc describe nodeclaims.karpenter.sh {name}`"
            ))
        };
        let said = launched.filter(|launched| !launched.message.is_empty());
        let Some(launched) = said.filter(|launched| launched.reason != WAITS) else {
            self.unseen("why: Karpenter's log");
            return Err(made(", and no condition says why.".to_owned()));
        };
        self.see_condition(launched);
        let source = format!("{object}, condition Launched");
        let finding = made(format!(": {}", sentence(&launched.says())));
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
        let name = self.name();
        self.unread(&[Counter::Requests, Counter::Nodes]);
        self.unseen(
            "whether it asked for its config: a NodeClaim has no address; its console has it",
        );
        Finding::new(
            Stage::Unknown,
            At::Requested,
            "cannot be told",
            format!(
                "{name}'s instance was launched, and its Node has not registered in {}{says}",
                span(self.now.since(made))
            ),
        )
        .next("Look at its console: Ignition says there whether it gets its config")
    }
}

/// Karpenter has not looked at it yet.
const WAITS: &str = "AwaitingReconciliation";
