//! `skewguard report`: tell the cluster; what `skewguard-report.service` runs.

use super::{Exit, Failure, Io};
use crate::console::{self, Context, live, message};
use crate::node::bus::SYSTEM_BUS;
use crate::node::identity::Identity;
use crate::node::kubeconfig::Allow;
use crate::node::{ENCAPSULATED_PATH, Lock, Root, STAMP_PATH};
use crate::report::carrier::Network;
use crate::report::random::chance;
use crate::report::run::{End, Outside, run as deliver};
use crate::report::watch::{ClusterKnows, Level, Watcher};
use crate::transport::Limits;
use crate::verdict::Verdict;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 everything is delivered, or there was nothing to deliver; 1 something is not delivered; 2 wrong usage.")]
pub(super) struct Args {
    /// Directory that stands for the node's `/`; with any other than `/`, neither D-Bus nor the console is touched.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Kubeconfig to use instead of the node's own two.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Obey `insecure-skip-tls-verify` in a kubeconfig, which is an error otherwise: any server that answers gets the credentials.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Try everything once and come back, instead of waiting until the cluster knows.
    #[arg(long)]
    once: bool,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let root = super::open(&args.root)?;
    let slash = Root::open(Path::new("/"))?;
    let kubeconfig = args.kubeconfig.as_deref().map(std::path::absolute).transpose()?;
    let kubeconfig = match &kubeconfig {
        Some(path) => Some((&slash, path.to_str().ok_or("--kubeconfig: the path is not UTF-8")?)),
        None => None,
    };
    let allow = Allow { insecure: args.insecure_skip_tls_verify };
    // Removes a message that is left from a first boot, for example after a power cut. skewguard.service does not run on such a boot,
    // because the kubelet would wait for it.
    if [ENCAPSULATED_PATH, STAMP_PATH].iter().all(|path| root.exists(path).is_ok_and(|there| !there)) {
        super::change_message(&root, console::restore(&root), io);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = runtime.block_on(async {
        deliver(Outside {
            root: &root,
            identity: Identity::read(&root, None).await,
            refresh: &|identity| identity.complete(&root),
            bus: root.is_live().then_some(SYSTEM_BUS),
            carrier: Network { root: &root, kubeconfig, allow, limits: Limits::default() },
            watcher: Console { root: &root, err: io.err, journal: std::env::var_os("JOURNAL_STREAM").is_some() },
            now: &SystemTime::now,
            chance: &chance,
            once: args.once,
        })
        .await
    });
    Ok(match end {
        End::Done => Exit::Done,
        End::Undelivered => Exit::Failed,
    })
}

/// Writes lines to stderr, which in the service is the journal, and keeps the message on the console up to date.
struct Console<'a> {
    root: &'a Root,
    err: &'a mut dyn Write,
    /// stderr is the journal (systemd.exec(5), `$JOURNAL_STREAM`), so lines begin with their priority (sd-daemon(3)).
    journal: bool,
}

impl Watcher for Console<'_> {
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

    fn cluster_knows(&mut self, verdict: &Verdict, knows: &ClusterKnows, address: Option<&str>) -> bool {
        if !console::pending_restore(self.root) {
            return true;
        }
        // `enforce` or `allow` may be changing the message.
        let Ok(_lock) = Lock::take(self.root, Lock::BOOT) else { return false };
        let context = Context { address: address.map(str::to_owned), cluster: knows.clone(), ..Context::load(self.root, verdict) };
        if let Err(error) = live::show_change(self.root, console::refresh(self.root, verdict, &context)) {
            self.line(Level::Warning, &format!("the message on the console: {error}"));
        }
        true
    }

    fn remediation(&self, verdict: &Verdict) -> String {
        let help = verdict.policy.as_ref().and_then(|policy| policy.help_text.clone());
        [message::remedy(verdict)].into_iter().chain(help).collect::<Vec<_>>().join(" ")
    }
}
