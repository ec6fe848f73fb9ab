//! Content of the three channels, and the requests for it (pure).

use super::answer::Channel;
use super::event::{Event, EventSubject, NO_VERDICT, Regarding};
use super::inventory::NodePatch;
use super::ledger::{Ledger, hash_of};
use super::names::{EVENT_INTERVAL, hex16, report_name, stall_name, subdomain};
use super::node_failure;
use super::objects::{BootImageReport, ReportInput};
use super::situation::{DatedVerdict, Moment};
use super::stall::{Phase, Progress};
use crate::node::identity::Identity;
use crate::transport::Request;
use crate::verdict::{Action, Verdict};
use std::time::{Duration, SystemTime};

/// The warning in a verdict that was not made by `skewguard.service`.
const UNSEEN: &str =
    "skewguard.service left no verdict on this boot: this one was made by skewguard-report.service";

/// News of a first boot that does not finish.
pub(super) enum StallNews {
    /// Its state.
    Hangs(Box<Progress>),
    /// The phase after which it went on; then the Event says so.
    WentOn(Phase),
}

/// Content of the three channels: what the node's files said at the last look.
pub(super) struct Payload {
    pub(super) identity: Identity,
    /// The installation's random id.
    installation: String,
    /// This boot's id.
    boot: String,
    pub(super) now: Moment,
    /// The verdict that report and Event are about.
    pub(super) observed: Option<DatedVerdict>,
    /// The service left none: then the Event says so.
    pub(super) no_verdict: bool,
    /// The result of a check by the report, where `skewguard.service` left no verdict.
    pub(super) made_here: Option<DatedVerdict>,
    /// An earlier boot's undelivered verdict, where there is nothing to tell of `observed`.
    earlier_verdict: Option<DatedVerdict>,
    pub(super) stall: Option<StallNews>,
    /// The report's name; the Event's name begins with it.
    pub(super) name: String,
    /// The Node's name, once the node has joined.
    pub(super) node_name: Option<String>,
}

/// An object that the cluster is to have, and has not.
#[derive(Debug)]
pub(super) struct Due {
    /// Makes it another one than the last on its channel.
    pub(super) key: String,
    /// Time until it is due.
    pub(super) wait: Duration,
}

impl Payload {
    pub(super) fn new(identity: Identity, installation: String, boot: String) -> Self {
        Self {
            identity,
            installation,
            boot,
            now: Moment::default(),
            observed: None,
            no_verdict: false,
            made_here: None,
            earlier_verdict: None,
            stall: None,
            name: String::new(),
            node_name: None,
        }
    }

    /// Makes this the verdict to tell. `earlier`: an undelivered one of an earlier boot, if this
    /// needs no report.
    pub(super) fn adopt(&mut self, observed: DatedVerdict, earlier: Option<DatedVerdict>) {
        (self.observed, self.earlier_verdict) = (Some(observed), earlier);
        (self.node_name, self.no_verdict) = (None, false);
        (self.stall, self.made_here) = (None, None);
        let told = self.subject().map(|told| &told.verdict);
        self.name = self.name_of(told.filter(|verdict| verdict.is_reportable()));
    }

    /// The verdict to tell is an earlier boot's.
    pub(super) fn is_about_earlier_boot(&self) -> bool {
        self.earlier_verdict.is_some() && self.stall.is_none()
    }

    /// The units that the verdict says are held.
    pub(super) fn held_units(&self) -> &[String] {
        let gate = self.observed.as_ref();
        let gate = gate.and_then(|seen| seen.verdict.gate.as_ref());
        gate.map_or(&[], |gate| &gate.units)
    }

    /// The Event is about a run without a verdict.
    pub(super) fn is_about_no_verdict(&self) -> bool {
        self.no_verdict && self.stall.is_none()
    }

    /// This boot's verdict, else one that was made here: the Node is labelled with it.
    pub(super) fn inventory(&self) -> Option<&Verdict> {
        let seen = self.observed.as_ref().or(self.made_here.as_ref());
        seen.map(|seen| &seen.verdict)
    }

    /// The verdict of a node that is not held, as the node is now: it was let in, or could not be
    /// held.
    pub(super) fn let_in(&self) -> Option<Verdict> {
        let verdict = self.inventory().filter(|_| !self.now.held);
        verdict.map(|verdict| self.as_of_now(verdict))
    }

    /// The state of a first boot that does not finish.
    pub(super) fn progress(&self) -> Option<&Progress> {
        match &self.stall {
            Some(StallNews::Hangs(progress)) => Some(progress),
            _ => None,
        }
    }

    /// The verdict to tell, as the node is now.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let told = self.subject().map(|told| &told.verdict);
        let told = told.filter(|told| self.progress().is_some() || told.is_reportable());
        let mut verdict = self.as_of_now(told?);
        if self.observed.is_none() {
            // It goes on, whatever the verdict is: nothing held it.
            verdict.action = Action::Proceed;
            verdict.warnings.push(UNSEEN.to_owned());
        }
        Some(verdict)
    }

    /// The subject of report and Event.
    fn subject(&self) -> Option<&DatedVerdict> {
        let hangs = self.progress().is_some();
        let earlier = self.earlier_verdict.as_ref().filter(|_| !hangs);
        let made_here = self.made_here.as_ref().filter(|_| hangs);
        earlier.or(self.observed.as_ref()).or(made_here)
    }

    fn as_of_now(&self, verdict: &Verdict) -> Verdict {
        verdict.clone().updated(self.now.held, self.has_joined())
    }

    /// The objects that the cluster is to have, less those that by the ledger it has. `now`: seconds
    /// since 1970.
    pub(super) fn due(&self, ledger: &Ledger, now: u64) -> [(Channel, Option<Due>); 4] {
        let at_once = |key: &str| Due {
            key: key.to_owned(),
            wait: Duration::ZERO,
        };
        // A host may get its name late.
        let name = hash_of(&self.name);
        let goes_on = matches!(self.stall, Some(StallNews::WentOn(_)));
        // Once it has joined, the bootstrap identity has nothing more to say.
        let is_over = self.has_joined() && !goes_on;
        let verdict = self.verdict().filter(|_| !is_over && !goes_on);
        let has_verdict = verdict.is_some();
        let failure = verdict
            .filter(|verdict| {
                self.now.failures_are_taken && node_failure::is_due(verdict, self.progress())
            })
            .map(|_| self.failure_key())
            .filter(|key| ledger.node_failure.as_ref() != Some(key));
        let report = has_verdict && ledger.known_report(&self.name).is_none();
        let event = if is_over {
            None
        } else if goes_on {
            Some(Duration::ZERO)
        } else if self.is_about_no_verdict() {
            (ledger.no_verdict_boot.as_ref() != Some(&self.boot)).then_some(Duration::ZERO)
        } else if has_verdict {
            match ledger.last_event(&self.name) {
                None => Some(Duration::ZERO),
                Some(at) if self.now.held => {
                    // If the clock went back, the Event is due at once.
                    let age = now.checked_sub(at).unwrap_or(EVENT_INTERVAL);
                    Some(Duration::from_secs(EVENT_INTERVAL.saturating_sub(age)))
                }
                Some(_) => None,
            }
        } else {
            None
        };
        let event = event.map(|wait| Due {
            key: format!("{goes_on} {name}"),
            wait,
        });
        let label = self.label_digest();
        let label = label.filter(|digest| ledger.node_patch.as_ref() != Some(digest));
        [
            (Channel::Report, report.then(|| at_once(name))),
            (Channel::Event, event),
            (Channel::Node, label.as_deref().map(at_once)),
            (Channel::Failure, failure.as_deref().map(at_once)),
        ]
    }

    /// Identifies what the Machine Config Server is told on this boot.
    pub(super) fn failure_key(&self) -> String {
        format!("{} {}", self.boot, hash_of(&self.name))
    }

    /// The cluster has the label of the node's own Node.
    pub(super) fn is_labelled(&self, ledger: &Ledger) -> bool {
        let digest = self.label_digest();
        digest.is_some() && digest == ledger.node_patch
    }

    /// The node has joined, so that its Node object says all there is to say.
    pub(super) fn has_joined(&self) -> bool {
        self.node_name.is_some() && self.now.is_past_first_boot
    }

    /// The patch for the Node.
    fn node_patch(&self) -> Option<NodePatch> {
        Some(NodePatch::new(&self.as_of_now(self.inventory()?)))
    }

    /// Names the report after the current host name and verdict.
    pub(super) fn rename(&mut self) {
        // The Event that it goes on is about the report that it had stopped.
        if !matches!(self.stall, Some(StallNews::WentOn(_))) {
            self.name = self.name_of(self.verdict().as_ref());
        }
    }

    fn name_of(&self, verdict: Option<&Verdict>) -> String {
        let Some(verdict) = verdict else {
            let host = subdomain(self.host());
            return format!("{host}-{}", hex16(&[&self.installation, "\n", NO_VERDICT]));
        };
        let name = self.report_name(verdict);
        match self.progress() {
            Some(progress) => stall_name(&name, &progress.key()),
            None => name,
        }
    }

    /// The name of the report about a verdict alone.
    pub(super) fn report_name(&self, verdict: &Verdict) -> String {
        report_name(self.host(), &self.installation, verdict)
    }

    fn host(&self) -> &str {
        self.identity.hostname.as_deref().unwrap_or_default()
    }

    /// The name of the object that is sent on a channel.
    pub(super) fn object_name(&self, channel: Channel) -> &str {
        match channel {
            Channel::Report | Channel::Event | Channel::Failure => &self.name,
            Channel::Node => self.node_name.as_deref().unwrap_or_default(),
        }
    }

    /// Identifies the label of the node's own Node on this boot.
    pub(super) fn label_digest(&self) -> Option<String> {
        let node = self.node_name.as_deref()?;
        self.node_patch()
            .map(|patch| patch.digest(node, &self.boot))
    }

    /// The request for a channel, made anew every time: the node may have been let through while
    /// the cluster could not be reached. `remedy`: words for an admin, by the verdict.
    pub(super) fn request(
        &self,
        channel: Channel,
        ledger: &Ledger,
        now: SystemTime,
        remedy: &dyn Fn(&Verdict) -> String,
    ) -> Option<Request> {
        match channel {
            Channel::Report => {
                let verdict = self.verdict()?;
                let report = ReportInput {
                    verdict: &verdict,
                    observed: self.subject()?.at,
                    progress: self.progress(),
                    identity: &self.identity,
                    remediation: &remedy(&verdict),
                    installation: &self.installation,
                };
                Some(BootImageReport::new(&report).request())
            }
            Channel::Failure => {
                let verdict = self.verdict()?;
                Some(node_failure::request(
                    &verdict,
                    self.progress(),
                    self.host(),
                ))
            }
            Channel::Event => {
                let verdict = self.verdict();
                let about = match &self.stall {
                    Some(StallNews::WentOn(phase)) => EventSubject::WentOn(*phase),
                    Some(StallNews::Hangs(progress)) => EventSubject::Stalled(progress),
                    None if self.no_verdict => EventSubject::NoVerdict {
                        held: self.now.held,
                    },
                    None => EventSubject::Verdict(verdict.as_ref()?),
                };
                let regarding = match ledger.known_report(&self.name) {
                    Some(report) => Regarding::report(&self.name, report.uid.as_deref()),
                    None => Regarding::namespace(),
                };
                let event = Event::new(about, &self.name, regarding, &self.identity, now);
                Some(event.request())
            }
            Channel::Node => Some(self.node_patch()?.request(self.node_name.as_ref()?)),
        }
    }
}
