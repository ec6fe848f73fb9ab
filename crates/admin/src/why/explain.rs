//! A sentence for each machine without a Node (pure).

use super::case::Case;
use super::finding::Finding;
use super::ground::Counter;
use super::index::Index;
use super::log_report::log_report;
use super::moment::Moment;
use super::report::{Explanation, HOST, WhyReport};
use super::request_step::{Asked, STILL_ASKS};
use super::rows::row;
use super::sets::{machines_not_read, sets_without_machines};
use super::subject::Subject;
use super::subjects::{all_named, failing_hosts, of_age, strangers, waiting};
use super::way::{At, Stage};
use crate::API_VERSION;
use crate::audit::{BootImageAudit, Origin, SetAudit, Unread};
use crate::finding::Subject as Object;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::Machine;
use skewguard_cluster::kinds::groups::{KARPENTER, REQUEST};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

/// The rows of the audit by their sets.
type Rows<'a> = BTreeMap<Object<'a>, &'a SetAudit>;

/// The question, and what is known beside the objects.
pub(crate) struct Question<'a> {
    /// Names of Machines, Nodes, hosts and agents; none is all that wait.
    pub(crate) names: &'a [String],
    /// The namespace that is looked at; none is all.
    pub(crate) namespace: Option<&'a str>,
    pub(crate) now: Moment,
    pub(crate) audit: &'a BootImageAudit,
    pub(crate) origin: Option<Origin>,
    pub(crate) unread: Vec<Unread>,
}

/// Says why.
///
/// # Errors
/// Something of a name that was asked for is not there.
pub(crate) fn why(facts: &Cluster, question: Question<'_>) -> Result<WhyReport, String> {
    let index = Index::new(facts, question.now);
    let sets = question.audit.sets.iter();
    let rows: Rows<'_> = sets.map(|set| (set.object(), set)).collect();
    let tell = |subject| explain(Case::new(&index, subject), &rows);
    let is_of_all = question.names.is_empty();
    let namespace = question.namespace;
    let (all, mut young) = match is_of_all {
        true => of_age(&index, namespace, waiting(&index)),
        false => (all_named(&index, namespace, question.names)?, 0),
    };
    let mut machines: Vec<Explanation> = all.into_iter().map(tell).collect();
    if is_of_all {
        let told: BTreeSet<&str> = machines.iter().flat_map(|one| one.seen(REQUEST)).collect();
        let strange = index.strangers.iter().map(|one| &*one.last.metadata.name);
        let strange: BTreeSet<&str> = strange.collect();
        let names_one = |one: &&Explanation| one.seen(REQUEST).any(|name| strange.contains(name));
        let own = machines.iter().filter(names_one).count();
        // Where there are more of them than machines that they may be of, some are of others.
        let are_all_named = told.intersection(&strange).count() <= own;
        let hosts: BTreeSet<&str> = machines.iter().flat_map(|one| one.seen(HOST)).collect();
        let sets = sets_without_machines(&index).into_iter();
        let others = strangers(&index, &told, are_all_named).into_iter();
        let others = others.chain(failing_hosts(&index, &hosts));
        let others = others.chain(sets.map(|set| (None, set)));
        let (others, others_young) = of_age(&index, namespace, others);
        young += others_young;
        machines.extend(others.into_iter().map(tell));
    } else {
        // A name may be that of a Node which is there.
        machines.dedup_by(|a, b| a.subject() == b.subject());
    }
    let mut unread = question.unread;
    if is_of_all && machines.is_empty() {
        unread.extend(index.ground.all_missing());
        unread.extend(machines_not_read(&index));
    }
    Ok(WhyReport {
        api_version: API_VERSION,
        kind: "WhyReport",
        time: question.now.text(),
        origin: question.origin,
        namespace: namespace.map(crate::text::printable),
        machines,
        young,
        server_log: log_report(facts),
        unread,
    })
}

/// Says why one is no Node.
fn explain<'a>(mut case: Case<'a>, rows: &Rows<'a>) -> Explanation {
    case.judged = case.machine.and_then(|machine| {
        let (kind, name) = machine.owners.first()?;
        let set = Object::new(kind, &machine.metadata.namespace, name);
        rows.get(&set).copied()
    });
    let finding = find(&mut case);
    let finding = case.beside_silent_cloud(finding);
    let finding = case.beside_misaddressed(finding);
    let finding = case.remade(finding);
    let finding = case.warned(finding);
    let issues = case.release_issues(finding.stage);
    let finding = case.with_all(finding, issues);
    debug_assert!(
        finding.stage == Stage::Joined || !finding.words.next.is_empty(),
        "no next step: {finding:?}"
    );
    let odd_age = case.odd_age();
    let proof = finding.proof().filter(|_| odd_age.is_none()).cloned();
    let mut unseen = mem::take(&mut case.unseen);
    unseen.extend(odd_age);
    if proof.is_none() && unseen.is_empty() {
        unseen.push("more than this: its console says where it stands".to_owned());
    } else if proof.is_some() && finding.stage != Stage::NoRequest {
        // That it did not ask is certain, which of the causes it has is not.
        unseen.clear();
    }
    Explanation {
        kind: case.subject.kind(),
        namespace: case.subject.metadata().namespace.clone(),
        name: case.name.to_owned(),
        owner: case.machine.and_then(Machine::owner),
        pool: case.pool(),
        age_seconds: case.age(),
        stage: finding.stage,
        cause: finding.name(),
        key: finding.key(case.name),
        remarks: finding.remarks.clone(),
        rows: finding.rows.clone(),
        is_certain: proof.is_some(),
        proof,
        steps: finding.steps(&case.known),
        sentence: finding.words.sentence,
        next: finding.words.next,
        names_request: finding.words.request,
        names_host: finding.words.host,
        evidence: case.evidence,
        unseen,
    }
}

/// Looks from the end of the way to its beginning: what the cluster's own objects and logs say comes
/// before what a node claims.
fn find(case: &mut Case<'_>) -> Finding {
    if let Some(finding) = of_lack(case).or_else(|| case.of_deletion()) {
        return finding;
    }
    let instance = case.instance();
    if let Ok(text) = &instance {
        case.reach(At::Instance, text);
    }
    if !case.machine.is_some_and(Machine::is_failed)
        && !case.is_off_and_silent()
        && let Some(finding) = case.of_node()
    {
        return case.beside_old_state(finding);
    }
    if let Err(finding) = instance {
        case.reach_node();
        return finding;
    }
    if let Some(finding) = case.of_taken_address() {
        return finding;
    }
    let asked = case.asked();
    if let Asked::Seen(seen) = &asked {
        case.see_request(seen);
        let at = seen.last.at.clock();
        case.reach(At::Requested, format!("{} at {at}", seen.address));
        if seen.failure.is_none() && seen.unanswered.is_none() {
            case.reach(At::Served, at);
        }
    }
    if case.machine.is_some_and(|machine| machine.is_windows) {
        return case.windows();
    }
    let finding = case.of_certificate().or_else(|| case.of_gone_node());
    if let Some(finding) = finding.or_else(|| case.of_nodes_of_nobody()) {
        case.see_claims();
        return finding;
    }
    match case.machine {
        Some(machine) if machine.node_pool.is_some() => {
            let finding = case.hosted();
            case.beside_hosted_cluster(finding)
        }
        Some(machine) if case.facts.is_elsewhere(machine) => {
            case.tell(row!(OfOtherCluster cluster = machine.cluster))
        }
        Some(claim) if claim.group == KARPENTER => case.unregistered(claim),
        _ => {
            let is_seen = matches!(asked, Asked::Seen(_));
            let added = (!is_seen).then(|| case.added_agent()).flatten();
            added.unwrap_or_else(|| of_logs(case, asked))
        }
    }
}

/// The finding of what lacks Machines.
fn of_lack(case: &mut Case<'_>) -> Option<Finding> {
    match case.subject {
        Subject::Set(_, set) => Some(case.set_without_machines(set)),
        Subject::NodePool(pool) => {
            let finding = case.node_pool_without_machines(pool);
            Some(case.beside_hosted_cluster(finding))
        }
        Subject::HostedCluster(_) => case.of_hosted_cloud(),
        _ => None,
    }
}

/// The finding by the machine-config-servers' logs, and by the node's own claims where these do not say
/// otherwise.
fn of_logs(case: &mut Case<'_>, asked: Asked) -> Finding {
    match asked {
        Asked::Seen(seen) => {
            if let Some(failure) = &seen.failure {
                // What it says of itself is of the time when it had its config.
                let claim = seen.before.and_then(|_| case.of_claim());
                case.see_claims();
                let finding = case.refused_request(&seen, failure);
                return finding.beside(claim);
            }
            let still_asks = case.now.since(seen.last.at) <= STILL_ASKS;
            if let Some(tries) = seen.unanswered.filter(|_| still_asks) {
                case.see_claims();
                return case.unanswered_request(&seen, tries);
            }
            match case.of_claim().or_else(|| case.after_config(&seen)) {
                Some(finding) => {
                    case.unread(&[Counter::Requests, Counter::Nodes]);
                    finding
                }
                None => case.served(&seen),
            }
        }
        Asked::Other(seen, failure) => {
            case.see_claims();
            case.see_request(&seen);
            case.other_client(&seen, &failure)
        }
        Asked::Not(silence) => {
            let is_whole = silence.is_told_apart && case.missing_logs().is_empty();
            let claim = (!is_whole).then(|| case.of_claim()).flatten();
            case.see_claims();
            claim.unwrap_or_else(|| {
                let finding = case.not_asked(&silence);
                let report = case.report().filter(|_| is_whole);
                let report = report.map(|_| row!(ReportWithoutConfig));
                case.with_all(finding, report)
            })
        }
        Asked::Hidden(why) => {
            let finding = case.of_claim().or_else(|| case.without_own_addresses(&why));
            finding.unwrap_or_else(|| case.hidden_request(&why))
        }
        Asked::NoLog => {
            let finding = case.of_claim().or_else(|| case.with_own_address_alone());
            finding.unwrap_or_else(|| case.unknown())
        }
    }
}
