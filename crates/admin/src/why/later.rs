//! Signs of a machine after its first boot began: certificate requests, the Node (pure).

use super::case::Case;
use super::finding::{At, Finding, ago, sentence};
use super::kinds::{Condition, Node};
use super::moment::{Moment, span};
use super::records::CertificateRequest;
use super::report::Stage;

/// The longest time after its Machine that a node's first request is approved (cluster-machine-approver,
/// `maxMachineDelta`).
const APPROVED_WITHIN: u64 = 2 * 3_600;

/// The number of requests that may wait beyond Machines or Nodes (cluster-machine-approver,
/// `maxDiffBetweenPendingCSRsAndMachinesCount`).
const MAX_MORE_PENDING: usize = 100;

impl Case<'_> {
    /// Its Node, where it is there: joined, or what is wrong with it.
    pub(super) fn of_node(&mut self) -> Option<Finding> {
        let node = self.node()?;
        let source = format!("Node {}", node.name);
        self.see(source.clone(), node.created, "created");
        let is_linked = self
            .machine
            .is_none_or(|machine| machine.node.as_deref() == Some(&node.name));
        let name = self.name().to_owned();
        let which = if name == node.name {
            "its Node".to_owned()
        } else {
            format!("its Node {}", node.name)
        };
        if let Some(ready) = &node.ready {
            self.see(
                format!("{source}, condition Ready"),
                ready.since,
                format!("{}: {}", ready.status, ready.says()),
            );
        }
        if !node.taints.is_empty() {
            self.see(
                format!("{source}, spec.taints"),
                None,
                node.taints.join(", "),
            );
        }
        self.see_daemon(node);
        match &node.ready {
            Some(ready) if ready.status != "True" => Some(self.not_ready(node, ready, &which)),
            _ if !is_linked => Some(self.not_linked(node, &which)),
            ready => {
                if ready.is_none() {
                    self.unseen("whether the Node is Ready: only its metadata was read");
                }
                Some(
                    Finding::new(
                        Stage::Joined,
                        At::Node,
                        node.name.clone(),
                        format!(
                            "{name} has joined: {which} is there{}.",
                            if ready.is_some() { " and Ready" } else { "" }
                        ),
                    )
                    .doubtful(ready.is_none()),
                )
            }
        }
    }

    fn see_daemon(&mut self, node: &Node) {
        if let Some((state, reason)) = &node.daemon {
            let text = match reason.as_str() {
                "" => state.clone(),
                reason => format!("{state}: {reason}"),
            };
            self.see(
                format!("Node {}, the Machine Config Daemon's state", node.name),
                None,
                text,
            );
        }
        let conditions = self.facts.config_nodes.get(&node.name);
        let degraded = conditions.into_iter().flatten().filter(|condition| {
            condition.status == "True" && condition.kind.ends_with("Degraded")
                || condition.status == "False" && condition.kind == "UpdatePrepared"
        });
        for condition in degraded.filter(|condition| !condition.message.is_empty()) {
            self.see(
                format!(
                    "MachineConfigNode {}, condition {}",
                    node.name, condition.kind
                ),
                condition.since,
                condition.says(),
            );
        }
    }

    fn not_ready(&mut self, node: &Node, ready: &Condition, which: &str) -> Finding {
        let name = self.name();
        let serving = self
            .index
            .requests
            .get(&*node.name.to_ascii_lowercase())
            .into_iter()
            .flatten()
            .filter(|request| !request.is_client && request.is_pending())
            .count();
        let mut finding = Finding::new(
            Stage::NodeNotReady,
            At::Node,
            format!("{} is not Ready", node.name),
            format!(
                "{name} has joined, and {which} has not been Ready{}: {}",
                ready.since.map_or(String::new(), |since| format!(
                    " for {}",
                    span(self.now.since(since))
                )),
                sentence(&ready.says())
            ),
        );
        if let Some((state, reason)) = &node.daemon
            && state == "Degraded"
        {
            finding = finding.next(format!(
                "The Machine Config Daemon is Degraded there: {reason}"
            ));
        }
        if serving > 0 {
            finding = finding.next(format!(
                "Serving certificate requests of it that wait, {serving}: oc get csr"
            ));
        }
        finding.next(format!("Look at the Node: oc describe node {}", node.name))
    }

    fn not_linked(&mut self, node: &Node, which: &str) -> Finding {
        let name = self.name();
        let own = self.machine.and_then(|machine| machine.provider_id.clone());
        let why = match (own.as_deref(), node.provider_id.as_deref()) {
            (Some(own), Some(other)) if own != other => {
                format!("the Machine's spec.providerID is {own}, the Node's {other}")
            }
            (Some(_), None) if node.ready.is_some() => {
                "the Node has no spec.providerID: the cloud controller did not initialize it"
                    .to_owned()
            }
            (None, _) => "the Machine has no spec.providerID".to_owned(),
            _ => "nothing that was read says why".to_owned(),
        };
        self.see(
            format!("{}, status.nodeRef", self.object()),
            None,
            format!("none; {why}"),
        );
        Finding::new(
            Stage::NodeNotReady,
            At::Node,
            format!("{} is not linked", node.name),
            format!(
                "{name} has joined, and the Machine is not linked to it: {which} is there, and status.nodeRef is empty; {why}."
            ),
        )
        .next("Read the log of the nodelink-controller: oc logs -n openshift-machine-api deployment/machine-api-controllers -c nodelink-controller")
    }

    /// A certificate request of it that was not approved, or that was and no Node came.
    pub(super) fn of_certificate(&mut self) -> Option<Finding> {
        let created = self.created();
        let names = self.names();
        let mut own: Vec<&CertificateRequest> = names
            .iter()
            .filter_map(|name| self.index.requests.get(&**name))
            .flatten()
            .copied()
            .filter(|request| request.is_client)
            .filter(|request| {
                !matches!((request.created, created), (Some(at), Some(own)) if at.plus(60) < own)
            })
            .collect();
        own.sort_by_key(|request| request.created);
        let last = *own.last()?;
        Some(if last.is_approved {
            self.approved(last)
        } else {
            self.not_approved(last, &own)
        })
    }

    /// An approved request, and no Node.
    fn approved(&mut self, request: &CertificateRequest) -> Finding {
        let source = format!("CertificateSigningRequest {}", request.name);
        let node = request.node.clone().unwrap_or_default();
        let name = self.name();
        let when = ago(self.now, request.created);
        if !request.is_signed {
            let text = format!("of node {node}, approved, status.certificate is empty");
            self.see(source, request.created, text);
            return Finding::new(
                Stage::NoCertificate,
                At::Certificate,
                format!("{} is not signed", request.name),
                format!("{name} waits for its certificate: request {}, made{when}, is approved and not signed.", request.name),
            )
            .next("Look at the signer: oc describe clusteroperators kube-controller-manager");
        }
        let dates = request.dates;
        let until = dates.map_or(String::new(), |dates| {
            format!(", valid from {} until {}", dates.from, dates.until)
        });
        self.see(
            source,
            request.created,
            format!("of node {node}, approved{until}"),
        );
        if dates.is_some_and(|dates| dates.until < self.now) {
            return Finding::new(
                Stage::NoCertificate,
                At::Certificate,
                "it has expired",
                format!("{name} got its certificate{when} and did not make its Node; by now the certificate has expired."),
            )
            .next("Start the node again: its kubelet then makes a new request");
        }
        Finding::new(
            Stage::NodeNotReady,
            At::Node,
            "there is none",
            format!("{name} got its certificate{when} and did not make its Node."),
        )
        .next("Read the kubelet's journal on the node: journalctl -u kubelet")
    }

    /// The last of its requests, which was denied or waits.
    fn not_approved(&mut self, last: &CertificateRequest, own: &[&CertificateRequest]) -> Finding {
        let source = format!("CertificateSigningRequest {}", last.name);
        let node = last.node.clone().unwrap_or_default();
        let name = self.name();
        let pending = own.iter().filter(|request| request.is_pending()).count();
        if let Some(why) = &last.denied {
            self.see(
                source,
                last.created,
                format!("of node {node}, denied: {why}"),
            );
            return Finding::new(
                Stage::NoCertificate,
                At::Certificate,
                format!("{} was denied", last.name),
                format!(
                    "{name} was denied its certificate{}: {}",
                    ago(self.now, last.created),
                    sentence(why)
                ),
            );
        }
        self.see(source, last.created, format!("of node {node}, pending"));
        let why = self.why_not_approved(last, &node);
        let first = own.iter().find(|request| request.is_pending());
        let first = first.and_then(|request| request.created);
        let since = first.map_or(String::new(), |at| {
            format!(" for {}", span(self.now.since(at)))
        });
        let count = match pending {
            1 => format!("request {} is pending{since}", last.name),
            count => format!(
                "{count} requests are pending{since}, {} the last",
                last.name
            ),
        };
        let (reason, is_sure) = match why {
            Some((why, is_sure)) => (format!("; {}", sentence(&why)), is_sure),
            None => (".".to_owned(), false),
        };
        if !is_sure {
            self.unseen("why the approver did not: its log (get pods/log in openshift-cluster-machine-approver; a must-gather has it)");
        }
        Finding::new(
            Stage::NoCertificate,
            At::Certificate,
            format!("{} is pending", last.name),
            format!("{name} waits for its certificate: {count}{reason}"),
        )
        .next(format!(
            "If it is this machine's (one for serving follows): oc adm certificate approve {}",
            last.name
        ))
    }

    /// The approver's reason to leave a request alone: its own word, else its rules.
    fn why_not_approved(
        &mut self,
        request: &CertificateRequest,
        node: &str,
    ) -> Option<(String, bool)> {
        if let Some(why) = self.facts.refusals.get(&request.name) {
            self.see(
                "log of the machine-approver",
                None,
                format!("{}: {why}", request.name),
            );
            return Some((format!("the approver: {why}"), true));
        }
        if let Some(why) = self.approver_fails() {
            return Some((why, true));
        }
        let facts = self.facts;
        let hour = self.now.minus(3_600);
        let pending = facts
            .requests
            .iter()
            .filter(|request| request.is_pending() && request.created >= Some(hour))
            .count();
        let most = facts.machines.len().max(facts.nodes.len()) + MAX_MORE_PENDING;
        if pending > most {
            return Some((
                format!(
                    "{pending} requests of the last hour wait, and the approver stops above {most}"
                ),
                true,
            ));
        }
        let Some(machine) = self.machine else {
            return Some((
                "it has no Machine, and the approver approves requests of Machines only".to_owned(),
                true,
            ));
        };
        if !self.index.internal_names.contains_key(node) {
            self.see(
                format!("{}, status.addresses", self.object()),
                None,
                format!("no InternalDNS {node}"),
            );
            return Some((
                format!(
                    "no Machine has {node} as InternalDNS in status.addresses, by which the approver finds it"
                ),
                true,
            ));
        }
        let late = |at: Moment, made: Moment| at > made.plus(APPROVED_WITHIN);
        match (request.created, machine.meta.created) {
            (Some(at), Some(made)) if late(at, made) => Some((
                "it came more than two hours after the Machine was made, and the approver takes none that late".to_owned(),
                true,
            )),
            _ => None,
        }
    }

    /// A condition of the approver's operator against it.
    fn approver_fails(&mut self) -> Option<String> {
        if let Some(conditions) = self.facts.operators.get("machine-approver") {
            let bad = conditions.iter().find(|condition| {
                matches!(
                    (&*condition.kind, &*condition.status),
                    ("Available", "False") | ("Degraded", "True")
                )
            });
            if let Some(bad) = bad {
                let (says, since) = (bad.says(), bad.since);
                let text = format!("{} {}: {says}", bad.kind, bad.status);
                self.see("ClusterOperator machine-approver", since, text);
                return Some(format!("the machine-approver does not work: {says}"));
            }
        }
        None
    }
}
