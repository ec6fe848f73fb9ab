//! Requests under a name that a Node has already, or that is no name: nobody may approve these as they
//! are (pure).

use super::case::Case;
use super::cause::Cause;
use super::finding::Finding;
use super::moment::{CLOCKS, Moment, span};
use super::way::{At, Stage};
use crate::forms::shell::word;
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::names::{is_localhost, normal};
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::request::CertificateRequest;
use std::net::IpAddr;

/// The longest time after its Machine that a node's first request is approved (cluster-machine-approver,
/// `maxMachineDelta`).
pub(super) const APPROVED_WITHIN: u64 = 2 * 3_600;

/// Something that speaks against approving a request.
pub(super) struct Obstacle {
    /// A sentence about it.
    says: String,
    /// What to do instead.
    next: Vec<String>,
    /// It says two things, and which of them is not known.
    pub(super) is_open: bool,
}

impl Obstacle {
    fn new(says: String, next: impl IntoIterator<Item = String>) -> Self {
        Self {
            says,
            next: next.into_iter().collect(),
            is_open: false,
        }
    }

    fn open(self) -> Self {
        Self {
            is_open: true,
            ..self
        }
    }
}

impl Case<'_> {
    /// An address of it that another Machine's Node has, too: a request from there may be of either.
    pub(super) fn of_taken_address(&mut self) -> Option<Finding> {
        let own = self.machine?;
        let of_node = |address: &IpAddr| {
            let node = self.index.links.taken_by(*address)?;
            let whose = format!("Node {}, which is another Machine's,", node.metadata.name);
            Some((*address, whose, Some(node)))
        };
        let of_machine = |address: &IpAddr| {
            let mut all = self.index.shared_addresses.get(address)?.iter();
            let other = all.find(|other| other.metadata.name != own.metadata.name)?;
            let whose = format!("Machine {}, which has no Node either,", other.metadata.name);
            Some((*address, whose, None))
        };
        let mut addresses = self.aliases.addresses.iter();
        let (address, whose, node) =
            addresses.find_map(|address| of_node(address).or_else(|| of_machine(address)))?;
        self.facts.logs.peers.get(&address)?;
        if let Some(node) = node {
            self.see_taker(node);
        }
        self.unseen("which machine has the address: the cloud's console, or ARP on its network");
        let name = self.name;
        Some(
            Finding::new(
                Stage::Unknown,
                Cause::AddressTaken,
                "cannot be told apart",
                format!("Whether {name} asked for its config cannot be told apart: {whose} has its address {address}, too."),
            )
            .at(At::Requested)
            .next(format!("Find out which machine has {address}: two with one address reach the machine-config-server by turns, if at all"))
            .next("Look at its console: Ignition says there whether it got its config"),
        )
    }

    /// Adds the advice to approve a request: by its user and its subject alone, and where no pending one of
    /// its name differs.
    pub(super) fn advise_approval(
        &mut self,
        finding: Finding,
        request: &CertificateRequest,
    ) -> Finding {
        finding.next(self.approval(request, "If it is this machine's (one for serving follows)"))
    }

    fn approval(&mut self, request: &CertificateRequest, condition: &str) -> String {
        let id = &request.metadata.name;
        let all = self.index.links.requests.get(&*request.node);
        let all = all.into_iter().flatten().copied();
        let is_like =
            |other: &CertificateRequest| other.is_client == request.is_client && other.is_pending();
        let odd: Vec<&str> = all
            .filter(|other| is_like(other) && !other.is_as_a_nodes)
            .map(|other| &*other.metadata.name)
            .collect();
        if odd.is_empty() && request.is_as_a_nodes {
            return format!(
                "{condition}: `oc adm certificate approve {id}`",
                id = word(id)
            );
        }
        let odd = if odd.is_empty() {
            id.clone()
        } else {
            odd.join(", ")
        };
        self.unseen(format!("who made {odd}: its name, user, groups, usages, organization or names are not those of a node's request"));
        format!(
            "Approve no request of this name: {odd} has another name, user, group, usage or subject than a node's. Find out who made it; if nobody knows, change the bootstrap credentials"
        )
    }

    /// What is said of a request, and what to do: to approve it only where nothing speaks against it.
    pub(super) fn with_advice(
        &mut self,
        mut finding: Finding,
        request: &CertificateRequest,
        obstacle: Option<Obstacle>,
    ) -> Finding {
        let Some(obstacle) = obstacle else {
            return self.advise_approval(finding, request);
        };
        finding.sentence = format!("{} {}", finding.sentence, obstacle.says);
        finding.next.extend(obstacle.next);
        finding
    }

    /// What speaks against approving a request for the certificate of this node.
    pub(super) fn obstacle(&mut self, request: &CertificateRequest) -> Option<Obstacle> {
        let (id, node) = (&request.metadata.name, &request.node);
        if is_localhost(node) {
            return Some(Obstacle::new(
                "Neither DHCP nor reverse DNS gave it a host name.".to_owned(),
                [format!(
                    "Give it a host name (DHCP, reverse DNS), and start it again; never approve {id}: each machine without a name would be Node {node}"
                )],
            ));
        }
        if let Some(there) = self.index.links.node(node) {
            return Some(self.of_taken_name(request, there));
        }
        let (_, said) = self
            .facts
            .refusals
            .get(id)
            .filter(|_| request.is_as_a_nodes)?;
        if !said.contains("already exists") {
            return None;
        }
        let look = format!(
            "Look at the Node of that name: `oc get node {node} -o wide`; if another machine has it, give this one another host name; if it is an old one of this machine, delete the Node object: the approver then approves the next request by itself",
            node = word(node)
        );
        let gone = "The Node is gone since: the approver approves the next request by itself, up to two hours after the Machine was made";
        let is_gone = self.index.ground.has_nodes && self.machine.is_some();
        let next = if is_gone { gone.to_owned() } else { look };
        Some(Obstacle::new(
            if is_gone {
                format!("By now there is no Node {node}.")
            } else {
                "That Node was not read.".to_owned()
            },
            [next],
        ))
    }

    /// A Node that has the name of a request already.
    fn of_taken_name(&mut self, request: &CertificateRequest, node: &Node) -> Obstacle {
        let name = &node.metadata.name;
        self.see_taker(node);
        let Some(ready) = &node.ready else {
            self.unseen(format!(
                "whether Node {name} is Ready: only its metadata was read"
            ));
            let look = format!(
                "Look at it before anything else, and approve nothing: `oc get node {name} -o wide`",
                name = word(name)
            );
            return Obstacle::new(format!("Node {name} is there already."), [look]).open();
        };
        if ready.status != "Unknown" {
            return self.of_living_node(request, node);
        }
        let since = ready.since().map_or(String::new(), |since| {
            format!(" for {}", span(self.now.since(since)))
        });
        let silent = format!("Node {name} has not been Ready{since}");
        if let Some(obstacle) = self.machine_not_read(node, &silent) {
            return obstacle;
        }
        let delete = format!(
            "Make sure that Node {name} is no other machine that is only off; then delete the Node object: `oc delete node {name}`",
            name = word(name)
        );
        if self.is_before(node.metadata.created) && self.machine.is_some() {
            let says =
                format!("{silent}, and is older than the Machine: it is an earlier machine's.");
            return Obstacle::new(says, [delete, self.after_deletion()]);
        }
        if !request.is_first {
            let says = format!("{silent}: its kubelet renews its certificate, by its own user.");
            let approve = self.approval(request, RENEWED);
            return Obstacle::new(says, [approve, RENEWALS.to_owned()]);
        }
        if let Some(at) = self.asked_anew(node) {
            let says = format!(
                "{silent}, and its machine asked for its config at {at}: it was installed anew."
            );
            return Obstacle::new(says, [delete, self.after_deletion()]);
        }
        self.unseen("which of the two: the machine's console and journal");
        Obstacle::new(
            format!(
                "{silent}: its kubelet lost or outlived its certificate, as it seems, or the machine was installed anew."
            ),
            [
                self.approval(request, "If it is the same installation (one for serving follows)"),
                format!(
                    "If it was installed anew, delete its old Node object first: `oc delete node {name}`", name = word(name)
                ),
            ],
        )
        .open()
    }

    /// A silent Node whose Machine was not read: its instance may be off.
    fn machine_not_read(&mut self, node: &Node, silent: &str) -> Option<Obstacle> {
        let own = self.machine.or_else(|| self.index.links.machine_of(node));
        let machine = node.machine.as_deref();
        let machine = machine.filter(|_| !own.is_some_and(Machine::has_status))?;
        self.unseen(format!("its Machine {machine}, whose instance may be off"));
        let look = "Look at that Machine before anything else, and approve nothing: what is off asks for nothing";
        let says = format!("{silent}, and its Machine {machine} was not read, or not whole.");
        Some(Obstacle::new(says, [look.to_owned()]).open())
    }

    /// A Node whose kubelet tells of itself: the request is another machine's.
    fn of_living_node(&mut self, request: &CertificateRequest, node: &Node) -> Obstacle {
        let name = &node.metadata.name;
        let is_ready = node.ready.as_ref().is_some_and(|ready| ready.is_true());
        let is = if is_ready {
            "is Ready"
        } else {
            "is there, and its kubelet tells of itself"
        };
        let own = &self.aliases.addresses;
        let others: Vec<String> = node.addresses.iter().map(ToString::to_string).collect();
        let is_elsewhere = !own.is_empty()
            && !others.is_empty()
            && node.addresses.iter().all(|address| !own.contains(address));
        let rename = format!(
            "Give this machine another host name (DHCP, reverse DNS), and start it again; leave {} alone: approved, it would take Node {name} over",
            request.metadata.name
        );
        if is_elsewhere {
            let says = format!(
                "Node {name} {is}, with another address ({}): two machines have one host name.",
                others.join(", ")
            );
            return Obstacle::new(says, [rename]);
        }
        self.unseen(format!(
            "which machine Node {name} is: its console has its address"
        ));
        let look = format!(
            "Find out which machine Node {name} is: `oc get node {name} -o wide`",
            name = word(name)
        );
        let says = format!("Node {name} {is}: two machines have one host name, as it seems.");
        Obstacle::new(says, [look, rename]).open()
    }

    /// Puts the Node that has the name into the evidence.
    fn see_taker(&mut self, node: &Node) {
        let source = format!("Node {}", node.metadata.name);
        let addresses: Vec<String> = node.addresses.iter().map(ToString::to_string).collect();
        let mut parts = vec!["created".to_owned()];
        parts
            .extend((!addresses.is_empty()).then(|| format!("addresses {}", addresses.join(", "))));
        parts.extend(
            node.provider_id
                .iter()
                .map(|id| format!("spec.providerID {id}")),
        );
        self.see(&source, node.metadata.created, parts.join(", "));
        if let Some(ready) = &node.ready {
            self.see_condition_of(&source, ready);
        }
    }

    fn after_deletion(&self) -> String {
        let made = self.machine.and_then(|machine| machine.metadata.created);
        if made.is_some_and(|made| self.now <= made.plus(APPROVED_WITHIN)) {
            "The approver then approves the next request by itself, up to two hours after the Machine was made".to_owned()
        } else {
            "Then approve its next request, if it is this machine's: `oc get csr`".to_owned()
        }
    }

    /// The last moment at which a Node's address asked for a config before its kubelet asked for a
    /// certificate.
    fn asked_anew(&self, node: &Node) -> Option<Moment> {
        let own = self.index.kubelet_requests(&normal(&node.metadata.name));
        let first = own.first()?.metadata.created?;
        let since = node.metadata.created?.max(first.minus(FIRST_BOOT));
        let peers = node.addresses.iter();
        let peers = peers.filter_map(|address| self.facts.logs.peers.get(address));
        let requests = peers.flat_map(|peer| &peer.requests);
        let is_before = |at: Moment| at > since && at < first.plus(CLOCKS);
        let requests = requests.filter(|request| request.is_ignition && is_before(request.at));
        requests.map(|request| request.at).max()
    }
}

/// The longest time from a machine's config to its first request for a certificate.
const FIRST_BOOT: u64 = 2 * 3_600;

/// The condition of an advice to approve a renewal.
const RENEWED: &str = "If it is this machine's (one for serving follows)";

/// Who approves renewals, which the machine-approver leaves alone.
pub(super) const RENEWALS: &str = "Renewals are approved by kube-controller-manager; look why it did not: `oc describe clusteroperators kube-controller-manager`";
