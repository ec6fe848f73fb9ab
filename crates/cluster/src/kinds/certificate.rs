//! The dates of a certificate (pure).

use crate::moment::Moment;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use x509_parser::time::ASN1Time;

/// The span of time in which a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub from: Moment,
    pub until: Moment,
}

impl Validity {
    /// Of a certificate in DER (RFC 5280, section 4.1).
    pub fn of(der: &[u8]) -> Option<Self> {
        let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
        let dates = certificate.validity();
        let moment = |time: ASN1Time| u64::try_from(time.timestamp()).ok().map(Moment);
        Some(Self {
            from: moment(dates.not_before)?,
            until: moment(dates.not_after)?,
        })
    }

    /// Of the first certificate of a PEM text in base64, as an object has it.
    pub fn of_encoded_pem(encoded: &str) -> Option<Self> {
        let pem = BASE64_STANDARD.decode(encoded.trim()).ok()?;
        Self::of(&ders(std::str::from_utf8(&pem).ok()?).next()?)
    }
}

/// The certificates of a PEM text, in DER: the first hundred.
pub fn ders(pem: &str) -> impl Iterator<Item = Vec<u8>> {
    let blocks = pem.split("-----BEGIN CERTIFICATE-----").skip(1).take(100);
    blocks.filter_map(|block| {
        let body = block.split("-----END").next().unwrap_or_default();
        let body: String = body.split_ascii_whitespace().collect();
        BASE64_STANDARD.decode(body).ok()
    })
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
