//! `oc skewguard render`: what to apply to a cluster or give to Ignition. Reads files, prints, changes
//! nothing.

mod in_cluster;

use super::inputs::{POLICY_VARIABLE, policy_name, read_file, read_policy};
use crate::forms::yaml;
use crate::lint::{Rule, Severity};
use crate::policy::{self, Policy};
use crate::render::binary::{Binary, Compression, EMBED_REMEDY, MAX_BINARY};
use crate::render::ignition::Spec;
use crate::render::json;
use crate::render::machineconfig::{self, config, header, role, warning};
use crate::render::manifests::{Audit, ImageReference, Manifests, auditor};
use crate::render::pointer::{AWS_USER_DATA_MAX, EXTRACT, MAX_USER_DATA, Pointer};
use crate::render::size::{
    ISO_IGNITION_MAX, MAX_RENDERED, RENDERED_REMEDY, Sizes, figure, rest_of_rendered,
};
use crate::text::hex;
use crate::yaml::for_nodes;
use clap::{Subcommand, ValueHint};
use sha2::{Digest, Sha256};
use skewguard_cluster::file::name as named;
use skewguard_cluster::names::count;
use skewguard_core::command::{Exit, Failure, Io, read_once};
use std::fmt::Display;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    #[command(name = "machineconfig")]
    MachineConfig(MachineConfigArgs),
    Ignition(IgnitionArgs),
    Pointer(PointerArgs),
    Manifests(ManifestsArgs),
    #[command(name = "node-disruption-policy")]
    NodeDisruption(in_cluster::NodeDisruptionArgs),
    Alerts(in_cluster::AlertsArgs),
    Admission(in_cluster::AdmissionArgs),
    Dashboard(in_cluster::DashboardArgs),
}

/// Parts that are delivered.
#[derive(Debug, clap::Args)]
struct Content {
    /// Skew policy, JSON or YAML, or - for standard input; checked first, and refused if it is not valid.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = policy_name(), env = POLICY_VARIABLE, hide_env_values = true)]
    policy: PathBuf,
    /// Static binary for the nodes' architecture, packed or not. Default: skewguard-embed beside
    /// this program.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "policy_only")]
    binary: Option<PathBuf>,
    /// How the binary is packed.
    #[arg(
        long,
        value_name = "PROGRAM",
        ignore_case = true,
        default_value = "xz",
        conflicts_with = "policy_only"
    )]
    compression: Compression,
    /// Leave units and binary out, for nodes that have them from their boot image or from `render
    /// pointer`.
    #[arg(long)]
    policy_only: bool,
}

/// One MachineConfig for a pool: policy, units and binary (YAML)
///
/// Works with every boot image back to Ignition spec 2.2 (OpenShift 4.1): the binary is an xz file
/// in a plain data URL, which a unit unpacks into /run (--compression gzip for boot images without
/// xz, before OpenShift 4.8). Refuses, with the figures, what would not fit into the cluster's
/// storage.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
From nothing to a pool that warns, on OpenShift 4.17 or later. Where a \
wait runs out of time, go no further: the nodes would reboot.
  oc skewguard policy init >policy.json &&
  oc skewguard render manifests | oc apply -f - &&
  oc skewguard render node-disruption-policy |
    oc apply --server-side --field-manager=skewguard -f - &&
  timeout 120 sh -c 'until oc get machineconfiguration cluster \\
    -o jsonpath=\"{.status.nodeDisruptionPolicyStatus.clusterPolicies.files[*].path}\" |
    grep -qw /etc/skewguard/policy.json; do sleep 2; done' &&
  oc skewguard render machineconfig --role worker \\
    --policy policy.json |
    oc apply --server-side -f - &&
  timeout 1800 sh -c 'until oc get mcp worker \\
    -o jsonpath=\"{.status.configuration.source[*].name}\" |
    grep -qw 99-worker-skewguard; do sleep 10; done'

And back, while the exemptions are still there; without them that \
reboots the nodes, one after another, as a new MachineConfig does:
  oc delete mc 99-worker-skewguard")]
struct MachineConfigArgs {
    /// The pool: worker, master, or a custom one.
    #[arg(long, value_name = "POOL", default_value = "worker", value_parser = role)]
    role: String,
    #[command(flatten)]
    content: Content,
    /// The pool's current rendered MachineConfig as JSON, or - for standard input; the sum must fit
    /// as well.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    rendered: Option<PathBuf>,
}

/// An Ignition config with policy, units and binary (JSON)
///
/// For installs over PXE (coreos-installer pxe customize --dest-ignition) and for boot images tried
/// in QEMU (fw_cfg). A live ISO has no room for the binary: there --policy-only, and `render
/// pointer` for the rest.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oc skewguard render ignition --policy policy.json >new.ign
  coreos-installer pxe customize --dest-device /dev/sda \\
    --dest-ignition worker.ign --dest-ignition new.ign \\
    --output initramfs.img rhcos-live-initramfs.img
  qemu-system-x86_64 ... \\
    -fw_cfg name=opt/com.coreos/config,file=new.ign")]
struct IgnitionArgs {
    /// Ignition spec: 2.2.0, or 3.0.0 to 3.5.0. The oldest 3.x is read by every later one.
    #[arg(long, value_name = "VERSION", default_value_t = Spec::OLDEST_3)]
    spec: Spec,
    #[command(flatten)]
    content: Content,
}

/// The addition to a MachineSet's user data that fetches the full binary at first boot (JSON)
///
/// For what does not fit into a MachineConfig. Existing nodes are untouched; the policy stays a
/// small MachineConfig (render machineconfig --policy-only). A URL that does not answer holds
/// Ignition in the initramfs: the node does not boot.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  oc extract -n openshift-machine-api secret/worker-user-data \\
    --keys=userData --to=- >user-data
  oc skewguard render pointer \\
    --url https://mirror.example.com/skewguard \\
    --sha512 \"$(sha512sum skewguard | cut -c -128)\" \\
    --user-data user-data >user-data-skewguard
  oc create secret generic worker-user-data-skewguard \\
    -n openshift-machine-api --from-file=userData=user-data-skewguard \\
    --from-literal=disableTemplating=true
Then name that secret in the MachineSet, userDataSecret in spec.template.spec.providerSpec.value.")]
struct PointerArgs {
    /// Where the binary is, as Ignition reaches it: https, http, s3, tftp, or gs from spec 3.2.0.
    #[arg(long)]
    url: String,
    /// SHA-512 of the binary, in hexadecimal.
    #[arg(long, value_name = "DIGITS")]
    sha512: String,
    /// Ignition spec of the addition. Default: 3.0.0.
    #[arg(long, value_name = "VERSION", conflicts_with = "user_data")]
    spec: Option<Spec>,
    /// The MachineSet's user data, or - for standard input; it is printed with the addition in it, in
    /// its own spec.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    user_data: Option<PathBuf>,
}

/// What the cluster needs besides the MachineConfig (YAML)
///
/// Namespace, CustomResourceDefinition and rights for the nodes' reports, and admission policies
/// that hold what the nodes' bootstrap identity can write there. The folder `manifests` of a
/// release is the same for kustomize. May be applied again at any time. With the same options, `oc delete -f -`
/// removes all of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oc skewguard render manifests | oc apply -f -
  oc skewguard render manifests --prune \\
    --policy policy.json \\
    --audit registry.example.com/skewguard-cli@sha256:... | oc apply -f -
  oc get bootimagereports -n skewguard")]
struct ManifestsArgs {
    /// For clusters before OpenShift 4.17 (Kubernetes 1.30), back to 4.10: without the admission
    /// policies, and the jobs without what is newer.
    #[arg(long)]
    base: bool,
    /// With a nightly job that deletes reports older than 30 days and 2 hours.
    #[arg(long)]
    prune: bool,
    /// With an audit every hour, in the cluster, of the policy that --policy names. IMAGE is the
    /// container image of this program, by digest, for the nodes' architecture (where they have
    /// several, a multi-arch one).
    #[arg(long, value_name = "IMAGE", requires = "policy")]
    audit: Option<ImageReference>,
    /// Skew policy for --audit, JSON or YAML, or - for standard input.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = policy_name(), env = POLICY_VARIABLE, hide_env_values = true)]
    policy: Option<PathBuf>,
    /// The rights for `oc skewguard audit`, and nothing else.
    #[arg(long, conflicts_with_all = ["base", "prune", "audit"])]
    auditor: bool,
    /// With --auditor: also the rights for `oc skewguard why`.
    #[arg(long, requires = "auditor")]
    why: bool,
    /// For a hosted cluster (HyperShift): without Roles in namespaces that it lacks.
    #[arg(long)]
    hosted: bool,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match &args.what {
        What::MachineConfig(args) => machineconfig(args, io),
        What::Ignition(args) => ignition(args, io),
        What::Pointer(args) => pointer(args, io),
        What::Manifests(args) => manifests(args, io),
        What::NodeDisruption(args) => in_cluster::node_disruption(args, io),
        What::Alerts(args) => in_cluster::alerts(args, io),
        What::Admission(args) => in_cluster::admission(args, io),
        What::Dashboard(in_cluster::DashboardArgs {}) => in_cluster::dashboard(io),
    }
}

fn machineconfig(args: &MachineConfigArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let files = args.content.binary.iter().chain(&args.rendered);
    read_once(files.chain([&args.content.policy]).map(PathBuf::as_path))?;
    let policy = policy(&args.content.policy, io)?;
    let binary = binary(&args.content)?;
    let rest = args.rendered.as_ref().map(|path| {
        read_file(path, MAX_RENDERED, RENDERED_REMEDY)
            .and_then(|json| rest_of_rendered(&json))
            .map_err(about(path))
    });
    let rest = rest.transpose()?;
    let object = machineconfig::machineconfig(&args.role, &policy.bytes, binary.as_ref());
    let sizes = Sizes::new(
        &json(&object),
        &yaml(&object),
        binary.as_ref(),
        rest.as_deref(),
    );
    sizes.check()?;

    let about_binary = match &binary {
        Some(binary) => format!(
            "Binary: for {}, {} bytes packed, {} unpacked. Nodes of another architecture go on without it.",
            binary.arch.name,
            figure(binary.packed.len()),
            figure(binary.unpacked),
        ),
        None => "Binary: none, from the nodes' boot image or their user data.".to_owned(),
    };
    let mut facts = vec![policy.about, about_binary];
    facts.extend(sizes.table());
    if rest.is_none() && binary.is_some() {
        facts.push("Check with --rendered that it fits beside the rest of the pool's config, 200 to 300 KiB as a rule.".to_owned());
    }
    for warning in sizes.warning().into_iter().chain(warning(&args.role)) {
        warn(&mut facts, io, warning);
    }
    write!(io.out, "{}{}", header(&facts), yaml(&object))?;
    Ok(Exit::Done)
}

fn ignition(args: &IgnitionArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let files = args.content.binary.iter().chain([&args.content.policy]);
    read_once(files.map(PathBuf::as_path))?;
    let policy = policy(&args.content.policy, io)?;
    let binary = binary(&args.content)?;
    let packed = binary.as_ref().map_or(0, |binary| binary.packed.len());
    if packed > ISO_IGNITION_MAX {
        let [room, packed] = [ISO_IGNITION_MAX, packed].map(figure);
        io.say(format_args!(
            "warning: a live ISO has room for {room} bytes of Ignition configs, packed, and the binary alone has {packed}: `coreos-installer \
             iso customize` refuses it. For an ISO use --policy-only here, and `oc skewguard render pointer` for the binary.",
        ));
    }
    writeln!(
        io.out,
        "{}",
        json(&config(args.spec, &policy.bytes, binary.as_ref()))
    )?;
    Ok(Exit::Done)
}

fn pointer(args: &PointerArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let pointer = Pointer::new(&args.url, &args.sha512)?;
    let printed = match &args.user_data {
        Some(path) => read_file(path, MAX_USER_DATA, EXTRACT)
            .and_then(|user_data| pointer.merged(&user_data))
            .map_err(about(path))?,
        None => json(
            &pointer.config(
                args.spec
                    .unwrap_or(Spec::OLDEST_3.max(pointer.url.oldest_spec())),
            )?,
        ),
    };
    let mut warnings = vec![format!(
        "Ignition waits in the initramfs until {} answers, and fails if it gives anything but that SHA-512: such a node does not boot at all. \
         Keep the URL up as long as a MachineSet names it.",
        pointer.url
    )];
    if pointer.url.has_credentials() {
        let who =
            "whoever reads the user data has them, and Ignition writes them to the node's journal";
        warnings.push(format!("the URL has credentials in it: {who}."));
    }
    if args.user_data.is_some() && printed.len() > AWS_USER_DATA_MAX {
        let [bytes, max] = [printed.len(), AWS_USER_DATA_MAX].map(figure);
        warnings.push(format!(
            "the user data has {bytes} bytes; AWS takes at most {max}."
        ));
    }
    for warning in warnings {
        io.say(format_args!("warning: {warning}"));
    }
    writeln!(io.out, "{printed}")?;
    Ok(Exit::Done)
}

fn manifests(args: &ManifestsArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let yaml = if args.auditor {
        auditor(args.why, args.hosted)
    } else {
        Manifests {
            base_only: args.base,
            prune: args.prune,
            audit: audit(args, io)?,
            hosted: args.hosted,
        }
        .to_yaml()
    };
    write!(io.out, "{yaml}")?;
    Ok(Exit::Done)
}

fn audit(args: &ManifestsArgs, io: &mut Io<'_>) -> Result<Option<Audit>, Failure> {
    let (Some(image), Some(path)) = (&args.audit, &args.policy) else {
        return Ok(None);
    };
    let bytes = policy(path, io)?.bytes;
    let policy = String::from_utf8(bytes).map_err(about(path))?;
    let image = image.clone();
    if !image.has_digest() {
        io.say(format_args!(
            "warning: --audit {image}: a tag can be moved, and what runs then may read what the auditor reads. Name the image by digest: NAME@sha256:DIGITS",
        ));
    }
    Ok(Some(Audit { image, policy }))
}

/// A policy as nodes get it.
struct ForNodes {
    bytes: Vec<u8>,
    policy: Policy,
    digest: String,
    /// A line that describes it.
    about: String,
}

/// Reads a policy. One with errors is refused.
fn policy(path: &Path, io: &mut Io<'_>) -> Result<ForNodes, Failure> {
    let name = named(path);
    let (bytes, report) = read_policy(path).map_err(about(path))?;
    let mut errors = String::new();
    for finding in &report.findings {
        match finding.severity {
            // Which policy to put on nodes is decided by now.
            _ if finding.is_of(&[Rule::KnownIssueMissing, Rule::OldReleasesRefused]) => {}
            Severity::Error => errors.push_str(&finding.shown(&name)),
            // Where nobody reads it, it is lost.
            Severity::Warning => drop(write!(io.err, "{}", finding.shown(&name))),
        }
    }
    if report.has_errors_beside(&[Rule::OldReleasesRefused]) {
        return Err(format!(
            "{name} is not a policy to put on nodes (`oc skewguard policy lint` checks it)\n{}",
            errors.trim_end()
        )
        .into());
    }
    let bytes = for_nodes(bytes);
    let policy = policy::parse(&bytes).map_err(about(path))?;
    let digest = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
    let about = format!(
        "Policy: mode {}, {}, {digest}.",
        policy.mode_text,
        count(policy.limits.len(), "limit")
    );
    Ok(ForNodes {
        bytes,
        policy,
        digest,
        about,
    })
}

/// Tells a warning on standard error, and notes it for the head of the object.
fn warn(facts: &mut Vec<String>, io: &mut Io<'_>, warning: impl Display) {
    io.say(format_args!("warning: {warning}"));
    facts.push(format!("Warning: {warning}"));
}

fn binary(content: &Content) -> Result<Option<Binary>, Failure> {
    if content.policy_only {
        return Ok(None);
    }
    let path = content.binary.clone().or_else(embedded_agent);
    let path = path.ok_or(
        "there is no skewguard-embed, the agent for nodes, beside this program: take it from the same release or build it with \
         `dist/build embed`, and name it with --binary; or use --policy-only, where the nodes have the agent",
    )?;
    let binary = read_file(&path, MAX_BINARY, EMBED_REMEDY)
        .and_then(|elf| Binary::new(&elf, content.compression))
        .map_err(about(&path))?;
    Ok(Some(binary))
}

/// The agent for a MachineConfig that is installed with this program.
fn embedded_agent() -> Option<PathBuf> {
    // Unknown without /proc, for example while an image is built.
    let this = std::env::current_exe().ok();
    let beside = this.map(|this| this.with_file_name("skewguard-embed"));
    let package = PathBuf::from("/usr/libexec/skewguard/skewguard-embed");
    beside
        .into_iter()
        .chain([package])
        .find(|path| path.is_file())
}

/// Puts the file's name before an error.
fn about<E: Display>(path: &Path) -> impl Fn(E) -> String {
    let name = named(path);
    move |error| format!("{name}: {error}")
}
