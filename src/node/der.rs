//! Certificates, as far as something is read from them (DER; RFC 5280, section 4.1). An X.509 parser
//! would take more space than the rest of the report.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) const SEQUENCE: u8 = 0x30;

/// `[0] EXPLICIT`, the version of a TBSCertificate.
const VERSION: u8 = 0xa0;

const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The label of a certificate in PEM.
pub(crate) const CERTIFICATE: &str = "CERTIFICATE";

/// The sections of a PEM file, each with its label (RFC 7468); what is between them is skipped.
/// `None` where one does not decode, or does not end.
pub(crate) fn sections(pem: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let text = String::from_utf8_lossy(pem);
    let mut lines = text.lines().map(str::trim);
    let marker = |line: &str, begins: &str| {
        let label = line.strip_prefix(begins)?.strip_suffix("-----")?;
        Some(label.to_owned())
    };
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(label) = marker(line, "-----BEGIN ") {
            let mut body = String::new();
            loop {
                let line = lines.next()?;
                match marker(line, "-----END ") {
                    Some(end) if end == label => break,
                    _ => body.push_str(line),
                }
            }
            found.push((label, STANDARD.decode(body).ok()?));
        }
    }
    Some(found)
}

/// The certificates in a PEM file; what else is in it is skipped. `None` where there is none, or
/// it does not decode.
pub(crate) fn certificates(pem: &[u8]) -> Option<Vec<Vec<u8>>> {
    let found = sections(pem)?;
    let found = found.into_iter().filter(|(label, _)| label == CERTIFICATE);
    let found: Vec<Vec<u8>> = found.map(|(_, der)| der).collect();
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
