//! Machines of a NodePool: their config comes from HyperShift's ignition server, and their Node is in
//! another cluster (pure).

use super::case::Case;
use super::finding::{Counter, Finding, sentence};
use super::ignition_server::{Refusal, Request};
use super::moment::{Moment, span};
use super::way::{At, Stage};
use skewguard_cluster::kinds::metadata::Condition;
use skewguard_cluster::kinds::node_pool::NodePool;
use std::collections::BTreeMap;

/// Seconds by which a clock may differ from another.
const CLOCKS: u64 = 60;

/// Conditions of a NodePool about its machines, beside those about what is valid: the earliest on their
/// way first.
const CONDITIONS: [&str; 8] = [
    "UpdateManagementEnabled",
    "IgnitionEndpointAvailable",
    "ReconciliationActive",
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
pub(super) fn is_invalid(pool: &NodePool) -> bool {
    blame(pool).iter().any(|one| is_about_validity(one))
}

impl Case<'_> {
    /// A NodePool that wants machines and has none.
    pub(super) fn node_pool_without_machines(&mut self, pool: &NodePool) -> Finding {
        let full_name = pool.metadata.full_name();
        let bad = self.see_pool(pool);
        let wants = format!(
            "NodePool {full_name} wants {} and has none",
            super::finding::count(pool.wanted, "machine")
        );
        let describe = format!(
            "Look at the NodePool: `oc describe nodepools.hypershift.openshift.io {}`",
            flags(&full_name)
        );
        match bad {
            Some((kind, why)) if kind != SKEW => Finding::new(
                Stage::NoInstance,
                At::Instance,
                format!("{kind} is False"),
                format!("{wants}: {kind} is False: {}", sentence(&why)),
            )
            .next(describe)
            .proved(
                self,
                format!("NodePool {full_name}, condition {kind}"),
                &[Counter::Machines],
            ),
            bad => {
                let beside = bad.map_or(String::new(), |(kind, why)| {
                    format!(
                        "; {kind} is False, which alone stops nothing: {}",
                        sentence(&why)
                    )
                });
                let end = if beside.is_empty() { "." } else { "" };
                self.unseen("why: the log of the control-plane-operator or the capi-provider in the hosted control plane's namespace");
                Finding::new(
                    Stage::NoInstance,
                    At::Instance,
                    "no Machine is made",
                    format!("{wants}, and no condition of it says why{beside}{end}"),
                )
                .next(describe)
            }
        }
    }

    /// The finding of a machine whose Node is in a hosted cluster.
    pub(super) fn hosted(&mut self) -> Finding {
        let facts = self.facts;
        let name_of_pool = self.node_pool();
        let pool = facts
            .node_pools
            .iter()
            .find(|of| of.metadata.full_name() == name_of_pool);
        let bad = pool.and_then(|pool| self.see_pool(pool));
        let is_invalid = (bad.as_ref()).is_some_and(|(kind, _)| kind.starts_with("Valid"));
        // That nobody asked says less than that there is nothing to ask for.
        let by_log = (self.by_ignition_log())
            .filter(|finding| !is_invalid || finding.stage != Stage::NoRequest);
        let name = self.name();
        self.unseen("its Node and certificate requests: they are in the hosted cluster");
        match (by_log, bad) {
            (Some(finding), Some((kind, why))) if finding.stage == Stage::RequestRefused && is_invalid => {
                let sentence = format!(
                    "{name} does not get its config: its NodePool {name_of_pool} says {kind} is False: {} {}",
                    sentence(&why), finding.sentence
                );
                finding.retold(Stage::RequestRefused, sentence, None)
            }
            (Some(finding), _) => finding,
            (None, Some((kind, why))) if kind == "ReachedIgnitionEndpoint" => Finding::new(
                Stage::NoRequest,
                At::Requested,
                "ReachedIgnitionEndpoint is False",
                format!("No machine of NodePool {name_of_pool} has reached the ignition server, {name} among them: {}", sentence(&why)),
            )
            .next(ROUTE),
            (None, Some((kind, why))) if is_invalid => Finding::new(
                Stage::RequestRefused,
                At::Served,
                format!("{kind} is False"),
                format!("{name} does not get its config, as it seems: its NodePool {name_of_pool} says {kind} is False: {}", sentence(&why)),
            )
            .next(format!("Look at the NodePool: `oc describe nodepools.hypershift.openshift.io {}`", flags(&name_of_pool))),
            (None, Some((kind, why))) => Finding::new(
                Stage::Unknown,
                At::Requested,
                format!("{kind} is False"),
                format!("Why {name} is no Node cannot be told from here; its NodePool {name_of_pool} says {kind} is False: {}", sentence(&why)),
            ),
            (None, None) => Finding::new(
                Stage::Unknown,
                At::Requested,
                "not seen from here",
                format!("Why {name} is no Node cannot be told from here: its config comes from HyperShift's ignition server."),
            ),
        }
    }

    /// The first condition of a NodePool that says why; each goes into the evidence.
    fn see_pool(&mut self, pool: &NodePool) -> Option<(String, String)> {
        let full_name = pool.metadata.full_name();
        let bad = blame(pool);
        for condition in &bad {
            let text = format!("{}: {}", condition.status, condition.says());
            let source = format!("NodePool {full_name}, condition {}", condition.kind);
            self.see(source, condition.since(), text);
        }
        let first = bad.first()?;
        Some((first.kind.clone(), first.says()))
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
        let made = self.created()?;
        let own: Vec<&Request> = servers
            .requests
            .iter()
            .filter(|request| request.at.plus(CLOCKS) >= made)
            .collect();
        let mut refusals: BTreeMap<Refusal, usize> = BTreeMap::new();
        for refusal in own.iter().filter_map(|request| request.refusal) {
            *refusals.entry(refusal).or_default() += 1;
        }
        let served = own.len() - refusals.values().sum::<usize>();
        self.see(
            format!("log of the ignition-server in {namespace}"),
            own.last().map(|request| request.at).or(Some(made)),
            match own.len() {
                0 => format!(
                    "since then no request in the logs of {} pods",
                    servers.count()
                ),
                count => format!(
                    "{} since {made}, the last by {}; {served} served",
                    requests(count),
                    servers.agent
                ),
            },
        );
        let begin = servers.begin();
        let is_whole = begin.is_some_and(|begin| begin <= made.plus(CLOCKS));
        if own.is_empty() {
            return Some(self.nobody_asked(made.max(begin.unwrap_or(made)), is_whole));
        }
        if served == 0 {
            let (refusal, _) = refusals.iter().max_by_key(|(_, count)| **count)?;
            return Some(self.all_refused(&own, *refusal));
        }
        Some(self.some_served(&own, served))
    }

    fn nobody_asked(&self, since: Moment, is_whole: bool) -> Finding {
        let (name, pool) = (self.name(), self.node_pool());
        let age = span(self.now.since(since));
        let far = if is_whole {
            ""
        } else {
            ", as far as the logs go back"
        };
        Finding::new(
            Stage::NoRequest,
            At::Requested,
            format!("none since {}", since.clock()),
            format!("{name} is up, and no machine of NodePool {pool}'s cluster has asked for a config in {age}{far}: user data, network or route."),
        )
        .next(ROUTE)
    }

    fn all_refused(&self, own: &[&Request], refusal: Refusal) -> Finding {
        let (name, pool) = (self.name(), self.node_pool());
        let last = own.last().map_or(self.now, |request| request.at);
        let (why, help) = match refusal {
            Refusal::UnknownToken => (
                "the ignition server does not know the token of their user data, which is of an older config of the NodePool, or its config is not made yet",
                format!("Look at the NodePool: `oc describe nodepools.hypershift.openshift.io {}`", flags(&pool)),
            ),
            Refusal::Token => (
                "their user data has no token",
                "Make the machines from the NodePool's own user data, with its Authorization header".to_owned(),
            ),
            Refusal::Payload => (
                "the NodePool's config is not valid",
                "Correct the ConfigMaps in spec.config of the NodePool".to_owned(),
            ),
        };
        Finding::new(
            Stage::RequestRefused,
            At::Served,
            format!("refused ({})", refusal.status()),
            format!(
                "{name}'s cluster did not serve a config to any machine since {name} was made, at {}, the last {} ({}): {why}.",
                requests(own.len()),
                self.ago(last),
                refusal.status()
            ),
        )
        .next(help)
    }

    /// Some requests were served; whose cannot be told if several machines came since.
    fn some_served(&self, own: &[&Request], served: usize) -> Finding {
        let name = self.name();
        let (namespace, made) = (
            self.machine.map(|machine| &machine.metadata.namespace),
            self.created(),
        );
        let later = self.facts.all_machines().filter(|machine| {
            Some(&machine.metadata.namespace) == namespace && machine.metadata.created >= made
        });
        if later.count() > 1 {
            return Finding::new(
                Stage::Unknown,
                At::Requested,
                "cannot be told apart",
                format!("Whether {name} got its config cannot be told apart: the ignition server's log has no addresses, and served {served} of {} since it was made.", requests(own.len())),
            )
            .next("Look at its console: Ignition says there whether it reaches the ignition server");
        }
        let last = own.last().map_or(self.now, |request| request.at);
        Finding::new(
            Stage::FirstBoot,
            At::FirstBoot,
            format!("nothing seen since {}", last.clock()),
            format!(
                "{name} got its config {}, as the only machine that was made since then; its Node and its certificate request are in the hosted cluster.",
                self.ago(last)
            ),
        )
        .next("Look at its console, and in the hosted cluster: `oc get csr`")
    }
}

const ROUTE: &str = "Look at the route ignition-server of the hosted control plane, and at the way there from the machines' network";

fn requests(count: usize) -> String {
    format!("{count} request{}", if count == 1 { "" } else { "s" })
}

/// A name with its namespace, as oc takes it.
fn flags(full_name: &str) -> String {
    match full_name.split_once('/') {
        Some((namespace, name)) => format!("-n {namespace} {name}"),
        None => full_name.to_owned(),
    }
}
