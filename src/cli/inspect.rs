//! `skewguard inspect`: what version strings say.

use super::{Exit, Failure, Io, TextOrJson};
use crate::verdict::BootImageStatus;
use crate::version::ImageVersion;
use std::ffi::OsString;

#[derive(Debug)]
#[cfg_attr(feature = "admin", derive(clap::Args))]
#[cfg_attr(
    feature = "admin",
    command(after_help = "Example: skewguard inspect 418.94.202511191518-0 9.6.20250523-0")
)]
pub(super) struct Args {
    /// Versions as an aleph file or os-release names them; the full build takes names of images,
    /// too.
    #[cfg_attr(feature = "admin", arg(required = true, value_name = "VERSION", value_hint = clap::ValueHint::Other))]
    pub(super) versions: Vec<OsString>,
    /// One line per version: text for a person, or a JSON object.
    #[cfg_attr(
        feature = "admin",
        arg(long, short, value_enum, default_value = "text")
    )]
    pub(super) output: TextOrJson,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    for text in &args.versions {
        let version = decode(&text.to_string_lossy());
        match args.output {
            TextOrJson::Text => writeln!(io.out, "{}", line(&version))?,
            TextOrJson::Json => writeln!(
                io.out,
                "{}",
                serde_json::to_string(&BootImageStatus::from(&version))?
            )?,
        }
    }
    Ok(Exit::Done)
}

/// A version, else the one in the name of an image, as the audit reads it.
fn decode(text: &str) -> ImageVersion {
    let version = ImageVersion::parse(text);
    #[cfg(feature = "admin")]
    if !version.is_known()
        && let Some(of_name) = ImageVersion::of_image_name(text)
    {
        return of_name;
    }
    version
}

fn line(version: &ImageVersion) -> String {
    if !version.is_known() {
        return format!("{version}: no known scheme");
    }
    let unknown = || "unknown".to_owned();
    let rhel = match version.rhel {
        Some(rhel) if rhel.minor.is_none() => format!("{rhel} (minor unknown)"),
        Some(rhel) => rhel.to_string(),
        None => unknown(),
    };
    let ocp = version.ocp.map_or_else(unknown, |ocp| ocp.to_string());
    let date = version.build_date.clone().unwrap_or_else(unknown);
    let build = version
        .build_number
        .map_or_else(unknown, |build| build.to_string());
    format!(
        "{version}: scheme {}, RHEL {rhel}, OCP {ocp}, built {date}, build {build}",
        version.scheme
    )
}
