//! The objects of a cluster, from its API server.

use super::{Args, is_dumb};
use crate::audit::{Objects, Origin, Unread};
use crate::cli::{Failure, Io, runtime};
use skewguard_cluster::connect::fetch::{FetchProgress, fetch};
use skewguard_cluster::connect::live;
use skewguard_cluster::connect::{kubeconfigs, login};
use skewguard_cluster::moment::Moment;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The files of a pod's service account (client-go, `rest.InClusterConfig`).
pub(super) const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

pub(super) fn from_server(
    args: &Args,
    objects: &mut Objects,
    io: &mut Io<'_>,
) -> Result<(Vec<Unread>, Origin), Failure> {
    let asked = login::LoginRequest {
        file: args.kubeconfig.as_deref(),
        context: args.context.first().map(String::as_str),
        insecure: args.insecure_skip_tls_verify,
        is_one_of_many: false,
    };
    read(asked, args.request_timeout, Scope::All, objects, io)
}

/// The objects that are read of a cluster.
#[derive(Clone, Copy)]
pub(in crate::cli) enum Scope<'a> {
    /// Those of the audit.
    All,
    Kinds(&'a [&'a str]),
    /// Those of the audit, and those that say why a machine is no node.
    Nodes(Moment, &'a [String]),
}

/// Reads a cluster with the kubeconfig that was asked for.
pub(in crate::cli) fn read(
    asked: login::LoginRequest<'_>,
    request_timeout: Duration,
    scope: Scope<'_>,
    objects: &mut Objects,
    io: &mut Io<'_>,
) -> Result<(Vec<Unread>, Origin), Failure> {
    let is_insecure = asked.insecure;
    let around = login::Environment {
        variable: &|name| std::env::var_os(name),
        service_account: Path::new(SERVICE_ACCOUNT),
    };
    let runtime = runtime()?;
    let mut login = runtime.block_on(kubeconfigs::load(asked, around))?;
    if is_insecure {
        io.say("warning: the server's certificate is not checked: whoever answers gets your credentials");
    }
    let server = runtime.block_on(login.connect(request_timeout))?;
    let mut watcher = Watcher::new(io.err);
    let kinds = match scope {
        Scope::Kinds(kinds) => Some(kinds),
        Scope::All | Scope::Nodes(..) => None,
    };
    let mut unread = runtime.block_on(fetch(&server, objects, kinds, &mut |now| watcher.see(&now)));
    if let (Scope::Nodes(now, names), Ok(unread)) = (scope, &mut unread) {
        let mut watch = |now: FetchProgress<'_>| watcher.see(&now);
        let more = live::fetch(&server, objects, (now, names), &mut watch);
        unread.extend(runtime.block_on(more));
    }
    watcher.end();
    // A program for credentials that did not end is not waited for.
    runtime.shutdown_background();
    Ok(placed(unread, login)?)
}

/// What could not be read with a login, and of which cluster; where nothing could, why, and the way there.
pub(super) fn placed(
    unread: Result<Vec<Unread>, String>,
    login: login::Login,
) -> Result<(Vec<Unread>, Origin), String> {
    let url = login.server();
    let unread = unread.map_err(|error| {
        let ways = login.by_way_of.iter().map(|way| format!("; {way}"));
        format!("{url}: {error}{}", ways.collect::<String>())
    })?;
    let origin = Origin {
        server: Some(url),
        context: login.context,
        ..Origin::default()
    };
    Ok((unread, origin))
}

/// Says how far the reading is: on a terminal a line that changes, once a second is over; what is
/// tried again, always.
struct Watcher<'a> {
    err: &'a mut dyn Write,
    began: Instant,
    is_watched: bool,
    shown: bool,
    said: bool,
}

impl<'a> Watcher<'a> {
    fn new(err: &'a mut dyn Write) -> Self {
        Self {
            err,
            began: Instant::now(),
            is_watched: std::io::stderr().is_terminal() && !is_dumb(),
            shown: false,
            said: false,
        }
    }

    fn see(&mut self, now: &FetchProgress<'_>) {
        let _ = match now {
            FetchProgress::Again(why) if !self.said => {
                self.end();
                self.said = true;
                writeln!(self.err, "skewguard: {why}; trying again")
            }
            FetchProgress::Read(resource, count)
                if self.is_watched && self.began.elapsed() > Duration::from_secs(1) =>
            {
                self.shown = true;
                write!(self.err, "\r\x1b[Kreading {resource}: {count}")
            }
            _ => Ok(()),
        };
    }

    /// Removes the line.
    fn end(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(self.err, "\r\x1b[K");
        }
    }
}
