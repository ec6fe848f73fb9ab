//! Watches a first boot that was let in. It only looks: nothing in the boot waits for it.

use super::{Client, Duration, Level, Output, Reporter};
use crate::kubeconfig::BOOTSTRAP_KUBECONFIG;
use crate::node::{Joined, lost_rebase};
use crate::report::payload::StallNews;
use crate::report::stall::{
    self, Finding, FirstBoot, Phase, Progress, Rebase, Stall, StallChange, Times, Waiting,
};
use crate::verdict::Verdict;

/// Least time between two looks.
const LOOK: Duration = Duration::from_secs(60);

/// Interval in which the time that passed is kept for a later boot, in seconds.
const KEEP: u64 = 5 * 60;

impl<C: Client, W: Output> Reporter<'_, C, W> {
    /// Tells a first boot that does not finish, and that it goes on.
    pub(super) fn look_at_first_boot(&mut self) {
        let elapsed = self.now().saturating_sub(self.looked);
        if self.env.once || elapsed < LOOK || self.schedule.in_flight() || self.is_held() {
            return;
        }
        self.looked = self.now();
        let is_first_boot = self.is_first_boot();
        if is_first_boot && self.payload.inventory().is_none() {
            self.decide_now();
        }
        let Some(verdict) = self.payload.let_in() else {
            return;
        };
        let Some(limit) = stall::limit(&verdict) else {
            return;
        };
        let mut first_boot = self.first_boot();
        let kept = first_boot.total / KEEP;
        let takes_long = first_boot.waited + elapsed.as_secs() >= limit.as_secs();
        let has_hung = first_boot.stall.is_some();
        if !is_first_boot && !has_hung {
            return;
        }
        let waiting = if is_first_boot && (takes_long || has_hung) {
            let Some(waiting) = self.look_at_systemd() else {
                // No answer is no news. The next look asks again.
                return self.keep_first_boot(first_boot.after(elapsed), kept);
            };
            Some(waiting)
        } else {
            None
        };
        let phase = waiting
            .as_ref()
            .map_or(Phase::Other, |waiting| waiting.phase);
        let phase = is_first_boot.then_some(phase);
        let is_known = self.payload.progress().is_some();
        match (first_boot.look(phase, elapsed, limit, is_known), waiting) {
            (StallChange::Stalled, Some(waiting)) => {
                let finding = self.finding(&waiting);
                self.stalled(waiting, finding, &mut first_boot, &verdict);
            }
            (StallChange::WentOn(stall), _) => self.went_on(stall),
            (StallChange::None, Some(waiting)) if has_hung => {
                let finding = self.finding(&waiting);
                if first_boot.is_told(finding.cause) {
                    return self.keep_first_boot(first_boot, kept);
                }
                self.stalled(waiting, finding, &mut first_boot, &verdict);
            }
            _ => return self.keep_first_boot(first_boot, kept),
        }
        self.ledger.first_boot = Some(first_boot);
        self.save();
    }

    /// Remembers the time that passed, and from time to time saves it. `kept` is how much of it is
    /// saved, in units of [`KEEP`].
    fn keep_first_boot(&mut self, first_boot: FirstBoot, kept: u64) {
        let is_due = first_boot.total / KEEP != kept;
        self.ledger.first_boot = Some(first_boot);
        if is_due {
            self.save();
        }
    }

    /// A stall was told, and it is still to be told that the first boot goes on.
    pub(super) fn is_recovery_due(&self) -> bool {
        let is_on = || {
            self.payload
                .let_in()
                .as_ref()
                .and_then(stall::limit)
                .is_some()
        };
        !self.env.once && self.first_boot().stall.is_some() && is_on()
    }

    /// The kept progress of this installation's first boot.
    fn first_boot(&self) -> FirstBoot {
        self.ledger.first_boot.clone().unwrap_or_default()
    }

    /// The node has still to join. The kubelet's certificate counts, not its kubeconfig,
    /// which it writes before it asks for one. A certificate that an earlier installation left on
    /// /var counts once the Node is labelled with it. A node without a bootstrap kubeconfig is
    /// not OpenShift's.
    pub(super) fn is_first_boot(&self) -> bool {
        let root = self.env.root;
        let is_past = self.payload.now.is_past_first_boot;
        let is_labelled = self.payload.is_labelled(&self.ledger);
        if self.node.joined() != Joined::No || is_past && is_labelled {
            return false;
        }
        !is_past || root.exists(BOOTSTRAP_KUBECONFIG).unwrap_or(false)
    }

    /// Finds what the first boot waits for; `None` if systemd does not answer.
    fn look_at_systemd(&self) -> Option<Waiting> {
        let rebase = if !self.payload.now.is_past_first_boot {
            Rebase::ToCome
        } else {
            lost_rebase(&self.node).map_or(Rebase::Over, Rebase::Lost)
        };
        stall::waits_for(&(self.env.systemd)()?, rebase)
    }

    /// Finds why it waits: by itself, or by what journals say.
    fn finding(&self, waiting: &Waiting) -> Finding {
        let known = waiting.cause.map(|cause| Finding { cause, unit: None });
        let of_journal = || {
            let unit = waiting.unit.as_ref()?;
            let journal = (self.env.journal)(&unit.id)?;
            Some(Finding::read(&journal, waiting.phase))
        };
        let found = known.or_else(of_journal);
        waiting.settle(found.unwrap_or(Finding::NOTHING))
    }

    fn stalled(
        &mut self,
        waiting: Waiting,
        finding: Finding,
        first_boot: &mut FirstBoot,
        verdict: &Verdict,
    ) {
        let times = Times {
            now: (self.env.now)(),
            uptime: crate::node::uptime(self.env.root),
        };
        let progress = Progress::new(waiting, finding, first_boot, times, verdict);
        self.env.output.first_boot(Some(&progress));
        let (phase, cause) = (progress.phase, progress.cause);
        let unit = progress.shown_by().map(str::to_owned);
        self.payload.stall = Some(StallNews::Hangs(Box::new(progress)));
        self.payload.rename();
        self.reconcile();
        let same_phase = first_boot.stall.take().filter(|stall| stall.phase == phase);
        let mut causes = same_phase.map(|stall| stall.causes).unwrap_or_default();
        causes.retain(|told| *told != cause);
        causes.push(cause);
        first_boot.stall = Some(Stall {
            phase,
            report: self.payload.name.clone(),
            causes,
            unit,
        });
    }

    /// Gives up to say that the first boot goes on: the bootstrap identity may do so no longer.
    pub(super) fn stop_recovery_event(&mut self) {
        if let Some(StallNews::WentOn(_)) = self.payload.stall {
            self.payload.stall = None;
            self.reconcile();
        }
    }

    fn went_on(&mut self, stall: Stall) {
        self.env.output.first_boot(None);
        let line = format!(
            "the first boot goes on after the phase {}",
            stall.phase.as_str()
        );
        self.env.output.line(Level::Info, &line);
        self.payload.stall = None;
        if self.ledger.knows(&stall.report) {
            self.payload.stall = Some(StallNews::WentOn(stall.phase));
            self.payload.name = stall.report;
        } else {
            self.payload.rename();
        }
        self.reconcile();
    }
}
