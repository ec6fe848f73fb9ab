//! The cryptography of our TLS: what every OpenShift API server also has, and no more.
//!
//! Curve25519, Ed25519 and ChaCha20-Poly1305 are left out, which saves 68 kB of the compressed
//! binary. No TLS security profile of OpenShift needs them: all have AES-GCM, and Go's servers have
//! P-256 and P-384.

use rustls::crypto::ring::{cipher_suite, kx_group, sign};
use rustls::crypto::{
    CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, WebPkiSupportedAlgorithms,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::SigningKey;
use rustls::{Error, SignatureScheme};
use std::sync::Arc;
use webpki::ring as algorithm;

pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_256_GCM_SHA384,
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        ],
        kx_groups: vec![kx_group::SECP256R1, kx_group::SECP384R1],
        signature_verification_algorithms: SIGNATURES,
        secure_random: &Ring,
        key_provider: &Ring,
    }
}

/// The same as in rustls for ring, but without Ed25519, and without RSA signatures whose parameters
/// are absent.
static SIGNATURES: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[
        algorithm::ECDSA_P256_SHA256,
        algorithm::ECDSA_P256_SHA384,
        algorithm::ECDSA_P384_SHA256,
        algorithm::ECDSA_P384_SHA384,
        algorithm::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
        algorithm::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
        algorithm::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
        algorithm::RSA_PKCS1_2048_8192_SHA256,
        algorithm::RSA_PKCS1_2048_8192_SHA384,
        algorithm::RSA_PKCS1_2048_8192_SHA512,
    ],
    mapping: &[
        // TLS 1.2 does not fix the curve of a scheme. TLS 1.3 does: there only the first of each
        // counts.
        (
            SignatureScheme::ECDSA_NISTP384_SHA384,
            &[algorithm::ECDSA_P384_SHA384, algorithm::ECDSA_P256_SHA384],
        ),
        (
            SignatureScheme::ECDSA_NISTP256_SHA256,
            &[algorithm::ECDSA_P256_SHA256, algorithm::ECDSA_P384_SHA256],
        ),
        (
            SignatureScheme::RSA_PSS_SHA512,
            &[algorithm::RSA_PSS_2048_8192_SHA512_LEGACY_KEY],
        ),
        (
            SignatureScheme::RSA_PSS_SHA384,
            &[algorithm::RSA_PSS_2048_8192_SHA384_LEGACY_KEY],
        ),
        (
            SignatureScheme::RSA_PSS_SHA256,
            &[algorithm::RSA_PSS_2048_8192_SHA256_LEGACY_KEY],
        ),
        (
            SignatureScheme::RSA_PKCS1_SHA512,
            &[algorithm::RSA_PKCS1_2048_8192_SHA512],
        ),
        (
            SignatureScheme::RSA_PKCS1_SHA384,
            &[algorithm::RSA_PKCS1_2048_8192_SHA384],
        ),
        (
            SignatureScheme::RSA_PKCS1_SHA256,
            &[algorithm::RSA_PKCS1_2048_8192_SHA256],
        ),
    ],
};

/// ring's random numbers, and its RSA and ECDSA keys.
#[derive(Debug)]
struct Ring;

impl SecureRandom for Ring {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), buffer)
            .map_err(|_| GetRandomFailed)
    }
}

impl KeyProvider for Ring {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        // Wiped afterwards, as in rustls.
        let key = zeroize::Zeroizing::new(key);
        match sign::RsaSigningKey::new(&key) {
            Ok(key) => Ok(Arc::new(key)),
            Err(_) => sign::any_ecdsa_type(&key),
        }
    }
}
