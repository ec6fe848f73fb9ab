//! Times of objects and log lines, in whole seconds (pure).

use serde::{Deserialize, Deserializer};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds by which a clock may differ from another.
pub const CLOCKS: u64 = 60;

/// Seconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// RFC 3339, as Kubernetes writes it, and container runtimes with the node's offset from UTC.
    pub fn parse(text: &str) -> Option<Self> {
        let at: jiff::Timestamp = text.trim().parse().ok()?;
        u64::try_from(at.as_second()).ok().map(Self)
    }

    pub fn of(at: SystemTime) -> Self {
        Self(at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
    }

    pub fn plus(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    pub fn minus(self, seconds: u64) -> Self {
        Self(self.0.saturating_sub(seconds))
    }

    /// Seconds from an earlier moment to this one; 0 where that is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// `2026-08-20T09:14:03Z`.
    pub fn text(self) -> String {
        crate::clock::time(UNIX_EPOCH + Duration::from_secs(self.0))
    }

    /// `09:14:03 UTC`.
    pub fn clock(self) -> String {
        let day = self.0 % 86_400;
        format!("{:02}:{:02}:{:02} UTC", day / 3600, day / 60 % 60, day % 60)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// A time of an object; what is none says nothing.
///
/// # Errors
/// It is no text.
pub fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Moment>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Moment::parse(&text))
}

/// A time span as a person says it: `26 minutes`, `3 hours`, `266 days`.
pub fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// A duration as Go writes it in an object: `10m0s`, `1h30m`, `0`.
pub fn go_duration(text: &str) -> Option<u64> {
    let duration = humantime::parse_duration(text).ok()?;
    Some(duration.as_secs())
}

/// The year in which a month and day last were, seen from `now`.
pub fn year(now: Moment, month: u8, day: u8) -> Option<u16> {
    let tomorrow = now.plus(86_400);
    let year: u16 = tomorrow.text().get(..4)?.parse().ok()?;
    let of = |year: u16| Moment::parse(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"));
    // The 29th of February is in some years only.
    (0..8)
        .filter_map(|back| year.checked_sub(back))
        .find(|year| of(*year).is_some_and(|at| at <= tomorrow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_one_unit() {
        for (seconds, wanted) in [
            (1, "1 second"),
            (119, "119 seconds"),
            (26 * 60 + 59, "26 minutes"),
            (7_199, "119 minutes"),
            (3 * 3600, "3 hours"),
            (266 * 86_400, "266 days"),
        ] {
            assert_eq!(span(seconds), wanted);
        }
    }

    #[test]
    fn durations_of_objects_are_read() {
        for (text, wanted) in [
            ("10m0s", Some(600)),
            ("10m", Some(600)),
            ("0", Some(0)),
            ("0s", Some(0)),
            ("1h30m", Some(5_400)),
            ("1.5h", Some(5_400)),
            ("", None),
            ("10", None),
            ("10x", None),
        ] {
            assert_eq!(go_duration(text), wanted, "{text}");
        }
    }

    #[test]
    fn moments_are_those_of_kubernetes() {
        for (text, utc) in [
            (
                "2026-08-20T11:14:03.123456789+02:00",
                "2026-08-20T09:14:03Z",
            ),
            ("2026-08-20T03:44:03-05:30", "2026-08-20T09:14:03Z"),
            ("2026-08-20T09:14:03+00:00", "2026-08-20T09:14:03Z"),
        ] {
            assert_eq!(Moment::parse(text), Moment::parse(utc), "{text}");
        }
        assert_eq!(Moment::parse("2026-08-20T09:14:03*02:00"), None);
        let at = Moment::parse("2026-08-20T09:14:03.123456789Z").unwrap();
        assert_eq!(
            (at.text().as_str(), at.clock().as_str()),
            ("2026-08-20T09:14:03Z", "09:14:03 UTC")
        );
        assert_eq!(Moment::parse("yesterday"), None);
    }

    #[test]
    fn years_that_klog_leaves_out_are_the_last_possible() {
        let now = Moment::parse("2027-01-02T00:00:00Z").unwrap();
        assert_eq!(year(now, 12, 31), Some(2026));
        assert_eq!(year(now, 1, 1), Some(2027));
        assert_eq!(year(now, 1, 3), Some(2027), "clocks differ");
        assert_eq!(year(now, 2, 29), Some(2024));
        assert_eq!(year(now, 13, 1), None);
    }
}
