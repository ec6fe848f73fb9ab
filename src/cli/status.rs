//! `skewguard status`: whether this node is held back, and what was decided and told about it.
//! Reads what the services left, and decides nothing anew.

use super::{Exit, Failure, Io, TextOrJson};
use crate::API_VERSION;
use crate::clock::time;
use crate::console::Context;
use crate::console::message::is_shown;
use crate::gate::{drop_in_of_an_admin, held_units, is_overruled};
use crate::json;
use crate::node::{Node, OVERRIDE_PATH, RUN_VERDICT_PATH, Root, STAMP_PATH};
use crate::report::ledger::Ledger;
use crate::report::situation::{self, LastRun};
use crate::report::stall::HungBoot;
use crate::text::printable;
use crate::verdict::lines::Lines;
use crate::verdict::{ClusterKnows, Outcome, OverrideSource, OverrideWord, Verdict};
use serde::Serialize;
use std::path::PathBuf;

/// Longest override that is read, in bytes.
const OVERRIDE_MAX: u64 = 64;

pub(super) const HELP: &str = "\
Say whether this node is held back, since when and why, and who was told

Reads what the services left on this boot, or on the first boot where that is
over. Decides nothing and changes nothing.

Usage: skewguard status [OPTIONS]

Options:
  --root DIR  Directory that stands for the node's `/`, which is the default
  -o, --output text|json
              text, the default, is for a person; json is one object, and its
              fields are only ever added
  -h, --help  Print this help

Exit status: 0 not held, 1 could not find out, 2 wrong usage, 3 held.
";

#[derive(Debug)]
pub(super) struct StatusArgs {
    /// Directory that stands for the node's `/`.
    pub(super) root: PathBuf,
    /// Text for a person, or one JSON object; its fields are only ever added.
    pub(super) output: TextOrJson,
}

/// The node's position between refusal and joining.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum NodeState {
    /// It is refused and held back.
    Held,
    /// It should be held back on this boot, but could not be.
    NotHeld,
    /// It was held back on this boot, and then let through.
    LetThrough,
    /// This boot's verdict lets it go on.
    GoesOn,
    /// It is not held, and its first boot does not finish.
    Stalled,
    /// The node has joined, or its first boot is over, so that nothing was decided on this boot and
    /// the verdict is from an earlier one.
    FirstBootOver,
    /// This boot should have a verdict, and has none that can be read.
    NoVerdict,
    /// Nothing was ever decided on this node.
    NeverRan,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    api_version: &'static str,
    kind: &'static str,
    state: NodeState,
    /// Since when the node is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_since: Option<String>,
    /// The units that are held now.
    units: Vec<String>,
    /// Units that are not held, because an admin's drop-in has replaced ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overruled: Vec<String>,
    /// Text of the override file of this boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    override_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<Cluster>,
    /// Phase and cause of a first boot that does not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_boot: Option<HungBoot>,
    /// When the verdict was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// Error of a verdict that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The command that lets the node through.
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<String>,
}

/// The cluster's knowledge of this boot's verdict.
#[derive(Serialize)]
struct Cluster {
    told: bool,
    /// The BootImageReport, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<String>,
    /// Reason that it cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<ClusterKnows> for Cluster {
    fn from(knows: ClusterKnows) -> Self {
        let (told, report, error) = match knows {
            ClusterKnows::NotYet => (false, None, None),
            ClusterKnows::Told(report) => (true, report, None),
            ClusterKnows::CannotBeTold(why) => (false, None, Some(why)),
        };
        Self {
            told,
            report: report.map(|name| printable(&name)),
            error: error.map(|why| printable(&why)),
        }
    }
}

pub(super) fn run(args: &StatusArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let status = read(&super::open(&args.root)?)?;
    match args.output {
        TextOrJson::Text => io.out.write_all(text(&status).as_bytes())?,
        TextOrJson::Json => io
            .out
            .write_all(&[json::pretty(&status)?, vec![b'\n']].concat())?,
    }
    Ok(match status.state {
        NodeState::Held => Exit::Refused,
        _ => Exit::Done,
    })
}

fn read(root: &Root) -> Result<Status, Failure> {
    let held_since = root.changed(STAMP_PATH)?;
    let node = Node::read(root);
    let this_boot = root.exists(RUN_VERDICT_PATH)?;
    let (observed, error, nothing) = match situation::read(&node) {
        LastRun::Verdict(observed) => (
            Some(*observed),
            situation::unreadable(root),
            NodeState::NeverRan,
        ),
        LastRun::NoVerdict(error) => (None, error, NodeState::NoVerdict),
        LastRun::NeverRan(error) => (None, error, NodeState::NeverRan),
    };
    let (decided_at, verdict) = observed.map(|seen| (time(seen.at), seen.verdict)).unzip();
    let (state, first_boot, units) = match (held_since, &verdict) {
        (Some(_), _) => (NodeState::Held, None, held_units(root)?),
        (None, verdict) => {
            let state = match verdict {
                None => nothing,
                Some(_) if !this_boot => NodeState::FirstBootOver,
                Some(verdict) => without_stamp(verdict),
            };
            let ledger = Ledger::load(root, &node.installation_id()).ok();
            let first_boot = situation::hangs(&node, ledger.as_ref());
            let has_joined = node.has_joined();
            let state = since_let_go(state, first_boot.is_some(), has_joined);
            (state, first_boot, vec![])
        }
    };
    let (overruled, units) = units.into_iter().partition(|unit| is_overruled(root, unit));
    let context = verdict.as_ref().map(|verdict| Context::load(root, verdict));
    // The report tells it of what the console shows, and of nothing else before the node has
    // joined.
    let cluster = (verdict.as_ref()).is_some_and(|verdict| this_boot && is_shown(verdict));
    Ok(Status {
        api_version: API_VERSION,
        kind: "NodeStatus",
        state,
        held_since: held_since.map(time),
        units,
        overruled,
        override_file: root
            .read(OVERRIDE_PATH, OVERRIDE_MAX)?
            .map(|word| printable(String::from_utf8_lossy(&word).trim())),
        allow: (state == NodeState::Held).then(|| {
            let program = context.as_ref().map_or("skewguard", |known| &known.program);
            format!("sudo {program} allow")
        }),
        cluster: context
            .filter(|_| cluster)
            .map(|known| known.cluster.into()),
        first_boot,
        decided_at,
        verdict,
        error: error.map(|error| error.to_string()),
    })
}

/// The state of a node that is not held, by what became of its first boot since.
fn since_let_go(state: NodeState, hangs: bool, has_joined: bool) -> NodeState {
    match state {
        NodeState::GoesOn | NodeState::FirstBootOver if hangs => NodeState::Stalled,
        // Its config survived: the check still runs on every boot.
        NodeState::GoesOn if has_joined => NodeState::FirstBootOver,
        state => state,
    }
}

/// The state of a node that is not held, by this boot's verdict.
fn without_stamp(verdict: &Verdict) -> NodeState {
    match &verdict.gate {
        Some(gate) if gate.held => NodeState::LetThrough,
        _ if verdict.blocks() => NodeState::NotHeld,
        _ => NodeState::GoesOn,
    }
}

/// Meaning of a state, for a person.
fn meaning(state: NodeState) -> &'static str {
    match state {
        NodeState::Held => "Held: this node is refused, and does not go on to join",
        NodeState::NotHeld => "Not held: this node is refused, but could not be held back",
        NodeState::LetThrough => "Let through: this node was refused, and somebody let it go on",
        NodeState::GoesOn => "Not held: this node goes on to join",
        NodeState::Stalled => "Not held: this node goes on, but its first boot does not finish",
        NodeState::FirstBootOver => "Not held: the first boot is over",
        NodeState::NoVerdict => "Not held: skewguard.service left no verdict on this boot",
        NodeState::NeverRan => "Not held: skewguard never decided about this node",
    }
}

fn text(status: &Status) -> String {
    let mut lines = Lines::new(meaning(status.state));
    for (name, value) in [
        ("since", &status.held_since),
        ("decided", &status.decided_at),
    ] {
        value.iter().for_each(|value| lines.add(name, value));
    }
    for (i, unit) in status.units.iter().enumerate() {
        lines.add(if i == 0 { "units" } else { "" }, unit);
    }
    for unit in &status.overruled {
        let path = drop_in_of_an_admin(unit);
        let line = format!("{unit}: {path} replaces the drop-in of skewguard");
        lines.add("not held", &line);
    }
    if let Some(hangs) = &status.first_boot {
        let [what, remedy] = hangs.lines();
        lines.add("first boot", &what);
        lines.add("", &remedy);
    }
    if let Some(verdict) = &status.verdict {
        about_verdict(&mut lines, verdict);
    }
    if let Some(word) = &status.override_file {
        let now = match OverrideWord::parse(word) {
            Some(_) => "now",
            None => "ignored: write off, warn or enforce",
        };
        lines.add("override", &format!("{word}, by {OVERRIDE_PATH}, {now}"));
    }
    if let Some(error) = &status.error {
        lines.add("error", error);
    }
    if let Some(cluster) = &status.cluster {
        lines.add("cluster", &told(cluster));
    }
    if let Some(command) = &status.allow {
        lines.add("let in", command);
    }
    lines.text
}

fn about_verdict(lines: &mut Lines, verdict: &Verdict) {
    lines.add(
        "verdict",
        &format!("{}: {}", verdict.headline(), verdict.sentence()),
    );
    lines.add("rule", verdict.reason.as_str());
    if let Some(policy) = &verdict.policy {
        let mode = policy.mode.as_deref().unwrap_or("unknown");
        lines.add("policy", &format!("{} (mode {mode})", policy.path));
    }
    if verdict.verdict == Outcome::Refused && !verdict.blocks() {
        lines.add("goes on", &format!("because {}", verdict.why_let_through()));
    }
    if let Some(gate) = verdict.gate.as_ref().and_then(|gate| gate.error.as_ref()) {
        lines.add("in doubt", gate);
    }
    if let Some(word) = verdict.r#override {
        let from = match word.source {
            OverrideSource::KernelArgument => "the kernel argument skewguard=",
            _ => OVERRIDE_PATH,
        };
        lines.add(
            "override",
            &format!("{}, by {from}, at the verdict", word.value),
        );
    }
}

/// Says if the cluster was told, and where to see it.
fn told(cluster: &Cluster) -> String {
    match cluster {
        Cluster {
            report: Some(name), ..
        } => {
            format!("told: oc get bootimagereport -n skewguard {name}")
        }
        Cluster { told: true, .. } => "told: oc get events -n skewguard".to_owned(),
        Cluster {
            error: Some(why), ..
        } => format!("cannot be told: {why}"),
        _ => "not told yet (journalctl -u skewguard-report)".to_owned(),
    }
}
