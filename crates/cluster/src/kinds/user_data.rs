//! The user data in a Machine's Secret, as far as it is looked at (pure): the spec that it is written in,
//! what it asks for, and whom it trusts. Nothing of it is printed or serialised: what is said is
//! what follows from it.

use crate::kinds::certificate::{Validity, ders};
use crate::kinds::ignition_specs::Spec;
use crate::lenient::{self, Raw};
use crate::moment::Moment;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use url::Url;

/// The largest user data that is read; clouds take 64 KiB at most.
const MAX: usize = 256 << 10;

/// The SHA-256 of a certificate.
pub type Fingerprint = [u8; 32];

/// User data, as far as it is kept of a Secret: its Ignition version, and of a pointer config whom it asks
/// and trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserData {
    pub spec: Spec,
    /// The hosts that the config is fetched from.
    pub hosts: BTreeSet<String>,
    /// The pools that are asked for, by the last part of the URLs.
    pub pools: BTreeSet<String>,
    pub authorities: Authorities,
}

/// Certificates of CAs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorities {
    pub fingerprints: BTreeSet<Fingerprint>,
    /// The moment at which the last of them expires.
    pub until: Option<Moment>,
}

impl Authorities {
    /// Adds the certificates of a PEM text.
    pub fn add(&mut self, pem: &str) {
        self.fingerprints.extend(fingerprints(pem));
        self.until = self.until.max(last_day(pem));
    }
}

/// A Secret as the API has it, or what was kept of one before.
#[derive(Default, Deserialize)]
struct SecretObject {
    ignition_version: Option<String>,
    #[serde(rename = "data.userData|data.value")]
    encoded: Option<Raw<String>>,
    #[serde(rename = "stringData.userData|stringData.value")]
    plain: Raw<String>,
}

/// A Secret without its content: what it is called, and the version of the Ignition config in it.
pub fn without_content(secret: &Value, read: Option<&UserData>) -> Value {
    let field = |name: &str| secret.pointer(&format!("/metadata/{name}"));
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": field("name"), "namespace": field("namespace"),
            "uid": field("uid"), "resourceVersion": field("resourceVersion"),
        },
        "ignitionVersion": read.map(|user_data| user_data.spec.version()),
    })
}

/// The spec of a version such as `2.2.0`; nothing else of a Secret gets out, whatever stands in its place.
fn spec(version: &str) -> Option<Spec> {
    let is_version = |text: &&str| {
        let mut parts = text.split('.');
        let is_number = |part: &str| {
            (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        parts.clone().count() == 3 && parts.all(is_number)
    };
    let plain = version.split('-').next().filter(is_version)?;
    Spec::parse(plain)
}

/// A pointer config.
#[derive(Default, Deserialize)]
struct Pointer {
    #[serde(rename = "ignition.version")]
    version: String,
    /// Of spec 3.
    #[serde(rename = "ignition.config.merge")]
    merge: Vec<Resource>,
    /// Of spec 2.
    #[serde(rename = "ignition.config.append")]
    append: Vec<Resource>,
    #[serde(rename = "ignition.config.replace")]
    replace: Resource,
    #[serde(rename = "ignition.security.tls.certificateAuthorities")]
    authorities: Vec<Resource>,
}

#[derive(Default, Deserialize)]
struct Resource {
    source: Raw<String>,
}

impl UserData {
    /// Of a Secret; `None` where it has no Ignition config.
    pub fn of(secret: &Value) -> Option<Self> {
        let object: SecretObject = lenient::known(secret);
        if let Some(version) = object.ignition_version {
            return Some(Self::of_spec(spec(&version)?));
        }
        match object.encoded {
            Some(Raw(encoded)) => Self::of_encoded(&encoded),
            None => Self::of_config(object.plain.0.as_bytes()),
        }
    }

    fn of_spec(spec: Spec) -> Self {
        Self {
            spec,
            hosts: BTreeSet::new(),
            pools: BTreeSet::new(),
            authorities: Authorities::default(),
        }
    }

    fn of_encoded(encoded: &str) -> Option<Self> {
        if encoded.len() > MAX {
            return None;
        }
        Self::of_config(&BASE64_STANDARD.decode(encoded.trim()).ok()?)
    }

    /// Of an Ignition config.
    fn of_config(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX {
            return None;
        }
        let config: Pointer = lenient::known(&serde_json::from_slice(bytes).ok()?);
        let mut found = Self::of_spec(spec(&config.version)?);
        let sources = config.merge.iter().chain(&config.append);
        for resource in sources.chain([&config.replace]) {
            found.asks(&resource.source.0);
        }
        for pem in (config.authorities.iter()).filter_map(|resource| data_url(&resource.source.0)) {
            found.authorities.add(&pem);
        }
        Some(found)
    }

    /// Adds a URL that the config is fetched from.
    fn asks(&mut self, url: &str) {
        let Ok(url) = Url::parse(url) else { return };
        self.hosts.extend(url.host_str().map(str::to_owned));
        if let Some(pool) = url.path().strip_prefix("/config/") {
            self.pools.insert(crate::text::printable_up_to(pool, 253));
        }
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
fn fingerprints(pem: &str) -> BTreeSet<Fingerprint> {
    ders(pem).map(|der| Sha256::digest(der).into()).collect()
}

/// The moment at which the last certificate of a PEM text expires.
fn last_day(pem: &str) -> Option<Moment> {
    let dates = ders(pem).filter_map(|der| Validity::of(&der));
    dates.map(|dates| dates.until).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEM: &str = "-----BEGIN CERTIFICATE-----\nAQID\nBAU=\n-----END CERTIFICATE-----\n";

    fn secret(json: &str) -> Option<UserData> {
        of_data(&BASE64_STANDARD.encode(json))
    }

    fn of_data(data: &str) -> Option<UserData> {
        UserData::of(&json!({ "data": { "userData": data } }))
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
            assert_eq!(found.authorities.fingerprints, fingerprints(PEM));
            assert_eq!(found.authorities.fingerprints.len(), 1);
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
        assert_eq!(of_data("*"), None);
        assert_eq!(of_data(&"A".repeat(MAX + 1)), None);
        // A must-gather hides what a Secret has.
        assert_eq!(of_data("MTcyNCBieXRlcyBsb25n"), None);
    }

    #[test]
    fn nothing_but_the_version_is_kept() {
        let stub =
            r#"{"ignition":{"version":"2.2.0","config":{"append":[{"source":"https://secret"}]}}}"#;
        let secret = |content: Value| {
            let mut secret = json!({ "kind": "Secret", "type": "Opaque",
                "metadata": { "name": "worker-user-data", "namespace": "n", "annotations": { "a": "secret" } } });
            secret
                .as_object_mut()
                .unwrap()
                .extend(content.as_object().unwrap().clone());
            without_content(&secret, UserData::of(&secret).as_ref())
        };
        let kept = secret(
            json!({ "data": { "userData": BASE64_STANDARD.encode(stub), "token": "c2VjcmV0" } }),
        );
        assert_eq!(
            kept,
            json!({ "apiVersion": "v1", "kind": "Secret", "ignitionVersion": "2.2.0",
                "metadata": { "name": "worker-user-data", "namespace": "n", "uid": null, "resourceVersion": null } })
        );
        assert_eq!(without_content(&kept, UserData::of(&kept).as_ref()), kept);
        assert_eq!(
            secret(json!({ "stringData": { "userData": stub } }))["ignitionVersion"],
            "2.2.0"
        );
        for other in [
            "",
            "{",
            r#"{"ignition":{}}"#,
            r#"{"ignition":{"version":"s3cr3t"}}"#,
        ] {
            let kept = secret(json!({ "data": { "userData": BASE64_STANDARD.encode(other) } }));
            assert_eq!(kept["ignitionVersion"], Value::Null, "{other}");
        }
    }
}
