//! One sentence for each machine without a Node (pure).

use super::case::{Case, Subject};
use super::facts::{Facts, HealthCheck, Machine};
use super::finding::{At, Finding, sentence};
use super::index::Index;
use super::moment::{Moment, span};
use super::report::{Explanation, LogReport, Stage, WhyReport};
use super::request_step::{Asked, Seen};
use crate::API_VERSION;
use crate::audit::{Origin, Unread};
use std::collections::{BTreeMap, BTreeSet};

/// How long a machine takes to become a Node at most where nothing is wrong.
const YOUNG: u64 = 600;

/// What the audit says of the image of a machine's set.
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

/// What is asked, and what is known beside the objects.
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

/// What is asked about, those that wait longest first, and how many are young.
fn subjects<'a>(
    facts: &'a Facts,
    index: &Index<'a>,
    names: &[String],
    now: Moment,
) -> Result<(Vec<Subject<'a>>, usize), String> {
    if !names.is_empty() {
        let mut all = Vec::new();
        for name in names {
            let found = named(facts, name);
            if found.is_empty() {
                return Err(not_there(facts, name));
            }
            all.extend(found);
        }
        return Ok((all, 0));
    }
    let mut young = 0;
    let mut all = Vec::new();
    let mut add = |subject: Subject<'a>, created: Option<Moment>| {
        // What is deleted before it can join is never older.
        let is_remade = match subject {
            Subject::Machine(machine) => {
                check_of(facts, machine).is_some() && deleted(facts, machine).len() > 1
            }
            Subject::Host(_) | Subject::Agent(_) => false,
        };
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

/// What has a name: `NAME`, `NAMESPACE/NAME` or `KIND/NAME`, of a Machine, its Node, a host or an
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
    let of_host =
        |full_name: &str, host: &super::facts::Host| host.machine.as_deref() == Some(full_name);
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

impl Case<'_> {
    /// It was served, and nothing was seen of it since.
    fn served(&mut self, seen: &Seen, judged: Option<&Judged>) -> Finding {
        let name = self.name();
        let ago = self.now.since(seen.last.at);
        let when = self.ago(seen.last.at);
        let image = self.image(judged);
        let step = format!("nothing seen since {}", seen.last.at.clock());
        let text = if seen.count > 2 {
            format!(
                "{name} got its config {} times, the last {when}, and never joined: its first boot begins again and again{image}.",
                seen.count
            )
        } else if ago < YOUNG {
            format!("{name} got its config {when}, and is in its first boot{image}.")
        } else {
            format!(
                "{name} got its config {when}, and was not seen since: its first boot hangs, or it died there{image}."
            )
        };
        let mut finding = Finding::new(Stage::FirstBoot, At::FirstBoot, step, text);
        for issue in judged.map(|judged| &judged.issues).into_iter().flatten() {
            finding = finding.next(format!("A known issue of its image: {issue}"));
        }
        self.see_first_boot_events();
        self.no_requests();
        self.unseen("the first boot itself: its console, or the node's own reports (install skewguard in the pool)");
        finding
            .doubtful(seen.last.is_doubtful)
            .next("Look at its console: which unit of the first boot loops says why (machine-config-daemon-pull, machine-config-daemon-firstboot)")
    }

    /// `; its set's image is 412.86…, which …`.
    fn image(&mut self, judged: Option<&Judged>) -> String {
        let Some(judged) = judged else {
            return String::new();
        };
        let Some(version) = &judged.version else {
            self.unseen(format!(
                "the boot image of {}: its version is unknown",
                judged.set
            ));
            return String::new();
        };
        let source = judged.set.clone();
        let verdict = if judged.message.is_empty() {
            String::new()
        } else {
            format!(": {}", judged.message)
        };
        self.see(source, None, format!("boot image {version}{verdict}"));
        if judged.is_refused {
            format!(
                "; {} makes machines from {version}, which the limits refuse",
                judged.set
            )
        } else {
            format!("; {} makes machines from {version}", judged.set)
        }
    }

    /// Events of the operator about first boots of the pool (MCO #6124, where the cluster has it).
    fn see_first_boot_events(&mut self) {
        let Some(pool) = self.pool() else {
            return;
        };
        let names = self.names();
        let created = self.created();
        let events = self.index.events("MachineConfigPool", "", &pool);
        let events = events.iter().rev().filter(|event| {
            event.reason.eq_ignore_ascii_case("FirstbootFailed") && event.last >= created
        });
        for event in events.take(3).copied().collect::<Vec<_>>() {
            let is_own = names
                .iter()
                .any(|name| event.message.to_ascii_lowercase().contains(&**name));
            let whose = if is_own {
                ""
            } else {
                " (of a machine of the pool)"
            };
            self.see(
                format!("Event {} of MachineConfigPool {pool}", event.reason),
                event.last,
                format!("{}{whose}", event.message),
            );
        }
    }

    /// A machine whose Node is of another cluster: its config comes from HyperShift's server.
    fn hosted(&mut self) -> Finding {
        let name = self.name();
        let pool = self.machine.and_then(|machine| machine.node_pool.clone());
        let pool = pool.unwrap_or_default();
        let facts = self.facts;
        let conditions = facts
            .node_pools
            .iter()
            .find(|of| of.meta.full_name() == pool)
            .map(|pool| &*pool.conditions)
            .unwrap_or_default();
        let mut bad = None;
        for kind in [
            "ReachedIgnitionEndpoint",
            "ValidPlatformImage",
            "ValidReleaseImage",
            "AllMachinesReady",
            "AllNodesHealthy",
        ] {
            if let Some(condition) = super::facts::condition(conditions, kind) {
                let text = format!("{}: {}", condition.status, condition.says());
                self.see(
                    format!("NodePool {pool}, condition {kind}"),
                    condition.since,
                    text,
                );
                if condition.status == "False" && bad.is_none() {
                    bad = Some((kind, condition.says()));
                }
            }
        }
        self.unseen("its own requests: HyperShift's ignition-server, whose log is not read; its Node is in the hosted cluster");
        match bad {
            Some(("ReachedIgnitionEndpoint", why)) => Finding::new(
                Stage::NoRequest,
                At::Requested,
                "ReachedIgnitionEndpoint is False",
                format!("No machine of NodePool {pool} has reached the ignition server, {name} among them: {}", sentence(&why)),
            )
            .next("Look at the route ignition-server of the hosted control plane, and at the way there from the machines' network"),
            Some((kind, why)) => Finding::new(
                Stage::Unknown,
                At::Requested,
                format!("{kind} is False"),
                format!("Why {name} is no Node cannot be told from here; its NodePool {pool} says {kind} is False: {}", sentence(&why)),
            )
            .doubtful(true),
            None => Finding::new(
                Stage::Unknown,
                At::Requested,
                "not seen from here",
                format!("Why {name} is no Node cannot be told from here: its config comes from HyperShift's ignition server."),
            )
            .doubtful(true),
        }
    }

    fn hidden_request(&mut self, why: &str) -> Finding {
        let name = self.name();
        let waiting = self
            .facts
            .machines
            .iter()
            .filter(|machine| machine.node.is_none())
            .count();
        self.see("log of the machine-config-server", None, why);
        self.no_requests();
        Finding::new(
            Stage::Unknown,
            At::Requested,
            "cannot be told apart",
            format!(
                "Whether {name} asked for its config cannot be told apart: {why}; {waiting} Machine{} without a Node.",
                if waiting == 1 { " is" } else { "s are" }
            ),
        )
        .doubtful(true)
        .next("Look at its console: Ignition says there whether it reaches the machine-config-server")
    }

    fn no_requests(&mut self) {
        if !self.index.has_requests {
            self.unseen("certificate requests: none was read (list certificatesigningrequests; oc adm inspect certificatesigningrequests)");
        }
    }

    /// The log was not read, and nothing later was seen.
    fn unknown(&mut self, judged: Option<&Judged>) -> Finding {
        let name = self.name();
        let image = self.image(judged);
        self.no_requests();
        Finding::new(
            Stage::Unknown,
            At::Requested,
            "not seen",
            format!("Why {name} is no Node cannot be told from what was read: its instance is there, and nothing else of it was seen{image}."),
        )
        .doubtful(true)
        .next("Give the rights or the files that are named below, or look at its console")
    }

    /// Whether a health check deletes machines of its set before they join.
    fn remade(&mut self, finding: &Finding) -> Option<Finding> {
        let machine = self.machine?;
        if matches!(finding.stage, Stage::Joined) {
            return None;
        }
        let (_, set) = machine.owner.as_ref()?;
        let check = check_of(self.facts, machine)?;
        let deleted = deleted(self.facts, machine);
        let last = deleted.values().max().copied().flatten();
        for (name, at) in deleted.iter().take(5) {
            let text = "MachineDeleted: the MachineHealthCheck deleted it".to_owned();
            self.see(
                format!("Event of Machine {}/{name}", machine.meta.namespace),
                *at,
                text,
            );
        }
        if deleted.len() < 2 {
            return None;
        }
        let first = deleted.values().min().copied().flatten();
        let timeout = span(check.startup_timeout);
        let full_name = check.meta.full_name();
        self.see(
            format!("MachineHealthCheck {full_name}, spec.nodeStartupTimeout"),
            None,
            if check.is_default {
                format!("none: {timeout}")
            } else {
                timeout.clone()
            },
        );
        let within = match (first, last) {
            (Some(first), Some(last)) if last > first => format!(" in {}", span(last.since(first))),
            _ => String::new(),
        };
        let of_inner = finding.sentence.clone();
        let name = self.name();
        Some(
            Finding {
                stage: Stage::BeingRemade,
                at: finding.at,
                step: finding.step.clone(),
                is_certain: finding.is_certain,
                sentence: format!(
                    "{name} comes after {} Machines of {set} that MachineHealthCheck {} deleted{within}, because they had no Node after {timeout}. {of_inner}",
                    deleted.len(),
                    check.meta.name
                ),
                next: vec![format!(
                    "Stop the loop until the cause is gone: {}",
                    keep_command(check)
                )],
            }
            .append(&finding.next),
        )
    }

    /// Says when a health check will delete it.
    fn warned(&mut self, finding: Finding) -> Finding {
        let Some(machine) = self.machine else {
            return finding;
        };
        if matches!(
            finding.stage,
            Stage::BeingRemade | Stage::Joined | Stage::NodeNotReady
        ) {
            return finding;
        }
        let check = check_of(self.facts, machine);
        let (Some(check), Some(since)) = (check, machine.since) else {
            return finding;
        };
        let at = since.plus(check.startup_timeout);
        if at < self.now {
            return finding;
        }
        finding.next(format!(
            "MachineHealthCheck {} deletes it at {at}. To keep it: {}",
            check.meta.name,
            keep_command(check)
        ))
    }
}

impl Finding {
    fn append(mut self, next: &[String]) -> Self {
        self.next.extend_from_slice(next);
        self
    }
}

/// The Machines of its set that a health check deleted, and when.
fn deleted<'f>(facts: &'f Facts, machine: &Machine) -> BTreeMap<&'f str, Option<Moment>> {
    let Some((_, set)) = &machine.owner else {
        return BTreeMap::new();
    };
    let start = format!("{set}-");
    facts
        .events
        .iter()
        .filter(|event| event.reason == "MachineDeleted" && event.kind == "Machine")
        .filter(|event| event.namespace == machine.meta.namespace)
        .filter(|event| event.name.starts_with(&start) && event.name != machine.meta.name)
        .map(|event| (&*event.name, event.last))
        .collect()
}

/// The health check that surely looks after a Machine, the one that waits least.
fn check_of<'f>(facts: &'f Facts, machine: &Machine) -> Option<&'f HealthCheck> {
    let checks = facts.checks.iter();
    checks
        .filter(|check| check.startup_timeout > 0 && check.covers(machine))
        .min_by_key(|check| check.startup_timeout)
}

/// The command that keeps a health check from deleting machines without a Node.
fn keep_command(check: &HealthCheck) -> String {
    format!(
        "oc patch machinehealthchecks.machine.openshift.io -n {} {} --type merge -p '{{\"spec\":{{\"nodeStartupTimeout\":\"0\"}}}}'",
        check.meta.namespace, check.meta.name
    )
}

/// Sets that want more machines than they have, and were refused them.
fn sets_without_machines(facts: &Facts, index: &Index<'_>, now: Moment) -> Vec<Explanation> {
    let of_set = |set: &super::facts::MachineSet| {
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
    };
    facts
        .sets
        .iter()
        .filter(|set| set.wanted > set.made)
        .filter_map(of_set)
        .collect()
}

/// What the logs are, and how far they can be trusted.
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
