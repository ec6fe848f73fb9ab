//! The Node of a machine (pure).

use super::case::Case;
use super::finding::{Counter, Finding, count, sentence};
use super::moment::span;
use super::way::{At, Stage};
use skewguard_cluster::kinds::metadata::Condition;
use skewguard_cluster::kinds::node::Node;

impl Case<'_> {
    /// Its Node, where it is there: joined, or what is wrong with it.
    pub(super) fn of_node(&mut self) -> Option<Finding> {
        let node = self.node()?;
        let source = format!("Node {}", node.metadata.name);
        self.see(source.clone(), node.metadata.created, "created");
        let is_linked = self
            .machine
            .is_none_or(|machine| machine.node.as_deref() == Some(&node.metadata.name));
        let name = self.name().to_owned();
        let which = if name == node.metadata.name {
            "its Node".to_owned()
        } else {
            format!("its Node {}", node.metadata.name)
        };
        if let Some(ready) = &node.ready {
            self.see(
                format!("{source}, condition Ready"),
                ready.since(),
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
        self.reach(At::Certificate, "");
        let serving = self.serving_requests(node);
        let is_ready = node.ready.as_ref().map(|ready| ready.status == "True");
        let is_own = is_linked || self.is_surely(node);
        let finding = match &node.ready {
            Some(ready) if is_ready == Some(false) => self.not_ready(node, ready, (&which, is_own)),
            _ if !is_linked => self.not_linked(node, (&which, is_own)),
            _ => self.joined(node, &which, (is_ready.is_some(), serving)),
        };
        Some(if serving > 0 {
            finding.next(format!(
                "Serving certificate requests of it that wait, {serving}: `oc get csr`"
            ))
        } else {
            finding
        })
    }

    /// Tells if more than its address says that a Node is this one's.
    fn is_surely(&mut self, node: &Node) -> bool {
        let id = self
            .machine
            .and_then(|machine| machine.provider_id.as_ref());
        let is_provided = id.is_some() && id == node.provider_id.as_ref();
        let name = node.metadata.name.to_ascii_lowercase();
        let is_own = is_provided || self.names().contains(&name);
        if !is_own {
            self.unseen(format!(
                "whether Node {} is this machine: it has another name, and the machine's address",
                node.metadata.name
            ));
        }
        is_own
    }

    /// Requests for the certificate that its Node serves with, which wait.
    fn serving_requests(&mut self, node: &Node) -> usize {
        let requests = self
            .index
            .requests
            .get(&*node.metadata.name.to_ascii_lowercase());
        let requests = requests.into_iter().flatten().copied();
        let waiting: Vec<_> = requests
            .filter(|request| !request.is_client && request.is_pending())
            .collect();
        for request in waiting.iter().take(3) {
            let source = format!("CertificateSigningRequest {}", request.name);
            let text = format!("for serving, of node {}, pending", node.metadata.name);
            self.see(source, request.created, text);
            if let Some(why) = self.facts.refusals.get(&request.name) {
                let text = format!("{}: {why}", request.name);
                self.see("log of the machine-approver", None, text);
            }
        }
        waiting.len()
    }

    fn joined(&mut self, node: &Node, which: &str, (is_ready, serving): (bool, usize)) -> Finding {
        let name = self.name();
        let ready = if is_ready { " and Ready" } else { "" };
        let waits = match serving {
            0 => String::new(),
            serving => format!(
                "; {} for its serving certificate {} pending, without which logs and exec fail",
                count(serving, "request"),
                if serving == 1 { "is" } else { "are" }
            ),
        };
        let finding = Finding::new(
            Stage::Joined,
            At::Node,
            node.metadata.name.clone(),
            format!("{name} has joined: {which} is there{ready}{waits}."),
        );
        if !is_ready {
            self.unseen("whether the Node is Ready: only its metadata was read");
            return finding;
        }
        finding.proved(
            self,
            format!("Node {}", node.metadata.name),
            &[Counter::Itself],
        )
    }

    /// A Node that its Machine still names, and that is gone: the Machine keeps the reference.
    pub(super) fn of_gone_node(&mut self) -> Option<Finding> {
        let machine = self.machine?;
        let node = machine.node.clone()?;
        if !self.index.ground.has_nodes || machine.node_pool.is_some() {
            return None;
        }
        let source = format!("{}, status.nodeRef", self.object());
        self.see(
            source.clone(),
            None,
            format!("{node}, which is not among the Nodes"),
        );
        let finding = Finding::new(
            Stage::NodeNotReady,
            At::Node,
            format!("{node} is gone"),
            format!(
                "{} had joined, and its Node {node} is gone: status.nodeRef still names it, and no certificate request of it was seen since.",
                self.name()
            ),
        );
        let finding = finding
            .next("Start its kubelet again, which makes the Node anew: on the node, systemctl restart kubelet")
            .next("Or delete the Machine: its set makes another");
        Some(finding.proved(self, source, &[Counter::Nodes, Counter::Requests]))
    }

    fn see_daemon(&mut self, node: &Node) {
        if let Some((state, reason)) = &node.daemon {
            let text = match reason.as_str() {
                "" => state.clone(),
                reason => format!("{state}: {reason}"),
            };
            self.see(
                format!(
                    "Node {}, the Machine Config Daemon's state",
                    node.metadata.name
                ),
                None,
                text,
            );
        }
        let conditions = self.facts.config_nodes.get(&node.metadata.name);
        let degraded = conditions.into_iter().flatten().filter(|condition| {
            condition.status == "True" && condition.kind.ends_with("Degraded")
                || condition.status == "False" && condition.kind == "UpdatePrepared"
        });
        for condition in degraded.filter(|condition| !condition.message.is_empty()) {
            self.see(
                format!(
                    "MachineConfigNode {}, condition {}",
                    node.metadata.name, condition.kind
                ),
                condition.since(),
                condition.says(),
            );
        }
    }

    fn not_ready(
        &mut self,
        node: &Node,
        ready: &Condition,
        (which, is_own): (&str, bool),
    ) -> Finding {
        let name = self.name();
        let mut finding = Finding::new(
            Stage::NodeNotReady,
            At::Node,
            format!("{} is not Ready", node.metadata.name),
            format!(
                "{name} has joined, and {which} has not been Ready{}: {}",
                ready.since().map_or(String::new(), |since| format!(
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
        let proof = format!("Node {}, condition Ready", node.metadata.name);
        let finding = finding.next(format!(
            "Look at the Node: `oc describe node {}`",
            node.metadata.name
        ));
        if is_own {
            return finding.proved(self, proof, &[Counter::Itself]);
        }
        finding
    }

    fn not_linked(&mut self, node: &Node, (which, is_own): (&str, bool)) -> Finding {
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
        let finding = Finding::new(
            Stage::NodeNotReady,
            At::Node,
            format!("{} is not linked", node.metadata.name),
            format!(
                "{name} has joined, and the Machine is not linked to it: {which} is there, and status.nodeRef is empty; {why}."
            ),
        )
        .next("Read the log of the nodelink-controller: `oc logs -n openshift-machine-api deployment/machine-api-controllers -c nodelink-controller`");
        if is_own {
            return finding.proved(
                self,
                format!("Node {}", node.metadata.name),
                &[Counter::Itself],
            );
        }
        finding
    }
}
