//! Certificate requests of machines that are no Nodes yet (pure): under the machine's own name, or
//! under another that is nobody's.

use super::case::{Case, joined};
use super::failures::{Failure, FailureKind};
use super::finding::{Finding, sentence};
use super::ground::Counter;
use super::index::{internal_names, requests_by};
use super::moment::{CLOCKS, Moment};
use super::rows::row;
use super::server_log::{Outcome, Request};
use super::subject::Subject;
use super::taken_name::APPROVED_WITHIN;
use super::way::At;
use skewguard_cluster::kinds::names::{is_localhost, normal};
use skewguard_cluster::kinds::{CertificateRequest, Machine, Node};
use skewguard_cluster::names::{count, first_of};
use std::collections::BTreeMap;

/// The number of requests that may wait beyond Machines or Nodes (cluster-machine-approver,
/// `maxDiffBetweenPendingCSRsAndMachinesCount`).
const MAX_MORE_PENDING: usize = 100;

/// What says why a request is left alone.
#[derive(PartialEq)]
enum By {
    /// The approver's own log, or its operator's condition.
    Word,
    /// Its own log about all requests, which names none.
    WordOfAll,
    /// Its rules, by the objects that were read, if any.
    Rule,
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
    pub(super) fn own_requests(&self) -> Vec<&'a CertificateRequest> {
        if let Subject::Request(request) = self.subject {
            return match self.index.links.node(&request.node) {
                Some(_) => self.index.kubelet_requests(&request.node),
                None => self.index.links.first_requests(&request.node),
            };
        }
        let joined = self.joined_by();
        let is_later = |request: &&CertificateRequest| {
            let made = request.metadata.created;
            !self.is_before(made) && joined.is_none_or(|joined| made > Some(joined))
        };
        let all = requests_by(&self.index.links, &self.aliases.names).filter(is_later);
        let age = |one: &'a CertificateRequest| (one.metadata.created, &one.metadata.name);
        // A full name is found by its first part, too.
        let own: BTreeMap<_, _> = all.map(|one| (age(one), one)).collect();
        own.into_values().collect()
    }

    /// The moment by which it had joined, where its Machine names a Node: requests up to then are of that.
    fn joined_by(&self) -> Option<Moment> {
        let machine = self.machine?;
        let node = machine.node.as_deref()?;
        let is_running = machine.phase.as_deref() == Some("Running");
        let running = machine.since.filter(|_| is_running);
        let serving = self.index.serving_requests(node);
        let serving = serving.filter_map(|request| request.metadata.created);
        let signed = self.index.requests_of(node).iter();
        let signed = signed.filter(|request| request.is_first && request.is_signed);
        let first = signed.filter_map(|request| request.metadata.created).min();
        running.into_iter().chain(serving).chain(first).max()
    }

    /// Requests of no known machine, made since `at`, that may be its own: where there are not fewer
    /// than machines that wait without one.
    pub(super) fn of_another_name(&mut self, at: Moment) -> Option<Finding> {
        let strangers = self.index.strangers.iter();
        let strangers = strangers.filter(|one| one.first >= Some(at));
        let strangers: Vec<&CertificateRequest> = strangers.map(|one| one.last).collect();
        let (first, last) = (strangers.first()?, strangers.last()?);
        // Machines without a host name ask under one name.
        let machines = |one: &&CertificateRequest| {
            let own = self.index.links.first_requests(&one.node);
            let is_shared = is_localhost(&one.node);
            let pending = own.iter().filter(|one| is_shared && one.is_pending());
            pending.count().max(1)
        };
        if strangers.iter().map(machines).sum::<usize>() < self.index.unnamed.len() {
            let nodes = joined(strangers.iter().take(3).map(|one| &one.node));
            let one = (strangers.len() == 1).then_some(&first.metadata.name);
            let count = count(strangers.len(), "certificate request");
            self.says(row!(WhoseRequests one, count, nodes));
            return None;
        }
        if strangers.len() == 1 && machines(first) > 1 {
            return Some(self.of_localhost(&self.index.links.first_requests(&first.node)));
        }
        self.see_strangers(&strangers);
        self.unseen("which request is its own: it has another name than the machine (its console says its host name)");
        // A NodeClaim has no address, by which it would be known who asked.
        let (since, after) = match self.known.contains_key(&At::Requested) {
            true => ("it asked for its config", "it got its config"),
            false => ("it was made", "it was made"),
        };
        if strangers.len() > 1 {
            let nodes = strangers.iter().map(|one| one.node.as_str());
            let nodes = first_of(nodes, 3, strangers.len());
            let count = count(strangers.len(), "request");
            let last = &last.metadata.name;
            return Some(self.tell(row!(RequestsOfOtherNames count, since, nodes, last)));
        }
        Some(self.of_one_name(first, after))
    }

    /// A Machine without addresses in its status, though its instance is there: the approver finds none by a
    /// request, and nobody can tell who asked for a config.
    pub(super) fn without_own_addresses(&mut self, why: &str) -> Option<Finding> {
        let machine = self
            .machine
            .filter(|machine| machine.addresses.is_empty())?;
        let made = machine.metadata.created.filter(|_| self.host.is_none())?;
        self.see(self.field("status.addresses"), None, "none");
        self.unread(&[Counter::Requests, Counter::Nodes]);
        let api = machine.is_of_cluster_api();
        Some(match self.of_another_name(made) {
            Some(finding) => self.with(finding, row!(WithoutAddresses why, api)),
            None if api => self.tell(row!(AddressesMissingOfClusterApi why)),
            None => self.tell(row!(AddressesMissing why)),
        })
    }

    /// Nodes that no Machine names, one of which a Machine without addresses may be.
    pub(super) fn of_nodes_of_nobody(&mut self) -> Option<Finding> {
        let machine = self.machine.filter(|machine| machine.node_pool.is_none())?;
        let made = machine.metadata.created;
        let made = made.filter(|_| self.aliases.addresses.is_empty())?;
        let later = self.nodes_of_nobody_since(made);
        self.of_nodes_since(&later, &format!("{} has no addresses, and", self.name))
    }

    /// The Nodes that no Machine names, made since.
    pub(super) fn nodes_of_nobody_since(&self, made: Moment) -> Vec<&'a Node> {
        let all = self.index.nodes_of_nobody.iter().copied();
        all.filter(|node| node.metadata.created > Some(made))
            .collect()
    }

    /// The finding of a machine that may be one of these Nodes.
    pub(super) fn of_nodes_since(&mut self, later: &[&Node], begin: &str) -> Option<Finding> {
        if later.is_empty() {
            return None;
        }
        let nodes = later.iter().map(|node| &*node.metadata.name);
        let nodes = first_of(nodes, 3, later.len());
        for node in later.iter().take(3) {
            let (source, made) = (
                format!("Node {}", node.metadata.name),
                node.metadata.created,
            );
            self.see(source, made, "created; no Machine names it");
        }
        self.see_more("Nodes that no Machine names", later.len(), 3);
        Some(self.tell(row!(NodesOfNobody begin, nodes)))
    }

    fn see_strangers(&mut self, strangers: &[&CertificateRequest]) {
        for one in strangers.iter().take(5) {
            let (node, state) = (&one.as_written, state(one));
            let text = format!("of node {node}, which nobody has as its name, {state}");
            self.see_csr(one, text);
        }
        self.see_more("such CertificateSigningRequests", strangers.len(), 5);
    }

    /// Requests of machines that nobody gave a host name.
    fn of_localhost(&mut self, requests: &[&CertificateRequest]) -> Finding {
        self.see_strangers(requests);
        let ids = requests.iter().map(|one| &*one.metadata.name);
        let ids = first_of(ids, 5, requests.len());
        let node = requests.first().map(|one| &one.node);
        self.tell(row!(HostNameInvalid ids, node))
    }

    /// The one request of no known machine.
    fn of_one_name(&mut self, first: &CertificateRequest, after: &str) -> Finding {
        let why = match self.why_not_approved(first) {
            _ if first.is_approved => {
                "it is approved, and there is no Node of that name.".to_owned()
            }
            (Some(why), _) => sentence(&why),
            (None, _) => {
                self.unseen(self.approver_unseen(first));
                "it is pending.".to_owned()
            }
        };
        let ago = self.ago(first.metadata.created);
        let (id, node) = (&first.metadata.name, &first.node);
        let finding = self.tell(row!(RequestOfOtherName id, node, ago, after, why));
        let found = self.beside_obstacle(finding, first);
        found.unwrap_or_else(|finding| {
            let finding = self.with(finding, row!(CompareNames));
            self.with_approval(finding, first, row!(ApproveFirst id, many = ""))
        })
    }

    /// An approved request, and no Node.
    fn approved(&mut self, request: &CertificateRequest) -> Finding {
        let (id, source) = (&request.metadata.name, request.source());
        let ago = self.ago(request.metadata.created);
        let node = &request.node;
        let signed = match (request.dates, &request.denied) {
            (_, Some(why)) if !request.is_signed => format!("status.certificate is empty: {why}"),
            _ if !request.is_signed => "status.certificate is empty".to_owned(),
            (Some(dates), _) => format!("valid from {} until {}", dates.from, dates.until),
            (None, _) => "status.certificate is there".to_owned(),
        };
        let text = format!("of node {}, approved, {signed}", request.as_written);
        self.see_csr(request, text);
        if request.is_signed {
            self.reach(At::Certificate, format!("{id} is signed"));
        }
        let finding = self.tell(match &request.denied {
            Some(why) if !request.is_signed => {
                row!(CertificateRefused id, ago, why = sentence(why))
            }
            _ if !request.is_signed => row!(CertificateNotSigned id, ago),
            _ if request.dates.is_some_and(|dates| dates.until < self.now) => {
                row!(CertificateOutlived ago)
            }
            _ => {
                if let Some(finding) = self.had_joined(request) {
                    return finding;
                }
                if matches!(self.subject, Subject::Request(_)) {
                    self.unseen("whether somebody deleted the Node, and the machine is gone");
                }
                self.unread(&[Counter::Nodes]);
                // A request shows its common name, whatever that is.
                return self.tell(row!(NodeMissing ago, node));
            }
        });
        finding.sure(self, source)
    }

    /// A machine whose Node asked for a certificate to serve with, and is not there.
    fn had_joined(&mut self, request: &CertificateRequest) -> Option<Finding> {
        let mut serving = self.index.serving_requests(&request.node);
        let serving = serving.find(|one| one.metadata.created >= request.metadata.created)?;
        let text = format!("for serving, of node {}, {}", serving.node, state(serving));
        self.see_csr(serving, text);
        self.unread(&[Counter::Nodes]);
        let node = &request.node;
        Some(self.tell(row!(NodeGoneSinceServing node)))
    }

    /// The last of its requests, which was denied or waits.
    fn not_approved(&mut self, last: &CertificateRequest, own: &[&CertificateRequest]) -> Finding {
        let (id, source) = (&last.metadata.name, last.source());
        let (node, created) = (&last.as_written, last.metadata.created);
        if let Some(why) = &last.denied {
            self.see_csr(last, format!("of node {node}, denied: {why}"));
            let row = row!(RequestDenied id, ago = self.ago(created), why = sentence(why));
            return self.tell(row).sure(self, source);
        }
        self.see_more("its CertificateSigningRequests before", own.len(), 5);
        for request in own.iter().rev().skip(1).take(4).rev() {
            self.see_csr(request, format!("of node {node}, {}", state(request)));
        }
        self.see_csr(last, format!("of node {node}, pending"));
        let is_flooded = self.is_flooded(own);
        let (says, by) = self.why_not_approved(last);
        let unseen = match by {
            By::Word => None,
            By::WordOfAll if is_flooded => Some(STILL_MANY.to_owned()),
            By::WordOfAll => Some(OF_ANOTHER.to_owned()),
            By::Rule => Some(self.approver_unseen(last)),
        };
        let (says, rules) = (says.map(|says| sentence(&says)), by == By::Rule);
        let many = own.iter().filter(|one| one.is_pending()).count() > 1;
        let waits = self.pending(last, own);
        let mut finding = self.tell(row!(RequestPending id, waits, rules, says));
        if let (Subject::Request(_), None) = (self.subject, self.index.links.node(&last.node)) {
            let waiting = self.may_be_of(last);
            let many = (waiting > 1).then_some(waiting);
            finding = self.with_all(finding, (waiting > 0).then(|| row!(PerhapsOfWaiting many)));
        }
        finding = self.beside_pending(finding, node);
        finding = self.with_all(finding, is_flooded.then(|| row!(TooManyRequests)));
        finding = self.beside_disabled(finding, own);
        let found = self.beside_obstacle(finding, last);
        let finding = found.unwrap_or_else(|finding| {
            let row = match self.late(own) {
                Some(replace) => row!(ApproveLate id, replace),
                None => row!(ApproveFirst id, many),
            };
            self.with_approval(finding, last, row)
        });
        match unseen {
            // Only what the approver says of this request is a proof.
            Some(unseen) => {
                self.unseen(unseen);
                finding
            }
            None => finding.sure(self, source),
        }
    }

    /// How many machines wait without a request under their name, and may have made this one.
    fn may_be_of(&self, request: &CertificateRequest) -> usize {
        let made = request.metadata.created;
        let until = made.map_or(self.now, |made| made.plus(CLOCKS));
        let all = self.index.unnamed.iter();
        let all = all.map(|one| Case::new(self.index, *one).may_have_asked(until));
        all.filter(|may| *may).count()
    }

    /// Tells if it may have asked for a certificate by then: it runs, has not joined, and nothing says that it
    /// would have another name or no config.
    fn may_have_asked(&mut self, until: Moment) -> bool {
        let hostname = match self.subject {
            Subject::Host(host) => host.hostname.as_deref(),
            Subject::Agent(agent) => agent.hostname.as_deref(),
            _ => None,
        };
        let from = self.created.unwrap_or(Moment(0)).minus(CLOCKS);
        let peers = self.aliases.addresses.iter();
        let peers = peers.filter_map(|address| self.facts.logs.peers.get(address));
        let own = peers.flat_map(|peer| &peer.requests);
        let own = own.filter(|one| one.is_ignition && one.at >= from);
        let is_config =
            |one: &Request| one.is_doubtful || one.outcome == Outcome::Served && one.at <= until;
        let is_refused = own.clone().next().is_some() && !own.clone().any(is_config);
        self.created <= Some(until)
            && self.node.is_none()
            && hostname.is_none_or(is_localhost)
            && !(is_refused && self.missing_logs().is_empty())
            && self.instance().is_ok()
    }

    /// Adds that the approver takes no first request at all, where its words are those.
    fn beside_disabled(&mut self, finding: Finding, own: &[&CertificateRequest]) -> Finding {
        let refusals = &self.facts.refusals;
        let mut said = own
            .iter()
            .filter_map(|one| refusals.get(&one.metadata.name));
        let disabled = said.find_map(|(_, why)| {
            let known = Failure::of_platform(None, why);
            known.filter(|one| one.cause == FailureKind::ApprovalDisabled)
        });
        let Some(Failure { next: help, .. }) = disabled else {
            return finding;
        };
        let finding = self.with(finding, row!(ApprovalDisabled help));
        finding.because(disabled)
    }

    /// Adds what of its Machine keeps the approver from its request, and the next one's, too.
    fn beside_pending(&mut self, finding: Finding, requested: &str) -> Finding {
        let node = self.machine.and_then(|machine| machine.node.as_ref());
        let before = node.map(|node| row!(HadJoinedBefore node));
        let mut finding = self.with_all(finding, before);
        if let Some(internal) = self.differing_name(requested) {
            let text = format!("InternalDNS {internal}");
            self.see(self.field("status.addresses"), None, text);
            let alike = normal(internal) == normal(requested);
            finding = self.with(finding, row!(InternalNameDiffers internal, alike));
        }
        let row = self.missing_addresses().map(|host| match host {
            None => row!(PendingWithoutAddresses),
            Some([host, space, of]) => row!(PendingNotInspected host, space, of),
        });
        self.with_all(finding, row)
    }

    /// Its name for the approver, where no Machine has the one in its request: the likest, by case or a trailing dot.
    fn differing_name(&self, requested: &str) -> Option<&'a str> {
        let own = internal_names(self.machine?);
        let is_found = self.index.internal_names.contains(requested);
        own.filter(|_| !is_found)
            .max_by_key(|name| normal(name) == normal(requested))
    }

    /// `request csr-1 is pending for 67 minutes`.
    pub(super) fn pending(&self, last: &CertificateRequest, own: &[&CertificateRequest]) -> String {
        let pending = own.iter().filter(|request| request.is_pending());
        let first = pending.clone().next();
        let since = self.span_since(first.and_then(|request| request.metadata.created));
        let since = since.map_or(String::new(), |since| format!(" for {since}"));
        let id = &last.metadata.name;
        match pending.count() {
            0 | 1 => format!("request {id} is pending{since}"),
            count => format!("{count} requests are pending{since}, {id} the last"),
        }
    }

    /// The approver's reason to leave a request alone: its own word, else its rules.
    fn why_not_approved(&mut self, request: &CertificateRequest) -> (Option<String>, By) {
        let said = self.approver_said(request);
        if said.is_some() {
            return (said, By::Word);
        }
        let mut others = self.index.requests_of(&request.node).iter().rev();
        let word = others.find_map(|other| {
            let is_like = other.is_client == request.is_client && other.is_pending();
            let why = is_like.then(|| self.approver_said(other))??;
            Some(format!("of {}, {why}", other.metadata.name))
        });
        let word = self.ignored_with_all(request).or(word);
        if word.is_some() {
            return (word, By::WordOfAll);
        }
        match self.approver_fails() {
            Some(why) => (Some(why), By::Word),
            None => (
                self.too_many_wait().or_else(|| self.rule(request)),
                By::Rule,
            ),
        }
    }

    /// What would say why the approver left a request alone.
    fn approver_unseen(&self, request: &CertificateRequest) -> String {
        let id = &request.metadata.name;
        match self.facts.approver_log {
            _ if self.facts.is_hosted => "why the approver did not: a hosted cluster's runs in the management cluster, in the control plane's namespace, beside its Machines".to_owned(),
            Some((from, to)) => format!("why the approver did not: its log from {from} to {to} does not say it of {id}"),
            None => APPROVER.to_owned(),
        }
    }

    /// The approver's own word against a request.
    pub(super) fn approver_said(&mut self, request: &CertificateRequest) -> Option<String> {
        let (id, refusals) = (&request.metadata.name, &self.facts.refusals);
        let (at, why) = refusals.get(id).or_else(|| refusals.get(&request.node))?;
        self.see(APPROVER_LOG, *at, format!("{id}: {why}"));
        let node = &request.as_written;
        if why.contains("failed to find machine") && self.index.internal_names.contains(&**node) {
            let text = format!("InternalDNS {node}, which the approver did not find then");
            self.see("Machines, status.addresses", None, text);
        }
        Some(format!("the approver: {why}"))
    }

    /// The approver's rule against a request, by the objects that were read.
    fn rule(&mut self, request: &CertificateRequest) -> Option<String> {
        let node = &request.node;
        if request.is_first && self.index.links.node(node).is_some() {
            return Some(format!("node {node} already exists"));
        }
        let Some(machine) = self.machine else {
            let is_known = self.index.ground.has_machines || !self.facts.nodes.is_empty();
            // The Machines of a hosted cluster are in its management cluster.
            let is_perhaps_a_machines = self.facts.is_hosted || self.may_be_of(request) > 0;
            return (is_known && !is_perhaps_a_machines).then(|| {
                "it has no Machine, and only requests of Machines are approved".to_owned()
            });
        };
        let node = &request.as_written;
        if !self.index.internal_names.contains(&**node) {
            let text = format!("no InternalDNS {node}");
            self.see(self.field("status.addresses"), None, text);
            return Some(format!(
                "no Machine has {node} as InternalDNS in status.addresses, by which the approver finds it"
            ));
        }
        if machine.node.is_some() {
            return Some("its Machine names a Node already (status.nodeRef), and the approver takes no request of one that does".to_owned());
        }
        is_late(machine, request).then(|| "it came more than two hours after the Machine was made, and the approver takes none that late".to_owned())
    }

    /// What makes another Machine, where its first request that waits came too late for the approver, by its word or by
    /// its rule: when the machine was started does not fit it then.
    fn late(&self, own: &[&CertificateRequest]) -> Option<&'static str> {
        let first = own.iter().find(|one| one.is_pending())?;
        let said = self.facts.refusals.get(&first.metadata.name);
        let is_said = said.is_some_and(|(_, why)| why.contains(" creation time "));
        let is_ruled = self.machine.is_some_and(|own| is_late(own, first));
        let replace = self.machine.map_or("", |own| self.replace(own));
        (is_said || is_ruled).then_some(replace)
    }

    /// The approver's word that it ignored all requests, since this one was made.
    fn ignored_with_all(&mut self, request: &CertificateRequest) -> Option<String> {
        let (at, why) = self.facts.ignores_all.as_ref()?;
        if matches!((at, request.metadata.created), (Some(at), Some(made)) if *at < made) {
            return None;
        }
        self.see(APPROVER_LOG, *at, why);
        let when = self.ago(*at);
        Some(format!("the approver ignored all requests{when}: {why}"))
    }

    /// Tells if the approver takes no request, since too many wait: it said so since the first of these, and of none of
    /// them anything else later, or its rule says so.
    fn is_flooded(&self, own: &[&CertificateRequest]) -> bool {
        let Some((at, _)) = &self.facts.ignores_all else {
            return self.too_many_wait().is_some();
        };
        let refusals = &self.facts.refusals;
        let said = |one: &&CertificateRequest| refusals.get(&one.metadata.name);
        own.iter().any(|one| one.metadata.created <= *at)
            && !own.iter().filter_map(said).any(|(said, _)| said > at)
    }

    fn too_many_wait(&self) -> Option<String> {
        let facts = self.facts;
        let hour = self.now.minus(3_600);
        let requests = facts.requests.iter().filter(|one| one.is_pending());
        let pending = requests
            .filter(|one| one.metadata.created >= Some(hour))
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

/// Tells if a request came later than the approver takes one.
fn is_late(machine: &Machine, request: &CertificateRequest) -> bool {
    let (made, asked) = (machine.metadata.created, request.metadata.created);
    asked > made.map(|made| made.plus(APPROVED_WITHIN)) && made.is_some()
}

/// The approver's log, as a source.
pub(super) const APPROVER_LOG: &str = "log of the machine-approver";

const APPROVER: &str = "why the approver did not: its log (get pods/log in openshift-cluster-machine-approver; a must-gather has it)";

const OF_ANOTHER: &str = "whether the approver means this request: its line names another or none";

const STILL_MANY: &str = "whether as many still wait: `oc get csr`";

/// The state of a request, in a word.
fn state(request: &CertificateRequest) -> &'static str {
    match (request.is_pending(), request.is_approved) {
        (true, _) => "pending",
        (false, true) => "approved",
        (false, false) => "denied",
    }
}
