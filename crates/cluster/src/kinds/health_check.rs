//! Health checks of Machines (pure).

use super::machine::Machine;
use super::metadata::Metadata;
use crate::lenient::is_there;
use crate::moment::go_duration;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A MachineHealthCheck of either API.
#[derive(Debug, Default, Deserialize)]
pub struct HealthCheck {
    /// The API group.
    #[serde(skip)]
    pub group: &'static str,
    pub metadata: Metadata,
    /// It deletes no Machine: another controller switches its host off and on, or replaces it.
    #[serde(
        rename = "metadata.annotations.machine.openshift.io/remediation-strategy|\
                  spec.remediationTemplate|spec.remediation.templateRef",
        deserialize_with = "is_there"
    )]
    pub is_external: bool,
    #[serde(rename = "spec.nodeStartupTimeout")]
    timeout: Option<String>,
    /// It is of cluster.x-k8s.io/v1beta2.
    #[serde(rename = "spec.checks", deserialize_with = "is_there")]
    pub has_checks: bool,
    #[serde(rename = "spec.checks.nodeStartupTimeoutSeconds")]
    seconds: Option<u64>,
    #[serde(rename = "spec.unhealthyConditions")]
    conditions: Vec<UnhealthyCondition>,
    #[serde(rename = "spec.selector.matchLabels")]
    labels: BTreeMap<String, String>,
    #[serde(rename = "spec.selector.matchExpressions")]
    expressions: Vec<Expression>,
}

/// A condition of a Node, and how long it may last.
#[derive(Debug, Default, Deserialize)]
struct UnhealthyCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    timeout: String,
}

/// An expression of a selector.
#[derive(Debug, Default, Deserialize)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl Expression {
    /// Tells if it surely holds for a Machine: an operator that is not known does not.
    fn holds(&self, machine: &Machine) -> bool {
        let own = machine.labels.get(&self.key);
        let is_listed = own.is_some_and(|own| self.values.contains(own));
        match &*self.operator {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => own.is_some(),
            "DoesNotExist" => own.is_none(),
            _ => false,
        }
    }
}

/// Seconds where a check says none: machine-api-operator, `defaultNodeStartupTimeout`; the Cluster API
/// has the same.
const DEFAULT: u64 = 600;

impl HealthCheck {
    /// In seconds, as it says it; 0 is never.
    pub fn timeout(&self) -> Option<u64> {
        let timeout = || go_duration(self.timeout.as_deref()?);
        self.seconds.or_else(timeout)
    }

    /// The same, or what it is without.
    pub fn startup_timeout(&self) -> u64 {
        self.timeout().unwrap_or(DEFAULT)
    }

    /// `Ready False for 300s`: conditions of Nodes for which it ends their machines.
    pub fn conditions(&self) -> Vec<String> {
        let all = self.conditions.iter();
        all.map(|one| format!("{} {} for {}", one.kind, one.status, one.timeout))
            .collect()
    }

    /// Tells if it surely looks after a Machine. An empty selector takes all.
    pub fn covers(&self, machine: &Machine) -> bool {
        self.group == machine.group
            && self.metadata.namespace == machine.metadata.namespace
            && self.expressions.iter().all(|one| one.holds(machine))
            && self
                .labels
                .iter()
                .all(|(name, value)| machine.labels.get(name) == Some(value))
    }
}
