//! What a policy would refuse in a whole cluster: for each set of machines, the verdict on its next
//! node.
//!
//! [`Objects`] and a policy go in, a [`BootImageAudit`] comes out, which [`text`] shows to a
//! person: all of that is pure. What no object says stays unknown. [`input::fetch`] reads the objects
//! from the API server that [`input::login`] finds.

pub mod cluster;
pub mod input;
mod judge;
pub(crate) mod results;

pub(crate) use cluster::objects::Objects;
pub(crate) use cluster::target::is_okd;
pub(crate) use judge::own::{RefusedOwn, refused_own};
pub(crate) use results::{
    AuditChanges, BirthAudit, BootImageAudit, ClusterSkew, KnownBy, Oldest, OldestBirth, Origin,
    Provisioned, SetAudit, SetChange, SetException, Unread, full_name,
};

use crate::API_VERSION;
use crate::verdict::{PolicyInput, PolicyStatus};
use crate::version::ImageVersion;
use cluster::{kinds, settings, target};
use judge::image_versions::Lookup;
use judge::verdicts::judge;
use judge::{births, missing, node_classes, operator, sets, skew, upkeep, without_set};
use results::upkeep::{NEWEST, READ};
use results::{MAX_NOT_UNDERSTOOD, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// Makes the audit, for the release `asked` or else for the cluster's own. `unread` is what could
/// not be read; `takes_estimates` whether what an image probably is may refuse it.
pub(crate) fn audit(
    objects: &Objects,
    policy_input: &PolicyInput,
    asked: Option<&str>,
    mut unread: Vec<Unread>,
    takes_estimates: bool,
) -> BootImageAudit {
    let lookup = Lookup::new(objects);
    let release = asked.or(objects.release.as_deref());
    unread.extend(
        objects
            .not_understood
            .iter()
            .take(MAX_NOT_UNDERSTOOD)
            .cloned(),
    );
    unread.extend(
        missing::missing(objects)
            .into_iter()
            .take(MAX_NOT_UNDERSTOOD),
    );
    let update = asked.or(objects.next_update.as_deref());
    let mut policy = None;
    let mut sets: Vec<SetAudit> = Vec::new();
    let births: Vec<_> = lookup
        .versions()
        .map(|(name, version)| (format!("Node {name}"), version))
        .collect();
    let mut users = Vec::new();
    let all = sets::sets(&lookup)
        .into_iter()
        .chain(node_classes::sets(&lookup))
        .chain(without_set::without_set(&lookup));
    for set in all {
        if set.makes_nodes() {
            // A report is a claim, on which nobody should turn the cluster's updates off.
            let known = set.known.as_ref();
            let known = known.filter(|known| known.by != KnownBy::Report);
            let version = known.map(|known| known.version.clone());
            users.push((
                format!("{} {}", set.kind, full_name(&set.namespace, &set.name)),
                version,
            ));
        }
        let own = set.release.as_deref().or(objects.release.as_deref());
        let of_set = asked
            .map(|asked| target::meant_release(own, asked))
            .or_else(|| set.release.clone())
            .or_else(|| release.map(str::to_owned));
        let (row, verdict) = judge(
            set,
            &lookup,
            policy_input,
            of_set.as_deref(),
            takes_estimates,
        );
        // The limit may be another one for each set.
        policy = verdict.policy.map(|policy| PolicyStatus {
            limit_release: None,
            ..policy
        });
        sets.push(row);
    }
    sets.sort_by(|a, b| a.rank().cmp(&b.rank()));
    let (oldest, cluster) = oldest_and_cluster(objects, users);
    let oldest_image = oldest.as_ref();
    let oldest_image = oldest_image.map(|oldest| ImageVersion::parse(&oldest.boot_image.version));
    let (policy_differs_from_operator, doubt) = match policy_input {
        PolicyInput::Valid { policy, .. } => operator::differences(objects, policy, release),
        PolicyInput::Absent | PolicyInput::Invalid { .. } => (Vec::new(), None),
    };
    let mut warnings = warnings(objects, policy_input);
    warnings.extend(doubt);
    warnings.extend(operator::stream_note(
        objects,
        oldest_image.as_ref(),
        release,
    ));
    let keep_commands = keep_commands(&sets, objects);
    BootImageAudit {
        api_version: API_VERSION,
        kind: "BootImageAudit",
        origin: None,
        summary: Summary::of(sets.iter()),
        policy,
        release: release.map(str::to_owned),
        sets,
        oldest,
        oldest_birth: skew::oldest_birth(births),
        cluster,
        keep_commands,
        managed_boot_images: objects
            .managed
            .as_ref()
            .map(settings::ManagedBootImages::modes)
            .unwrap_or_default(),
        births: births::births(&lookup, policy_input, update),
        update: update.map(str::to_owned),
        provisioned: provisioned(objects),
        unread,
        warnings,
        policy_differs_from_operator,
        since: None,
    }
}

/// What has the cluster keep the images that it could keep, by kind.
fn keep_commands(sets: &[SetAudit], objects: &Objects) -> BTreeMap<&'static str, String> {
    let kinds: BTreeSet<&'static str> = sets
        .iter()
        .filter(|set| set.could_be_kept)
        .map(|set| set.kind)
        .collect();
    let command = |kind| Some((kind, upkeep::keep_command(kind, objects)?));
    kinds.into_iter().filter_map(command).collect()
}

/// The oldest boot image that sets make nodes from, and what the cluster says of it.
fn oldest_and_cluster(
    objects: &Objects,
    users: Vec<skew::User>,
) -> (Option<Oldest>, Option<ClusterSkew>) {
    let (version, mut oldest) = skew::oldest(users).unzip();
    let cluster = objects
        .skew
        .as_ref()
        .map(|skew| skew::cluster(skew, version.as_ref()));
    if let Some(oldest) = &mut oldest
        && (objects.is_single_node || !skew::is_understated(cluster.as_ref()))
    {
        (oldest.command, oldest.way_back) = (None, None);
    }
    (oldest, cluster)
}

/// What of the policy is ignored, and what was read and does not count.
fn warnings(objects: &Objects, policy: &PolicyInput) -> Vec<String> {
    let ignored = match policy {
        PolicyInput::Valid { policy, .. } => &*policy.warnings,
        PolicyInput::Absent | PolicyInput::Invalid { .. } => &[],
    };
    let ignored = ignored.iter().map(|warning| format!("policy: {warning}"));
    let of_another_day = judge::issues::of_another_day(policy);
    let operator = objects.conditions.degraded.iter();
    let operator =
        operator.map(|degraded| format!("MachineConfiguration cluster, {}", degraded.says()));
    let newer = objects
        .history
        .running_minor()
        .filter(|running| *running > NEWEST);
    let newer = newer.map(|running| {
        format!("OpenShift {running} is newer than the rules for who keeps images up to date, which were read on {READ}, up to {NEWEST}")
    });
    ignored
        .chain(of_another_day)
        .chain(operator)
        .chain(newer)
        .chain(objects.cluster_operator.iter().cloned())
        .chain(left_out(objects))
        .collect()
}

/// What was read and does not count.
fn left_out(objects: &Objects) -> Vec<String> {
    let counts = [
        (
            objects.windows_sets.len(),
            [
                "set of Windows machines is left out: it has no boot image of the cluster's",
                "sets of Windows machines are left out: they have no boot image of the cluster's",
            ],
        ),
        (
            objects.windows_nodes,
            [
                "Windows node is left out: it has no boot image of the cluster's",
                "Windows nodes are left out: they have no boot image of the cluster's",
            ],
        ),
        (
            objects.others.package_mode,
            [
                "RHEL node made of packages is left out: it has no boot image of the cluster's",
                "RHEL nodes made of packages are left out: they have no boot image of the cluster's",
            ],
        ),
        (
            objects.others.live_isos,
            [
                "BareMetalHost with a live ISO is left out: it installs nodes of other clusters",
                "BareMetalHosts with a live ISO are left out: it installs nodes of other clusters",
            ],
        ),
        (
            objects.others.hive_pools,
            [
                "MachinePool of Hive is left out: its nodes are of other clusters",
                "MachinePools of Hive are left out: their nodes are of other clusters",
            ],
        ),
        (
            objects.doubles,
            [
                "object was read more than once, and counts once",
                "objects were read more than once, and count once",
            ],
        ),
        (
            lost_alephs(objects),
            [
                "aleph file is left out: no Node of its name was read",
                "aleph files are left out: no Node of their name was read",
            ],
        ),
    ];
    let words = |(count, [one, more]): (usize, [&str; 2])| {
        let what = if count == 1 { one } else { more };
        (count > 0).then(|| format!("{count} {what}"))
    };
    let counts = counts.into_iter().filter_map(words);
    counts.chain(objects.others.os_images()).collect()
}

fn lost_alephs(objects: &Objects) -> usize {
    let nodes: BTreeSet<&str> = objects
        .nodes
        .iter()
        .map(|node| &*node.metadata.name)
        .collect();
    let names = objects.alephs.keys();
    names.filter(|name| !nodes.contains(name.as_str())).count()
}

/// Machines that were made and have not joined, the longest waiting first.
fn provisioned(objects: &Objects) -> Vec<Provisioned> {
    let waiting = |machine: &kinds::Machine| {
        Some(Provisioned {
            since: machine.provisioned.clone()?,
            namespace: machine.metadata.namespace.clone(),
            name: machine.metadata.name.clone(),
            set: machine.owner(),
        })
    };
    let mut all: Vec<Provisioned> = objects.machines.iter().filter_map(waiting).collect();
    all.sort();
    all
}
