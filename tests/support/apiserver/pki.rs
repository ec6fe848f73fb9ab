//! Certificates of a test cluster: a CA, the API server's certificate, and client certificates.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use std::path::Path;

/// Kinds of keys, of the CA as of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Rsa,
    P256,
    P384,
}

/// What is wrong with the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Good,
    Expired,
    NotYetValid,
    /// It names another server.
    WrongName,
    /// A CA that no kubeconfig names signed it.
    UnknownCa,
    /// The server has it, but not its key.
    WrongKey,
    /// It is a CA, and signed itself.
    OwnCa,
}

pub struct Pki {
    ca: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key in PEM.
#[derive(Debug, Clone)]
pub struct Pair {
    pub certificate: String,
    /// PKCS#8.
    pub key: String,
}

/// The end of the certificate of [`Validity::Expired`].
pub const EXPIRED_AT: &str = "2020-03-04T00:00:00Z";
/// The start of the certificate of [`Validity::NotYetValid`].
pub const VALID_FROM: &str = "2090-01-02T00:00:00Z";

impl Pki {
    pub fn new(key: Key) -> Self {
        Self {
            ca: authority(key, "test-cluster-ca"),
        }
    }

    pub fn ca_pem(&self) -> String {
        self.ca.pem()
    }

    /// The API server's certificate.
    pub fn server(&self, names: &[String], key: Key, validity: Validity) -> Pair {
        let names = if validity == Validity::WrongName {
            vec!["elsewhere.example.com".to_owned()]
        } else {
            names.to_vec()
        };
        let mut params = CertificateParams::new(names).unwrap();
        params
            .distinguished_name
            .push(DnType::CommonName, "test-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        match validity {
            Validity::Expired => {
                (params.not_before, params.not_after) =
                    (date_time_ymd(2019, 3, 4), date_time_ymd(2020, 3, 4))
            }
            Validity::NotYetValid => {
                (params.not_before, params.not_after) =
                    (date_time_ymd(2090, 1, 2), date_time_ymd(2091, 1, 2))
            }
            _ => {}
        }
        if validity == Validity::UnknownCa {
            // The same name as the right one: only the signature tells them apart.
            return issue(&authority(Key::P256, "test-cluster-ca"), params, key);
        }
        if validity == Validity::OwnCa {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = key_pair(key);
            return Pair {
                certificate: params.self_signed(&key).unwrap().pem(),
                key: key.serialize_pem(),
            };
        }
        let mut pair = issue(&self.ca, params, key);
        if validity == Validity::WrongKey {
            assert!(key != Key::Rsa, "there is but one RSA key");
            pair.key = key_pair(key).serialize_pem();
        }
        pair
    }

    /// A client certificate for this user, as the cluster's signer issues it.
    pub fn client(&self, user: &str, group: &str) -> Pair {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        params
            .distinguished_name
            .push(DnType::OrganizationName, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        issue(&self.ca, params, Key::P256)
    }
}

impl Pair {
    /// The key as Go writes it into kubelet-client-current.pem: SEC 1, `EC PRIVATE KEY`. For P-256
    /// only.
    pub fn key_sec1(&self) -> String {
        let pair = KeyPair::from_pem(&self.key).unwrap();
        let pkcs8 = pair.serialize_der();
        // RFC 5915: version 1, then the private key as an OCTET STRING of 32 bytes.
        let start = pkcs8
            .windows(5)
            .position(|w| w == [0x02, 0x01, 0x01, 0x04, 0x20])
            .unwrap()
            + 5;
        let mut der = vec![0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20];
        der.extend(&pkcs8[start..start + 32]);
        der.extend([
            0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0xa1, 0x44,
            0x03, 0x42, 0x00,
        ]);
        der.extend(pair.public_key_raw());
        let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, der);
        let lines: Vec<&str> = text
            .as_bytes()
            .chunks(64)
            .map(|line| std::str::from_utf8(line).unwrap())
            .collect();
        format!(
            "-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n",
            lines.join("\n")
        )
    }
}

fn authority(key: Key, name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    CertifiedIssuer::self_signed(params, key_pair(key)).unwrap()
}

fn issue(ca: &CertifiedIssuer<'_, KeyPair>, mut params: CertificateParams, key: Key) -> Pair {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    let key = key_pair(key);
    let certificate = params.signed_by(&key, ca).unwrap();
    Pair {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    }
}

fn key_pair(key: Key) -> KeyPair {
    match key {
        Key::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap(),
        Key::P384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap(),
        Key::Rsa => {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/keys/rsa-2048.pem");
            KeyPair::from_pem(&std::fs::read_to_string(file).unwrap()).unwrap()
        }
    }
}
