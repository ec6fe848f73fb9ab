//! Keepers of boot images: who keeps a set's up to date, and which stream of images is its own (pure).
//!
//! Facts: machine-config-operator `pkg/controller/bootimage` (`ms_helpers.go`, `cpms_helpers.go`, `platform_helpers.go`,
//! `aws_helpers.go`, `vsphere_helpers.go`) and `pkg/controller/common/featuregates.go`
//! (`CheckBootImagePlatform`) of the release branches 4.17 to 5.1; `pkg/osimagestream/streams.go`;
//! openshift/api `features/features.go` of each release branch, `machineconfiguration/v1`, `operator/v1`;
//! openshift/hypershift `NodePoolSpec.osImageStream`.

pub(crate) mod amis;
pub(crate) mod candidate;
pub(crate) mod swapped;
pub(crate) mod upkeep_rules;

use crate::audit::operator::skew;
use crate::audit::results::set::SetKind;
use crate::audit::results::upkeep::{Counted, Keeper, Rule, Upkeep};
use crate::audit::set::Set;
use crate::audit::upkeep::candidate::{Candidate, KEPT, can_be_managed};
use crate::audit::upkeep::upkeep_rules as rules;
use crate::audit::versions::image_versions::Lookup;
use crate::audit::versions::known_version::KnownVersion;
use crate::platform::Platform;
use crate::version::{OcpMinor, OsFamily, Release};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::cluster_version::History;
use skewguard_cluster::kinds::groups::MACHINE_API;
use skewguard_cluster::kinds::kind_table;
use skewguard_cluster::kinds::machine_configuration::Degraded;
use skewguard_cluster::kinds::stream::OwnImage;
use skewguard_cluster::kinds::target::parsed;
use std::time::Duration;

/// The stream of NodePools that are pinned to none, from OpenShift 5.0 on.
const OF_NODE_POOLS: &str = "rhel-10";

/// Keeper of a set's image, and what to know of it.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) upkeep: Upkeep,
    /// Something about the set stands against the operator, whether or not it is selected.
    pub(crate) is_left_alone: bool,
    pub(crate) note: Option<String>,
}

impl Judgement {
    /// Value of the set's field `managed`: only where the cluster says what it manages.
    pub(crate) fn managed(&self) -> Option<bool> {
        match (self.upkeep.by, self.upkeep.rule) {
            (Keeper::MachineConfigOperator, _) => Some(true),
            (_, Rule::ClusterAPI) => None,
            (Keeper::Nobody, _) => Some(false),
            (Keeper::Release | Keeper::Unknown, _) => None,
        }
    }
}

/// The keeper of this set's image: by the cluster's own release, whatever is asked about.
pub(crate) fn judge_set(candidate: Candidate<'_>, lookup: &Lookup<'_>) -> Judgement {
    let objects = lookup.objects;
    if let Some(upkeep) = rules::elsewhere(candidate, objects) {
        return Judgement {
            is_left_alone: true,
            note: None,
            upkeep,
        };
    }
    let resource = kind_table::row(MACHINE_API, candidate.kind.name()).map_or("", |row| row.plural);
    let managed = objects.managed.as_ref();
    let selected =
        managed.and_then(|managed| managed.selects(MACHINE_API, resource, &candidate.set.labels));
    let is_selected = selected == Some(true);
    let obstacle = rules::obstacle(candidate, lookup, is_selected);
    let upkeep = by_selection(selected, obstacle.as_ref(), candidate, objects);
    let note = match (upkeep.by, upkeep.rule) {
        (_, Rule::Degraded) => Some(format!(
            "managedBootImages selects it, and {}",
            upkeep.reason
        )),
        _ => obstacle
            .as_ref()
            .and_then(|obstacle| note(objects, candidate, obstacle, is_selected)),
    };
    Judgement {
        is_left_alone: obstacle.is_some_and(|obstacle| obstacle.by == Keeper::Nobody),
        note,
        upkeep,
    }
}

/// The keeper by what is selected, and by what stands against it.
fn by_selection(
    selected: Option<bool>,
    obstacle: Option<&Upkeep>,
    candidate: Candidate<'_>,
    objects: &Objects,
) -> Upkeep {
    let degraded = objects.conditions.degraded.as_ref();
    let name = &candidate.set.metadata.name;
    let names = degraded.map(|degraded| degraded.names(candidate.kind.name(), name));
    match (selected, obstacle) {
        // What the operator says of itself counts more than what its rules look like.
        (Some(true), _) if names == Some(Some(true)) => is_degraded(degraded),
        (Some(true), None) if names == Some(None) => is_degraded(degraded),
        (Some(true), None) => Upkeep::new(
            Keeper::MachineConfigOperator,
            Rule::Selected,
            "managedBootImages selects it",
        ),
        (Some(true), Some(obstacle)) => obstacle.clone(),
        (_, Some(obstacle)) if obstacle.by == Keeper::Nobody => obstacle.clone(),
        (Some(false), _) => Upkeep::nobody(
            Rule::NotSelected,
            "managedBootImages of MachineConfiguration cluster does not select it",
        ),
        (None, _) => Upkeep::new(
            Keeper::Unknown,
            Rule::SelectionUnknown,
            if objects.managed.is_some() {
                "managedBootImages of MachineConfiguration cluster selects by more than labels"
            } else {
                "MachineConfiguration cluster was not read"
            },
        ),
    }
}

fn is_degraded(degraded: Option<&Degraded>) -> Upkeep {
    let says = degraded.map(Degraded::says).unwrap_or_default();
    Upkeep::nobody(
        Rule::Degraded,
        format!("the Machine Config Operator says that it fails, {says}"),
    )
}

/// Replaces the keeper, where the image is older than the one that it keeps.
pub(crate) fn checked(
    mut set: Set,
    known: Option<&KnownVersion>,
    own: &[&OwnImage],
    objects: &Objects,
) -> Set {
    let Some(upkeep) = known.and_then(|known| behind(&set, known, own, objects)) else {
        return set;
    };
    set.managed = None;
    set.upkeep = Some(upkeep);
    set
}

/// The note on a set that the operator keeps, or should.
pub(crate) fn note_of(upkeep: &Upkeep) -> Option<String> {
    match (upkeep.by, upkeep.rule) {
        (Keeper::MachineConfigOperator, _) => {
            Some("the cluster keeps this image up to date (managedBootImages)".to_owned())
        }
        (_, Rule::Behind) => Some(upkeep.reason.clone()),
        _ => None,
    }
}

/// A set that the operator should keep, and whose image is older than the release's own for longer
/// than a day: the two contradict each other.
fn behind(set: &Set, known: &KnownVersion, own: &[&OwnImage], objects: &Objects) -> Option<Upkeep> {
    let is_kept = set.upkeep_rule() == Some(Rule::Selected);
    let history = &objects.history;
    if !is_kept || history.is_updating || objects.conditions.is_progressing {
        return None;
    }
    let newest = own.first()?.version();
    let is_older = |own: &&OwnImage| skew::is_older(&known.version, &own.version());
    if !own.iter().all(is_older) {
        return None;
    }
    let completed = history.completed.as_deref()?;
    let seen = (objects.heartbeat().or(objects.read_at))?.text();
    if !is_over_a_day(completed, &seen) {
        return None;
    }
    Some(Upkeep::new(
        Keeper::Unknown,
        Rule::Behind,
        format!(
            "managedBootImages selects it, and its image, {}, is still older than the release's own, {newest}, since the update of {completed}",
            known.version
        ),
    ))
}

fn is_over_a_day(since: &str, now: &str) -> bool {
    let times = [since, now].map(|time| humantime::parse_rfc3339_weak(time).ok());
    let [Some(since), Some(now)] = times else {
        return true;
    };
    now.duration_since(since)
        .is_ok_and(|time| time > Duration::from_secs(24 * 3600))
}

/// Note on a set that the operator leaves alone: where it is expected to keep its image, or
/// has a value for the oldest boot image.
fn note(
    objects: &Objects,
    candidate: Candidate<'_>,
    obstacle: &Upkeep,
    is_selected: bool,
) -> Option<String> {
    let reason = &obstacle.reason;
    if obstacle.by == Keeper::Unknown {
        return is_selected.then(|| {
            format!("whether the cluster keeps this image up to date (managedBootImages) is unknown: {reason}")
        });
    }
    let skew = objects.skew.as_ref().filter(|skew| skew.mode != "None");
    let of_object = matches!(obstacle.rule, Rule::Owned | Rule::Stream);
    if !is_selected && (skew.is_none() || !of_object) {
        return None;
    }
    let alone = format!("the Machine Config Operator leaves its image alone, because {reason}");
    let is_counted = is_selected && skew.is_some_and(|skew| skew.mode == "Automatic");
    let counts = is_counted.then(|| counts(candidate, obstacle.rule, objects));
    Some(match (skew, counts) {
        (None, _) => alone,
        // Since 4.22 what is skipped counts, but for some.
        (_, Some(Counted::Yes)) => format!(
            "{alone}; then it takes the release that the cluster was installed as for the oldest boot image"
        ),
        (_, Some(Counted::FromSomePatch)) => format!(
            "{alone}; up to {WITHOUT_SECURITY_TYPES} its value for the oldest boot image did not cover this set, and from a later release on it takes \
             the release that the cluster was installed as: which one is not known"
        ),
        (_, None | Some(Counted::No)) => {
            format!("{alone}: its value for the oldest boot image does not cover this set")
        }
    })
}

/// The last release that was built before security types counted in 4.22: #6459 is of 2026-08-26, this
/// release of 2026-08-21 (openshift/cincinnati-graph-data). The notes of 4.22.12 to 4.22.15 do not name it.
const WITHOUT_SECURITY_TYPES: Release = Release {
    minor: OcpMinor {
        major: 4,
        minor: 22,
    },
    patch: 11,
};

/// Tells whether a set that is skipped by this rule resets the operator's value to the installed release
/// (`reconcileSkipped`; PR 6162, in 4.22).
fn counts(candidate: Candidate<'_>, rule: Rule, objects: &Objects) -> Counted {
    match rule.counts() {
        _ if candidate.kind != SetKind::MachineSet => Counted::No,
        Counted::FromSomePatch => security_type_counts(objects),
        counts => counts,
    }
}

/// #6448, in 5.0; #6459 in 4.22. The value that the operator has says more than the release.
fn security_type_counts(objects: &Objects) -> Counted {
    match parsed(objects.history.running.as_deref()) {
        _ if is_reset(objects) => Counted::Yes,
        Some(running) if running.minor > WITHOUT_SECURITY_TYPES.minor => Counted::Yes,
        Some(running) if running > WITHOUT_SECURITY_TYPES => Counted::FromSomePatch,
        _ => Counted::No,
    }
}

/// Tells whether the operator's value is the release that the cluster was installed as.
fn is_reset(objects: &Objects) -> bool {
    let History {
        installed, running, ..
    } = &objects.history;
    let value = objects
        .skew
        .as_ref()
        .and_then(|skew| skew.ocp_version.as_ref());
    value.is_some() && value == installed.as_ref() && installed != running
}

/// The stream that a set names, else its pool, else the cluster's own. A custom pool that names
/// none has that of the workers.
pub(crate) fn stream(
    objects: &Objects,
    of_set: Option<&str>,
    pool: Option<&str>,
) -> Option<String> {
    let of_pool = |pool: &str| objects.config_pools.get(pool)?.stream.as_deref();
    of_set
        .or_else(|| pool.and_then(of_pool))
        .or_else(|| {
            let is_custom = pool.is_some_and(|pool| pool != "master");
            is_custom.then(|| of_pool("worker")).flatten()
        })
        .or(objects.default_stream.as_deref())
        .map(str::to_owned)
}

/// Adds the stream of a NodePool's next node at this release, and what to know of it.
pub(crate) fn at_release(mut set: Set, release: Option<&str>) -> Set {
    if set.kind != SetKind::NodePool {
        return set;
    }
    if set.pinned.is_some() {
        set.image.stream.clone_from(&set.pinned);
        return set;
    }
    let Some(release) = parsed(release).filter(|release| release.minor >= STREAMS) else {
        return set;
    };
    if release.minor.major < 5 {
        set.image.stream = Some(KEPT.to_owned());
        return set;
    }
    let own = parsed(set.release.as_deref());
    let is_now = own.is_some_and(|own| own.minor == release.minor);
    // Its status keeps what most nodes had last (openshift/hypershift #9372).
    let stream = set.runc.map(|runc| if runc { KEPT } else { OF_NODE_POOLS });
    let stream = stream.map(str::to_owned);
    let note = unpinned(stream.as_deref(), set.runc, is_now);
    set.notes.push(note);
    set.image.stream = stream;
    set
}

/// The first release of several streams.
const STREAMS: OcpMinor = OcpMinor {
    major: 4,
    minor: 22,
};

/// Note on the stream of a NodePool that is pinned to none (openshift/hypershift `osstream.go`,
/// `usesRuncRuntime`; the API refuses rhel-10 to rhel-9).
fn unpinned(stream: Option<&str>, runc: Option<bool>, is_now: bool) -> String {
    let why = match (stream, runc) {
        (None, _) => format!(
            "from OpenShift 5.0 on its nodes are of {OF_NODE_POOLS}, or of {KEPT} if its config asks for runc: ConfigMaps of spec.config were not read"
        ),
        (Some(stream), Some(true)) if stream == KEPT => {
            format!("its config asks for runc, which falls back to {KEPT}")
        }
        (Some(stream), _) => format!("from OpenShift 5.0 on its nodes are of {stream}"),
    };
    let pin = match is_now {
        true => "",
        false => "; to stay on rhel-9 pin it before 5.0: rhel-10 cannot be taken back later",
    };
    format!("no stream is pinned (spec.osImageStream): {why}{pin}")
}

/// Adds whether the cluster could keep this set's image, and does not because it is not asked to; and whether the
/// operator converts its user data once it does so, since 4.19.
pub(crate) fn with_capabilities(mut set: Set, objects: &Objects) -> Set {
    let can_be_managed = |release: Option<&str>| {
        !set.is_left_alone
            && set.owner.is_none()
            && can_be_managed(set.kind, set.image.platform, release)
    };
    // There an Infrastructure may say that the operator keeps none.
    let needs_it = matches!(
        set.image.platform,
        Some(Platform::Azure | Platform::VSphere)
    );
    let is_read = objects.has_infrastructure || !needs_it;
    // What would be written is the cluster's own image.
    let mut own = objects.own_images.iter();
    let is_of_okd = !objects.is_okd() && own.any(|own| is_okds(set.image.platform, own));
    let could_be_kept = set.upkeep_rule() == Some(Rule::NotSelected)
        && is_read
        && !is_of_okd
        && !objects.is_azure_stack
        && can_be_managed(objects.release.as_deref());
    let history = &objects.history;
    set.is_converted =
        history.running_minor() >= Some(CONVERTS) && can_be_managed(history.running.as_deref());
    set.could_be_kept = could_be_kept;
    set
}

/// Tells whether it is an image of this platform, and of OKD.
fn is_okds(platform: Option<Platform>, own: &OwnImage) -> bool {
    let family = own.version().os_family();
    let is_of_okd = family.is_some_and(|family| family != OsFamily::Rhcos);
    Some(own.platform) == platform && is_of_okd
}

/// The first release whose operator converts user data.
const CONVERTS: OcpMinor = OcpMinor {
    major: 4,
    minor: 19,
};

/// The command with which the cluster keeps the images of all sets of this kind.
pub(crate) fn keep_command(kind: SetKind, objects: &Objects) -> Option<String> {
    let resource = kind_table::row(MACHINE_API, kind.name())?.plural;
    let patch = objects.managed.as_ref()?.patch(MACHINE_API, resource);
    let patch = patch.to_string();
    let is_plain = patch
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~') && byte != b'\'');
    is_plain.then(|| format!("oc patch machineconfiguration cluster --type merge -p '{patch}'"))
}
