//! `oc skewguard man`: man pages and completions as files, for packages.
//!
//! A page has clap_mangen's options and subcommands, and around them the sections that man-pages(7)
//! names, in its order.

use super::completion::{FILES, script};
use super::{Exit, Failure, Io, NAME, cause, named};
use clap::{Arg, ArgAction, Command};
use clap_mangen::Man;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder for `man/*.1` and `completions/*`; made where it does not exist.
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
}

pub(super) fn run(args: &Args, _: &mut Io<'_>) -> Result<Exit, Failure> {
    for (path, text) in files(&super::command()) {
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
fn files(command: &Command) -> BTreeMap<PathBuf, String> {
    // The build's own version text names commit and architecture.
    let command = command.clone().long_version(None::<&'static str>);
    let scripts = FILES.map(|(shell, file)| (Path::new("completions").join(file), script(shell)));
    let mut files = BTreeMap::from(scripts);
    let mut command = command.disable_help_subcommand(true);
    command.build();
    collect(&command, NAME, None, &mut files);
    files
}

fn collect(
    command: &Command,
    name: &'static str,
    parent: Option<&str>,
    files: &mut BTreeMap<PathBuf, String>,
) {
    files.insert(
        Path::new("man").join(format!("{name}.1")),
        page(command, name, parent),
    );
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        // clap keeps names for ever.
        let sub_name = format!("{name}-{}", sub.get_name()).leak();
        collect(sub, sub_name, Some(name), files);
    }
}

fn page(command: &Command, name: &'static str, parent: Option<&str>) -> String {
    let man = Man::new(command.clone().name(name));
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    // Without a date, which would change the page without a change of the program.
    let mut page = format!(
        ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH {} 1 \"\" \"skewguard {}\" skewguard\n",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION")
    );
    section(
        &mut page,
        "NAME",
        &format!("{} \\- {}\n", roff(name), roff(&about)),
    );
    section(
        &mut page,
        "SYNOPSIS",
        &synopsis(command, &name.replacen("kubectl-", "oc ", 1)),
    );
    let long = command.get_long_about().map_or(about, ToString::to_string);
    section(&mut page, "DESCRIPTION", &paragraphs(&long));
    page += &without_head(|out| man.render_options_section(out));
    if command.has_subcommands() {
        page += &without_head(|out| man.render_subcommands_section(out))
            .replace(".SH SUBCOMMANDS", ".SH COMMANDS");
    }
    let after = command
        .get_after_long_help()
        .or(command.get_after_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let (mut status, mut notes, mut examples) = (String::new(), String::new(), String::new());
    for paragraph in after
        .split("\n\n")
        .filter(|paragraph| !paragraph.is_empty())
    {
        if let Some(text) = paragraph.strip_prefix("Exit status: ") {
            status += &paragraphs(text);
        } else if let Some(line) = paragraph.strip_prefix("Example: ") {
            examples += &verbatim(line);
        } else if paragraph.contains("\n  ") {
            examples += &example(paragraph);
        } else {
            notes += &paragraphs(paragraph);
        }
    }
    section(&mut page, "EXIT STATUS", &status);
    section(&mut page, "NOTES", &notes);
    section(&mut page, "EXAMPLES", &examples);
    section(&mut page, "SEE ALSO", &see_also(command, name, parent));
    page
}

fn section(page: &mut String, title: &str, text: &str) {
    if !text.is_empty() {
        let title = if title.contains(' ') {
            format!("\"{title}\"")
        } else {
            title.to_owned()
        };
        *page += &format!(
            ".SH {title}\n{}",
            text.strip_prefix(".PP\n").unwrap_or(text)
        );
    }
}

/// A section of clap_mangen's, without the head that it puts before each.
fn without_head(render: impl Fn(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    // Memory is written to, which never fails.
    let _ = render(&mut out);
    let text = String::from_utf8_lossy(&out);
    text.lines()
        .filter(|line| !line.starts_with(".ie ") && !line.starts_with(".el "))
        .flat_map(|line| [line, "\n"])
        .collect()
}

fn synopsis(command: &Command, called: &str) -> String {
    let called = called.replace("skewguard-", "skewguard ");
    let mut line = format!("\\fB{called}\\fR");
    let given = |arg: &Arg| {
        let value = arg
            .get_value_names()
            .map(|names| names.join(" "))
            .unwrap_or_default();
        let value = if arg.is_positional() {
            format!("\\fI{}\\fR", roff(&value))
        } else {
            format!(" \\fI{}\\fR", roff(&value))
        };
        let option = arg
            .get_long()
            .map(|long| format!("\\fB\\-\\-{}\\fR", roff(long)))
            .unwrap_or_default();
        let takes = arg.get_action().takes_values();
        let more = if matches!(arg.get_action(), ArgAction::Append) && arg.is_positional() {
            "..."
        } else {
            ""
        };
        format!(
            "{option}{}{more}",
            if takes { value } else { String::new() }
        )
    };
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let mut shown: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    // An option that takes many values would take arguments for its own.
    let is_greedy = |arg: &&Arg| arg.get_num_args().is_some_and(|n| n.max_values() > 1);
    if shown
        .iter()
        .any(|arg| !arg.is_positional() && is_greedy(arg))
    {
        shown.sort_by_key(|arg| !arg.is_positional());
    }
    for arg in shown {
        line += &if arg.is_required_set() {
            format!(" {}", given(arg))
        } else {
            format!(" [{}]", given(arg))
        };
    }
    if command.has_subcommands() {
        line += " \\fICOMMAND\\fR";
    }
    line + "\n"
}

/// Text to be filled, paragraph by paragraph.
fn paragraphs(text: &str) -> String {
    text.split("\n\n")
        .map(|paragraph| format!(".PP\n{}\n", roff(&paragraph.replace('\n', " "))))
        .collect()
}

/// A line of introduction, commands that are indented, and what is said after them.
fn example(paragraph: &str) -> String {
    let mut lines = paragraph.lines();
    let introduction = lines.next().unwrap_or_default();
    let (commands, rest): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("  "));
    let rest = rest.join(" ");
    let mut out = String::new();
    if !["Example:", "Examples:"].contains(&introduction) {
        out += &paragraphs(introduction);
    }
    out += &verbatim(
        &commands
            .iter()
            .filter_map(|line| line.strip_prefix("  "))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    if !rest.is_empty() {
        out += &paragraphs(&rest);
    }
    out
}

fn verbatim(text: &str) -> String {
    format!(".PP\n.nf\n{}\n.fi\n", roff(text))
}

fn see_also(command: &Command, name: &str, parent: Option<&str>) -> String {
    let subs = command
        .get_subcommands()
        .map(|sub| format!("{name}-{}", sub.get_name()));
    let mut pages: Vec<String> = parent.into_iter().map(str::to_owned).chain(subs).collect();
    match name {
        NAME => pages.push("skewguard".to_owned()),
        "kubectl-skewguard-check" => pages.extend(
            [
                "kubectl-skewguard-policy",
                "kubectl-skewguard-inspect",
                "skewguard",
            ]
            .map(str::to_owned),
        ),
        "kubectl-skewguard-render-machineconfig" | "kubectl-skewguard-render-ignition" => {
            pages.extend(
                [
                    "kubectl-skewguard-policy-init",
                    "kubectl-skewguard-render-manifests",
                ]
                .map(str::to_owned),
            );
        }
        "kubectl-skewguard-render-pointer" => {
            pages.push("kubectl-skewguard-render-machineconfig".to_owned());
        }
        _ => {}
    }
    let pages: Vec<String> = pages
        .iter()
        .map(|page| format!("\\fB{}\\fR(1)", roff(page)))
        .collect();
    format!("{}\n", pages.join(",\n"))
}

/// Text in roff: dashes as they are typed, no control lines by accident.
fn roff(text: &str) -> String {
    let text = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\*(Aq");
    text.lines()
        .map(|line| {
            if line.starts_with('.') {
                format!("\\&{line}")
            } else {
                line.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}
