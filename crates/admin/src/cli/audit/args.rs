//! The arguments of `oc skewguard audit`.

use super::super::inputs::{POLICY_VARIABLE, policy_name};
use crate::cli::cluster::parse_time;
use skewguard_core::command::{Exit, parse_release};
use std::path::PathBuf;
use std::time::Duration;

/// A form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// The conclusion, and a row for each set.
    Text,
    /// All that is known of each set.
    Wide,
    /// For a script; fields are only ever added.
    Json,
    /// The same as YAML.
    Yaml,
    /// A file for a browser, with a chart; it needs no network.
    Html,
    /// For the summary of a job, or a comment on a pull request.
    Markdown,
    /// A test for each set.
    Junit,
    /// A row for each set, for a spreadsheet.
    Csv,
    /// For code scanning, such as GitHub's.
    Sarif,
}

impl Form {
    /// Tells whether it has a place for `--path`.
    pub(super) fn has_path(self) -> bool {
        matches!(
            self,
            Self::Text | Self::Wide | Self::Json | Self::Yaml | Self::Markdown
        )
    }
}

/// A script, to be run where `oc` reaches the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Script {
    Objects,
    Labels,
    Alephs,
    Fix,
}

/// The outcomes that make the exit status other than 0, beside what could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FailOn {
    Refused,
    Unknown,
    Later,
    None,
}

impl FailOn {
    /// Of this status; `is_hidden` where sets may be missing, `is_later` where a later release
    /// would refuse some, `is_open` where that is not known of some.
    pub(super) fn exit(self, exit: Exit, is_hidden: bool, [is_later, is_open]: [bool; 2]) -> Exit {
        match (self, exit) {
            (Self::Later, Exit::Done) if is_open && !is_later => Exit::Unknown,
            (Self::Later, Exit::Done | Exit::Unknown) if is_later => Exit::Refused,
            (Self::None, Exit::Refused) if is_hidden => Exit::Failed,
            (Self::Refused | Self::None, Exit::Unknown) | (Self::None, Exit::Refused) => Exit::Done,
            _ => exit,
        }
    }
}

/// The sets that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Only {
    /// Sets whose next node would be refused.
    Refused,
    /// Sets whose outcome is unknown.
    Unknown,
}

#[derive(Debug, Clone, clap::Args)]
#[command(
    override_usage = "oc skewguard audit [SET]... [OPTIONS]\n       \
        oc skewguard audit --print-commands [objects|labels|alephs|fix]",
    after_help = concat!("\
Exit status: 0 nothing would be refused, 1 it could not look at everything that makes nodes, 2 wrong usage, \
3 something would be refused, 4 nothing would be refused, but not everything is known. Where 1 and 3 both hold it is 3, unless a whole \
cluster was not read, or only a later release would refuse. Sets with an exception do not count; \
with --since only those count that are new or worse. What only a later release of the policy would refuse is said, and fails with --fail-on later.

Reads with get and list only; `oc skewguard render manifests --auditor` has the least ClusterRole for it. Kubeconfigs are found as oc finds them: \
KUBECONFIG, then ~/.kube/config.

Examples:
  oc skewguard audit
  oc skewguard audit --policy policy.json
  oc skewguard audit --policy policy.json --target 4.22
  oc skewguard audit --path 5.0
  oc skewguard audit --policy policy.json -o html >page.html
  oc skewguard audit --policy policy.json -o json |
    jq -r '.sets[] | select(.action == \"Block\") | .name'
  oc skewguard audit --print-commands fix >fix.sh

In a pipeline:
  oc skewguard audit --exceptions exceptions.yaml \\
    -o junit >audit.xml
  oc skewguard audit --policy policy.json \\
    --since audit.json -o markdown
  oc skewguard audit --from manifests -o sarif >audit.sarif

For a cluster that cannot be reached from here:
  oc skewguard audit --print-commands >gather.sh
  oc skewguard audit --policy policy.json --from objects
  oc skewguard audit --from must-gather.local.*/

Where versions are unknown:
  oc skewguard audit --print-commands labels >labels.sh
  oc skewguard audit --print-commands alephs >alephs.sh
  oc skewguard audit --streams rhcos-4.1*.json

More:
  ", crate::docs!("audit.md"))
)]
pub(in crate::cli) struct Args {
    /// The policy to try, JSON or YAML; it is judged as if its mode were Enforce. Default: the
    /// limits and known issues that `policy init` writes; on a cluster of OKD, `policy init --okd`.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, value_parser = policy_name(), env = POLICY_VARIABLE, hide_env_values = true)]
    pub(super) policy: Option<PathBuf>,
    /// Release to ask about, such as the one to upgrade to. Default: the cluster's own.
    #[arg(long, value_name = "RELEASE", value_parser = parse_release)]
    pub(super) target: Option<String>,
    /// What to do on the way to this release, by when: the sets are judged at each release between. With -o text,
    /// wide, json, yaml or markdown, and with --print-commands fix, which then prints what may be done now.
    #[arg(long, value_name = "RELEASE", value_parser = parse_release, conflicts_with_all = ["target", "since"])]
    pub(super) path: Option<String>,
    /// Files of `oc get -o json` or YAML, and folders and archives such as a must-gather; - is
    /// standard input.
    #[arg(long, short = 'f', value_name = "FILE|DIR|TAR", value_hint = clap::ValueHint::AnyPath, num_args = 1.., conflicts_with_all = ["kubeconfig", "context"])]
    pub(super) from: Vec<PathBuf>,
    /// Stream metadata of other releases, whose images are then known: what `openshift-install
    /// coreos print-stream-json` prints; - is standard input.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, num_args = 1..)]
    pub(super) streams: Vec<PathBuf>,
    /// The kubeconfig to use, instead of those that oc finds; - is standard input.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The context to use, instead of the current one; several, with commas, are audited together.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) context: Vec<String>,
    /// Audit the clusters of all contexts of the kubeconfig together.
    #[arg(long, conflicts_with_all = ["context", "from"])]
    pub(super) all_contexts: bool,
    /// An earlier audit (-o json): only what is new or worse is shown, and counts for the exit
    /// status.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) since: Option<PathBuf>,
    /// Sets that do not count, JSON or YAML: a list `exceptions` of `set`, `reason`, `until`
    /// (YYYY-MM-DD) and `cluster` (context, cluster ID or infrastructure name), which several
    /// clusters need. After that day the set counts again.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) exceptions: Option<PathBuf>,
    /// Refuse also what is an estimate: an image that the installer uploaded is probably that of the
    /// release that the cluster was installed as. An estimate never allows.
    #[arg(long)]
    pub(super) estimates: bool,
    /// The outcome that fails a pipeline: refused (3), unknown (3 and 4), later (these, and 3 for what a later
    /// release of the policy would refuse; with --path its steps), or none. What could not be read is 1 all the same.
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        value_name = "refused|unknown|later|none",
        hide_possible_values = true,
        default_value = "unknown"
    )]
    pub(super) fail_on: FailOn,
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
        default_missing_value = "objects",
        conflicts_with = "output"
    )]
    pub(super) print_commands: Option<Script>,
    /// With --print-commands fix: also for a --target before the cluster's own release, or where that
    /// is unknown: the sets then get the target's images.
    #[arg(long, requires = "print_commands")]
    pub(super) any_release: bool,
    /// The time that each request to the server may take, with its repetitions, such as 30s or 2m.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub(super) request_timeout: Duration,
    /// Do not check the server's certificate. Whoever answers gets your credentials.
    #[arg(long)]
    pub(super) insecure_skip_tls_verify: bool,
    /// Show only the sets of this namespace; the summary and the exit status stay those of all.
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
    /// Show the sets of all namespaces, which is the default.
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    pub(super) all_namespaces: bool,
    /// Show only these sets; the summary and the exit status stay those of all.
    #[arg(long, value_enum, ignore_case = true)]
    pub(super) only: Option<Only>,
    /// text: the conclusion, and a row for each set. wide: all that is known. json and yaml: one
    /// object, whose fields are only ever added. html: one page, with a chart. markdown: for a
    /// job's summary. junit: a test for each set. csv: a row for each set. sarif: for code scanning, with
    /// the line of each set in the files of --from.
    #[arg(
        long,
        short,
        value_enum,
        ignore_case = true,
        hide_possible_values = true,
        value_name = "text|wide|json|yaml|html|markdown|junit|csv|sarif",
        default_value = "text"
    )]
    pub(super) output: Form,
    /// Show only these sets, with all that is known: NAME, NAMESPACE/NAME or KIND/NAME. Behind
    /// --from what is no file is a name, too.
    #[arg(value_name = "SET", value_hint = clap::ValueHint::Other)]
    pub(super) sets: Vec<String>,
}
