//! The MachineConfig that delivers everything (pure).

use super::binary::Binary;
use super::ignition::{Config, File, Spec};
use super::units;
use crate::lint::meant_pool;
use crate::policy::POLICY_PATH;
use crate::template::Object;
use crate::text::{is_dns_name, wrap};

/// The Ignition config that delivers a policy and, if there is a binary, the agent.
pub(crate) fn config(spec: Spec, policy: &[u8], binary: Option<&Binary>) -> Config {
    let mut files = vec![File::inline(POLICY_PATH, 0o644, policy)];
    let mut units = vec![];
    if let Some(binary) = binary {
        let path = binary.compression.path();
        files.push(File::inline(path, 0o644, &binary.packed));
        units = units::for_packed(binary);
    }
    Config::new(spec, files, units)
}

/// Checks a role, which is used as a label's value and in an object's name.
pub(crate) fn role(text: &str) -> Result<String, &'static str> {
    is_dns_name(text, 63).then(|| text.to_owned()).ok_or(
        "is not the name of a machine config pool: lower-case letters, digits, '-' and '.', at most 63, as in `oc get machineconfigpool`",
    )
}

/// The MachineConfig for the nodes of a role.
///
/// It has spec 3.0.0, which every Machine Config Operator from 4.6 on reads. For boot images with
/// Ignition 0.x the Machine Config Server translates it to 2.2.0.
pub(crate) fn machineconfig(role: &str, policy: &[u8], binary: Option<&Binary>) -> Object {
    let mut object = Object::new(include_str!("machineconfig.yaml"), &[("role", &role)]);
    object.set("spec/config", &config(Spec::OLDEST_3, policy, binary));
    object
}

/// Notes that a person should know about a pool before applying a MachineConfig to it.
pub(crate) fn warning(role: &str) -> Option<String> {
    match role {
        "worker" | "arbiter" => None,
        "master" => Some(
            "control plane nodes are installed before there is a release to compare with: only limits without `release` apply to them then."
                .to_owned(),
        ),
        custom => Some(format!(
            "{}new nodes of a custom pool boot with the worker pool's config unless their user data names /config/{custom}: then skewguard \
             is not there at the first boot, which is the one that matters. Deliver it to the role worker as well, or change the user data.",
            meant_pool(custom).map_or(String::new(), |meant| format!("--role {custom}: is it {meant}? If not, "))
        )),
    }
}

/// The comment at the head of the YAML.
pub(crate) fn header(facts: &[String]) -> String {
    let mut out = String::from(include_str!("header.txt"));
    for fact in facts {
        out.extend(["# ", &wrap(fact, 128).join("\n#   "), "\n"]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_names() {
        for good in ["worker", "master", "infra-2", "gpu.a100", "0"] {
            assert_eq!(role(good), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "Worker",
            "-a",
            "a-",
            "a..b",
            "a b",
            "a/b",
            "a\nb",
            &"a".repeat(64),
        ] {
            assert!(role(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_policy_alone_word_for_word() {
        assert_eq!(
            crate::forms::yaml(&machineconfig("worker", b"{}\n", None)),
            r#"apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-worker-skewguard
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  config:
    ignition:
      version: "3.0.0"
    storage:
      files:
        - path: /etc/skewguard/policy.json
          mode: 420
          overwrite: true
          contents:
            source: data:;base64,e30K
"#
        );
    }
}
