//! Servers as clusters have them: keys, versions, identities, names.

use crate::cluster::way::{bootstrap, both, event, failure, loaded, send};
use crate::support::apiserver::{
    ApiServer, BOOTSTRAP_USER, Key, Options, Tls, Validity, pki::Pair,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use skewguard::transport::{Failure, Request};
use std::time::{Duration, SystemTime};

#[test]
fn a_request_arrives_whole_and_as_the_bootstrap_identity() {
    let server = ApiServer::start(Options::default());
    for (n, choice) in both().into_iter().enumerate() {
        let request = event(&format!("event-{n}"));
        let response = send(choice, &bootstrap(&server), &request).unwrap();
        assert_eq!(
            (response.status, response.retry_after),
            (201, None),
            "{choice:?}"
        );
        let created: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(
            created["metadata"]["name"],
            format!("event-{n}-0123456789abcdef.1")
        );
        let seen = server.seen().pop().unwrap();
        assert_eq!(
            (seen.user.as_str(), seen.method.as_str(), seen.path),
            (BOOTSTRAP_USER, "POST", request.path),
            "{choice:?}"
        );
        assert_eq!(
            seen.body,
            serde_json::from_slice::<serde_json::Value>(&request.body).unwrap(),
            "{choice:?}"
        );
    }
    assert_eq!(server.objects("events").len(), both().len());
}

#[test]
fn every_key_and_version_that_a_cluster_may_have() {
    for key in [Key::Rsa, Key::P256, Key::P384] {
        for tls in [Tls::Only12, Tls::Only13] {
            let server = ApiServer::start(Options {
                key,
                tls,
                ..Options::default()
            });
            for (n, choice) in both().into_iter().enumerate() {
                let response = send(choice, &bootstrap(&server), &event(&format!("event-{n}")));
                assert_eq!(
                    response.map(|response| response.status),
                    Ok(201),
                    "{choice:?} {key:?} {tls:?}"
                );
            }
        }
    }
}

#[cfg(feature = "tls")]
#[test]
fn a_server_that_speaks_what_we_do_not_is_told_apart_and_the_hosts_curl_speaks_it() {
    use skewguard::transport::Choice;
    let server = ApiServer::start(Options {
        tls: Tls::OnlyX25519,
        ..Options::default()
    });
    let said = failure(Choice::Tls, &bootstrap(&server), &event("e")).to_string();
    let nothing = "TLS failed: nothing in common (HandshakeFailure): this build speaks TLS 1.2 and 1.3 with AES-GCM over P-256 and P-384, \
                   skewguard-embed what the host's curl does";
    assert_eq!(said, nothing);
    assert_eq!(
        send(Choice::Curl, &bootstrap(&server), &event("e")).map(|response| response.status),
        Ok(201)
    );
}

/// `client-certificate-data` and `client-key-data`.
fn with_data(server: &ApiServer, certificate: &str, key: &str) -> String {
    let (certificate, key) = (STANDARD.encode(certificate), STANDARD.encode(key));
    server.kubeconfig(&format!(
        "client-certificate-data: {certificate}\n    client-key-data: {key}"
    ))
}

#[test]
fn client_certificates_of_every_shape() {
    for tls in [Tls::Only12, Tls::Only13] {
        let server = ApiServer::start(Options {
            tls,
            ..Options::default()
        });
        let pair: Pair = server.client("system:node:worker-0", "system:nodes");
        let one_pem = format!("{}{}", pair.certificate, pair.key_sec1());
        let with_parameters = format!(
            "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n{}",
            pair.key_sec1()
        );
        let shapes = [
            (&pair.certificate, &pair.key),
            (&pair.certificate, &pair.key_sec1()),
            (&one_pem, &one_pem),
            (&pair.certificate, &with_parameters),
        ];
        for (n, (certificate, key)) in shapes.into_iter().enumerate() {
            let kubeconfig = loaded(&with_data(&server, certificate, key));
            for choice in both() {
                let patch = Request {
                    method: "PATCH",
                    path: "/api/v1/nodes/worker-0".to_owned(),
                    body:
                        br#"{"metadata":{"labels":{"skewguard.dev/boot-image":"9.6.20250826-1"}}}"#
                            .to_vec(),
                };
                let response = send(choice, &kubeconfig, &patch);
                assert_eq!(
                    response.map(|response| response.status),
                    Ok(200),
                    "{choice:?} {tls:?} shape {n}"
                );
                assert_eq!(server.seen().pop().unwrap().user, "system:node:worker-0");
            }
        }
    }
}

#[test]
fn a_client_certificate_of_another_cluster_is_refused_as_such() {
    for tls in [Tls::Only12, Tls::Only13] {
        let server = ApiServer::start(Options {
            tls,
            ..Options::default()
        });
        let other =
            ApiServer::start(Options::default()).client("system:node:worker-0", "system:nodes");
        let kubeconfig = loaded(&with_data(&server, &other.certificate, &other.key));
        for choice in both() {
            let failure = failure(choice, &kubeconfig, &event("e"));
            assert!(
                matches!(failure, Failure::ClientCertificate(_)),
                "{choice:?} {tls:?} {failure:?}"
            );
        }
    }
}

#[test]
fn a_certificate_that_does_not_fit_says_whether_name_ca_or_clock_is_wrong() {
    let is = |why: &str, what: &str| {
        let clock = why
            .split_once("the clock here says ")
            .unwrap()
            .1
            .split_once("Z: ")
            .unwrap()
            .0;
        let clock = humantime::parse_rfc3339(&format!("{clock}Z")).unwrap();
        why.starts_with(what)
            && clock
                .duration_since(SystemTime::now() - Duration::from_secs(60))
                .is_ok()
    };
    for validity in [
        Validity::Expired,
        Validity::NotYetValid,
        Validity::WrongName,
        Validity::UnknownCa,
    ] {
        for key in [Key::P256, Key::Rsa] {
            // With RSA there is but one key: a CA of the same name and key is no unknown one.
            if (validity, key) == (Validity::UnknownCa, Key::Rsa) {
                continue;
            }
            let server = ApiServer::start(Options {
                validity,
                key,
                ..Options::default()
            });
            for choice in both() {
                let failure = failure(choice, &bootstrap(&server), &event("e"));
                let fits = match (validity, &failure) {
                    (Validity::Expired, Failure::CertificateTime(why)) => is(why, "has expired"),
                    (Validity::NotYetValid, Failure::CertificateTime(why)) => {
                        is(why, "is not valid yet")
                    }
                    (Validity::WrongName, Failure::WrongName(expected)) => expected == "127.0.0.1",
                    (Validity::UnknownCa, Failure::UnknownCa(_)) => true,
                    _ => false,
                };
                assert!(fits, "{choice:?} {validity:?} {key:?}: {failure:?}");
                assert!(server.objects("events").is_empty());
            }
        }
    }
}

#[cfg(feature = "tls")]
#[test]
fn the_end_of_a_certificate_is_told_where_the_transport_knows_it() {
    let server = ApiServer::start(Options {
        validity: Validity::Expired,
        ..Options::default()
    });
    let failure = failure(both()[0], &bootstrap(&server), &event("e"));
    let said = failure.to_string();
    let (start, rest) = said.split_once("says ").unwrap();
    assert_eq!(
        start,
        "the server's certificate has expired (its time ended at 2020-03-04T00:00:00Z); the clock here "
    );
    assert_eq!(
        rest.split_once(": ").unwrap().1,
        "check the clock first (chronyc tracking), then the certificate"
    );
}

#[test]
fn another_name_is_asked_for_and_checked_and_the_host_header_stays() {
    // Connected to by address; the certificate knows only the name.
    let server = ApiServer::start(Options {
        public: "api-int.c1.example.com".to_owned(),
        ..Options::default()
    });
    let at_address = format!("https://127.0.0.1:{}", server.address.port());
    let text = server
        .kubeconfig("token: no-such-token")
        .replace(&server.url(), &at_address);
    let named = text.replace(
        "  name: local",
        "    tls-server-name: api-int.c1.example.com\n  name: local",
    );
    for choice in both() {
        let wrong = failure(choice, &loaded(&text), &event("e"));
        assert!(
            matches!(wrong, Failure::WrongName(_)),
            "{choice:?} {wrong:?}"
        );
        let response = send(choice, &loaded(&named), &event("e")).unwrap();
        assert_eq!(
            response.status, 401,
            "{choice:?}: the token is not known, but TLS was fine"
        );
        assert_eq!(
            server.seen().pop().unwrap().host,
            at_address.trim_start_matches("https://"),
            "{choice:?}"
        );
    }
}

#[test]
fn without_the_check_any_certificate_will_do() {
    for validity in [Validity::Expired, Validity::WrongName, Validity::UnknownCa] {
        let server = ApiServer::start(Options {
            validity,
            ..Options::default()
        });
        let kubeconfig = bootstrap(&server);
        let text = server.kubeconfig("token: no-such-token");
        let ca = text
            .lines()
            .find(|line| line.contains("certificate-authority-data"))
            .unwrap();
        let insecure = loaded(&text.replace(ca, "    insecure-skip-tls-verify: true"));
        assert!(insecure.insecure && !kubeconfig.insecure);
        for choice in both() {
            assert_eq!(
                send(choice, &insecure, &event("e")).map(|response| response.status),
                Ok(401),
                "{choice:?} {validity:?}"
            );
        }
    }
}

#[test]
fn a_server_with_an_address_of_version_6() {
    let options = Options {
        listen: "[::1]:0".parse().unwrap(),
        public: "::1".to_owned(),
        ..Options::default()
    };
    let server = ApiServer::start(options);
    assert!(server.url().starts_with("https://[::1]:"));
    for (n, choice) in both().into_iter().enumerate() {
        let response = send(choice, &bootstrap(&server), &event(&format!("event-{n}")));
        assert_eq!(
            response.map(|response| response.status),
            Ok(201),
            "{choice:?}"
        );
    }
}
