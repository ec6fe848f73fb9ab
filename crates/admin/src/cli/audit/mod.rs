//! `oc skewguard audit`: what a policy would refuse in a whole cluster. Reads, prints, changes
//! nothing.

mod archive;
pub(super) mod cluster;
mod conclusion;
mod exceptions;
mod fleet;
mod fleet_conclusion;
mod folder;
pub(super) mod forms;
pub(super) mod input;
mod since;

use super::{Exit, Failure, Io, named, named_policy, parse_release, policy_input, read_once};
use crate::audit::cluster::kind_table;
use crate::audit::input::fetch;
use crate::audit::results::upkeep::READ;
use crate::audit::{BootImageAudit, Objects, Origin, SetAudit, audit};
use crate::clock;
use crate::lint::starter::{STARTER, STARTER_OKD};
use crate::render::yaml;
use crate::text::printable;
use crate::verdict::PolicyInput;
use anstream::{AutoStream, ColorChoice};
use conclusion::{AuditRequest, Conclusion, STARTER_NAME, STARTER_NAME_OKD};
use fleet::FleetRequest;
use forms::facts::Terminal;
use forms::text::Detail;
use forms::{commands, csv, html, junit, markdown, shell, text};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// What the audit is printed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// The conclusion, and what fits a screen.
    Text,
    /// All that is known of each set.
    Wide,
    /// For a script; fields are only ever added.
    Json,
    /// The same as YAML.
    Yaml,
    /// One file for a browser, with a chart; it needs no network.
    Html,
    /// For the summary of a job, or a comment on a pull request.
    Markdown,
    /// A test for each set.
    Junit,
    /// A row for each set, for a spreadsheet.
    Csv,
}

/// What can be printed to be run where `oc` reaches the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Script {
    Objects,
    Labels,
    Alephs,
    Fix,
}

/// What makes the exit status other than 0, beside what could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    Refused,
    Unknown,
    None,
}

impl FailOn {
    /// Of this status; `is_hidden` where sets may be missing.
    fn exit(self, exit: Exit, is_hidden: bool) -> Exit {
        match (self, exit) {
            (Self::None, Exit::Refused) if is_hidden => Exit::Failed,
            (Self::Refused | Self::None, Exit::Unknown) | (Self::None, Exit::Refused) => Exit::Done,
            _ => exit,
        }
    }
}

/// Which sets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    /// Sets whose next node would be refused.
    Refused,
    /// Sets whose outcome is unknown.
    Unknown,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "oc skewguard audit [SET]... [OPTIONS]\n       \
        oc skewguard audit --print-commands [objects|labels|alephs|fix]",
    after_help = concat!("\
Exit status: 0 nothing would be refused, 1 it could not look at everything that makes nodes, 2 wrong usage, \
3 something would be refused, 4 nothing would be refused, but not everything is known. Sets with an exception do not count; \
with --since only those count that are new or worse.

Reads with get and list only; `oc skewguard render manifests --auditor` has the least ClusterRole for it. Kubeconfigs are found as oc finds them: \
KUBECONFIG, then ~/.kube/config.

Examples:
  oc skewguard audit
  oc skewguard audit --policy policy.json
  oc skewguard audit --policy policy.json --target 4.22
  oc skewguard audit --policy policy.json -o html >boot-images.html
  oc skewguard audit --policy policy.json -o json |
    jq -r '.sets[] | select(.action == \"Block\") | .name'
  oc skewguard audit --print-commands fix >fix.sh

In a pipeline:
  oc skewguard audit --exceptions exceptions.yaml -o junit >audit.xml
  oc skewguard audit --policy policy.json --since audit.json -o markdown

For a cluster that cannot be reached from here:
  oc skewguard audit --print-commands >gather.sh
  oc skewguard audit --policy policy.json --from objects
  oc skewguard audit --policy policy.json --from must-gather.local.*/

Where versions are unknown:
  oc skewguard audit --print-commands labels >labels.sh
  oc skewguard audit --print-commands alephs >alephs.sh
  oc skewguard audit --policy policy.json --streams rhcos-4.1*.json

More:
  ", crate::docs!("audit.md"))
)]
pub(super) struct Args {
    /// The policy to try, JSON or YAML; it is judged as if its mode were Enforce. Default: the
    /// limits and known issues that `policy init` writes; on a cluster of OKD, `policy init --okd`.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    policy: Option<PathBuf>,
    /// Release to ask about, such as the one to upgrade to. Default: the cluster's own.
    #[arg(long, value_name = "RELEASE", value_parser = parse_release)]
    target: Option<String>,
    /// Files of `oc get -o json` or YAML, and folders and archives such as a must-gather; - is
    /// standard input.
    #[arg(long, value_name = "FILE|DIR|TAR", value_hint = clap::ValueHint::AnyPath, num_args = 1.., conflicts_with_all = ["kubeconfig", "context"])]
    from: Vec<PathBuf>,
    /// Stream metadata of other releases, whose images are then known: what `openshift-install
    /// coreos print-stream-json` prints; - is standard input.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, num_args = 1..)]
    streams: Vec<PathBuf>,
    /// The kubeconfig to use, instead of those that oc finds; - is standard input.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// The context to use, instead of the current one; several, with commas, are audited together.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    context: Vec<String>,
    /// Audit the clusters of all contexts of the kubeconfig together.
    #[arg(long, conflicts_with_all = ["context", "from"])]
    all_contexts: bool,
    /// An earlier audit (-o json): only what is new or worse is shown, and counts for the exit
    /// status.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    since: Option<PathBuf>,
    /// Sets that do not count, JSON or YAML: a list `exceptions` of `set`, `reason`, `until`
    /// (YYYY-MM-DD) and `cluster` (context, cluster ID or infrastructure name), which several
    /// clusters need. After that day the set counts again.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    exceptions: Option<PathBuf>,
    /// Refuse also what is an estimate: an image that the installer uploaded is probably that of the
    /// release that the cluster was installed as. An estimate never allows.
    #[arg(long)]
    estimates: bool,
    /// What a pipeline fails on: refused (3), unknown (3 and 4), or none. What could not be read is 1
    /// all the same.
    #[arg(
        long,
        value_enum,
        value_name = "refused|unknown|none",
        hide_possible_values = true,
        default_value = "unknown"
    )]
    fail_on: FailOn,
    /// Print a script, and do nothing else. objects: gathers what --from reads. labels: makes
    /// joined nodes label themselves, without a reboot. alephs: collects their aleph files for
    /// --from, where skewguard is not on them. fix: audits, and prints the commands that mend what
    /// they can.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "objects|labels|alephs|fix",
        num_args = 0..=1,
        default_missing_value = "objects"
    )]
    print_commands: Option<Script>,
    /// With --print-commands fix: also for a --target that is not the cluster's own release, whose
    /// images the sets then get.
    #[arg(long)]
    any_release: bool,
    /// How long each request to the server may take, such as 30s or 2m.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    request_timeout: Duration,
    /// Do not check the server's certificate. Whoever answers gets your credentials.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Show only these sets; the summary and the exit status stay those of all.
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// text: the conclusion, and what fits a screen. wide: all that is known. json and yaml: one
    /// object, whose fields are only ever added. html: one page, with a chart. markdown: for a
    /// job's summary. junit: a test for each set. csv: a row for each set.
    #[arg(
        long,
        short,
        value_enum,
        hide_possible_values = true,
        value_name = "text|wide|json|yaml|html|markdown|junit|csv",
        default_value = "text"
    )]
    output: Form,
    /// Show only these sets, with all that is known: NAME, NAMESPACE/NAME or KIND/NAME. They come
    /// before --from.
    #[arg(value_name = "SET", value_hint = clap::ValueHint::Other)]
    sets: Vec<String>,
}

/// A number without a unit is seconds, as for `oc`.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let time = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string())?,
    };
    if time.is_zero() {
        return Err("must be greater than zero".to_owned());
    }
    if time > fetch::LONGEST {
        return Err("has to be at most 10m".to_owned());
    }
    Ok(time)
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    if let Some(script) = args.print_commands.filter(|script| *script != Script::Fix) {
        return print_script(script, args, io);
    }
    let files = args
        .from
        .iter()
        .chain(&args.streams)
        .chain(&args.kubeconfig)
        .chain(&args.since)
        .chain(&args.exceptions);
    read_once(files.chain(&args.policy).map(PathBuf::as_path))?;
    let policy = args.policy.as_deref().map(named_policy).transpose()?;
    let exceptions = args
        .exceptions
        .as_deref()
        .map(exceptions::load)
        .transpose()?;
    let mut objects = Objects::default();
    for path in &args.streams {
        let file = named(path);
        input::read_text(path)
            .and_then(|text| objects.add_streams(&file, &text))
            .map_err(|why| {
                format!("--streams {file}: {why}; `openshift-install coreos print-stream-json` prints what is read")
            })?;
    }
    if let Some(fleet) = fleet::contexts(args)? {
        let asked = FleetRequest {
            args,
            policy: policy.as_ref(),
            exceptions: exceptions.as_ref(),
            streams: &objects,
        };
        return fleet::run(&asked, &fleet, io);
    }
    let before = args.since.as_deref().map(since::load).transpose()?;
    let (unread, origin) = if args.from.is_empty() {
        cluster::from_server(args, &mut objects, io)?
    } else {
        (input::read(&args.from, &mut objects)?, Origin::default())
    };
    let policy = policy.unwrap_or_else(|| starter(&objects));
    objects.read_at(clock::time(SystemTime::now()));
    let mut result = audit(
        &objects,
        &policy,
        args.target.as_deref(),
        unread,
        args.estimates,
    );
    if result.sets.is_empty() {
        for unread in &result.unread {
            io.say(format_args!("{}: {}", unread.what, unread.why));
        }
        return Err(
            "there is nothing to audit: no set of machines was read, and no machine or node without one"
                .into(),
        );
    }
    finish(&mut result, &objects, origin);
    if let Some(exceptions) = exceptions {
        let origin = result.origin.as_ref();
        let context = origin.and_then(|origin| origin.context.clone());
        exceptions.apply(&mut result, context.as_slice());
    }
    let mut exit = exit(&result);
    let mut conclusion = Conclusion::of(&result, &asked(args, args.context.first()));
    if let Some(before) = before {
        let since = before.compare(&result);
        exit = since.exit(&result);
        conclusion = since.conclude(&result, conclusion);
        result.since = Some(since);
    }
    if args.print_commands.is_some() {
        of_its_release(args, &result)?;
        let origin = result.origin.as_ref();
        let oc = commands::Oc {
            kubeconfig: args.kubeconfig.as_deref(),
            context: origin.and_then(|origin| origin.context.as_deref()),
        };
        let script = commands::render(&result, &conclusion, oc);
        io.out.write_all(script.as_bytes())?;
        return Ok(Exit::Done);
    }
    for name in &args.sets {
        if !result.sets.iter().any(|set| is_named(set, name)) {
            return Err(format!("{}: there is no such set", printable(name)).into());
        }
    }
    choose(args, &mut result);
    print(args, &result, &conclusion, io)?;
    let is_hidden = result.unread.iter().any(|unread| unread.hides_sets);
    Ok(args.fail_on.exit(exit, is_hidden))
}

/// The policy of a cluster for which none was named: what `policy init` writes for it.
pub(super) fn starter(objects: &Objects) -> PolicyInput {
    if objects.is_okd() {
        policy_input(STARTER_NAME_OKD, STARTER_OKD.as_bytes())
    } else {
        policy_input(STARTER_NAME, STARTER.as_bytes())
    }
}

/// What is to be known of rules that are older than a year.
fn old_rules(now: &str) -> Option<String> {
    let year = |time: &str| time.get(..4)?.parse::<u16>().ok();
    let (read, now_year) = (year(READ)?, year(now)?);
    let is_old = now_year > read + 1 || now_year == read + 1 && now.get(4..10) > READ.get(4..10);
    is_old.then(|| {
        format!("who keeps images up to date is said by rules that were read on {READ}, more than a year ago: a newer oc skewguard knows better")
    })
}

/// Adds where and when the objects were read.
fn finish(result: &mut BootImageAudit, objects: &Objects, origin: Origin) {
    result.origin = Some(Origin {
        cluster_id: objects.cluster_id.clone(),
        release: objects.release.clone(),
        infrastructure: objects.infrastructure_name.clone(),
        server: origin.server.or_else(|| objects.server.clone()),
        time: clock::time(SystemTime::now()),
        ..origin
    });
    let time = result.origin.as_ref().map(|origin| origin.time.clone());
    result
        .warnings
        .extend(time.and_then(|time| old_rules(&time)));
}

/// The script sets images, which have to be those of the release that the cluster runs.
///
/// # Errors
/// Another release was asked about, or the cluster's own is not known.
fn of_its_release(args: &Args, audit: &BootImageAudit) -> Result<(), Failure> {
    let Some(asked) = args.target.as_ref().filter(|_| !args.any_release) else {
        return Ok(());
    };
    if conclusion::is_own_release(audit, asked) {
        return Ok(());
    }
    let own = audit
        .origin
        .as_ref()
        .and_then(|origin| origin.release.as_deref());
    let own = own.map_or_else(
        || "of an unknown release".to_owned(),
        |own| format!("at {own}"),
    );
    Err(format!(
        "--print-commands fix --target {asked}: the cluster is {own}, and its sets would get the images of {asked}. Update the cluster first, leave \
         --target out, or say --any-release"
    )
    .into())
}

/// What is refused weighs most, then what was not read, then what is unknown.
fn exit(audit: &BootImageAudit) -> Exit {
    let any = |is: fn(&SetAudit) -> bool| {
        let mut counted = audit.sets.iter().filter(|set| !set.is_excepted());
        counted.any(is)
    };
    if any(SetAudit::would_be_refused) {
        Exit::Refused
    } else if audit.unread.iter().any(|unread| unread.hides_sets) {
        Exit::Failed
    } else if any(SetAudit::is_unknown) || audit.unread.iter().any(|unread| unread.makes_nodes) {
        Exit::Unknown
    } else {
        Exit::Done
    }
}

/// Leaves only the sets that were asked for. The summary stays that of all.
fn choose(args: &Args, result: &mut BootImageAudit) {
    result.sets.retain(|set| {
        let is_named = args.sets.is_empty() || args.sets.iter().any(|name| is_named(set, name));
        is_named
            && match args.only {
                None => true,
                Some(Only::Refused) => set.would_be_refused(),
                Some(Only::Unknown) => set.is_unknown(),
            }
    });
    // Objects for scripts have all sets, and beside them what changed.
    if let Some(since) = &result.since
        && !matches!(args.output, Form::Json | Form::Yaml)
    {
        result.sets.retain(|set| since.has(set));
    }
}

/// `NAME`, `NAMESPACE/NAME` or `KIND/NAME`. A row without a set has also the names of its members,
/// and that of its role or pool.
fn is_named(set: &SetAudit, name: &str) -> bool {
    let is_it = |name: &str| {
        let what = set.name.split_once(": ").map(|(what, _)| what);
        set.name == name
            || !set.members.is_empty()
                && (what == Some(name) || set.members.iter().any(|member| member == name))
    };
    is_it(name)
        || set.name.contains('/') && name.ends_with(&format!("/{}", set.name))
        || name.rsplit_once('/').is_some_and(|(before, after)| {
            is_it(after) && (set.namespace == before || set.kind.eq_ignore_ascii_case(before))
        })
}

/// A script that is the same for every cluster: what says which cluster would not count.
fn print_script(script: Script, args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let files = [
        &args.policy,
        &args.kubeconfig,
        &args.since,
        &args.exceptions,
    ];
    let has_files = files.iter().any(|file| file.is_some());
    let has_words = !args.context.is_empty()
        || args.all_contexts
        || args.target.is_some()
        || !args.sets.is_empty();
    if has_files || has_words || !args.from.is_empty() || !args.streams.is_empty() {
        io.say("this script is the same for every cluster and policy: name --print-commands alone");
        return Ok(Exit::Usage);
    }
    let script = match script {
        Script::Labels => kind_table::LABELS.to_owned(),
        Script::Alephs => kind_table::ALEPHS.to_owned(),
        Script::Objects | Script::Fix => kind_table::commands(),
    };
    io.out.write_all(script.as_bytes())?;
    Ok(Exit::Done)
}

/// How it was asked for, to ask once more about this context.
fn asked(args: &Args, context: Option<&String>) -> AuditRequest {
    let word = |path: &PathBuf| shell::word(&path.to_string_lossy());
    let mut arguments = String::new();
    for (name, paths) in [
        ("policy", args.policy.as_slice()),
        ("kubeconfig", args.kubeconfig.as_slice()),
        ("from", &*args.from),
        ("streams", &*args.streams),
        ("exceptions", args.exceptions.as_slice()),
    ] {
        let words: Vec<String> = paths.iter().map(word).collect();
        if !words.is_empty() {
            arguments += &format!(" --{name} {}", words.join(" "));
        }
    }
    for (name, value) in [("context", context), ("target", args.target.as_ref())] {
        if let Some(value) = value {
            arguments += &format!(" --{name} {}", shell::word(value));
        }
    }
    AuditRequest {
        arguments,
        policy: args.policy.as_ref().map(word),
        target: args.target.clone(),
    }
}

fn print(
    args: &Args,
    result: &BootImageAudit,
    conclusion: &Conclusion,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let detail = match args.output {
        Form::Text if args.sets.is_empty() => Detail::Row,
        _ => Detail::All,
    };
    let text = match args.output {
        Form::Text | Form::Wide => text::render(result, conclusion, detail, terminal()),
        Form::Json => serde_json::to_string_pretty(result)? + "\n",
        Form::Yaml => yaml(result),
        Form::Html => html::render(result, conclusion),
        Form::Markdown => markdown::render(result, conclusion),
        Form::Junit => junit::render(result, conclusion)?,
        Form::Csv => csv::render(result)?,
    };
    Ok(io.out.write_all(text.as_bytes())?)
}

/// How standard output shows text. Colour is used only on a terminal, and not if `NO_COLOR` is set
/// (<https://no-color.org>).
fn terminal() -> Terminal {
    let stdout = std::io::stdout();
    let size = stdout
        .is_terminal()
        .then(terminal_size::terminal_size)
        .flatten()
        .filter(|(columns, rows)| columns.0 > 0 && rows.0 > 0);
    Terminal {
        columns: size.map(|(columns, _)| usize::from(columns.0)),
        rows: size.map(|(_, rows)| usize::from(rows.0)),
        colour: AutoStream::choice(&stdout) != ColorChoice::Never,
    }
}

/// A terminal that knows no escape sequences.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
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
