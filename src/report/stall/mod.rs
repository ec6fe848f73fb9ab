//! A first boot that does not finish: what it waits for, when that is worth telling, and in which
//! words (pure).
//!
//! How the first boot hangs: `machine-config-daemon-pull.service` pulls in a loop, the daemon of
//! `machine-config-daemon-firstboot.service` tries again every minute, and the kubelet restarts for
//! ever. Nothing fails, so nothing is said. Up to 4.10 the firstboot unit may end `failed` instead
//! (MCO pull request 3070).

mod cause;
mod waiting;

pub(crate) use cause::{Cause, Finding, beside};
pub(crate) use waiting::{Rebase, WORKING, Waiting, to_ask, waits_for};
pub use waiting::{Unit, Units};

use crate::clock;
use crate::node::LostRebase;
use crate::node::units::{FIRSTBOOT, KUBELET, PULL};
use crate::text::{self, bounded};
use crate::verdict::{Outcome, Verdict};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// Time that a first boot may take before it is told, unless the policy says otherwise.
pub(crate) const STALLED_AFTER: Duration = Duration::from_secs(30 * 60);

/// Longest name of a unit that is read back, in bytes.
const NAME_MAX: usize = 255;

/// The command that shows more on the node.
fn command(unit: Option<&str>, cause: Cause) -> String {
    match unit {
        _ if cause == Cause::NOT_FINALIZED => {
            "journalctl -b -1 -u ostree-finalize-staged".to_owned()
        }
        _ if cause == Cause::NOT_BOOTED => "journalctl -b -1".to_owned(),
        // The shell has a meaning for a star of its own.
        Some(unit) if unit.contains('*') => format!("journalctl -b -u '{unit}'"),
        Some(unit) => format!("journalctl -b -u {unit}"),
        None => "systemctl list-jobs".to_owned(),
    }
}

/// The phase of a first boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Something before the pull.
    Other,
    /// The image of the Machine Config Daemon is pulled.
    Pull,
    /// The daemon rebases the OS.
    Rebase,
    /// There is nothing to rebase any more, and the kubelet has no certificate yet.
    Join,
    /// A phase that another release knows.
    #[serde(other)]
    Unknown,
}

impl Phase {
    /// The word in objects and logs.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Other => "Other",
            Self::Pull => "Pull",
            Self::Rebase => "Rebase",
            Self::Join => "Join",
            Self::Unknown => "Unknown",
        }
    }

    /// The unit that does the phase's work.
    fn unit(self) -> Option<&'static str> {
        match self {
            Self::Other | Self::Unknown => None,
            Self::Pull => Some(PULL),
            Self::Rebase => Some(FIRSTBOOT),
            Self::Join => Some(KUBELET),
        }
    }
}

/// The remedy for a cause, and where to read more on the node.
fn advice(unit: Option<&str>, cause: Cause, phase: Phase) -> String {
    let remedy = cause.remedy(phase);
    format!("{remedy} On the node: {}", command(unit, cause))
}

/// A first boot that hangs, as this node knows without its report.
#[derive(Debug, Serialize)]
pub(crate) struct HungBoot {
    phase: Phase,
    cause: Cause,
    /// Time that the first boot took when that was kept last, over its reboots.
    minutes: u64,
    /// The unit whose journal says why.
    #[serde(skip)]
    shown_by: Option<String>,
}

impl HungBoot {
    /// Makes it of what was told last. A rebase that took no effect is known at once.
    pub(crate) fn new(told: Option<&FirstBoot>, lost: Option<LostRebase>) -> Option<Self> {
        let minutes = told.map_or(0, |told| told.total / 60);
        let (phase, cause, shown_by) = if let Some(lost) = lost {
            (Phase::Rebase, lost.into(), None)
        } else {
            let stall = told?.stall.as_ref()?;
            let cause = stall.causes.last().copied();
            let unit = stall.unit.as_ref().map(|unit| bounded(unit, NAME_MAX));
            (stall.phase, cause.unwrap_or(Cause::UNKNOWN), unit)
        };
        Some(Self {
            phase,
            cause,
            minutes,
            shown_by,
        })
    }

    /// Phase and cause, and what to do.
    pub(crate) fn lines(&self) -> [String; 2] {
        let (phase, cause) = (self.phase.as_str(), self.cause);
        [
            format!("phase {phase}, cause {cause}: {}", cause.sentence()),
            advice(
                self.shown_by.as_deref().or(self.phase.unit()),
                cause,
                self.phase,
            ),
        ]
    }
}

/// The field `progress` of a report. Nothing in it is copied from a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Its phase.
    pub phase: Phase,
    /// The unit that it waits for, or that did not do its work; `None` if none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) active_state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) sub_state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    pub(crate) restarts: u64,
    /// Time that the first boot takes so far, over its reboots.
    pub(crate) minutes: u64,
    pub(crate) cause: Cause,
    /// The cause, in one clause.
    pub(crate) message: String,
    /// The unit whose journal says why, if it is another one.
    #[serde(skip)]
    shown_by: Option<&'static str>,
}

/// The clock of a node, and how long its kernel runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The wall clock.
    pub now: SystemTime,
    /// Since the kernel started.
    pub uptime: Option<Duration>,
}

impl Progress {
    /// Makes it of what systemd says, and of the cause that a journal names.
    pub(crate) fn new(
        waiting: Waiting,
        Finding { cause, unit: by }: Finding,
        first_boot: &FirstBoot,
        times: Times,
        verdict: &Verdict,
    ) -> Self {
        let unit = waiting.unit.unwrap_or_default();
        let since = times
            .uptime
            .filter(|_| !unit.since.is_zero())
            .and_then(|uptime| times.now.checked_sub(uptime.checked_sub(unit.since)?));
        let image = verdict.boot_image.as_ref();
        let image = image.and_then(|image| image.build_date.as_deref());
        let clock = (cause == Cause::NOT_YET_VALID)
            .then(|| clock_is_off(times.now, image, crate::COMMIT_DATE))
            .flatten();
        let clock = clock.map_or(String::new(), |clock| format!(": {clock}"));
        Self {
            phase: waiting.phase,
            unit: Some(unit.id).filter(|id| !id.is_empty()),
            active_state: unit.active,
            sub_state: unit.sub,
            since: since.map(clock::time),
            restarts: unit.restarts,
            minutes: first_boot.total / 60,
            cause,
            message: cause.sentence().to_owned() + &clock,
            shown_by: by,
        }
    }

    /// The key of its report: its phase and its cause.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.phase.as_str(), self.cause)
    }

    /// The unit whose journal says why.
    pub(crate) fn shown_by(&self) -> Option<&str> {
        self.shown_by.or(self.unit.as_deref())
    }

    /// The remedy, and where to read more on the node.
    pub(crate) fn remediation(&self) -> String {
        advice(self.shown_by(), self.cause, self.phase)
    }

    /// Its phase, and the time that the first boot takes so far.
    pub(crate) fn brief(&self) -> String {
        format!("phase {}, {} minutes", self.phase.as_str(), self.minutes)
    }

    /// Its phase and state, in one clause.
    fn state(&self) -> String {
        let minutes = self.minutes;
        let phase = match self.phase {
            Phase::Other => "before the pull".to_owned(),
            phase => format!("in the phase {}", phase.as_str()),
        };
        let since = self.since.as_ref().map(|since| format!(" since {since}"));
        let unit = match &self.unit {
            Some(unit) if self.active_state.is_empty() => format!(": {unit}"),
            Some(unit) => format!(": {unit} is {} ({})", self.active_state, self.sub_state),
            None => String::new(),
        };
        format!(
            "the first boot has not finished after {minutes} minutes; it waits {phase}{unit}{}",
            since.unwrap_or_default()
        )
    }

    /// Its phase, state and cause, in one sentence.
    pub(crate) fn sentence(&self) -> String {
        format!("{}; cause {}: {}", self.state(), self.cause, self.message)
    }

    /// The note for the console and for logins: at most 80 columns, and nothing that agetty(8)
    /// replaces. `image`: the boot image, and how to get another one.
    pub(crate) fn note(&self, image: &str) -> String {
        let mut state = self.state();
        if let Some(first) = state.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let texts = [
            format!("{state}."),
            format!("Cause: {}: {}.", self.cause, self.message),
            self.cause.remedy(self.phase).to_owned(),
            image.to_owned(),
            format!("Read more with: {}", command(self.shown_by(), self.cause)),
        ];
        let mut note = "*** FIRST BOOT NOT FINISHED ***\n".to_owned();
        for line in texts
            .iter()
            .flat_map(|text| text::wrap(&text.replace('\\', "/"), 79))
        {
            note.push_str(&line);
            note.push('\n');
        }
        note.push('\n');
        note
    }

    /// [`Progress::sentence`] and what to do, at most `max` bytes in JSON.
    pub(crate) fn told(&self, max: usize) -> String {
        bounded(&format!("{}. {}", self.sentence(), self.remediation()), max)
    }
}

/// If the clock is before the day that the boot image was built, or this program's commit was made,
/// says so. Days are YYYY-MM-DD.
fn clock_is_off(now: SystemTime, image: Option<&str>, agent: Option<&str>) -> Option<String> {
    let bounds = [
        ("the boot image was built", image),
        ("skewguard was made", agent),
    ];
    let (what, built) = bounds
        .into_iter()
        .filter_map(|(what, date)| Some((what, date?)))
        .max_by_key(|(_, date)| *date)?;
    let today = clock::time(now);
    let today = today.get(..10)?;
    (today < built).then(|| format!("it says {today}, before {what} ({built})"))
}

/// Time that the first boot of an installation may take. `None`: nothing is told, because the check
/// is switched off.
pub(crate) fn limit(verdict: &Verdict) -> Option<Duration> {
    if verdict.verdict == Outcome::Disabled {
        return None;
    }
    let minutes = verdict
        .policy
        .as_ref()
        .and_then(|policy| policy.stalled_after_minutes);
    Some(minutes.map_or(STALLED_AFTER, |minutes| {
        Duration::from_secs(u64::from(minutes.clamp(5, 1440)) * 60)
    }))
}

/// The first boot of an installation, kept over its reboots. Counted in seconds while the agent
/// runs: the wall clock may jump by years.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FirstBoot {
    /// Since it began.
    #[serde(default)]
    pub total: u64,
    /// Since it began, or went on after it was told.
    #[serde(default)]
    pub waited: u64,
    /// The stall that was told last, if it has not gone on since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
}

/// A stall that was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stall {
    /// The phase in which it hung.
    pub phase: Phase,
    /// The name of the report that was told last.
    pub report: String,
    /// The causes that were told in this phase. Absent from files of older releases.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// The unit whose journal says why. Absent from files of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// The news about a first boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StallChange {
    /// Nothing.
    None,
    /// It hangs.
    Stalled,
    /// It goes on after this.
    WentOn(Stall),
}

impl FirstBoot {
    /// This much later.
    pub(crate) fn after(mut self, elapsed: Duration) -> Self {
        self.total = self.total.saturating_add(elapsed.as_secs());
        self.waited = self.waited.saturating_add(elapsed.as_secs());
        self
    }

    /// This cause is no news: it was told in this phase, or it names nothing that failed, and
    /// another one was told.
    pub(crate) fn is_told(&self, cause: Cause) -> bool {
        let causes = self.stall.as_ref().map(|stall| &stall.causes);
        causes.is_some_and(|told| told.contains(&cause) || cause.is_open() && !told.is_empty())
    }

    /// Counts the time since the last look. `phase` is `None` when the node has joined. `known`:
    /// this run has told the stall already.
    pub(crate) fn look(
        &mut self,
        phase: Option<Phase>,
        elapsed: Duration,
        limit: Duration,
        known: bool,
    ) -> StallChange {
        *self = std::mem::take(self).after(elapsed);
        match (&self.stall, phase) {
            (Some(stall), phase) if phase.is_none_or(|phase| phase > stall.phase) => {
                self.waited = 0;
                self.stall
                    .take()
                    .map_or(StallChange::None, StallChange::WentOn)
            }
            (Some(stall), Some(phase)) if phase == stall.phase && known => StallChange::None,
            (Some(_), _) => StallChange::Stalled,
            (None, Some(_)) if self.waited >= limit.as_secs() => StallChange::Stalled,
            (None, _) => StallChange::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::clock_is_off;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn the_later_of_image_and_agent_bounds_the_clock() {
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000); // 2027-01-15
        let clock = |image, agent| clock_is_off(now, image, agent);
        let older = Some("2026-11-24");
        let newer = Some("2027-02-01");
        let said = |what: &str| format!("it says 2027-01-15, before {what} (2027-02-01)");
        assert_eq!(clock(newer, older), Some(said("the boot image was built")));
        assert_eq!(clock(older, newer), Some(said("skewguard was made")));
        assert_eq!(clock(None, newer), Some(said("skewguard was made")));
        assert_eq!(clock(older, None), None);
        // `dist/build` without git and without a source archive.
        assert_eq!(clock(None, Some("")), None);
    }
}
