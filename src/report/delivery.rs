//! When to send what (pure): a state machine that is told the time, the answers and a random number, and says what is due.
//!
//! Times are durations on one monotonic clock. Every channel has its own fate; none waits for another to succeed.

use super::answer::{Answer, Channel, Retry};
use super::names::EVENT_INTERVAL;
use std::time::Duration;

/// First and longest window of the backoff after an answer that time can mend.
const QUICK: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5 * 60));

/// The same after an answer that a person has to mend.
const SLOW: (Duration, Duration) = (Duration::from_secs(10 * 60), Duration::from_secs(60 * 60));

/// Least wait after an answer that a person has to mend.
const SLOW_FLOOR: Duration = Duration::from_secs(5 * 60);

/// Least wait after anything else.
const QUICK_FLOOR: Duration = Duration::from_secs(1);

/// So many 403s in a row are taken for those of an API server that is just starting: until it has read the Roles, which takes up to two seconds,
/// it forbids everything.
pub const FORBIDDEN_AT_START: u32 = 3;

/// How long the Event waits for the report it is about; then it is about the namespace.
const EVENT_GRACE: Duration = Duration::from_secs(30);

/// At most so many requests on a channel within [`BURST_WINDOW`], whatever the dice say: five thousand nodes may be refused at once.
pub const BURST: usize = 3;

/// The window of [`BURST`].
pub const BURST_WINDOW: Duration = Duration::from_secs(60);

/// Where a channel stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is nothing to send, or not yet.
    Idle,
    /// To be sent at that time.
    Due(Duration),
    /// Sent; the answer is outstanding.
    InFlight,
    /// The cluster has it.
    Delivered,
    /// Not tried again before the next boot.
    Skipped,
}

#[derive(Debug, Clone)]
struct Track {
    standing: Standing,
    /// Failures in a row.
    failures: u32,
    /// 403s in a row.
    forbidden: u32,
    /// When the last requests went out, the latest last.
    sent: [Option<Duration>; BURST],
}

impl Track {
    const IDLE: Self = Self { standing: Standing::Idle, failures: 0, forbidden: 0, sent: [None; BURST] };

    /// Makes it due at `at`, or later where the burst is used up.
    fn schedule(&mut self, at: Duration) {
        let [oldest, ..] = self.sent;
        let earliest = oldest.map_or(Duration::ZERO, |oldest| oldest + BURST_WINDOW);
        self.standing = Standing::Due(at.max(earliest));
    }
}

/// The three channels.
#[derive(Debug, Clone)]
pub struct Delivery {
    report: Track,
    event: Track,
    node: Track,
    /// The Event is only held up for the report's first answer.
    event_waits: bool,
}

impl Default for Delivery {
    fn default() -> Self {
        Self::new()
    }
}

impl Delivery {
    /// Nothing to send.
    pub fn new() -> Self {
        Self { report: Track::IDLE, event: Track::IDLE, node: Track::IDLE, event_waits: false }
    }

    fn track(&self, channel: Channel) -> &Track {
        match channel {
            Channel::Report => &self.report,
            Channel::Event => &self.event,
            Channel::Node => &self.node,
        }
    }

    fn track_mut(&mut self, channel: Channel) -> &mut Track {
        match channel {
            Channel::Report => &mut self.report,
            Channel::Event => &mut self.event,
            Channel::Node => &mut self.node,
        }
    }

    /// Where the channel stands.
    pub fn standing(&self, channel: Channel) -> Standing {
        self.track(channel).standing
    }

    /// There is something to send on the channel from `at` on. The Event waits a little for a report that is under way.
    pub fn want(&mut self, channel: Channel, at: Duration) {
        let report_pending = matches!(self.report.standing, Standing::Due(_) | Standing::InFlight) && self.report.failures == 0;
        self.event_waits |= channel == Channel::Event && report_pending;
        let grace = if channel == Channel::Event && report_pending { EVENT_GRACE } else { Duration::ZERO };
        self.track_mut(channel).schedule(at + grace);
    }

    /// It was delivered at an earlier boot.
    pub fn delivered_before(&mut self, channel: Channel) {
        self.track_mut(channel).standing = Standing::Delivered;
    }

    /// Nothing more is to be sent on the channel; an outstanding answer changes that no more.
    pub fn stop(&mut self, channel: Channel) {
        self.track_mut(channel).standing = Standing::Idle;
    }

    /// The channels to send on now. Each stays in flight until [`Delivery::answered`].
    pub fn due(&mut self, now: Duration) -> Vec<Channel> {
        let channels = [Channel::Report, Channel::Event, Channel::Node];
        let due: Vec<Channel> = channels.into_iter().filter(|c| matches!(self.standing(*c), Standing::Due(at) if at <= now)).collect();
        for channel in &due {
            let track = self.track_mut(*channel);
            track.standing = Standing::InFlight;
            track.sent.rotate_left(1);
            if let Some(last) = track.sent.last_mut() {
                *last = Some(now);
            }
        }
        due
    }

    /// When the next channel is due; `None` where none will be.
    pub fn next(&self) -> Option<Duration> {
        let due = |track: &Track| if let Standing::Due(at) = track.standing { Some(at) } else { None };
        [&self.report, &self.event, &self.node].into_iter().filter_map(due).min()
    }

    /// Whether a channel that nothing was sent on yet is due before `by`.
    pub fn is_first_try_due(&self, by: Duration) -> bool {
        let due = |track: &&Track| matches!(track.standing, Standing::Due(at) if at <= by) && track.sent.iter().all(Option::is_none);
        [&self.report, &self.event, &self.node].iter().any(due)
    }

    /// Whether the last answer on some channel was no delivery.
    pub fn is_failing(&self) -> bool {
        [&self.report, &self.event, &self.node].iter().any(|track| track.failures > 0)
    }

    /// Whether an answer is outstanding.
    pub fn in_flight(&self) -> bool {
        [&self.report, &self.event, &self.node].iter().any(|track| track.standing == Standing::InFlight)
    }

    /// An answer came. `chance` is random in 0.0..1.0; `repeat` says whether the node is still refused, so that a new Event is due in two
    /// hours. Returns whether it takes a person to mend what failed.
    pub fn answered(&mut self, channel: Channel, now: Duration, answer: &Answer, chance: f64, repeat: bool) -> bool {
        if channel == Channel::Report && std::mem::take(&mut self.event_waits) && matches!(self.event.standing, Standing::Due(_)) {
            // Whatever became of the report, the Event need not wait for it.
            self.event.schedule(now);
        }
        let track = self.track_mut(channel);
        if track.standing != Standing::InFlight {
            return false;
        }
        let (failures, forbidden) = (track.failures, track.forbidden);
        track.failures = failures.saturating_add(1);
        track.forbidden = 0;
        let (wait, mended_by_a_person) = match answer {
            Answer::Delivered { .. } => {
                track.failures = 0;
                if channel == Channel::Event && repeat {
                    track.schedule(now + Duration::from_secs(EVENT_INTERVAL));
                } else {
                    track.standing = Standing::Delivered;
                }
                return false;
            }
            Answer::Failed { retry: Retry::NextBoot, .. } => {
                track.standing = Standing::Skipped;
                return true;
            }
            Answer::Failed { retry: Retry::SlowlyIfRepeated, .. } => {
                track.forbidden = forbidden.saturating_add(1);
                if forbidden < FORBIDDEN_AT_START {
                    // Not counted among the failures: the wait for a server that comes back is not the wait for a Role.
                    track.failures = failures.max(1);
                    (QUICK_FLOOR + jitter(QUICK, forbidden, chance), false)
                } else {
                    (SLOW_FLOOR + jitter(SLOW, forbidden - FORBIDDEN_AT_START, chance), true)
                }
            }
            Answer::Failed { retry: Retry::Slowly, .. } => (SLOW_FLOOR + jitter(SLOW, failures, chance), true),
            Answer::Failed { retry: Retry::After(time), .. } => (*time + jitter(QUICK, failures, chance), false),
            Answer::Failed { retry: Retry::Backoff, .. } => (QUICK_FLOOR + jitter(QUICK, failures, chance), false),
        };
        track.schedule(now + wait);
        mended_by_a_person
    }
}

/// Full jitter: anywhere in a window that doubles with every failure up to its cap.
fn jitter((first, cap): (Duration, Duration), failures: u32, chance: f64) -> Duration {
    let window = first.saturating_mul(1 << failures.min(16)).min(cap);
    window.mul_f64(if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 1.0 })
}
