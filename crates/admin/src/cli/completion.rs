//! `oc skewguard completion`: completions for a shell, as they also ship in a file.

use super::{Exit, Failure, Io};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  source <(oc skewguard completion bash)   in ~/.bashrc
  oc skewguard completion zsh >\"${fpath[1]}/_skewguard\"
  oc skewguard completion fish | source   in ~/.config/fish/config.fish")]
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
        Shell::Bash => include_str!("../../../../dist/completions/kubectl-skewguard.bash"),
        Shell::Zsh => include_str!("../../../../dist/completions/_kubectl-skewguard"),
        Shell::Fish => include_str!("../../../../dist/completions/kubectl-skewguard.fish"),
    };
    io.out.write_all(script.as_bytes())?;
    Ok(Exit::Done)
}
