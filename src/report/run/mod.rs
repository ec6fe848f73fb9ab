//! The whole report: finds out what there is to tell, and tells it until the cluster knows.

mod first_boot;

use super::answer::{Answer, Channel, Retry};
use super::client::Client;
use super::event::{NO_VERDICT, no_verdict};
use super::ledger::Ledger;
use super::output::{ConsoleState, Level, Output};
use super::payload::Payload;
use super::schedule::{ChannelState, Schedule};
use super::situation::{self, DatedVerdict, LastRun, Moment};
use super::stall::Units;
use crate::clock;
use crate::kubeconfig::BOOTSTRAP_KUBECONFIG;
use crate::node::identity::Identity;
use crate::node::{FileError, KUBELET_KUBECONFIG, Node, Root, UNTOLD_VERDICT_PATH, is_image_based};
use crate::runtime::{Work, first_done};
use crate::transport::{Response, TransportError};
use crate::verdict::Verdict;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// Interval of looks whether the node has joined, and whether a refused one is still held.
const POLL: Duration = Duration::from_secs(30);

/// Longest time without a look at the hold, while answers are on their way.
const HOLD_PATIENCE: Duration = Duration::from_secs(2 * 60);

/// Interval of looks once a node takes longer than [`JOIN_PATIENCE`]: somebody may approve its
/// certificate after hours.
const SLOW_POLL: Duration = Duration::from_secs(10 * 60);

/// Time in which a node that is not held is expected to join.
const JOIN_PATIENCE: Duration = Duration::from_secs(2 * 60 * 60);

/// First requests are spread at random over this time: thousands of nodes may have been switched on
/// at once.
const SPLAY: Duration = Duration::from_secs(5);

/// Surroundings of [`run`].
pub struct Env<'a, C, W> {
    /// The node.
    pub root: &'a Root,
    /// Its identity.
    pub identity: Identity,
    /// Fills in what the running system has learnt since: its name, its addresses.
    pub refresh: &'a dyn Fn(&mut Identity),
    /// The connection to the cluster.
    pub client: C,
    /// Whom to tell how it goes.
    pub output: W,
    /// The wall clock.
    pub now: &'a dyn Fn() -> SystemTime,
    /// A random number in 0.0..1.0.
    pub chance: &'a dyn Fn() -> f64,
    /// Asks systemd about the units that a first boot waits for; `None` is no answer. Only called
    /// where a first boot takes long.
    pub systemd: &'a dyn Fn() -> Option<Units>,
    /// The end of what a unit printed on this boot; `None` is no answer.
    pub journal: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// Try everything once, and do not wait for more.
    pub once: bool,
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everything is told, or skipped until the next boot.
    Done,
    /// Something is still to be told. Only with `once`.
    Undelivered,
}

/// Tells the cluster everything there is to tell. Without `once` it does not return as long as the
/// node is held.
pub async fn run<C: Client, W: Output>(env: Env<'_, C, W>) -> End {
    let mut run = Reporter::new(env);
    run.plan();
    run.deliver().await
}

struct Reporter<'a, C, W> {
    env: Env<'a, C, W>,
    node: Node<'a>,
    started: Instant,
    schedule: Schedule,
    ledger: Ledger,
    payload: Payload,
    console: ConsoleState,
    /// The reason why the name of a joined node is not known yet; said once.
    nameless: Option<String>,
    /// The time of the last look at the first boot.
    looked: Duration,
    /// The time of the last look at the hold.
    looked_at_hold: Duration,
}

impl<'a, C: Client, W: Output> Reporter<'a, C, W> {
    fn new(mut env: Env<'a, C, W>) -> Self {
        let node = Node::read(env.root);
        let installation = node.installation_id();
        let ledger = Ledger::load(env.root, &installation).unwrap_or_else(|error| {
            env.output
                .line(Level::Warning, &format!("{error}; starting afresh"));
            Ledger::new(&installation)
        });
        let boot = situation::boot_id(env.root);
        let identity = std::mem::take(&mut env.identity);
        Self {
            payload: Payload::new(identity, installation, boot),
            env,
            node,
            started: Instant::now(),
            schedule: Schedule::default(),
            ledger,
            console: ConsoleState::new(),
            nameless: None,
            looked: Duration::ZERO,
            looked_at_hold: Duration::ZERO,
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn unix(&self) -> u64 {
        clock::unix((self.env.now)())
    }

    /// A random time within [`SPLAY`] from now.
    fn soon(&self) -> Duration {
        self.now() + SPLAY.mul_f64((self.env.chance)().clamp(0.0, 1.0))
    }

    /// Finds out what there is to tell, and what of that the cluster already knows.
    fn plan(&mut self) {
        self.look();
        match situation::read(&self.node) {
            LastRun::Verdict(observed) => self.adopt(*observed),
            LastRun::NoVerdict(damaged) => self.plan_no_verdict(damaged),
            LastRun::NeverRan(damaged) => damaged
                .into_iter()
                .for_each(|error| self.warn(&error.to_string())),
        }
        self.look_for_join();
        self.reconcile();
    }

    /// Makes this the verdict to tell. If it needs no report, an undelivered verdict of an earlier
    /// boot is used.
    fn adopt(&mut self, observed: DatedVerdict) {
        let is_reported = observed.verdict.is_reportable();
        let earlier = if is_reported {
            None
        } else {
            self.undelivered()
        };
        self.payload.adopt(observed, earlier);
        self.reconcile();
        self.tell_console();
    }

    /// Reads an earlier boot's undelivered verdict. If it was delivered, only its file is left.
    fn undelivered(&self) -> Option<DatedVerdict> {
        let earlier = situation::untold(&self.node)?;
        if self
            .ledger
            .knows(&self.payload.report_name(&earlier.verdict))
        {
            // If that fails, the next boot tries again.
            let _ = self.env.root.remove(UNTOLD_VERDICT_PATH);
            return None;
        }
        Some(earlier)
    }

    /// Looks at what changes on the node while the report runs.
    fn look(&mut self) {
        self.payload.now = Moment::read(self.env.root);
    }

    /// Decides as `check` would, where `skewguard.service` left no verdict.
    fn decide_now(&mut self) {
        let at = (self.env.now)();
        let verdict = situation::decide_now(self.env.root);
        self.payload.made_here = verdict.map(|verdict| DatedVerdict { verdict, at });
    }

    /// Makes due what the cluster is to have and has not, and stops the rest.
    fn reconcile(&mut self) {
        if let Some(known) = self.ledger.known_report(&self.payload.name) {
            self.payload.name = known.name.clone();
        }
        for (channel, due) in self.payload.due(&self.ledger, self.unix()) {
            if self.env.once && self.schedule.has_failed(channel) {
                continue;
            }
            let at = match channel {
                Channel::Node => self.now(),
                Channel::Report | Channel::Event | Channel::Failure => self.soon(),
            };
            let wait = due.as_ref().map_or(Duration::ZERO, |due| due.wait);
            let key = due.map(|due| due.key);
            self.schedule.reconcile(channel, key, at + wait);
        }
    }

    /// Forgets what an earlier boot had to tell, once the cluster has it: a report, or an Event
    /// where there are no reports, or the Node of a node that has joined.
    fn clear_delivered_verdict(&mut self) {
        let name = &self.payload.name;
        let is_told = self.ledger.known_report(name).is_some()
            || self.ledger.last_event(name).is_some() && !self.schedule.is_report_pending();
        let is_labelled = self.payload.has_joined() && self.payload.is_labelled(&self.ledger);
        if self.payload.is_about_earlier_boot()
            && (is_told || is_labelled)
            && let Err(error) = self.env.root.remove(UNTOLD_VERDICT_PATH)
        {
            self.warn(&error.to_string());
        }
    }

    fn plan_no_verdict(&mut self, damaged: Option<FileError>) {
        let why = damaged
            .map(|error| format!(" ({error})"))
            .unwrap_or_default();
        let line = format!(
            "{NO_VERDICT}: {}{why}. See journalctl -b -u skewguard.service",
            no_verdict(self.is_held())
        );
        self.env.output.line(Level::Error, &line);
        self.payload.no_verdict = true;
        self.payload.rename();
    }

    /// If the node has joined, finds its name.
    fn look_for_join(&mut self) {
        // A held node has not joined. While the config is there, a certificate may be from an earlier
        // installation that kept /var: it labels no Node.
        let is_of_an_earlier = !self.payload.now.is_past_first_boot && !self.node.has_joined();
        if self.payload.node_name.is_some()
            || self.is_held()
            || is_of_an_earlier
            || self
                .env
                .root
                .exists(KUBELET_KUBECONFIG)
                .is_ok_and(|there| !there)
        {
            return;
        }
        let node = match self.env.client.node_name() {
            Ok(node) => node,
            Err(why) if self.nameless.as_ref() == Some(&why) => return,
            Err(why) => {
                self.warn(&format!("{} not delivered: {why}", Channel::Node.as_str()));
                self.nameless = Some(why);
                return;
            }
        };
        if self.payload.observed.is_none() {
            self.decide_now();
        }
        self.payload.node_name = Some(node);
        if self.payload.label_digest().is_none() {
            self.payload.node_name = None;
            return;
        }
        self.nameless = None;
    }

    fn is_held(&self) -> bool {
        self.payload.now.held
    }

    async fn deliver(&mut self) -> End {
        let mut under_way: Work<'_, (Channel, String, Result<Response, TransportError>)> =
            Vec::new();
        loop {
            for channel in self.schedule.due(self.now()) {
                self.look_at_the_host(channel);
                let (now, output) = ((self.env.now)(), &self.env.output);
                let remedy = |verdict: &Verdict| output.remediation(verdict);
                if let Some(request) = self.payload.request(channel, &self.ledger, now, &remedy) {
                    let (answer, name) = (
                        self.env.client.send(channel, request),
                        self.payload.object_name(channel).to_owned(),
                    );
                    under_way.push(Box::pin(async move { (channel, name, answer.await) }));
                } else {
                    self.schedule.stop(channel);
                }
            }
            let wake = self.wake();
            let tried = self.env.once && !self.schedule.is_first_try_due(self.now() + POLL);
            if under_way.is_empty() && (wake.is_none() || tried) {
                return if self.env.once && (self.schedule.is_failing() || self.nameless.is_some()) {
                    End::Undelivered
                } else {
                    End::Done
                };
            }
            let wake = wake.unwrap_or(POLL).max(Duration::from_millis(1));
            if under_way.is_empty() {
                tokio::time::sleep(wake).await;
            } else if let Ok((channel, name, result)) =
                tokio::time::timeout(wake, first_done(&mut under_way)).await
            {
                self.answered(channel, &name, result);
            }
            self.look_again();
            self.look_at_first_boot();
        }
    }

    /// Updates identity and report name before a request: the network may have come up. A report
    /// that was sent keeps its name.
    fn look_at_the_host(&mut self, channel: Channel) {
        self.look();
        (self.env.refresh)(&mut self.payload.identity);
        let on_its_way = channel != Channel::Report
            && self.schedule.state(Channel::Report) == ChannelState::InFlight;
        if !on_its_way && self.ledger.known_report(&self.payload.name).is_none() {
            self.payload.rename();
        }
    }

    /// Longest time to sleep; `None` if there is nothing to wait for.
    fn wake(&self) -> Option<Duration> {
        let now = self.now();
        let next = self.schedule.next().map(|at| at.saturating_sub(now));
        let poll = if self.is_held() || self.is_recovery_due() {
            Some(POLL)
        } else if self.env.once
            || self.payload.node_name.is_some() && !self.is_first_boot()
            // A system that is made of packages is never rebased, nor labelled.
            || !is_image_based(self.env.root)
        {
            None
        } else if now < JOIN_PATIENCE {
            Some(POLL)
        } else {
            let may_join = self.env.root.exists(BOOTSTRAP_KUBECONFIG);
            may_join.unwrap_or(true).then_some(SLOW_POLL)
        };
        let answer = self.schedule.in_flight().then_some(POLL);
        [next, poll, answer].into_iter().flatten().min()
    }

    /// Looks whether the node has joined, was let through, or has a new verdict.
    fn look_again(&mut self) {
        self.look();
        (self.env.refresh)(&mut self.payload.identity);
        self.look_at_the_hold();
        self.tell_console();
        if !self.schedule.in_flight()
            && let Some(observed) = situation::this_boots(self.env.root)
            && self.payload.inventory() != Some(&observed.verdict)
        {
            self.adopt(observed);
        }
        self.look_for_join();
        self.reconcile();
    }

    /// Looks at the hold. That may take most of a minute, in which no answer is read: so it waits
    /// for the answers that are on their way, but not for ever.
    fn look_at_the_hold(&mut self) {
        let since = self.now().saturating_sub(self.looked_at_hold);
        if !self.schedule.in_flight() || since >= HOLD_PATIENCE {
            self.env.output.look_at_the_hold(self.payload.held_units());
            self.looked_at_hold = self.now();
        }
    }

    /// Handles the answer about the object `name`.
    fn answered(&mut self, channel: Channel, name: &str, result: Result<Response, TransportError>) {
        let answer = Answer::read(channel, result);
        self.look();
        let repeat = !self.payload.no_verdict && self.is_held();
        let mended_by_a_person =
            self.schedule
                .answered(channel, self.now(), &answer, (self.env.chance)(), repeat);
        match &answer {
            Answer::Delivered { uid, already } => {
                self.keep(channel, name, uid.as_deref());
                let how = match (channel, already) {
                    // It answers the same, whatever becomes of it.
                    (Channel::Failure, _) => "taken",
                    (_, true) => "was delivered before",
                    (_, false) => "delivered",
                };
                self.env
                    .output
                    .line(Level::Info, &format!("{} {how}: {name}", channel.as_str()));
            }
            Answer::Failed { retry, why, brief } => {
                if self.env.once {
                    self.schedule.stop(channel);
                }
                if channel == Channel::Event && mended_by_a_person {
                    self.stop_recovery_event();
                }
                let next = match self.schedule.state(channel) {
                    ChannelState::Due(at) => format!(
                        "; next try in {} s",
                        at.saturating_sub(self.now()).as_secs()
                    ),
                    _ => String::new(),
                };
                self.warn(&format!("{} not delivered: {why}{next}", channel.as_str()));
                // Only the latest answer counts. If the server cannot be reached now, it is unknown
                // whether a Role is still missing.
                if matches!(channel, Channel::Report | Channel::Event) {
                    let only_try = self.env.once && *retry == Retry::SlowlyIfRepeated;
                    self.console.obstacle = (mended_by_a_person || only_try).then(|| brief.clone());
                }
            }
        }
        self.clear_delivered_verdict();
        self.tell_console();
    }

    /// Records what was delivered, for later boots.
    fn keep(&mut self, channel: Channel, name: &str, uid: Option<&str>) {
        match channel {
            Channel::Report => self.ledger.report_delivered(name, uid),
            Channel::Event if self.payload.is_about_no_verdict() => {
                self.ledger.no_verdict_boot = Some(situation::boot_id(self.env.root))
            }
            Channel::Event => self.ledger.event_delivered(name, self.unix()),
            Channel::Node => self.ledger.node_patch = self.payload.label_digest(),
            Channel::Failure => self.ledger.node_failure = Some(self.payload.failure_key()),
        }
        self.save();
    }

    fn save(&mut self) {
        if let Err(error) = self.ledger.save(self.env.root) {
            self.warn(&format!(
                "{error}; the next boot will ask the cluster again"
            ));
        }
    }

    fn warn(&mut self, line: &str) {
        self.env.output.line(Level::Warning, line);
    }

    fn tell_console(&mut self) {
        self.console
            .tell(&mut self.env.output, &self.payload, &self.ledger);
    }
}
