//! The Ignition version of user data (pure): all that is kept of a Secret.

use super::fields::str_at;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// A Secret without its content: what it is called, and the version of the Ignition config in it.
pub fn without_content(secret: &Value) -> Value {
    let field = |name: &str| secret.pointer(&format!("/metadata/{name}"));
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": field("name"), "namespace": field("namespace"),
            "uid": field("uid"), "resourceVersion": field("resourceVersion"),
        },
        "ignitionVersion": version(secret),
    })
}

/// `2.2.0`; `None` where there is no Ignition config.
fn version(secret: &Value) -> Option<String> {
    // What was read of it before.
    if let Some(version) = str_at(secret, "/ignitionVersion") {
        return is_version(version).then(|| version.to_owned());
    }
    let encoded =
        str_at(secret, "/data/userData").and_then(|data| BASE64_STANDARD.decode(data.trim()).ok());
    let plain = || Some(str_at(secret, "/stringData/userData")?.as_bytes().to_vec());
    let config: Value = serde_json::from_slice(&encoded.or_else(plain)?).ok()?;
    let version = str_at(&config, "/ignition/version")?;
    is_version(version).then(|| version.to_owned())
}

/// Nothing else of a Secret gets out, whatever stands in the place of a version.
fn is_version(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_number = |part: &str| {
        (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    parts.clone().count() == 3 && parts.all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            without_content(&secret)
        };
        let kept = secret(
            json!({ "data": { "userData": BASE64_STANDARD.encode(stub), "token": "c2VjcmV0" } }),
        );
        assert_eq!(
            kept,
            json!({ "apiVersion": "v1", "kind": "Secret", "ignitionVersion": "2.2.0",
                "metadata": { "name": "worker-user-data", "namespace": "n", "uid": null, "resourceVersion": null } })
        );
        assert_eq!(without_content(&kept), kept);
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
