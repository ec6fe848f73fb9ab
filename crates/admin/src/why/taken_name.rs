//! Requests under a name that a Node has already, or that is no name: nobody may approve these as they
//! are (pure).

use super::case::{Case, joined};
use super::finding::Finding;
use super::moment::{CLOCKS, Moment};
use super::rows::{Row, row};
use skewguard_cluster::kinds::names::is_localhost;
use skewguard_cluster::kinds::{CertificateRequest, Machine, Node, OddPart};
use std::net::IpAddr;

/// The longest time after its Machine that a node's first request is approved (cluster-machine-approver,
/// `maxMachineDelta`).
pub(super) const APPROVED_WITHIN: u64 = 2 * 3_600;

impl Case<'_> {
    /// An address of it that another Machine's Node has, too: a request from there may be of either.
    pub(super) fn of_taken_address(&mut self) -> Option<Finding> {
        let own = self.machine?;
        let of_node = |address: &IpAddr| {
            let node = self.index.links.taken_by(*address)?;
            let whose = format!("Node {}, which is another Machine's,", node.metadata.name);
            Some((*address, whose, Err(node)))
        };
        let of_machine = |address: &IpAddr| {
            let mut all = self.index.shared_addresses.get(address)?.iter();
            let other = all.find(|other| other.metadata.name != own.metadata.name)?;
            let whose = format!("Machine {}, which has no Node either,", other.metadata.name);
            Some((*address, whose, Ok(*other)))
        };
        let mut addresses = self.aliases.addresses.iter();
        let (address, whose, other) =
            addresses.find_map(|address| of_node(address).or_else(|| of_machine(address)))?;
        self.facts.logs.peers.get(&address)?;
        match other {
            Ok(machine) => {
                let source = format!("Machine {}, status.addresses", machine.metadata.full_name());
                self.see(source, None, address.to_string());
            }
            Err(node) => self.see_taker(node),
        }
        Some(self.tell(row!(AddressTaken whose, address)))
    }

    /// Adds the advice to approve a request: by its user and its subject alone, and where no pending one of
    /// its name differs.
    pub(super) fn advise_approval(
        &mut self,
        finding: Finding,
        request: &CertificateRequest,
    ) -> Finding {
        let row = row!(ApproveIfOwn id = request.metadata.name);
        self.with_approval(finding, request, row)
    }

    /// Adds an advice to approve a request, or that none of its name is to be.
    pub(super) fn with_approval(
        &mut self,
        finding: Finding,
        request: &CertificateRequest,
        row: Row,
    ) -> Finding {
        let all = self.index.requests_of(&request.node).iter().copied();
        let others = self.facts.misaddressed.iter();
        let all = all.chain(others.filter(|one| one.node == request.node));
        let is_like =
            |other: &CertificateRequest| other.is_client == request.is_client && other.is_pending();
        let all = all.filter(|other| is_like(other)).chain([request]);
        let odd = all.filter_map(|other| Some((&*other.metadata.name, other.odd?)));
        let mut odd: Vec<(&str, OddPart)> = odd.collect();
        odd.dedup();
        if odd.is_empty() {
            return self.with(finding, row);
        }
        if odd.iter().all(|(_, part)| *part == OddPart::TrailingDot) {
            return self.with(finding, row!(NameEndsWithDot node = request.as_written));
        }
        let says = odd
            .iter()
            .map(|(id, part)| format!("{id} {}", part_words(*part)));
        let odd = says.collect::<Vec<_>>().join("; ");
        self.with(finding, row!(ApproveNone odd))
    }

    /// Adds the pending requests in its name that no kubelet makes.
    pub(super) fn beside_misaddressed(&mut self, finding: Finding) -> Finding {
        let all = self.facts.misaddressed.iter();
        let own = |one: &&CertificateRequest| {
            let is_own = self.aliases.names.contains(&one.node);
            is_own && one.is_pending() && !self.is_before(one.metadata.created)
        };
        // Where what is to be done names a request, they are named with it.
        let own = all.filter(|_| !finding.words.request).filter(own);
        let own: Vec<_> = own.collect();
        own.into_iter().fold(finding, |finding, one| {
            let text = format!("of node {}, to another signer, pending", one.node);
            self.see_csr(one, text);
            let odd = format!("{} {}", one.metadata.name, part_words(OddPart::Signer));
            self.with(finding, row!(ApproveNone odd))
        })
    }

    /// The finding with what speaks against approving a request for the certificate of this node; as an error the
    /// same one where nothing does.
    pub(super) fn beside_obstacle(
        &mut self,
        finding: Finding,
        request: &CertificateRequest,
    ) -> Result<Finding, Finding> {
        let (id, node) = (&request.metadata.name, &request.node);
        if is_localhost(node) {
            return Ok(self.with(finding, row!(NoHostName id, node)));
        }
        if let Some(there) = self.index.links.node(node) {
            return Ok(self.of_taken_name(finding, request, there));
        }
        let said = self.facts.refusals.get(id);
        let said = said.filter(|_| request.odd.is_none());
        if !said.is_some_and(|(_, said)| said.contains("already exists")) {
            return Err(finding);
        }
        let is_gone = self.index.ground.has_nodes && self.machine.is_some();
        let row = match is_gone {
            true => row!(NameFree node),
            false => row!(NameNotRead node),
        };
        Ok(self.with(finding, row))
    }

    /// A Node that has the name of a request already.
    fn of_taken_name(
        &mut self,
        finding: Finding,
        request: &CertificateRequest,
        there: &Node,
    ) -> Finding {
        let node = &there.metadata.name;
        self.see_taker(there);
        let Some(ready) = &there.ready else {
            return self.with(finding, row!(NameTaken node));
        };
        if ready.status != "Unknown" {
            // Its kubelet tells of itself: the request is another machine's.
            let (id, ready) = (&request.metadata.name, ready.is_true());
            let row = match self.is_elsewhere(there) {
                true => row!(NameOfOther node, ready, addresses = joined(&there.addresses), id),
                false => row!(NameOfLiving node, ready, id),
            };
            return self.with(finding, row);
        }
        let since = self.span_since(ready.since());
        let own = self.machine.or_else(|| self.index.links.machine_of(there));
        let machine = there.machine.as_ref();
        // The instance of one that was not read may be off.
        if let Some(machine) = machine.filter(|_| !own.is_some_and(Machine::has_status)) {
            return self.with(finding, row!(NameOfUnreadMachine node, since, machine));
        }
        if self.is_before(there.metadata.created) && self.machine.is_some() {
            let finding = self.with(finding, row!(NameOfEarlierMachine node, since));
            return self.after_deletion(finding);
        }
        if !request.is_first {
            let finding = self.with(finding, row!(NameRenews node, since));
            let finding = self.advise_approval(finding, request);
            return self.with(finding, row!(Renewals));
        }
        if let Some(at) = self.asked_anew(there) {
            let finding = self.with(finding, row!(NameInstalledAnew node, since, at));
            return self.after_deletion(finding);
        }
        let finding = self.with(finding, row!(NameLostCertificate node, since));
        let row = row!(ApproveIfSame id = request.metadata.name);
        let finding = self.with_approval(finding, request, row);
        self.with(finding, row!(DeleteIfAnew node))
    }

    /// Puts the Node that has the name into the evidence.
    fn see_taker(&mut self, node: &Node) {
        let source = format!("Node {}", node.metadata.name);
        let mut text = "created".to_owned();
        if !node.addresses.is_empty() {
            text += &format!(", addresses {}", joined(&node.addresses));
        }
        if let Some(id) = &node.provider_id {
            text += &format!(", spec.providerID {id}");
        }
        self.see(&source, node.metadata.created, text);
        if let Some(ready) = &node.ready {
            self.see_condition_of(&source, ready);
        }
    }

    fn after_deletion(&mut self, finding: Finding) -> Finding {
        let made = self.machine.and_then(|machine| machine.metadata.created);
        let row = match made.is_some_and(|made| self.now <= made.plus(APPROVED_WITHIN)) {
            true => row!(NextByItself),
            false => row!(NextByHand),
        };
        self.with(finding, row)
    }

    /// The last moment at which a Node's address asked for a config before its kubelet asked for a
    /// certificate.
    fn asked_anew(&self, node: &Node) -> Option<Moment> {
        let own = self.index.kubelet_requests(&node.metadata.name);
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

fn part_words(part: OddPart) -> &'static str {
    match part {
        OddPart::Name => "has a name that is none of DNS",
        OddPart::TrailingDot => "has a name that ends with a dot",
        OddPart::User => "is not of a node's user or its bootstrapper's",
        OddPart::Unread => "has no groups or usages in what was read",
        OddPart::Groups => "has groups that no node's request has",
        OddPart::Usages => "has usages that no node's request has",
        OddPart::Subject => "has a subject that is no node's",
        OddPart::Signer => "is to another signer, which no kubelet asks",
        OddPart::AlternativeNames => {
            "has alternative names, which no node's request as a client has"
        }
    }
}

/// The longest time from a machine's config to its first request for a certificate.
const FIRST_BOOT: u64 = 2 * 3_600;
