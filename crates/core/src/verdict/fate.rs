//! The outcome for a node, decided once from its verdict. Whatever speaks of the node goes by it:
//! console, kernel log, journal, report, Event and exit status.

use super::{Action, LetThrough, Outcome, Stage, Verdict};

/// Outcome for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is held back and does not join. A verdict of `check` says that it would be.
    Held,
    /// It should be held back but could not be: it may join on its old OS.
    NotHeld,
    /// It goes on to join although it is refused.
    LetThrough,
    /// It goes on to join; its image could not be checked.
    Unchecked,
    /// It goes on to join, and has a known issue that may keep it from that.
    Warned,
    /// It goes on to join, and nothing is said against that.
    Free,
    /// Its first boot is over: it is rebased or has joined, so the verdict holds nothing back any
    /// more.
    PastFirstBoot,
}

impl Verdict {
    /// Outcome for the node.
    pub fn fate(&self) -> Fate {
        let held = self.gate.as_ref().map(|gate| gate.held);
        let is_past = matches!(
            self.deployment.stage,
            Stage::Rebased | Stage::FirstBootFinished
        ) || matches!(
            self.let_through,
            Some(LetThrough::Rebased | LetThrough::FirstBootFinished)
        );
        match (self.action, self.verdict) {
            (Action::Block, _) if held == Some(false) => Fate::NotHeld,
            (Action::Block, _) => Fate::Held,
            // The action of another release of skewguard, which held the node.
            _ if held == Some(true) => Fate::Held,
            _ if is_past => Fate::PastFirstBoot,
            (_, Outcome::Refused) => Fate::LetThrough,
            _ if self.warned().next().is_some() => Fate::Warned,
            (_, Outcome::Undetermined) => Fate::Unchecked,
            _ => Fate::Free,
        }
    }

    /// A node that has not joined reports this verdict: it was refused (also where the policy only
    /// warns), has a known issue that warns, or is undetermined. A verdict that only another release
    /// of skewguard knows is reported where the gate had something to do.
    pub fn is_reportable(&self) -> bool {
        match self.verdict {
            Outcome::Refused | Outcome::Undetermined => true,
            Outcome::Allowed => self.warned().next().is_some(),
            Outcome::Disabled | Outcome::NoPolicy => false,
            Outcome::Other(_) => self.blocks() || self.gate.is_some(),
        }
    }

    /// The verdict as the node is now. A verdict file says how the node was when it was written;
    /// `skewguard allow` only removes the stamp.
    ///
    /// `held`: the stamp exists. `joined`: the node has joined the cluster, and there is no rebase
    /// to come.
    pub fn updated(mut self, held: bool, joined: bool) -> Self {
        if held {
            return self;
        }
        let was_held = self.gate.as_ref().is_some_and(|gate| gate.held);
        if was_held || joined {
            self.action = Action::Proceed;
            self.gate.iter_mut().for_each(|gate| gate.held = false);
        }
        if joined && self.fate() != Fate::PastFirstBoot {
            self.deployment.stage = match self.deployment.stage {
                Stage::OnTarget => Stage::OnTarget,
                _ => Stage::FirstBootFinished,
            };
            if self.verdict == Outcome::Refused {
                self.let_through = Some(LetThrough::FirstBootFinished);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Facts, GateStatus, PolicyInput, TargetInput, decide};

    fn verdict(outcome: Outcome, action: Action, held: Option<bool>) -> Verdict {
        let facts = Facts::new(PolicyInput::Absent, TargetInput::Absent);
        let gate = held.map(|held| GateStatus {
            held,
            ..GateStatus::default()
        });
        Verdict {
            verdict: outcome,
            action,
            gate,
            ..decide(&facts)
        }
    }

    #[test]
    fn a_fate_is_what_the_gate_did_then_how_far_the_node_is() {
        use Action::{Block, Proceed};
        use Outcome::{Allowed, Disabled, Refused, Undetermined};
        let later: Action = serde_json::from_str("\"Delay\"").unwrap();
        for (outcome, action, held, fate) in [
            (Refused, Block, None, Fate::Held),
            (Refused, Block, Some(true), Fate::Held),
            (Undetermined, Block, Some(true), Fate::Held),
            (Refused, later, Some(true), Fate::Held),
            (Refused, Block, Some(false), Fate::NotHeld),
            (Refused, Proceed, None, Fate::LetThrough),
            (Refused, Proceed, Some(false), Fate::LetThrough),
            (Undetermined, Proceed, None, Fate::Unchecked),
            (Allowed, Proceed, None, Fate::Free),
            (Disabled, Proceed, None, Fate::Free),
        ] {
            let mut verdict = verdict(outcome, action, held);
            assert_eq!(verdict.fate(), fate, "{outcome} {action} {held:?}");
            verdict.deployment.stage = Stage::Rebased;
            let past = match fate {
                Fate::Held | Fate::NotHeld => fate,
                _ => Fate::PastFirstBoot,
            };
            assert_eq!(verdict.fate(), past, "{outcome} {action} {held:?}");
        }
    }

    #[test]
    fn a_hold_that_is_lifted_and_a_node_that_joined_change_a_kept_verdict() {
        let held = verdict(Outcome::Refused, Action::Block, Some(true));
        assert_eq!(held.clone().updated(true, true), held, "it is held");
        let lifted = held.clone().updated(false, false);
        assert_eq!(
            (lifted.action, lifted.fate()),
            (Action::Proceed, Fate::LetThrough)
        );
        assert_eq!(
            (held.headline(), lifted.headline()),
            ("Refused", "Would be refused")
        );
        let not_held = verdict(Outcome::Refused, Action::Block, Some(false));
        assert_eq!(not_held.clone().updated(false, false), not_held);
        for before in [held, not_held] {
            let joined = before.updated(false, true);
            assert_eq!(
                (joined.action, joined.fate(), joined.let_through),
                (
                    Action::Proceed,
                    Fate::PastFirstBoot,
                    Some(LetThrough::FirstBootFinished)
                )
            );
        }
    }

    /// It never had a rebase to come, and joining does not change what it runs.
    #[test]
    fn a_joined_node_on_target_stays_on_target() {
        for (stage, wanted) in [
            (Stage::OnTarget, Stage::OnTarget),
            (Stage::FirstBoot, Stage::FirstBootFinished),
        ] {
            let mut verdict = verdict(Outcome::Allowed, Action::Proceed, None);
            verdict.deployment.stage = stage;
            assert_eq!(verdict.updated(false, true).deployment.stage, wanted);
        }
    }
}
