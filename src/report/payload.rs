//! Content of the three channels, and the requests for it.

use super::answer::Channel;
use super::event::{Event, EventSubject, NO_VERDICT, Regarding};
use super::inventory::NodePatch;
use super::ledger::{Ledger, hash_of};
use super::names::{EVENT_INTERVAL, hex16, report_name, stall_name, subdomain};
use super::objects::{BootImageReport, ReportInput, is_reportable};
use super::situation::{self, DatedVerdict};
use super::stall::{Phase, Progress};
use crate::node::identity::Identity;
use crate::node::{Root, UNTOLD_VERDICT_PATH};
use crate::transport::Request;
use crate::verdict::{Action, Verdict};
use std::time::{Duration, SystemTime};

/// The warning in a verdict that was not made by `skewguard.service`.
const UNSEEN: &str =
    "skewguard.service left no verdict on this boot: this one was made by skewguard-report.service";

/// Content of the three channels.
pub(super) struct Payload<'a> {
    root: &'a Root,
    pub(super) identity: Identity,
    /// The installation's random id.
    installation: String,
    /// The verdict that report and Event are about.
    observed: Option<DatedVerdict>,
    /// An earlier boot's undelivered verdict, where there is nothing to tell of `observed`.
    earlier_verdict: Option<DatedVerdict>,
    /// The result of a check on a first boot on which `skewguard.service` left no verdict.
    verdict_made_here: Option<DatedVerdict>,
    /// The state of a first boot that does not finish.
    pub(super) progress: Option<Progress>,
    /// The phase after which the first boot went on; then the Event says so.
    pub(super) went_on: Option<Phase>,
    /// The verdict that the Node is labelled with.
    pub(super) inventory: Option<Verdict>,
    /// The Event is about a run without a verdict.
    pub(super) no_verdict: bool,
    /// The report's name; the Event's name begins with it.
    pub(super) name: String,
    /// The Node's name, once the node has joined.
    pub(super) node_name: Option<String>,
    /// The remedy for an admin.
    pub(super) remediation: String,
}

/// An object that the cluster is to have, and has not.
#[derive(Debug)]
pub(super) struct Due {
    /// Makes it another one than the last on its channel.
    pub(super) key: String,
    /// Time until it is due.
    pub(super) wait: Duration,
}

impl<'a> Payload<'a> {
    pub(super) fn new(root: &'a Root, identity: Identity, installation: String) -> Self {
        Self {
            root,
            identity,
            installation,
            observed: None,
            earlier_verdict: None,
            verdict_made_here: None,
            progress: None,
            went_on: None,
            inventory: None,
            no_verdict: false,
            name: String::new(),
            node_name: None,
            remediation: String::new(),
        }
    }

    /// Makes this the verdict to tell; if it is none to report, what an earlier boot has still to
    /// tell comes in its place. Returns the verdict that a node that has not joined reports.
    pub(super) fn adopt(&mut self, observed: DatedVerdict, ledger: &Ledger) -> Option<&Verdict> {
        self.inventory = Some(observed.verdict.clone());
        (self.node_name, self.no_verdict) = (None, false);
        (self.progress, self.went_on, self.verdict_made_here) = (None, None, None);
        let is_reported = is_reportable(&observed.verdict);
        self.earlier_verdict = if is_reported {
            None
        } else {
            self.read_untold(ledger)
        };
        self.observed = Some(observed);
        self.name = self.name_of(self.reported());
        self.reported()
    }

    /// The report of a node that has not joined and whose first boot does not hang.
    fn reported(&self) -> Option<&Verdict> {
        let told = self.subject().map(|told| &told.verdict);
        told.filter(|verdict| is_reportable(verdict))
    }

    /// Reads an earlier boot's undelivered verdict. If it was delivered, only its file is left.
    fn read_untold(&self, ledger: &Ledger) -> Option<DatedVerdict> {
        let untold = situation::untold(self.root)?;
        let name = self.name_of(Some(&untold.verdict));
        if ledger.known_report(&name).is_some() || ledger.last_event(&name).is_some() {
            // If that fails, the next boot tries again.
            let _ = self.root.remove(UNTOLD_VERDICT_PATH);
            return None;
        }
        Some(untold)
    }

    /// The verdict to tell is an earlier boot's.
    pub(super) fn is_about_earlier_boot(&self) -> bool {
        self.earlier_verdict.is_some() && self.progress.is_none() && self.went_on.is_none()
    }

    /// Turns the Event into one about a run without a verdict.
    pub(super) fn adopt_no_verdict(&mut self) {
        self.no_verdict = true;
        self.name = self.name_of(None);
    }

    /// Makes a verdict for a first boot without one. It goes on, whatever the verdict is: nothing
    /// held it.
    pub(super) fn look_without_verdict(&mut self) {
        if self.observed.is_some() || self.verdict_made_here.is_some() {
            return;
        }
        self.verdict_made_here = situation::decide_now(self.root).map(|mut verdict| {
            verdict.action = Action::Proceed;
            verdict.warnings.push(UNSEEN.to_owned());
            let at = SystemTime::now();
            DatedVerdict { verdict, at }
        });
    }

    /// The units that the verdict says are held.
    pub(super) fn held_units(&self) -> &[String] {
        let gate = self
            .observed
            .as_ref()
            .and_then(|seen| seen.verdict.gate.as_ref());
        gate.map_or(&[], |gate| &gate.units)
    }

    /// The Event is about a run without a verdict.
    pub(super) fn is_about_no_verdict(&self) -> bool {
        self.no_verdict && self.progress.is_none() && self.went_on.is_none()
    }

    /// The verdict of a node that is not held, as the node is now: it was let in, or could not be
    /// held.
    pub(super) fn let_in(&self) -> Option<Verdict> {
        let seen = self.observed.as_ref().or(self.verdict_made_here.as_ref());
        seen.filter(|_| !situation::is_held(self.root))
            .map(|seen| self.as_of_now(&seen.verdict))
    }

    /// The verdict to tell, as the node is now.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.subject()
            .map(|observed| &observed.verdict)
            .filter(|verdict| self.progress.is_some() || is_reportable(verdict))
            .map(|verdict| self.as_of_now(verdict))
    }

    /// The subject of report and Event.
    fn subject(&self) -> Option<&DatedVerdict> {
        let hangs = self.progress.is_some();
        let earlier = self.earlier_verdict.as_ref().filter(|_| !hangs);
        let verdict_made_here = self.verdict_made_here.as_ref().filter(|_| hangs);
        earlier.or(self.observed.as_ref()).or(verdict_made_here)
    }

    fn as_of_now(&self, verdict: &Verdict) -> Verdict {
        verdict
            .clone()
            .updated(situation::is_held(self.root), self.has_joined())
    }

    /// The objects that the cluster is to have, less those that by the ledger it has. `held`: the
    /// node is. `now`: seconds since 1970.
    pub(super) fn due(&self, ledger: &Ledger, held: bool, now: u64) -> [(Channel, Option<Due>); 3] {
        let at_once = |key: &str| Due {
            key: key.to_owned(),
            wait: Duration::ZERO,
        };
        // A host may get its name late.
        let name = hash_of(&self.name);
        let goes_on = self.went_on.is_some();
        // Once it has joined, the bootstrap identity has nothing more to say.
        let is_over = self.has_joined() && !goes_on;
        let has_verdict = !is_over && !goes_on && self.verdict().is_some();
        let report = has_verdict && ledger.known_report(&self.name).is_none();
        let event = if is_over {
            None
        } else if goes_on {
            Some(Duration::ZERO)
        } else if self.is_about_no_verdict() {
            let told = ledger.no_verdict_boot == Some(situation::boot_id(self.root));
            (!told).then_some(Duration::ZERO)
        } else if has_verdict {
            match ledger.last_event(&self.name) {
                None => Some(Duration::ZERO),
                Some(at) if held => {
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
        ]
    }

    /// The cluster has the label of the node's own Node.
    pub(super) fn is_labelled(&self, ledger: &Ledger) -> bool {
        let digest = self.label_digest();
        digest.is_some() && digest == ledger.node_patch
    }

    /// The node has joined, so that its Node object says all there is to say.
    pub(super) fn has_joined(&self) -> bool {
        self.node_name.is_some() && situation::is_past_first_boot(self.root)
    }

    /// The patch for the Node.
    fn node_patch(&self) -> Option<NodePatch> {
        let verdict = self.inventory.as_ref()?;
        Some(NodePatch::new(&self.as_of_now(verdict)))
    }

    /// Names the report after the current host name and verdict.
    pub(super) fn rename(&mut self) {
        // The Event that it goes on is about the report that it had stopped.
        if self.went_on.is_some() {
            return;
        }
        self.name = self.name_of(self.verdict().as_ref());
    }

    fn name_of(&self, verdict: Option<&Verdict>) -> String {
        let host = self.identity.hostname.as_deref().unwrap_or_default();
        match verdict {
            Some(verdict) => {
                let name = report_name(host, &self.installation, verdict);
                match &self.progress {
                    Some(progress) => stall_name(&name, &progress.key()),
                    None => name,
                }
            }
            None => format!(
                "{}-{}",
                subdomain(host),
                hex16(&[&self.installation, "\n", NO_VERDICT])
            ),
        }
    }

    /// The name of the object that is sent on a channel.
    pub(super) fn object_name(&self, channel: Channel) -> &str {
        match channel {
            Channel::Report | Channel::Event => &self.name,
            Channel::Node => self.node_name.as_deref().unwrap_or_default(),
        }
    }

    /// Identifies the label of the node's own Node on this boot.
    pub(super) fn label_digest(&self) -> Option<String> {
        let node = self.node_name.as_deref()?;
        self.node_patch()
            .map(|patch| patch.digest(node, &situation::boot_id(self.root)))
    }

    /// The request for a channel, made anew every time: the node may have been let through while
    /// the cluster could not be reached.
    pub(super) fn request(
        &self,
        channel: Channel,
        ledger: &Ledger,
        now: SystemTime,
    ) -> Option<Request> {
        match channel {
            Channel::Report => {
                let verdict = self.verdict()?;
                let report = ReportInput {
                    verdict: &verdict,
                    observed: self.subject()?.at,
                    progress: self.progress.as_ref(),
                    identity: &self.identity,
                    remediation: &self.remediation,
                    installation: &self.installation,
                };
                Some(BootImageReport::new(&report).request())
            }
            Channel::Event => {
                let verdict = self.verdict();
                let about = match (&verdict, &self.progress, self.went_on) {
                    (_, _, Some(phase)) => EventSubject::WentOn(phase),
                    (_, Some(progress), _) => EventSubject::Stalled(progress),
                    _ if self.no_verdict => EventSubject::NoVerdict {
                        held: situation::is_held(self.root),
                    },
                    (verdict, None, None) => EventSubject::Verdict(verdict.as_ref()?),
                };
                let regarding = match ledger.known_report(&self.name) {
                    Some(report) => Regarding::report(&self.name, report.uid.as_deref()),
                    None => Regarding::namespace(),
                };
                Some(Event::new(about, &self.name, regarding, &self.identity, now).request())
            }
            Channel::Node => Some(self.node_patch()?.request(self.node_name.as_ref()?)),
        }
    }
}
