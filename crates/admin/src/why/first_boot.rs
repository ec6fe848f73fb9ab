//! Machines that got their config, or of which nothing more is seen (pure).

use super::case::Case;
use super::finding::Finding;
use super::ground::Counter;
use super::ignition_specs::{images_of_agent, of_agent};
use super::request_step::Seen;
use super::rows::row;
use super::way::{At, YOUNG};
use skewguard_cluster::kinds::groups::MCO_NAMESPACE;
use skewguard_cluster::names::count;
use skewguard_core::verdict::Outcome;

impl Case<'_> {
    /// It was served, and nothing was seen of it since. That nothing was is no cause: it stays
    /// uncertain.
    pub(super) fn served(&mut self, seen: &Seen) -> Finding {
        let (ago, image) = (self.ago(seen.last.at), self.image());
        let (boots, since) = (seen.boots, seen.last.at.clock());
        let finding = self.tell(
            if let Some(tries) = seen.unanswered.filter(|_| boots <= 2) {
                row!(AskedUntilAnswered since, tries, ago, image)
            } else if boots > 2 {
                row!(FirstBootRepeats since, boots, ago, image)
            } else if self.now.since(seen.last.at) < YOUNG {
                row!(MayBeInFirstBoot since, ago, image)
            } else {
                row!(NothingSinceConfig since, ago, image)
            },
        );
        let last = seen.unanswered.map(|tries| row!(LastAnswer tries));
        let issues = self.judged.iter().flat_map(|set| &set.known_issues);
        let issues = issues.map(|issue| row!(KnownIssue issue = issue.says()));
        let beside: Vec<_> = last.into_iter().chain(issues).collect();
        let mut finding = self.with_all(finding, beside);
        let agent = &seen.agent;
        let is_of_spec_2 = of_agent(agent).is_some_and(|spec| spec.major == 2);
        if let Some(images) = images_of_agent(agent).filter(|_| is_of_spec_2) {
            finding = self.with(finding, row!(AskedWithOldIgnition agent, images));
        }
        self.unread(&[Counter::Requests, Counter::Nodes, Counter::ServerLogs]);
        self.with(finding, row!(FirstBootUnits))
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
        // One that asked for its config read its user data.
        let has_asked = self.known.contains_key(&At::Requested);
        let verdict = match &*judged.message {
            "" => String::new(),
            _ if has_asked && judged.verdict == Outcome::Undetermined => READ.to_owned(),
            message => format!(": {message}"),
        };
        self.see(&set, None, format!("boot image {version}{verdict}"));
        let refused = judged.would_be_refused();
        self.says(row!(MakesFrom set, version, refused))
    }

    pub(super) fn hidden_request(&mut self, why: &str) -> Finding {
        let machines = self.facts.machines.iter();
        let waiting = machines.filter(|machine| machine.node.is_none()).count();
        let are = if waiting == 1 { "is" } else { "are" };
        self.see("log of the machine-config-server", None, why);
        self.unread(&[Counter::Requests, Counter::Nodes]);
        let count = count(waiting, "Machine");
        self.tell(row!(CannotBeToldApart why, count, are))
    }

    /// The log was not read, and nothing later was seen.
    pub(super) fn unknown(&mut self) -> Finding {
        let image = self.image();
        self.unread(&[Counter::Requests]);
        if let Some(why) = self.no_server_is_ready() {
            return self.tell(row!(NoServerReadyNow why));
        }
        let state = self.odd_state().unwrap_or_default();
        let report = self.report().is_some();
        self.tell(row!(NotSeen state, report, image))
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

/// What a request for its config says of its image.
const READ: &str = ": it asked for its config, so its Ignition reads its user data";
