//! `oc skewguard audit`: what a policy would refuse in a whole cluster. Reads, prints, changes
//! nothing.

mod args;
mod audit_request;
mod conclusion;
mod counts;
mod exceptions;
mod fleet;
pub(in crate::cli) mod forms;
mod later;
mod next;
mod passed;
mod places;
mod since;
mod word;

pub(super) use args::{Args, parse_time};

use super::inputs::{check_names, files_and_names, named_policy, policy_input, read_file};
use super::{Exit, Failure, Io, named, read_once, warn_of_target};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::results::upkeep::READ;
use crate::audit::{BootImageAudit, Objects, Origin, SetAudit, Unread, audit, path};
use crate::cli::cluster;
use crate::clock;
use crate::forms::terminal::Terminal;
use crate::lint::starter::{STARTER, STARTER_NAME, STARTER_NAME_OKD, STARTER_OKD};
use crate::render::yaml;
use crate::text::printable;
use crate::trouble::full_text;
use crate::verdict::PolicyInput;
use args::{FailOn, Form, Only, Script};
use audit_request::{AuditRequest, may_be_patched, release_of};
use conclusion::Conclusions;
use exceptions::Exceptions;
use forms::text::Detail;
use forms::{commands, csv, html, junit, markdown, sarif, text};
use places::Places;
use skewguard_cluster::add::add_streams;
use skewguard_cluster::connect::login::LoginRequest;
use skewguard_cluster::files::input;
use skewguard_cluster::kinds::kind::Purpose;
use skewguard_cluster::kinds::scripts;
use skewguard_cluster::moment::Moment;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The remedy for what is no stream metadata.
const PRINTED: &str = "`openshift-install coreos print-stream-json` prints what is read";

/// A text that a person named, which is no object of the cluster.
///
/// # Errors
/// It cannot be read.
fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read_file(path, input::MAX_FILE, PRINTED)?;
    String::from_utf8(bytes).map_err(|_| format!("is not UTF-8; {PRINTED}"))
}

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
    if args.path.is_some() && !has_place_for_a_path(args.output) {
        io.say("--path: -o text, wide, json, yaml and markdown have it");
        return Ok(Exit::Usage);
    }
    let request = Request::load(args)?;
    let contexts = fleet::contexts(args)?;
    let mut objects = request.streams.with_the_same_streams();
    let read = match &*args.from {
        [] => None,
        from => Some(input::read(from, &mut objects).map_err(full_text)?),
    };
    warn_of_target(args.target.as_deref(), io);
    let is_list = contexts.is_some();
    request.check(is_list)?;
    let before = args.since.as_deref();
    let before = before.map(|path| since::load(path, is_list)).transpose()?;
    let mut fleet = match (&contexts, read) {
        (Some(contexts), _) => fleet::read(&request, contexts, io),
        (None, Some(unread)) => alone(&request, objects, (unread, Origin::default()), io)?,
        (None, None) => {
            let read = read_cluster(args, &mut objects, io)?;
            alone(&request, objects, read, io)?
        }
    };
    request.warn_of_unknown_clusters(&fleet, is_list, io);
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

/// The files that were named, read once.
struct Request<'a> {
    args: &'a Args,
    policy: Option<PolicyInput>,
    exceptions: Option<Exceptions>,
    /// Images of other releases.
    streams: Objects,
}

impl<'a> Request<'a> {
    fn load(args: &'a Args) -> Result<Self, Failure> {
        let files = (args.from.iter())
            .chain(&args.streams)
            .chain(&args.kubeconfig)
            .chain(&args.since)
            .chain(&args.exceptions)
            .chain(&args.policy);
        read_once(files.map(PathBuf::as_path))?;
        let exceptions = args.exceptions.as_deref();
        let now = Moment::of(SystemTime::now());
        let mut streams = Objects::new(Purpose::Sets, now, args.from.is_empty());
        for path in &args.streams {
            let file = named(path);
            let mut add = |text: String| add_streams(&mut streams, &file, &text);
            read_text(path)
                .and_then(|text| add(text).map_err(|why| format!("{why}; {PRINTED}")))
                .map_err(|why| format!("--streams {file}: {why}"))?;
        }
        Ok(Self {
            args,
            policy: args.policy.as_deref().map(named_policy).transpose()?,
            exceptions: exceptions.map(exceptions::load).transpose()?,
            streams,
        })
    }

    /// # Errors
    /// There are several clusters, and an exception names none.
    fn check(&self, is_list: bool) -> Result<(), Failure> {
        let named = self.exceptions.as_ref().filter(|_| is_list);
        let named = named.map_or(Ok(()), Exceptions::name_clusters);
        Ok(named.map_err(|why| format!("--exceptions: {why}"))?)
    }

    /// Warns of exceptions in clusters that are not among these.
    fn warn_of_unknown_clusters(&self, fleet: &FleetAudit, is_list: bool, io: &mut Io<'_>) {
        // A file for many clusters may be used for each of them.
        let is_named = |name: &str| fleet.items.iter().any(|cluster| cluster.is_named(name));
        let is_said = |all: &&Exceptions| {
            is_list || all.name_clusters().is_ok() && !all.clusters().any(is_named)
        };
        let exceptions = self.exceptions.iter().filter(is_said);
        for name in exceptions.flat_map(Exceptions::clusters) {
            if !fleet.items.iter().any(|cluster| cluster.is_named(name)) {
                io.say(format_args!(
                    "warning: --exceptions: there is no cluster {name} among these"
                ));
            }
        }
    }

    /// Audits what was read of a cluster, which these contexts name.
    ///
    /// # Errors
    /// There is nothing that makes nodes: what was not read.
    fn audit(
        &self,
        objects: Objects,
        (unread, origin): (Vec<Unread>, Origin),
        contexts: &[String],
    ) -> Result<BootImageAudit, Vec<Unread>> {
        let args = self.args;
        let policy = self.policy.clone().unwrap_or_else(|| starter(&objects));
        let target = args.target.as_deref();
        let mut result = audit(&objects, &policy, target, unread, args.estimates);
        if result.sets.is_empty() {
            return Err(result.unread);
        }
        let place = &mut result.origin;
        place.server = origin.server.or(place.server.take());
        place.context = origin.context;
        place.time = clock::time(SystemTime::now());
        result.warnings.extend(old_rules(&place.time));
        if let Some(exceptions) = &self.exceptions {
            exceptions.apply(&mut result, contexts);
        }
        if let Some(to) = args.path.as_deref().and_then(release_of) {
            match path(&objects, &policy, args.estimates, to, &result) {
                Ok(path) => result.path = Some(path),
                Err(why) => result.no_path = Some(format!("--path {}: {why}", to.minor)),
            }
        }
        Ok(result)
    }
}

/// The only cluster that was asked for.
fn alone(
    request: &Request<'_>,
    objects: Objects,
    (unread, origin): (Vec<Unread>, Origin),
    io: &mut Io<'_>,
) -> Result<FleetAudit, Failure> {
    let context = origin.context.clone();
    let audit = request.audit(objects, (unread, origin), context.as_slice());
    let audit = audit.map_err(|unread| {
        for unread in unread {
            io.say(format_args!("{}: {}", unread.what, unread.why));
        }
        nothing(&request.args.from)
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

/// The policy of a cluster for which none was named: what `policy init` writes for it.
pub(super) fn starter(objects: &Objects) -> PolicyInput {
    starter_of(objects.is_okd())
}

pub(super) fn starter_of(okd: bool) -> PolicyInput {
    match okd {
        true => policy_input(STARTER_NAME_OKD, STARTER_OKD.as_bytes()),
        false => policy_input(STARTER_NAME, STARTER.as_bytes()),
    }
}

/// A warning of rules that are older than a year.
fn old_rules(now: &str) -> Option<String> {
    let year = |time: &str| time.get(..4)?.parse::<u16>().ok();
    let (read, now_year) = (year(READ)?, year(now)?);
    let is_old = now_year > read + 1 || now_year == read + 1 && now.get(4..10) > READ.get(4..10);
    is_old.then(|| {
        format!("who keeps images up to date is said by rules that were read on {READ}, more than a year ago: a newer oc skewguard knows better")
    })
}

/// Tells whether the form that was asked for has a place for a path.
fn has_place_for_a_path(form: Form) -> bool {
    matches!(
        form,
        Form::Text | Form::Wide | Form::Json | Form::Yaml | Form::Markdown
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
        if !has(&|set| is_named(set, name)) {
            let also = if n < before { "" } else { ", and no such file" };
            return Err(format!("{}: there is no such set{also}", printable(name)).into());
        }
    }
    let is_chosen = |set: &SetAudit| {
        let mut names = args.sets.iter();
        let namespace = args.namespace.as_ref();
        (args.sets.is_empty() || names.any(|name| is_named(set, name)))
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

/// `NAME`, `NAMESPACE/NAME` or `KIND/NAME`. A row without a set has also the names of its members,
/// and that of its role or pool.
fn is_named(set: &SetAudit, name: &str) -> bool {
    let is_it = |name: &str| {
        let what = set.name.split_once(": ").map(|(what, _)| what);
        set.name == name
            || set.row_name() == name
            || !set.members.is_empty()
                && (what == Some(name) || set.members.iter().any(|member| member == name))
    };
    is_it(name)
        || set.name.contains('/') && name.ends_with(&format!("/{}", set.name))
        || name.rsplit_once('/').is_some_and(|(before, after)| {
            is_it(after)
                && (set.namespace == before || set.kind.name().eq_ignore_ascii_case(before))
        })
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

#[cfg(test)]
mod tests {
    use super::old_rules;

    #[test]
    fn rules_are_old_after_a_year() {
        for (now, is) in [
            ("2026-11-26T00:00:00Z", false),
            ("2027-08-20T00:00:00Z", false),
            ("2027-08-21T00:00:00Z", true),
            ("2028-01-01T00:00:00Z", true),
        ] {
            assert_eq!(old_rules(now).is_some(), is, "{now}");
        }
    }
}
