//! Machines that got their config, or of which nothing more is seen (pure).

use super::case::Case;
use super::explain::{Judged, YOUNG};
use super::finding::{At, Finding, sentence};
use super::report::Stage;
use super::request_step::Seen;

impl Case<'_> {
    /// It was served, and nothing was seen of it since.
    pub(super) fn served(&mut self, seen: &Seen, judged: Option<&Judged>) -> Finding {
        let name = self.name();
        let ago = self.now.since(seen.last.at);
        let when = self.ago(seen.last.at);
        let image = self.image(judged);
        let failure = self.first_boot_event();
        let step = match failure {
            Some(_) => "it failed".to_owned(),
            None => format!("nothing seen since {}", seen.last.at.clock()),
        };
        let text = if let Some(failure) = failure {
            format!(
                "{name} got its config {when}, and its first boot failed: {}",
                sentence(&failure)
            )
        } else if seen.count > 2 {
            format!(
                "{name} got its config {} times, the last {when}, and never joined: its first boot begins again and again{image}.",
                seen.count
            )
        } else if ago < YOUNG {
            format!("{name} got its config {when}, and is in its first boot{image}.")
        } else {
            format!(
                "{name} got its config {when}, and was not seen since: its first boot hangs, or it died there{image}."
            )
        };
        let mut finding = Finding::new(Stage::FirstBoot, At::FirstBoot, step, text);
        for issue in judged.map(|judged| &judged.issues).into_iter().flatten() {
            finding = finding.next(format!("A known issue of its image: {issue}"));
        }
        self.no_requests();
        self.unseen("the first boot itself: its console, or the node's own reports (install skewguard in the pool)");
        finding
            .doubtful(seen.last.is_doubtful)
            .next("Look at its console: which unit of the first boot loops says why (machine-config-daemon-pull, machine-config-daemon-firstboot)")
    }

    /// `; its set's image is 412.86…, which …`.
    fn image(&mut self, judged: Option<&Judged>) -> String {
        let Some(judged) = judged else {
            return String::new();
        };
        let Some(version) = &judged.version else {
            self.unseen(format!(
                "the boot image of {}: its version is unknown",
                judged.set
            ));
            return String::new();
        };
        let source = judged.set.clone();
        let verdict = if judged.message.is_empty() {
            String::new()
        } else {
            format!(": {}", judged.message)
        };
        self.see(source, None, format!("boot image {version}{verdict}"));
        if judged.is_refused {
            format!(
                "; {} makes machines from {version}, which the limits refuse",
                judged.set
            )
        } else {
            format!("; {} makes machines from {version}", judged.set)
        }
    }

    /// Events of the operator about first boots of the pool (MCO #6124, where the cluster has it): the
    /// last that is its own.
    fn first_boot_event(&mut self) -> Option<String> {
        let pool = self.pool()?;
        let mut last = None;
        let names = self.names();
        let created = self.created();
        let events = self.index.events("MachineConfigPool", "", &pool);
        let events = events.iter().rev().filter(|event| {
            event.reason.eq_ignore_ascii_case("FirstbootFailed") && event.last >= created
        });
        for event in events.take(3).copied().collect::<Vec<_>>() {
            // `Node ip-10-0-1-215 failed during firstboot at stage '…': …`.
            let message = event.message.to_ascii_lowercase();
            let is_own = message
                .split([' ', ',', ';', '\''])
                .any(|word| names.contains(word));
            if is_own && last.is_none() {
                last = Some(event.message.clone());
            }
            let whose = if is_own {
                ""
            } else {
                " (of a machine of the pool)"
            };
            self.see(
                format!("Event {} of MachineConfigPool {pool}", event.reason),
                event.last,
                format!("{}{whose}", event.message),
            );
        }
        last
    }

    pub(super) fn hidden_request(&mut self, why: &str) -> Finding {
        let name = self.name();
        let waiting = self
            .facts
            .machines
            .iter()
            .filter(|machine| machine.node.is_none())
            .count();
        self.see("log of the machine-config-server", None, why);
        self.no_requests();
        Finding::new(
            Stage::Unknown,
            At::Requested,
            "cannot be told apart",
            format!(
                "Whether {name} asked for its config cannot be told apart: {why}; {waiting} Machine{} without a Node.",
                if waiting == 1 { " is" } else { "s are" }
            ),
        )
        .doubtful(true)
        .next("Look at its console: Ignition says there whether it reaches the machine-config-server")
    }

    fn no_requests(&mut self) {
        if !self.index.has_requests {
            self.unseen("certificate requests: none was read (list certificatesigningrequests; oc adm inspect certificatesigningrequests)");
        }
    }

    /// The log was not read, and nothing later was seen.
    pub(super) fn unknown(&mut self, judged: Option<&Judged>) -> Finding {
        let name = self.name();
        let image = self.image(judged);
        self.no_requests();
        Finding::new(
            Stage::Unknown,
            At::Requested,
            "not seen",
            format!("Why {name} is no Node cannot be told from what was read: its instance is there, and nothing else of it was seen{image}."),
        )
        .doubtful(true)
        .next("Give the rights or the files that are named below, or look at its console")
    }
}
