//! The Node of a machine (pure).

use super::bare_metal::names;
use super::case::Case;
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::rows::row;
use super::way::{At, Stage};
use skewguard_cluster::kinds::groups::{CLUSTER_API, KARPENTER, MACHINE_API};
use skewguard_cluster::kinds::{CertificateRequest, Condition, Machine, Node};
use skewguard_cluster::names::count;

impl<'a> Case<'a> {
    /// Its Node, where it is there: joined, or what is wrong with it.
    pub(super) fn of_node(&mut self) -> Option<Finding> {
        let node = self.node?;
        let own = &node.metadata.name;
        let source = format!("Node {own}");
        self.see_node(node);
        let which = match self.name == own {
            true => "its Node".to_owned(),
            false => format!("its Node {own}"),
        };
        let serving = self.serving_requests(node);
        let names_it =
            |machine: &Machine| machine.node.as_ref() == Some(own) || machine.is_registered_claim();
        let has_status = self.machine.is_none_or(Machine::has_status);
        let is_linked = !has_status || self.machine.is_none_or(names_it);
        let is_its = is_linked && has_status || self.is_surely(node);
        if is_its {
            self.reach(At::Certificate, "");
        }
        let joined = match is_its {
            true => "has joined",
            false => "may have joined",
        };
        let joined = joined.to_owned();
        self.holes.extend([("joined", joined), ("which", which)]);
        let again = self.asks_again(node);
        let is_own = is_its && again.is_none_or(|request| !request.is_first);
        let (finding, proof) = match node.not_ready() {
            Some(ready) => {
                let finding = self.not_ready(node, ready);
                (finding, format!("{source}, condition Ready"))
            }
            None if node.is_uninitialized() => (self.not_initialized(node), source),
            None if !is_linked => (self.not_linked(node), source),
            None => (self.joined(node, serving.len()), source),
        };
        let is_read = finding.stage != Stage::Joined || node.ready.is_some();
        let finding = match is_own && is_read {
            true => finding.sure(self, proof),
            false => finding,
        };
        Some(match serving.is_empty() {
            true => finding,
            false => self.with_serving(finding, &serving),
        })
    }

    /// Notes that it had become the Node which its Machine names, whatever it is now.
    pub(super) fn reach_node(&mut self) {
        let named = self.machine.and_then(|machine| machine.node.as_ref());
        let own = self.node.filter(|node| named == Some(&node.metadata.name));
        if let Some(node) = own {
            let state = node.not_ready().map_or("", |_| ", not Ready");
            self.reach(At::Node, format!("{}{state}", node.metadata.name));
        }
    }

    /// Adds the requests for the certificate that its Node serves with.
    fn with_serving(&mut self, finding: Finding, serving: &[&CertificateRequest]) -> Finding {
        let mut last = serving.iter().rev();
        let why = last.find_map(|one| self.approver_said(one));
        let finding = self.with(finding, row!(ServingRequests serving = serving.len(), why));
        if finding.stage != Stage::Joined {
            return finding;
        }
        let row = self.missing_addresses().map(|host| match host {
            None => row!(AddressesNotWritten),
            Some([_, space, of]) => row!(NeverInspected space, of),
        });
        self.with_all(finding, row)
    }

    pub(super) fn see_node(&mut self, node: &Node) {
        let source = format!("Node {}", node.metadata.name);
        self.see(&source, node.metadata.created, "created");
        if let Some(ready) = &node.ready {
            self.see_condition_of(&source, ready);
        }
        if !node.taints.is_empty() {
            let taints = node.taints.join(", ");
            self.see(format!("{source}, spec.taints"), None, taints);
        }
        self.see_daemon(node);
    }

    /// Tells if more than its address says that a Node is this one's.
    fn is_surely(&mut self, node: &Node) -> bool {
        let own = &node.metadata.name;
        let id = self.provider_id();
        let is_provided = id.is_some() && id == node.provider_id.as_ref();
        let is_named = self.aliases.names.contains(&own.to_ascii_lowercase());
        // The first part of a name may be another machine's.
        let is_own = is_provided || is_named && !self.is_elsewhere(node);
        if !is_own {
            self.unseen(format!(
                "whether Node {own} is this machine: its name and its address are not both the machine's"
            ));
        }
        is_own
    }

    fn provider_id(&self) -> Option<&'a String> {
        self.machine?.provider_id.as_ref()
    }

    /// Tells if a Node has addresses that are not its own, and no other.
    pub(super) fn is_elsewhere(&self, node: &Node) -> bool {
        let (own, others) = (&self.aliases.addresses, &node.addresses);
        !own.is_empty() && !others.is_empty() && !others.iter().any(|ip| own.contains(ip))
    }

    /// Requests for the certificate that its Node serves with, which wait.
    fn serving_requests(&mut self, node: &Node) -> Vec<&'a CertificateRequest> {
        let own = &node.metadata.name;
        let requests = self.index.serving_requests(own);
        let waiting: Vec<_> = requests.filter(|request| request.is_pending()).collect();
        for request in waiting.iter().take(10) {
            let text = format!("for serving, of node {own}, pending");
            self.see_csr(request, text);
            self.approver_said(request);
        }
        self.see_more("such CertificateSigningRequests", waiting.len(), 10);
        waiting
    }

    /// A Machine that is being deleted: it waits for no Node, and one that it has goes with it.
    pub(super) fn of_deletion(&mut self) -> Option<Finding> {
        let machine = self.machine.filter(|machine| machine.is_deleting)?;
        let kind = match machine.group {
            KARPENTER => "nodeclaims",
            _ => "machines",
        };
        let source = self.field("metadata.deletionTimestamp");
        self.see(&source, None, "set");
        if let Some(node) = self.node {
            self.see_node(node);
            self.reach_node();
        }
        let node = self.node.map(|node| &node.metadata.name);
        let keeps = |one: &&Condition| {
            let is_bad = matches!(
                (&*one.kind, &*one.status),
                ("Drainable" | "Terminable" | "DrainingSucceeded", "False") | ("Deleting", "True")
            );
            is_bad && !one.message.is_empty()
        };
        let says = self.said(machine.conditions.iter().find(keeps));
        let finding = self.tell(row!(BeingDeleted node, says, kind, group = machine.group));
        Some(finding.sure(self, source))
    }

    fn joined(&mut self, node: &Node, serving: usize) -> Finding {
        let are = if serving == 1 { "is" } else { "are" };
        let count = (serving > 0).then(|| count(serving, "request"));
        let (ready, node) = (node.ready.is_some(), &node.metadata.name);
        self.tell(row!(Joined node, ready, count, are))
    }

    /// A Node that its Machine still names, and that is gone: the Machine keeps the reference.
    pub(super) fn of_gone_node(&mut self) -> Option<Finding> {
        let machine = self.machine?;
        let node = machine.node.as_ref()?;
        if !self.index.ground.has_nodes || self.facts.is_elsewhere(machine) {
            return None;
        }
        let source = self.field("status.nodeRef");
        let text = format!("{node}, which is not among the Nodes");
        self.see(&source, None, text);
        if self.index.is_of_two_clusters {
            return Some(self.tell(row!(TwoClusters node)));
        }
        self.reach(At::Certificate, "");
        self.unread(&[Counter::Nodes, Counter::Requests]);
        Some(self.tell(row!(NodeGone node)))
    }

    /// The Machine Config Daemon's word on it.
    fn see_daemon(&mut self, node: &Node) {
        let own = &node.metadata.name;
        if let Some((state, reason)) = &node.daemon {
            let text = match reason.as_str() {
                "" => state.clone(),
                reason => format!("{state}: {reason}"),
            };
            let source = format!("Node {own}, the Machine Config Daemon's state");
            self.see(source, None, text);
        }
        let conditions = self.facts.config_nodes.get(own).into_iter().flatten();
        let degraded = conditions.filter(|condition| {
            let is_bad = match condition.is_true() {
                true => condition.kind.ends_with("Degraded"),
                false => condition.status == "False" && condition.kind == "UpdatePrepared",
            };
            is_bad && !condition.message.is_empty()
        });
        for condition in degraded {
            let source = format!("MachineConfigNode {own}, condition {}", condition.kind);
            self.see(source, condition.since(), condition.says());
        }
    }

    fn not_ready(&mut self, node: &Node, ready: &Condition) -> Finding {
        let since = self.span_since(ready.since());
        let own = &node.metadata.name;
        let says = sentence(&ready.says());
        let mut finding = self.tell(row!(NodeNotReady node = own, since, says));
        if let Some((state, reason)) = &node.daemon
            && state == "Degraded"
        {
            finding = self.with(finding, row!(DaemonDegraded reason));
        }
        for lack in &node.lacks {
            self.see_condition_of(&format!("Node {own}"), lack);
            finding = self.with(
                finding,
                row!(NodeLacks kind = lack.kind, since = lack.since()),
            );
        }
        let pods = self.facts.failing_pods.iter();
        let pods: Vec<_> = pods.filter(|((node, _), _)| node == own).collect();
        let all = pods.len();
        for ((_, pod), why) in pods.into_iter().take(3) {
            self.see(format!("Pod {pod}"), None, why);
            let (space, pod) = pod.split_once('/').unwrap_or(("default", pod));
            let ran = matches!(&**why, "CrashLoopBackOff" | "Error");
            finding = self.with(finding, row!(PodFails space, pod, why, ran));
        }
        self.see_more("such Pods", all, 3);
        let finding = self.with_request(node, finding);
        self.with(finding, row!(DescribeNode node = own))
    }

    /// The last request by which the kubelet of a silent Node asks for a certificate again.
    fn asks_again(&self, node: &Node) -> Option<&'a CertificateRequest> {
        let is_silent = node.ready.as_ref()?.status == "Unknown";
        let own = self.index.kubelet_requests(&node.metadata.name);
        own.last().copied().filter(|_| is_silent)
    }

    /// The request in the name of a silent Node, put into the evidence.
    pub(super) fn request_of_silent_node(&mut self) -> Option<&'a str> {
        let last = match self.node {
            Some(node) => self.asks_again(node),
            None => self.own_requests().pop().filter(|last| last.is_pending()),
        }?;
        let text = format!("of node {}, pending", last.node);
        self.see_csr(last, text);
        Some(&last.metadata.name)
    }

    /// Adds that request to what is said of the Node, and what to do with it.
    fn with_request(&mut self, node: &Node, finding: Finding) -> Finding {
        let Some(last) = self.asks_again(node) else {
            return finding;
        };
        let own = self.index.kubelet_requests(&last.node);
        let by = match last.is_first {
            true => "the bootstrapper",
            false => "the node itself",
        };
        let text = format!("of node {}, by {by}, pending", last.node);
        self.see_csr(last, text);
        let why = self.approver_said(last).map(|why| sentence(&why));
        let waits = self.pending(last, &own);
        if last.is_first {
            let finding = self.with(finding, row!(AsksAgain waits, why));
            return self.with_approval(finding, last, row!(ApproveIfSame id = last.metadata.name));
        }
        let finding = self.with(finding, row!(AsksToRenew waits, why));
        let finding = self.advise_approval(finding, last);
        self.with(finding, row!(Renewals))
    }

    /// A Node that its cloud controller manager has not looked at: it keeps the taint, and no pod runs on it.
    fn not_initialized(&mut self, node: &Node) -> Finding {
        let (lacks, node) = (node.provider_id.is_none(), &node.metadata.name);
        self.tell(match self.facts.platform == "External" {
            true => row!(NodeNotInitializedOfExternal node, lacks),
            false => row!(NodeNotInitialized node, lacks),
        })
    }

    /// Tells if a Machine of the Machine API has no addresses, by which its Node and its requests are found, and the names
    /// of its host where that is why: it was never inspected.
    pub(super) fn missing_addresses(&mut self) -> Option<Option<[String; 3]>> {
        let machine = self.machine?;
        if machine.group != MACHINE_API || !machine.addresses.is_empty() {
            return None;
        }
        self.see(self.field("status.addresses"), None, "none");
        let host = self.host.filter(|host| host.addresses.is_empty());
        if let Some(host) = host {
            self.see_host(host, "status.hardware", None, "none");
        }
        Some(host.map(names))
    }

    fn not_linked(&mut self, node: &Node) -> Finding {
        let (own, of_node) = (self.provider_id(), node.provider_id.as_ref());
        let differ = own.is_some() && of_node.is_some() && own != of_node;
        let name = &node.metadata.name;
        if let Some(host) = self.missing_addresses().filter(|_| !differ) {
            return self.tell(match host {
                None => row!(NotLinkedWithoutAddresses node = name),
                Some([host, space, of]) => {
                    row!(NotLinkedNotInspected node = name, host, space, of)
                }
            });
        }
        let why = match (own, of_node) {
            (Some(own), Some(other)) if own != other => {
                format!("the Machine's spec.providerID is {own}, the Node's {other}")
            }
            (Some(_), None) if node.is_uninitialized() => {
                "the Node has no spec.providerID: the cloud controller did not initialize it"
                    .to_owned()
            }
            (Some(_), None) if node.ready.is_some() => "the Node has no spec.providerID".to_owned(),
            (None, _) => "the Machine has no spec.providerID".to_owned(),
            (Some(_), _) => "nothing that was read says why".to_owned(),
        };
        self.see(self.field("status.nodeRef"), None, format!("none; {why}"));
        self.tell(match self.machine.map(|machine| machine.group) {
            Some(CLUSTER_API) => row!(NodeNotLinkedOfClusterApi node = name, why),
            Some(KARPENTER) => row!(NodeNotLinkedOfKarpenter node = name, why),
            _ => row!(NodeNotLinked node = name, why),
        })
    }
}
