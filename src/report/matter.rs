//! What there is to tell the cluster about this node, and the requests for it.

use super::answer::Channel;
use super::event::{About, Event, NO_VERDICT, Regarding};
use super::inventory::NodePatch;
use super::names::{hex16, report_name, subdomain};
use super::objects::{BootImageReport, ReportInput, is_reportable};
use super::situation::{self, Observed};
use super::state::Deliveries;
use crate::node::Root;
use crate::node::bus::{BootedDeployment, booted_deployment};
use crate::node::identity::Identity;
use crate::transport::Request;
use crate::verdict::Verdict;
use std::time::SystemTime;

/// What there is to tell.
pub(super) struct Matter<'a> {
    root: &'a Root,
    pub(super) identity: Identity,
    /// The installation's random id.
    installation: String,
    /// The verdict that report and Event are about.
    reported: Option<Observed>,
    /// The verdict that the Node is labelled with.
    pub(super) inventory: Option<Verdict>,
    /// The Event is about a run without a verdict.
    pub(super) no_verdict: bool,
    /// The report's name; the Event's name begins with it.
    pub(super) name: String,
    /// The Node's name, once the node has joined.
    pub(super) node_name: Option<String>,
    /// What an admin can do about it.
    pub(super) remediation: String,
    /// rpm-ostree's view of the booted deployment.
    rpm_ostree: Option<BootedDeployment>,
}

impl<'a> Matter<'a> {
    pub(super) fn new(root: &'a Root, identity: Identity, installation: String) -> Self {
        Self {
            root,
            identity,
            installation,
            reported: None,
            inventory: None,
            no_verdict: false,
            name: String::new(),
            node_name: None,
            remediation: String::new(),
            rpm_ostree: None,
        }
    }

    /// Makes this the verdict to tell. Returns whether a node that has not joined reports it.
    pub(super) fn adopt(&mut self, observed: Observed) -> bool {
        self.inventory = Some(observed.verdict.clone());
        (self.node_name, self.no_verdict) = (None, false);
        self.reported = is_reportable(&observed.verdict).then_some(observed);
        self.name = self.name_of(self.reported.as_ref().map(|observed| &observed.verdict));
        self.reported.is_some()
    }

    /// Turns the Event into one about a run without a verdict.
    pub(super) fn adopt_no_verdict(&mut self) {
        self.no_verdict = true;
        self.name = self.name_of(None);
    }

    /// The verdict to tell, corrected if the node is no longer held.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.reported.as_ref().map(|observed| situation::as_it_is_now(self.root, &observed.verdict))
    }

    /// Asks hostnamed and rpm-ostree for what goes into a new report.
    pub(super) async fn ask(&mut self, bus: &str) {
        self.identity = Identity::read(self.root, Some(bus)).await;
        self.rpm_ostree = booted_deployment(bus).await;
        self.rename();
    }

    /// Names the report after the current host name and verdict.
    pub(super) fn rename(&mut self) {
        self.name = self.name_of(self.verdict().as_ref());
    }

    fn name_of(&self, verdict: Option<&Verdict>) -> String {
        let host = self.identity.hostname.as_deref().unwrap_or_default();
        match verdict {
            Some(verdict) => report_name(host, &self.installation, verdict),
            None => format!("{}-{}", subdomain(host), hex16(&[&self.installation, "\n", NO_VERDICT])),
        }
    }

    /// The name of the object that is sent on a channel.
    pub(super) fn subject(&self, channel: Channel) -> &str {
        match channel {
            Channel::Report | Channel::Event => &self.name,
            Channel::Node => self.node_name.as_deref().unwrap_or_default(),
        }
    }

    /// Identifies the label of the Node `node` on this boot.
    pub(super) fn label_digest(&self, node: &str) -> Option<String> {
        self.inventory.as_ref().map(|verdict| NodePatch::new(verdict).digest(node, &situation::boot_id(self.root)))
    }

    /// The request for a channel, made anew every time: the node may have been let through while the cluster could not be reached.
    pub(super) fn request(&self, channel: Channel, delivered: &Deliveries, now: SystemTime) -> Option<Request> {
        match channel {
            Channel::Report => {
                let verdict = self.verdict()?;
                let report = ReportInput {
                    verdict: &verdict,
                    observed: self.reported.as_ref()?.at,
                    identity: &self.identity,
                    rpm_ostree: self.rpm_ostree.as_ref(),
                    remediation: &self.remediation,
                    installation: &self.installation,
                };
                Some(BootImageReport::new(&report).request())
            }
            Channel::Event => {
                let verdict = self.verdict();
                let about = match &verdict {
                    _ if self.no_verdict => About::NoVerdict { held: situation::is_held(self.root) },
                    verdict => About::Verdict(verdict.as_ref()?),
                };
                let regarding = match delivered.known_report(&self.name) {
                    Some(report) => Regarding::report(&self.name, report.uid.as_deref()),
                    None => Regarding::namespace(),
                };
                Some(Event::new(about, &self.name, regarding, &self.identity, now).request())
            }
            Channel::Node => Some(NodePatch::new(self.inventory.as_ref()?).request(self.node_name.as_ref()?)),
        }
    }
}
