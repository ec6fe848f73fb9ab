//! One MachineConfig with everything in it (pure).

use super::binary::Binary;
use super::ignition::{Config, File, Source, Spec};
use super::size::{self, Sizes};
use super::tree::Node;
use super::units;
use crate::policy::POLICY_PATH;

/// What is delivered: a policy, and with a binary the agent that acts on it.
pub fn config(policy: &[u8], binary: Option<&Binary>) -> Config {
    let mut files = vec![File { path: POLICY_PATH, mode: 0o644, source: Source::Inline(policy.to_vec()) }];
    let mut units = vec![];
    if let Some(binary) = binary {
        files.push(File { path: units::PACKED_PATH, mode: 0o644, source: Source::Inline(binary.gz.clone()) });
        units = units::for_packed(binary.arch);
    }
    Config { files, units }
}

/// A MachineConfig for one pool.
///
/// Spec 3.0.0 is the oldest that expresses it and every Machine Config Operator since 4.6 reads it; to a boot image with Ignition 0.x the
/// Machine Config Server serves it translated to 2.2.0.
#[derive(Debug, Clone)]
pub struct MachineConfig {
    /// The pool's role.
    pub role: String,
    /// What it delivers.
    pub config: Config,
}

/// Not the name of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not the name of a machine config pool: lower-case letters, digits, '-' and '.', at most 63, as in `oc get machineconfigpool`")]
pub struct RoleError;

/// Checks a role: a label value that can be part of an object's name (RFC 1123 subdomain).
pub fn role(text: &str) -> Result<String, RoleError> {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fits = (1..=63).contains(&text.len())
        && text.chars().all(|c| edge(c) || c == '-' || c == '.')
        && text.starts_with(edge)
        && text.ends_with(edge)
        && !text.contains("..");
    if fits { Ok(text.to_owned()) } else { Err(RoleError) }
}

impl MachineConfig {
    /// Its name: after the cluster's own (00, 01), among the customisations (99).
    pub fn name(&self) -> String {
        format!("99-{}-skewguard", self.role)
    }

    /// The object.
    pub fn node(&self) -> Node {
        Node::Map(vec![
            ("apiVersion", Node::text("machineconfiguration.openshift.io/v1")),
            ("kind", Node::text("MachineConfig")),
            (
                "metadata",
                Node::Map(vec![
                    ("name", Node::text(self.name())),
                    ("labels", Node::Map(vec![("machineconfiguration.openshift.io/role", Node::text(self.role.as_str()))])),
                ]),
            ),
            ("spec", Node::Map(vec![("config", self.config.node(Spec::OLDEST_3))])),
        ])
    }

    /// How large it is, beside the `rendered` one it becomes part of.
    pub fn sizes(&self, rendered: Option<usize>) -> Sizes {
        Sizes { object: self.node().to_json().len(), packed: size::packed_size(&self.config), rendered }
    }

    /// What a person should know about this pool before applying it.
    pub fn warning(&self) -> Option<String> {
        match self.role.as_str() {
            "worker" | "arbiter" => None,
            "master" => Some(
                "control plane nodes are installed before there is a release to compare with: only limits without `release` apply to them then."
                    .to_owned(),
            ),
            custom => Some(format!(
                "new nodes of a custom pool boot with the worker pool's config unless their user data names /config/{custom}: then skewguard \
                 is not there at the first boot, which is the one that matters. Deliver it to the role worker as well, or change the user data."
            )),
        }
    }
}

/// The comment at the head of the YAML.
pub fn header(facts: &[String]) -> String {
    let mut out = String::from(
        "# Apply it with `oc apply --server-side -f -`, or `oc create -f -`. Plain `oc apply` keeps a copy of the object in an annotation, which
# is limited to 262,144 bytes, and fails where the binary is in it.
#
# A new MachineConfig reboots the pool's existing nodes, one after another, unless the cluster's node disruption policy exempts these
# files and units FIRST (OpenShift 4.17 and later):
#   skewguard render manifests --node-disruption-policy | oc apply --server-side --field-manager=skewguard -f -
#
",
    );
    for fact in facts {
        for line in wrap(fact, 130) {
            out.push_str("# ");
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// Breaks a sentence into lines of at most `width` characters, between words; later ones are indented.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
            line.push_str("  ");
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_names() {
        for good in ["worker", "master", "infra-2", "gpu.a100", "0"] {
            assert_eq!(role(good), Ok(good.to_owned()));
        }
        for bad in ["", "Worker", "-a", "a-", "a..b", "a b", "a/b", "a\nb", &"a".repeat(64)] {
            assert_eq!(role(bad), Err(RoleError), "{bad:?}");
        }
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("aaa bbb ccc ddd", 7), ["aaa bbb", "  ccc", "  ddd"]);
        assert_eq!(wrap("a", 7), ["a"]);
    }

    #[test]
    fn the_policy_alone_word_for_word() {
        let object = MachineConfig { role: "worker".into(), config: config(b"{}\n", None) };
        assert_eq!(
            object.node().to_yaml(),
            r#"apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: "99-worker-skewguard"
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
            source: "data:;base64,e30K"
"#
        );
        let sizes = object.sizes(None);
        assert_eq!((sizes.object, sizes.packed), (object.node().to_json().len(), 0));
    }
}
