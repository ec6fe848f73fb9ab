//! `oc skewguard completion`: completions for a shell, made from the argument parser.

use crate::NAME;
use clap::Command;
use clap_complete::Shell as Generator;
use skewguard_core::command::{Exit, Failure, Io};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  source <(oc skewguard completion bash)   in ~/.bashrc
  oc skewguard completion zsh >\"${fpath[1]}/_skewguard\"
  oc skewguard completion fish | source
    in ~/.config/fish/config.fish")]
pub(super) struct Args {
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// The file of each shell's script, as packages name it.
pub(super) const FILES: [(Shell, &str); 3] = [
    (Shell::Bash, "kubectl-skewguard.bash"),
    (Shell::Zsh, "_kubectl-skewguard"),
    (Shell::Fish, "kubectl-skewguard.fish"),
];

pub(super) fn run(args: &Args, command: &Command, io: &mut Io<'_>) -> Result<Exit, Failure> {
    io.out.write_all(script(args.shell, command).as_bytes())?;
    Ok(Exit::Done)
}

/// The script for a shell.
pub(super) fn script(shell: Shell, command: &Command) -> String {
    match shell {
        Shell::Bash => {
            // Of a name with a hyphen, clap_complete's script for bash finds no subcommand.
            let name = NAME.replace('-', "_");
            let script = generated(Generator::Bash, &name, command);
            script.replace(&format!(" {name}\n"), &format!(" {NAME}\n"))
        }
        Shell::Zsh => generated(Generator::Zsh, NAME, command),
        Shell::Fish => generated(Generator::Fish, NAME, command) + &words_for_fish(command),
    }
}

fn generated(shell: Generator, name: &str, command: &Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command.clone(), name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The words that an argument may be: clap_complete's script for fish has those of options only.
fn words_for_fish(command: &Command) -> String {
    let mut command = command.clone();
    command.build();
    let mut lines = String::new();
    for sub in command.get_subcommands() {
        for argument in sub.get_positionals() {
            let words = argument.get_possible_values();
            let words: Vec<&str> = words.iter().map(|word| word.get_name()).collect();
            if !words.is_empty() {
                // Text is written to, which never fails.
                let _ = writeln!(
                    lines,
                    "complete -c {NAME} -n \"__fish_kubectl_skewguard_using_subcommand {}\" -f -a \"{}\"",
                    sub.get_name(),
                    words.join(" ")
                );
            }
        }
    }
    lines
}
