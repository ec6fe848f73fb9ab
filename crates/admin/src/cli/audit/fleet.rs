//! `oc skewguard audit --context A,B` and `--all-contexts`: several clusters at a time.

use super::args::Args;
use super::auditor::Auditor;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, Unread};
use crate::cli::cluster::{ProgressLine, Scope, environment, fetched, wait};
use crate::clock;
use crate::text::printable;
use crate::trouble::full_text;
use skewguard_cluster::connect::fetch::FetchProgress;
use skewguard_cluster::connect::kubeconfigs::Kubeconfigs;
use skewguard_cluster::connect::login::LoginRequest;
use skewguard_core::command::{Failure, Io};
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
    let kubeconfigs =
        Kubeconfigs::read(args.kubeconfig.as_deref(), environment()).map_err(full_text)?;
    let names = if args.all_contexts {
        kubeconfigs.contexts()
    } else {
        args.context.clone()
    };
    for name in &names {
        kubeconfigs.check(name).map_err(full_text)?;
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
    Again(String),
    Read(usize, Box<ClusterAudit>),
}

/// Audits the clusters.
pub(super) fn read(auditor: &Auditor<'_>, contexts: &Contexts, io: &mut Io<'_>) -> FleetAudit {
    if auditor.args.insecure_skip_tls_verify {
        io.say("warning: the servers' certificates are not checked: whoever answers gets your credentials");
    }
    let all = contexts.members.len();
    let next = AtomicUsize::new(0);
    let (news, receiver) = channel();
    let mut clusters: Vec<(usize, ClusterAudit)> = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(all) {
            let (news, next) = (news.clone(), &next);
            scope.spawn(move || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(member) = contexts.members.get(n) else {
                        break;
                    };
                    let read = one(auditor, &contexts.kubeconfigs, member, &news);
                    let mut cluster = ClusterAudit::of(printable(&member.context), read);
                    let others = member.others.iter().map(|other| printable(other));
                    cluster.other_contexts = others.collect();
                    let _ = news.send(News::Read(n, Box::new(cluster)));
                }
            });
        }
        drop(news);
        let mut line = ProgressLine::new(io.err);
        for news in receiver {
            match news {
                News::Again(why) => line.again(why),
                News::Read(n, cluster) => {
                    // A copy of its own lies together. What the thread made lies among what it
                    // had read, whose memory the next cluster needs.
                    clusters.push((n, ClusterAudit::clone(&cluster)));
                    line.show(format_args!("read {} of {all} clusters", clusters.len()));
                }
            }
        }
        line.show("");
    });
    clusters.sort_by_key(|(n, _)| *n);
    let clusters = clusters.into_iter().map(|(_, cluster)| cluster);
    FleetAudit::of(clusters.collect(), clock::time(SystemTime::now()))
}

/// Audits one cluster.
fn one(
    auditor: &Auditor<'_>,
    kubeconfigs: &Kubeconfigs,
    member: &Member,
    news: &Sender<News>,
) -> Result<BootImageAudit, String> {
    let args = auditor.args;
    let asked = LoginRequest {
        file: args.kubeconfig.as_deref(),
        context: Some(&member.context),
        insecure: args.insecure_skip_tls_verify,
        is_one_of_many: true,
    };
    let contexts = std::iter::once(&member.context).chain(&member.others);
    let contexts: Vec<String> = contexts.map(|context| printable(context)).collect();
    let mut was_said = false;
    let mut watch = |now: FetchProgress<'_>| {
        if let FetchProgress::Again(why) = now
            && !std::mem::replace(&mut was_said, true)
        {
            let _ = news.send(News::Again(format!(
                "{}: {why}",
                printable(&member.context)
            )));
        }
    };
    let mut objects = auditor.streams.with_the_same_streams();
    let read = wait(async {
        let login = kubeconfigs.login(asked, environment()).await;
        let login = login.map_err(full_text)?;
        let (time, scope) = (args.request_timeout, Scope::All);
        fetched(login, time, scope, &mut objects, &mut watch).await
    })?;
    let audit = auditor.audit(objects, read, &contexts);
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
