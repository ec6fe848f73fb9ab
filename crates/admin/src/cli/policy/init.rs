//! `oc skewguard policy init`: a policy to start from.

use super::{exists, write};
use crate::audit::{Objects, operator_settings};
use crate::cli::cluster;
use crate::lint::shape::REFERENCE;
use crate::lint::starter::{STARTER, STARTER_OKD, hosted};
use crate::operator::unknown_release;
use crate::policy::fields::minimum_ocp;
use crate::trouble::{full_text, tell};
use crate::version::{NotARelease, Release};
use clap::ValueHint;
use skewguard_cluster::connect::fetch::SETTINGS;
use skewguard_cluster::connect::login;
use skewguard_cluster::file::name as named;
use skewguard_cluster::files::input;
use skewguard_core::command::{Exit, Failure, Io, read_once};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Write a policy to start from
///
/// It warns and refuses nothing. It has known issues (`policy known-issues` prints all that there are), and limits for
/// what fails. Before OCP 4.22 every boot image is allowed that skewguard understands. From 4.22 on the
/// minimums are OCP 4.13 and RHEL 9.2: the Machine Config Operator enforces them itself; 4.23 and 5.0 have
/// them once more, since they no longer have a daemon for boot images of RHEL 8. With --okd the limits
/// are minimums and maximums of Fedora CoreOS and CentOS Stream CoreOS, and the known issues are OKD's.
/// With --hosted it is for the nodes of HyperShift's NodePools of one release: they do not know their
/// release, and get no limit that has one.
///
/// With --from-cluster or --from it has the limits that the Machine Config Operator of that
/// cluster's release has, for its pools and OS image streams; and where the cluster opted out, mode
/// None. Before OCP 4.22 the operator has none, which is an error, as is a release whose limits are not
/// known. For a cluster of OKD it is what --okd writes.
#[derive(Debug, clap::Args)]
#[command(after_help = concat!("\
Examples:
  oc skewguard policy init > policy.json
  oc skewguard policy init --file policy.json
  oc skewguard policy init --hosted 4.22 > nodepool.json
  oc skewguard policy init --from-cluster --file policy.json
  oc skewguard policy init --from must-gather.local.*/ \\
    > policy.json

Limits in place of those that it writes, for all pools but the
control plane:
  \"limits\": [
    { \"deniedVersions\": [] },
    { \"release\": \"4.22\", \"pools\": [\"master\"], \"deniedVersions\": [] },
    { \"release\": \"4.22\", \"minimumOCPVersion\": \"4.13.0\",
      \"minimumRHCOSVersion\": \"9.2\" } ]

The same, where one old pool may stay as it is, whose user data asks for
/config/old (other custom pools boot as worker):
  \"limits\": [
    { \"deniedVersions\": [] },
    { \"release\": \"4.22\", \"pools\": [\"old\"], \"deniedVersions\": [] },
    { \"release\": \"4.22\", \"minimumOCPVersion\": \"4.13.0\",
      \"minimumRHCOSVersion\": \"9.2\" } ]

Where each limit comes from, and how to find the next:
  ", crate::docs!("policy.md"))
)]
pub(super) struct Args {
    /// File to write instead of standard output; the description of the fields is written beside
    /// it, with the ending .md.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// For a cluster of OKD.
    #[arg(long, conflicts_with_all = ["from_cluster", "from"])]
    okd: bool,
    /// For the nodes of HyperShift's NodePools of this release, x.y or x.y.z.
    #[arg(long, value_name = "RELEASE", value_parser = release, conflicts_with_all = ["okd", "from_cluster", "from"])]
    hosted: Option<Release>,
    /// Replace files that exist.
    #[arg(long, requires = "file")]
    force: bool,
    /// Make it from the cluster that oc reaches.
    #[arg(long, conflicts_with = "from")]
    from_cluster: bool,
    /// Make it from files of `oc get -o json` or YAML, and folders such as a must-gather; - is
    /// standard input.
    #[arg(long, short = 'f', value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, num_args = 1..)]
    from: Vec<PathBuf>,
    /// The kubeconfig to use, instead of those that oc finds; - is standard input.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "from_cluster")]
    kubeconfig: Option<PathBuf>,
    /// The context to use, instead of the current one.
    #[arg(long, value_name = "NAME", requires = "from_cluster")]
    context: Option<String>,
}

/// # Errors
/// It is no OCP release that has NodePools.
fn release(text: &str) -> Result<Release, NotARelease> {
    let release = minimum_ocp(text).filter(|release| matches!(release.minor.major, 4 | 5));
    release.ok_or(NotARelease)
}

/// The most time that a request to the server may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

const WARNS: &str = "This policy warns and refuses nothing.";
const OPT_OUT: &str = "\
This policy does nothing: the cluster opted out of boot image skew enforcement.";
const NOTE: &str = " Check it with `oc skewguard policy lint`
after editing; `oc skewguard policy init --file FILE` also describes its fields.
";

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let (text, does) = start(args, io)?;
    let Some(policy) = args.file.as_ref().filter(|file| **file != Path::new("-")) else {
        io.out.write_all(text.as_bytes())?;
        // Where nobody reads it, it is lost.
        let _ = write!(io.err, "{does}{NOTE}");
        return Ok(Exit::Done);
    };
    let description = policy.with_extension("md");
    if description == *policy {
        return Err(format!(
            "{}: FILE is the policy, its description gets the ending .md; name it .json",
            named(policy)
        )
        .into());
    }
    // Both are checked before either is written.
    if !args.force {
        for path in [policy, &description] {
            if path.symlink_metadata().is_ok() {
                return Err(exists(path));
            }
        }
    }
    write(policy, &text, args.force)?;
    write(&description, &REFERENCE, args.force)?;
    writeln!(
        io.out,
        "wrote {} and {}",
        named(policy),
        named(&description)
    )?;
    if does != WARNS {
        writeln!(io.out, "{does}")?;
    }
    Ok(Exit::Done)
}

/// The policy to write, and what it does.
fn start(args: &Args, io: &mut Io<'_>) -> Result<(String, &'static str), Failure> {
    let mut objects = Objects::default();
    let mut unread = Vec::new();
    if args.from_cluster {
        let asked = login::LoginRequest {
            file: args.kubeconfig.as_deref(),
            context: args.context.as_deref(),
            insecure: false,
            is_one_of_many: false,
        };
        let scope = cluster::Scope::Kinds(&SETTINGS);
        (unread, _) = cluster::read(asked, REQUEST_TIMEOUT, scope, &mut objects, io)?;
    } else if let Some(release) = args.hosted {
        if let Some(unknown) = unknown_release(&release.to_string()) {
            io.say(format_args!("warning: {unknown}"));
        }
        return Ok((hosted(release), WARNS));
    } else if args.from.is_empty() {
        let starter = if args.okd { &STARTER_OKD } else { &STARTER };
        return Ok((starter.to_string(), WARNS));
    }
    read_once(args.from.iter().map(PathBuf::as_path))?;
    unread.extend(input::read(&args.from, &mut objects).map_err(full_text)?);
    for mut unread in unread {
        tell(&mut unread);
        io.say(unread);
    }
    if objects.is_okd() {
        return Ok(if objects.is_opt_out() {
            let none = STARTER_OKD.replacen(r#""mode": "Warn""#, r#""mode": "None""#, 1);
            (none, OPT_OUT)
        } else {
            (STARTER_OKD.to_string(), WARNS)
        });
    }
    let settings = operator_settings(&objects)?;
    if settings.mode.is_none() {
        io.say("warning: MachineConfiguration `cluster` has no status of boot image skew enforcement, so it is not known whether the cluster opted out");
    }
    let does = if settings.is_opt_out() {
        OPT_OUT
    } else {
        WARNS
    };
    Ok((settings.policy(), does))
}
