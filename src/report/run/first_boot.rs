//! Watches a first boot that was let in. It only looks: nothing in the boot waits for it.

use super::{Channel, ChannelState, Client, Duration, Level, Output, Run, situation};
use crate::kubeconfig::BOOTSTRAP_KUBECONFIG;
use crate::node::has_certificate;
use crate::report::stall::{
    self, Asked, Change, FirstBoot, JOBS, LIST, Newest, PAGES_MAX, Phase, Progress, SHOW, Stall,
    Times, Unit,
};
use crate::text::bounded;
use crate::transport::{Request, Response};
use crate::verdict::Verdict;

/// How often to look at most.
const LOOK: Duration = Duration::from_secs(60);

/// Longest text about an API server that is not reached, in bytes.
const SERVER_MAX: usize = 256;

/// How often the time that passed is kept for a later boot, in seconds.
const KEEP: u64 = 5 * 60;

impl<C: Client, W: Output> Run<'_, C, W> {
    /// Tells a first boot that does not finish, and that it goes on.
    pub(super) async fn look_at_first_boot(&mut self) {
        let elapsed = self.now().saturating_sub(self.looked);
        if self.env.once || elapsed < LOOK || self.schedule.in_flight() || self.is_held() {
            return;
        }
        self.looked = self.now();
        let is_first_boot = self.is_first_boot();
        if is_first_boot {
            self.payload.look_without_verdict();
        }
        let Some(verdict) = self.payload.let_in() else {
            return;
        };
        let Some(limit) = stall::limit(&verdict) else {
            return;
        };
        let mut first_boot = self.first_boot();
        let (waiting, phase) = if is_first_boot {
            let takes_long = first_boot.waited + elapsed.as_secs() >= limit.as_secs();
            let waiting =
                (takes_long || first_boot.stall.is_some()).then(|| self.look_at_systemd());
            let phase = waiting.as_ref().map_or(Phase::Other, |(phase, _)| *phase);
            (waiting, Some(phase))
        } else if first_boot.stall.is_some() {
            (None, None)
        } else {
            return;
        };
        let kept = first_boot.total / KEEP;
        let is_known = self.payload.progress.is_some();
        match (first_boot.look(phase, elapsed, limit, is_known), waiting) {
            (Change::Stalled, Some(waiting)) => {
                self.stalled(waiting, &mut first_boot, &verdict).await;
            }
            (Change::WentOn(stall), _) => self.went_on(stall),
            _ if first_boot.total / KEEP == kept => {
                self.ledger.first_boot = Some(first_boot);
                return;
            }
            _ => {}
        }
        self.ledger.first_boot = Some(first_boot);
        self.save();
    }

    /// Whether a stall was told and it is still to be told that the first boot goes on.
    pub(super) fn owes_went_on(&self) -> bool {
        let is_on = || {
            self.payload
                .let_in()
                .as_ref()
                .and_then(stall::limit)
                .is_some()
        };
        !self.env.once && self.first_boot().stall.is_some() && is_on()
    }

    /// What is kept of this installation's first boot.
    fn first_boot(&self) -> FirstBoot {
        let machine_id = self.payload.identity.machine_id.clone().unwrap_or_default();
        let kept = self.ledger.first_boot.clone();
        kept.filter(|kept| kept.machine_id == machine_id)
            .unwrap_or_else(|| FirstBoot {
                machine_id,
                ..FirstBoot::default()
            })
    }

    /// Whether the node has still to join. The kubelet's certificate counts, not its kubeconfig,
    /// which it writes before it asks for one. A certificate that an earlier installation left on
    /// /var counts once the Node is labelled with it. A node without a bootstrap kubeconfig is none
    /// of OpenShift's.
    pub(super) fn is_first_boot(&self) -> bool {
        let root = self.env.root;
        let is_past = situation::is_past_first_boot(root);
        let is_labelled = self.schedule.state(Channel::Node) == ChannelState::Delivered;
        if has_certificate(root) || is_past && is_labelled {
            return false;
        }
        !is_past || root.exists(BOOTSTRAP_KUBECONFIG).unwrap_or(false)
    }

    fn look_at_systemd(&self) -> (Phase, Unit) {
        let show = |args: &[&str]| (self.env.program)("systemctl", args).unwrap_or_default();
        let to_rebase = !situation::is_past_first_boot(self.env.root);
        let job = stall::running_job(&show(JOBS));
        stall::waits_for(&stall::units(&show(SHOW)), to_rebase, job.as_deref())
    }

    async fn stalled(
        &mut self,
        waiting: (Phase, Unit),
        first_boot: &mut FirstBoot,
        verdict: &Verdict,
    ) {
        let lines = [
            "-b",
            "-u",
            &waiting.1.id,
            "-n",
            "5",
            "-o",
            "cat",
            "--no-pager",
        ];
        let journal = (self.env.program)("journalctl", &lines).unwrap_or_default();
        let times = Times {
            now: (self.env.now)(),
            uptime: situation::uptime(self.env.root),
        };
        let asked = match waiting.0 {
            Phase::Join => Some(self.ask_api_server().await),
            _ => None,
        };
        let progress = Progress::new(waiting, &journal, first_boot, times, verdict).and(asked);
        self.env.output.first_boot(Some(&progress));
        let phase = progress.phase;
        (self.payload.progress, self.payload.went_on) = (Some(progress), None);
        self.payload.rename();
        self.plan_report();
        self.ask().await;
        first_boot.stall = Some(Stall {
            phase,
            report: self.payload.name.clone(),
        });
    }

    /// Asks with the bootstrap identity, which may look certificate requests up, what became of this
    /// node's.
    async fn ask_api_server(&self) -> Asked {
        let mut newest = Newest::default();
        let host = self.payload.identity.hostname.as_deref();
        let mut asked = Asked {
            api_server: "reached".to_owned(),
            certificate_request: None,
        };
        let mut path = LIST.to_owned();
        for _ in 0..PAGES_MAX {
            let answer = self.env.client.send(Channel::Event, Request::get(&path));
            let page = match answer.await {
                Ok(Response {
                    status: 200, body, ..
                }) => body,
                Ok(Response { status, .. }) => {
                    asked.api_server = format!("reached, and answers {status}");
                    return asked;
                }
                Err(error) => {
                    asked.api_server = bounded(&format!("not reached: {error}"), SERVER_MAX);
                    return asked;
                }
            };
            match newest.look(host.unwrap_or("unknown"), &page) {
                Ok(next) if next.is_empty() => break,
                Ok(next) => path = format!("{LIST}&continue={}", query(&next)),
                Err(_) => return asked,
            }
        }
        asked.certificate_request = host.map(|_| newest.clause());
        asked
    }

    /// Gives up to say that the first boot goes on: the bootstrap identity may do so no longer.
    pub(super) fn give_up_went_on(&mut self) {
        if self.payload.went_on.take().is_some() {
            self.schedule.stop(Channel::Event);
        }
    }

    fn went_on(&mut self, stall: Stall) {
        self.env.output.first_boot(None);
        let line = format!(
            "the first boot goes on after the phase {}",
            stall.phase.as_str()
        );
        self.env.output.line(Level::Info, &line);
        self.payload.progress = None;
        self.schedule.stop(Channel::Report);
        self.schedule.stop(Channel::Event);
        let is_told = self.ledger.known_report(&stall.report).is_some()
            || self.ledger.last_event(&stall.report).is_some();
        if is_told {
            self.payload.went_on = Some(stall.phase);
            self.payload.name = stall.report;
            self.schedule.want(Channel::Event, self.soon());
        } else if self.payload.verdict().is_some() {
            self.payload.rename();
            self.plan_report();
        }
    }
}

/// A value of a query, percent-encoded (RFC 3986, section 2.3).
fn query(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}
