//! The audit of a whole cluster by a policy: for each set of machines, the verdict on its next
//! node.
//!
//! [`Objects`] and a policy go in, a [`BootImageAudit`] comes out, which the forms show to a
//! person: all of that is pure. What no object says stays unknown. [`skewguard_cluster`]
//! reads the objects.

mod installed_from;
mod operator;
mod own;
mod path;
mod remedy;
pub(crate) mod results;
mod rows;
mod set;
mod sets;
mod upkeep;
mod verdict;
mod versions;

pub(crate) use operator::operator_settings;
pub(crate) use own::{RefusedOwn, refused_own};
pub(crate) use path::path;
pub(crate) use results::installed_from::InstalledFrom;
pub(crate) use results::set::{KnownBy, SetAudit, SetException, SetKind};
pub(crate) use results::{
    AuditChanges, BootImageAudit, ClusterSkew, Oldest, OldestNode, Origin, Provisioned, SetChange,
    Unread,
};
pub(crate) use skewguard_cluster::cluster::Cluster as Objects;

use crate::API_VERSION;
use crate::lint::own_release::refuses_no_hosted_node;
use crate::trouble::tell;
use crate::verdict::PolicyInput;
use operator::{skew, value};
use results::upkeep::{NEWEST, READ};
use results::{AUDIT, MAX_NOT_UNDERSTOOD, Summary, some_of};
use rows::{Question, Rows, rows};
use sets::missing;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::machine_configuration::ManagedBootImages;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::links::Links;
use skewguard_cluster::moment::Moment;
use std::collections::{BTreeMap, BTreeSet};
use verdict::valid;
use versions::image_versions::Lookup;

/// Makes the audit, for the release `asked` or else for the cluster's own. `unread` is what could
/// not be read; `takes_estimates` whether what an image probably is may refuse it.
pub(crate) fn audit(
    objects: &Objects,
    policy_input: &PolicyInput,
    asked: Option<&str>,
    unread: Vec<Unread>,
    takes_estimates: bool,
) -> BootImageAudit {
    let lookup = Lookup::new(objects);
    let release = asked.or(objects.release.as_deref());
    let update = asked.or(objects.next_update.as_deref());
    let question = Question {
        asked,
        until: None,
        takes_estimates,
    };
    let Rows {
        mut sets,
        policy,
        users,
        lacks_machines,
    } = rows(&lookup, policy_input, question);
    sets.sort_by(|a, b| a.rank().cmp(&b.rank()));
    let unread = all_unread(&lookup, unread);
    let is_whole = lookup.has_nodes() && !lacks_machines && !hides_any(&unread);
    let (oldest, cluster) = oldest_and_cluster(objects, users, is_whole);
    let (policy_differs_from_operator, doubt) = valid(policy_input)
        .map(|policy| operator::differences(objects, policy, release))
        .unwrap_or_default();
    let mut warnings = warnings(&lookup, policy_input, doubt);
    warnings.extend(operator::stream_note(objects, oldest.as_ref(), release));
    warnings.extend(value::blocks(objects, &sets).map(|blocks| blocks.says()));
    let managed = objects.managed.as_ref().map(ManagedBootImages::modes);
    BootImageAudit {
        api_version: API_VERSION,
        kind: AUDIT,
        origin: origin(objects),
        summary: Summary::of(sets.iter()),
        policy,
        release: release.map(str::to_owned),
        keep_commands: keep_commands(&sets, objects),
        sets,
        oldest,
        oldest_node: skew::oldest_node(lookup.versions()),
        cluster,
        managed_boot_images: managed.unwrap_or_default(),
        broken: installed_from::broken(&lookup, policy_input, update),
        update: update.map(str::to_owned),
        joined: installed_from::joined(&lookup),
        provisioned: provisioned(&lookup.links, objects),
        now: objects.clock().map(Moment::text),
        unread,
        warnings,
        policy_differs_from_operator,
        refuses_no_hosted_node: valid(policy_input).is_some_and(refuses_no_hosted_node),
        since: None,
        path: None,
        no_path: None,
    }
}

/// What could not be read, what was not understood, and what is missing.
fn all_unread(lookup: &Lookup<'_>, mut unread: Vec<Unread>) -> Vec<Unread> {
    let not_understood = lookup
        .objects
        .not_understood
        .iter()
        .take(MAX_NOT_UNDERSTOOD);
    unread.extend(not_understood.cloned());
    let missing = missing::missing(lookup).into_iter();
    unread.extend(missing.take(MAX_NOT_UNDERSTOOD));
    unread.iter_mut().for_each(tell);
    unread
}

/// Tells whether sets may be missing, or are not understood.
fn hides_any(unread: &[Unread]) -> bool {
    let mut all = unread.iter();
    all.any(|unread| unread.hides_sets || unread.makes_nodes)
}

/// The place of the objects, as far as they say it.
fn origin(objects: &Objects) -> Origin {
    Origin {
        cluster_id: objects.cluster_id.clone(),
        release: objects.release.clone(),
        infrastructure: objects.infrastructure_name.clone(),
        server: objects.server.clone(),
        ..Origin::default()
    }
}

/// The commands with which the cluster keeps the images that it could keep, by kind.
fn keep_commands(sets: &[SetAudit], objects: &Objects) -> BTreeMap<&'static str, String> {
    let kinds: BTreeSet<SetKind> = sets
        .iter()
        .filter(|set| set.could_be_kept)
        .map(|set| set.kind)
        .collect();
    let command = |kind: SetKind| Some((kind.name(), upkeep::keep_command(kind, objects)?));
    kinds.into_iter().filter_map(command).collect()
}

/// The oldest boot image that sets make nodes from, and what the cluster says of it.
fn oldest_and_cluster(
    objects: &Objects,
    users: Vec<skew::User>,
    is_whole: bool,
) -> (Option<Oldest>, Option<ClusterSkew>) {
    let (version, mut oldest) = skew::oldest(users).unzip();
    // What is unknown, or was not read, may be older.
    let found = oldest.as_ref().filter(|oldest| oldest.unknown == 0);
    let found = found.filter(|_| is_whole);
    let is_whole = found.is_some();
    let cluster = objects.skew.as_ref().map(|said| ClusterSkew {
        blocks_alone: found
            .is_some_and(|found| skew::blocks_alone(said, found, objects.release.as_deref())),
        ..skew::cluster(said, version.as_ref())
    });
    let is_wrong = is_whole && !objects.is_single_node && skew::is_wrong(cluster.as_ref());
    let command = version.as_ref().filter(|_| is_wrong);
    let command = command.and_then(skew::command);
    if let Some(oldest) = &mut oldest {
        let way_back = objects.skew.as_ref().map(skew::way_back);
        oldest.way_back = way_back.filter(|_| command.is_some());
        oldest.command = command;
    }
    (oldest, cluster)
}

/// Parts of the policy that are ignored, and what was read and does not count.
fn warnings(lookup: &Lookup<'_>, policy: &PolicyInput, doubt: Option<String>) -> Vec<String> {
    let objects = lookup.objects;
    let ignored = valid(policy)
        .into_iter()
        .flat_map(|policy| &policy.warnings);
    let ignored = ignored.map(|warning| format!("policy: {warning}"));
    let of_another_day = verdict::issues::of_another_day(policy);
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
    let unknown = objects.release.as_deref();
    let unknown = unknown.and_then(crate::operator::unknown_release);
    ignored
        .chain(of_another_day)
        .chain(unknown)
        .chain(operator)
        .chain(newer)
        .chain(operator::complaints(&objects.operators))
        .chain(left_out(lookup))
        .chain(doubt)
        .collect()
}

/// Objects that were read and do not count, one and several of them.
const LEFT_OUT: [[&str; 2]; 7] = [
    [
        "set of Windows machines is left out: it has no boot image of the cluster's",
        "sets of Windows machines are left out: they have no boot image of the cluster's",
    ],
    [
        "Windows node is left out: it has no boot image of the cluster's",
        "Windows nodes are left out: they have no boot image of the cluster's",
    ],
    [
        "RHEL node made of packages is left out: it has no boot image of the cluster's",
        "RHEL nodes made of packages are left out: they have no boot image of the cluster's",
    ],
    [
        "BareMetalHost with a live ISO is left out: it installs nodes of other clusters",
        "BareMetalHosts with a live ISO are left out: it installs nodes of other clusters",
    ],
    [
        "MachinePool of Hive is left out: its nodes are of other clusters",
        "MachinePools of Hive are left out: their nodes are of other clusters",
    ],
    [
        "object was read more than once, and counts once",
        "objects were read more than once, and count once",
    ],
    [
        "aleph file is left out: no Node of its name was read",
        "aleph files are left out: no Node of their name was read",
    ],
];

fn left_out(lookup: &Lookup<'_>) -> Vec<String> {
    let objects = lookup.objects;
    let sets = objects.windows_sets.iter();
    let sets = sets.filter(|set| lookup.is_of_windows(set)).count();
    let pools = objects.node_pools.iter();
    let pools = pools.filter(|pool| lookup.is_pool_of_windows(pool));
    let nodes = |is: fn(&&Node) -> bool| objects.other_nodes.iter().filter(is).count();
    let counts = [
        sets + pools.count(),
        nodes(|node| node.is_windows),
        nodes(|node| node.is_of_packages && !node.is_windows),
        objects.hosts.iter().filter(|host| host.is_live()).count(),
        objects.others.hive_pools,
        objects.doubles,
        lost_alephs(objects),
    ];
    let words = |(count, [one, more]): (usize, [&str; 2])| {
        let what = if count == 1 { one } else { more };
        (count > 0).then(|| format!("{count} {what}"))
    };
    let counts = counts.into_iter().zip(LEFT_OUT).filter_map(words);
    counts.chain(os_images(&objects.others.os_images)).collect()
}

/// The images that hosts of other clusters are booted with, in words.
fn os_images(images: &[String]) -> Option<String> {
    let images: Vec<&str> = images.iter().map(String::as_str).collect();
    let shown = match images.len() {
        0 => return None,
        1..=8 => images.join(", "),
        _ => some_of(&images),
    };
    Some(format!(
        "AgentServiceConfig boots hosts of other clusters from {shown}: a policy of theirs judges them, not this one"
    ))
}

fn lost_alephs(objects: &Objects) -> usize {
    let nodes = objects.nodes.iter().map(|node| &*node.metadata.name);
    let nodes: BTreeSet<&str> = nodes.collect();
    let names = objects.alephs.keys();
    names.filter(|name| !nodes.contains(name.as_str())).count()
}

/// Machines that were made and have not joined, the longest waiting first.
fn provisioned(links: &Links<'_>, objects: &Objects) -> Vec<Provisioned> {
    let waiting = |machine: &&Machine| {
        machine.is_provisioned() && !links.has_joined(machine) && links.counts(machine)
    };
    let to_row = |machine: &Machine| Provisioned {
        since: machine.since().map(Moment::text).unwrap_or_default(),
        namespace: machine.metadata.namespace.clone(),
        name: machine.metadata.name.clone(),
        set: machine.owner(),
    };
    let waiting = objects.machines.iter().filter(waiting);
    let mut all: Vec<Provisioned> = waiting.map(to_row).collect();
    all.sort();
    all
}
