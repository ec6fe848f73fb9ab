//! A sentence for each machine without a Node (pure).

use super::case::{Case, Subject};
use super::facts::Facts;
use super::finding::{At, Finding, sentence};
use super::index::Index;
use super::kinds::{Host, Machine};
use super::moment::{Moment, span};
use super::records::MachineSet;
use super::remade::is_remade;
use super::report::{Explanation, LogReport, Stage, WhyReport};
use super::request_step::Asked;
use crate::API_VERSION;
use crate::audit::{Origin, Unread};
use std::collections::{BTreeMap, BTreeSet};

/// The longest time that a machine takes to become a Node where nothing is wrong.
pub(super) const YOUNG: u64 = 600;

/// The audit's word on the image of a machine's set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Judged {
    /// `MachineSet c1-worker`.
    pub(crate) set: String,
    pub(crate) version: Option<String>,
    /// The set's next machine would be refused.
    pub(crate) is_refused: bool,
    pub(crate) message: String,
    pub(crate) remedy: Option<String>,
    /// Known issues of it, in words.
    pub(crate) issues: Vec<String>,
}

/// The judged sets, by namespace, kind and name.
pub(crate) type JudgedSets = BTreeMap<(String, String, String), Judged>;

/// The question, and what is known beside the objects.
pub(crate) struct Question<'a> {
    /// Names of Machines, Nodes, hosts and agents; none is all that wait.
    pub(crate) names: &'a [String],
    pub(crate) now: Moment,
    pub(crate) judged: &'a JudgedSets,
    pub(crate) origin: Option<Origin>,
    pub(crate) unread: Vec<Unread>,
}

/// Says why.
///
/// # Errors
/// Something of a name that was asked for is not there.
pub(crate) fn why(facts: &Facts, question: Question<'_>) -> Result<WhyReport, String> {
    let index = Index::new(facts, &question.unread);
    let now = question.now;
    let (subjects, young) = subjects(facts, &index, question.names, now)?;
    let mut machines: Vec<Explanation> = subjects
        .into_iter()
        .map(|subject| explain(Case::new(facts, &index, subject, now), question.judged))
        .collect();
    if question.names.is_empty() {
        machines.extend(sets_without_machines(facts, &index, now));
    } else {
        // A name may be that of a Node which is there.
        machines
            .dedup_by(|a, b| (a.kind, &a.namespace, &a.name) == (b.kind, &b.namespace, &b.name));
    }
    Ok(WhyReport {
        api_version: API_VERSION,
        kind: "WhyReport",
        time: now.text(),
        origin: question.origin,
        machines,
        young,
        server_log: log_report(facts),
        unread: question.unread,
    })
}

/// The subjects, those that wait longest first, and the number of young ones.
fn subjects<'a>(
    facts: &'a Facts,
    index: &Index<'a>,
    names: &[String],
    now: Moment,
) -> Result<(Vec<Subject<'a>>, usize), String> {
    if !names.is_empty() {
        return Ok((all_named(facts, names)?, 0));
    }
    let mut young = 0;
    let mut all = Vec::new();
    let mut add = |subject: Subject<'a>, created: Option<Moment>| {
        // What is deleted before it can join is never older.
        let is_remade = matches!(subject, Subject::Machine(machine) if is_remade(facts, machine));
        if !is_remade && created.is_some_and(|created| now.since(created) < YOUNG) {
            young += 1;
        } else {
            all.push((created, subject));
        }
    };
    for machine in &facts.machines {
        let node = machine
            .node
            .as_deref()
            .and_then(|name| facts.nodes.get(name));
        let is_broken = node
            .and_then(|node| node.ready.as_ref())
            .is_some_and(|ready| ready.status != "True");
        if !machine.is_deleting && (machine.node.is_none() || is_broken) {
            add(Subject::Machine(machine), machine.meta.created);
        }
    }
    for host in &facts.hosts {
        let case = Case::new(facts, index, Subject::Host(host), now);
        let is_own = host.machine.is_none() && host.is_wanted && !host.is_external && !host.is_live;
        if is_own && case.node().is_none() {
            add(Subject::Host(host), case.created());
        }
    }
    for agent in &facts.agents {
        let is_over = matches!(
            &*agent.state,
            "installed" | "added-to-existing-cluster" | "disabled"
        );
        if agent.is_bound && !is_over {
            add(Subject::Agent(agent), agent.meta.created);
        }
    }
    all.sort_by_key(|(created, _)| *created);
    Ok((all.into_iter().map(|(_, subject)| subject).collect(), young))
}

fn all_named<'a>(facts: &'a Facts, names: &[String]) -> Result<Vec<Subject<'a>>, String> {
    let mut all = Vec::new();
    for name in names {
        let found = named(facts, name);
        if found.is_empty() {
            return Err(not_there(facts, name));
        }
        all.extend(found);
    }
    Ok(all)
}

/// Subjects of a name: `NAME`, `NAMESPACE/NAME` or `KIND/NAME`, of a Machine, its Node, a host or an
/// agent.
fn named<'a>(facts: &'a Facts, name: &str) -> Vec<Subject<'a>> {
    let (before, own) = name.rsplit_once('/').unwrap_or(("", name));
    let is = |kind: &str, namespace: &str, name: &str| {
        name.eq_ignore_ascii_case(own)
            && (before.is_empty() || before == namespace || before.eq_ignore_ascii_case(kind))
    };
    let of_node = |machine: &Machine| {
        let node = machine.node.as_deref();
        let by_node = facts
            .nodes
            .get(own)
            .and_then(|node| node.machine.as_deref());
        node == Some(own) && (before.is_empty() || before.eq_ignore_ascii_case("node"))
            || by_node == Some(&machine.meta.full_name())
    };
    let machines = facts.machines.iter().filter(|machine| {
        is("machine", &machine.meta.namespace, &machine.meta.name) || of_node(machine)
    });
    let found: Vec<Subject<'_>> = machines.map(Subject::Machine).collect();
    if !found.is_empty() {
        return found;
    }
    let hosts = facts.hosts.iter();
    let of_host = |full_name: &str, host: &Host| host.machine.as_deref() == Some(full_name);
    let hosts: Vec<_> = hosts
        .filter(|host| {
            is("baremetalhost", &host.meta.namespace, &host.meta.name)
                || host.hostname.as_deref() == Some(own)
        })
        .map(|host| {
            let machine = facts
                .machines
                .iter()
                .find(|machine| of_host(&machine.meta.name, host));
            machine.map_or(Subject::Host(host), Subject::Machine)
        })
        .collect();
    if !hosts.is_empty() {
        return hosts;
    }
    let agents = facts.agents.iter().filter(|agent| {
        is("agent", &agent.meta.namespace, &agent.meta.name)
            || agent.hostname.as_deref() == Some(own)
    });
    agents.map(Subject::Agent).collect()
}

/// A name that nothing has: what was made anew, or a Node without a Machine.
fn not_there(facts: &Facts, name: &str) -> String {
    let own = name.rsplit('/').next().unwrap_or(name);
    let shown = crate::text::printable(name);
    if facts.nodes.contains_key(own) {
        return format!("{shown}: the Node is there, and has no Machine, BareMetalHost or Agent");
    }
    let gone = facts
        .events
        .iter()
        .filter(|event| event.kind == "Machine" && event.name == own)
        .max_by_key(|event| event.last);
    match gone {
        Some(event) => format!(
            "{shown}: there is no such Machine any more; the last Event about it is {}{}: {}",
            event.reason,
            event.last.map_or(String::new(), |at| format!(", {at}")),
            event.message
        ),
        None => format!("{shown}: there is no Machine, BareMetalHost, Agent or Node of that name"),
    }
}

/// Says why one is no Node.
fn explain(mut case: Case<'_>, sets: &JudgedSets) -> Explanation {
    let judged = case.machine.and_then(|machine| {
        let (kind, name) = machine.owner.clone()?;
        sets.get(&(machine.meta.namespace.clone(), kind, name))
    });
    let mut known: Vec<(At, String)> = Vec::new();
    let finding = find(&mut case, judged, &mut known);
    let finding = match case.remade(&finding) {
        Some(remade) => remade,
        None => finding,
    };
    let finding = case.warned(finding);
    let steps = finding.steps(&known);
    let (kind, namespace) = match case.subject {
        Subject::Machine(machine) => ("Machine", &machine.meta.namespace),
        Subject::Host(host) => ("BareMetalHost", &host.meta.namespace),
        Subject::Agent(agent) => ("Agent", &agent.meta.namespace),
    };
    let is_decided = matches!(
        finding.stage,
        Stage::Joined
            | Stage::NoInstance
            | Stage::RequestRefused
            | Stage::NodeNotReady
            | Stage::Refused
    );
    let unseen = if is_decided && finding.is_certain {
        Vec::new()
    } else {
        case.unseen.clone()
    };
    Explanation {
        kind,
        namespace: namespace.clone(),
        name: case.name().to_owned(),
        owner: case.machine.and_then(|machine| {
            let (kind, name) = machine.owner.as_ref()?;
            Some(format!("{kind} {name}"))
        }),
        pool: case.pool(),
        age_seconds: case.created().map(|created| case.now.since(created)),
        stage: finding.stage,
        is_certain: finding.is_certain,
        sentence: finding.sentence,
        next: finding.next,
        steps,
        evidence: case.evidence,
        unseen,
    }
}

/// Looks from the end of the way to its beginning.
fn find(case: &mut Case<'_>, judged: Option<&Judged>, known: &mut Vec<(At, String)>) -> Finding {
    let instance = case.instance();
    if let Ok(text) = &instance {
        known.push((At::Instance, text.clone()));
    }
    // A Machine that failed says so itself, whatever its Node does.
    let node = case.of_node();
    if let Some(finding) = node {
        return finding;
    }
    if let Err(finding) = instance {
        return finding;
    }
    let asked = case.asked();
    if let Asked::Seen(seen) = &asked {
        case.see_request(seen);
        let text = format!("{} at {}", seen.address, seen.last.at.clock());
        known.push((At::Requested, text));
        if seen.failure.is_none() {
            known.push((At::Served, seen.last.at.clock()));
        }
    }
    let certificate = case.of_certificate();
    if let Some(finding) = certificate {
        known.push((At::FirstBoot, String::new()));
        return finding;
    }
    let report = case.of_report(judged);
    if let Some(finding) = report {
        // The agent came with the config.
        known.push((At::Served, String::new()));
        let last = case
            .reports()
            .last()
            .is_some_and(|report| report.action == "Proceed");
        if last {
            known.push((At::LetIn, String::new()));
        }
        return finding;
    }
    if case
        .machine
        .is_some_and(|machine| machine.node_pool.is_some())
    {
        return case.hosted();
    }
    match asked {
        Asked::Seen(seen) if seen.failure.is_some() => case.refused_request(&seen),
        Asked::Seen(seen) => case.served(&seen, judged),
        Asked::Not {
            since,
            is_certain,
            distrust,
        } => case.not_asked(since, is_certain, distrust, judged),
        Asked::Hidden { why } => case.hidden_request(&why),
        Asked::NoLog => case.unknown(judged),
    }
}

/// Sets that want more machines than they have, and were refused them.
fn sets_without_machines(facts: &Facts, index: &Index<'_>, now: Moment) -> Vec<Explanation> {
    facts
        .sets
        .iter()
        .filter(|set| set.wanted > set.made)
        .filter_map(|set| set_without_machines(set, index, now))
        .collect()
}

/// A set that wants more machines than it has, and the last Event that says why.
fn set_without_machines(set: &MachineSet, index: &Index<'_>, now: Moment) -> Option<Explanation> {
    let events = index.events("MachineSet", &set.meta.namespace, &set.meta.name);
    let event = events
        .iter()
        .rev()
        .find(|event| event.is_warning && event.reason == "FailedCreate")?;
    let name = &set.meta.name;
    let missing = set.wanted - set.made;
    let is_ours = event.message.contains("skewguard");
    let by = if is_ours {
        "skewguard's admission policy"
    } else {
        "the API server"
    };
    let finding = Finding::new(
        Stage::NoInstance,
        At::Instance,
        "no Machine is made",
        format!(
            "{missing} Machine{} of MachineSet {name} {} not made, the last try was{}: {by} refuses it: {}",
            if missing == 1 { "" } else { "s" },
            if missing == 1 { "is" } else { "are" },
            super::finding::ago(now, event.last),
            sentence(&event.message)
        ),
    );
    let finding = if is_ours {
        finding.next(format!(
            "Set an allowed image in MachineSet {name}; which ones: oc skewguard audit {name}"
        ))
    } else {
        finding.next("Correct what the message names")
    };
    Some(Explanation {
        kind: "MachineSet",
        namespace: set.meta.namespace.clone(),
        name: name.clone(),
        owner: None,
        pool: None,
        age_seconds: set.meta.created.map(|created| now.since(created)),
        stage: finding.stage,
        is_certain: true,
        sentence: finding.sentence.clone(),
        next: finding.next.clone(),
        steps: finding.steps(&[]),
        evidence: vec![super::report::Evidence {
            source: format!("Event FailedCreate of MachineSet {}", set.meta.full_name()),
            time: event.last.map(Moment::text),
            text: event.message.clone(),
        }],
        unseen: Vec::new(),
    })
}

/// The logs, and how far they can be trusted.
fn log_report(facts: &Facts) -> LogReport {
    let logs = &facts.logs;
    let mut notes = Vec::new();
    if logs.unknown > 0 {
        let sample = logs.unknown_sample.as_deref().unwrap_or_default();
        notes.push(format!(
            "{} line{} of the log {} not understood; the first: {sample}",
            logs.unknown,
            if logs.unknown == 1 { "" } else { "s" },
            if logs.unknown == 1 { "is" } else { "are" },
        ));
    }
    for source in &logs.sources {
        notes.extend(
            source
                .cut
                .as_ref()
                .map(|cut| format!("{}: {cut}", source.name)),
        );
    }
    if logs.without_address > 0 {
        notes.push(format!("{} requests have no address", logs.without_address));
    }
    if logs.peers_left_out > 0 {
        notes.push(format!(
            "{} requests are of more addresses than are kept",
            logs.peers_left_out
        ));
    }
    // The clocks of the machine-config-server and the API server.
    if let (Some(log), Some(newest)) = (logs.end(), facts.newest)
        && log > newest.plus(3_600)
    {
        notes.push(format!(
            "the log ends {} after the newest object: clocks differ, or they were gathered at different times",
            span(log.since(newest))
        ));
    }
    let servers: BTreeSet<&str> = logs.sources.iter().map(|source| &*source.name).collect();
    LogReport {
        servers: servers.len(),
        since: logs.begin().map(Moment::text),
        lines: logs.lines,
        requests: logs.requests,
        unknown_lines: logs.unknown,
        notes,
    }
}
