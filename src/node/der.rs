//! Certificates, as far as something is read from them (DER; RFC 5280, section 4.1). An X.509 parser
//! would take more space than the rest of the report.

use rustls_pki_types::pem::{PemObject, SectionKind};

pub(crate) const SEQUENCE: u8 = 0x30;

/// `[0] EXPLICIT`, the version of a TBSCertificate.
const VERSION: u8 = 0xa0;

const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The certificates in a PEM file; what else is in it is skipped. `None` where there is none, or
/// it does not decode.
pub(crate) fn certificates(pem: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem) {
        let (kind, der) = section.ok()?;
        if kind == SectionKind::Certificate {
            found.push(der);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// `notBefore` of a certificate, as the digits of year, month, day, hour, minute and second.
pub(super) fn not_before(der: &[u8]) -> Option<String> {
    let (validity, _) = expect(from_issuer(der)?.1, SEQUENCE)?;
    let (kind, time, _) = element(validity)?;
    let digits = std::str::from_utf8(time).ok()?.strip_suffix('Z')?;
    let century = match kind {
        GENERALIZED_TIME => "",
        UTC_TIME if digits < "5" => "20",
        UTC_TIME => "19",
        _ => return None,
    };
    let time = [century, digits].concat();
    (time.len() == 14 && time.bytes().all(|byte| byte.is_ascii_digit())).then_some(time)
}

/// The issuer of a certificate, and what follows: validity, subject.
fn from_issuer(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (certificate, _) = expect(der, SEQUENCE)?;
    let (mut rest, _) = expect(certificate, SEQUENCE)?;
    if let Some((VERSION, _, after)) = element(rest) {
        rest = after;
    }
    // serialNumber, signature
    for _ in 0..2 {
        (_, _, rest) = element(rest)?;
    }
    expect(rest, SEQUENCE)
}

/// The subject of a certificate, a list of sets.
pub(crate) fn subject(der: &[u8]) -> Option<&[u8]> {
    let (_, _, rest) = element(from_issuer(der)?.1)?;
    Some(expect(rest, SEQUENCE)?.0)
}

/// Parses an element that must have this tag: its content, and what follows.
pub(crate) fn expect(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    element(der)
        .filter(|(found, _, _)| *found == tag)
        .map(|(_, content, rest)| (content, rest))
}

/// Parses one element: its tag, its content, and what follows. Lengths must be definite and of at
/// most three bytes (X.690, section 10.1).
pub(crate) fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (
                bytes
                    .iter()
                    .fold(0, |length, byte| length << 8 | usize::from(*byte)),
                rest,
            )
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
