//! The subject of a node's certificate request (pure).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::ParsedExtension;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

/// The subject of a node's certificate, without its name.
pub const NODE_USER: &str = "system:node:";

/// The largest request that is read.
const MAX: usize = 64 << 10;

/// The group of nodes, as a certificate's organization.
const NODES: &str = "system:nodes";

/// The subject of a node's request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The node of its first common name.
    pub node: Option<String>,
    /// It has one common name, and the nodes' organization alone.
    pub is_a_nodes: bool,
    /// It asks for alternative names, too.
    pub has_other_names: bool,
}

impl Subject {
    /// Of `spec.request` of a CertificateSigningRequest: PEM in base64.
    pub fn of_request(encoded: &str) -> Option<Self> {
        if encoded.len() > MAX {
            return None;
        }
        let pem = BASE64_STANDARD.decode(encoded.trim()).ok()?;
        let (_, pem) = parse_x509_pem(&pem).ok()?;
        let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
        let subject = &request.certification_request_info.subject;
        let mut extensions = request.requested_extensions().into_iter().flatten();
        let is_other =
            |one: &ParsedExtension<'_>| matches!(one, ParsedExtension::SubjectAlternativeName(_));
        let names = subject.iter_common_name().map(|name| name.as_str().ok());
        let names: Vec<Option<&str>> = names.collect();
        let organizations = subject.iter_organization().map(|name| name.as_str().ok());
        let node = (*names.first()?)?.strip_prefix(NODE_USER);
        let node = node.filter(|node| !node.is_empty());
        Some(Self {
            node: node.map(|node| crate::text::printable_up_to(node, 253)),
            is_a_nodes: names.len() == 1 && organizations.eq([Some(NODES)]),
            has_other_names: extensions.any(is_other),
        })
    }
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
