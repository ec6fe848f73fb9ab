//! The Node of a machine (pure).

use super::case::Case;
use super::cause::Cause;
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::moment::span;
use super::taken_name::RENEWALS;
use super::way::{At, Stage};
use crate::forms::shell::word;
use skewguard_cluster::kinds::groups::{CLUSTER_API, KARPENTER, MACHINE_API};
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::metadata::{Condition, Metadata};
use skewguard_cluster::kinds::names::normal;
use skewguard_cluster::kinds::node::{Node, UNINITIALIZED};
use skewguard_cluster::kinds::request::CertificateRequest;
use skewguard_cluster::names::count;
use std::net::IpAddr;

impl<'a> Case<'a> {
    /// Its Node, where it is there: joined, or what is wrong with it.
    pub(super) fn of_node(&mut self) -> Option<Finding> {
        let node = self.node?;
        let own = &node.metadata.name;
        let source = format!("Node {own}");
        self.see(&source, node.metadata.created, "created");
        let which = if self.name == own {
            "its Node".to_owned()
        } else {
            format!("its Node {own}")
        };
        if let Some(ready) = &node.ready {
            self.see_condition_of(&source, ready);
        }
        if !node.taints.is_empty() {
            let taints = node.taints.join(", ");
            self.see(format!("{source}, spec.taints"), None, taints);
        }
        self.see_daemon(node);
        self.reach(At::Certificate, "");
        let serving = self.serving_requests(node);
        let names_it =
            |machine: &Machine| machine.node.as_ref() == Some(own) || machine.is_registered_claim();
        let has_status = self.machine.is_none_or(Machine::has_status);
        let is_linked = !has_status || self.machine.is_none_or(names_it);
        let again = self.asks_again(node);
        let is_of_another = again.is_some_and(|request| request.is_first);
        let is_own = (is_linked && has_status || self.is_surely(node)) && !is_of_another;
        let not_ready = node.ready.as_ref().filter(|ready| !ready.is_true());
        let (finding, proof) = match not_ready {
            Some(ready) => {
                let finding = self.not_ready(node, ready, &which);
                (finding, format!("{source}, condition Ready"))
            }
            None if node.is_uninitialized() => (self.not_initialized(node, &which), source),
            None if !is_linked => (self.not_linked(node, &which), source),
            None => (self.joined(node, &which, serving), source),
        };
        let is_read = finding.stage != Stage::Joined || node.ready.is_some();
        let finding = if is_own && is_read {
            finding.proved(self, proof, &[Counter::Itself])
        } else {
            finding
        };
        if serving == 0 {
            return Some(finding);
        }
        let why = self.serving_refusal(own);
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        let finding = finding.next(format!(
            "Serving certificate requests of it that wait, {serving}{why}: `oc get csr`"
        ));
        let missing = self.missing_addresses();
        let missing = missing.filter(|_| finding.stage == Stage::Joined);
        Some(
            missing
                .into_iter()
                .map(|missing| missing.help)
                .fold(finding, Finding::next),
        )
    }

    /// The approver's word against the last request for the certificate that a Node serves with.
    fn serving_refusal(&mut self, node: &str) -> Option<String> {
        let all = self.index.links.requests.get(&*node.to_ascii_lowercase())?;
        let mut serving = all
            .iter()
            .rev()
            .filter(|one| !one.is_client && one.is_pending());
        serving.find_map(|one| self.approver_said(one))
    }

    /// Tells if more than its address says that a Node is this one's.
    fn is_surely(&mut self, node: &Node) -> bool {
        let own = &node.metadata.name;
        let id = self
            .machine
            .and_then(|machine| machine.provider_id.as_ref());
        let is_provided = id.is_some() && id == node.provider_id.as_ref();
        let addresses = &self.aliases.addresses;
        let has_other = |ip: &IpAddr| !addresses.contains(ip);
        // The first part of a name may be another machine's.
        let is_elsewhere = !addresses.is_empty()
            && !node.addresses.is_empty()
            && node.addresses.iter().all(has_other);
        let is_named = self.aliases.names.contains(&own.to_ascii_lowercase());
        let is_own = is_provided || is_named && !is_elsewhere;
        if !is_own {
            self.unseen(format!(
                "whether Node {own} is this machine: its name and its address are not both the machine's"
            ));
        }
        is_own
    }

    /// Requests for the certificate that its Node serves with, which wait.
    fn serving_requests(&mut self, node: &Node) -> usize {
        let own = &node.metadata.name;
        let requests = self.index.links.requests.get(&*own.to_ascii_lowercase());
        let requests = requests.into_iter().flatten().copied();
        let waiting: Vec<_> = requests
            .filter(|request| !request.is_client && request.is_pending())
            .collect();
        for request in waiting.iter().take(3) {
            let text = format!("for serving, of node {own}, pending");
            self.see(request.source(), request.metadata.created, text);
            self.approver_said(request);
        }
        waiting.len()
    }

    /// A Machine that is being deleted and has no Node: it waits for none.
    pub(super) fn of_deletion(&mut self) -> Option<Finding> {
        let machine = self.machine.filter(|machine| machine.is_deleting)?;
        if self.node.is_some() {
            return None;
        }
        let Metadata {
            namespace, name, ..
        } = &machine.metadata;
        // A NodeClaim has none.
        let in_namespace = match &**namespace {
            "" => String::new(),
            namespace => format!(" -n {}", word(namespace)),
        };
        let kind = match machine.group {
            KARPENTER => "nodeclaims",
            _ => "machines",
        };
        let source = self.field("metadata.deletionTimestamp");
        self.see(&source, None, "set");
        let finding = Finding::new(
            Stage::Unknown,
            Cause::BeingDeleted,
            "it is being deleted",
            format!("{} is being deleted, and waits for no Node.", self.name),
        )
        .at(At::Node)
        .next(format!(
            "Look what its deletion waits for: `oc describe {kind}.{}{in_namespace} {name}`",
            machine.group,
            name = word(name)
        ));
        Some(finding.proved(self, source, &[Counter::Itself]))
    }

    fn joined(&mut self, node: &Node, which: &str, serving: usize) -> Finding {
        let ready = match &node.ready {
            Some(_) => " and Ready",
            None => {
                self.unseen("whether the Node is Ready: only its metadata was read");
                ""
            }
        };
        let are = if serving == 1 { "is" } else { "are" };
        let waits = match serving {
            0 => String::new(),
            serving => format!(
                "; {} for its serving certificate {are} pending, without which logs and exec fail",
                count(serving, "request")
            ),
        };
        Finding::new(
            Stage::Joined,
            Cause::Joined,
            &*node.metadata.name,
            format!("{} has joined: {which} is there{ready}{waits}.", self.name),
        )
    }

    /// A Node that its Machine still names, and that is gone: the Machine keeps the reference.
    pub(super) fn of_gone_node(&mut self) -> Option<Finding> {
        let machine = self.machine?;
        let node = machine.node.as_ref()?;
        if !self.index.ground.has_nodes || self.index.is_elsewhere(machine) {
            return None;
        }
        let source = self.field("status.nodeRef");
        let text = format!("{node}, which is not among the Nodes");
        self.see(&source, None, text);
        if self.index.is_of_two_clusters {
            let text = format!(
                "Whether the Node {node} of {} is there cannot be told: no Node that a Machine names is among those that were read, so they are of two clusters or two times.",
                self.name
            );
            self.unseen("the Nodes of the Machines' own cluster: `oc get nodes -o json`");
            return Some(
                Finding::new(
                    Stage::Unknown,
                    Cause::TwoClusters,
                    "cannot be told apart",
                    text,
                )
                .at(At::Node)
                .next("Gather Machines and Nodes of one cluster at one time"),
            );
        }
        let finding = Finding::new(
            Stage::NodeNotReady,
            Cause::NodeGone,
            format!("{node} is gone"),
            format!(
                "{} had joined, and its Node {node} is gone: status.nodeRef still names it, and no certificate request of it was seen since.",
                self.name
            ),
        );
        self.reach(At::Certificate, "");
        self.unread(&[Counter::Nodes, Counter::Requests]);
        let look = self.look_for_node(node);
        Some(finding
            .next(look)
            .next("If it is gone, start its kubelet again, which makes the Node anew: on the node, systemctl restart kubelet"))
    }

    /// The advice to look for a Node that was not read. A list by label, a page, a gather that ended early: what is
    /// not in them may be there.
    pub(super) fn look_for_node(&mut self, node: &str) -> String {
        let command = format!("`oc get node {}`", word(node));
        self.unseen(format!("whether all Nodes were read: {command}"));
        format!("Look whether it is there: {command}. Where it is, what was read has not all Nodes")
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

    fn not_ready(&mut self, node: &Node, ready: &Condition, which: &str) -> Finding {
        let since = ready.since();
        let since = since.map_or(String::new(), |since| {
            format!(" for {}", span(self.now.since(since)))
        });
        let own = &node.metadata.name;
        let finding = Finding::new(
            Stage::NodeNotReady,
            Cause::NodeNotReady,
            format!("{own} is not Ready"),
            format!(
                "{} has joined, and {which} has not been Ready{since}: {}",
                self.name,
                sentence(&ready.says())
            ),
        )
        .says(&ready.says());
        let degraded = node
            .daemon
            .as_ref()
            .filter(|(state, _)| state == "Degraded");
        let finding = match degraded {
            Some(_) => finding.next("The Machine Config Daemon is Degraded there: its reason stands in the Node's annotations"),
            None => finding,
        };
        let finding = self.with_lacks(node, finding);
        let finding = self.with_pods(own, finding);
        self.with_request(node, finding).next(format!(
            "Look at the Node: `oc describe node {}`",
            word(own)
        ))
    }

    /// Adds what its Node says that it lacks.
    fn with_lacks(&mut self, node: &Node, mut finding: Finding) -> Finding {
        for lack in &node.lacks {
            self.see_condition_of(&format!("Node {}", node.metadata.name), lack);
            let since = lack
                .since()
                .map_or(String::new(), |at| format!(" since {at}"));
            finding = finding.next(format!("A possible cause: it has {}{since}", lack.kind));
        }
        finding
    }

    /// Adds the pods of its Node that do not come up.
    fn with_pods(&mut self, own: &str, mut finding: Finding) -> Finding {
        let pods = self.facts.failing_pods.iter();
        let pods = pods.filter(|((node, _), _)| node == own).take(3);
        for ((_, pod), why) in pods {
            self.see(format!("Pod {pod}"), None, why);
            let (namespace, name) = pod.split_once('/').unwrap_or(("default", pod));
            finding = finding.next(format!(
                "A possible cause: its Pod {name} does not come up ({why}): `oc logs -n {namespace} {name} --all-containers --previous`", namespace = word(namespace), name = word(name)
            ));
        }
        finding
    }

    /// The last request by which the kubelet of a silent Node asks for a certificate again.
    fn asks_again(&self, node: &Node) -> Option<&'a CertificateRequest> {
        let is_silent = node.ready.as_ref()?.status == "Unknown";
        let own = self.index.kubelet_requests(&normal(&node.metadata.name));
        own.last().copied().filter(|_| is_silent)
    }

    /// The request in the name of a silent Node, put into the evidence.
    pub(super) fn request_of_silent_node(&mut self) -> Option<&'a str> {
        let last = match self.node {
            Some(node) => self.asks_again(node),
            None => self.own_requests().pop().filter(|last| last.is_pending()),
        }?;
        let text = format!("of node {}, pending", last.node);
        self.see(last.source(), last.metadata.created, text);
        Some(&last.metadata.name)
    }

    /// Adds that request to what is said of the Node, and what to do with it.
    fn with_request(&mut self, node: &Node, mut finding: Finding) -> Finding {
        let Some(last) = self.asks_again(node) else {
            return finding;
        };
        let own = self.index.kubelet_requests(&last.node);
        let by = if last.is_first {
            "the bootstrapper"
        } else {
            "the node itself"
        };
        let text = format!("of node {}, by {by}, pending", last.node);
        self.see(last.source(), last.metadata.created, text);
        let why = self.approver_said(last);
        let why = why.map_or(".".to_owned(), |why| format!("; {}", sentence(&why)));
        let what = if last.is_first {
            self.unseen("whether the request is its own, which whoever has the bootstrap credentials can make: the kubelet's journal on the node");
            "As it seems its kubelet lost or outlived its certificate, and asks for a new one"
        } else {
            "Its kubelet asks to renew its certificate"
        };
        let waits = self.pending(last, &own);
        finding.sentence = format!("{} {what}: {waits}{why}", finding.sentence);
        let finding = self.advise_approval(finding, last);
        if last.is_first {
            finding
        } else {
            finding.next(RENEWALS)
        }
    }

    /// A Node that its cloud controller manager has not looked at: it keeps the taint, and no pod runs on it.
    fn not_initialized(&self, node: &Node, which: &str) -> Finding {
        let id = match node.provider_id {
            Some(_) => "",
            None => " and has no spec.providerID",
        };
        Finding::new(
            Stage::NodeNotReady, Cause::NodeNotInitialized,
            format!("{} is not initialized", node.metadata.name),
            format!(
                "{} has joined, and {which} keeps the taint {UNINITIALIZED}{id}: the cloud controller manager has not initialized it, so that pods are kept from it.",
                self.name
            ),
        )
        .next(match self.facts.platform == "External" {
            true => "Look at the cloud controller manager, which the provider's own manifests install on platform External: `oc get pods -A`, and the logs of its pods",
            false => "Look at the cloud controller manager: `oc get pods -n openshift-cloud-controller-manager`, and the logs of its pods",
        })
    }

    /// A Machine without addresses, by which the nodelink-controller finds its Node.
    fn without_addresses(&mut self, node: &Node, which: &str, missing: Missing) -> Finding {
        Finding::new(
            Stage::NodeNotReady,
            missing.cause,
            format!("{} is not linked", node.metadata.name),
            format!(
                "{} has joined, and the Machine is not linked to it: {which} is there, and the Machine has no addresses, by which it is found{}.",
                self.name, missing.why
            ),
        )
        .next(missing.help)
    }

    /// Why a Machine of the Machine API has no addresses, by which its Node and its requests are found; `None` where it
    /// has some.
    pub(super) fn missing_addresses(&mut self) -> Option<Missing> {
        let machine = self.machine?;
        if machine.group != MACHINE_API || !machine.addresses.is_empty() {
            return None;
        }
        self.see(self.field("status.addresses"), None, "none");
        let Some(host) = self.host.filter(|host| host.addresses.is_empty()) else {
            return Some(Missing {
                cause: Cause::AddressesMissing,
                why: String::new(),
                help: NO_ADDRESSES.to_owned(),
            });
        };
        let name = host.metadata.full_name();
        self.see(
            format!("BareMetalHost {name}, status.hardware"),
            None,
            "none",
        );
        Some(Missing {
            cause: Cause::HostNotInspected,
            why: format!(
                ", because its host {name} has no hardware details: it was never inspected"
            ),
            help: format!(
                "Give the host its hardware details, host name and addresses among them, by the annotation inspect.metal3.io/hardwaredetails: `oc describe baremetalhosts.metal3.io -n {} {}`",
                word(&host.metadata.namespace),
                word(&host.metadata.name)
            ),
        })
    }

    fn not_linked(&mut self, node: &Node, which: &str) -> Finding {
        let own = self
            .machine
            .and_then(|machine| machine.provider_id.as_ref());
        let differ =
            own.is_some() && node.provider_id.is_some() && own != node.provider_id.as_ref();
        if let Some(missing) = self.missing_addresses().filter(|_| !differ) {
            return self.without_addresses(node, which, missing);
        }
        let why = match (own, &node.provider_id) {
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
        Finding::new(
            Stage::NodeNotReady,
            Cause::NodeNotLinked,
            format!("{} is not linked", node.metadata.name),
            format!(
                "{} has joined, and the Machine is not linked to it: {which} is there, and status.nodeRef is empty; {why}.",
                self.name
            ),
        )
        .says(&why)
        .next(match self.machine.map(|machine| machine.group) {
            Some(CLUSTER_API) => "The Cluster API finds a Node by spec.providerID alone: correct the one of the two that is wrong, by whoever writes it (the infrastructure object, the cloud controller manager)",
            Some(KARPENTER) => "Read Karpenter's log: it finds a Node by spec.providerID",
            _ => "Read the log of the nodelink-controller: `oc logs -n openshift-machine-api deployment/machine-api-controllers -c nodelink-controller`",
        })
    }
}

/// Why a Machine has no addresses, and what to do.
pub(super) struct Missing {
    pub(super) cause: Cause,
    pub(super) why: String,
    pub(super) help: String,
}

/// The advice about a Machine without addresses.
pub(super) const NO_ADDRESSES: &str = "Look why its controller writes no status.addresses: `oc logs -n openshift-machine-api deployment/machine-api-controllers -c machine-controller`";
