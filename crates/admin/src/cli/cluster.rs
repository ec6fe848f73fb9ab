//! The objects of a cluster, from its API server.

use crate::audit::{Objects, Origin, Unread};
use crate::trouble::full_text;
use skewguard_cluster::connect::fetch::{FetchProgress, LONGEST, fetch};
use skewguard_cluster::connect::login::{Environment, Login, LoginRequest};
use skewguard_cluster::connect::{kubeconfigs, live};
use skewguard_cluster::moment::Moment;
use skewguard_core::command::{Failure, Io};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The files of a pod's service account (client-go, `rest.InClusterConfig`).
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Parts of this process that decide how it logs in.
pub(super) fn environment() -> Environment<'static> {
    Environment {
        variable: &|name| std::env::var_os(name),
        service_account: Path::new(SERVICE_ACCOUNT),
    }
}

/// Waits for what is requested; a program for credentials that did not end is not waited for.
pub(super) fn wait<T>(asked: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no request can be made: {error}"))?;
    let answer = runtime.block_on(asked);
    runtime.shutdown_background();
    answer
}

/// The objects that are read of a cluster.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    /// Objects of the audit.
    All,
    Kinds(&'a [&'a str]),
    /// Objects of the audit, and those that say why a machine is no node.
    Nodes(Moment, &'a [String]),
}

/// Reads a cluster with the kubeconfig that was asked for. Says how far it is once a second is over.
pub(super) fn read(
    asked: LoginRequest<'_>,
    request_timeout: Duration,
    scope: Scope<'_>,
    objects: &mut Objects,
    io: &mut Io<'_>,
) -> Result<(Vec<Unread>, Origin), Failure> {
    let read = wait(async {
        let login = kubeconfigs::load(asked, environment()).await;
        let login = login.map_err(full_text)?;
        if asked.insecure {
            io.say("warning: the server's certificate is not checked: whoever answers gets your credentials");
        }
        let mut line = ProgressLine::new(io.err);
        let began = Instant::now();
        let mut was_said = false;
        let mut watch = |now: FetchProgress<'_>| match now {
            FetchProgress::Again(why) if !std::mem::replace(&mut was_said, true) => line.again(why),
            FetchProgress::Read(resource, count) if began.elapsed() > Duration::from_secs(1) => {
                line.show(format_args!("reading {resource}: {count}"));
            }
            _ => {}
        };
        let read = fetched(login, request_timeout, scope, objects, &mut watch).await;
        line.show("");
        read
    });
    Ok(read?)
}

/// Gaps of what a login can read, and its cluster; where nothing could be read, why, and the way there.
pub(super) async fn fetched(
    mut login: Login,
    request_timeout: Duration,
    scope: Scope<'_>,
    objects: &mut Objects,
    watch: &mut dyn FnMut(FetchProgress<'_>),
) -> Result<(Vec<Unread>, Origin), String> {
    let server = login.connect(request_timeout).await.map_err(full_text)?;
    let url = login.server();
    let kinds = match scope {
        Scope::Kinds(kinds) => Some(kinds),
        Scope::All | Scope::Nodes(..) => None,
    };
    let unread = fetch(&server, objects, kinds, watch).await;
    let mut unread = unread.map_err(|error| {
        let ways = login.by_way_of.iter().map(|way| format!("; {way}"));
        format!("{url}: {}{}", full_text(error), ways.collect::<String>())
    })?;
    if let Scope::Nodes(now, names) = scope {
        unread.extend(live::fetch(&server, objects, (now, names), watch).await);
    }
    let origin = Origin {
        server: Some(url),
        context: login.context,
        ..Origin::default()
    };
    Ok((unread, origin))
}

/// A number without a unit is seconds, as for `oc`.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let time = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => humantime::parse_duration(text)
            .map_err(|_| "is no time: write it like 30s or 2m".to_owned())?,
    };
    if time.is_zero() {
        return Err("must be greater than zero".to_owned());
    }
    if time > LONGEST {
        return Err("must be at most 10m".to_owned());
    }
    Ok(time)
}

/// A line of a terminal that changes: how far the reading is. What is tried again is said always.
pub(super) struct ProgressLine<'a> {
    err: &'a mut dyn Write,
    is_shown: bool,
}

impl<'a> ProgressLine<'a> {
    pub(super) fn new(err: &'a mut dyn Write) -> Self {
        // Some terminals know no escape sequences.
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            err,
            is_shown: std::io::stderr().is_terminal() && !is_dumb,
        }
    }

    pub(super) fn again(&mut self, why: impl Display) {
        self.show("");
        let _ = writeln!(self.err, "skewguard: {why}; trying again");
    }

    /// Shows a text in place of the one before; none ends it.
    pub(super) fn show(&mut self, text: impl Display) {
        if self.is_shown {
            let _ = write!(self.err, "\r\x1b[K{text}");
        }
    }
}
