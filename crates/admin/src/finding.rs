//! Objects that `audit` and `why` find something about, and how they are named (pure).

use skewguard_cluster::names::full_name;
use std::fmt;

/// An object that a finding is about: of a row of the audit, or of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject<'a> {
    pub(crate) kind: &'a str,
    /// Empty where the kind has none.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(kind: &'a str, namespace: &'a str, name: &'a str) -> Self {
        Self {
            kind,
            namespace,
            name,
        }
    }

    /// `namespace/name`, or the name alone.
    pub(crate) fn full_name(self) -> String {
        full_name(self.namespace, self.name)
    }

    /// As the command takes it: `namespace Kind/name`, without a namespace that is `shared`.
    pub(crate) fn title(self, shared: Option<&str>) -> String {
        let Self {
            kind,
            namespace,
            name,
        } = self;
        match namespace {
            "" => format!("{kind}/{name}"),
            own if Some(own) == shared => format!("{kind}/{name}"),
            own => format!("{own} {kind}/{name}"),
        }
    }
}

/// `Machine openshift-machine-api/worker-7`.
impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.full_name())
    }
}
