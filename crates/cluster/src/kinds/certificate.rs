//! The dates of a certificate (pure).

use crate::moment::Moment;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The span of time in which a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub from: Moment,
    pub until: Moment,
}

impl Validity {
    /// Of a certificate in DER (RFC 5280, section 4.1).
    pub fn of(der: &[u8]) -> Option<Self> {
        let (SEQUENCE, certificate, _) = element(der)? else {
            return None;
        };
        let (SEQUENCE, mut rest, _) = element(certificate)? else {
            return None;
        };
        // The version is optional; then serial number, algorithm, issuer.
        if let (0xa0, _, after) = element(rest)? {
            rest = after;
        }
        for _ in 0..3 {
            (_, _, rest) = element(rest)?;
        }
        let (SEQUENCE, dates, _) = element(rest)? else {
            return None;
        };
        let (kind, from, dates) = element(dates)?;
        let from = time(kind, from)?;
        let (kind, until, _) = element(dates)?;
        let until = time(kind, until)?;
        Some(Self { from, until })
    }

    /// Of the first certificate of a PEM text in base64, as an object has it.
    pub fn of_encoded_pem(encoded: &str) -> Option<Self> {
        let pem = BASE64_STANDARD.decode(encoded.trim()).ok()?;
        Self::of(&ders(std::str::from_utf8(&pem).ok()?).next()?)
    }
}

const SEQUENCE: u8 = 0x30;

/// The certificates of a PEM text, in DER: the first hundred.
pub fn ders(pem: &str) -> impl Iterator<Item = Vec<u8>> {
    let blocks = pem.split("-----BEGIN CERTIFICATE-----").skip(1).take(100);
    blocks.filter_map(|block| {
        let body = block.split("-----END").next().unwrap_or_default();
        let body: String = body.split_ascii_whitespace().collect();
        BASE64_STANDARD.decode(body).ok()
    })
}

/// The first element: its tag, its content, and what comes behind.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, length], rest) = der.split_first_chunk()?;
    let (length, rest) = if length < 0x80 {
        (usize::from(length), rest)
    } else {
        // A certificate has no element of more than three bytes of length.
        let (bytes, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
        if bytes.len() > 3 {
            return None;
        }
        let number = bytes
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        (number, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// `UTCTime` (0x17), whose years are 1950 to 2049, and `GeneralizedTime` (0x18).
fn time(kind: u8, text: &[u8]) -> Option<Moment> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let text = match kind {
        0x17 if text < "50" => format!("20{text}"),
        0x17 => format!("19{text}"),
        0x18 => text.to_owned(),
        _ => return None,
    };
    let part = |from: usize, to: usize| text.get(from..to);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    Moment::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_a_certificate() {
        let mut params = rcgen::CertificateParams::new(vec!["a".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2026, 3, 2);
        params.not_after = rcgen::date_time_ymd(2051, 4, 5);
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let moment = |text| Moment::parse(text).unwrap();
        let wanted = Validity {
            from: moment("2026-03-02T00:00:00Z"),
            until: moment("2051-04-05T00:00:00Z"),
        };
        let der = ders(&pem).next().unwrap();
        assert_eq!(Validity::of(&der), Some(wanted));
        assert_eq!(
            Validity::of_encoded_pem(&BASE64_STANDARD.encode(&pem)),
            Some(wanted)
        );
        // Cut anywhere it says nothing, or the same.
        for end in 0..der.len() {
            let found = Validity::of(&der[..end]);
            assert!(found.is_none(), "{end}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_dates() {
        for bytes in [
            &b""[..],
            b"0",
            b"0\x80",
            b"0\x84\xff\xff\xff\xff",
            &[0x30, 3, 0x30, 1, 0],
        ] {
            assert_eq!(Validity::of(bytes), None);
        }
        assert_eq!(Validity::of_encoded_pem("*"), None);
    }
}
