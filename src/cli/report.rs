//! `skewguard report`: tell the cluster; what `skewguard-report.service` runs.

use super::{Exit, Failure, Io};
use crate::child;
use crate::console::{self, Context, live, message};
use crate::gate::{self, Systemd, UnitState};
use crate::journal;
use crate::kubeconfig::Allow;
use crate::node::identity::Identity;
use crate::node::{FileError, Lock, Root};
use crate::report::client::Network;
use crate::report::output::{ClusterKnows, Level, Output};
use crate::report::random::chance;
use crate::report::run::{End, Env, run as deliver};
use crate::report::situation;
use crate::report::stall::{self, Progress, Unit, Units};
use crate::text::printable_up_to;
use crate::transport::Limits;
use crate::verdict::Verdict;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

pub(super) const HELP: &str = "\
Tell the cluster about this node's boot image; skewguard-report.service runs
this

If a node was refused or warned about, or could not be checked, it creates a
BootImageReport and an Event before it joins, with the bootstrap credentials in
its config. A node that has joined labels its own Node. What was delivered is
recorded in /var/lib/skewguard and not repeated; everything else is retried
until it succeeds, also on later boots.

Usage: skewguard report [OPTIONS]

Options:
  --root DIR         Directory that stands for the node's `/`, which is the
                     default; with any other, neither D-Bus nor the console is
                     touched
  --kubeconfig FILE  Kubeconfig to use instead of the node's own two
  --insecure-skip-tls-verify
                     Obey `insecure-skip-tls-verify` in a kubeconfig, which is
                     an error otherwise: any server that answers gets the
                     credentials
  --once             Try everything once and come back, instead of waiting until
                     the cluster knows
  -h, --help         Print this help

Exit status: 0 everything is delivered, or there was nothing to deliver; 1
something is not delivered; 2 wrong usage.
";

#[derive(Debug)]
pub(super) struct ReportArgs {
    /// Directory that stands for the node's `/`; with any other than `/`, neither D-Bus nor the
    /// console is touched.
    pub(super) root: PathBuf,
    /// Kubeconfig to use instead of the node's own two.
    pub(super) kubeconfig: Option<PathBuf>,
    /// Obey `insecure-skip-tls-verify` in a kubeconfig, which is an error otherwise: any server
    /// that answers gets the credentials.
    pub(super) insecure_skip_tls_verify: bool,
    /// Try everything once and come back, instead of waiting until the cluster knows.
    pub(super) once: bool,
}

pub(super) fn run(args: &ReportArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = super::open(&args.root)?;
    let slash = super::open(Path::new("/"))?;
    let kubeconfig = args.kubeconfig.as_deref().map(std::path::absolute);
    let kubeconfig = kubeconfig
        .transpose()
        .map_err(|error| format!("--kubeconfig: {error}"))?;
    let kubeconfig = match &kubeconfig {
        Some(path) => Some((
            &slash,
            path.to_str().ok_or("--kubeconfig: the path is not UTF-8")?,
        )),
        None => None,
    };
    let allow = Allow {
        insecure: args.insecure_skip_tls_verify,
    };
    let is_mended = super::enforce::mend(&root, io);
    let mut end = End::Undelivered;
    let work = async {
        end = deliver(Env {
            root: &root,
            identity: Identity::read(&root),
            refresh: &|identity| identity.complete(&root),
            client: Network {
                root: &root,
                kubeconfig,
                allow,
                limits: Limits::default(),
            },
            output: Console {
                root: &root,
                err: io.err,
                journal: std::env::var_os("JOURNAL_STREAM").is_some(),
                hold_lines: Vec::new(),
                is_mended,
            },
            now: &SystemTime::now,
            systemd: &|| {
                root.is_live()
                    .then(|| first_boot_units(&Systemd::system()))
                    .flatten()
            },
            journal: &|unit| root.is_live().then(|| journal_of(unit)).flatten(),
            chance: &chance,
            once: args.once,
        })
        .await;
    };
    crate::runtime::run(pin!(work)).map_err(|error| format!("no request can be made: {error}"))?;
    Ok(match end {
        End::Done => Exit::Done,
        End::Undelivered => Exit::Failed,
    })
}

/// Longest wait for systemd or journalctl.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Longest word that systemd says of a unit's state, in bytes.
const WORD_MAX: usize = 64;

/// The units that a first boot waits for, by systemd; `None` where it does not answer.
pub(crate) fn first_boot_units(systemd: &Systemd) -> Option<Units> {
    let unit = |(name, state): (&String, &UnitState)| {
        let unit = Unit {
            id: name.clone(),
            active: printable_up_to(&state.active, WORD_MAX),
            sub: printable_up_to(&state.sub, WORD_MAX),
            restarts: state.restarts,
            since: Duration::from_micros(state.since),
            has_job: state.has_job,
            after: state.after.clone(),
            requires: state.requires.clone(),
        };
        (name.clone(), unit)
    };
    let units = |known: &gate::UnitStates| known.iter().map(unit).collect();
    let to_ask = |known: &gate::UnitStates| stall::to_ask(&units(known));
    gate::ask(systemd, ANSWER_MAX, &stall::WORKING, &to_ask).map(|known| units(&known))
}

/// The last lines of what a unit printed on this boot, and the units that do its work.
fn journal_of(unit: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("/usr/bin/journalctl");
    command.args(["-b", "-n", "500", "-o", "with-unit", "--all", "--no-pager"]);
    for unit in [unit].iter().chain(stall::beside(unit)) {
        command.arg(format!("--unit={unit}"));
    }
    command.env("LC_ALL", "C");
    child::run_for_tail(&mut command, Instant::now() + ANSWER_MAX).ok()
}

/// Lines about a hold that is not as it was.
fn hold_change_lines(since: gate::HoldChange) -> Vec<String> {
    let again = since.again.map(|status| {
        let result = status.error.unwrap_or_else(|| "held again".to_owned());
        format!("drop-ins that hold this node were removed, as systemctl revert does: {result}")
    });
    let overruled = since.overruled.iter().map(|unit| {
        let path = gate::drop_in_of_an_admin(unit);
        format!("{unit} is no longer held: {path} replaces the drop-in of skewguard")
    });
    let new = since
        .new
        .iter()
        .map(|unit| format!("{unit} appeared after the refusal and is held, too"));
    again.into_iter().chain(new).chain(overruled).collect()
}

/// Writes lines to stderr, which in the service is the journal, and keeps the message on the
/// console up to date.
struct Console<'a> {
    root: &'a Root,
    err: &'a mut dyn Write,
    /// stderr is the journal (systemd.exec(5), `$JOURNAL_STREAM`), so lines begin with their
    /// priority (sd-daemon(3)).
    journal: bool,
    /// Lines that were said last of the hold, so that each is said once.
    hold_lines: Vec<String>,
    /// What a killed run has left half done is mended.
    is_mended: bool,
}

impl Console<'_> {
    /// Makes the message fit beside the note about the first boot, or whole again.
    fn fit_message(&self, verdict: &Verdict) -> Result<bool, FileError> {
        // `enforce` or `allow` may be changing it.
        match Lock::take(self.root, Lock::BOOT) {
            Ok(_lock) => {
                let context = Context::load(self.root, verdict);
                console::refresh(self.root, verdict, &context)
            }
            Err(_) => Ok(false),
        }
    }
}

impl Output for Console<'_> {
    fn line(&mut self, level: Level, line: &str) {
        let priority = match (self.journal, level) {
            (false, _) => "",
            (true, Level::Info) => "<6>",
            (true, Level::Warning) => "<4>",
            (true, Level::Error) => "<3>",
        };
        // A closed stderr is no reason not to report.
        let _ = writeln!(self.err, "{priority}skewguard: {line}");
    }

    fn cluster_knows(
        &mut self,
        verdict: &Verdict,
        knows: &ClusterKnows,
        address: Option<&str>,
    ) -> bool {
        if !console::pending_restore(self.root) {
            return true;
        }
        // `enforce` or `allow` may be changing the message.
        let Ok(_lock) = Lock::take(self.root, Lock::BOOT) else {
            return false;
        };
        let context = Context {
            address: address.map(str::to_owned),
            cluster: knows.clone(),
            ..Context::load(self.root, verdict)
        };
        if let Err(error) =
            live::show_change(self.root, console::refresh(self.root, verdict, &context))
        {
            self.line(
                Level::Warning,
                &format!("the message on the console: {error}"),
            );
        }
        true
    }

    fn look_at_the_hold(&mut self, units: &[String]) {
        if !self.is_mended {
            let (out, err) = (&mut std::io::sink(), &mut *self.err);
            self.is_mended = super::enforce::mend(self.root, &mut Io { out, err });
        }
        let refused = gate::is_refused(self.root);
        let is_idle = !refused && gate::left_behind(self.root).is_ok_and(|units| units.is_empty());
        if !self.root.is_live() || is_idle {
            return;
        }
        // `enforce` or `allow` may be changing it.
        let Ok(_lock) = Lock::take(self.root, Lock::BOOT) else {
            return;
        };
        let lines = match refused {
            true => hold_change_lines(gate::restore_hold(self.root, &Systemd::system(), units)),
            false => super::effects::cleared(self.root).into_iter().collect(),
        };
        for line in &lines {
            if !self.hold_lines.contains(line) {
                self.line(Level::Warning, line);
            }
        }
        self.hold_lines = lines;
    }

    fn first_boot(&mut self, progress: Option<&Progress>) {
        let verdict = situation::this_boots(self.root).map(|dated| dated.verdict);
        let changed = match progress {
            Some(progress) => {
                journal::record_stall(
                    progress.phase.as_str(),
                    progress.unit.clone(),
                    progress.cause.to_string(),
                    progress.sentence(),
                    self.root.is_live(),
                    self.err,
                );
                let image = verdict.iter().filter(|_| progress.cause.is_of_image());
                let image: String = image.map(message::newer_image).collect();
                console::show_first_boot(self.root, &progress.note(&image))
            }
            None => console::hide_first_boot(self.root),
        };
        let fitted = verdict.map_or(Ok(false), |verdict| self.fit_message(&verdict));
        let changed = changed.and_then(|changed| Ok(fitted? || changed));
        if let Err(error) = live::show_change(self.root, changed) {
            self.line(Level::Warning, &format!("the note on the console: {error}"));
        }
    }

    fn remediation(&self, verdict: &Verdict) -> String {
        let help = verdict
            .policy
            .as_ref()
            .and_then(|policy| policy.help_text.clone());
        [message::remedy(verdict)]
            .into_iter()
            .chain(help)
            .collect::<Vec<_>>()
            .join(" ")
    }
}
