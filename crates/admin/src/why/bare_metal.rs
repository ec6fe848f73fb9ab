//! BareMetalHosts that are not installed, or do not run (pure).

use super::case::Case;
use super::failures::{Failure, help};
use super::finding::{Finding, sentence};
use super::rows::row;
use super::way::YOUNG;
use skewguard_cluster::kinds::{Host, Machine};
use skewguard_core::platform::Platform;

impl Case<'_> {
    /// The hosts of no Machine, in their own words.
    pub(super) fn free_hosts(&mut self, machine: &Machine) -> String {
        let mut said = Vec::new();
        let namespace = &machine.metadata.namespace;
        let hosts = self.facts.hosts.iter();
        let hosts = hosts.filter(|host| host.consumer.is_none());
        for host in hosts.filter(|host| host.metadata.namespace == *namespace) {
            let full_name = host.metadata.full_name();
            let words = words(host);
            self.see_host(host, "status", host.since().or(host.updated), &words);
            said.push(format!("host {full_name} is {words}"));
        }
        let more = said.len().saturating_sub(3);
        said.truncate(3);
        if more > 0 {
            said.push(format!("{more} more"));
        }
        match said.as_slice() {
            [] => String::new(),
            said => format!(" Of no Machine: {}", sentence(&said.join("; "))),
        }
    }

    /// A host that its operator has not installed, and what keeps it from that.
    fn not_installed(&mut self, host: &Host) -> Finding {
        let since = self
            .span_since(host.since())
            .map(|since| format!(" for {since}"));
        // Its status may have changed in that state, too.
        let updated = self.span_since(host.updated);
        let since = since.or(updated.map(|at| format!(" for at least {at}")));
        let (state, kept) = (&host.state, kept_by(host));
        let [host, space, of] = names(host);
        self.tell(match kept {
            Some(annotation) => row!(HostPaused host, state, since, space, of, annotation),
            None => row!(HostNotInstalled host, state, since, space, of),
        })
    }

    pub(super) fn host_instance(&mut self, host: &Host) -> Result<String, Finding> {
        let full_name = host.metadata.full_name();
        let mut field = "status.provisioning.state";
        self.see_host(host, field, host.since().or(host.updated), &host.state);
        let error = error(host);
        if error.is_some() {
            let said = host.error_type.iter().chain(&host.error_message);
            let said: Vec<&str> = said.map(String::as_str).collect();
            self.see_host(host, ERROR, None, said.join(": "));
        }
        let is_installed =
            host.is_external || matches!(&*host.state, "provisioned" | "externally provisioned");
        let finding = match error {
            // An error of one that is installed is about its management.
            Some((kind, message)) if !is_installed => {
                field = ERROR;
                let failure = Failure::of_platform(Some(Platform::Metal), message);
                let (known, [host, space, of]) = (failure.is_some(), names(host));
                let (says, help) = (sentence(message), help(failure));
                let again = failure.is_none_or(|failure| !failure.over);
                let row = row!(HostFails host, kind, says, help, known, space, of, again);
                self.tell(row).because(failure)
            }
            _ if !is_installed => self.not_installed(host),
            _ if host.is_on == Some(false) => {
                let finding = self.tell(row!(HostIsOff host = full_name));
                let finding = self.beside_silent_node(finding);
                let source = format!("BareMetalHost {full_name}, {field}");
                return Err(self.off_proved(finding, source));
            }
            _ => return Ok(format!("host {full_name}, {}", host.state)),
        };
        if !is_installed && error.is_none() && self.is_perhaps_young(host) {
            self.unseen(YOUNG_HOST);
            if kept_by(host).is_none() {
                return Err(finding);
            }
        }
        Err(finding.sure(self, format!("BareMetalHost {full_name}, {field}")))
    }

    /// The error of its installed host, where its Machine has no instance and says no cause.
    pub(super) fn of_host_error(&mut self, age: Option<&str>) -> Option<Finding> {
        let host = self.host?;
        let (kind, message) = error(host)?;
        let failure = Failure::of_platform(Some(Platform::Metal), message);
        let ([host, space, of], state) = (names(host), &host.state);
        let (says, help) = (sentence(message), help(failure));
        let row = row!(InstalledHostFails host, state, age, kind, says, help, space, of);
        Some(self.tell(row).because(failure))
    }

    /// Tells if a host without a Machine may be in its state since just now.
    fn is_perhaps_young(&self, host: &Host) -> bool {
        let since = host.since().or(host.updated);
        self.machine.is_none() && since.is_none_or(|at| self.now.since(at) < YOUNG)
    }
}

const ERROR: &str = "status.errorMessage";

const YOUNG_HOST: &str = "since when its host is in this state: its status has no such time";

/// The full name of a host, and its namespace and name as oc takes them.
pub(super) fn names(host: &Host) -> [String; 3] {
    let own = &host.metadata;
    [own.full_name(), own.namespace.clone(), own.name.clone()]
}

/// The kind of a host's error, and what it says.
fn error(host: &Host) -> Option<(&str, &str)> {
    let said = host.error_message.as_deref();
    let message = said.filter(|text| !text.is_empty());
    let kind = host.error_type.as_deref().or(message.map(|_| "an error"))?;
    Some((kind, message.unwrap_or("it does not say which.")))
}

/// The annotation that keeps a host's operator from it.
fn kept_by(host: &Host) -> Option<&'static str> {
    let (paused, detached) = (host.is_paused, host.is_detached);
    let paused = paused.then_some("baremetalhost.metal3.io/paused");
    paused.or(detached.then_some("baremetalhost.metal3.io/detached"))
}

/// The state of a host, and its error if it has one.
fn words(host: &Host) -> String {
    let state = match &*host.state {
        "" => "without a state",
        state => state,
    };
    let error = [&host.error_type, &host.error_message];
    match error.map(Option::as_deref) {
        [Some(kind), Some(message)] => format!("{state}, {kind}: {message}"),
        [Some(kind), None] => format!("{state}, {kind}"),
        [None, _] => state.to_owned(),
    }
}
