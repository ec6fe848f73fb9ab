//! Everything that should become a Node, and is none (pure).

use super::case::Case;
use super::index::{Index, Stranger, is_nobodys};
use super::instance_state::is_off;
use super::moment::Moment;
use super::remade::{is_given_up, is_remade};
use super::sets::sets_without_machines;
use super::subject::Subject;
use super::way::YOUNG;
use crate::text::printable;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::{Host, Machine, Metadata, Node};
use std::collections::BTreeSet;

/// Something that waits, and since when.
type Waiting<'a> = (Option<Moment>, Subject<'a>);

/// Those of a namespace that do not wait since just now, and how many do.
pub(super) fn of_age<'a>(
    index: &Index<'a>,
    namespace: Option<&str>,
    all: impl IntoIterator<Item = Waiting<'a>>,
) -> (Vec<Subject<'a>>, usize) {
    let (mut found, mut young) = (Vec::new(), 0);
    let is_in = |subject: &Subject<'_>| namespace.is_none_or(|name| subject.is_in(name));
    for (since, subject) in all.into_iter().filter(|(_, subject)| is_in(subject)) {
        // What is deleted before it can join is never older, and what has failed is over.
        let is_never_young = matches!(subject, Subject::Machine(machine) if machine.is_failed() || is_remade(index, machine) || is_given_up(index, machine));
        // Without a clock it may be of any age.
        let is_known = index.facts.has_clock();
        if is_known && !is_never_young && since.is_some_and(|since| index.now.since(since) < YOUNG)
        {
            young += 1;
        } else {
            found.push(subject);
        }
    }
    (found, young)
}

/// Everything that waits to become a Node, but for requests and sets, the longest first.
pub(super) fn waiting<'a>(index: &Index<'a>) -> Vec<Waiting<'a>> {
    let facts = index.facts;
    let machines = facts.all_machines().filter(|machine| {
        let is_one = !machine.is_deleting && !is_manifest(machine);
        is_one && index.links.counts(machine) && is_without_node(index, machine)
    });
    let hosts = facts.hosts.iter().filter(|host| {
        host.consumer.is_none() && host.is_wanted && !host.is_external && !host.is_live()
    });
    let agents = facts.agents.iter();
    let agents = agents.filter(|agent| agent.is_bound && !agent.is_over());
    let others = hosts.map(Subject::Host).chain(agents.map(Subject::Agent));
    let others = others.filter_map(|subject| without_node(index, subject));
    let nodes = facts.all_nodes().filter(|node| {
        let waits = node.is_uninitialized() || waits_to_serve(index, node);
        waits && is_nobodys(&index.links, node)
    });
    let others = others.chain(nodes.map(|node| (node.metadata.created, Subject::Node(node))));
    let machines = machines.map(|one| (waits_since(index, one), Subject::Machine(one)));
    let mut all: Vec<Waiting<'_>> = machines.chain(others).collect();
    all.sort_by_key(|(since, _)| *since);
    all
}

/// The time since when a Machine waits: its Node may have been Ready until just now.
fn waits_since(index: &Index<'_>, machine: &Machine) -> Option<Moment> {
    let node = machine.node.as_deref();
    let node = node.and_then(|name| index.links.node(name));
    let since = node.and_then(|node| node.not_ready()?.since());
    since.or(machine.metadata.created)
}

/// Tells if it is no Machine of a cluster, but what somebody writes to make one: the API server gives each
/// its time.
fn is_manifest(machine: &Machine) -> bool {
    let is_bare = machine.phase.is_none() && machine.conditions.is_empty();
    is_bare && machine.metadata.created.is_none() && machine.provider_id.is_none()
}

/// A subject, and since when it waits; `None` where it has a Node.
fn without_node<'a>(index: &Index<'a>, subject: Subject<'a>) -> Option<Waiting<'a>> {
    let case = Case::new(index, subject);
    case.node.is_none().then_some((case.created, subject))
}

/// Hosts of nobody that fail before a machine can take them, and that no explanation has named.
pub(super) fn failing_hosts<'a>(index: &Index<'a>, named: &BTreeSet<&str>) -> Vec<Waiting<'a>> {
    let hosts = index.facts.hosts.iter();
    let failing = hosts.filter(|host| {
        let is_free = host.consumer.is_none() && host.fails_before_use();
        is_free && !named.contains(&*host.metadata.full_name())
    });
    let found = failing.filter_map(|host| without_node(index, Subject::Host(host)));
    found.collect()
}

/// Tells if a Machine has no Node, a broken one, or one that is gone.
fn is_without_node(index: &Index<'_>, machine: &Machine) -> bool {
    let Some(name) = machine.node.as_deref() else {
        // One without a status was not read whole.
        let has_joined = !machine.has_status() && index.links.node_of(machine).is_some();
        return !(machine.is_registered_claim() || has_joined);
    };
    match index.links.node(name) {
        Some(node) => {
            let made = node.metadata.created;
            let is_new = made.is_some_and(|at| index.now.since(at) < YOUNG);
            machine.is_failed()
                || node.not_ready().is_some()
                || node.ready.is_none() && is_off(index, machine)
                || node.is_uninitialized() && !is_new
                || waits_to_serve(index, node)
        }
        // The Nodes of a NodePool's machines are in another cluster.
        None => machine.is_failed() || index.ground.has_nodes && !index.facts.is_elsewhere(machine),
    }
}

/// Tells if the last request for the certificate that a Node serves with has waited for long.
fn waits_to_serve(index: &Index<'_>, node: &Node) -> bool {
    let last = index.serving_requests(&node.metadata.name).next_back();
    let last = last.filter(|one| one.is_pending());
    let made = last.and_then(|one| one.metadata.created);
    made.is_some_and(|at| index.now.since(at) >= YOUNG)
}

/// The requests of nobody that no explanation has told of, or all where those are not of these machines alone. That a
/// Node is gone is told where there are no Machines: with them it is gone with its Machine.
pub(super) fn strangers<'a>(
    index: &Index<'a>,
    told: &BTreeSet<&str>,
    are_all_named: bool,
) -> Vec<Waiting<'a>> {
    let is_told = |one: &Stranger<'_>| told.contains(&*one.last.metadata.name);
    let has_machines = index.facts.all_machines().next().is_some();
    let is_left = |stranger: &&Stranger<'_>| {
        let is_over = has_machines && stranger.last.is_signed
            || !index.ground.has_nodes && !stranger.last.is_pending();
        let is_told = are_all_named && is_told(stranger);
        !is_over && !is_told
    };
    let namesakes = index.namesakes.iter().filter(|one| !is_told(one));
    let all = index.strangers.iter().filter(is_left).chain(namesakes);
    all.map(|one| (one.first, Subject::Request(one.last)))
        .collect()
}

/// The subjects of these names.
///
/// # Errors
/// Something of a name is not there.
pub(super) fn all_named<'a>(
    index: &Index<'a>,
    namespace: Option<&str>,
    names: &[String],
) -> Result<Vec<Subject<'a>>, String> {
    let mut all = Vec::new();
    for name in names {
        let mut found = named(index, name);
        found.retain(|subject| namespace.is_none_or(|namespace| subject.is_in(namespace)));
        if found.is_empty() {
            return Err(match namespace {
                Some(namespace) => format!(
                    "{}: there is no Machine, BareMetalHost or Agent of that name in namespace {}",
                    printable(name),
                    printable(namespace)
                ),
                None => not_there(index.facts, name),
            });
        }
        all.extend(found);
    }
    Ok(all)
}

/// Subjects of a name: `NAME`, `NAMESPACE/NAME` or `KIND/NAME`, of a Machine, its Node, a host or an
/// agent.
fn named<'a>(index: &Index<'a>, name: &str) -> Vec<Subject<'a>> {
    let facts = index.facts;
    let (before, own) = name.rsplit_once('/').unwrap_or(("", name));
    let is = |subject: Subject<'_>| {
        let Metadata {
            namespace, name, ..
        } = subject.metadata();
        let is_there = before == namespace || is_kind(before, subject.kind());
        name.eq_ignore_ascii_case(own) && is_there
    };
    let by_node = index.links.node(own);
    let by_node = by_node.and_then(|node| node.machine.as_deref());
    let of_node = |machine: &Machine| {
        machine.node.as_deref() == Some(own) && is_kind(before, "node")
            || by_node == Some(&machine.metadata.full_name())
    };
    let machines = facts.all_machines().filter(|one| index.links.counts(one));
    let machines = machines.filter(|one| is(Subject::Machine(one)) || of_node(one));
    let is_named = |hostname: &Option<String>| hostname.as_deref() == Some(own);
    let hosts = facts.hosts.iter();
    let hosts = hosts.filter(|one| is(Subject::Host(one)) || is_named(&one.hostname));
    let agents = facts.agents.iter();
    let agents = agents.filter(|one| is(Subject::Agent(one)) || is_named(&one.hostname));
    let strangers = index.strangers.iter().chain(&index.namesakes);
    let strangers = strangers.map(|stranger| stranger.last);
    let strangers = strangers.filter(|one| is(Subject::Request(one)) || one.node == own);
    let found = [
        machines.map(Subject::Machine).collect(),
        hosts.map(|host| of_host(index, host)).collect(),
        agents.map(Subject::Agent).collect(),
        strangers.map(Subject::Request).collect(),
    ];
    let is_there = |found: &Vec<_>| !found.is_empty();
    let found = found.into_iter().find(is_there);
    found.unwrap_or_else(|| of_set_or_node(index, (before, own)))
}

/// The Machines of a set of this name, else the Node that no Machine stands for.
fn of_set_or_node<'a>(index: &Index<'a>, (before, own): (&str, &str)) -> Vec<Subject<'a>> {
    let machines = index.facts.all_machines();
    let of_set = machines.filter(|machine| {
        let is_there = before == machine.metadata.namespace || is_kind(before, "MachineSet");
        is_there && machine.is_owned_by("MachineSet", Some(own))
    });
    let sets = sets_without_machines(index).into_iter().filter(|set| {
        let is_there = set.is_in(before) || is_kind(before, set.kind());
        is_there && set.metadata().name == own
    });
    let found: Vec<_> = sets.chain(of_set.map(Subject::Machine)).collect();
    if !found.is_empty() {
        return found;
    }
    let node = index.links.node(own).filter(|_| is_kind(before, "Node"));
    node.map(Subject::Node).into_iter().collect()
}

/// The Machine of a host, else the host itself.
fn of_host<'a>(index: &Index<'a>, host: &'a Host) -> Subject<'a> {
    let mut machines = index.facts.all_machines();
    let is_own = |own: &Host| own.metadata.full_name() == host.metadata.full_name();
    let machine = machines.find(|machine| index.links.host_of(machine).is_some_and(is_own));
    machine.map_or(Subject::Host(host), Subject::Machine)
}

/// Tells if oc takes a word for a kind: `machines.machine.openshift.io`, `bmh`. None is any.
fn is_kind(word: &str, kind: &str) -> bool {
    let own = word.split('.').next().unwrap_or(word).to_ascii_lowercase();
    let kind = kind.to_ascii_lowercase();
    let short = match &*kind {
        "baremetalhost" => "bmh",
        "certificatesigningrequest" => "csr",
        _ => &kind,
    };
    word.is_empty() || own == short || own.strip_suffix('s').unwrap_or(&own) == kind
}

/// A name that nothing has: what was made anew, or a Node without a Machine.
fn not_there(facts: &Cluster, name: &str) -> String {
    let own = name.rsplit('/').next().unwrap_or(name);
    let shown = printable(name);
    let events = facts.events.iter();
    let own = events.filter(|event| event.kind == "Machine" && event.name == own);
    match own.max_by_key(|event| event.last) {
        Some(event) => format!(
            "{shown}: there is no such Machine any more; the last Event about it is {}{}: {}",
            event.reason,
            event.last.map_or(String::new(), |at| format!(", {at}")),
            event.message
        ),
        None => format!("{shown}: there is no Machine, BareMetalHost, Agent or Node of that name"),
    }
}
