//! `oc skewguard inspect`: what version strings say.

use crate::data::{PUBLISHED, PublishedImage, is_ami};
use crate::text::printable_up_to;
use crate::verdict::{BootImageStatus, text};
use crate::version::ImageVersion;
use serde::Serialize;
use skewguard_cluster::file::read as read_named;
use skewguard_cluster::kinds::ignition_specs;
use skewguard_core::command::{Exit, Failure, Io, read_once};
use std::path::Path;

/// The most that is read from standard input, in bytes.
const INPUT_MAX: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Images that have ids instead of names (AMIs, digests of KubeVirt's disks, Alibaba Cloud's) are looked up among those that \
openshift/installer has published.

Examples:
  oc skewguard inspect 418.94.202511191518-0 9.6.20250523-0
  oc skewguard inspect ami-01d48aa6b50f9d0df")]
pub(super) struct Args {
    /// Versions as an aleph file or os-release names them, or names or ids of images; - is standard
    /// input, with one in each line.
    #[arg(required = true)]
    versions: Vec<String>,
    /// One line per version: text for a person, or a JSON object.
    #[arg(long, short, value_enum, ignore_case = true, default_value = "text")]
    output: TextOrJson,
}

/// The form of results that people and scripts both read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum TextOrJson {
    /// For a person.
    Text,
    /// For a script; fields are only ever added.
    Json,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    read_once(args.versions.iter().map(Path::new))?;
    let mut unknown = 0;
    let mut amis = 0;
    let mut print = |written: &str, io: &mut Io<'_>| -> Result<(), Failure> {
        if !print(written, args.output, io)? {
            unknown += 1;
            amis += usize::from(is_ami(written));
        }
        Ok(())
    };
    for written in &args.versions {
        if written != "-" {
            print(written, io)?;
            continue;
        }
        let bytes = read_named(Path::new("-"), INPUT_MAX)?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            print(line.trim(), io)?;
        }
    }
    if unknown == 0 {
        return Ok(Exit::Done);
    }
    let what = match (args.versions.as_slice(), unknown) {
        ([only], _) if only != "-" => format!("{}:", printable_up_to(only, LONGEST)),
        (_, 1) => "1 of these is".to_owned(),
        _ => format!("{unknown} of these are"),
    };
    io.say(format_args!(
        "{what} no version that skewguard recognizes; {}",
        help(amis > 0)
    ));
    Ok(Exit::Failed)
}

/// A way to the version of what names none.
pub(super) fn help(is_ami: bool) -> &'static str {
    match is_ami {
        true => {
            "an AMI's name may say it: aws ec2 describe-images --image-ids AMI --query 'Images[].Name'"
        }
        false => "an aleph file's `version` is one, such as 418.94.202511191518-0",
    }
}

/// Prints what one string says; `false` where that is nothing.
fn print(written: &str, output: TextOrJson, io: &mut Io<'_>) -> Result<bool, Failure> {
    let (version, published) = decode(written);
    let is_known = version.is_known();
    let shown = printable_up_to(written, LONGEST);
    let is_named = is_known && version.text != shown;
    let ignition = ignition_specs::of_image(&version);
    let says = ignition.map_or(String::new(), |ignition| format!(", {}", ignition.says()));
    match (output, published) {
        (TextOrJson::Text, Some(image)) => writeln!(
            io.out,
            "{shown}: {}{says}, {} {} ({})",
            text::image(&version),
            image.platform,
            image.place(),
            PUBLISHED.source()
        )?,
        (TextOrJson::Text, None) if is_ami(written) => writeln!(
            io.out,
            "{shown}: not among the {} AMIs of openshift/installer until {}",
            PUBLISHED.amis(),
            PUBLISHED.until
        )?,
        (TextOrJson::Text, None) => {
            let of = if is_named {
                format!("{shown}: ")
            } else {
                String::new()
            };
            writeln!(io.out, "{of}{}{says}", text::image(&version))?;
        }
        (TextOrJson::Json, published) => writeln!(
            io.out,
            "{}",
            serde_json::to_string(&Inspected {
                version: BootImageStatus::from(&version),
                os: os(&version),
                image: (is_named || published.is_some()).then_some(shown),
                platform: published.map(|image| image.platform),
                architecture: published.map(|image| image.architecture),
                region: published.and_then(|image| image.place),
                ignition: ignition.map(|ignition| Ignition {
                    release: ignition.release,
                    newest_spec: format!("{}.0", ignition.reads),
                    reads_newer: (!ignition.is_newest).then_some("Unknown"),
                }),
            })?
        )?,
    }
    Ok(is_known)
}

/// The longest name of an image that is shown, in characters.
const LONGEST: usize = 256;

/// Contents of a version, and the place of a published image.
#[derive(Serialize)]
struct Inspected {
    #[serde(flatten)]
    version: BootImageStatus,
    /// `Fedora 33`, `CentOS Stream 10`.
    #[serde(skip_serializing_if = "Option::is_none")]
    os: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<&'static str>,
    /// Knowledge of its Ignition; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignition: Option<Ignition>,
    /// On GCP the project; in Azure's marketplace plan and generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<&'static str>,
}

fn os(version: &ImageVersion) -> Option<String> {
    let family = version.os_family()?;
    let release = version.os_release()?;
    Some(format!("{} {release}", family.base()))
}

/// The Ignition of an image.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ignition {
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<&'static str>,
    /// The newest config spec that it surely reads.
    newest_spec: String,
    /// `Unknown` where it may read newer ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    reads_newer: Option<&'static str>,
}

/// A version, else that of the published image with this id, else the one in the name of an image,
/// as the audit reads it.
pub(super) fn decode(text: &str) -> (ImageVersion, Option<&'static PublishedImage>) {
    let version = ImageVersion::parse(text);
    if version.is_known() {
        return (version, None);
    }
    if let Some(image) = PUBLISHED.find(text)
        && let version = ImageVersion::parse(image.version)
        && version.is_known()
    {
        return (version, Some(image));
    }
    // A version with something behind it is none: nodes do not decode it, either.
    let named = ImageVersion::from_image_name(text);
    let named = named.filter(|named| named.text == text || !text.starts_with(&named.text));
    (named.unwrap_or(version), None)
}
