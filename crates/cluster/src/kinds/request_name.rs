//! The subject of a node's certificate request (pure).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The subject of a node's certificate, without its name.
pub const NODE_USER: &str = "system:node:";

/// The largest request that is read.
const MAX: usize = 64 << 10;

/// The OIDs of a common name and an organization, 2.5.4.3 and 2.5.4.10, in DER.
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
const ORGANIZATION: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x0a];

/// The group of nodes, as a certificate's organization.
const NODES: &str = "system:nodes";

/// The subject of a node's request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The node of its first common name.
    pub node: Option<String>,
    /// It has one common name, and the nodes' organization alone.
    pub is_a_nodes: bool,
}

impl Subject {
    /// Of `spec.request` of a CertificateSigningRequest: PEM in base64. The subject comes first in a
    /// request, and its attributes have the OID before each value, so that the first common name is the
    /// subject's.
    pub fn of_request(encoded: &str) -> Option<Self> {
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
        let names = values(&der, &COMMON_NAME);
        let node = names.first()?.as_ref()?.strip_prefix(NODE_USER);
        let node = node.filter(|node| !node.is_empty());
        let organizations = values(&der, &ORGANIZATION);
        Some(Self {
            node: node.map(|node| crate::text::printable_up_to(node, 253)),
            is_a_nodes: names.len() == 1 && organizations == [Some(NODES.to_owned())],
        })
    }
}

/// The values of an attribute; `None` for one that is no text of up to 127 bytes.
fn values(der: &[u8], oid: &[u8; 5]) -> Vec<Option<String>> {
    let places = der.windows(oid.len()).enumerate();
    let places = places.filter(|(_, bytes)| bytes == oid);
    // A tag of a string, and its length in one byte: a name has at most 64 characters.
    let text = |(at, _): (usize, &[u8])| {
        let length = usize::from(*der.get(at + oid.len() + 1)?);
        let begin = at + oid.len() + 2;
        let text = der.get(begin..begin.checked_add(length).filter(|_| length < 0x80)?)?;
        String::from_utf8(text.to_vec()).ok()
    };
    places.map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    fn node_of_request(encoded: &str) -> Option<String> {
        Subject::of_request(encoded)?.node
    }

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
