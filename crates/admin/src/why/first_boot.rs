//! Machines that got their config, or of which nothing more is seen (pure).

use super::case::Case;
use super::cause::Cause;
use super::claims::CONSOLE;
use super::finding::Finding;
use super::ground::Counter;
use super::ignition_specs::{images_of_agent, of_agent};
use super::request_step::Seen;
use super::way::{Stage, YOUNG};
use skewguard_cluster::kinds::groups::MCO_NAMESPACE;
use skewguard_cluster::names::count;

/// The advice where no pod of the machine-config-server is ready.
pub(super) const SERVERS: &str = "Read why its pods fail: `oc logs -n openshift-machine-config-operator -l k8s-app=machine-config-server --previous`";

impl Case<'_> {
    /// It was served, and nothing was seen of it since. That nothing was is no cause: it stays
    /// uncertain.
    pub(super) fn served(&mut self, seen: &Seen) -> Finding {
        let (name, when) = (self.name, self.ago(seen.last.at));
        let image = self.image();
        let (cause, text) = if seen.boots > 2 {
            (
                Cause::FirstBootRepeats,
                format!(
                    "{name} got its config in {} boots, the last{when}, and neither a certificate request nor a Node of it was seen: its first boot seems to begin again and again{image}.",
                    seen.boots
                ),
            )
        } else if self.now.since(seen.last.at) < YOUNG {
            (
                Cause::MayBeInFirstBoot,
                format!("{name} got its config{when}, and may be in its first boot{image}."),
            )
        } else {
            (
                Cause::NothingSinceConfig,
                format!(
                    "{name} got its config{when}; neither a certificate request nor a Node of it was seen since{image}."
                ),
            )
        };
        let step = format!("nothing seen since {}", seen.last.at.clock());
        let mut finding = Finding::new(Stage::FirstBoot, cause, step, text);
        for issue in self.judged.iter().flat_map(|set| &set.known_issues) {
            finding = finding.next(format!("A known issue of its image: {}", issue.says()));
        }
        let agent = self.facts.logs.text(seen.last.agent);
        let is_of_spec_2 = of_agent(agent).is_some_and(|spec| spec.major == 2);
        if let Some(images) = images_of_agent(agent).filter(|_| is_of_spec_2) {
            finding = finding.next(format!("A possible cause is its boot image: it asked with {agent} ({images}). `oc skewguard audit` has what to set"));
        }
        self.unread(&[Counter::Requests, Counter::Nodes, Counter::ServerLogs]);
        self.unseen("the first boot itself: its console, or the node's own reports (install skewguard in the pool)");
        finding.next(CONSOLE)
    }

    /// `; its set's image is 412.86…, which …`.
    fn image(&mut self) -> String {
        let Some(judged) = self.judged else {
            return String::new();
        };
        let set = judged.short_name();
        let Some(version) = judged.sure_version() else {
            self.unseen(format!(
                "the boot image of {set}: its version is unknown, or known by a node's own word alone"
            ));
            return String::new();
        };
        let verdict = match &*judged.message {
            "" => String::new(),
            message => format!(": {message}"),
        };
        self.see(&set, None, format!("boot image {version}{verdict}"));
        let refused = match judged.would_be_refused() {
            true => ", which the limits refuse",
            false => "",
        };
        format!("; {set} makes machines from {version}{refused}")
    }

    pub(super) fn hidden_request(&mut self, why: &str) -> Finding {
        let machines = self.facts.machines.iter();
        let waiting = machines.filter(|machine| machine.node.is_none()).count();
        let are = if waiting == 1 { "is" } else { "are" };
        self.see("log of the machine-config-server", None, why);
        self.unread(&[Counter::Requests, Counter::Nodes]);
        self.unseen("which of them asked: its console says whether Ignition reaches the machine-config-server");
        Finding::new(
            Stage::Unknown, Cause::CannotBeToldApart,
            "cannot be told apart",
            format!(
                "Whether {} asked for its config cannot be told apart: {why}; {} {are} without a Node.",
                self.name,
                count(waiting, "Machine")
            ),
        )
        .next("Look at its console: Ignition says there whether it reaches the machine-config-server")
    }

    /// The log was not read, and nothing later was seen.
    pub(super) fn unknown(&mut self) -> Finding {
        let (name, image) = (self.name, self.image());
        self.unread(&[Counter::Requests]);
        if let Some(why) = self.no_server_is_ready() {
            let text = format!(
                "Why {name} is no Node cannot be told from what was read; it gets no config now: {why}."
            );
            return Finding::new(
                Stage::Unknown,
                Cause::NoServerReady,
                "no server is ready",
                text,
            )
            .next(SERVERS);
        }
        let state = self.odd_state();
        let state = state.map_or("there".to_owned(), |state| format!("{state}, by its state"));
        Finding::new(
            Stage::Unknown, Cause::NotSeen,
            "not seen",
            format!("Why {name} is no Node cannot be told from what was read: its instance is {state}, and nothing else of it was seen{image}."),
        )
        .next("Give the rights or the files that are named below, or look at its console")
    }

    /// That no pod of the machine-config-server is ready; each that is not goes into the evidence.
    pub(super) fn no_server_is_ready(&mut self) -> Option<String> {
        let (all, not_ready) = (&self.facts.servers, &self.facts.servers_not_ready);
        for (pod, why) in not_ready.iter().take(5) {
            let source = format!("Pod {MCO_NAMESPACE}/{pod}, status.containerStatuses");
            self.see(source, None, format!("not ready: {why}"));
        }
        let why = not_ready.values().next()?;
        let none = all.keys().all(|pod| not_ready.contains_key(pod));
        none.then(|| {
            let pods = count(all.len(), "pod");
            format!("none of {pods} of the machine-config-server is ready ({why})")
        })
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
