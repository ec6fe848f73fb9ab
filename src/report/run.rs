//! The whole report: finds out what there is to tell, and tells it until the cluster knows.

use super::answer::{Answer, Channel, Retry};
use super::carrier::Carrier;
use super::delivery::{Delivery, Standing};
use super::event::{NO_VERDICT, no_verdict};
use super::matter::Matter;
use super::names::EVENT_INTERVAL;
use super::situation;
use super::situation::{Observed, Situation};
use super::state::{Deliveries, installation};
use super::watch::{Level, News, Watcher};
use crate::clock;
use crate::node::identity::Identity;
use crate::node::kubeconfig::KUBELET_KUBECONFIG;
use crate::node::{FileError, Root};
use crate::transport::{Response, TransportError};
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How often to look whether the node has joined, and whether a refused one is still held.
const POLL: Duration = Duration::from_secs(30);

/// How long to wait for a node that is not held to join.
const JOIN_PATIENCE: Duration = Duration::from_secs(2 * 60 * 60);

/// First requests are spread at random over this time: thousands of nodes may have been switched on at once.
const SPLAY: Duration = Duration::from_secs(5);

/// What [`run`] needs from outside.
pub struct Outside<'a, C, W> {
    /// The node.
    pub root: &'a Root,
    /// Who it is.
    pub identity: Identity,
    /// Fills in what the running system has learnt since: its name, its addresses.
    pub refresh: &'a dyn Fn(&mut Identity),
    /// The bus on which to ask hostnamed and rpm-ostree. They are asked only for a new report, because asking starts them.
    pub bus: Option<&'a str>,
    /// How to reach the cluster.
    pub carrier: C,
    /// Whom to tell how it goes.
    pub watcher: W,
    /// The wall clock.
    pub now: &'a dyn Fn() -> SystemTime,
    /// A random number in 0.0..1.0.
    pub chance: &'a dyn Fn() -> f64,
    /// Try everything once, and do not wait for more.
    pub once: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everything is told, or skipped until the next boot.
    Done,
    /// Something is still to be told. Only with `once`.
    Undelivered,
}

/// Tells the cluster everything there is to tell. Without `once` it does not return as long as the node is held.
pub async fn run<C: Carrier, W: Watcher>(outside: Outside<'_, C, W>) -> End {
    let mut run = Run::new(outside);
    run.plan();
    run.ask().await;
    run.deliver().await
}

struct Run<'a, C, W> {
    outside: Outside<'a, C, W>,
    started: Instant,
    delivery: Delivery,
    delivered: Deliveries,
    matter: Matter<'a>,
    news: News,
    /// Why the name of a joined node is not known yet; said once.
    nameless: Option<String>,
}

impl<'a, C: Carrier, W: Watcher> Run<'a, C, W> {
    fn new(mut outside: Outside<'a, C, W>) -> Self {
        let delivered = Deliveries::load(outside.root).unwrap_or_else(|error| {
            outside.watcher.line(Level::Warning, &format!("{error}; starting afresh"));
            Deliveries::default()
        });
        let (installation, problem) = installation(outside.root, outside.identity.machine_id.as_deref());
        if let Some(problem) = problem {
            outside.watcher.line(Level::Warning, &format!("{problem}; the machine id is used instead"));
        }
        let matter = Matter::new(outside.root, std::mem::take(&mut outside.identity), installation);
        Self { outside, started: Instant::now(), delivery: Delivery::default(), delivered, matter, news: News::new(), nameless: None }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn unix(&self) -> u64 {
        clock::unix((self.outside.now)())
    }

    /// A random time within [`SPLAY`] from now.
    fn soon(&self) -> Duration {
        self.now() + SPLAY.mul_f64((self.outside.chance)().clamp(0.0, 1.0))
    }

    /// Finds out what there is to tell, and what of that the cluster already knows.
    fn plan(&mut self) {
        match situation::read(self.outside.root) {
            Situation::Verdict(observed) => self.adopt(*observed),
            Situation::NoVerdict(damaged) => self.plan_no_verdict(damaged),
            Situation::NeverRan(damaged) => damaged.into_iter().for_each(|error| self.warn(&error.to_string())),
        }
        self.look_for_join();
    }

    /// Makes this the verdict to tell, and plans what to send.
    fn adopt(&mut self, observed: Observed) {
        self.matter.remediation = self.outside.watcher.remediation(&observed.verdict);
        if self.matter.adopt(observed) {
            self.plan_report();
        } else {
            [Channel::Report, Channel::Event].into_iter().for_each(|channel| self.delivery.stop(channel));
        }
        self.tell_console();
    }

    fn plan_report(&mut self) {
        let soon = self.soon();
        if let Some(known) = self.delivered.known_report(&self.matter.name) {
            self.matter.name = known.name.clone();
            self.delivery.delivered_before(Channel::Report);
        } else {
            self.delivery.want(Channel::Report, soon);
        }
        match self.delivered.last_event(&self.matter.name) {
            None => self.delivery.want(Channel::Event, soon),
            Some(at) if self.is_held() => {
                // If the clock went back, the Event is due at once.
                let age = self.unix().checked_sub(at).unwrap_or(EVENT_INTERVAL);
                self.delivery.want(Channel::Event, soon + Duration::from_secs(EVENT_INTERVAL.saturating_sub(age)));
            }
            Some(_) => self.delivery.delivered_before(Channel::Event),
        }
    }

    /// Asks hostnamed and rpm-ostree, if there is a new report to make.
    async fn ask(&mut self) {
        if let Some(bus) = self.outside.bus
            && matches!(self.delivery.standing(Channel::Report), Standing::Due(_))
        {
            self.matter.ask(bus).await;
        }
    }

    fn plan_no_verdict(&mut self, damaged: Option<FileError>) {
        let why = damaged.map(|error| format!(" ({error})")).unwrap_or_default();
        let line = format!("{NO_VERDICT}: {}{why}. See journalctl -b -u skewguard.service", no_verdict(self.is_held()));
        self.outside.watcher.line(Level::Error, &line);
        self.matter.adopt_no_verdict();
        if self.delivered.no_verdict_boot == Some(situation::boot_id(self.outside.root)) {
            self.delivery.delivered_before(Channel::Event);
        } else {
            self.delivery.want(Channel::Event, self.soon());
        }
    }

    /// If the node has joined, makes its label due.
    fn look_for_join(&mut self) {
        if self.matter.node_name.is_some() || self.outside.root.exists(KUBELET_KUBECONFIG).is_ok_and(|there| !there) {
            return;
        }
        let node = match self.outside.carrier.node_name() {
            Ok(node) => node,
            Err(why) if self.nameless.as_ref() == Some(&why) => return,
            Err(why) => {
                self.warn(&format!("{} not delivered: {why}", Channel::Node.as_str()));
                self.nameless = Some(why);
                return;
            }
        };
        if self.matter.inventory.is_none() {
            self.matter.inventory = situation::decide_now(self.outside.root);
        }
        let Some(digest) = self.matter.label_digest(&node) else { return };
        if self.delivered.node_patch == Some(digest) {
            self.delivery.delivered_before(Channel::Node);
        } else {
            self.delivery.want(Channel::Node, self.now());
        }
        self.nameless = None;
        self.matter.node_name = Some(node);
    }

    fn is_held(&self) -> bool {
        situation::is_held(self.outside.root)
    }

    async fn deliver(&mut self) -> End {
        let mut under_way: JoinSet<(Channel, String, Result<Response, TransportError>)> = JoinSet::new();
        loop {
            for channel in self.delivery.due(self.now()) {
                self.look_at_the_host(channel);
                if let Some(request) = self.matter.request(channel, &self.delivered, (self.outside.now)()) {
                    let (answer, name) = (self.outside.carrier.send(channel, request), self.matter.subject(channel).to_owned());
                    under_way.spawn(async move { (channel, name, answer.await) });
                } else {
                    self.delivery.stop(channel);
                }
            }
            let wake = self.wake();
            let tried = self.outside.once && !self.delivery.is_first_try_due(self.now() + POLL);
            if under_way.is_empty() && (wake.is_none() || tried) {
                return if self.outside.once && (self.delivery.is_failing() || self.nameless.is_some()) {
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

    /// Updates identity and report name before a request: the network may have come up. A report that was sent keeps its name.
    fn look_at_the_host(&mut self, channel: Channel) {
        (self.outside.refresh)(&mut self.matter.identity);
        let on_its_way = channel != Channel::Report && self.delivery.standing(Channel::Report) == Standing::InFlight;
        if !on_its_way && self.delivered.known_report(&self.matter.name).is_none() {
            self.matter.rename();
        }
    }

    /// How long to sleep at most; `None` if there is nothing to wait for.
    fn wake(&self) -> Option<Duration> {
        let now = self.now();
        let next = self.delivery.next().map(|at| at.saturating_sub(now));
        let watching = self.is_held() || self.matter.node_name.is_none() && now < JOIN_PATIENCE && !self.outside.once;
        match next {
            Some(next) => Some(if watching { next.min(POLL) } else { next }),
            None if watching || self.delivery.in_flight() => Some(POLL),
            None => None,
        }
    }

    /// Looks whether the node has joined, was let through, or has a new verdict.
    fn look_again(&mut self) {
        (self.outside.refresh)(&mut self.matter.identity);
        self.tell_console();
        if !self.delivery.in_flight()
            && let Some(observed) = situation::this_boots(self.outside.root)
            && self.matter.inventory.as_ref() != Some(&observed.verdict)
        {
            self.adopt(observed);
        }
        self.look_for_join();
        let repeating =
            self.delivered.last_event(&self.matter.name).is_some() && matches!(self.delivery.standing(Channel::Event), Standing::Due(_));
        if repeating && !self.is_held() {
            self.delivery.delivered_before(Channel::Event);
        }
    }

    /// Handles the answer about the object `name`.
    fn answered(&mut self, channel: Channel, name: &str, result: Result<Response, TransportError>) {
        let answer = Answer::read(channel, result);
        let repeat = !self.matter.no_verdict && self.is_held();
        let mended_by_a_person = self.delivery.answered(channel, self.now(), &answer, (self.outside.chance)(), repeat);
        match &answer {
            Answer::Delivered { uid, already } => {
                self.keep(channel, name, uid.as_deref());
                let how = if *already { "was delivered before" } else { "delivered" };
                self.outside.watcher.line(Level::Info, &format!("{} {how}: {name}", channel.as_str()));
            }
            Answer::Failed { retry, why, brief } => {
                if self.outside.once {
                    self.delivery.stop(channel);
                }
                let next = match self.delivery.standing(channel) {
                    Standing::Due(at) => format!("; next try in {} s", at.saturating_sub(self.now()).as_secs()),
                    _ => String::new(),
                };
                self.warn(&format!("{} not delivered: {why}{next}", channel.as_str()));
                // Only the latest answer counts. If the server cannot be reached now, it is unknown whether a Role is still missing.
                if channel != Channel::Node {
                    let only_try = self.outside.once && *retry == Retry::SlowlyIfRepeated;
                    self.news.obstacle = (mended_by_a_person || only_try).then(|| brief.clone());
                }
            }
        }
        self.tell_console();
    }

    /// Records what was delivered, for later boots.
    fn keep(&mut self, channel: Channel, name: &str, uid: Option<&str>) {
        match channel {
            Channel::Report => self.delivered.report_delivered(name, uid),
            Channel::Event if self.matter.no_verdict => self.delivered.no_verdict_boot = Some(situation::boot_id(self.outside.root)),
            Channel::Event => self.delivered.event_delivered(name, self.unix()),
            Channel::Node => self.delivered.node_patch = self.matter.label_digest(name),
        }
        if let Err(error) = self.delivered.save(self.outside.root) {
            self.warn(&format!("{error}; the next boot will ask the cluster again"));
        }
    }

    fn warn(&mut self, line: &str) {
        self.outside.watcher.line(Level::Warning, line);
    }

    fn tell_console(&mut self) {
        self.news.tell(&mut self.outside.watcher, &self.matter, &self.delivered);
    }
}
