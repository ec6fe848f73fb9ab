//! Which units a refused node holds (pure).

use super::always_held::{ALWAYS, always, is_always, is_never_held, is_template};
use super::unit_state::UnitState;
use crate::node::units::{PULL, is_unit_name};
use std::collections::{BTreeMap, BTreeSet};

/// Limit of the units that are held besides [`ALWAYS`]; a real node has fewer than twenty.
const ORDERED_MAX: usize = 256;

/// Limit of the units that systemd is asked about.
const LOOK_MAX: usize = 1024;

/// The units whose state is known, by name.
pub(crate) type UnitStates = BTreeMap<String, UnitState>;

/// The units to hold, and the questions to ask first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The units to hold. Those of [`ALWAYS`] come first.
    pub units: Vec<String>,
    /// Units that come after the rebase, too, beyond the most that are held.
    pub left_out: BTreeSet<String>,
    /// Units whose state has to be known first. The plan is whole when this is empty.
    pub ask: Vec<String>,
}

/// Finds the units to hold, from what is known: [`ALWAYS`], and every service that a healthy node
/// starts only after its rebase, because it is ordered after the rebase, directly or through other
/// units, or because the timer, path or socket that starts it is. And what the failure of a unit
/// that is held would start (`OnFailure=`). Orderings are not followed through targets, except for
/// the two that stand for the rebase: most of the system is ordered after `network-online.target`
/// or `multi-user.target`.
///
/// systemd keeps both ends of an ordering, so `Before` of a unit names every loaded unit that waits
/// for it. For units that are not loaded, `files` has the text of their files, by name.
pub(crate) fn plan(known: &UnitStates, files: &BTreeMap<String, String>) -> Plan {
    let mut survey = Search {
        known,
        plan: Plan {
            units: always(),
            ..Plan::default()
        },
        passed: BTreeSet::new(),
        free: BTreeSet::new(),
    };
    let (mut done, mut unread) = (0, files.iter().collect::<Vec<_>>());
    loop {
        while let Some(name) = survey.plan.units.get(done).cloned() {
            done += 1;
            survey.add_what_waits_for(&name);
        }
        let (units, passed) = (&survey.plan.units, &survey.passed);
        let comes_after =
            |name: &str| passed.contains(name) || units.iter().any(|unit| unit == name);
        let mut waiting = unread.iter();
        let waiting = waiting.position(|(name, text)| waits_for(name, text, comes_after));
        let Some(at) = waiting else {
            return survey.plan;
        };
        survey.add(unread.remove(at).0.clone());
    }
}

/// The search for what to hold, as far as it has come.
struct Search<'a> {
    known: &'a UnitStates,
    plan: Plan,
    /// Units that come after the rebase and are not held themselves: sockets, mounts and the like.
    passed: BTreeSet<String>,
    /// Units that nothing of [`NEVER`] needs.
    free: BTreeSet<String>,
}

impl<'a> Search<'a> {
    /// The state of a unit; `None` until systemd has said it, and once too many were asked for.
    fn state(&mut self, name: &str) -> Option<&'a UnitState> {
        let state = self.known.get(name);
        let ask = &mut self.plan.ask;
        if state.is_none()
            && self.known.len() + ask.len() < LOOK_MAX
            && !ask.iter().any(|asked| asked == name)
        {
            ask.push(name.to_owned());
        }
        state
    }

    /// Adds what the end of a unit that is held would start.
    fn add_what_waits_for(&mut self, name: &str) {
        if is_template(name) {
            return;
        }
        let Some(state) = self.state(name) else {
            return;
        };
        if name != PULL {
            self.add_what_comes_after(state);
        }
        for next in state.on_failure.iter().filter(|name| is_holdable(name)) {
            self.add(next.clone());
        }
    }

    /// Adds the services that are ordered after a unit, also through sockets, mounts and the like,
    /// and those that a timer, path or socket starts that is ordered so.
    fn add_what_comes_after(&mut self, state: &UnitState) {
        let mut todo = vec![state];
        while let Some(state) = todo.pop() {
            for next in &state.before {
                if is_holdable(next) {
                    self.add(next.clone());
                } else if is_passed(next) && self.passed.insert(next.clone()) {
                    let Some(state) = self.state(next) else {
                        continue;
                    };
                    for service in state.triggers.iter().filter(|name| is_holdable(name)) {
                        self.add(service.clone());
                    }
                    todo.push(state);
                }
            }
        }
    }

    /// Adds a unit to those that are held, unless something that is never held needs it.
    fn add(&mut self, name: String) {
        if self.plan.units.contains(&name) || self.plan.left_out.contains(&name) {
            return;
        }
        let needed = if is_template(&name) {
            Some(false)
        } else {
            self.is_needed(&name)
        };
        if needed == Some(true) {
            return;
        }
        if needed.is_none() || self.plan.units.len() >= ALWAYS.len() + ORDERED_MAX {
            self.plan.left_out.insert(name);
        } else {
            self.plan.units.push(name);
        }
    }

    /// One of [`NEVER`] cannot start without `unit`; `None` if that is not known: not yet,
    /// or because too much requires it.
    fn is_needed(&mut self, unit: &str) -> Option<bool> {
        let (mut todo, mut seen) = (vec![unit.to_owned()], BTreeSet::new());
        while let Some(name) = todo.pop() {
            if is_never_held(&name) {
                return Some(true);
            }
            // Targets are not followed, because they run nothing themselves; nor are units that are
            // held anyway.
            let counts =
                is_unit_name(&name) && (name.ends_with(".service") || name.ends_with(".socket"));
            if !counts
                || is_always(&name)
                || self.free.contains(&name)
                || !seen.insert(name.clone())
            {
                continue;
            }
            let required_by = self.state(&name)?.required_by.iter();
            todo.extend(required_by.filter(|name| !seen.contains(*name)).cloned());
        }
        self.free.extend(seen);
        Some(false)
    }
}

fn is_holdable(name: &str) -> bool {
    is_unit_name(name) && name.ends_with(".service") && !is_never_held(name)
}

/// Orderings are followed through this unit, although it is not held itself: most of these
/// are ordered before `basic.target`, which our own unit comes after.
fn is_passed(name: &str) -> bool {
    let kinds = [
        ".timer",
        ".path",
        ".socket",
        ".mount",
        ".automount",
        ".swap",
    ];
    is_unit_name(name) && kinds.iter().any(|kind| name.ends_with(kind))
}

/// The text of a unit's files says that `unit` waits for something that comes after the
/// rebase. systemd only names loaded units, but one that is not loaded yet can be started later, by
/// a timer or by hand.
fn waits_for(unit: &str, text: &str, comes_after: impl Fn(&str) -> bool) -> bool {
    let joined = text.replace("\\\n", " ");
    let mut after = joined.lines().filter_map(|line| {
        line.trim()
            .strip_prefix("After")?
            .trim_start()
            .strip_prefix('=')
    });
    is_holdable(unit)
        && after.any(|names| {
            names
                .split_whitespace()
                .any(|name| name != PULL && comes_after(name))
        })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
