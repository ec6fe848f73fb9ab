//! Machines of a NodePool: their config comes from HyperShift's ignition server, and their Node is in
//! another cluster (pure).

use super::case::Case;
use super::finding::{Finding, sentence};
use super::ignition_server::{Refusal, Request};
use super::moment::{CLOCKS, Moment};
use super::rows::row;
use super::way::Stage;
use super::why_not_made::ALL_READY;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::{Condition, NodePool};
use skewguard_cluster::names::count;
use std::collections::BTreeMap;

/// Conditions of a NodePool about its machines, beside those about what is valid: the earliest on their
/// way first.
const CONDITIONS: [&str; 8] = [
    "UpdateManagementEnabled",
    "IgnitionEndpointAvailable",
    ACTIVE,
    "AWSSecurityGroupAvailable",
    ALL_READY,
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

/// Tells if Machines of the Cluster API name no NodePool: they may be of any.
pub(super) fn has_machines_of_no_pool(facts: &Cluster) -> bool {
    let mut machines = facts.all_machines();
    machines.any(|one| one.is_of_cluster_api() && one.node_pool.is_none())
}

/// Tells if it says why it is short of machines.
pub(super) fn says_why(pool: &NodePool) -> bool {
    blame(pool).iter().any(|one| one.kind != SKEW)
}

impl Case<'_> {
    /// A NodePool that wants machines and has none.
    pub(super) fn node_pool_without_machines(&mut self, pool: &NodePool) -> Finding {
        let full = pool.metadata.full_name();
        let wanted = i64::try_from(pool.wanted).unwrap_or(i64::MAX);
        let some = pool.available;
        let some = some.filter(|available| (1..wanted).contains(available));
        // `status.replicas` counts what is available, by the MachineDeployment or MachineSet (openshift/hypershift
        // `hypershift-operator/controllers/nodepool`); a Machine that is not may be there.
        let empty = some.is_none() && self.index.ground.has_pool_machines;
        let available = match some {
            None => "none is".to_owned(),
            Some(1) => "1 is".to_owned(),
            Some(some) => format!("{some} are"),
        };
        let wanted = count(pool.wanted, "machine");
        let wants = self.says(row!(NodePoolWants full, wanted, empty, available));
        let (space, pool_name) = split(&full);
        let (kind, why) = match self.see_pool(pool) {
            Some((kind, why)) if kind != SKEW => {
                let row = row!(NodePoolEmpty kind, wants, why, space, pool = pool_name);
                let mut finding = self.tell(row);
                if let Some(until) = pool.paused_until.as_ref().filter(|_| kind == ACTIVE) {
                    self.see(self.field("spec.pausedUntil"), None, until);
                    finding = self.with(finding, row!(Unpause));
                }
                if some.is_some() || has_machines_of_no_pool(self.facts) {
                    self.unseen("which Machines are its: some were not read, or name no NodePool (hypershift.openshift.io/nodePool)");
                    return finding;
                }
                return finding.sure(self, format!("NodePool {full}, condition {kind}"));
            }
            other => other.unwrap_or_default(),
        };
        self.tell(row!(NodePoolEmptySilent wants, kind, why, space, pool = pool_name))
    }

    /// The finding of a machine whose Node is in a hosted cluster.
    pub(super) fn hosted(&mut self) -> Finding {
        let full = self.node_pool();
        let own = self.own_node_pool();
        let bad = own.and_then(|own| self.see_pool(own));
        let is_invalid = own.is_some_and(is_invalid);
        // That nobody asked says less than that there is nothing to ask for.
        let by_log = (self.by_ignition_log())
            .filter(|finding| !is_invalid || finding.stage != Stage::NoRequest);
        self.unseen("its Node and certificate requests: they are in the hosted cluster");
        let Some((kind, why)) = bad else {
            return by_log.unwrap_or_else(|| self.tell(row!(NotSeenFromHere)));
        };
        let (space, pool) = split(&full);
        if let Some(finding) = by_log {
            let is_refused = finding.stage == Stage::RequestRefused && is_invalid;
            let row = is_refused.then(|| row!(PoolNotValid full, kind, why));
            return self.with_all(finding, row);
        }
        self.tell(if kind == "ReachedIgnitionEndpoint" {
            row!(IgnitionEndpointNotReached kind, full, why)
        } else if is_invalid {
            row!(PayloadNotServed kind, full, why, space, pool)
        } else {
            row!(NotSeenPoolSays kind, full, why, space, pool)
        })
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
            let whole = begin.is_some_and(|begin| begin <= made.plus(CLOCKS));
            let since = begin.map_or(made, |begin| made.max(begin));
            let (pool, age) = (self.node_pool(), self.span_since(Some(since)));
            return Some(self.tell(row!(PoolSilent since = since.clock(), pool, age, whole)));
        }
        let most = refusals.iter().max_by_key(|(_, count)| **count);
        let requests = count(own.len(), "request");
        Some(match most {
            Some((refusal, _)) if served == 0 => self.all_refused(&requests, last, *refusal),
            _ => self.some_served(last, &format!("{served} of {requests}")),
        })
    }

    fn all_refused(&mut self, requests: &str, last: Moment, refusal: Refusal) -> Finding {
        let (ago, status) = (self.ago(last), refusal.status());
        let begin = self.says(row!(NoneServed requests, ago, status));
        let full = self.node_pool();
        let (space, pool) = split(&full);
        self.tell(match refusal {
            Refusal::UnknownToken => row!(TokenUnknown status, begin, space, pool),
            Refusal::Token => row!(TokenMissing status, begin),
            Refusal::Payload => row!(PayloadInvalid status, begin),
        })
    }

    /// Some requests were served; whose cannot be told if several machines came since.
    fn some_served(&mut self, last: Moment, served: &str) -> Finding {
        let namespace = &self.subject.metadata().namespace;
        let machines = self.facts.all_machines().map(|machine| &machine.metadata);
        let own = machines.filter(|one| one.namespace == *namespace);
        let later = own.filter(|one| one.created >= self.created);
        if later.count() > 1 {
            return self.tell(row!(SomeServed served));
        }
        let (since, ago) = (last.clock(), self.ago(last));
        self.tell(row!(PayloadServed since, ago))
    }
}

/// The namespace and the name of a NodePool, as oc takes them.
fn split(full_name: &str) -> (&str, &str) {
    full_name.split_once('/').unwrap_or(("", full_name))
}
