//! Machines of a NodePool: their config comes from HyperShift's ignition server, and their Node is in
//! another cluster (pure).

use super::case::Case;
use super::cause::Cause;
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::ignition_server::{Refusal, Request};
use super::moment::{CLOCKS, Moment, span};
use super::way::Stage;
use crate::forms::shell::word;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::metadata::Condition;
use skewguard_cluster::kinds::node_pool::NodePool;
use skewguard_cluster::names::count;
use std::collections::BTreeMap;

/// Conditions of a NodePool about its machines, beside those about what is valid: the earliest on their
/// way first.
const CONDITIONS: [&str; 8] = [
    "UpdateManagementEnabled",
    "IgnitionEndpointAvailable",
    ACTIVE,
    "AWSSecurityGroupAvailable",
    "AllMachinesReady",
    "ReachedIgnitionEndpoint",
    "AllNodesHealthy",
    SKEW,
];

/// HyperShift goes on as usual with a version that it does not support.
const SKEW: &str = "SupportedVersionSkew";

/// The conditions of a NodePool that say why its machines do not come, the earliest on their way first.
fn blame(pool: &NodePool) -> Vec<&Condition> {
    let rank = |condition: &Condition| {
        let known = CONDITIONS.iter().position(|kind| *kind == condition.kind);
        if is_about_validity(condition) {
            Some(0)
        } else {
            known.map(|at| at + 1)
        }
    };
    let bad = pool.conditions.iter();
    let bad = bad.filter(|condition| condition.status == "False");
    let mut bad: Vec<_> = bad.filter_map(|one| Some((rank(one)?, one))).collect();
    bad.sort_by_key(|(rank, _)| *rank);
    bad.into_iter().map(|(_, condition)| condition).collect()
}

fn is_about_validity(condition: &Condition) -> bool {
    condition.kind.starts_with("Valid")
}

/// Tells if something of a NodePool is not valid: no machine gets a config with it.
fn is_invalid(pool: &NodePool) -> bool {
    blame(pool).iter().any(|one| is_about_validity(one))
}

/// The condition of a NodePool that its controller leaves alone where it is `False`.
const ACTIVE: &str = "ReconciliationActive";

/// Tells if no machine is made of a NodePool, as it says: it is not valid, or paused.
pub(super) fn is_stopped(pool: &NodePool) -> bool {
    is_invalid(pool) || blame(pool).iter().any(|one| one.kind == ACTIVE)
}

/// Tells if it says why it is short of machines.
pub(super) fn says_why(pool: &NodePool) -> bool {
    blame(pool).iter().any(|one| one.kind != SKEW)
}

impl Case<'_> {
    /// A NodePool that wants machines and has none.
    pub(super) fn node_pool_without_machines(&mut self, pool: &NodePool) -> Finding {
        let full_name = pool.metadata.full_name();
        let wanted = i64::try_from(pool.wanted).unwrap_or(i64::MAX);
        let some = pool
            .available
            .filter(|available| (1..wanted).contains(available));
        let has = some.map_or("none".to_owned(), |some| some.to_string());
        let wants = format!(
            "NodePool {full_name} wants {} and has {has}",
            count(pool.wanted, "machine")
        );
        let no_instance = |cause, step: String, sentence| {
            Finding::new(Stage::NoInstance, cause, step, sentence).next(describe(&full_name))
        };
        let beside = match self.see_pool(pool) {
            Some((kind, why)) if kind != SKEW => {
                let mut finding = no_instance(
                    Cause::NodePoolEmpty,
                    format!("{kind} is False"),
                    format!("{wants}: {kind} is False: {why}"),
                );
                if let Some(until) = pool.paused_until.as_ref().filter(|_| kind == ACTIVE) {
                    self.see(self.field("spec.pausedUntil"), None, until);
                    finding = finding.next(unpause(pool));
                }
                let source = format!("NodePool {full_name}, condition {kind}");
                let finding = finding.says(&kind);
                let machines = self.facts.all_machines();
                let mut nobodys =
                    machines.filter(|one| one.is_of_cluster_api() && one.node_pool.is_none());
                if some.is_some() || nobodys.next().is_some() {
                    self.unseen("which Machines are its: some were not read, or name no NodePool (hypershift.openshift.io/nodePool)");
                    return finding;
                }
                return finding.proved(self, source, &[Counter::PoolMachines]);
            }
            Some((kind, why)) => format!("; {kind} is False, which alone stops nothing: {why}"),
            None => ".".to_owned(),
        };
        self.unseen("why: the log of the control-plane-operator or the capi-provider in the hosted control plane's namespace");
        no_instance(
            Cause::NodePoolEmptySilent,
            "no Machine is made".to_owned(),
            format!("{wants}, and no condition of it says why{beside}"),
        )
    }

    /// The finding of a machine whose Node is in a hosted cluster.
    pub(super) fn hosted(&mut self) -> Finding {
        let pool = self.node_pool();
        let own = self.own_node_pool();
        let bad = own.and_then(|own| self.see_pool(own));
        let is_invalid = own.is_some_and(is_invalid);
        // That nobody asked says less than that there is nothing to ask for.
        let by_log = (self.by_ignition_log())
            .filter(|finding| !is_invalid || finding.stage != Stage::NoRequest);
        let name = self.name;
        self.unseen("its Node and certificate requests: they are in the hosted cluster");
        let Some((kind, why)) = bad else {
            return by_log.unwrap_or_else(|| Finding::new(
                Stage::Unknown, Cause::NotSeenFromHere,
                "not seen from here",
                format!("Why {name} is no Node cannot be told from here: its config comes from HyperShift's ignition server."),
            ));
        };
        let says = format!("its NodePool {pool} says {kind} is False: {why}");
        let step = format!("{kind} is False");
        match by_log {
            Some(finding) if finding.stage == Stage::RequestRefused && is_invalid => {
                let sentence = format!(
                    "{name} does not get its config: {says} {}",
                    finding.sentence
                );
                finding.retold(
                    Stage::RequestRefused,
                    Cause::PayloadNotServed,
                    sentence,
                    None,
                )
            }
            Some(finding) => finding,
            None if kind == "ReachedIgnitionEndpoint" => {
                let sentence = format!(
                    "No machine of NodePool {pool} has reached the ignition server, {name} among them: {why}"
                );
                Finding::new(
                    Stage::NoRequest,
                    Cause::IgnitionEndpointNotReached,
                    step,
                    sentence,
                )
                .next(ROUTE)
            }
            None if is_invalid => {
                let sentence = format!("{name} does not get its config, as it seems: {says}");
                Finding::new(
                    Stage::RequestRefused,
                    Cause::PayloadNotServed,
                    step,
                    sentence,
                )
                .says(&kind)
                .next(describe(&pool))
            }
            None => {
                let sentence = format!("Why {name} is no Node cannot be told from here; {says}");
                Finding::new(Stage::Unknown, Cause::NotSeenFromHere, step, sentence)
                    .says(&kind)
                    .next(describe(&pool))
            }
        }
    }

    /// A machine of a cluster that the Cluster API makes from here.
    pub(super) fn of_other_cluster(&mut self, machine: &Machine) -> Finding {
        let (name, cluster) = (self.name, machine.cluster.as_deref().unwrap_or_default());
        self.unseen(format!(
            "its Node, certificate requests and logs: they are in cluster {cluster}"
        ));
        Finding::new(
            Stage::Unknown, Cause::NotSeenFromHere,
            "not seen from here",
            format!("Why {name} is no Node cannot be told from here: it is a machine of cluster {cluster}, which is another than the one whose Nodes were read."),
        )
        .next(format!("Ask in cluster {cluster}: `oc get nodes,csr` with its kubeconfig"))
    }

    /// The first condition of a NodePool that says why, and its words; each goes into the evidence.
    fn see_pool(&mut self, pool: &NodePool) -> Option<(String, String)> {
        let bad = blame(pool);
        let source = format!("NodePool {}", pool.metadata.full_name());
        for condition in &bad {
            self.see_condition_of(&source, condition);
        }
        let first = bad.first()?;
        Some((first.kind.clone(), sentence(&first.says())))
    }

    fn node_pool(&self) -> String {
        let pool = self.machine.and_then(|machine| machine.node_pool.clone());
        pool.unwrap_or_default()
    }

    /// The finding by the log of the ignition server, where that says something.
    fn by_ignition_log(&mut self) -> Option<Finding> {
        let facts = self.facts;
        let namespace = &self.machine?.metadata.namespace;
        let servers = facts.ignition_servers.get(namespace);
        // A log that a person named has no namespace.
        let Some(servers) = servers.or_else(|| facts.ignition_servers.get("")) else {
            self.unseen(format!(
                "requests for its config: the ignition-server's log (get pods/log in {namespace}; hypershift dump has it)"
            ));
            return None;
        };
        let made = self.created?;
        let all = servers.requests.iter();
        let own: Vec<&Request> = all.filter(|one| one.at.plus(CLOCKS) >= made).collect();
        let mut refusals: BTreeMap<Refusal, usize> = BTreeMap::new();
        for refusal in own.iter().filter_map(|request| request.refusal) {
            *refusals.entry(refusal).or_default() += 1;
        }
        let served = own.len() - refusals.values().sum::<usize>();
        let last = own.last().map_or(made, |request| request.at);
        let text = match own.len() {
            0 => format!(
                "since then no request in the logs of {} pods",
                servers.count()
            ),
            all => format!(
                "{} since {made}, the last by {}; {served} served",
                count(all, "request"),
                servers.agent
            ),
        };
        let source = format!("log of the ignition-server in {namespace}");
        self.see(source, Some(last), text);
        if own.is_empty() {
            let begin = servers.begin();
            let is_whole = begin.is_some_and(|begin| begin <= made.plus(CLOCKS));
            return Some(self.nobody_asked(begin.map_or(made, |begin| made.max(begin)), is_whole));
        }
        let most = refusals.iter().max_by_key(|(_, count)| **count);
        let requests = count(own.len(), "request");
        Some(match most {
            Some((refusal, _)) if served == 0 => self.all_refused(&requests, last, *refusal),
            _ => self.some_served(last, &format!("{served} of {requests}")),
        })
    }

    fn nobody_asked(&self, since: Moment, is_whole: bool) -> Finding {
        let (name, pool) = (self.name, self.node_pool());
        let age = span(self.now.since(since));
        let far = match is_whole {
            true => "",
            false => ", as far as the logs go back",
        };
        Finding::new(
            Stage::NoRequest, Cause::PoolSilent,
            format!("none since {}", since.clock()),
            format!("{name} is up, and no machine of NodePool {pool}'s cluster has asked for a config in {age}{far}: user data, network or route."),
        )
        .next(ROUTE)
    }

    fn all_refused(&self, requests: &str, last: Moment, refusal: Refusal) -> Finding {
        let (name, status) = (self.name, refusal.status());
        let (cause, why, help) = match refusal {
            Refusal::UnknownToken => (
                Cause::TokenUnknown,
                "the ignition server does not know the token of their user data, which is of an older config of the NodePool, or its config is not made yet",
                describe(&self.node_pool()),
            ),
            Refusal::Token => (
                Cause::TokenMissing,
                "their user data has no token",
                "Make the machines from the NodePool's own user data, with its Authorization header".to_owned(),
            ),
            Refusal::Payload => (
                Cause::PayloadInvalid,
                "the NodePool's config is not valid",
                "Correct the ConfigMaps in spec.config of the NodePool".to_owned(),
            ),
        };
        Finding::new(
            Stage::RequestRefused,
            cause,
            format!("refused ({status})"),
            format!(
                "{name}'s cluster did not serve a config to any machine since {name} was made, at {requests}, the last{} ({status}): {why}.",
                self.ago(last),
            ),
        )
        .next(help)
    }

    /// Some requests were served; whose cannot be told if several machines came since.
    fn some_served(&self, last: Moment, served: &str) -> Finding {
        let name = self.name;
        let namespace = self.machine.map(|machine| &machine.metadata.namespace);
        let later = self.facts.all_machines().filter(|machine| {
            Some(&machine.metadata.namespace) == namespace
                && machine.metadata.created >= self.created
        });
        if later.count() > 1 {
            return Finding::new(
                Stage::Unknown, Cause::CannotBeToldApart,
                "cannot be told apart",
                format!("Whether {name} got its config cannot be told apart: the ignition server's log has no addresses, and served {served} since it was made."),
            )
            .next("Look at its console: Ignition says there whether it reaches the ignition server");
        }
        Finding::new(
            Stage::FirstBoot, Cause::PayloadServed,
            format!("nothing seen since {}", last.clock()),
            format!(
                "{name} got its config{}, as the only machine that was made since then; its Node and its certificate request are in the hosted cluster.",
                self.ago(last)
            ),
        )
        .next("Look at its console, and in the hosted cluster: `oc get csr`")
    }
}

const ROUTE: &str = "Look at the route ignition-server of the hosted control plane, and at the way there from the machines' network";

/// The advice for a NodePool that somebody paused.
fn unpause(pool: &NodePool) -> String {
    format!(
        r#"Find out who paused it, then take the field away: `oc patch nodepools.hypershift.openshift.io -n {} {} --type json -p '[{{"op":"remove","path":"/spec/pausedUntil"}}]'`"#,
        word(&pool.metadata.namespace),
        word(&pool.metadata.name)
    )
}

/// The advice to look at a NodePool, with its namespace as oc takes it.
fn describe(full_name: &str) -> String {
    let name = full_name.split_once('/');
    let name = name.map_or(word(full_name), |(namespace, name)| {
        format!("-n {} {}", word(namespace), word(name))
    });
    format!("Look at the NodePool: `oc describe nodepools.hypershift.openshift.io {name}`")
}
