//! Machines that got their config, or of which nothing more is seen (pure).

use super::case::Case;
use super::claims::CONSOLE;
use super::explain::Judged;
use super::finding::{Counter, Finding};
use super::request_step::Seen;
use super::way::{At, Stage, YOUNG};

impl Case<'_> {
    /// It was served, and nothing was seen of it since. That nothing was is no cause: it stays
    /// uncertain.
    pub(super) fn served(&mut self, seen: &Seen, judged: Option<&Judged>) -> Finding {
        let name = self.name();
        let ago = self.now.since(seen.last.at);
        let when = self.ago(seen.last.at);
        let image = self.image(judged);
        let step = format!("nothing seen since {}", seen.last.at.clock());
        let text = if seen.boots > 2 {
            format!(
                "{name} got its config in {} boots, the last {when}, and neither a certificate request nor a Node of it was seen: its first boot seems to begin again and again{image}.",
                seen.boots
            )
        } else if ago < YOUNG {
            format!("{name} got its config {when}, and may be in its first boot{image}.")
        } else {
            format!(
                "{name} got its config {when}; neither a certificate request nor a Node of it was seen since{image}."
            )
        };
        let mut finding = Finding::new(Stage::FirstBoot, At::FirstBoot, step, text);
        for issue in judged.map(|judged| &judged.issues).into_iter().flatten() {
            finding = finding.next(format!("A known issue of its image: {issue}"));
        }
        self.unread(&[Counter::Requests, Counter::Nodes, Counter::ServerLogs]);
        self.unseen("the first boot itself: its console, or the node's own reports (install skewguard in the pool)");
        finding.next(CONSOLE)
    }

    /// `; its set's image is 412.86…, which …`.
    fn image(&mut self, judged: Option<&Judged>) -> String {
        let Some(judged) = judged else {
            return String::new();
        };
        let Some(version) = &judged.version else {
            self.unseen(format!(
                "the boot image of {}: its version is unknown, or known by a node's own word alone",
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

    pub(super) fn hidden_request(&mut self, why: &str) -> Finding {
        let name = self.name();
        let waiting = self
            .facts
            .machines
            .iter()
            .filter(|machine| machine.node.is_none())
            .count();
        self.see("log of the machine-config-server", None, why);
        self.unread(&[Counter::Requests, Counter::Nodes]);
        self.unseen("which of them asked: its console says whether Ignition reaches the machine-config-server");
        Finding::new(
            Stage::Unknown,
            At::Requested,
            "cannot be told apart",
            format!(
                "Whether {name} asked for its config cannot be told apart: {why}; {waiting} Machine{} without a Node.",
                if waiting == 1 { " is" } else { "s are" }
            ),
        )
        .next("Look at its console: Ignition says there whether it reaches the machine-config-server")
    }

    /// The log was not read, and nothing later was seen.
    pub(super) fn unknown(&mut self, judged: Option<&Judged>) -> Finding {
        let name = self.name();
        let image = self.image(judged);
        self.unread(&[Counter::Requests]);
        Finding::new(
            Stage::Unknown,
            At::Requested,
            "not seen",
            format!("Why {name} is no Node cannot be told from what was read: its instance is there, and nothing else of it was seen{image}."),
        )
        .next("Give the rights or the files that are named below, or look at its console")
    }

    /// A certificate request under another name, where certificate requests were read.
    pub(super) fn after_config(&mut self, seen: &Seen) -> Option<Finding> {
        if !self.index.ground.has_requests {
            self.unread(&[Counter::Requests]);
            return None;
        }
        self.of_another_name(seen.last.at)
    }
}
