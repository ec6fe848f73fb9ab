//! The files that were named, and the audit of a cluster by them.

use super::args::Args;
use super::audit_request::release_of;
use super::exceptions::{self, Exceptions};
use crate::audit::results::fleet::FleetAudit;
use crate::audit::results::upkeep::READ;
use crate::audit::{BootImageAudit, Objects, Origin, Unread, audit, path};
use crate::cli::inputs::{PRINTED, named_policy, read_text, starter_of};
use crate::clock;
use crate::verdict::PolicyInput;
use skewguard_cluster::add::add_streams;
use skewguard_cluster::file::name as named;
use skewguard_cluster::kinds::kind::Purpose;
use skewguard_cluster::moment::Moment;
use skewguard_core::command::{Failure, Io, read_once};
use std::path::PathBuf;
use std::time::SystemTime;

/// The files that were named, read once.
pub(super) struct Auditor<'a> {
    pub(super) args: &'a Args,
    policy: Option<PolicyInput>,
    exceptions: Option<Exceptions>,
    /// Images of other releases.
    pub(super) streams: Objects,
}

impl<'a> Auditor<'a> {
    pub(super) fn load(args: &'a Args) -> Result<Self, Failure> {
        let files = (args.from.iter())
            .chain(&args.streams)
            .chain(&args.kubeconfig)
            .chain(&args.since)
            .chain(&args.exceptions)
            .chain(&args.policy);
        read_once(files.map(PathBuf::as_path))?;
        let exceptions = args.exceptions.as_deref();
        let now = Moment::of(SystemTime::now());
        let mut streams = Objects::new(Purpose::Sets, now, args.from.is_empty());
        for path in &args.streams {
            let file = named(path);
            let mut add = |text: String| add_streams(&mut streams, &file, &text);
            read_text(path)
                .and_then(|text| add(text).map_err(|why| format!("{why}; {PRINTED}")))
                .map_err(|why| format!("--streams {file}: {why}"))?;
        }
        Ok(Self {
            args,
            policy: args.policy.as_deref().map(named_policy).transpose()?,
            exceptions: exceptions.map(exceptions::load).transpose()?,
            streams,
        })
    }

    /// # Errors
    /// There are several clusters, and an exception names none.
    pub(super) fn check(&self, is_list: bool) -> Result<(), Failure> {
        let named = self.exceptions.as_ref().filter(|_| is_list);
        let named = named.map_or(Ok(()), Exceptions::name_clusters);
        Ok(named.map_err(|why| format!("--exceptions: {why}"))?)
    }

    /// Warns of exceptions in clusters that are not among these.
    pub(super) fn warn_of_unknown_clusters(
        &self,
        fleet: &FleetAudit,
        is_list: bool,
        io: &mut Io<'_>,
    ) {
        // A file for many clusters may be used for each of them.
        let is_named = |name: &str| fleet.items.iter().any(|cluster| cluster.is_named(name));
        let is_said = |all: &&Exceptions| {
            is_list || all.name_clusters().is_ok() && !all.clusters().any(is_named)
        };
        let exceptions = self.exceptions.iter().filter(is_said);
        let names = exceptions.flat_map(Exceptions::clusters);
        for name in names.filter(|name| !is_named(name)) {
            io.say(format_args!(
                "warning: --exceptions: there is no cluster {name} among these"
            ));
        }
    }

    /// Audits what was read of a cluster, which these contexts name.
    ///
    /// # Errors
    /// There is nothing that makes nodes: what was not read.
    pub(super) fn audit(
        &self,
        objects: Objects,
        (unread, origin): (Vec<Unread>, Origin),
        contexts: &[String],
    ) -> Result<BootImageAudit, Vec<Unread>> {
        let args = self.args;
        let policy = self
            .policy
            .clone()
            .unwrap_or_else(|| starter_of(objects.is_okd()));
        let target = args.target.as_deref();
        let mut result = audit(&objects, &policy, target, unread, args.estimates);
        if result.sets.is_empty() {
            return Err(result.unread);
        }
        let place = &mut result.origin;
        place.server = origin.server.or(place.server.take());
        place.context = origin.context;
        place.time = clock::time(SystemTime::now());
        result.warnings.extend(old_rules(&place.time));
        if let Some(exceptions) = &self.exceptions {
            exceptions.apply(&mut result, contexts);
        }
        if let Some(to) = args.path.as_deref().and_then(release_of) {
            match path(&objects, &policy, args.estimates, to, &result) {
                Ok(path) => result.path = Some(path),
                Err(why) => result.no_path = Some(format!("--path {}: {why}", to.minor)),
            }
        }
        Ok(result)
    }
}

/// A warning of rules that are older than a year.
fn old_rules(now: &str) -> Option<String> {
    let year = |time: &str| time.get(..4)?.parse::<u16>().ok();
    let (read, now_year) = (year(READ)?, year(now)?);
    let is_old = now_year > read + 1 || now_year == read + 1 && now.get(4..10) > READ.get(4..10);
    is_old.then(|| {
        format!("who keeps images up to date is said by rules that were read on {READ}, more than a year ago: a newer oc skewguard knows better")
    })
}

#[cfg(test)]
mod tests {
    use super::old_rules;

    #[test]
    fn rules_are_old_after_a_year() {
        for (now, is) in [
            ("2026-11-26T00:00:00Z", false),
            ("2027-08-20T00:00:00Z", false),
            ("2027-08-21T00:00:00Z", true),
            ("2028-01-01T00:00:00Z", true),
        ] {
            assert_eq!(old_rules(now).is_some(), is, "{now}");
        }
    }
}
