//! The pointer: an addition to user data that makes Ignition fetch the binary at a machine's first
//! boot (pure).
//!
//! A MachineSet's user data is a small Ignition config that points to the Machine Config Server.
//! With this addition it also fetches the full binary, so the MachineConfig only has to carry the
//! policy. Existing nodes are not touched: user data is read at the first boot only.

use super::ignition::{Config, File, Spec};
use super::units;
use super::url::FetchUrl;
use crate::text;
use serde_json::{Value, json};
use std::fmt;

/// Largest user data that is read, in bytes.
pub(crate) const MAX_USER_DATA: u64 = 1 << 20;
/// Largest user data that AWS takes, in bytes: the lowest limit of all platforms.
pub(crate) const AWS_USER_DATA_MAX: usize = 16_384;

const REPLACED: &str = "is replaced by another config (ignition.config.replace), and with it whatever is added here; add it to that one";
const HASH: &str =
    "--sha512 is not a SHA-512, 128 hexadecimal digits; get it with: sha512sum skewguard";

/// The remedy for what is no user data.
pub(crate) const EXTRACT: &str = "write it with: oc extract -n openshift-machine-api secret/worker-user-data --keys=userData --to=-";

fn not_ignition(why: impl fmt::Display) -> String {
    format!("is not an Ignition config ({why}); {EXTRACT}")
}

fn not_fetched(why: &str) -> String {
    format!("--url is not one that Ignition fetches: {why}")
}

/// A binary to fetch.
#[derive(Debug, Clone)]
pub(crate) struct Pointer {
    pub(crate) url: FetchUrl,
    sha512: String,
}

impl Pointer {
    /// Checks URL and hash. The digits may follow `sha512-`.
    pub(crate) fn new(url: &str, sha512: &str) -> Result<Self, String> {
        let url = FetchUrl::parse(url).map_err(|why| not_fetched(&why))?;
        let digits = sha512.strip_prefix("sha512-").unwrap_or(sha512);
        if digits.len() != 128 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(HASH.to_owned());
        }
        Ok(Self {
            url,
            sha512: digits.to_ascii_lowercase(),
        })
    }

    /// The addition alone, as a config in this spec.
    pub(crate) fn config(&self, spec: Spec) -> Result<Config, String> {
        if spec < self.url.oldest_spec() {
            return Err(not_fetched("gs came with spec 3.2.0"));
        }
        let file = File::fetched(units::FETCHED_PATH, 0o755, self.url.as_str(), &self.sha512);
        Ok(Config::new(spec, vec![file], units::for_fetched()))
    }

    /// The user data with the addition, in its own spec. An earlier addition is replaced.
    pub(crate) fn merged(&self, user_data: &[u8]) -> Result<String, String> {
        let mut whole: Value = serde_json::from_slice(user_data).map_err(not_ignition)?;
        let config = self.config(spec_of(&whole)?)?;
        if whole
            .pointer("/ignition/config/replace/source")
            .is_some_and(|source| !source.is_null())
        {
            return Err(REPLACED.to_owned());
        }
        let ours = serde_json::to_value(config).map_err(not_ignition)?;
        for (section, list, key) in [("storage", "files", "path"), ("systemd", "units", "name")] {
            let entries = child(&mut whole, section, json!({}))
                .and_then(|section| child(section, list, json!([])))
                .and_then(Value::as_array_mut)
                .ok_or_else(|| not_ignition(format!("{section}.{list} is not a list")))?;
            let added = ours.pointer(&format!("/{section}/{list}"));
            for entry in added.and_then(Value::as_array).into_iter().flatten() {
                entries.retain(|before| before.get(key) != entry.get(key));
                entries.push(entry.clone());
            }
        }
        Ok(whole.to_string())
    }
}

/// A field of an object, set to `empty` if it is absent or null; `None` if `parent` is not an
/// object.
fn child<'a>(parent: &'a mut Value, name: &str, empty: Value) -> Option<&'a mut Value> {
    let field = parent.as_object_mut()?.entry(name).or_insert(Value::Null);
    if field.is_null() {
        *field = empty;
    }
    Some(field)
}

/// The spec of user data. Specs 3.x later than ours are accepted: they have the same fields.
fn spec_of(user_data: &Value) -> Result<Spec, String> {
    let version = user_data
        .pointer("/ignition/version")
        .and_then(Value::as_str);
    let version = version.ok_or_else(|| not_ignition("it has no ignition.version"))?;
    Spec::parse(version).ok_or_else(|| {
        format!(
            "has Ignition spec {:?}; known are 2.2.0 and 3.x.0",
            text::printable(version)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::json;

    const USER_DATA: &str = r#"{"ignition":{"config":{"merge":[{"source":"https://api-int.c.example.com:22623/config/worker"}]},"security":{"tls":{"certificateAuthorities":[{"source":"data:,ca"}]}},"version":"3.2.0"}}"#;

    fn pointer() -> Pointer {
        Pointer::new("https://mirror.example.com/skewguard", &"aB".repeat(64)).unwrap()
    }

    #[test]
    fn the_addition_fetches_with_a_sha512_in_lower_case() {
        let value: Value =
            serde_json::from_str(&json(&pointer().config(Spec::V3(0)).unwrap())).unwrap();
        assert_eq!(
            value["storage"]["files"][0].to_string(),
            format!(
                r#"{{"contents":{{"source":"https://mirror.example.com/skewguard","verification":{{"hash":"sha512-{}"}}}},"mode":493,"overwrite":true,"path":"/usr/local/bin/skewguard"}}"#,
                "ab".repeat(64)
            )
        );
        let names: Vec<&str> = value["systemd"]["units"]
            .as_array()
            .unwrap()
            .iter()
            .map(|unit| unit["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, [units::SERVICE, units::REPORT_SERVICE]);
    }

    #[test]
    fn user_data_keeps_what_it_has_and_gets_ours_once() {
        let once = pointer().merged(USER_DATA.as_bytes()).unwrap();
        let value: Value = serde_json::from_str(&once).unwrap();
        let before: Value = serde_json::from_str(USER_DATA).unwrap();
        assert_eq!(value["ignition"], before["ignition"]);
        assert_eq!(value["storage"]["files"].as_array().unwrap().len(), 1);
        assert_eq!(
            value["systemd"]["units"].as_array().unwrap().len(),
            units::for_fetched().len()
        );
        assert_eq!(pointer().merged(once.as_bytes()).unwrap(), once);
    }

    #[test]
    fn user_data_of_spec_2_gets_an_addition_of_spec_2_beside_what_is_there() {
        let old = r#"{"ignition":{"version":"2.2.0"},"storage":{"files":[{"filesystem":"root","path":"/etc/a"}]},"systemd":null}"#;
        let value: Value =
            serde_json::from_str(&pointer().merged(old.as_bytes()).unwrap()).unwrap();
        assert_eq!(value["storage"]["files"][0]["path"], "/etc/a");
        assert_eq!(value["storage"]["files"][1]["filesystem"], "root");
        assert_eq!(
            value["systemd"]["units"].as_array().unwrap().len(),
            units::for_fetched().len()
        );
    }

    #[test]
    fn later_specs_are_kept_and_unknown_ones_refused() {
        assert!(
            pointer()
                .merged(br#"{"ignition":{"version":"3.6.0"}}"#)
                .unwrap()
                .contains(r#""version":"3.6.0""#)
        );
        for bad in ["2.3.0", "4.0.0", "3.1.0-experimental", "x\u{1b}"] {
            let json = serde_json::json!({"ignition": {"version": bad}}).to_string();
            let want = format!(
                "has Ignition spec {:?}; known are 2.2.0 and 3.x.0",
                text::printable(bad)
            );
            assert_eq!(pointer().merged(json.as_bytes()), Err(want));
        }
    }

    #[test]
    fn refuses_user_data_that_is_replaced() {
        let with = |source: &str| {
            format!(
                r#"{{"ignition":{{"version":"3.1.0","config":{{"replace":{{"source":{source}}}}}}}}}"#
            )
        };
        assert_eq!(
            pointer().merged(with(r#""https://h/other""#).as_bytes()),
            Err(REPLACED.to_owned())
        );
        // As some tools write the field where it is not used.
        assert!(pointer().merged(with("null").as_bytes()).is_ok());
    }

    #[test]
    fn refuses_what_is_no_user_data() {
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"ignition":{"version":"3.0.0"},"storage":[]}"#,
            r#"{"ignition":{"version":"3.0.0"},"systemd":{"units":{}}}"#,
        ] {
            let said = pointer().merged(bad.as_bytes()).unwrap_err();
            assert!(
                said.starts_with("is not an Ignition config ("),
                "{bad}: {said}"
            );
        }
    }

    #[test]
    fn refuses_what_ignition_cannot_fetch() {
        let hash = "0".repeat(128);
        let schemes = "--url is not one that Ignition fetches: it takes https, http, s3, tftp and, from spec 3.2.0, gs";
        assert_eq!(Pointer::new("ftp://h/x", &hash).unwrap_err(), schemes);
        for bad in ["", "sha256-00", &"0".repeat(127), &"g".repeat(128)] {
            assert_eq!(Pointer::new("https://h/x", bad).unwrap_err(), HASH, "{bad}");
        }
        let gs = Pointer::new("gs://bucket/x", &hash).unwrap();
        assert_eq!(
            gs.config(Spec::V3(1)).unwrap_err(),
            "--url is not one that Ignition fetches: gs came with spec 3.2.0"
        );
        assert!(gs.config(Spec::V3(2)).is_ok());
    }
}
