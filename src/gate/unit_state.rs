//! A unit's state (pure).

use crate::node::units::{FIRSTBOOT, SKEWGUARD};

/// A unit as systemd shows it over D-Bus (org.freedesktop.systemd1(5), interface Unit).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UnitState {
    /// `LoadState`: `loaded`, `not-found`, `masked`, `error`, …
    pub load: String,
    /// `ActiveState`: `active`, `activating`, `inactive`, `failed`, …
    pub active: String,
    pub requires: Vec<String>,
    pub after: Vec<String>,
    pub before: Vec<String>,
    /// `RequiredBy`, `RequisiteOf` and `BoundBy`: the units that cannot start without it.
    pub required_by: Vec<String>,
    /// A job is queued or running for it.
    pub has_job: bool,
    /// `Triggers`: what a timer, path or socket starts.
    pub triggers: Vec<String>,
    /// `OnFailure`: what its failure starts, also where that is the failure of what it requires.
    pub on_failure: Vec<String>,
    /// `Id`: the unit that an alias like `default.target` stands for.
    pub id: String,
    /// `SubState`: `start`, `auto-restart`, …
    pub sub: String,
    /// `StateChangeTimestampMonotonic`: when it came into this state, in microseconds since the
    /// kernel started.
    pub since: u64,
    /// `NRestarts` of a service, where [`super::ask`] has asked it.
    pub restarts: u64,
}

impl UnitState {
    /// It can be started. A unit that is missing, masked or broken cannot be; if that
    /// changes, the drop-in applies.
    pub(crate) fn is_loaded(&self) -> bool {
        self.load == "loaded"
    }

    /// The dependency on us that it lacks to be held; `None` if it is held or cannot be started.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        self.lacks(SKEWGUARD)
    }

    /// The dependency on the rebase that it lacks on a node that was let through; `None` if it
    /// cannot start before the rebase.
    pub(super) fn missing_rebase(&self) -> Option<&'static str> {
        self.lacks(FIRSTBOOT)
    }

    fn lacks(&self, on: &str) -> Option<&'static str> {
        let names_it = |list: &[String]| list.iter().any(|name| name == on);
        match (names_it(&self.requires), names_it(&self.after)) {
            _ if !self.is_loaded() => None,
            // It would start although that fails.
            (false, _) => Some("Requires"),
            // It would not wait for that.
            (true, false) => Some("After"),
            (true, true) => None,
        }
    }

    /// It runs or may run: only `inactive` and `failed` units do not.
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.active.as_str(), "inactive" | "failed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn held_means_both_dependencies_for_what_can_be_started() {
        let with = |requires: &[&str], after: &[&str]| UnitState {
            load: "loaded".into(),
            active: "inactive".into(),
            requires: names(requires),
            after: names(after),
            ..UnitState::default()
        };
        let us = ["basic.target", "skewguard.service"];
        assert_eq!(with(&us, &us).missing(), None);
        assert_eq!(
            with(&us, &["skewguard-report.service"]).missing(),
            Some("After")
        );
        assert_eq!(
            with(&["skewguard.service.d"], &us).missing(),
            Some("Requires")
        );
        assert_eq!(with(&us, &us).missing_rebase(), Some("Requires"));
        assert_eq!(with(&[FIRSTBOOT], &us).missing_rebase(), Some("After"));
        assert_eq!(with(&[FIRSTBOOT], &[FIRSTBOOT]).missing_rebase(), None);
        assert_eq!(
            UnitState {
                load: "masked".into(),
                ..UnitState::default()
            }
            .missing(),
            None
        );
    }

    #[test]
    fn anything_not_at_rest_runs() {
        for (active, running) in [
            ("inactive", false),
            ("failed", false),
            ("active", true),
            ("activating", true),
            ("maintenance", true),
        ] {
            assert_eq!(
                UnitState {
                    active: active.into(),
                    ..UnitState::default()
                }
                .is_running(),
                running,
                "{active}"
            );
        }
    }
}
