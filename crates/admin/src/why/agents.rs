//! Agents of an assisted installer that are not installed (pure).

use super::case::Case;
use super::failures::{Failure, FailureKind};
use super::finding::{Finding, sentence};
use super::rows::{Row, row};
use super::subject::Subject;
use skewguard_cluster::kinds::{Agent, Condition};

impl Case<'_> {
    /// The Agents of no cluster that cannot be taken, in their own words.
    pub(super) fn free_agents(&mut self) -> String {
        let free = self.facts.agents.iter();
        let free = free.filter(|agent| !agent.is_bound && !agent.is_over());
        let mut said = Vec::new();
        for agent in free.take(3) {
            let (name, unmet) = (agent.metadata.full_name(), unmet(agent));
            if let Some(unmet) = unmet {
                self.see_condition_of(&format!("Agent {name}"), unmet);
            }
            let why = unmet.map_or(String::new(), |unmet| format!(": {}", unmet.says()));
            said.push(format!("Agent {name} is {}{why}", agent.state));
        }
        match said.as_slice() {
            [] => String::new(),
            said => format!(" Of no cluster: {}", sentence(&said.join("; "))),
        }
    }

    pub(super) fn agent_instance(&mut self, agent: &Agent) -> Result<String, Finding> {
        let state = match &*agent.state {
            "" => "unknown",
            state => state,
        };
        let info = agent.state_info.as_deref().unwrap_or_default();
        let progress = agent.progress.as_deref().unwrap_or_default();
        let source = self.field("status.debugInfo and status.progress");
        let text = format!("{state} {progress}: {info}");
        self.see(&source, None, text.trim_end_matches([':', ' ']));
        let is_past_write = matches!(
            progress,
            "Rebooting" | "Configuring" | "Waiting for ignition" | "Joined" | "Done"
        );
        let waits_for_user = state.ends_with("-pending-user-action");
        if is_past_write && !waits_for_user && state != "error" {
            return Ok(format!("agent {state}, {progress}"));
        }
        let at = match progress {
            "" => state.to_owned(),
            progress => format!("{state}, {progress}"),
        };
        let bad = self.said(unmet(agent)).map(|bad| format!(" {bad}"));
        let info = match info {
            "" => ".".to_owned(),
            info => format!(": {}", sentence(info)),
        };
        let does = match waits_for_user {
            true => "waits for its user",
            false => "is not installed",
        };
        let holes = [does, &at, &info, &bad.unwrap_or_default()];
        let finding = self.tell(agent_row(agent, waits_for_user, holes));
        if agent.state.is_empty() {
            self.unseen("the state of its Agent: it has none, or it was not read");
            return Err(finding);
        }
        Err(finding.sure(self, source))
    }
}

impl Case<'_> {
    /// An Agent whose disk is written, and that joins a cluster which is there: this one, or another.
    pub(super) fn added_agent(&mut self) -> Option<Finding> {
        let Subject::Agent(agent) = self.subject else {
            return None;
        };
        let info = agent.state_info.as_deref();
        let info = info.map_or(".".to_owned(), |info| format!(": {}", sentence(info)));
        let row = row!(AgentAdded state = agent.state, info);
        agent.is_added().then(|| self.tell(row))
    }
}

/// The condition that an Agent does not meet.
fn unmet(agent: &Agent) -> Option<&Condition> {
    agent.conditions.iter().find(|condition| {
        matches!(
            &*condition.kind,
            "SpecSynced" | "Connected" | "RequirementsMet" | "Validated"
        ) && condition.status == "False"
    })
}

/// An Agent that does not go on, and what to do.
fn agent_row(agent: &Agent, waits_for_user: bool, holes: [&str; 4]) -> Row {
    let info = agent.state_info.as_deref().unwrap_or_default();
    let failure = Failure::of_platform(None, info).map(|failure| failure.cause);
    let [does, state, info, bad] = holes;
    if waits_for_user && failure == Some(FailureKind::AgentBootsItsIso) {
        row!(AgentBootsItsIso does, state, info, bad)
    } else if agent.is_approved == Some(false) {
        row!(AgentNotApproved does, state, info, bad)
    } else if waits_for_user {
        row!(AgentWaitsForUser does, state, info, bad)
    } else if agent.state.starts_with("known") {
        row!(AgentIsReady does, state, info, bad)
    } else {
        row!(AgentNotInstalled does, state, info, bad)
    }
}
