//! Wall-clock times as Kubernetes writes them (pure).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `metav1.Time`: RFC 3339 in UTC, whole seconds.
pub fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(expressible(at)).to_string()
}

/// `metav1.MicroTime`, as in an Event's `eventTime`: RFC 3339 in UTC, microseconds.
pub fn micro_time(at: SystemTime) -> String {
    humantime::format_rfc3339_micros(expressible(at)).to_string()
}

/// Whole seconds since 1970; 0 for earlier times.
pub fn unix(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The last second of the year 9999, the latest that RFC 3339 can express, in seconds since 1970.
const LAST: u64 = 253_402_300_799;

/// `at` within what RFC 3339 can express: a hardware clock without a battery can have any time.
fn expressible(at: SystemTime) -> SystemTime {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + since.min(Duration::from_secs(LAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_form_kubernetes_reads() {
        let at = UNIX_EPOCH + Duration::from_micros(1_735_689_599_000_042);
        assert_eq!(time(at), "2024-12-31T23:59:59Z");
        assert_eq!(micro_time(at), "2024-12-31T23:59:59.000042Z");
    }

    #[test]
    fn a_clock_far_off_is_no_panic() {
        assert_eq!(
            micro_time(UNIX_EPOCH - Duration::from_secs(5)),
            "1970-01-01T00:00:00.000000Z"
        );
        assert_eq!(
            time(UNIX_EPOCH + Duration::from_secs(1 << 40)),
            "9999-12-31T23:59:59Z"
        );
    }
}
