//! Templates on vSphere that the Machine Config Operator keeps (pure): it imports the release's image and puts
//! it in the place of the template, under the same name.
//!
//! Neither that name nor a node that was made before says what is in it. vCenter does: the operator compares
//! the product version of the template (machine-config-operator `pkg/controller/bootimage`,
//! `vsphere_helpers.go`, `swapTemplate` and `createNewVMTemplate`, releases 4.20 to 5.1).

use crate::audit::results::set::SetKind;
use crate::audit::results::upkeep::{Keeper, Rule, Upkeep};
use crate::audit::set::Set;
use crate::audit::upkeep::candidate::Candidate;
use crate::audit::upkeep::judge_set;
use crate::audit::versions::image_versions::Lookup;
use crate::hops;
use crate::platform::Platform;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::{Image, WhyNot};
use skewguard_cluster::kinds::machine_configuration::ManagedBootImages;

/// Way to learn it.
pub(crate) const HELP: &str = "vCenter has the version as the template's product: `govc object.collect -s TEMPLATE summary.config.product.version`";

/// Tells whether the operator keeps the set's template, as the set's own or as that of another set: surely, or
/// maybe, where what says so was not read.
fn kept(set: &Set, lookup: &Lookup<'_>) -> Option<bool> {
    if set.image.platform != Some(Platform::VSphere) || set.image.value.is_none() {
        return None;
    }
    let is_silent = is_silent(lookup.objects);
    let own = set.upkeep.as_ref();
    let own = own.and_then(|upkeep| selected(upkeep, is_silent));
    let others = lookup.objects.machine_sets.iter().filter_map(|other| {
        let image = lookup.objects.image_of(&other.metadata, &other.source);
        let candidate = Candidate {
            kind: SetKind::MachineSet,
            set: other,
            image: &image,
        };
        is_same(&image, &set.image).then(|| judge_set(candidate, lookup).upkeep)
    });
    others
        .filter_map(|upkeep| selected(&upkeep, is_silent))
        .chain(own)
        .max()
}

/// Tells whether the operator selects a set: surely, or maybe.
fn selected(upkeep: &Upkeep, is_silent: bool) -> Option<bool> {
    match (upkeep.rule, upkeep.by) {
        (Rule::Selected, _) => Some(true),
        (Rule::NotSelected, _) if is_silent => Some(false),
        (_, Keeper::Unknown) => Some(false),
        _ => None,
    }
}

/// Tells whether MachineConfiguration says nothing, where the operator keeps templates unless it is told otherwise.
fn is_silent(objects: &Objects) -> bool {
    let is_default = |release| hops::is_updated_by_default(Platform::VSphere.id(), release);
    let managed = objects.managed.as_ref();
    managed.is_some_and(ManagedBootImages::is_silent)
        && objects.history.running_minor().is_none_or(is_default)
}

fn is_same(a: &Image, b: &Image) -> bool {
    fn name(image: &Image) -> Option<&str> {
        image.value.as_deref()?.rsplit('/').next()
    }
    a.platform == b.platform && name(a) == name(b) && a.site.agrees(&b.site)
}

/// The time at which the operator was through with the templates for the cluster's release; `None` while it
/// is not, and where no condition says so.
fn updated_at(objects: &Objects) -> Option<&str> {
    let (history, conditions) = (&objects.history, &objects.conditions);
    let is_busy = history.is_updating || conditions.is_progressing;
    let (updated, completed) = (
        conditions.updated.as_deref()?,
        history.completed.as_deref()?,
    );
    (!is_busy && updated >= completed).then_some(updated)
}

/// Adds what is known of a template that the operator keeps, and what the operator says of itself; nothing
/// and `false` for another image.
pub(crate) fn add(set: &mut Set, lookup: &Lookup<'_>) -> bool {
    let Some(is_sure) = kept(set, lookup) else {
        return false;
    };
    let known = || lookup.image_version(&set.image, &mut Vec::new());
    if !is_sure && known().is_none_or(|known| known.claim.is_some()) {
        return false;
    }
    set.is_swapped = true;
    let since = updated_at(lookup.objects);
    set.known = since.and_then(|since| lookup.made_since(&set.image, since));
    if set.known.is_none() {
        set.image.why_not = Some(match is_sure {
            true => WhyNot::Swapped,
            false => WhyNot::MayBeSwapped,
        });
        let says = lookup.objects.conditions.says.iter();
        set.notes
            .extend(says.map(|says| format!("MachineConfiguration cluster, {says}")));
    }
    true
}
