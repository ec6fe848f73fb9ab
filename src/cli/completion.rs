//! `skewguard completion`: completions for a shell, as they also ship in a file.

use super::{Exit, Failure, Io};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  source <(skewguard completion bash)   in ~/.bashrc
  skewguard completion zsh >\"${fpath[1]}/_skewguard\"
  skewguard completion fish >~/.config/fish/completions/skewguard.fish")]
pub(super) struct Args {
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<Exit, Failure> {
    // Made from the argument parser; a test compares them with it.
    let script = match args.shell {
        Shell::Bash => include_str!("../../dist/completions/skewguard.bash"),
        Shell::Zsh => include_str!("../../dist/completions/_skewguard"),
        Shell::Fish => include_str!("../../dist/completions/skewguard.fish"),
    };
    io.out.write_all(script.as_bytes())?;
    Ok(Exit::Done)
}
