//! The core through its public interface: versions, policies, the decision; and the commands that
//! need no node.

mod alert_expression;
mod known_issues;
mod machine_rules;
mod policy_choose;
mod policy_command;
mod policy_docs;
mod policy_lint;
mod policy_parse;
mod policy_schema;
mod policy_yaml;
mod verdict_rules;
mod verdict_table;
mod version;

use crate::cli::{self, Io};
use crate::policy::Policy;
use crate::verdict::{
    BootImage, Deployment, Facts, ImageSource, Machine, PolicyInput, Target, TargetInput,
};
use crate::version::ImageVersion;
use std::process::ExitCode;

/// Runs one command in this process: exit status, standard output, standard error.
fn run(args: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once("skewguard")
        .chain(args.iter().copied())
        .map(Into::into);
    let exit = cli::run(
        args,
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    );
    let status = (0..=255)
        .find(|n| ExitCode::from(*n) == ExitCode::from(exit))
        .unwrap();
    (
        status,
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}

/// The first column of the list of real boot images.
fn image_versions() -> Vec<String> {
    let list = std::fs::read_to_string("tests/data/boot-images.tsv").unwrap();
    list.lines()
        .skip(1)
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

/// A worker at its first boot, of this image and to run this release.
fn node(image: &str, release: &str, policy: Policy) -> Facts {
    let version = ImageVersion::parse(image);
    Facts {
        boot_image: Some(BootImage {
            version,
            source: ImageSource::Aleph,
            path: "/sysroot/.coreos-aleph-version.json".to_owned(),
        }),
        replaced_by: None,
        target: TargetInput::Read(Target {
            release: Some(release.to_owned()),
            pool: Some("worker".to_owned()),
            ..Target::default()
        }),
        deployment: Deployment::default(),
        policy: PolicyInput::Valid {
            path: "/etc/skewguard/policy.json".to_owned(),
            digest: "sha256:00".to_owned(),
            policy,
        },
        r#override: None,
        platform: None,
        machine: Machine::default(),
        warnings: Vec::new(),
    }
}
