//! `oc skewguard inspect`: what version strings say.

use super::{Exit, Failure, Io, TextOrJson};
use crate::file::read as read_named;
use crate::verdict::{BootImageStatus, text};
use crate::version::ImageVersion;
use skewguard_core::command::read_once;
use std::path::Path;

/// The most that is read from standard input, in bytes.
const INPUT_MAX: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: oc skewguard inspect 418.94.202511191518-0 9.6.20250523-0")]
pub(super) struct Args {
    /// Versions as an aleph file or os-release names them, or names of images; - is standard
    /// input, with one in each line.
    #[arg(required = true)]
    versions: Vec<String>,
    /// One line per version: text for a person, or a JSON object.
    #[arg(long, short, value_enum, default_value = "text")]
    output: TextOrJson,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    read_once(args.versions.iter().map(Path::new))?;
    for written in &args.versions {
        if written != "-" {
            print(written, args.output, io)?;
            continue;
        }
        let bytes = read_named(Path::new("-"), INPUT_MAX)?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            print(line.trim(), args.output, io)?;
        }
    }
    Ok(Exit::Done)
}

fn print(written: &str, output: TextOrJson, io: &mut Io<'_>) -> Result<(), Failure> {
    let version = decode(written);
    match output {
        TextOrJson::Text => writeln!(io.out, "{}", text::image(&version))?,
        TextOrJson::Json => writeln!(
            io.out,
            "{}",
            serde_json::to_string(&BootImageStatus::from(&version))?
        )?,
    }
    Ok(())
}

/// A version, else the one in the name of an image, as the audit reads it.
fn decode(text: &str) -> ImageVersion {
    let version = ImageVersion::parse(text);
    if !version.is_known()
        && let Some(of_name) = ImageVersion::of_image_name(text)
    {
        return of_name;
    }
    version
}
