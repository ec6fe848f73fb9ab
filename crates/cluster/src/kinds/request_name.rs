//! The node that a certificate request names (pure).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The subject of a node's certificate, without its name.
pub const NODE_USER: &str = "system:node:";

/// The largest request that is read.
const MAX: usize = 64 << 10;

/// The OID of a common name, 2.5.4.3, in DER.
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];

/// The node of the common name of a request, as `spec.request` of a CertificateSigningRequest has
/// it: PEM in base64. The subject comes first in a request, and its attributes have the OID before
/// each value, so that the first common name is the subject's.
pub fn node_of_request(encoded: &str) -> Option<String> {
    if encoded.len() > MAX {
        return None;
    }
    let pem = BASE64_STANDARD.decode(encoded.trim()).ok()?;
    let pem = String::from_utf8(pem).ok()?;
    let (_, body) = pem.split_once("-----BEGIN CERTIFICATE REQUEST-----")?;
    let body: String = body
        .split("-----END")
        .next()?
        .split_ascii_whitespace()
        .collect();
    let der = BASE64_STANDARD.decode(body).ok()?;
    let at = der
        .windows(COMMON_NAME.len())
        .position(|bytes| bytes == COMMON_NAME)?;
    // A tag of a string, and its length in one byte: a name has at most 64 characters.
    let length = usize::from(*der.get(at + COMMON_NAME.len() + 1)?);
    let begin = at + COMMON_NAME.len() + 2;
    let name = der.get(begin..begin.checked_add(length).filter(|_| length < 0x80)?)?;
    let name = std::str::from_utf8(name).ok()?.strip_prefix(NODE_USER)?;
    (!name.is_empty()).then(|| crate::text::printable_up_to(name, 253))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    fn request(name: &str) -> String {
        let mut params = CertificateParams::new(vec!["c1-worker-7".to_owned()]).unwrap();
        let organization = DnValue::PrintableString("system:nodes".try_into().unwrap());
        params
            .distinguished_name
            .push(DnType::OrganizationName, organization);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        BASE64_STANDARD.encode(params.serialize_request(&key).unwrap().pem().unwrap())
    }

    #[test]
    fn the_node_of_a_request_is_its_common_name() {
        assert_eq!(
            node_of_request(&request("system:node:c1-worker-7")).as_deref(),
            Some("c1-worker-7")
        );
        for other in ["system:admin", "system:node:", ""] {
            assert_eq!(node_of_request(&request(other)), None, "{other}");
        }
        for broken in ["", "x", "AAAA"] {
            assert_eq!(node_of_request(broken), None);
        }
        let cut = request("system:node:c1-worker-7");
        assert_eq!(node_of_request(&cut[..80]), None);
    }
}
