//! Decodes version strings.

use super::{ImageVersion, OcpMinor, RhelVersion, Scheme};
use crate::text;

/// Longest string that is decoded, in bytes. Real ones have at most 24, such as
/// `42s390x.81.20200131.0`.
const LONGEST: usize = 64;

/// A RHEL-versioned string starts with a RHEL major, far below 40; a legacy one starts with `40` or
/// more.
const FIRST_LEGACY: u16 = 40;

/// Releases of Fedora that Fedora CoreOS was built from, or may be.
pub(super) const FEDORA: std::ops::Range<u16> = 28..200;

pub(super) fn decode(raw: &str) -> ImageVersion {
    let known = if raw.len() <= LONGEST {
        legacy(raw)
            .or_else(|| rhel_versioned(raw))
            .or_else(|| fcos(raw))
    } else {
        None
    };
    known.unwrap_or_else(|| scheme_only(Scheme::Unknown, &text::printable_up_to(raw, LONGEST)))
}

/// A version without anything but its scheme.
pub(super) fn scheme_only(scheme: Scheme, text: &str) -> ImageVersion {
    ImageVersion {
        text: text.to_owned(),
        scheme,
        rhel: None,
        fedora: None,
        ocp: None,
        build_date: None,
        time: None,
        stream: None,
        build_number: None,
        zero_minor: false,
    }
}

/// `OCP.RHEL.STAMP.BUILD` or `OCP.RHEL.STAMP-BUILD`, STAMP of 8 or 12 digits.
fn legacy(raw: &str) -> Option<ImageVersion> {
    let (first, rest) = raw.split_once('.')?;
    let (second, rest) = rest.split_once('.')?;
    let (stamp, build) = rest.split_once(['.', '-'])?;
    let (date, time) = match stamp.len() {
        8 => (date(stamp)?, None),
        _ => long_stamp(stamp)?,
    };
    Some(ImageVersion {
        rhel: Some(legacy_rhel(second)?),
        ocp: Some(legacy_ocp(first, time.is_none())?),
        build_date: Some(date),
        time,
        build_number: Some(number(build)?),
        ..scheme_only(Scheme::Legacy, raw)
    })
}

/// `42`, `410`, `42s390x`: OCP major 4, then a minor of one or two digits, then perhaps the
/// architecture. With an 8-digit date `410` is 4.1 followed by a zero: 4.10 came out three years
/// after the last such string.
fn legacy_ocp(first: &str, short_stamp: bool) -> Option<OcpMinor> {
    let digits = first
        .find(|c: char| !c.is_ascii_digit())
        .map_or(first, |at| first.get(..at).unwrap_or(first));
    let arch = first.get(digits.len()..)?;
    let minor = digits.strip_prefix('4')?;
    if !matches!(arch, "" | "s390x" | "ppc64le" | "aarch64" | "x86_64")
        || !matches!(minor.len(), 1 | 2)
    {
        return None;
    }
    let minor = match minor.strip_suffix('0') {
        Some(short) if short_stamp && short.len() == 1 => short,
        _ => minor,
    };
    Some(OcpMinor {
        major: 4,
        minor: number(minor)?,
    })
}

/// `8`, `84`, `810`, `92`: one digit for the RHEL major, then the minor if there is one.
fn legacy_rhel(second: &str) -> Option<RhelVersion> {
    let (major, minor) = second.split_at_checked(1)?;
    let major: u16 = number(major)?;
    if !(7..=9).contains(&major) || minor.len() > 2 {
        return None;
    }
    let minor = if minor.is_empty() {
        None
    } else {
        Some(number(minor)?)
    };
    Some(RhelVersion { major, minor })
}

/// `MAJOR.MINOR.YYYYMMDD-BUILD`, or without the build. A layered build has its OCP release before
/// it, and a stamp of 12 digits.
fn rhel_versioned(raw: &str) -> Option<ImageVersion> {
    let (first, rest) = two_numbers(raw)?;
    let (ocp, [major, minor], rest) = match two_numbers(rest) {
        Some((rhel, rest)) => (Some(first), rhel, rest),
        None => (None, first, rest),
    };
    let (stamp, build) = match rest.split_once('-') {
        Some((stamp, build)) => (stamp, Some(number(build)?)),
        None => (rest, None),
    };
    let (scheme, (date, time)) = match (ocp, build) {
        (None, _) if stamp.len() == 8 => (Scheme::RhelVersioned, (date(stamp)?, None)),
        (Some([4 | 5, _]), Some(_)) => (Scheme::LayeredBuild, long_stamp(stamp)?),
        _ => return None,
    };
    (8..FIRST_LEGACY).contains(&major).then(|| ImageVersion {
        rhel: Some(RhelVersion {
            major,
            minor: (minor > 0).then_some(minor),
        }),
        ocp: ocp.map(|[major, minor]| OcpMinor { major, minor }),
        build_date: Some(date),
        time,
        build_number: build,
        zero_minor: minor == 0,
        ..scheme_only(scheme, raw)
    })
}

/// `A.B.`, the second below 100, and the rest.
fn two_numbers(raw: &str) -> Option<([u16; 2], &str)> {
    let (a, rest) = raw.split_once('.')?;
    let (b, rest) = rest.split_once('.')?;
    let (a, b) = (number(a)?, number(b)?);
    (b < 100).then_some(([a, b], rest))
}

/// `FEDORA.YYYYMMDD.STREAM.BUILD`. Developers' builds end in `.devN`, or have `dev` for the stream.
fn fcos(raw: &str) -> Option<ImageVersion> {
    let mut fields = raw.split('.');
    let (fedora, stamp, stream, build) = (
        number(fields.next()?)?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
    );
    if fields.next().is_some() || !FEDORA.contains(&fedora) || stamp.len() != 8 {
        return None;
    }
    let stream = match stream {
        "dev" => None,
        stream => Some(number(stream)?),
    };
    let build = match build.strip_prefix("dev") {
        Some(dev) => {
            number::<u32>(dev)?;
            None
        }
        None => Some(number(build)?),
    };
    Some(ImageVersion {
        fedora: Some(fedora),
        stream,
        build_date: Some(date(stamp)?),
        build_number: build,
        ..scheme_only(Scheme::Fcos, raw)
    })
}

/// A decimal number as version strings write it: digits only, no sign, no leading zero.
pub(super) fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    let canonical =
        digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if canonical { digits.parse().ok() } else { None }
}

/// Two digits, leading zero allowed.
fn two(digits: Option<&str>) -> Option<u8> {
    let digits = digits?;
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        digits.parse().ok()
    } else {
        None
    }
}

/// `YYYYMMDD` as `YYYY-MM-DD`, if it is a day of this century.
pub(super) fn date(stamp: &str) -> Option<String> {
    let year: u16 = number(stamp.get(..4)?)?;
    let (month, day) = (two(stamp.get(4..6))?, two(stamp.get(6..8))?);
    let days = match month {
        // In 2000 to 2099 every fourth year is a leap year.
        2 if year.is_multiple_of(4) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    ((2000..2100).contains(&year) && (1..=days).contains(&day))
        .then(|| format!("{year}-{month:02}-{day:02}"))
}

/// Day and time of `YYYYMMDDhhmm`.
fn long_stamp(stamp: &str) -> Option<(String, Option<u16>)> {
    let (day, hhmm) = stamp.split_at_checked(8)?;
    let (hours, minutes) = (two(hhmm.get(..2))?, two(hhmm.get(2..))?);
    let is_time = hhmm.len() == 4 && hours < 24 && minutes < 60;
    is_time.then_some((
        date(day)?,
        Some(u16::from(hours) * 100 + u16::from(minutes)),
    ))
}
