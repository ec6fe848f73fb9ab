//! Moments, in milliseconds since 1970, and how objects and logs write them.

use std::time::{Duration, UNIX_EPOCH};

pub(super) type Moment = i64;

pub(super) const SECOND: Moment = 1000;
pub(super) const MINUTE: Moment = 60 * SECOND;
pub(super) const HOUR: Moment = 60 * MINUTE;
/// 2026-08-20T00:00:00Z.
pub(super) const DAY_OF_LIVES: Moment = 1_787_184_000_000;

fn time(at: Moment) -> std::time::SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(at).unwrap())
}

/// As objects have it: whole seconds.
pub(super) fn stamp(at: Moment) -> String {
    humantime::format_rfc3339_seconds(time(at)).to_string()
}

pub(super) fn micros(at: Moment) -> String {
    humantime::format_rfc3339_micros(time(at)).to_string()
}

pub(super) fn nanos(at: Moment) -> String {
    humantime::format_rfc3339_nanos(time(at)).to_string()
}

/// `0820 08:00:00.123000`: klog, which has no year.
pub(super) fn klog(at: Moment) -> String {
    let whole = humantime::format_rfc3339_micros(time(at)).to_string();
    format!("{}{} {}", &whole[5..7], &whole[8..10], &whole[11..26])
}

/// `2026/08/20 08:00:00`: Go's own log.
pub(super) fn go(at: Moment) -> String {
    stamp(at)
        .replace('-', "/")
        .replace('T', " ")
        .replace('Z', "")
}
