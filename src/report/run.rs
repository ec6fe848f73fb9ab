//! The report as a whole: decides what there is to tell, and tells it until the cluster knows.

use super::answer::{Answer, Channel, Retry};
use super::carrier::{Carrier, Identity as As};
use super::delivery::{Delivery, Standing};
use super::event::{About, Event, NO_VERDICT, Regarding, no_verdict};
use super::inventory::NodePatch;
use super::names::{EVENT_INTERVAL, hex16, report_name, subdomain};
use super::objects::{BootImageReport, Source, is_reportable};
use super::situation::{Observed, Situation};
use super::state::{State, installation};
use super::transport::{Request, Response, TransportError};
use super::watch::{ClusterKnows, Level, Watcher};
use super::{clock, situation};
use crate::node::Root;
use crate::node::bus::booted_deployment;
use crate::node::identity::{BootedDeployment, Identity};
use crate::node::kubeconfig::KUBELET_KUBECONFIG;
use crate::verdict::Verdict;
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How often a node that has not joined is looked at again, and whether a refused one is still held.
const POLL: Duration = Duration::from_secs(30);

/// How long a node that was let through may take to join, on this boot.
const JOIN_PATIENCE: Duration = Duration::from_secs(2 * 60 * 60);

/// Requests of five thousand nodes that were switched on at once are spread over this time.
const SPLAY: Duration = Duration::from_secs(5);

/// What [`run`] needs from outside.
pub struct Parts<'a, C, W> {
    /// The node.
    pub root: &'a Root,
    /// Who it is.
    pub identity: Identity,
    /// Fills in what the running system has learnt of itself since: its name, its addresses.
    pub refresh: &'a dyn Fn(&mut Identity),
    /// The bus to ask hostnamed and rpm-ostree on; only asked where a report is to be made, since both are started by the question.
    pub bus: Option<&'a str>,
    /// How to reach the cluster.
    pub carrier: C,
    /// Who watches.
    pub watcher: W,
    /// The wall clock.
    pub now: &'a dyn Fn() -> SystemTime,
    /// Random numbers in 0.0..1.0.
    pub chance: &'a dyn Fn() -> f64,
    /// Try everything once, and do not wait.
    pub once: bool,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everything there was to tell is told, or was skipped until the next boot.
    Done,
    /// Something is still to be told (only with `once`).
    Undelivered,
}

/// Tells the cluster everything there is to tell. Without `once` it comes back when that is done, which is never while the node is held.
pub async fn run<C: Carrier, W: Watcher>(parts: Parts<'_, C, W>) -> End {
    let mut run = Run::new(parts);
    run.plan();
    run.ask().await;
    run.deliver().await
}

struct Run<'a, C, W> {
    parts: Parts<'a, C, W>,
    started: Instant,
    delivery: Delivery,
    state: State,
    installation: String,
    /// The verdict that report and Event are about, and since when it stands.
    reported: Option<Observed>,
    /// What a Node is labelled with.
    inventory: Option<Verdict>,
    /// What an admin can do about it.
    remediation: String,
    /// rpm-ostree's view of the booted deployment.
    rpm_ostree: Option<BootedDeployment>,
    /// The report's name, and that part of the Event's.
    name: String,
    /// The Event is about a run without a verdict.
    no_verdict: bool,
    node_name: Option<String>,
    /// Why a node that has joined has no name yet; said once.
    nameless: Option<String>,
    /// Why the cluster cannot be told, as far as a person has to mend it.
    obstacle: Option<String>,
    knows: ClusterKnows,
    /// The address that the console was told.
    address: Option<String>,
}

impl<'a, C: Carrier, W: Watcher> Run<'a, C, W> {
    fn new(mut parts: Parts<'a, C, W>) -> Self {
        let state = State::load(parts.root).unwrap_or_else(|error| {
            parts.watcher.line(Level::Warning, &format!("{error}; starting afresh"));
            State::default()
        });
        let (installation, problem) = installation(parts.root, parts.identity.machine_id.as_deref());
        if let Some(problem) = problem {
            parts.watcher.line(Level::Warning, &format!("{problem}; the machine id is used instead"));
        }
        Self {
            parts,
            started: Instant::now(),
            delivery: Delivery::new(),
            state,
            installation,
            reported: None,
            inventory: None,
            remediation: String::new(),
            rpm_ostree: None,
            name: String::new(),
            no_verdict: false,
            node_name: None,
            nameless: None,
            obstacle: None,
            knows: ClusterKnows::NotYet,
            address: None,
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn unix(&self) -> u64 {
        clock::unix((self.parts.now)())
    }

    /// A moment from now, at random.
    fn soon(&self) -> Duration {
        self.now() + SPLAY.mul_f64((self.parts.chance)().clamp(0.0, 1.0))
    }

    /// Finds out what there is to tell, and what of it the cluster has already.
    fn plan(&mut self) {
        let mut notes = Vec::new();
        let situation = situation::read(self.parts.root, &mut notes);
        for note in notes {
            self.parts.watcher.line(Level::Warning, &note);
        }
        match situation {
            Situation::Verdict(observed) => self.adopt(*observed),
            Situation::NoVerdict { damaged } => self.plan_no_verdict(damaged.map(|error| error.to_string())),
            Situation::NeverRan => {}
        }
        self.look_for_join();
    }

    /// Takes a verdict as the one to tell, and plans what follows.
    fn adopt(&mut self, observed: Observed) {
        self.inventory = Some(observed.verdict.clone());
        (self.node_name, self.no_verdict) = (None, false);
        if is_reportable(&observed.verdict) {
            self.plan_report(&observed.verdict);
            self.reported = Some(observed);
        } else {
            [Channel::Report, Channel::Event].into_iter().for_each(|channel| self.delivery.stop(channel));
            self.reported = None;
        }
        self.news();
    }

    fn plan_report(&mut self, verdict: &Verdict) {
        let soon = self.soon();
        self.remediation = self.parts.watcher.remediation(verdict);
        self.name = self.name_of(Some(verdict));
        if let Some(known) = self.state.known_report(&self.name) {
            self.name = known.to_owned();
            self.delivery.delivered_before(Channel::Report);
        } else {
            self.delivery.want(Channel::Report, soon);
        }
        match self.state.last_event(&self.name) {
            None => self.delivery.want(Channel::Event, soon),
            Some(at) if self.is_held() => {
                // A clock that went back makes it due at once.
                let age = self.unix().checked_sub(at).unwrap_or(EVENT_INTERVAL);
                self.delivery.want(Channel::Event, soon + Duration::from_secs(EVENT_INTERVAL.saturating_sub(age)));
            }
            Some(_) => self.delivery.delivered_before(Channel::Event),
        }
    }

    /// Asks hostnamed and rpm-ostree for what a new report says.
    async fn ask(&mut self) {
        let Some(bus) = self.parts.bus else { return };
        if !matches!(self.delivery.standing(Channel::Report), Standing::Due(_)) {
            return;
        }
        self.parts.identity = Identity::read(self.parts.root, Some(bus)).await;
        self.rpm_ostree = booted_deployment(bus).await;
        self.name = self.name_of(self.told().as_ref());
    }

    /// The verdict to tell, as things are now.
    fn told(&self) -> Option<Verdict> {
        self.reported.as_ref().map(|observed| situation::as_it_is_now(self.parts.root, &observed.verdict))
    }

    /// The name of the report of a verdict, or of what there is no verdict for, as the host is called now.
    fn name_of(&self, verdict: Option<&Verdict>) -> String {
        let host = self.parts.identity.hostname.as_deref().unwrap_or_default();
        match verdict {
            Some(verdict) => report_name(host, &self.installation, verdict),
            None => format!("{}-{}", subdomain(host), hex16(&[&self.installation, "\n", NO_VERDICT])),
        }
    }

    fn plan_no_verdict(&mut self, damaged: Option<String>) {
        let why = damaged.map(|damaged| format!(" ({damaged})")).unwrap_or_default();
        let line = format!("{NO_VERDICT}: {}{why}. See journalctl -b -u skewguard.service", no_verdict(self.is_held()));
        self.parts.watcher.line(Level::Error, &line);
        self.no_verdict = true;
        self.name = self.name_of(None);
        if self.state.was_no_verdict_told(&situation::boot_id(self.parts.root)) {
            self.delivery.delivered_before(Channel::Event);
        } else {
            self.delivery.want(Channel::Event, self.soon());
        }
    }

    /// Once the node has joined, its label is due.
    fn look_for_join(&mut self) {
        if self.node_name.is_some() || self.parts.root.exists(KUBELET_KUBECONFIG).is_ok_and(|there| !there) {
            return;
        }
        let node = match self.parts.carrier.node_name() {
            Ok(node) => node,
            Err(why) if self.nameless.as_ref() == Some(&why) => return,
            Err(why) => {
                self.parts.watcher.line(Level::Warning, &format!("{} not delivered: {why}", Channel::Node.as_str()));
                self.nameless = Some(why);
                return;
            }
        };
        if self.inventory.is_none() {
            self.inventory = situation::decide_now(self.parts.root);
        }
        let Some(verdict) = &self.inventory else { return };
        if self.state.has_node_patch(&NodePatch::new(verdict).digest(&node, &situation::boot_id(self.parts.root))) {
            self.delivery.delivered_before(Channel::Node);
        } else {
            self.delivery.want(Channel::Node, self.now());
        }
        self.nameless = None;
        self.node_name = Some(node);
    }

    fn is_held(&self) -> bool {
        situation::is_held(self.parts.root)
    }

    /// The request of a channel, with everything as it is now: the node may have been let through while the cluster could not be reached.
    fn request(&mut self, channel: Channel) -> Option<(As, Request)> {
        // The network may have come up since. A report that the cluster has, or that is on its way there, keeps its name.
        (self.parts.refresh)(&mut self.parts.identity);
        let on_its_way = channel != Channel::Report && self.delivery.standing(Channel::Report) == Standing::InFlight;
        if !on_its_way && self.state.known_report(&self.name).is_none() {
            self.name = self.name_of(self.told().as_ref());
        }
        match channel {
            Channel::Report => {
                let report = BootImageReport::new(&Source {
                    verdict: &self.told()?,
                    observed: self.reported.as_ref()?.at,
                    identity: &self.parts.identity,
                    rpm_ostree: self.rpm_ostree.as_ref(),
                    remediation: &self.remediation,
                    installation: &self.installation,
                });
                Some((As::Bootstrap, report.request()))
            }
            Channel::Event => {
                let told = self.told();
                let about = if self.no_verdict { About::NoVerdict { held: self.is_held() } } else { About::Verdict(told.as_ref()?) };
                let regarding = if self.state.known_report(&self.name).is_some() {
                    Regarding::report(&self.name, self.state.report_uid(&self.name))
                } else {
                    Regarding::namespace()
                };
                let event = Event::new(about, &self.name, regarding, &self.parts.identity, (self.parts.now)());
                Some((As::Bootstrap, event.request()))
            }
            Channel::Node => Some((As::Kubelet, NodePatch::new(self.inventory.as_ref()?).request(self.node_name.as_ref()?))),
        }
    }

    async fn deliver(&mut self) -> End {
        let mut under_way: JoinSet<(Channel, String, Result<Response, TransportError>)> = JoinSet::new();
        loop {
            for channel in self.delivery.due(self.now()) {
                if let Some((identity, request)) = self.request(channel) {
                    let (answer, name) = (self.parts.carrier.send(identity, request), self.subject(channel).to_owned());
                    under_way.spawn(async move { (channel, name, answer.await) });
                } else {
                    self.delivery.stop(channel);
                }
            }
            let wake = self.wake();
            let tried = self.parts.once && !self.delivery.is_first_try_due(self.now() + POLL);
            if under_way.is_empty() && (wake.is_none() || tried) {
                return if self.parts.once && (self.delivery.is_failing() || self.nameless.is_some()) {
                    End::Undelivered
                } else {
                    End::Done
                };
            }
            let wake = wake.unwrap_or(POLL).max(Duration::from_millis(1));
            if under_way.is_empty() {
                tokio::time::sleep(wake).await;
            } else if let Ok(Some(Ok((channel, name, result)))) = tokio::time::timeout(wake, under_way.join_next()).await {
                self.answered(channel, &name, result);
            }
            self.look_again();
        }
    }

    /// How long to sleep at most; `None` where nothing is left to wait for.
    fn wake(&self) -> Option<Duration> {
        let now = self.now();
        let next = self.delivery.next().map(|at| at.saturating_sub(now));
        let watching = self.is_held() || self.node_name.is_none() && now < JOIN_PATIENCE && !self.parts.once;
        match next {
            Some(next) => Some(if watching { next.min(POLL) } else { next }),
            None if watching || self.delivery.in_flight() => Some(POLL),
            None => None,
        }
    }

    /// The node may have joined, or been let through, or been decided about anew.
    fn look_again(&mut self) {
        (self.parts.refresh)(&mut self.parts.identity);
        self.news();
        if !self.delivery.in_flight()
            && let Some(observed) = situation::this_boots(self.parts.root)
            && self.inventory.as_ref() != Some(&observed.verdict)
        {
            self.adopt(observed);
        }
        self.look_for_join();
        let repeating = self.state.last_event(&self.name).is_some() && matches!(self.delivery.standing(Channel::Event), Standing::Due(_));
        if repeating && !self.is_held() {
            self.delivery.delivered_before(Channel::Event);
        }
    }

    /// Takes the answer about `name` in.
    fn answered(&mut self, channel: Channel, name: &str, result: Result<Response, TransportError>) {
        let answer = Answer::read(channel, result);
        let repeat = !self.no_verdict && self.is_held();
        let mended_by_a_person = self.delivery.answered(channel, self.now(), &answer, (self.parts.chance)(), repeat);
        if self.parts.once && matches!(answer, Answer::Failed { .. }) {
            self.delivery.stop(channel);
        }
        match &answer {
            Answer::Delivered { uid, already } => {
                self.keep(channel, name, uid.as_deref());
                let how = if *already { "was delivered before" } else { "delivered" };
                self.parts.watcher.line(Level::Info, &format!("{} {how}: {name}", channel.as_str()));
            }
            Answer::Failed { why, .. } => {
                let next = match self.delivery.standing(channel) {
                    Standing::Due(at) => format!("; next try in {} s", at.saturating_sub(self.now()).as_secs()),
                    _ => String::new(),
                };
                self.parts.watcher.line(Level::Warning, &format!("{} not delivered: {why}{next}", channel.as_str()));
            }
        }
        // The latest answer counts: after a Role that was missing, a server that is away is all that is known.
        if let Answer::Failed { retry, brief, .. } = &answer
            && channel != Channel::Node
        {
            let only_try = self.parts.once && *retry == Retry::SlowlyIfRepeated;
            self.obstacle = (mended_by_a_person || only_try).then(|| brief.clone());
        }
        self.news();
    }

    fn subject(&self, channel: Channel) -> &str {
        match channel {
            Channel::Report | Channel::Event => &self.name,
            Channel::Node => self.node_name.as_deref().unwrap_or_default(),
        }
    }

    /// Keeps what was delivered for later boots.
    fn keep(&mut self, channel: Channel, name: &str, uid: Option<&str>) {
        match channel {
            Channel::Report => self.state.report_delivered(name, uid),
            Channel::Event if self.no_verdict => self.state.no_verdict_told(&situation::boot_id(self.parts.root)),
            Channel::Event => self.state.event_delivered(name, self.unix()),
            Channel::Node => {
                if let Some(verdict) = &self.inventory {
                    self.state.node_patched(&NodePatch::new(verdict).digest(name, &situation::boot_id(self.parts.root)));
                }
            }
        }
        if let Err(error) = self.state.save(self.parts.root) {
            self.parts.watcher.line(Level::Warning, &format!("{error}; the next boot will ask the cluster again"));
        }
    }

    /// Tells the console what the cluster knows by now and at which address the node is, where that has changed.
    fn news(&mut self) {
        let Some(verdict) = self.told() else { return };
        let knows = if self.state.known_report(&self.name).is_some() {
            ClusterKnows::Told(Some(self.name.clone()))
        } else if self.state.last_event(&self.name).is_some() {
            ClusterKnows::Told(None)
        } else {
            self.obstacle.clone().map_or(ClusterKnows::NotYet, ClusterKnows::CannotBeTold)
        };
        let address = self.parts.identity.addresses.first().cloned();
        let news = knows != self.knows || address != self.address;
        if news && self.parts.watcher.cluster_knows(&verdict, &knows, address.as_deref()) {
            (self.knows, self.address) = (knows, address);
        }
    }
}
