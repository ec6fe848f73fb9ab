//! What people read on the console of a node, and what becomes of the files that it is written to.

mod agetty;
mod hostile;
mod shown;
mod text;

use crate::policy;
use crate::verdict::{
    BootImage, Deployment, Facts, GateStatus, ImageSource, Machine, Override, OverrideSource,
    OverrideWord, PolicyInput, Target, TargetInput, Verdict, decide,
};
use crate::version::ImageVersion;

/// A node to decide about; the fields that the messages depend on.
struct Node<'a> {
    image: Option<&'a str>,
    platform: &'a str,
    pool: &'a str,
    release: &'a str,
    mode: &'a str,
    /// The rules of the one limit, as JSON without braces.
    rules: &'a str,
    help: &'a str,
}

impl Default for Node<'_> {
    fn default() -> Self {
        Self {
            image: Some("411.86.202308081056-0"),
            platform: "aws",
            pool: "worker",
            release: "4.21.3",
            mode: "Enforce",
            rules: r#""minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2""#,
            help: r#"{ "text": "Ask #platform on chat.", "url": "https://wiki.example.com/boot-images" }"#,
        }
    }
}

impl Node<'_> {
    /// As read on a real node.
    fn facts(&self) -> Facts {
        let policy = format!(
            r#"{{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "{}", "onUndetermined": "Refuse",
                "limits": [ {{ "release": "4.21", {} }} ], "help": {} }}"#,
            self.mode, self.rules, self.help
        );
        Facts {
            boot_image: self.image.map(|image| BootImage {
                version: ImageVersion::parse(image),
                source: ImageSource::Aleph,
                path: "/sysroot/.coreos-aleph-version.json".to_owned(),
            }),
            replaced_by: None,
            target: TargetInput::Read(Target {
                release: Some(self.release.to_owned()),
                pool: Some(crate::text::printable(self.pool)),
                machine_config: Some("rendered-worker-0a1b2c".to_owned()),
                os_image_url: None,
            }),
            deployment: Deployment::default(),
            policy: PolicyInput::Valid {
                path: policy::POLICY_PATH.to_owned(),
                digest: format!("sha256:{}", "0a1b2c3d".repeat(8)),
                policy: policy::parse(policy.as_bytes()).expect("the test's policy is one"),
            },
            r#override: None,
            platform: Some(crate::text::printable(self.platform)),
            machine: Machine::default(),
            warnings: Vec::new(),
        }
    }

    fn verdict(&self) -> Verdict {
        decide(&self.facts())
    }

    /// [`Node::verdict`], and then the gate could not hold it.
    fn verdict_not_held(&self, error: &str) -> Verdict {
        let gate = Some(GateStatus {
            held: false,
            units: Vec::new(),
            error: Some(error.to_owned()),
        });
        Verdict {
            gate,
            ..self.verdict()
        }
    }
}

/// A `skewguard=` kernel argument.
fn overridden(value: OverrideWord) -> Option<Override> {
    Some(Override {
        value,
        source: OverrideSource::KernelArgument,
    })
}
