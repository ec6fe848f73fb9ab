//! `oc skewguard audit --context A,B` and `--all-contexts`: several clusters at a time.

use super::cluster::{SERVICE_ACCOUNT, placed};
use super::{Args, Failure, Io, Request};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, Unread};
use crate::cli::runtime;
use crate::clock;
use crate::text::printable;
use skewguard_cluster::connect::fetch::{FetchProgress, fetch};
use skewguard_cluster::connect::kubeconfigs::Kubeconfigs;
use skewguard_cluster::connect::login::{Environment, LoginRequest};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::SystemTime;

/// Clusters that are read at a time, each over one connection.
const AT_A_TIME: usize = 8;

/// The contexts that were asked for, where they are several: each once, in order.
///
/// # Errors
/// There is no such context, or no kubeconfig.
pub(super) fn contexts(args: &Args) -> Result<Option<Contexts>, Failure> {
    if !args.all_contexts && args.context.len() < 2 {
        return Ok(None);
    }
    let variable = |name: &str| std::env::var_os(name);
    let kubeconfigs = Kubeconfigs::read(
        args.kubeconfig.as_deref(),
        Environment {
            variable: &variable,
            service_account: Path::new(SERVICE_ACCOUNT),
        },
    )?;
    let names = if args.all_contexts {
        kubeconfigs.contexts()
    } else {
        args.context.clone()
    };
    for name in &names {
        kubeconfigs.check(name)?;
    }
    let mut members: Vec<Member> = Vec::new();
    for context in names {
        let place = kubeconfigs.place(&context);
        match members.iter_mut().find(|member| member.place == place) {
            Some(known) if known.context == context || known.others.contains(&context) => {}
            Some(known) => known.others.push(context),
            None => members.push(Member {
                context,
                others: Vec::new(),
                place,
            }),
        }
    }
    if members.is_empty() {
        return Err("--all-contexts: the kubeconfig has no context".into());
    }
    Ok(Some(Contexts {
        kubeconfigs,
        members,
    }))
}

/// The contexts of several clusters.
pub(super) struct Contexts {
    kubeconfigs: Kubeconfigs,
    members: Vec<Member>,
}

/// A cluster, as a user of it.
struct Member {
    context: String,
    /// Contexts that differ in their namespace alone.
    others: Vec<String>,
    /// The names of cluster and user.
    place: (String, String),
}

/// News of a thread.
enum News {
    /// A request failed, and is tried again.
    Again(usize, String),
    Read(usize, Box<ClusterAudit>),
}

/// Audits the clusters.
pub(super) fn read(request: &Request<'_>, contexts: &Contexts, io: &mut Io<'_>) -> FleetAudit {
    if request.args.insecure_skip_tls_verify {
        io.say("warning: the servers' certificates are not checked: whoever answers gets your credentials");
    }
    let next = AtomicUsize::new(0);
    let (news, receiver) = channel();
    let mut clusters: Vec<Option<ClusterAudit>> = contexts.members.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(contexts.members.len()) {
            let (news, next) = (news.clone(), &next);
            scope.spawn(move || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(member) = contexts.members.get(n) else {
                        break;
                    };
                    let read = one(request, &contexts.kubeconfigs, member, (n, &news));
                    let mut cluster = ClusterAudit::of(printable(&member.context), read);
                    cluster.other_contexts =
                        member.others.iter().map(|other| printable(other)).collect();
                    let _ = news.send(News::Read(n, Box::new(cluster)));
                }
            });
        }
        drop(news);
        let mut watcher = Watcher::new(io.err, contexts.members.len());
        for news in receiver {
            match news {
                News::Again(n, why) => {
                    let context = contexts
                        .members
                        .get(n)
                        .map(|member| printable(&member.context));
                    watcher.again(&context.unwrap_or_default(), &why);
                }
                News::Read(n, cluster) => {
                    watcher.read();
                    if let Some(place) = clusters.get_mut(n) {
                        // A copy of its own lies together. What the thread made lies among what it
                        // had read, whose memory the next cluster needs.
                        *place = Some(ClusterAudit::clone(&cluster));
                    }
                }
            }
        }
        watcher.end();
    });
    let clusters = clusters.into_iter().flatten().collect();
    FleetAudit::of(clusters, clock::time(SystemTime::now()))
}

/// Audits one cluster.
fn one(
    request: &Request<'_>,
    kubeconfigs: &Kubeconfigs,
    member: &Member,
    (n, news): (usize, &Sender<News>),
) -> Result<BootImageAudit, String> {
    let args = request.args;
    let variable = |name: &str| std::env::var_os(name);
    let around = Environment {
        variable: &variable,
        service_account: Path::new(SERVICE_ACCOUNT),
    };
    let asked = LoginRequest {
        file: args.kubeconfig.as_deref(),
        context: Some(&member.context),
        insecure: args.insecure_skip_tls_verify,
        is_one_of_many: true,
    };
    let mut objects = request.streams.with_the_same_streams();
    let runtime = runtime()?;
    let read = async {
        let mut login = kubeconfigs.login(asked, around).await?;
        let server = login.connect(args.request_timeout).await?;
        let mut was_said = false;
        let mut watch = |now: FetchProgress<'_>| {
            if let FetchProgress::Again(why) = now
                && !std::mem::replace(&mut was_said, true)
            {
                let _ = news.send(News::Again(n, why.to_owned()));
            }
        };
        let unread = fetch(&server, &mut objects, None, &mut watch).await;
        placed(unread, login)
    };
    let read: Result<_, String> = runtime.block_on(read);
    // A program for credentials that did not end is not waited for.
    runtime.shutdown_background();
    let (unread, origin) = read?;
    let names = std::iter::once(&member.context).chain(&member.others);
    let names: Vec<String> = names.map(|context| printable(context)).collect();
    let audit = request.audit(objects, (unread, origin), &names);
    audit.map_err(|unread| no_sets(&unread))
}

/// The reason why there is nothing to audit.
pub(super) fn no_sets(unread: &[Unread]) -> String {
    match unread {
        [] => "it has no set of machines, and no machine or node without one".to_owned(),
        [first, others @ ..] => {
            let more = match others.len() {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            format!("nothing that makes nodes was read; {first}{more}")
        }
    }
}

/// Says how far the reading is, on a terminal; what is tried again, always.
struct Watcher<'a> {
    err: &'a mut dyn Write,
    is_watched: bool,
    read: usize,
    all: usize,
}

impl<'a> Watcher<'a> {
    fn new(err: &'a mut dyn Write, all: usize) -> Self {
        Self {
            err,
            is_watched: std::io::stderr().is_terminal() && !super::is_dumb(),
            read: 0,
            all,
        }
    }

    fn again(&mut self, context: &str, why: &str) {
        self.end();
        let _ = writeln!(self.err, "skewguard: {context}: {why}; trying again");
    }

    fn read(&mut self) {
        self.read += 1;
        if self.is_watched {
            let _ = write!(
                self.err,
                "\r\x1b[Kread {} of {} clusters",
                self.read, self.all
            );
        }
    }

    /// Removes the line.
    fn end(&mut self) {
        if self.is_watched {
            let _ = write!(self.err, "\r\x1b[K");
        }
    }
}
