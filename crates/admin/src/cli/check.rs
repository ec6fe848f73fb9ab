//! `oc skewguard check`: what a policy says to a boot image, without a node.

use super::inputs::{
    POLICY_VARIABLE, named_policy, other_kind, policy_name, read_file, starter_of, warn_of_target,
};
use super::inspect::{self, TextOrJson};
use crate::aleph;
use crate::data::is_ami;
use crate::lint::meant_pool;
use crate::platform::Platform;
use crate::policy::{LimitRelease, Mode};
use crate::text::{printable, printable_up_to};
use crate::verdict::{
    BootImage, Facts, ImageSource, Machine, PolicyInput, Target, TargetInput, decide, text,
};
use crate::version::{ImageVersion, OsFamily};
use skewguard_cluster::file::name as named;
use skewguard_cluster::kinds::target::is_okd;
use skewguard_core::command::{Exit, Failure, Io, parse_release, read_once};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("of").required(true), after_help = "\
Exit status: 0 proceed, 1 could not do it, 2 wrong usage, 3 refused. A policy in mode Warn refuses nothing: it says \
\"Would be refused\", and the status is 0; --mode enforce makes that 3, as in `audit`.

Examples:
  oc skewguard check --target 4.22.1 \\
    --image 412.86.202301311551-0
  oc skewguard check --policy policy.yaml --aleph aleph.json
  oc skewguard check --policy policy.yaml \\
    --aleph aleph.json --target 4.22
  oc skewguard check --policy policy.yaml \\
    --aleph a.json --mode enforce
  ssh core@NODE cat /sysroot/.coreos-aleph-version.json |
    oc skewguard check --policy policy.yaml --aleph -")]
pub(super) struct Args {
    /// The policy, JSON or YAML; - is standard input. Default: what `policy init` writes; for an image or a
    /// release of OKD, `policy init --okd`.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, value_parser = policy_name(), env = POLICY_VARIABLE, hide_env_values = true)]
    policy: Option<PathBuf>,
    /// The boot image's aleph file; - is standard input.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, group = "of")]
    aleph: Option<PathBuf>,
    /// The boot image's version, or a name or id as `inspect` reads it, in place of its aleph file.
    #[arg(long, value_name = "VERSION", group = "of")]
    image: Option<String>,
    /// Release to ask about, such as the one to upgrade to.
    #[arg(long, value_name = "RELEASE", value_parser = parse_release)]
    target: Option<String>,
    /// Pool to ask about.
    #[arg(long, value_name = "POOL", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pool: Option<String>,
    /// Platform to ask about, as Ignition calls it, such as vmware.
    #[arg(long, value_name = "PLATFORM", value_parser = parse_platform)]
    platform: Option<Platform>,
    /// Architecture to ask about.
    #[arg(long, value_name = "ARCHITECTURE", value_parser = ARCHITECTURES)]
    architecture: Option<String>,
    /// Judge as if this were the policy's mode.
    #[arg(long, value_enum, ignore_case = true)]
    mode: Option<AsMode>,
    /// Form of the verdict.
    #[arg(long, short, value_enum, ignore_case = true, default_value = "text")]
    output: TextOrJson,
}

const ARCHITECTURES: [&str; 4] = ["x86_64", "aarch64", "ppc64le", "s390x"];

fn parse_platform(name: &str) -> Result<Platform, String> {
    let ids = || Platform::ALL.map(Platform::id).join(", ");
    Platform::named(name).ok_or_else(|| format!("it is one of {}", ids()))
}

/// A mode to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum AsMode {
    Enforce,
}

/// Makes the policy's mode Enforce, with a warning that says so.
fn enforce(policy: &mut PolicyInput) -> Option<String> {
    let PolicyInput::Valid { policy, .. } = policy else {
        return None;
    };
    let own = std::mem::replace(&mut policy.mode, Mode::Enforce);
    let says = format!("judged as if the policy's mode were Enforce; it is {own:?}");
    (own != Mode::Enforce).then_some(says)
}

/// The limits that are for a release or for pools, where none was named.
fn not_compared(policy: &PolicyInput, args: &Args) -> Vec<String> {
    let PolicyInput::Valid { policy, .. } = policy else {
        return Vec::new();
    };
    let limits = || policy.limits.iter();
    let release = |release| match release {
        LimitRelease::Exact(exact) => exact.to_string(),
        LimitRelease::Minor(minor) => minor.to_string(),
    };
    let releases = limits().filter_map(|limit| limit.release).map(release);
    let pools = limits().flat_map(|limit| limit.pools.iter().flatten().cloned());
    let says = |is_named: bool, what: &str, mut names: Vec<String>, option: &str| {
        names.dedup();
        let names = names.join(", ");
        (!is_named && !names.is_empty())
            .then(|| format!("Not compared with the limits for {what}{names}: {option} names one"))
    };
    let named = (args.target.is_some(), args.pool.is_some());
    let releases = says(named.0, "", releases.collect(), "--target");
    let pools = says(named.1, "pool ", pools.collect(), "--pool");
    releases.into_iter().chain(pools).collect()
}

/// The policy that `policy init` writes for such an image, or such a release; a warning where these are not of one product.
fn starter(version: &ImageVersion, release: Option<&str>) -> (PolicyInput, Option<String>) {
    let is_of_okd = matches!(version.os_family(), Some(OsFamily::Fcos | OsFamily::Scos));
    let other = release.filter(|release| is_of_okd && !is_okd(release));
    let says = |release| {
        format!(
            "{version} is an image of OKD, and judged as there; on a cluster of OpenShift {release} no limit is for it"
        )
    };
    let policy = starter_of(is_of_okd || release.is_some_and(is_okd));
    (policy, other.map(says))
}

/// The remedy for what is no aleph file.
const ON_NODE: &str = "a node has it as /sysroot/.coreos-aleph-version.json";

/// The boot image's version, and where it stands.
fn image(args: &Args) -> Result<(ImageVersion, String), Failure> {
    if let Some(text) = &args.image {
        let (version, _) = inspect::decode(text);
        if !version.is_known() {
            let shown = printable_up_to(text, 256);
            let help = inspect::help(is_ami(text));
            return Err(
                format!("--image {shown}: no version that skewguard recognizes; {help}").into(),
            );
        }
        return Ok((version, "--image".to_owned()));
    }
    let path = args.aleph.as_deref().unwrap_or_else(|| Path::new("-"));
    let file = named(path);
    let bytes = read_file(path, aleph::MAX_BYTES, ON_NODE)
        .map_err(|error| format!("--aleph {file}: {error}"))?;
    let version = aleph::version(&bytes).map_err(|error| {
        let what = match other_kind(&bytes) {
            Some(kind) => format!("this is a {kind}, not an aleph file"),
            None if bytes.is_empty() => "is empty".to_owned(),
            None => error,
        };
        format!("--aleph {file}: {what}; {ON_NODE}")
    })?;
    Ok((version, file))
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let files = args.policy.iter().chain(&args.aleph);
    read_once(files.map(PathBuf::as_path))?;
    let policy = args.policy.as_deref().map(named_policy).transpose()?;
    let (version, file) = image(args)?;
    let (mut policy, other) = match policy {
        Some(policy) => (policy, None),
        None => starter(&version, args.target.as_deref()),
    };
    let warning = args.mode.and_then(|AsMode::Enforce| enforce(&mut policy));
    let beyond = not_compared(&policy, args);
    let said = match args.output {
        TextOrJson::Json => beyond.clone(),
        // It stands above the verdict.
        TextOrJson::Text => Vec::new(),
    };
    let target = target(args, io);
    let verdict = decide(&Facts {
        boot_image: Some(BootImage {
            version,
            source: ImageSource::Aleph,
            path: file,
        }),
        platform: args.platform.map(|platform| platform.id().to_owned()),
        machine: Machine {
            architecture: args.architecture.clone(),
            ..Machine::default()
        },
        warnings: warning.into_iter().chain(other).chain(said).collect(),
        ..Facts::new(policy, target)
    });
    match args.output {
        TextOrJson::Text => {
            for beyond in beyond {
                writeln!(io.out, "{beyond}\n")?;
            }
            io.out.write_all(text::render(&verdict).as_bytes())?;
        }
        TextOrJson::Json => {
            writeln!(io.out, "{}", serde_json::to_string_pretty(&verdict)?)?;
        }
    }
    Ok(if verdict.blocks() {
        Exit::Refused
    } else {
        Exit::Done
    })
}

/// The release and the pool that are asked about. Warns of names that are likely others.
fn target(args: &Args, io: &mut Io<'_>) -> TargetInput {
    warn_of_target(args.target.as_deref(), io);
    if let Some(pool) = &args.pool
        && let Some(meant) = meant_pool(pool)
    {
        let (pool, meant) = (printable(pool), printable(&meant));
        io.say(format_args!("warning: --pool {pool}: is it {meant}?"));
    }
    match args.target.is_some() || args.pool.is_some() {
        true => TargetInput::Read(Target {
            release: args.target.clone(),
            pool: args.pool.as_deref().map(printable),
            ..Target::default()
        }),
        false => TargetInput::Absent,
    }
}
