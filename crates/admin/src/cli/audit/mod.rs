//! `oc skewguard audit`: what a policy would refuse in a whole cluster. Reads, prints, changes
//! nothing.

mod args;
mod audit_request;
mod auditor;
mod conclusion;
mod counts;
mod exceptions;
mod facts;
mod fleet;
pub(in crate::cli) mod forms;
mod later;
mod next;
mod passed;
mod places;
mod since;
mod word;

pub(super) use args::Args;

use super::inputs::{check_names, files_and_names, warn_of_target};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BootImageAudit, Objects, Origin, SetAudit, Unread};
use crate::cli::cluster;
use crate::forms::terminal::Terminal;
use crate::forms::yaml;
use crate::text::printable;
use crate::trouble::full_text;
use args::{FailOn, Form, Only, Script};
use audit_request::{AuditRequest, may_be_patched, release_of};
use auditor::Auditor;
use conclusion::Conclusions;
use forms::text::Detail;
use forms::{commands, csv, html, junit, markdown, sarif, text};
use places::Places;
use skewguard_cluster::connect::login::LoginRequest;
use skewguard_cluster::file::name as named;
use skewguard_cluster::files::input;
use skewguard_cluster::kinds::kind::Purpose;
use skewguard_cluster::kinds::scripts;
use skewguard_core::command::{Exit, Failure, Io};
use std::path::PathBuf;

pub(super) fn run(args: &Args, terminal: Terminal, io: &mut Io<'_>) -> Result<Exit, Failure> {
    check_names(&args.from, &args.sets)?;
    let (from, sets) = files_and_names(&args.from, &args.sets);
    let set_count = args.sets.len();
    let args = &Args {
        from,
        sets,
        ..args.clone()
    };
    if let Some(script) = args.print_commands.filter(|script| *script != Script::Fix) {
        return print_script(script, args, io);
    }
    if args.path.is_some() && !args.output.has_path() {
        io.say("--path: -o text, wide, json, yaml and markdown have it");
        return Ok(Exit::Usage);
    }
    let auditor = Auditor::load(args)?;
    let contexts = fleet::contexts(args)?;
    let mut objects = auditor.streams.with_the_same_streams();
    let read = match &*args.from {
        [] => None,
        from => Some(input::read(from, &mut objects).map_err(full_text)?),
    };
    warn_of_target(args.target.as_deref(), io);
    let is_list = contexts.is_some();
    auditor.check(is_list)?;
    let before = args.since.as_deref();
    let before = before.map(|path| since::load(path, is_list)).transpose()?;
    let mut fleet = match (&contexts, read) {
        (Some(contexts), _) => fleet::read(&auditor, contexts, io),
        (None, Some(unread)) => alone(&auditor, objects, (unread, Origin::default()), io)?,
        (None, None) => {
            let read = read_cluster(args, &mut objects, io)?;
            alone(&auditor, objects, read, io)?
        }
    };
    auditor.warn_of_unknown_clusters(&fleet, is_list, io);
    warn_of_the_past(args, &fleet, io);
    if let Some(why) = fleet.audits().find_map(|audit| audit.no_path.clone()) {
        return Err(why.into());
    }
    if let Some(before) = before {
        since::compare(&before, &mut fleet)?;
        if since::shares_nothing(&before, &fleet) {
            io.say(
                "warning: --since: none of its sets is here: it may be an audit of another cluster",
            );
        }
    }
    let conclusions = Conclusions::of(&fleet, |name| AuditRequest::of(args, name));
    if args.print_commands.is_some() {
        return print_fix(args, &fleet, &conclusions, io);
    }
    choose(args, set_count, &mut fleet, io)?;
    print(args, terminal, &fleet, &conclusions, io)?;
    Ok(exit(args, &fleet, &conclusions))
}

/// The exit status, by what `--fail-on` names.
fn exit(args: &Args, fleet: &FleetAudit, conclusions: &Conclusions) -> Exit {
    let is_hidden = fleet.items.iter().any(ClusterAudit::is_incomplete);
    let ways = || fleet.audits().filter_map(|audit| audit.path.as_ref());
    let later = match args.path {
        None => [conclusions.all.later.is_some(), false],
        Some(_) => [false, true].map(|open| ways().any(|path| path.count(open) > 0)),
    };
    args.fail_on.exit(conclusions.all.exit, is_hidden, later)
}

/// Reads the cluster of the kubeconfig.
fn read_cluster(
    args: &Args,
    objects: &mut Objects,
    io: &mut Io<'_>,
) -> Result<(Vec<Unread>, Origin), Failure> {
    let asked = LoginRequest {
        file: args.kubeconfig.as_deref(),
        context: args.context.first().map(String::as_str),
        insecure: args.insecure_skip_tls_verify,
        is_one_of_many: false,
    };
    let (time, scope) = (args.request_timeout, cluster::Scope::All);
    cluster::read(asked, time, scope, objects, io)
}

fn print_fix(
    args: &Args,
    fleet: &FleetAudit,
    conclusions: &Conclusions,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    for audit in fleet.audits() {
        of_its_release(args, audit)?;
    }
    let mut fleet = fleet.clone();
    for audit in fleet.items.iter_mut().flat_map(|item| &mut item.audit) {
        if let Some(path) = &mut audit.path {
            audit.sets = std::mem::take(&mut path.rows);
        }
    }
    let fleet = &fleet;
    let script = commands::render(fleet, &conclusions.all, args.kubeconfig.as_deref())?;
    io.out.write_all(script.as_bytes())?;
    Ok(match fleet.summary.not_audited {
        0 => Exit::Done,
        _ => Exit::Failed,
    })
}

/// The only cluster that was asked for.
fn alone(
    auditor: &Auditor<'_>,
    objects: Objects,
    (unread, origin): (Vec<Unread>, Origin),
    io: &mut Io<'_>,
) -> Result<FleetAudit, Failure> {
    let context = origin.context.clone();
    let audit = auditor.audit(objects, (unread, origin), context.as_slice());
    let audit = audit.map_err(|unread| {
        for unread in unread {
            io.say(format_args!("{}: {}", unread.what, unread.why));
        }
        nothing(&auditor.args.from)
    })?;
    let cluster = ClusterAudit::of(String::new(), Ok(audit));
    Ok(FleetAudit::of(vec![cluster], String::new()))
}

/// The reason for no audit, of files or of a server.
fn nothing(from: &[PathBuf]) -> String {
    const NONE: &str = "no set of machines was read, and no machine or node without one";
    let files: Vec<String> = from.iter().map(|path| named(path)).collect();
    if files.is_empty() {
        return format!("there is nothing to audit: {NONE}");
    }
    format!(
        "there is nothing to audit in {}: {NONE}; `oc skewguard audit --print-commands` prints a script that gathers what is read",
        files.join(" ")
    )
}

/// Warns of a release to ask about that lies behind a cluster's own.
fn warn_of_the_past(args: &Args, fleet: &FleetAudit, io: &mut Io<'_>) {
    let Some(target) = args.target.as_ref() else {
        return;
    };
    let own = fleet
        .audits()
        .filter_map(|audit| audit.origin.release.as_ref());
    let is_past = |own: &&String| Some(release_of(own)?.minor > release_of(target)?.minor);
    if let Some(own) = own.into_iter().find(|own| is_past(own) == Some(true)) {
        io.say(format_args!(
            "warning: --target {target}: the cluster is at {own} already"
        ));
    }
}

/// The script sets images, which have to be of no other release than the cluster's.
///
/// # Errors
/// An earlier release was asked about, or the cluster's own is not known.
fn of_its_release(args: &Args, audit: &BootImageAudit) -> Result<(), Failure> {
    let Some(asked) = args.target.as_ref().filter(|_| !args.any_release) else {
        return Ok(());
    };
    if may_be_patched(audit, asked) {
        return Ok(());
    }
    let own = match &audit.origin.release {
        None => "of an unknown release".to_owned(),
        Some(own) => format!("at {own}"),
    };
    Err(format!(
        "--print-commands fix --target {asked}: the cluster is {own}, and its sets would get the images of {asked}. Leave --target out, or say \
         --any-release"
    )
    .into())
}

/// Leaves only the sets that were asked for, so many of them before --from; each has to be in one of
/// the clusters. The summary stays that of all.
fn choose(
    args: &Args,
    before: usize,
    fleet: &mut FleetAudit,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let has = |is: &dyn Fn(&SetAudit) -> bool| {
        let mut sets = fleet.audits().flat_map(|audit| &audit.sets);
        sets.any(is)
    };
    if let Some(namespace) = &args.namespace
        && !has(&|set| set.namespace == *namespace)
    {
        let namespace = printable(namespace);
        io.say(format_args!("no set is in namespace {namespace}"));
    }
    for (n, name) in args.sets.iter().enumerate() {
        if !has(&|set| set.is_named(name)) {
            let also = if n < before { "" } else { ", and no such file" };
            return Err(format!("{}: there is no such set{also}", printable(name)).into());
        }
    }
    let is_chosen = |set: &SetAudit| {
        let mut names = args.sets.iter();
        let namespace = args.namespace.as_ref();
        (args.sets.is_empty() || names.any(|name| set.is_named(name)))
            && namespace.is_none_or(|namespace| set.namespace == *namespace)
            && match args.only {
                None => true,
                Some(Only::Refused) => set.would_be_refused(),
                Some(Only::Unknown) => set.is_unknown(),
            }
    };
    for audit in fleet.items.iter_mut().flat_map(|item| &mut item.audit) {
        audit.sets.retain(is_chosen);
        // Objects for scripts have all sets, and beside them what changed.
        if let Some(since) = &audit.since
            && !matches!(args.output, Form::Json | Form::Yaml)
        {
            let is_later = args.fail_on == FailOn::Later;
            audit.sets.retain(|set| {
                since.has(set) || is_later && !later::news(Some(since), set).is_empty()
            });
        }
    }
    Ok(())
}

/// A script that is the same for every cluster: what says which cluster would not count.
fn print_script(script: Script, args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    // A policy may be that of the variable.
    let files = [&args.kubeconfig, &args.since, &args.exceptions];
    let has_files = files.iter().any(|file| file.is_some());
    let has_words = !args.context.is_empty()
        || args.all_contexts
        || args.any_release
        || args.target.is_some()
        || !args.sets.is_empty()
        || args.namespace.is_some();
    if has_files || has_words || !args.from.is_empty() || !args.streams.is_empty() {
        io.say("this script is the same for every cluster: name --print-commands alone");
        return Ok(Exit::Usage);
    }
    let script = match script {
        Script::Labels => scripts::LABELS.to_owned(),
        Script::Alephs => scripts::ALEPHS.to_owned(),
        Script::Objects | Script::Fix => scripts::commands(Purpose::Sets),
    };
    io.out.write_all(script.as_bytes())?;
    Ok(Exit::Done)
}

fn print(
    args: &Args,
    terminal: Terminal,
    fleet: &FleetAudit,
    conclusions: &Conclusions,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let detail = match args.output {
        Form::Text if args.sets.is_empty() => Detail::Row,
        _ => Detail::All,
    };
    let text = match (args.output, fleet.alone()) {
        (Form::Text | Form::Wide, _) => text::render(fleet, conclusions, detail, terminal),
        (Form::Json, alone) => {
            // The text of many clusters is long.
            match alone {
                Some(audit) => serde_json::to_writer_pretty(&mut *io.out, audit)?,
                None => serde_json::to_writer_pretty(&mut *io.out, fleet)?,
            }
            "\n".to_owned()
        }
        (Form::Yaml, Some(audit)) => yaml(audit),
        (Form::Yaml, None) => yaml(fleet),
        (Form::Html, _) => html::render(fleet, conclusions)?,
        (Form::Markdown, _) => markdown::render(fleet, conclusions)?,
        (Form::Junit, _) => junit::render(fleet, conclusions, args.fail_on == FailOn::Later)?,
        (Form::Csv, alone) => {
            // Its rows are those of sets alone.
            for unread in alone.iter().flat_map(|audit| &audit.unread) {
                io.say(unread);
            }
            csv::render(fleet)?
        }
        (Form::Sarif, _) => {
            let sarif = sarif::render(fleet, conclusions, |sets| Places::of(&args.from, sets));
            serde_json::to_string_pretty(&sarif)? + "\n"
        }
    };
    Ok(io.out.write_all(text.as_bytes())?)
}
