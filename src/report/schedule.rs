//! Schedule of the channels (pure): a state machine that is given the time, the answers and random
//! numbers, and says what is due.
//!
//! Times are durations on one monotonic clock. No channel waits for another to succeed.

use super::answer::{Answer, Channel, Retry};
use super::names::EVENT_INTERVAL;
use std::time::Duration;

/// First and longest window of the quick backoff, for failures that pass.
const QUICK: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5 * 60));

/// First and longest window of the slow backoff, for failures that a person has to mend.
const SLOW: (Duration, Duration) = (Duration::from_secs(10 * 60), Duration::from_secs(60 * 60));

/// Least wait of the slow backoff.
const SLOW_FLOOR: Duration = Duration::from_secs(5 * 60);

/// Least wait where the cluster serves no such object: somebody may install what it lacks.
const UNSERVED_FLOOR: Duration = Duration::from_secs(60 * 60);

/// Least wait of the quick backoff.
const QUICK_FLOOR: Duration = Duration::from_secs(1);

/// This many 403s in a row may come from an API server that is just starting. Until it has read the
/// Roles, which takes up to two seconds, it forbids everything.
const FORBIDDEN_AT_START: u32 = 3;

/// Time for which the Event waits for its report. After that it is about the namespace
/// instead.
const EVENT_GRACE: Duration = Duration::from_secs(30);

/// At most this many requests on a channel within [`BURST_WINDOW`], whatever the backoff: thousands
/// of nodes may be refused at once.
pub(crate) const BURST: usize = 3;

/// The window of [`BURST`].
pub(crate) const BURST_WINDOW: Duration = Duration::from_secs(60);

/// The state of a channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ChannelState {
    /// There is nothing to send.
    #[default]
    Idle,
    /// It is to be sent at that time.
    Due(Duration),
    /// It was sent, and there is no answer yet.
    InFlight,
    /// The cluster has it.
    Delivered,
}

/// The state of one channel.
#[derive(Debug, Clone, Default)]
struct Track {
    state: ChannelState,
    /// Identifies what is sent: another key is another object.
    key: String,
    /// Failures in a row.
    failures: u32,
    /// 403s in a row.
    forbidden: u32,
    /// The cluster serves no such object: it is tried again, and nothing waits for it.
    is_unserved: bool,
    /// Times of the last requests, the latest last.
    sent: [Option<Duration>; BURST],
}

impl Track {
    /// Makes the channel due at `at`, or later if it has used up its burst.
    fn schedule(&mut self, at: Duration) {
        let [oldest, ..] = self.sent;
        let earliest = oldest.map_or(Duration::ZERO, |oldest| oldest + BURST_WINDOW);
        self.state = ChannelState::Due(at.max(earliest));
    }

    fn due(&self) -> Option<Duration> {
        if let ChannelState::Due(at) = self.state {
            Some(at)
        } else {
            None
        }
    }
}

/// The channels. At first there is nothing to send on any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schedule {
    report: Track,
    event: Track,
    node: Track,
    failure: Track,
    /// The Event waits for the first answer about the report.
    event_waits: bool,
}

impl Schedule {
    fn tracks(&self) -> [&Track; 4] {
        [&self.report, &self.event, &self.node, &self.failure]
    }

    fn track(&mut self, channel: Channel) -> &mut Track {
        match channel {
            Channel::Report => &mut self.report,
            Channel::Event => &mut self.event,
            Channel::Node => &mut self.node,
            Channel::Failure => &mut self.failure,
        }
    }

    /// The state of a channel.
    pub(crate) fn state(&self, channel: Channel) -> ChannelState {
        self.of(channel).state
    }

    /// The last request on the channel failed.
    pub(super) fn has_failed(&self, channel: Channel) -> bool {
        self.of(channel).failures > 0
    }

    fn of(&self, channel: Channel) -> &Track {
        match channel {
            Channel::Report => &self.report,
            Channel::Event => &self.event,
            Channel::Node => &self.node,
            Channel::Failure => &self.failure,
        }
    }

    /// Makes the channel due at `at`. The Event waits a little longer for a report that is on its
    /// way.
    pub(crate) fn want(&mut self, channel: Channel, at: Duration) {
        let report_pending = matches!(
            self.report.state,
            ChannelState::Due(_) | ChannelState::InFlight
        ) && self.report.failures == 0;
        self.event_waits |= channel == Channel::Event && report_pending;
        let grace = if channel == Channel::Event && report_pending {
            EVENT_GRACE
        } else {
            Duration::ZERO
        };
        self.track(channel).schedule(at + grace);
    }

    /// Makes the channel due at `at`, unless the same object is due or delivered on it already;
    /// with `None` there is nothing to send. What is in flight is left alone.
    pub(super) fn reconcile(&mut self, channel: Channel, key: Option<String>, at: Duration) {
        let track = self.track(channel);
        match key {
            _ if track.state == ChannelState::InFlight => {}
            Some(key) if track.key == key && track.state != ChannelState::Idle => {}
            Some(key) => {
                track.key = key;
                self.want(channel, at);
            }
            None if matches!(track.state, ChannelState::Due(_)) => self.stop(channel),
            None => {}
        }
    }

    /// Sends nothing more on the channel. An answer that is still to come is ignored.
    pub(crate) fn stop(&mut self, channel: Channel) {
        self.track(channel).state = ChannelState::Idle;
    }

    /// The channels to send on now. Each of them is then in flight until [`Schedule::answered`].
    pub(crate) fn due(&mut self, now: Duration) -> Vec<Channel> {
        let mut due = vec![
            Channel::Report,
            Channel::Event,
            Channel::Node,
            Channel::Failure,
        ];
        due.retain(|channel| {
            let track = self.track(*channel);
            let is_due = track.due().is_some_and(|at| at <= now);
            if is_due {
                track.state = ChannelState::InFlight;
                let [_, second, third] = track.sent;
                track.sent = [second, third, Some(now)];
            }
            is_due
        });
        due
    }

    /// Time at which the next channel is due; `None` if none is that is worth waiting for.
    pub(crate) fn next(&self) -> Option<Duration> {
        let served = self.tracks().into_iter().filter(|it| !it.is_unserved);
        served.filter_map(Track::due).min()
    }

    /// The report is still to be delivered, to a cluster that takes it.
    pub(super) fn is_report_pending(&self) -> bool {
        let state = self.report.state;
        !self.report.is_unserved && matches!(state, ChannelState::Due(_) | ChannelState::InFlight)
    }

    /// A channel on which nothing was sent yet is due by `by`.
    pub(super) fn is_first_try_due(&self, by: Duration) -> bool {
        self.tracks().iter().any(|track| {
            track.due().is_some_and(|at| at <= by) && track.sent.iter().all(Option::is_none)
        })
    }

    /// The last request on some channel failed. What the Machine Config Server hears is beside what
    /// the cluster is to have.
    pub(super) fn is_failing(&self) -> bool {
        let mut tracks = [&self.report, &self.event, &self.node].into_iter();
        tracks.any(|track| track.failures > 0)
    }

    /// An answer is still to come.
    pub(super) fn in_flight(&self) -> bool {
        self.tracks()
            .iter()
            .any(|track| track.state == ChannelState::InFlight)
    }

    /// Handles an answer. `chance` is a random number in 0.0..1.0. `repeat`: the node is still
    /// held, so another Event is due in two hours. Returns whether a person has to mend the
    /// failure.
    pub(crate) fn answered(
        &mut self,
        channel: Channel,
        now: Duration,
        answer: &Answer,
        chance: f64,
        repeat: bool,
    ) -> bool {
        if channel == Channel::Report
            && std::mem::take(&mut self.event_waits)
            && matches!(self.event.state, ChannelState::Due(_))
        {
            // Whatever the answer about the report was, the Event need not wait any longer.
            self.event.schedule(now);
        }
        let track = self.track(channel);
        if track.state != ChannelState::InFlight {
            return false;
        }
        track.is_unserved = false;
        let Answer::Failed { retry, .. } = answer else {
            (track.failures, track.forbidden) = (0, 0);
            if channel == Channel::Event && repeat {
                track.schedule(now + Duration::from_secs(EVENT_INTERVAL));
            } else {
                track.state = ChannelState::Delivered;
            }
            return false;
        };
        let (failures, forbidden) = (track.failures, track.forbidden);
        (track.failures, track.forbidden) = (failures.saturating_add(1), 0);
        let quickly = |failures| QUICK_FLOOR + jitter(QUICK, failures, chance);
        let slowly = |failures| SLOW_FLOOR + jitter(SLOW, failures, chance);
        let (wait, mended_by_a_person) = match *retry {
            Retry::Backoff => (quickly(failures), false),
            Retry::After(time) => (time + jitter(QUICK, failures, chance), false),
            Retry::Slowly => (slowly(failures), true),
            Retry::SlowlyIfRepeated => {
                track.forbidden = forbidden.saturating_add(1);
                if forbidden < FORBIDDEN_AT_START {
                    // Counted apart, so that waiting for a Role does not lengthen the backoff of
                    // other failures.
                    track.failures = failures.max(1);
                    (quickly(forbidden), false)
                } else {
                    (slowly(forbidden - FORBIDDEN_AT_START), true)
                }
            }
            Retry::Unserved => {
                track.is_unserved = true;
                (UNSERVED_FLOOR + jitter(SLOW, failures, chance), true)
            }
        };
        track.schedule(now + wait);
        mended_by_a_person
    }
}

/// Full jitter: a random time within a window that doubles with every failure, up to a cap.
fn jitter((first, cap): (Duration, Duration), failures: u32, chance: f64) -> Duration {
    let window = first.saturating_mul(1 << failures.min(16)).min(cap);
    window.mul_f64(if chance.is_finite() {
        chance.clamp(0.0, 1.0)
    } else {
        1.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn failed() -> Answer {
        Answer::Failed {
            retry: Retry::Backoff,
            why: "no".to_owned(),
            brief: "no".to_owned(),
        }
    }

    #[test]
    fn a_first_try_is_due_until_it_was_sent() {
        let mut schedule = Schedule::default();
        assert!(!schedule.is_first_try_due(S(1000)), "nothing is wanted");
        schedule.want(Channel::Report, S(10));
        assert!(!schedule.is_first_try_due(S(9)));
        assert!(schedule.is_first_try_due(S(10)));
        assert_eq!(schedule.due(S(10)), [Channel::Report]);
        assert!(!schedule.is_first_try_due(S(10)), "it is in flight");
        schedule.answered(Channel::Report, S(11), &failed(), 0.5, false);
        assert!(!schedule.is_first_try_due(S(1000)), "the next is a second");
        schedule.want(Channel::Node, S(20));
        assert!(schedule.is_first_try_due(S(20)));
    }

    #[test]
    fn what_is_in_flight_what_failed_and_what_was_delivered_is_known() {
        let mut schedule = Schedule::default();
        assert!(!schedule.in_flight() && !schedule.is_failing());
        schedule.want(Channel::Report, S(0));
        schedule.due(S(0));
        assert!(schedule.in_flight() && !schedule.is_failing());
        schedule.answered(Channel::Report, S(1), &failed(), 0.5, false);
        assert!(!schedule.in_flight() && schedule.is_failing());
    }

    #[test]
    fn an_object_is_wanted_once_and_another_one_anew() {
        let key = |key: &str| Some(key.to_owned());
        let mut schedule = Schedule::default();
        schedule.reconcile(Channel::Node, key("a"), S(5));
        schedule.reconcile(Channel::Node, key("a"), S(9));
        assert_eq!(schedule.state(Channel::Node), ChannelState::Due(S(5)));
        schedule.reconcile(Channel::Node, key("b"), S(9));
        assert_eq!(schedule.due(S(9)), [Channel::Node]);
        schedule.reconcile(Channel::Node, None, S(9));
        assert!(schedule.in_flight());
        let delivered = Answer::Delivered {
            uid: None,
            already: false,
        };
        schedule.answered(Channel::Node, S(9), &delivered, 0.5, false);
        schedule.reconcile(Channel::Node, key("b"), S(20));
        schedule.reconcile(Channel::Node, None, S(20));
        assert_eq!(schedule.state(Channel::Node), ChannelState::Delivered);
        schedule.reconcile(Channel::Node, key("c"), S(30));
        assert_eq!(schedule.state(Channel::Node), ChannelState::Due(S(30)));
        schedule.reconcile(Channel::Node, None, S(30));
        assert_eq!(schedule.state(Channel::Node), ChannelState::Idle);
    }

    #[test]
    fn only_an_event_waits_for_the_report_and_only_for_its_first_try() {
        let due = |schedule: &Schedule, channel| schedule.state(channel);
        let mut schedule = Schedule::default();
        schedule.want(Channel::Event, S(5));
        let at_once = ChannelState::Due(S(5));
        assert_eq!(
            due(&schedule, Channel::Event),
            at_once,
            "there is no report"
        );

        schedule.want(Channel::Report, S(0));
        schedule.want(Channel::Node, S(5));
        assert_eq!(
            due(&schedule, Channel::Node),
            at_once,
            "a Node does not wait"
        );
        schedule.due(S(0));
        schedule.answered(Channel::Report, S(1), &failed(), 0.5, false);
        assert_eq!(
            due(&schedule, Channel::Event),
            at_once,
            "the report's answer does not hurry an Event that did not wait for it"
        );

        let mut schedule = Schedule::default();
        schedule.want(Channel::Report, S(0));
        schedule.due(S(0));
        schedule.answered(Channel::Report, S(1), &failed(), 0.5, false);
        schedule.want(Channel::Event, S(5));
        assert_eq!(
            due(&schedule, Channel::Event),
            at_once,
            "the report failed once"
        );

        let mut schedule = Schedule::default();
        schedule.want(Channel::Report, S(0));
        schedule.want(Channel::Event, S(0));
        schedule.want(Channel::Event, S(0));
        assert_eq!(
            due(&schedule, Channel::Event),
            ChannelState::Due(EVENT_GRACE),
            "wanted twice, it still waits"
        );
        schedule.due(S(0));
        schedule.answered(Channel::Report, S(1), &failed(), 0.5, false);
        assert_eq!(due(&schedule, Channel::Event), ChannelState::Due(S(1)));
    }
}
