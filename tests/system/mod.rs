//! The edges against the real thing: file systems that are full or read-only, journald's socket,
//! devices.
//!
//! Mounts and the socket's fixed path need a world of their own: a test of that kind starts itself
//! again in one ([`crate::support::world::alone`]).

mod files;
mod journal;

use crate::policy;
use crate::verdict::{
    BootImage, Deployment, Facts, ImageSource, Machine, PolicyInput, Target, TargetInput, Verdict,
    decide,
};
use crate::version::ImageVersion;

/// A node of OCP 4.11 under the policy that `limits` and `more` make, as JSON.
fn verdict(image: Option<&str>, more: &str, limits: &str) -> Verdict {
    let policy = format!(
        r#"{{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", {more} "limits": [ {{ {limits} }} ] }}"#
    );
    decide(&Facts {
        boot_image: image.map(|image| BootImage {
            version: ImageVersion::parse(image),
            source: ImageSource::Aleph,
            path: "/sysroot/.coreos-aleph-version.json".to_owned(),
        }),
        replaced_by: None,
        target: TargetInput::Read(Target {
            release: Some("4.21.3".to_owned()),
            pool: Some("worker".to_owned()),
            machine_config: None,
            os_image_url: None,
        }),
        deployment: Deployment::default(),
        policy: PolicyInput::Valid {
            path: policy::POLICY_PATH.to_owned(),
            digest: format!("sha256:{}", "0a1b2c3d".repeat(8)),
            policy: policy::parse(policy.as_bytes()).expect("the test's policy is one"),
        },
        r#override: None,
        platform: Some("aws".to_owned()),
        machine: Machine::default(),
        warnings: Vec::new(),
    })
}

fn refused() -> Verdict {
    verdict(
        Some("411.86.202308081056-0"),
        "",
        r#""minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2""#,
    )
}

fn allowed() -> Verdict {
    verdict(
        Some("418.94.202511191518-0"),
        "",
        r#""minimumOCPVersion": "4.13.0""#,
    )
}
