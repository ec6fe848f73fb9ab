//! The user data in a Machine's Secret, as far as it is looked at (pure): the spec that it is written in,
//! what it asks for, and whom it trusts. Nothing of it is printed or serialised: what is said is
//! what follows from it.

use crate::kinds::certificate::{Validity, ders};
use crate::kinds::ignition_specs::Spec;
use crate::moment::Moment;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The largest user data that is read; clouds take 64 KiB at most.
const MAX: usize = 256 << 10;

/// The SHA-256 of a certificate.
pub type Fingerprint = [u8; 32];

/// The parts that are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserData {
    pub spec: Spec,
    /// The hosts that the config is fetched from.
    pub hosts: BTreeSet<String>,
    /// The pools that are asked for, by the last part of the URLs.
    pub pools: BTreeSet<String>,
    pub authorities: BTreeSet<Fingerprint>,
    /// The moment at which the last of these expires.
    pub until: Option<Moment>,
}

#[derive(Deserialize)]
struct Pointer {
    ignition: Ignition,
}

#[derive(Deserialize)]
struct Ignition {
    version: String,
    #[serde(default)]
    config: Config,
    #[serde(default)]
    security: Security,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    /// Of spec 3.
    merge: Vec<Resource>,
    /// Of spec 2.
    append: Vec<Resource>,
    replace: Option<Resource>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Security {
    tls: Tls,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tls {
    certificate_authorities: Vec<Resource>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resource {
    source: Option<String>,
}

impl UserData {
    /// From `data.userData` or `data.value` of a Secret, as the API has it.
    pub fn of_secret(encoded: &str) -> Option<Self> {
        if encoded.len() > MAX {
            return None;
        }
        let bytes = BASE64_STANDARD.decode(encoded.trim()).ok()?;
        let Pointer { ignition } = serde_json::from_slice(&bytes).ok()?;
        let Ignition {
            version,
            config,
            security,
        } = ignition;
        let sources = config.merge.into_iter().chain(config.append);
        let sources = sources.chain(config.replace);
        let (mut hosts, mut pools) = (BTreeSet::new(), BTreeSet::new());
        for url in sources.filter_map(|resource| resource.source) {
            let Some((_, rest)) = url.split_once("://") else {
                continue;
            };
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = authority.rsplit('@').next().unwrap_or_default();
            hosts.insert(
                host.rsplit_once(':')
                    .map_or(host, |(host, _)| host)
                    .to_owned(),
            );
            let path = path.split(['?', '#']).next().unwrap_or_default();
            if let Some(pool) = path.strip_prefix("config/") {
                pools.insert(crate::text::printable_up_to(pool, 253));
            }
        }
        let authorities = security.tls.certificate_authorities;
        let pems: Vec<String> = authorities
            .into_iter()
            .filter_map(|resource| data_url(&resource.source?))
            .collect();
        Some(Self {
            spec: Spec::parse(&version)?,
            hosts,
            pools,
            authorities: pems.iter().flat_map(|pem| fingerprints(pem)).collect(),
            until: pems.iter().filter_map(|pem| last_day(pem)).max(),
        })
    }
}

/// The text of a data URL.
fn data_url(url: &str) -> Option<String> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let bytes = if head.ends_with(";base64") {
        BASE64_STANDARD.decode(data).ok()?
    } else {
        percent_encoding::percent_decode_str(data).collect()
    };
    String::from_utf8(bytes).ok()
}

/// The fingerprint of each certificate of a PEM text.
pub fn fingerprints(pem: &str) -> BTreeSet<Fingerprint> {
    ders(pem).map(|der| Sha256::digest(der).into()).collect()
}

/// The moment at which the last certificate of a PEM text expires.
pub fn last_day(pem: &str) -> Option<Moment> {
    let dates = ders(pem).filter_map(|der| Validity::of(&der));
    dates.map(|dates| dates.until).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEM: &str = "-----BEGIN CERTIFICATE-----\nAQID\nBAU=\n-----END CERTIFICATE-----\n";

    fn secret(json: &str) -> Option<UserData> {
        UserData::of_secret(&BASE64_STANDARD.encode(json))
    }

    #[test]
    fn user_data_of_both_specs_is_read() {
        let source = format!(
            "data:text/plain;charset=utf-8;base64,{}",
            BASE64_STANDARD.encode(PEM)
        );
        for (key, version) in [("merge", "3.2.0"), ("append", "2.2.0")] {
            let found = secret(&format!(
                r#"{{"ignition":{{"config":{{"{key}":[{{"source":"https://api-int.c1.example.com:22623/config/worker","httpHeaders":[{{"name":"Authorization","value":"Bearer secret"}}]}}]}},"security":{{"tls":{{"certificateAuthorities":[{{"source":"{source}"}}]}}}},"version":"{version}"}}}}"#
            ))
            .unwrap();
            assert_eq!(found.spec, Spec::parse(version).unwrap());
            assert_eq!(found.hosts, ["api-int.c1.example.com".to_owned()].into());
            assert_eq!(found.pools, ["worker".to_owned()].into());
            assert_eq!(found.authorities, fingerprints(PEM));
            assert_eq!(found.authorities.len(), 1);
            assert!(!format!("{found:?}").contains("secret"));
        }
    }

    #[test]
    fn what_is_no_ignition_config_is_nothing() {
        for text in [
            "#cloud-config\n",
            "{}",
            r#"{"ignition":{"version":"next"}}"#,
            "",
        ] {
            assert_eq!(secret(text), None, "{text}");
        }
        assert_eq!(UserData::of_secret("*"), None);
        assert_eq!(UserData::of_secret(&"A".repeat(MAX + 1)), None);
        // A must-gather hides what a Secret has.
        assert_eq!(UserData::of_secret("MTcyNCBieXRlcyBsb25n"), None);
    }
}
