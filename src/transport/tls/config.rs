//! The configuration of rustls: versions, algorithms, CAs, client certificate.

use crate::kubeconfig::Kubeconfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::Arc;

pub(super) fn client(kubeconfig: &Kubeconfig) -> Result<ClientConfig, String> {
    let provider = Arc::new(super::provider::provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| format!("TLS: {error}"))?;
    let builder = if kubeconfig.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unchecked(provider)))
    } else {
        let mut roots = RootCertStore::empty();
        // rustls may not support all certificates of a bundle; the others still count.
        roots.add_parsable_certificates(certificates(&kubeconfig.ca)?);
        if roots.is_empty() {
            return Err(
                "the CA of the kubeconfig holds no certificate that can be used".to_owned(),
            );
        }
        builder.with_root_certificates(roots)
    };
    let Some(client) = &kubeconfig.client else {
        return Ok(builder.with_no_client_auth());
    };
    let key = PrivateKeyDer::from_pem_slice(client.key.expose())
        .map_err(|_| "the client key is not valid PEM".to_owned())?;
    // The original error is dropped, because it comes from code that has seen the key.
    builder
        .with_client_auth_cert(certificates(client.certificate.expose())?, key)
        .map_err(|_| {
            "the client certificate and key cannot be used: not a pair, or not RSA, P-256 or P-384"
                .to_owned()
        })
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|_| "a certificate is not valid PEM".to_owned())
}

/// `insecure-skip-tls-verify`: accepts any certificate, as long as the server has its key.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
