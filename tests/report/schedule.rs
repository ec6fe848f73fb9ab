use crate::report::answer::{Answer, Channel, Retry};
use crate::report::schedule::{BURST, BURST_WINDOW, ChannelState, Schedule};
use proptest::prelude::*;
use std::time::Duration;

const S: fn(u64) -> Duration = Duration::from_secs;
const DELIVERED: Answer = Answer::Delivered {
    uid: None,
    already: false,
};

fn failed(retry: Retry) -> Answer {
    Answer::Failed {
        retry,
        why: "no".to_owned(),
        brief: "no".to_owned(),
    }
}

/// A delivery with one request of `channel` in flight.
fn in_flight(channel: Channel) -> Schedule {
    let mut schedule = Schedule::default();
    schedule.want(channel, S(0));
    assert_eq!(schedule.due(S(0)), [channel]);
    schedule
}

fn due(schedule: &Schedule, channel: Channel) -> Duration {
    match schedule.state(channel) {
        ChannelState::Due(at) => at,
        other => panic!("{other:?}"),
    }
}

#[test]
fn delivered_is_the_end_except_for_the_event_of_a_refused_node() {
    for channel in [Channel::Report, Channel::Event, Channel::Node] {
        let mut schedule = in_flight(channel);
        schedule.answered(channel, S(1), &DELIVERED, 0.5, false);
        assert_eq!(
            (schedule.state(channel), schedule.next()),
            (ChannelState::Delivered, None)
        );
    }
    let mut schedule = in_flight(Channel::Event);
    schedule.answered(Channel::Event, S(1), &DELIVERED, 0.5, true);
    assert_eq!(due(&schedule, Channel::Event), S(7201));
    assert_eq!(schedule.due(S(7200)), []);
    assert_eq!(schedule.due(S(7201)), [Channel::Event]);
}

#[test]
fn one_channels_failure_never_stops_another() {
    let mut schedule = Schedule::default();
    schedule.want(Channel::Report, S(0));
    schedule.want(Channel::Event, S(0));
    schedule.want(Channel::Node, S(0));
    assert_eq!(schedule.due(S(0)), [Channel::Report, Channel::Node]);
    schedule.answered(Channel::Report, S(1), &failed(Retry::Unserved), 0.5, false);
    schedule.answered(Channel::Node, S(1), &failed(Retry::Slowly), 0.0, false);
    assert_eq!(
        schedule.due(S(1)),
        [Channel::Event],
        "the report's first answer sets the Event free"
    );
    schedule.answered(Channel::Event, S(2), &DELIVERED, 0.5, false);
    assert_eq!(due(&schedule, Channel::Report), S(3901), "an hour or two");
    assert_eq!(schedule.state(Channel::Event), ChannelState::Delivered);
    assert_eq!(
        schedule.next(),
        Some(S(301)),
        "the Node is tried again after the slow floor"
    );
    assert_eq!(schedule.due(S(3901)), [Channel::Report, Channel::Node]);
}

#[test]
fn the_event_does_not_wait_for_a_report_that_hangs() {
    let mut schedule = Schedule::default();
    schedule.want(Channel::Report, S(0));
    schedule.want(Channel::Event, S(0));
    assert_eq!(schedule.due(S(0)), [Channel::Report]);
    assert_eq!(schedule.due(S(29)), []);
    assert_eq!(schedule.due(S(30)), [Channel::Event]);
    // A late answer about the report does not send the Event a second time.
    schedule.answered(Channel::Report, S(31), &DELIVERED, 0.5, false);
    assert_eq!(schedule.due(S(32)), []);
}

#[test]
fn a_report_tried_again_does_not_hurry_an_event_that_backs_off() {
    let mut schedule = Schedule::default();
    schedule.want(Channel::Report, S(0));
    schedule.want(Channel::Event, S(0));
    schedule.due(S(0));
    schedule.answered(Channel::Report, S(1), &failed(Retry::Backoff), 0.0, false);
    assert_eq!(schedule.due(S(1)), [Channel::Event]);
    schedule.answered(Channel::Event, S(1), &failed(Retry::Slowly), 0.0, false);
    let event = due(&schedule, Channel::Event);
    assert_eq!(schedule.due(S(2)), [Channel::Report]);
    schedule.answered(Channel::Report, S(3), &failed(Retry::Backoff), 0.0, false);
    assert_eq!(due(&schedule, Channel::Event), event);
}

#[test]
fn the_backoff_window_doubles_up_to_its_cap() {
    let mut schedule = in_flight(Channel::Report);
    let mut now = S(0);
    let mut waits = Vec::new();
    for _ in 0..8 {
        schedule.answered(Channel::Report, now, &failed(Retry::Backoff), 1.0, false);
        let at = due(&schedule, Channel::Report);
        waits.push((at - now).as_secs());
        now = at;
        schedule.due(now);
    }
    assert_eq!(waits, [11, 21, 41, 81, 161, 301, 301, 301]);
}

#[test]
fn slow_retries_wait_minutes_to_an_hour() {
    for (chance, waits) in [
        (0.0, [300, 300, 300, 300, 300]),
        (1.0, [900, 1500, 2700, 3900, 3900]),
    ] {
        let mut schedule = in_flight(Channel::Report);
        let mut now = S(0);
        for wait in waits {
            schedule.answered(Channel::Report, now, &failed(Retry::Slowly), chance, false);
            assert_eq!(due(&schedule, Channel::Report), now + S(wait));
            now += S(wait);
            schedule.due(now);
        }
    }
}

#[test]
fn the_first_403s_are_those_of_a_server_that_starts_however_long_it_was_away() {
    let mut schedule = in_flight(Channel::Report);
    let mut now = S(0);
    let mut wait = |schedule: &mut Schedule, answer: Answer| {
        let person = schedule.answered(Channel::Report, now, &answer, 1.0, false);
        let waited = due(schedule, Channel::Report) - now;
        now += waited;
        schedule.due(now);
        (waited.as_secs(), person)
    };
    for _ in 0..9 {
        wait(&mut schedule, failed(Retry::Backoff));
    }
    let forbidden: Vec<_> = (0..6)
        .map(|_| wait(&mut schedule, failed(Retry::SlowlyIfRepeated)))
        .collect();
    assert_eq!(
        forbidden,
        [
            (11, false),
            (21, false),
            (41, false),
            (900, true),
            (1500, true),
            (2700, true)
        ]
    );
    // The report was restarted in between.
    assert_eq!(wait(&mut schedule, failed(Retry::Backoff)), (301, false));
    assert_eq!(
        wait(&mut schedule, failed(Retry::SlowlyIfRepeated)),
        (11, false)
    );
}

#[test]
fn retry_after_is_a_floor_with_jitter_on_top() {
    let mut schedule = in_flight(Channel::Report);
    schedule.answered(
        Channel::Report,
        S(0),
        &failed(Retry::After(S(30))),
        0.5,
        false,
    );
    assert_eq!(due(&schedule, Channel::Report), S(35));
}

#[test]
fn a_channel_that_was_stopped_stays_so() {
    let mut schedule = in_flight(Channel::Event);
    schedule.stop(Channel::Event);
    schedule.answered(Channel::Event, S(1), &DELIVERED, 0.5, true);
    assert_eq!(
        (schedule.state(Channel::Event), schedule.next()),
        (ChannelState::Idle, None)
    );
}

fn retries() -> impl Strategy<Value = Answer> {
    prop_oneof![
        Just(DELIVERED),
        Just(failed(Retry::Backoff)),
        Just(failed(Retry::Slowly)),
        Just(failed(Retry::SlowlyIfRepeated)),
        (0_u64..5000).prop_map(|s| failed(Retry::After(S(s)))),
    ]
}

proptest! {
    /// Whatever the answers and the random numbers are: never more than three requests a minute on
    /// a channel, never a stop without a reason, and never a wait beyond the two hours of a
    /// repeated Event.
    #[test]
    fn requests_are_bounded_in_any_minute(
        answers in proptest::collection::vec((retries(), -0.5_f64..1.5, 0_u64..40), 1..60),
    ) {
        let mut schedule = Schedule::default();
        let mut now = S(0);
        let mut sent: Vec<Duration> = Vec::new();
        schedule.want(Channel::Event, now);
        for (answer, chance, took) in answers {
            let Some(next) = schedule.next() else { break };
            prop_assert!(next <= now + S(2 * 3600).max(S(5000 + 300)));
            now = now.max(next);
            prop_assert_eq!(schedule.due(now), [Channel::Event]);
            sent.push(now);
            now += S(took);
            schedule.answered(Channel::Event, now, &answer, chance, true);
            prop_assert!(matches!(schedule.state(Channel::Event), ChannelState::Due(_)));
        }
        for window in sent.windows(BURST + 1) {
            prop_assert!(window[BURST] - window[0] >= BURST_WINDOW, "{:?}", sent);
        }
    }
}
