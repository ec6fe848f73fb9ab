//! A first boot that does not finish: what it waits for, when that is worth telling, and in which
//! words (pure).
//!
//! How the first boot hangs: `machine-config-daemon-pull.service` pulls in a loop, the daemon of
//! `machine-config-daemon-firstboot.service` tries again every minute, and the kubelet restarts for
//! ever. Nothing fails, so nothing is said.

mod request;
mod scrub;

pub(crate) use request::PAGES_MAX;
pub use request::{LIST, Newest};
pub(crate) use scrub::lines;

use crate::clock;
use crate::text::{self, bounded, printable_up_to};
use crate::verdict::{Outcome, Verdict};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// How long a first boot may take before it is told, unless the policy says otherwise.
pub(crate) const STALLED_AFTER: Duration = Duration::from_secs(30 * 60);

const PULL: &str = "machine-config-daemon-pull.service";
const FIRSTBOOT: &str = "machine-config-daemon-firstboot.service";
const KUBELET: &str = "kubelet.service";
const CRIO: &str = "crio.service";

/// What is asked of systemd: its arguments for `systemctl`. systemd 239 has all these properties.
pub(crate) const SHOW: &[&str] = &[
    "show",
    "--property=Id,ActiveState,SubState,NRestarts,StateChangeTimestampMonotonic",
    PULL,
    FIRSTBOOT,
    KUBELET,
    CRIO,
];

/// The jobs that are under way: the arguments for `systemctl`.
pub(crate) const JOBS: &[&str] = &["list-jobs", "--no-legend", "--no-pager", "--full"];

/// How far a first boot is.
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
}

impl Phase {
    /// The word in objects and logs.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Other => "Other",
            Self::Pull => "Pull",
            Self::Rebase => "Rebase",
            Self::Join => "Join",
        }
    }
}

/// A unit as systemd shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Its name.
    pub id: String,
    /// `activating`, `failed`, ...
    pub active: String,
    /// `start`, `auto-restart`, ...
    pub sub: String,
    /// How often systemd restarted it.
    pub restarts: u64,
    /// When it came into this state: time since the kernel started. Zero where it never changed.
    pub since: Duration,
}

/// Reads what [`SHOW`] printed.
pub(crate) fn units(shown: &str) -> Vec<Unit> {
    let word = |value: &str| printable_up_to(value, 64);
    shown
        .split("\n\n")
        .take(16)
        .map(|block| {
            let mut unit = Unit::default();
            for (key, value) in block.lines().filter_map(|line| line.split_once('=')) {
                match key {
                    "Id" => unit.id = word(value),
                    "ActiveState" => unit.active = word(value),
                    "SubState" => unit.sub = word(value),
                    "NRestarts" => unit.restarts = value.parse().unwrap_or_default(),
                    "StateChangeTimestampMonotonic" => {
                        unit.since = Duration::from_micros(value.parse().unwrap_or_default());
                    }
                    _ => {}
                }
            }
            unit
        })
        .filter(|unit| !unit.id.is_empty())
        .collect()
}

/// The unit of the first job that is running, from what [`JOBS`] printed: `JOB UNIT TYPE STATE`.
pub(crate) fn running_job(shown: &str) -> Option<String> {
    shown.lines().take(1000).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let unit = words.next()?;
        let runs = words.nth(1) == Some("running") && is_unit_name(unit);
        runs.then(|| unit.to_owned())
    })
}

/// Whether this can be the argument of `journalctl -u`.
fn is_unit_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.@:\\".contains(c);
    name.len() <= 255 && !name.starts_with('-') && name.chars().all(fits)
}

/// What a first boot that is not finished waits for. `to_rebase`: the encapsulated config is still
/// there.
pub(crate) fn waits_for(units: &[Unit], to_rebase: bool, job: Option<&str>) -> (Phase, Unit) {
    let unit = |name: &str| {
        units
            .iter()
            .find(|unit| unit.id == name)
            .cloned()
            .unwrap_or_else(|| Unit {
                id: name.to_owned(),
                ..Unit::default()
            })
    };
    let (pull, firstboot, crio) = (unit(PULL), unit(FIRSTBOOT), unit(CRIO));
    if !to_rebase {
        let runs = crio.active.is_empty() || crio.active == "active";
        return (Phase::Join, if runs { unit(KUBELET) } else { crio });
    }
    let works = |unit: &Unit| matches!(unit.active.as_str(), "activating" | "failed");
    if works(&firstboot) {
        (Phase::Rebase, firstboot)
    } else if works(&pull) {
        (Phase::Pull, pull)
    } else if let Some(job) = job.filter(|_| firstboot.active != "active") {
        (Phase::Other, unit(job))
    } else {
        (Phase::Rebase, firstboot)
    }
}

/// The field `progress` of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// How far it is.
    pub phase: Phase,
    /// The unit that it waits for.
    pub unit: String,
    pub(crate) active_state: String,
    pub(crate) sub_state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    pub(crate) restarts: u64,
    /// How long the first boot takes so far, over its reboots.
    pub(crate) minutes: u64,
    /// The last lines of the unit's journal, the newest last.
    pub(crate) lines: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) likely_cause: Option<String>,
    /// `reached`, or why it is not. Only where the node waits for its certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_server: Option<String>,
    /// What became of the kubelet's certificate request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate_request: Option<String>,
}

/// What the API server says of a node that waits for its certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// `reached`, or why it is not.
    pub(crate) api_server: String,
    /// What became of the kubelet's certificate request; `None` where it may not be looked up.
    pub(crate) certificate_request: Option<String>,
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
    /// Makes it of what systemd and the journal say.
    pub(crate) fn new(
        (phase, unit): (Phase, Unit),
        journal: &str,
        first_boot: &FirstBoot,
        times: Times,
        verdict: &Verdict,
    ) -> Self {
        let since = times
            .uptime
            .filter(|_| !unit.since.is_zero())
            .and_then(|uptime| times.now.checked_sub(uptime.checked_sub(unit.since)?));
        let lines = lines(journal);
        let image = verdict.boot_image.as_ref();
        let image = image.and_then(|image| image.build_date.as_deref());
        Self {
            phase,
            unit: unit.id,
            active_state: unit.active,
            sub_state: unit.sub,
            since: since.map(clock::time),
            restarts: unit.restarts,
            minutes: first_boot.total / 60,
            likely_cause: clock_is_off(&lines, times.now, image, crate::COMMIT_DATE),
            lines,
            api_server: None,
            certificate_request: None,
        }
    }

    /// With what the API server says.
    pub(crate) fn and(self, asked: Option<Asked>) -> Self {
        let (api_server, certificate_request) = asked
            .map(|asked| (asked.api_server, asked.certificate_request))
            .unzip();
        Self {
            api_server,
            certificate_request: certificate_request.flatten(),
            ..self
        }
    }

    /// What it waits for, in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let state = if self.active_state.is_empty() {
            "in an unknown state".to_owned()
        } else {
            format!("{} ({})", self.active_state, self.sub_state)
        };
        let since = self
            .since
            .as_ref()
            .map(|since| format!(" since {since}"))
            .unwrap_or_default();
        let server = self
            .api_server
            .as_ref()
            .map(|server| format!("the API server is {server}"));
        let cause: String = [&server, &self.certificate_request, &self.likely_cause]
            .into_iter()
            .flatten()
            .map(|clause| format!("; {clause}"))
            .collect();
        format!(
            "the first boot has not finished after {} minutes; it waits in the phase {}: {} is {state}{since}{cause}",
            self.minutes,
            self.phase.as_str(),
            self.unit
        )
    }

    /// The note for the console and for logins: at most 80 columns, and nothing that agetty(8)
    /// replaces.
    pub(crate) fn note(&self) -> String {
        let mut sentence = self.sentence();
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let last = self
            .lines
            .last()
            .map(|line| format!("Its last line: {line}"));
        let read = format!("Read more with: journalctl -b -u {}", self.unit);
        let mut note = "*** FIRST BOOT NOT FINISHED ***\n".to_owned();
        for text in [Some(sentence + "."), last, Some(read)]
            .into_iter()
            .flatten()
        {
            for line in text::wrap(&text.replace('\\', "/"), 79) {
                note.push_str(&line);
                note.push('\n');
            }
        }
        note.push('\n');
        note
    }

    /// [`Progress::sentence`] and the last line of the journal, at most `max` bytes in JSON.
    pub(crate) fn told(&self, max: usize) -> String {
        let last = self.lines.last().map(|line| format!(": {line}"));
        bounded(&(self.sentence() + &last.unwrap_or_default()), max)
    }
}

/// If a certificate fails and the clock is before the day that the boot image was built, or this
/// program's commit was made, says so. Days are YYYY-MM-DD.
fn clock_is_off(
    lines: &[String],
    now: SystemTime,
    image: Option<&str>,
    agent: Option<&str>,
) -> Option<String> {
    let fails = lines
        .iter()
        .any(|line| line.contains("x509:") || line.contains("certificate"));
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
    (fails && today < built).then(|| {
        format!(
            "the clock says {today}, before {what} ({built}), so certificates are not yet valid"
        )
    })
}

/// How long the first boot of an installation may take. `None`: nothing is told, because the check
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
    /// The installation: machine-id(5) is new with every one, and /var may be older.
    #[serde(default)]
    pub machine_id: String,
    /// Since it began.
    #[serde(default)]
    pub total: u64,
    /// Since it began, or went on after it was told.
    #[serde(default)]
    pub waited: u64,
    /// What was told last, if it has not gone on since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
}

/// What was told about a first boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stall {
    /// The phase in which it hung.
    pub phase: Phase,
    /// The report's name.
    pub report: String,
}

/// What is to be told now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// It hangs.
    Stalled,
    /// It goes on after this.
    WentOn(Stall),
}

impl FirstBoot {
    /// Counts the time since the last look. `phase` is `None` when the node has joined. `known`:
    /// this run has told the stall already.
    pub(crate) fn look(
        &mut self,
        phase: Option<Phase>,
        elapsed: Duration,
        limit: Duration,
        known: bool,
    ) -> Change {
        self.total = self.total.saturating_add(elapsed.as_secs());
        self.waited = self.waited.saturating_add(elapsed.as_secs());
        match (&self.stall, phase) {
            (Some(stall), phase) if phase.is_none_or(|phase| phase > stall.phase) => {
                self.waited = 0;
                self.stall.take().map_or(Change::None, Change::WentOn)
            }
            (Some(stall), Some(phase)) if phase == stall.phase && known => Change::None,
            (Some(_), _) => Change::Stalled,
            (None, Some(_)) if self.waited >= limit.as_secs() => Change::Stalled,
            (None, _) => Change::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::clock_is_off;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn the_later_of_image_and_agent_bounds_the_clock() {
        let fails = ["x509: certificate is not yet valid".to_owned()];
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000); // 2027-01-15
        let cause = |image, agent| clock_is_off(&fails, now, image, agent);
        let older = Some("2026-11-24");
        let newer = Some("2027-02-01");
        let said = |what: &str| {
            format!(
                "the clock says 2027-01-15, before {what} (2027-02-01), so certificates are not yet valid"
            )
        };
        assert_eq!(cause(newer, older), Some(said("the boot image was built")));
        assert_eq!(cause(older, newer), Some(said("skewguard was made")));
        assert_eq!(cause(None, newer), Some(said("skewguard was made")));
        assert_eq!(cause(older, None), None);
        // `dist/build` without git and without a source archive.
        assert_eq!(cause(None, Some("")), None);
        let pulls = ["pinging container registry quay.io".to_owned()];
        assert_eq!(clock_is_off(&pulls, now, newer, newer), None);
    }
}
