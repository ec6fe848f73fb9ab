//! The node's own word: its reports, their Events, and what it told the machine-config-server
//! (pure).
//!
//! All of these are claims: whoever has the public credentials of a first boot, and every joined
//! node, can make them. They are quoted, prove nothing, and give no advice.

use super::advice;
use super::case::{Case, last};
use super::finding::Finding;
use super::moment::{Moment, span};
use super::rows::row;
use crate::verdict::Reason;
use crate::version::ImageVersion;
use skewguard_cluster::kinds::{Event, Progress, Report};
use std::collections::BTreeMap;

/// The reasons of the agent's Events about a first boot that does not finish, and that goes on.
const STALLED: &str = "FirstBootStalled";
const WENT_ON: &str = "FirstBootWentOn";

/// The sign that tells a claim from what was seen.
const UNSEEN: &str = "whether it is as the node says: its console and its journal (a report or an Event of a node is a claim)";

impl<'a> Case<'a> {
    /// What it says of itself: refused, or a first boot that hangs.
    pub(super) fn of_claim(&mut self) -> Option<Finding> {
        let finding = self.claim()?;
        self.unseen(UNSEEN);
        Some(finding)
    }

    fn claim(&mut self) -> Option<Finding> {
        let events = self.see_claims();
        let Some(last) = self.report() else {
            return match events.last() {
                Some(event) => self.of_event(event),
                None => self.of_boot_failure(),
            };
        };
        if let Some(progress) = &last.progress {
            let event = events.last().filter(|one| one.reason == WENT_ON);
            return Some(match event.filter(|event| event.last > last.at()) {
                Some(event) => self.went_on(event),
                None => self.hangs(progress),
            });
        }
        // A report without an action has its verdict alone.
        let is_refused = last.action.is_empty() && last.verdict == "Refused";
        if last.action != "Block" && !is_refused {
            return self.of_boot_failure();
        }
        Some(self.refused(&last.reason, last.at(), "report", last.version.as_deref()))
    }

    /// Puts its reports and Events into the evidence; the Events of its agent, the oldest first.
    pub(super) fn see_claims(&mut self) -> Vec<&'a Event> {
        let events = self.events_by_name(&self.index.told);
        self.see_more("Events of the node's agent before", events.len(), 3);
        for event in last(&events, 3) {
            let source = format!("Event {} of the node's agent", event.reason);
            self.see(source, event.last, in_quotes(&event.message));
        }
        if let Some(last) = self.report() {
            self.see_report(last);
        }
        let failures = self.boot_failures();
        self.see_more("Events of first boots before", failures.len(), 3);
        for event in last(&failures, 3) {
            let source = format!("Event {} of MachineConfigPool {}", event.reason, event.name);
            self.see(source, event.last, in_quotes(&event.message));
        }
        if let Some((at, what)) = self.told() {
            let text = format!("Received failure report: {}", in_quotes(&what));
            self.see("log of the machine-config-server", Some(at), text);
        }
        events
    }

    fn see_report(&mut self, report: &Report) {
        let source = format!("BootImageReport {}", report.metadata.full_name());
        let said = [&*report.verdict, &*report.action];
        let said: Vec<&str> = said.into_iter().filter(|word| !word.is_empty()).collect();
        let text = format!("{}: {}", said.join(", "), in_quotes(&report.message));
        self.see(source.clone(), report.at(), text);
        if let Some(progress) = &report.progress {
            let Progress {
                phase,
                cause,
                message,
                ..
            } = progress;
            let message = in_quotes(message);
            let text = format!("phase {phase}, cause {cause}: {message}");
            self.see(format!("{source}, progress"), report.at(), text);
        }
    }

    /// A refusal in our own words, by the reason's name and the version: the text may be anybody's.
    fn refused(
        &mut self,
        reason: &str,
        at: Option<Moment>,
        source: &str,
        version: Option<&str>,
    ) -> Finding {
        let version = version.map(ImageVersion::parse);
        let version = version.filter(ImageVersion::is_known);
        let version = version.map(|version| version.text);
        let known = advice::reason(reason).map(Reason::words);
        let why = match &known {
            None => "it gives no reason that is known here".to_owned(),
            Some(words) => format!("its {} {}", words.part(), words.headline.to_lowercase()),
        };
        let (known, ago) = (known.is_some(), self.ago(at));
        let row = row!(RefusedByItself known, reason, ago, source, why, version);
        let finding = self.tell(row);
        self.after_refusal(finding, reason)
    }

    /// Adds what to do after a refusal, and the fate of the next machine.
    fn after_refusal(&mut self, finding: Finding, reason: &str) -> Finding {
        let help = advice::against_refusal(reason);
        let Some(judged) = self.judged else {
            return self.with(finding, row!(RefusedHelp help));
        };
        let set = judged.short_name();
        let row = match judged.sure_version() {
            None => row!(MakesFromUnknown set),
            Some(version) if judged.would_be_refused() => {
                let remedy = judged.remedy.as_deref().unwrap_or(help);
                row!(MakesFromRefused set, remedy, version)
            }
            Some(version) => row!(MakesFromAllowed set, version),
        };
        self.with(finding, row)
    }

    /// Events of the machine-config-server about its first boot (MCO #6124): what a node told it.
    fn boot_failures(&self) -> Vec<&'a Event> {
        self.events_by_name(&self.index.boot_failures)
    }

    /// Those of the Events about any of its names since the machine is there, the oldest first.
    fn events_by_name(&self, of: &BTreeMap<String, Vec<&'a Event>>) -> Vec<&'a Event> {
        let all = self.aliases.names.iter().filter_map(|name| of.get(name));
        let mut all: Vec<&Event> = all.flatten().copied().collect();
        all.retain(|event| !self.is_before(event.last));
        all.sort_by_key(|event| event.last);
        all
    }

    /// The last failure that it told the machine-config-server, by the server's log.
    fn told(&self) -> Option<(Moment, String)> {
        let (names, told) = (&self.aliases.names, &self.facts.logs.told);
        let all = names.iter().filter_map(|name| told.get(name));
        let (at, what) = all.max_by_key(|(at, _)| *at)?;
        (!self.is_before(Some(*at))).then(|| (*at, what.clone()))
    }

    /// The last Event of an agent whose report is not there.
    fn of_event(&mut self, event: &Event) -> Option<Finding> {
        if event.reason == WENT_ON {
            return Some(self.went_on(event));
        }
        if event.action == "Block" {
            return Some(self.refused(&event.reason, event.last, "Event", None));
        }
        let ago = self.ago(event.last);
        (event.reason == STALLED).then(|| self.tell(row!(FirstBootStalled ago)))
    }

    /// What it told the machine-config-server, by an Event or else by the server's log.
    fn of_boot_failure(&mut self) -> Option<Finding> {
        let event = self.boot_failures().pop();
        let event = event.map(|event| (event.last, event.message.clone()));
        let told = || self.told().map(|(at, what)| (Some(at), what));
        let (at, message) = event.or_else(told)?;
        let (ago, says) = (self.ago(at), quoted(&message));
        Some(self.tell(row!(FirstBootFailed ago, says)))
    }

    /// A first boot that hung, and goes on.
    fn went_on(&mut self, event: &Event) -> Finding {
        let ago = self.ago(event.last);
        self.tell(row!(FirstBootWentOn ago))
    }

    fn hangs(&mut self, progress: &Progress) -> Finding {
        let Progress {
            phase,
            cause,
            minutes,
            ..
        } = progress;
        let after = (*minutes > 0).then(|| span(minutes.saturating_mul(60)));
        let known = advice::against_cause(cause, phase);
        let (why, remedy) = known.unwrap_or(("it gives no cause that is known here", CONSOLE));
        let known = known.is_some();
        self.tell(match phase == "Join" {
            true => row!(JoinHangs known, phase, cause, after, why, remedy),
            false => row!(FirstBootHangs known, phase, cause, after, why, remedy),
        })
    }
}

/// The advice about a cause that is not known.
const CONSOLE: &str = "Look at its console: which unit of the first boot loops says why (machine-config-daemon-pull, machine-config-daemon-firstboot)";

/// The text of a claim between quotes, as it stands in the evidence.
fn in_quotes(text: &str) -> String {
    format!("\"{}\"", without_quotes(text))
}

/// The text of a claim, to stand between quotes.
fn quoted(text: &str) -> String {
    crate::text::cut(&without_quotes(text), 300)
}

fn without_quotes(text: &str) -> String {
    text.trim().replace('"', "'")
}
