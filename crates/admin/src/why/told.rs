//! The node's own word: its reports and their Events (pure).

use super::case::Case;
use super::explain::Judged;
use super::finding::{At, Finding, ago, sentence};
use super::moment::{Moment, span};
use super::records::{Event, Progress, Report};
use super::report::Stage;

/// The reasons of the agent's Events about a first boot that does not finish, and that goes on.
const STALLED: &str = "FirstBootStalled";
const WENT_ON: &str = "FirstBootWentOn";

impl<'a> Case<'a> {
    /// A report of the node's own agent, or where there is none its Event: refused, or a first boot
    /// that hangs.
    pub(super) fn of_report(&mut self, judged: Option<&Judged>) -> Option<Finding> {
        let events = self.events_of_agent();
        for event in events.iter().rev().take(3).rev() {
            let source = format!("Event {} of the node's agent", event.reason);
            self.see(source, event.last, event.message.clone());
        }
        let reports = self.reports();
        let Some(last) = reports.last().copied() else {
            return self.of_event(events.last()?, judged);
        };
        let source = format!("BootImageReport {}", last.meta.full_name());
        self.see(
            source.clone(),
            last.at(),
            format!("{}, {}: {}", last.verdict, last.action, last.message),
        );
        if last.progress.is_some() || last.action == "Block" {
            // The node says so itself.
            self.unseen.clear();
        }
        if let Some(progress) = &last.progress {
            let text = format!(
                "phase {}, cause {}: {}",
                progress.phase, progress.cause, progress.message
            );
            self.see(format!("{source}, progress"), last.at(), text);
            if let Some(event) = events.last()
                && event.reason == WENT_ON
                && event.last > last.at()
            {
                return Some(self.went_on(event));
            }
            return Some(self.hangs(last, progress));
        }
        if last.action != "Block" {
            return None;
        }
        let what = match &last.image {
            Some(image) if !last.message.contains(&**image) => {
                format!("{} ({image})", last.message)
            }
            _ => last.message.clone(),
        };
        let finding = self.refused(&last.reason, last.at(), &what);
        Some(after_refusal(finding, last.remediation.as_deref(), judged))
    }

    fn refused(&self, reason: &str, at: Option<Moment>, what: &str) -> Finding {
        Finding::new(
            Stage::Refused,
            At::LetIn,
            format!("refused: {reason}"),
            format!(
                "{} was refused{}: {}",
                self.name(),
                ago(self.now, at),
                sentence(what)
            ),
        )
    }

    /// The Events of its agent since the machine is there, the oldest first.
    fn events_of_agent(&self) -> Vec<&'a Event> {
        let (names, created) = (self.names(), self.created());
        let mut all: Vec<&Event> = names
            .iter()
            .filter_map(|name| self.index.told.get(&**name))
            .flatten()
            .copied()
            .filter(|event| {
                !matches!((event.last, created), (Some(at), Some(own)) if at.plus(60) < own)
            })
            .collect();
        all.sort_by_key(|event| event.last);
        all
    }

    /// The last Event of an agent whose report is not there.
    fn of_event(&mut self, event: &Event, judged: Option<&Judged>) -> Option<Finding> {
        if event.reason == WENT_ON {
            return Some(self.went_on(event));
        }
        if event.action == "Block" {
            self.unseen.clear();
            let finding = self.refused(&event.reason, event.last, &event.message);
            return Some(after_refusal(finding, None, judged));
        }
        if event.reason != STALLED {
            return None;
        }
        self.unseen.clear();
        Some(Finding::new(
            Stage::FirstBoot,
            At::FirstBoot,
            "it has not finished",
            format!(
                "{} does not finish its first boot: {}",
                self.name(),
                sentence(&event.message)
            ),
        ))
    }

    /// A first boot that hung, and goes on.
    fn went_on(&self, event: &Event) -> Finding {
        Finding::new(
            Stage::FirstBoot,
            At::FirstBoot,
            "it went on",
            format!(
                "{} hung in its first boot, which went on{}, and has no certificate request yet: {}",
                self.name(),
                ago(self.now, event.last),
                sentence(&event.message)
            ),
        )
        .next("Wait for its certificate request: oc get csr -w")
    }

    fn hangs(&self, report: &Report, progress: &Progress) -> Finding {
        let is_join = progress.phase == "Join";
        let (stage, at) = if is_join {
            (Stage::NoCertificate, At::Certificate)
        } else {
            (Stage::FirstBoot, At::FirstBoot)
        };
        let minutes = match progress.minutes {
            0 => String::new(),
            minutes => format!(" after {}", span(minutes * 60)),
        };
        let said = if progress.message.is_empty() {
            String::new()
        } else {
            format!(": {}", progress.message)
        };
        let what = if is_join {
            "is rebased and does not join"
        } else {
            "does not finish its first boot"
        };
        let finding = Finding::new(
            stage,
            at,
            format!("phase {}, cause {}", progress.phase, progress.cause),
            format!(
                "{} {what}{minutes}: phase {}, cause {}{}",
                self.name(),
                progress.phase,
                progress.cause,
                sentence(&said)
            ),
        );
        match &report.remediation {
            Some(text) => finding.next(text.clone()),
            None => finding,
        }
    }
}

/// Adds the remedy of a refusal, and the fate of the next machine.
fn after_refusal(finding: Finding, remediation: Option<&str>, judged: Option<&Judged>) -> Finding {
    let Some(judged) = judged else {
        let finding = match remediation {
            Some(text) => finding.next(text),
            None => finding,
        };
        return finding.next("Then delete this Machine");
    };
    let set = &judged.set;
    let version = judged.version.as_deref().unwrap_or("an unknown image");
    if !judged.is_refused {
        return finding
            .next(format!(
                "{set} makes its next machines from {version}, which the limits allow: delete this Machine"
            ));
    }
    let remedy = judged.remedy.as_deref().or(remediation);
    let finding = match remedy {
        Some(remedy) => finding.next(format!("{set}: {remedy}")),
        None => finding,
    };
    finding.next(format!(
        "Afterwards delete this Machine; until then {set} makes others from {version}, which are refused, too"
    ))
}
