//! Comparisons that found no cause for concern, as `oc adm upgrade recommend` says it (pure).

use super::audit_request::release_of;
use crate::audit::results::set::by_object;
use crate::audit::{BootImageAudit, SetAudit};
use crate::operator;
use crate::verdict::Reason;
use skewguard_cluster::names::count;

/// A line each; only of what was compared.
pub(super) fn passed(audit: &BootImageAudit) -> Vec<String> {
    let sets = |is| whole(&audit.sets, is);
    let release = audit.release.as_deref();
    let within = sets(|set| set.reason == Reason::WithinLimits && set.would_be_allowed());
    let limits = (within > 0).then(|| {
        let all = count(sets(|_| true), "set");
        format!("limits of the policy: {within} of {all} within them")
    });
    let known = sets(|set| set.boot_image.is_some());
    let without = sets(|set| set.boot_image.is_some() && set.known_issues.is_empty());
    let issues = release.filter(|_| without > 0).map(|release| {
        let known = count(known, "set");
        format!("known issues with {release}: none found for {without} of {known} of a known image; what no object says, such as Secure Boot, was not compared")
    });
    let joined = audit.joined.iter().filter(|nodes| nodes.version.is_some());
    let joined: usize = joined.map(|nodes| nodes.count).sum();
    let update = audit.update.as_ref();
    let update = update.filter(|_| audit.broken.is_empty() && joined > 0);
    let update = update.map(|update| {
        let nodes = count(joined, "joined node");
        format!("known issues of the update to {update}: {nodes} of a known image have none")
    });
    let own = release.and_then(release_of).map(|release| release.minor);
    let own = own.filter(|own| operator::known().any(|known| known == *own));
    let is_same = audit.cluster.is_some() && audit.policy_differs_from_operator.is_empty();
    let operator = own
        .filter(|_| is_same)
        .map(|own| format!("Machine Config Operator of {own}: its limits are those of the policy"));
    (limits.into_iter())
        .chain(issues)
        .chain(update)
        .chain(operator)
        .collect()
}

/// Number of the sets whose rows all are so.
fn whole(rows: &[SetAudit], is: fn(&SetAudit) -> bool) -> usize {
    let sets = by_object(rows).into_iter();
    sets.filter(|rows| rows.iter().all(|row| is(row))).count()
}
