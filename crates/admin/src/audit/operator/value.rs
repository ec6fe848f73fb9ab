//! The value that the Machine Config Operator will take for the oldest boot image (pure): from the release on that
//! asks for one, where its own updates of images do not say it (`hops.json`).

use crate::audit::SetAudit;
use crate::audit::cluster::machine_configuration::ManagedBootImages;
use crate::audit::results::set::SetKind;
use crate::audit::upkeep::candidate::parsed;
use crate::hops;
use crate::operator::{self, Operator};
use crate::platform::Platform;
use skewguard_cluster::cluster::Cluster as Objects;
use std::collections::BTreeSet;

/// A value that blocks the update from the release on which it can be set.
#[derive(Debug, Clone)]
pub(crate) struct Blocks {
    /// The release that the cluster was installed as.
    pub(crate) installed: String,
    /// The release on which the operator takes it, and on which another one can be set.
    pub(crate) on: String,
    pub(crate) minimum: String,
}

/// The value, where it is below the operator's minimum. What the cluster says itself counts more: nothing then.
pub(crate) fn blocks(objects: &Objects, sets: &[SetAudit]) -> Option<Blocks> {
    let on = hops::has_value_on()?;
    let running = objects.history.running_minor()?;
    let has_own = objects.skew.is_some() || running > on;
    let is_without = objects.is_okd() || objects.is_single_node || objects.is_hosted;
    let installed = objects.history.installed.clone()?;
    let Operator::Limits(limits) = operator::for_release(on) else {
        return None;
    };
    let is_below = parsed(Some(&installed))? < limits.minimum_ocp;
    if has_own || is_without || !is_below || is_managed(objects, sets)? {
        return None;
    }
    Some(Blocks {
        installed,
        on: on.to_string(),
        minimum: limits.minimum_ocp.to_string(),
    })
}

/// Tells whether the operator's updates of images say the value; `None` where that is not known.
fn is_managed(objects: &Objects, sets: &[SetAudit]) -> Option<bool> {
    let [platform] = <[&str; 1]>::try_from(platforms(sets)).ok()?;
    if platform == Platform::Metal.id() {
        // What is installed with the release's own image has no such value.
        let fields = objects.provisioning.as_ref()?.image_fields();
        return Some(!fields.contains(&"spec.provisioningOSDownloadURL"));
    }
    let is_default = hops::says_value(platform) && !objects.is_azure_stack;
    let managed = objects.managed.as_ref().map(ManagedBootImages::modes);
    let mode = managed.and_then(|modes| modes.get("machinesets").copied());
    // Before the release that changes the default the status says None where nobody asked for it.
    let is_asked = objects
        .managed
        .as_ref()
        .is_some_and(ManagedBootImages::has_entries);
    Some(is_default && (!is_asked || mode == Some("All")))
}

/// The platforms of the cluster's own sets.
pub(crate) fn platforms(sets: &[SetAudit]) -> Vec<&str> {
    let own = sets.iter().filter(|set| set.kind != SetKind::NodePool);
    let all: BTreeSet<&str> = own.filter_map(|set| set.platform.as_deref()).collect();
    all.into_iter().collect()
}

impl Blocks {
    /// Writes it as a warning of the audit.
    pub(crate) fn says(&self) -> String {
        let Self {
            installed,
            on,
            minimum,
        } = self;
        format!(
            "on {on} the Machine Config Operator takes {installed}, the release that the cluster was installed as, for its oldest boot image (bootImageSkewEnforcement, \
             mode Manual): that is below its minimum {minimum}, and blocks updates beyond {on}, until the value is set, which is not possible before {on}"
        )
    }
}
