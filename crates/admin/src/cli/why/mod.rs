//! `oc skewguard why`: why a Machine did not become a Node. Reads, prints, changes nothing.

mod groups;
mod page;

use super::cluster::{self, parse_time};
use super::inputs::{
    POLICY_VARIABLE, check_names, files_and_names, named_policy, policy_name, starter_of,
};
use crate::audit::results::MAX_NOT_UNDERSTOOD;
use crate::audit::{Objects, Origin, Unread, audit};
use crate::forms::terminal::Terminal;
use crate::forms::yaml;
use crate::text::printable;
use crate::trouble::{full_text, tell};
use crate::why::{Question, why};
use skewguard_cluster::connect::login::LoginRequest;
use skewguard_cluster::files::input;
use skewguard_cluster::kinds::kind::Purpose;
use skewguard_cluster::kinds::scripts;
use skewguard_cluster::moment::Moment;
use skewguard_core::command::{Exit, Failure, Io, read_once};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The form that it is printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// For a person, in 80 columns.
    Text,
    /// For a script; fields are only ever added.
    Json,
    /// The same as YAML.
    Yaml,
    /// For a ticket.
    Markdown,
}

/// A script that is printed instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Script {
    Objects,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "oc skewguard why [MACHINE|NODE|HOST]... [OPTIONS]",
    after_help = concat!("\
Exit status: 0 said why, also where that is unknown, 1 nothing could be read, 2 wrong usage.

Reads with get and list only; `oc skewguard render manifests --auditor --why` has the least rights for it. Without those for Secrets or \
logs it says what it could not see.

Examples:
  oc skewguard why
  oc skewguard why c1-worker-us-east-1a-x7k2p
  oc skewguard why --from must-gather.local.*/
  oc skewguard why --print-commands | sh
  oc skewguard why --from objects
  oc skewguard why -o markdown worker-7 >ticket.md
  oc skewguard why -o json | jq -r '.machines[].sentence'

More:
  ", crate::docs!("did-not-join.md"))
)]
pub(super) struct Args {
    /// Machines, Nodes, BareMetalHosts or Agents: NAME, NAMESPACE/NAME or KIND/NAME. Default: all
    /// that are older than ten minutes and have no Node. Behind --from what is no file is a name, too.
    #[arg(value_name = "MACHINE|NODE|HOST", value_hint = clap::ValueHint::Other)]
    names: Vec<String>,
    /// Look at this namespace alone.
    #[arg(long, short, value_name = "NAMESPACE", value_hint = clap::ValueHint::Other)]
    namespace: Option<String>,
    /// Look at all namespaces, which is the default.
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Files of `oc get -o json` or YAML, logs of the machine-config-server, and folders and
    /// archives such as a must-gather; - is standard input.
    #[arg(long, short = 'f', value_name = "FILE|DIR|TAR", value_hint = clap::ValueHint::AnyPath, num_args = 1.., conflicts_with_all = ["kubeconfig", "context"])]
    from: Vec<PathBuf>,
    /// Print a script that gathers into ./objects what --from reads, and do nothing else.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "objects",
        num_args = 0..=1,
        default_missing_value = "objects",
        conflicts_with_all = ["names", "output"]
    )]
    print_commands: Option<Script>,
    /// The policy by which boot images are judged, JSON or YAML. Default: what `policy init` writes.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, value_parser = policy_name(), env = POLICY_VARIABLE, hide_env_values = true)]
    policy: Option<PathBuf>,
    /// The kubeconfig to use, instead of those that oc finds; - is standard input.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// The context to use, instead of the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The time that each request to the server may take, with its repetitions, such as 30s or 2m.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    request_timeout: Duration,
    /// Do not check the server's certificate. Whoever answers gets your credentials.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// text: a sentence, the steps and the evidence. json and yaml: one object, whose fields are only
    /// ever added. markdown: for a ticket.
    #[arg(
        long,
        short,
        value_enum,
        ignore_case = true,
        hide_possible_values = true,
        value_name = "text|json|yaml|markdown",
        default_value = "text"
    )]
    output: Form,
}

pub(super) fn run(args: &Args, terminal: Terminal, io: &mut Io<'_>) -> Result<Exit, Failure> {
    if args.print_commands.is_some() {
        return print_script(args, io);
    }
    check_names(&args.from, &args.names)?;
    let (from, names) = files_and_names(&args.from, &args.names);
    let files = from.iter().chain(&args.kubeconfig).chain(&args.policy);
    read_once(files.map(PathBuf::as_path))?;
    let policy = args.policy.as_deref().map(named_policy).transpose()?;
    let clock = Moment::of(SystemTime::now());
    let mut objects = Objects::new(Purpose::Nodes, clock, from.is_empty());
    let input = (from.as_slice(), names.as_slice());
    let (mut unread, origin) = read(args, input, &mut objects, clock, io)?;
    // An empty list is no error: it says that there is none.
    if objects.has_no_nodes() && objects.empty_lists == 0 && objects.has_only_others() {
        for mut unread in unread {
            tell(&mut unread);
            io.say(format_args!("{}: {}", unread.what, unread.why));
        }
        return Err(nothing(&from).into());
    }
    warn_of_namespace(args, &objects, io);
    let policy = policy.unwrap_or_else(|| starter_of(objects.is_okd()));
    let result = audit(&objects, &policy, None, Vec::new(), false);
    let origin = origin.map(|origin| Origin {
        server: origin.server,
        context: origin.context,
        time: clock.text(),
        ..result.origin.clone()
    });
    // Those of the audit; the ones that are asked for here have a name.
    unread.retain(|unread| !unread.is_estimated);
    let not_understood = objects.not_understood.iter();
    unread.extend(not_understood.take(MAX_NOT_UNDERSTOOD).cloned());
    unread.iter_mut().for_each(tell);
    let report = why(
        &objects,
        Question {
            names: &names,
            namespace: args.namespace.as_deref(),
            now: objects.clock().unwrap_or(clock),
            audit: &result,
            origin,
            unread,
        },
    )?;
    let text = match args.output {
        Form::Text => page::text(&report, terminal)?,
        Form::Json => serde_json::to_string_pretty(&report)? + "\n",
        Form::Yaml => yaml(&report),
        Form::Markdown => page::markdown(&report)?,
    };
    io.out.write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Warns of a namespace in which nothing is asked about.
fn warn_of_namespace(args: &Args, objects: &Objects, io: &mut Io<'_>) {
    let namespace = args.namespace.as_ref();
    if let Some(namespace) = namespace.filter(|namespace| !objects.has_in(namespace)) {
        let namespace = printable(namespace);
        io.say(format_args!(
            "nothing that should become a node is in namespace {namespace}"
        ));
    }
}

/// Reason why there is nothing to say.
fn nothing(from: &[PathBuf]) -> String {
    let remedy = match from {
        [] => "",
        _ => "; `oc skewguard why --print-commands` prints a script that gathers what is read",
    };
    format!(
        "nothing was read that should become a node: no Machine, BareMetalHost or Agent{remedy}"
    )
}

/// Reads what was asked for: what could not be read, and of a cluster which it is.
fn read(
    args: &Args,
    (from, names): (&[PathBuf], &[String]),
    objects: &mut Objects,
    clock: Moment,
    io: &mut Io<'_>,
) -> Result<(Vec<Unread>, Option<Origin>), Failure> {
    if !from.is_empty() {
        return Ok((input::read(from, objects).map_err(full_text)?, None));
    }
    let asked = LoginRequest {
        file: args.kubeconfig.as_deref(),
        context: args.context.as_deref(),
        insecure: args.insecure_skip_tls_verify,
        is_one_of_many: false,
    };
    let scope = cluster::Scope::Nodes(clock, names);
    let (unread, origin) = cluster::read(asked, args.request_timeout, scope, objects, io)?;
    Ok((unread, Some(origin)))
}

/// Prints the script that gathers what --from reads.
fn print_script(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let has_input = args.kubeconfig.is_some() || args.context.is_some();
    if has_input || !args.from.is_empty() {
        io.say("this script is the same for every cluster: name --print-commands alone");
        return Ok(Exit::Usage);
    }
    io.out
        .write_all(scripts::commands(Purpose::Nodes).as_bytes())?;
    Ok(Exit::Done)
}
