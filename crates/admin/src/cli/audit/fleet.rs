//! `oc skewguard audit --context A,B` and `--all-contexts`: several clusters at a time.

use super::cluster::SERVICE_ACCOUNT;
use super::exceptions::Exceptions;
use super::fleet_conclusion::FleetConclusion;
use super::forms::{commands, csv, fleet_html, fleet_text, junit, markdown};
use super::since;
use super::{Args, Exit, Failure, Form, Io, choose, finish, starter, terminal};
use crate::audit::input::fetch::{FetchProgress, fetch};
use crate::audit::input::kubeconfigs::Kubeconfigs;
use crate::audit::input::login::{Environment, LoginRequest};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, Objects, Origin, audit};
use crate::cli::runtime;
use crate::clock;
use crate::render::yaml;
use crate::text::printable;
use crate::verdict::PolicyInput;
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
pub(super) fn contexts(args: &Args) -> Result<Option<Fleet>, Failure> {
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
    Ok(Some(Fleet {
        kubeconfigs,
        members,
    }))
}

/// Several clusters.
pub(super) struct Fleet {
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

/// What is asked about each of them.
#[derive(Clone, Copy)]
pub(super) struct FleetRequest<'a> {
    pub(super) args: &'a Args,
    pub(super) policy: Option<&'a PolicyInput>,
    pub(super) exceptions: Option<&'a Exceptions>,
    /// Images of other releases.
    pub(super) streams: &'a Objects,
}

/// What a thread tells.
enum News {
    /// A request failed, and is tried again.
    Again(usize, String),
    Read(usize, Box<ClusterAudit>),
}

/// Audits the clusters, and prints what is found.
pub(super) fn run(
    asked: &FleetRequest<'_>,
    fleet: &Fleet,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let FleetRequest {
        args, exceptions, ..
    } = *asked;
    if let Some(exceptions) = exceptions {
        let named = exceptions.name_clusters();
        named.map_err(|why| format!("--exceptions: {why}"))?;
    }
    if args.insecure_skip_tls_verify {
        io.say("warning: the servers' certificates are not checked: whoever answers gets your credentials");
    }
    let before = args.since.as_deref().map(since::load_list).transpose()?;
    let next = AtomicUsize::new(0);
    let (news, receiver) = channel();
    let mut clusters: Vec<Option<ClusterAudit>> = fleet.members.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(fleet.members.len()) {
            let (news, next) = (news.clone(), &next);
            scope.spawn(move || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(member) = fleet.members.get(n) else {
                        break;
                    };
                    let read = one(asked, fleet, member, (n, &news));
                    let mut cluster = ClusterAudit::of(printable(&member.context), read);
                    cluster.other_contexts =
                        member.others.iter().map(|other| printable(other)).collect();
                    let _ = news.send(News::Read(n, Box::new(cluster)));
                }
            });
        }
        drop(news);
        let mut watcher = Watcher::new(io.err, fleet.members.len());
        for news in receiver {
            match news {
                News::Again(n, why) => {
                    let context = fleet
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
    let mut fleet = FleetAudit::of(clusters, clock::time(SystemTime::now()));
    if let Some(before) = before {
        before.compare(&mut fleet);
    }
    let conclusion = FleetConclusion::of(&fleet, args.target.as_deref(), |context| {
        super::asked(args, Some(&context.to_owned()))
    });
    for name in exceptions
        .iter()
        .flat_map(|exceptions| exceptions.clusters())
    {
        if !fleet.items.iter().any(|cluster| cluster.is_named(name)) {
            io.say(format_args!(
                "warning: --exceptions: there is no cluster {name} among these"
            ));
        }
    }
    if args.print_commands.is_some() {
        for audit in fleet.items.iter().filter_map(|item| item.audit.as_ref()) {
            super::of_its_release(args, audit)?;
        }
        let script = commands::render_fleet(&fleet, &conclusion, args.kubeconfig.as_deref());
        io.out.write_all(script.as_bytes())?;
        return Ok(match fleet.summary.not_audited {
            0 => Exit::Done,
            _ => Exit::Failed,
        });
    }
    choose_sets(args, &mut fleet)?;
    print(args, &fleet, &conclusion, io)?;
    let mut audits = fleet.items.iter().filter_map(|item| item.audit.as_ref());
    let is_hidden = audits.any(|audit| audit.unread.iter().any(|unread| unread.hides_sets));
    Ok(args.fail_on.exit(conclusion.exit, is_hidden))
}

/// Audits one cluster.
fn one(
    asked: &FleetRequest<'_>,
    fleet: &Fleet,
    member: &Member,
    (n, news): (usize, &Sender<News>),
) -> Result<BootImageAudit, String> {
    let FleetRequest {
        args,
        policy,
        exceptions,
        streams,
    } = *asked;
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
    let mut objects = streams.with_the_same_streams();
    let runtime = runtime()?;
    let read = async {
        let mut login = fleet.kubeconfigs.login(asked, around).await?;
        let url = login.server();
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
    };
    let read: Result<_, String> = runtime.block_on(read);
    // A program for credentials that did not end is not waited for.
    runtime.shutdown_background();
    let (unread, origin) = read?;
    let policy = policy.cloned().unwrap_or_else(|| starter(&objects));
    objects.read_at(clock::time(SystemTime::now()));
    let mut result = audit(
        &objects,
        &policy,
        args.target.as_deref(),
        unread,
        args.estimates,
    );
    if result.sets.is_empty() {
        let first = result.unread.first();
        return Err(match first {
            Some(unread) => format!(
                "nothing that makes nodes was read: {}: {}{}",
                unread.what,
                unread.why,
                match result.unread.len() {
                    1 => String::new(),
                    all => format!("; and {} more", all - 1),
                }
            ),
            None => "it has no set of machines, and no machine or node without one".to_owned(),
        });
    }
    finish(&mut result, &objects, origin);
    if let Some(exceptions) = exceptions {
        let contexts = std::iter::once(&member.context).chain(&member.others);
        let contexts: Vec<String> = contexts.map(|context| printable(context)).collect();
        exceptions.apply(&mut result, &contexts);
    }
    Ok(result)
}

/// Leaves only the sets that were asked for; each has to be in one of the clusters.
fn choose_sets(args: &Args, fleet: &mut FleetAudit) -> Result<(), Failure> {
    let audits = || {
        fleet
            .items
            .iter()
            .filter_map(|cluster| cluster.audit.as_ref())
    };
    for name in &args.sets {
        if !audits().any(|audit| audit.sets.iter().any(|set| super::is_named(set, name))) {
            return Err(format!("{}: there is no such set", printable(name)).into());
        }
    }
    for cluster in &mut fleet.items {
        if let Some(audit) = &mut cluster.audit {
            choose(args, audit);
        }
    }
    Ok(())
}

fn print(
    args: &Args,
    fleet: &FleetAudit,
    conclusion: &FleetConclusion,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let text = match args.output {
        Form::Json => {
            serde_json::to_writer_pretty(&mut *io.out, fleet)?;
            "\n".to_owned()
        }
        Form::Yaml => yaml(fleet),
        Form::Text => fleet_text::render(fleet, conclusion, false, terminal()),
        Form::Wide => fleet_text::render(fleet, conclusion, true, terminal()),
        Form::Html => fleet_html::render(fleet, conclusion),
        Form::Markdown => markdown::render_fleet(fleet, &conclusion.all),
        Form::Junit => junit::render_fleet(fleet, conclusion)?,
        Form::Csv => csv::render_fleet(fleet)?,
    };
    Ok(io.out.write_all(text.as_bytes())?)
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
