//! A Machine, a host or an agent without a Node, and what belongs to it (pure).

use super::index::Index;
use super::moment::{Moment, span};
use super::report::{Evidence, HOST};
use super::subject::Subject;
use super::way::{At, YOUNG};
use crate::audit::SetAudit;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::groups::REQUEST;
use skewguard_cluster::kinds::{
    CertificateRequest, Condition, Event, Host, Machine, Node, Report, UserData,
};
use skewguard_cluster::links::Aliases;
use std::collections::BTreeMap;

/// A subject, and what belongs to it.
pub(super) struct Case<'a> {
    pub(super) facts: &'a Cluster,
    pub(super) index: &'a Index<'a>,
    pub(super) subject: Subject<'a>,
    pub(super) machine: Option<&'a Machine>,
    pub(super) host: Option<&'a Host>,
    pub(super) node: Option<&'a Node>,
    pub(super) aliases: Aliases,
    /// The name by which a person knows it.
    pub(super) name: &'a str,
    pub(super) created: Option<Moment>,
    pub(super) now: Moment,
    /// The audit's word on the image of its set.
    pub(super) judged: Option<&'a SetAudit>,
    /// The steps that were seen, and what stands beside each.
    pub(super) known: BTreeMap<At, String>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) unseen: Vec<String>,
    /// Holes that several of its rows have.
    pub(super) holes: Vec<(&'static str, String)>,
}

impl<'a> Case<'a> {
    pub(super) fn new(index: &'a Index<'a>, subject: Subject<'a>) -> Self {
        let facts = index.facts;
        let (machine, host, agent) = match subject {
            Subject::Machine(machine) => (Some(machine), index.links.host_of(machine), None),
            Subject::Host(host) => (None, Some(host), None),
            Subject::Agent(agent) => (None, None, Some(agent)),
            _ => (None, None, None),
        };
        let (_, metadata, node) = subject.head();
        // A host may have been inspected long before it was provisioned.
        let since = host.filter(|_| machine.is_none());
        let since = since.and_then(Host::provisioned_at);
        let agent = agent.or_else(|| facts.agent_of(host?));
        let created = since.or(metadata.created);
        let mut aliases = Aliases::of(machine, host, agent, created);
        if let Subject::Request(request) = subject {
            aliases.names.insert(request.node.clone());
        }
        Self {
            facts,
            index,
            subject,
            machine,
            host,
            node: match subject {
                Subject::Node(node) => Some(node),
                _ => (index.links.node_by(machine, &aliases))
                    .or_else(|| index.node_by_requests(&aliases)),
            },
            aliases,
            name: match node {
                "" => &metadata.name,
                node => node,
            },
            created,
            now: index.now,
            judged: None,
            known: BTreeMap::new(),
            evidence: Vec::new(),
            unseen: Vec::new(),
            holes: Vec::new(),
        }
    }

    /// `Machine openshift-machine-api/worker-7`.
    pub(super) fn object(&self) -> String {
        let (kind, metadata, _) = self.subject.head();
        format!("{kind} {}", metadata.full_name())
    }

    /// A field of it, as a source.
    pub(super) fn field(&self, field: &str) -> String {
        format!("{}, {field}", self.object())
    }

    /// Tells if something is of an earlier machine of this name or address, by the server's clock.
    pub(super) fn is_before(&self, at: Option<Moment>) -> bool {
        self.aliases.is_before(at)
    }

    /// Why its age is not known: nothing says when it was made, or all times that were read may be of long before they
    /// were read.
    pub(super) fn odd_age(&self) -> Option<String> {
        // What has failed is over, whenever that was, and what has a Node is not young.
        let is_over = self.machine.is_some_and(Machine::is_failed) || self.node.is_some();
        let is_one = matches!(self.subject, Subject::Machine(_) | Subject::Agent(_));
        if is_one && !is_over && self.created.is_none() {
            return Some("how old it is: it has no metadata.creationTimestamp".to_owned());
        }
        let is_young = self.now.since(self.created?) < YOUNG;
        (is_young && !is_over && !self.facts.has_clock()).then(|| {
            format!(
                "how old it is: the newest time in what was read is {}, and nothing says when it was read (`oc get nodes -o json` does)",
                self.now
            )
        })
    }

    /// The seconds since it was made, where that is known.
    pub(super) fn age(&self) -> Option<u64> {
        let created = self.created.filter(|_| self.odd_age().is_none());
        created.map(|created| self.now.since(created))
    }

    /// A time span before now, in words; nothing where it is unknown.
    pub(super) fn ago(&self, at: impl Into<Option<Moment>>) -> String {
        let at: Option<Moment> = at.into();
        at.map_or(String::new(), |at| match self.now.since(at) {
            0 => " just now".to_owned(),
            seconds => format!(" {} ago", span(seconds)),
        })
    }

    /// The time since then, in words.
    pub(super) fn span_since(&self, at: Option<Moment>) -> Option<String> {
        at.map(|at| span(self.now.since(at)))
    }

    /// The name by which machines reach the machine-config-servers.
    pub(super) fn server(&self) -> &'a str {
        self.facts.server_host.as_deref().unwrap_or("API-INT")
    }

    /// The pool whose config it asks for.
    pub(super) fn pool(&self) -> Option<String> {
        let machine = self.machine?;
        let pools = self.user_data().map(|user_data| &user_data.pools);
        let of_user_data = pools.filter(|pools| pools.len() == 1);
        let of_secret = || {
            let secret = machine.source.secret()?;
            let pool = secret.strip_suffix("-managed").unwrap_or(secret);
            pool.strip_suffix("-user-data").map(str::to_owned)
        };
        of_user_data
            .and_then(|pools| pools.first().cloned())
            .or_else(of_secret)
            .or_else(|| machine.role.clone())
    }

    /// The last report about it that was made since it is there.
    pub(super) fn report(&self) -> Option<&'a Report> {
        let own = self.index.links.reports_by(&self.aliases).into_iter();
        own.max_by_key(|report| (report.at(), &report.metadata.name))
    }

    /// Notes that a step was seen.
    pub(super) fn reach(&mut self, at: At, text: impl Into<String>) {
        self.known.insert(at, text.into());
    }

    pub(super) fn see(
        &mut self,
        source: impl Into<String>,
        at: Option<Moment>,
        text: impl Into<String>,
    ) {
        self.see_about(None, source, at, text);
    }

    /// Puts a certificate request into the evidence.
    pub(super) fn see_csr(&mut self, request: &CertificateRequest, text: impl Into<String>) {
        let about = (REQUEST, request.metadata.name.clone());
        let made = request.metadata.created;
        self.see_about(Some(about), request.source(), made, text);
    }

    /// Puts a field of a host into the evidence.
    pub(super) fn see_host(
        &mut self,
        host: &Host,
        field: &str,
        at: Option<Moment>,
        text: impl Into<String>,
    ) {
        let name = host.metadata.full_name();
        let source = format!("BareMetalHost {name}, {field}");
        self.see_about(Some((HOST, name)), source, at, text);
    }

    /// Puts Events into the evidence, by what they are of.
    pub(super) fn see_events<'e>(&mut self, of: &str, events: impl IntoIterator<Item = &'e Event>) {
        for event in events {
            let source = format!("Event {} of {of}", event.reason);
            self.see(source, event.last, &event.message);
        }
    }

    /// Notes how many more there are than so many that were put into the evidence.
    pub(super) fn see_more(&mut self, source: impl Into<String>, all: usize, shown: usize) {
        let more = all.saturating_sub(shown);
        if more > 0 {
            self.see(source, None, format!("{more} more"));
        }
    }

    fn see_about(
        &mut self,
        about: Option<(&'static str, String)>,
        source: impl Into<String>,
        at: Option<Moment>,
        text: impl Into<String>,
    ) {
        let evidence = Evidence {
            source: source.into(),
            time: at.map(Moment::text),
            text: text.into(),
            about,
        };
        if !self.evidence.contains(&evidence) && self.evidence.len() < 30 {
            self.evidence.push(evidence);
        }
    }

    pub(super) fn unseen(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.unseen.contains(&what) {
            self.unseen.push(what);
        }
    }

    /// Tells if it stands on a BareMetalHost, read or not.
    pub(super) fn has_host(&self) -> bool {
        self.host.is_some() || self.machine.is_some_and(|machine| machine.host.is_some())
    }

    /// The BareMetalHost that it names, and that was not read.
    pub(super) fn missing_host(&self) -> Option<String> {
        let named = self.machine?.host.as_deref()?;
        self.host.is_none().then(|| {
            format!("BareMetalHost {named} (list baremetalhosts.metal3.io; `oc get baremetalhosts.metal3.io -A -o json`)")
        })
    }

    /// Notes a condition that says no.
    pub(super) fn see_condition(&mut self, condition: &Condition) {
        self.see_condition_of(&self.object(), condition);
    }

    /// Notes a condition of another object.
    pub(super) fn see_condition_of(&mut self, object: &str, condition: &Condition) {
        let source = format!("{object}, condition {}", condition.kind);
        let text = format!("{}: {}", condition.status, condition.says());
        self.see(source, condition.since(), text);
    }

    /// The Secret with its user data, as a source.
    pub(super) fn secret(&self) -> Option<String> {
        let machine = self.machine?;
        let secret = machine.source.secret().unwrap_or("of its user data");
        Some(format!("Secret {}/{secret}", machine.metadata.namespace))
    }

    pub(super) fn user_data(&self) -> Option<&'a UserData> {
        self.facts.user_data_of(self.machine?)
    }
}

/// The last so many of these, in their order.
pub(super) fn last<'e>(events: &[&'e Event], most: usize) -> impl Iterator<Item = &'e Event> {
    let before = events.len().saturating_sub(most);
    events.iter().skip(before).copied()
}

/// `192.0.2.1, 192.0.2.2`.
pub(super) fn joined(all: impl IntoIterator<Item = impl ToString>) -> String {
    let all = all.into_iter().map(|one| one.to_string());
    all.collect::<Vec<_>>().join(", ")
}
