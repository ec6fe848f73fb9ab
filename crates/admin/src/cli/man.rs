//! `oc skewguard man`: man pages and completions as files, for packages.
//!
//! A page is clap_mangen's, and the pages beside it.

use super::completion::{FILES, script};
use crate::NAME;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use skewguard_cluster::file::{cause, name as named};
use skewguard_core::command::{Exit, Failure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder for `man/*.1` and `completions/*`; made where it does not exist.
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
}

pub(super) fn run(args: &Args, command: &Command) -> Result<Exit, Failure> {
    for (path, text) in files(command)? {
        let path = args.dir.join(path);
        let error = |error: std::io::Error| format!("{}: {}", named(&path), cause(&error));
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(error)?;
        }
        std::fs::write(&path, text).map_err(error)?;
    }
    Ok(Exit::Done)
}

/// Every file, by its path in the folder: one page per command, subcommands' names joined by dashes
/// as in git(1), and a script per shell.
fn files(command: &Command) -> std::io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let scripts = FILES.map(|(shell, file)| {
        let path = Path::new("completions").join(file);
        (path, script(shell, command).into_bytes())
    });
    let mut files = BTreeMap::from(scripts);
    let mut command = command.clone().disable_help_subcommand(true);
    command.build();
    collect(&command, None, &mut files)?;
    Ok(files)
}

fn collect(
    command: &Command,
    parent: Option<&str>,
    files: &mut BTreeMap<PathBuf, Vec<u8>>,
) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or(NAME);
    let path = Path::new("man").join(format!("{name}.1"));
    files.insert(path, page(command, name, parent)?);
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        collect(sub, Some(name), files)?;
    }
    Ok(())
}

fn page(command: &Command, name: &str, parent: Option<&str>) -> std::io::Result<Vec<u8>> {
    let man = Man::new(
        command
            .clone()
            .subcommand_help_heading("COMMANDS")
            .subcommand_value_name("COMMAND"),
    )
    .title(name.to_uppercase())
    // Without a date, which would change the page without a change of the program.
    .date("\"\"")
    .source(concat!("skewguard ", env!("CARGO_PKG_VERSION")))
    .manual("skewguard");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if command.get_after_help().is_some() {
        // A line with an address cannot be spread to the margin.
        page.extend_from_slice(b".ad l\n");
        man.render_extra_section(&mut page)?;
    }
    let mut rest = Roff::new();
    rest.control("SH", ["SEE ALSO"]);
    let pages = see_also(command, name, parent);
    let last = pages.len().saturating_sub(1);
    for (index, page) in pages.into_iter().enumerate() {
        let end = if index < last { "(1)," } else { "(1)" };
        rest.text([bold(page), roman(end)]);
    }
    rest.to_writer(&mut page)?;
    Ok(page)
}

/// The pages of the command that this one belongs to, of those that belong to it, and of others.
fn see_also(command: &Command, name: &str, parent: Option<&str>) -> Vec<String> {
    let others: &[&str] = match name.strip_prefix(NAME).unwrap_or_default() {
        "" => &["skewguard"],
        "-check" => &[
            "kubectl-skewguard-policy",
            "kubectl-skewguard-inspect",
            "skewguard",
        ],
        "-render-machineconfig" | "-render-ignition" => &[
            "kubectl-skewguard-policy-init",
            "kubectl-skewguard-render-manifests",
        ],
        "-render-pointer" => &["kubectl-skewguard-render-machineconfig"],
        _ => &[],
    };
    let subs = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let subs = subs.filter_map(Command::get_display_name);
    let pages = parent.into_iter().chain(subs).chain(others.iter().copied());
    pages.map(str::to_owned).collect()
}
