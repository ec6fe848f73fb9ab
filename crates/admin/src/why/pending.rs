//! Certificate requests of machines that are no Nodes yet (pure): under the machine's own name, or
//! under another that is nobody's.

use super::case::{Case, Subject};
use super::finding::{Counter, Finding, ago, count, sentence};
use super::moment::{Moment, span};
use super::way::{At, Stage};
use skewguard_cluster::kinds::request::CertificateRequest;

/// The longest time after its Machine that a node's first request is approved (cluster-machine-approver,
/// `maxMachineDelta`).
const APPROVED_WITHIN: u64 = 2 * 3_600;

/// The number of requests that may wait beyond Machines or Nodes (cluster-machine-approver,
/// `maxDiffBetweenPendingCSRsAndMachinesCount`).
const MAX_MORE_PENDING: usize = 100;

/// The reason that a request is left alone.
enum Reason {
    /// The approver's own log, or its operator's condition.
    Said(String),
    /// Its own log about all requests, which names none.
    SaidOfAll(String),
    /// Its rules, by the objects that were read.
    ByRule(String),
    Unknown,
}

impl<'a> Case<'a> {
    /// A certificate request of it that was not approved, or that was and no Node came.
    pub(super) fn of_certificate(&mut self) -> Option<Finding> {
        let own = self.own_requests();
        let last = *own.last()?;
        self.reach(At::FirstBoot, "");
        Some(if last.is_approved {
            self.approved(last)
        } else {
            self.not_approved(last, &own)
        })
    }

    /// The requests for a first certificate under one of its names, the oldest first.
    fn own_requests(&self) -> Vec<&'a CertificateRequest> {
        if let Subject::Request(request) = self.subject {
            let node = request.node.as_deref().unwrap_or_default();
            return self.index.first_requests(node);
        }
        let created = self.created();
        let mut own: Vec<&CertificateRequest> = self
            .names()
            .iter()
            .flat_map(|name| self.index.first_requests(name))
            .filter(|request| {
                !matches!((request.created, created), (Some(at), Some(own)) if at.plus(60) < own)
            })
            .collect();
        own.sort_by_key(|request| request.created);
        own
    }

    /// Requests of no known machine, made since `at`, that may be its own: where there are not fewer
    /// than machines that wait without one.
    pub(super) fn of_another_name(&mut self, at: Moment) -> Option<Finding> {
        let index = self.index;
        let since = index.strangers.iter().filter(|one| one.first >= Some(at));
        let strangers: Vec<&CertificateRequest> = since.map(|one| one.last).collect();
        let (first, last) = (strangers.first()?, strangers.last()?);
        let waiting = index.unnamed;
        if strangers.len() < waiting {
            let nodes: Vec<&str> = strangers
                .iter()
                .filter_map(|one| one.node.as_deref())
                .collect();
            let nodes = nodes.iter().take(3).copied().collect::<Vec<_>>().join(", ");
            self.unseen(format!(
                "whose {} of {nodes} are, which no Machine, host or Node has as its name: one may be its own",
                count(strangers.len(), "certificate request")
            ));
            return None;
        }
        let name = self.name();
        // A NodeClaim has no address, by which it would be known who asked.
        let is_seen = self.known.iter().any(|(at, _)| *at == At::Requested);
        let (since, after) = if is_seen {
            ("it asked for its config", "it got its config")
        } else {
            ("it was made", "it was made")
        };
        for one in strangers.iter().take(5) {
            let node = one.node.clone().unwrap_or_default();
            let source = format!("CertificateSigningRequest {}", one.name);
            self.see(
                source,
                one.created,
                format!(
                    "of node {node}, which nobody has as its name, {}",
                    state(one)
                ),
            );
        }
        self.unseen("which request is its own: it has another name than the machine (its console says its host name)");
        if strangers.len() > 1 {
            let finding = Finding::new(
                Stage::NoCertificate,
                At::Certificate,
                "under another name",
                format!(
                    "{name} waits for its certificate, as it seems under another name: {} of names that no Machine, host or Node has were made since {since}, the last {}.",
                    count(strangers.len(), "request"),
                    last.name
                ),
            );
            return Some(finding.next(NAMES));
        }
        Some(self.of_one_name(first, after))
    }

    /// The one request of no known machine.
    fn of_one_name(&mut self, first: &CertificateRequest, after: &str) -> Finding {
        let name = self.name();
        let node = first.node.clone().unwrap_or_default();
        let why = match self.why_not_approved(first, &node) {
            _ if first.is_approved => {
                "it is approved, and there is no Node of that name.".to_owned()
            }
            Reason::Said(why) | Reason::SaidOfAll(why) | Reason::ByRule(why) => sentence(&why),
            Reason::Unknown => {
                self.unseen(APPROVER);
                "it is pending.".to_owned()
            }
        };
        let finding = Finding::new(
            Stage::NoCertificate,
            At::Certificate,
            format!("{} of {node}", first.name),
            format!(
                "{name} waits for its certificate, as it seems under another name: request {} of {node}, which no Machine, host or Node has as its name, was made{}, after {after}; {why}",
                first.name,
                ago(self.now, first.created),
            ),
        );
        finding.next(NAMES).next(format!(
            "If it is this machine's (one for serving follows): `oc adm certificate approve {}`",
            first.name
        ))
    }

    /// An approved request, and no Node.
    fn approved(&mut self, request: &CertificateRequest) -> Finding {
        let source = format!("CertificateSigningRequest {}", request.name);
        let node = request.node.clone().unwrap_or_default();
        let name = self.name();
        let when = ago(self.now, request.created);
        if !request.is_signed {
            let text = format!("of node {node}, approved, status.certificate is empty");
            self.see(source.clone(), request.created, text);
            return Finding::new(
                Stage::NoCertificate,
                At::Certificate,
                format!("{} is not signed", request.name),
                format!("{name} waits for its certificate: request {}, made{when}, is approved and not signed.", request.name),
            )
            .next("Look at the signer: `oc describe clusteroperators kube-controller-manager`")
            .proved(self, source, &[Counter::Nodes]);
        }
        let dates = request.dates;
        let until = dates.map_or(String::new(), |dates| {
            format!(", valid from {} until {}", dates.from, dates.until)
        });
        self.see(
            source.clone(),
            request.created,
            format!("of node {node}, approved{until}"),
        );
        if dates.is_some_and(|dates| dates.until < self.now) {
            return Finding::new(
                Stage::NoCertificate,
                At::Certificate,
                "it has expired",
                format!("{name} got its certificate{when}, and there is no Node of it; by now the certificate has expired."),
            )
            .next("Start the node again: its kubelet then makes a new request")
            .proved(self, source, &[Counter::Nodes]);
        }
        let finding = Finding::new(
            Stage::NodeNotReady,
            At::Node,
            "there is none",
            format!("{name} got its certificate{when}, and there is no Node of it."),
        )
        .next("Read the kubelet's journal on the node: journalctl -u kubelet");
        if matches!(self.subject, Subject::Request(_)) {
            self.unseen("whether somebody deleted the Node, and the machine is gone");
            return finding;
        }
        finding.proved(self, source, &[Counter::Nodes])
    }

    /// The last of its requests, which was denied or waits.
    fn not_approved(&mut self, last: &CertificateRequest, own: &[&CertificateRequest]) -> Finding {
        let source = format!("CertificateSigningRequest {}", last.name);
        let node = last.node.clone().unwrap_or_default();
        let name = self.name();
        if let Some(why) = &last.denied {
            self.see(
                source.clone(),
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
            )
            .proved(self, source, &[Counter::Nodes]);
        }
        self.see(
            source.clone(),
            last.created,
            format!("of node {node}, pending"),
        );
        let reason = self.why_not_approved(last, &node);
        let why_unseen = match reason {
            Reason::SaidOfAll(_) => "whether the approver means this request: its line names none",
            Reason::Said(_) | Reason::ByRule(_) | Reason::Unknown => APPROVER,
        };
        let (reason, is_said) = match reason {
            Reason::Said(why) => (format!("; {}", sentence(&why)), true),
            Reason::SaidOfAll(why) => (format!("; {}", sentence(&why)), false),
            Reason::ByRule(why) => (
                format!("; by the approver's rules: {}", sentence(&why)),
                false,
            ),
            Reason::Unknown => (".".to_owned(), false),
        };
        let finding = Finding::new(
            Stage::NoCertificate,
            At::Certificate,
            format!("{} is pending", last.name),
            format!(
                "{name} waits for its certificate: {}{reason}",
                self.pending(last, own)
            ),
        )
        .next(format!(
            "If it is this machine's (one for serving follows): `oc adm certificate approve {}`",
            last.name
        ));
        if !is_said {
            self.unseen(why_unseen);
            return finding;
        }
        finding.proved(self, source, &[Counter::Nodes])
    }

    /// `request csr-1 is pending for 67 minutes`.
    fn pending(&self, last: &CertificateRequest, own: &[&CertificateRequest]) -> String {
        let pending = own.iter().filter(|request| request.is_pending()).count();
        let first = own.iter().find(|request| request.is_pending());
        let first = first.and_then(|request| request.created);
        let since = first.map_or(String::new(), |at| {
            format!(" for {}", span(self.now.since(at)))
        });
        match pending {
            0 | 1 => format!("request {} is pending{since}", last.name),
            count => format!(
                "{count} requests are pending{since}, {} the last",
                last.name
            ),
        }
    }

    /// The approver's reason to leave a request alone: its own word, else its rules.
    fn why_not_approved(&mut self, request: &CertificateRequest, node: &str) -> Reason {
        let facts = self.facts;
        let said = facts.refusals.get(&request.name);
        if let Some(why) = said.or_else(|| facts.refusals.get(node)) {
            self.see(
                "log of the machine-approver",
                None,
                format!("{}: {why}", request.name),
            );
            return Reason::Said(format!("the approver: {why}"));
        }
        if let Some(why) = self.ignored_with_all(request) {
            return Reason::SaidOfAll(why);
        }
        if let Some(why) = self.approver_fails() {
            return Reason::Said(why);
        }
        if let Some(why) = self.too_many_wait() {
            return Reason::ByRule(why);
        }
        let ground = &self.index.ground;
        let Some(machine) = self.machine else {
            return if ground.has_machines || !facts.nodes.is_empty() {
                Reason::ByRule(
                    "it has no Machine, and only requests of Machines are approved".to_owned(),
                )
            } else {
                Reason::Unknown
            };
        };
        if !self.index.internal_names.contains_key(node) {
            self.see(
                format!("{}, status.addresses", self.object()),
                None,
                format!("no InternalDNS {node}"),
            );
            return Reason::ByRule(format!(
                "no Machine has {node} as InternalDNS in status.addresses, by which the approver finds it"
            ));
        }
        let late = |at: Moment, made: Moment| at > made.plus(APPROVED_WITHIN);
        match (request.created, machine.metadata.created) {
            (Some(at), Some(made)) if late(at, made) => Reason::ByRule(
                "it came more than two hours after the Machine was made, and the approver takes none that late".to_owned(),
            ),
            _ => Reason::Unknown,
        }
    }

    /// The approver's word that it ignored all requests, since this one was made.
    fn ignored_with_all(&mut self, request: &CertificateRequest) -> Option<String> {
        let (at, why) = self.facts.ignores_all.as_ref()?;
        if matches!((at, request.created), (Some(at), Some(made)) if *at < made) {
            return None;
        }
        self.see("log of the machine-approver", *at, why.clone());
        let when = ago(self.now, *at);
        Some(format!("the approver ignored all requests{when}: {why}"))
    }

    fn too_many_wait(&self) -> Option<String> {
        let facts = self.facts;
        let hour = self.now.minus(3_600);
        let requests = facts.requests.iter();
        let pending = requests
            .filter(|request| request.is_pending() && request.created >= Some(hour))
            .count();
        let most = facts.all_machines().count().max(facts.all_nodes().count()) + MAX_MORE_PENDING;
        (pending > most).then(|| {
            format!("{pending} requests of the last hour wait, and the approver stops above {most}")
        })
    }

    /// A condition of the approver's operator against it.
    fn approver_fails(&mut self) -> Option<String> {
        let conditions = self.facts.operators.get("machine-approver")?;
        let bad = conditions.iter().find(|condition| {
            matches!(
                (&*condition.kind, &*condition.status),
                ("Available", "False") | ("Degraded", "True")
            )
        })?;
        let (says, since) = (bad.says(), bad.since());
        let text = format!("{} {}: {says}", bad.kind, bad.status);
        self.see("ClusterOperator machine-approver", since, text);
        Some(format!("the machine-approver does not work: {says}"))
    }
}

const APPROVER: &str = "why the approver did not: its log (get pods/log in openshift-cluster-machine-approver; a must-gather has it)";

const NAMES: &str = "Compare the node's host name (DHCP, reverse DNS) with the Machine's InternalDNS in status.addresses: the approver takes no other name";

/// The state of a request, in a word.
fn state(request: &CertificateRequest) -> &'static str {
    match (request.is_pending(), request.is_approved) {
        (true, _) => "pending",
        (false, true) => "approved",
        (false, false) => "denied",
    }
}
