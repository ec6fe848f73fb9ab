//! The value that the Machine Config Operator will take for the oldest boot image (pure): from the release on that
//! asks for one, where its own updates of images do not say it (`hops.json`).

use crate::audit::results::set::{SetAudit, SetKind};
use crate::hops;
use crate::operator::{self, Operator};
use crate::platform::Platform;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::machine_configuration::ManagedBootImages;
use skewguard_cluster::kinds::target::parsed;
use std::collections::BTreeSet;

/// A value that blocks the update from the release on which it can be set.
#[derive(Debug, Clone)]
pub(crate) struct Blocks {
    /// The release that the cluster was installed as, in words.
    installed: String,
    /// False where what was read leaves it open.
    pub(crate) is_certain: bool,
    /// The release on which the operator takes it, and on which another one can be set.
    pub(crate) on: String,
    minimum: String,
}

/// The value, where it is below the operator's minimum. What the cluster says itself counts more: nothing then.
pub(crate) fn blocks(objects: &Objects, sets: &[SetAudit]) -> Option<Blocks> {
    let on = hops::has_value_on()?;
    let running = objects.history.running_minor()?;
    let has_own = objects.skew.is_some() || running > on;
    let is_without = objects.is_okd() || objects.is_single_node || objects.is_hosted;
    let installed = parsed(objects.history.installed.as_deref());
    let Operator::Limits(limits) = operator::for_release(on) else {
        return None;
    };
    let is_managed = is_managed(objects, sets);
    let is_new = installed.is_some_and(|installed| installed >= limits.minimum_ocp);
    if has_own || is_without || is_new || is_managed == Some(true) {
        return None;
    }
    let unread = "the release installed, which ClusterVersion's history does not say";
    Some(Blocks {
        installed: installed.map_or_else(
            || unread.to_owned(),
            |installed| format!("{installed}, the release installed"),
        ),
        is_certain: installed.is_some() && is_managed.is_some(),
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
            ..
        } = self;
        let [takes, blocks] = match self.is_certain {
            true => ["takes", "that is below its minimum"],
            false => ["may take", "that may be below its minimum"],
        };
        format!(
            "on {on} the Machine Config Operator {takes} {installed}, for its oldest boot image (bootImageSkewEnforcement, \
             mode Manual): {blocks} {minimum}, and blocks updates beyond {on}, until the value is set, which is not possible before {on}"
        )
    }

    /// The reason for a step before the update to the release of this name.
    pub(crate) fn because(&self, name: &str) -> String {
        let Self { installed, on, .. } = self;
        let [takes, blocks] = match self.is_certain {
            true => ["takes", "blocks"],
            false => ["may take", "may block"],
        };
        format!("it {takes} {installed}, and {blocks} {name} until then; not possible before {on}")
    }
}
