//! A sentence for each machine without a Node (pure).

use super::case::{Case, Subject};
use super::finding::{Counter, Finding};
use super::index::Index;
use super::log_report::log_report;
use super::moment::Moment;
use super::report::{Explanation, WhyReport};
use super::request_step::Asked;
use super::sets::sets_without_machines;
use super::subjects::{Subjects, all_named, strangers, waiting};
use super::way::{At, Stage};
use crate::API_VERSION;
use crate::audit::{Origin, Unread};
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::groups::KARPENTER;
use std::collections::{BTreeMap, BTreeSet};

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
    /// The namespace that is looked at; none is all.
    pub(crate) namespace: Option<&'a str>,
    pub(crate) now: Moment,
    pub(crate) judged: &'a JudgedSets,
    pub(crate) origin: Option<Origin>,
    pub(crate) unread: Vec<Unread>,
}

/// Says why.
///
/// # Errors
/// Something of a name that was asked for is not there.
pub(crate) fn why(facts: &Cluster, question: Question<'_>) -> Result<WhyReport, String> {
    let index = Index::new(facts);
    let now = question.now;
    let tell = |subject| explain(Case::new(facts, &index, subject, now), question.judged);
    let is_of_all = question.names.is_empty();
    let namespace = question.namespace;
    let Subjects { all, mut young } = if is_of_all {
        waiting(facts, &index, namespace, now)
    } else {
        let all = all_named(facts, &index, namespace, question.names)?;
        Subjects { all, young: 0 }
    };
    let mut machines: Vec<Explanation> = all.into_iter().map(tell).collect();
    if is_of_all {
        let is_strange = |name: &String| index.strangers.iter().any(|one| one.last.name == *name);
        let own = machines.iter().map(Explanation::requests);
        let mut own: Vec<Vec<String>> = own.collect();
        own.iter_mut().for_each(|names| names.retain(is_strange));
        own.retain(|names| !names.is_empty());
        let named: BTreeSet<&String> = own.iter().flatten().collect();
        // Where there are more of them than machines that they may be of, some are of others.
        let is_named = |name: &str| named.len() <= own.len() && named.contains(&name.to_owned());
        let mut others = strangers(facts, &index, &is_named, now);
        others.all.extend(sets_without_machines(facts, &index));
        if let Some(namespace) = namespace {
            // A request has none.
            others.all.retain(|subject| subject.is_in(namespace));
            others.young = 0;
        }
        young += others.young;
        machines.extend(others.all.into_iter().map(tell));
    } else {
        // A name may be that of a Node which is there.
        machines
            .dedup_by(|a, b| (a.kind, &a.namespace, &a.name) == (b.kind, &b.namespace, &b.name));
    }
    let mut unread = question.unread;
    if is_of_all && machines.is_empty() {
        unread.extend(index.ground.all_missing());
    }
    Ok(WhyReport {
        api_version: API_VERSION,
        kind: "WhyReport",
        time: now.text(),
        origin: question.origin,
        namespace: namespace.map(crate::text::printable),
        machines,
        young,
        server_log: log_report(facts),
        unread,
    })
}

/// Says why one is no Node.
fn explain(mut case: Case<'_>, sets: &JudgedSets) -> Explanation {
    let judged = case.machine.and_then(|machine| {
        let (kind, name) = machine.owners.first().cloned()?;
        sets.get(&(machine.metadata.namespace.clone(), kind, name))
    });
    let finding = find(&mut case, judged);
    let finding = case.remade(finding);
    let finding = case.warned(finding);
    let steps = finding.steps(&case.known);
    let proof = finding.proof().cloned();
    let unseen = match (&proof, case.unseen.as_slice()) {
        // That it did not ask is certain, which of the causes it has is not.
        (Some(_), _) if finding.stage != Stage::NoRequest => Vec::new(),
        (Some(_), _) => case.unseen.clone(),
        (None, []) => vec!["more than this: its console says where it stands".to_owned()],
        (None, _) => case.unseen.clone(),
    };
    Explanation {
        kind: case.subject.kind(),
        namespace: case.namespace().to_owned(),
        name: case.name().to_owned(),
        owner: case.machine.and_then(|machine| {
            let (kind, name) = machine.owners.first()?;
            Some(format!("{kind} {name}"))
        }),
        pool: case.pool(),
        age_seconds: case.created().map(|created| case.now.since(created)),
        stage: finding.stage,
        is_certain: proof.is_some(),
        proof,
        sentence: finding.sentence,
        next: finding.next,
        steps,
        evidence: case.evidence,
        unseen,
    }
}

/// Looks from the end of the way to its beginning: what the cluster's own objects and logs say comes
/// before what a node claims.
fn find(case: &mut Case<'_>, judged: Option<&Judged>) -> Finding {
    match case.subject {
        Subject::Set(set) => return case.set_without_machines(set),
        Subject::NodePool(pool) => return case.node_pool_without_machines(pool),
        Subject::Machine(_) | Subject::Host(_) | Subject::Agent(_) | Subject::Request(_) => {}
    }
    let instance = case.instance();
    if let Ok(text) = &instance {
        case.reach(At::Instance, text.clone());
    }
    let is_failed = case
        .machine
        .is_some_and(skewguard_cluster::kinds::machine::Machine::is_failed);
    if !is_failed && let Some(finding) = case.of_node() {
        return finding;
    }
    if let Err(finding) = instance {
        return finding;
    }
    let asked = case.asked();
    if let Asked::Seen(seen) = &asked {
        case.see_request(seen);
        let text = format!("{} at {}", seen.address, seen.last.at.clock());
        case.reach(At::Requested, text);
        if seen.failure.is_none() {
            case.reach(At::Served, seen.last.at.clock());
        }
    }
    if let Some(finding) = case.of_certificate().or_else(|| case.of_gone_node()) {
        case.see_claims();
        return finding;
    }
    match case.machine {
        Some(machine) if machine.node_pool.is_some() => case.hosted(),
        Some(claim) if claim.group == KARPENTER => case.unregistered(claim),
        _ => of_logs(case, asked, judged),
    }
}

/// The finding by the machine-config-servers' logs, and by the node's own claims where these do not say
/// otherwise.
fn of_logs(case: &mut Case<'_>, asked: Asked, judged: Option<&Judged>) -> Finding {
    match asked {
        Asked::Seen(seen) if seen.failure.is_some() => {
            case.see_claims();
            case.refused_request(&seen)
        }
        Asked::Seen(seen) if seen.is_unanswered(case.now) => {
            case.see_claims();
            let tries = seen.unanswered.unwrap_or_default();
            case.unanswered_request(&seen, tries)
        }
        Asked::Other(seen) => {
            case.see_claims();
            case.see_request(&seen);
            case.other_client(&seen)
        }
        Asked::Seen(seen) => {
            let claim = case.of_claim(judged);
            let later = claim.is_none().then(|| case.after_config(&seen)).flatten();
            match claim.or(later) {
                Some(finding) => {
                    case.unread(&[Counter::Requests, Counter::Nodes]);
                    finding
                }
                None => case.served(&seen, judged),
            }
        }
        Asked::Not {
            since,
            is_told_apart,
            tls,
        } => {
            let is_whole = is_told_apart && case.missing_logs().is_empty();
            let claim = if is_whole {
                None
            } else {
                case.of_claim(judged)
            };
            case.see_claims();
            claim.unwrap_or_else(|| case.not_asked(since, is_told_apart, &tls, judged))
        }
        Asked::Hidden { why } => case
            .of_claim(judged)
            .unwrap_or_else(|| case.hidden_request(&why)),
        Asked::NoLog => {
            let claim = case.of_claim(judged);
            claim.unwrap_or_else(|| case.unknown(judged))
        }
    }
}

impl Explanation {
    /// The certificate requests in its evidence.
    fn requests(&self) -> Vec<String> {
        let sources = self.evidence.iter().map(|evidence| &evidence.source);
        let names = sources.filter_map(|source| source.strip_prefix("CertificateSigningRequest "));
        names.map(str::to_owned).collect()
    }
}
