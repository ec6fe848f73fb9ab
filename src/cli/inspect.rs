//! `skewguard inspect`: what version strings say.

use super::{Exit, Failure, Io, TextOrJson};
use crate::verdict::{BootImageStatus, text};
use crate::version::ImageVersion;
use std::ffi::OsString;
use std::path::Path;

/// The most that is read from standard input, in bytes.
const INPUT_MAX: u64 = 1 << 20;

pub(super) const HELP: &str = "\
Decode boot image version strings

What a string does not say is shown as unknown and never guessed. A string of no
known scheme is an answer, not an error. `oc skewguard inspect` takes names of
images, too.

Usage: skewguard inspect [OPTIONS] VERSION...

Arguments:
  VERSION...  Versions as an aleph file or os-release names them; - is standard
              input, with one in each line

Options:
  -o, --output text|json
              One line per version: text for a person, which is the default, or
              a JSON object, whose fields are only ever added
  -h, --help  Print this help

Exit status: 0 done, 1 could not do it, 2 wrong usage.

Example: skewguard inspect 418.94.202511191518-0 9.6.20250523-0
";

#[derive(Debug)]
pub(super) struct InspectArgs {
    /// Versions as an aleph file or os-release names them; - is standard input, with one a line.
    pub(super) versions: Vec<OsString>,
    /// A line per version: text for a person, or a JSON object.
    pub(super) output: TextOrJson,
}

pub(super) fn run(args: &InspectArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let written: Vec<&Path> = args.versions.iter().map(Path::new).collect();
    super::read_once(written.iter().copied())?;
    for written in written {
        if written != Path::new("-") {
            print(&written.to_string_lossy(), args.output, io)?;
            continue;
        }
        let bytes = super::read_named(written, INPUT_MAX).map_err(|error| error.to_string())?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            print(line.trim(), args.output, io)?;
        }
    }
    Ok(Exit::Done)
}

fn print(written: &str, output: TextOrJson, io: &mut Io<'_>) -> Result<(), Failure> {
    let version = ImageVersion::parse(written);
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
