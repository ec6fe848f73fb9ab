//! Inputs that a person names: policies, files and names.

use crate::lint::starter::{STARTER, STARTER_NAME, STARTER_NAME_OKD, STARTER_OKD};
use crate::lint::{INVALID, LintReport, Rule, Severity, lint};
use crate::policy::MAX_BYTES;
use crate::policy::fields::KIND;
use crate::render::size::figure;
use crate::text::{hex, printable};
use crate::verdict::PolicyInput;
use crate::yaml::for_nodes;
use clap::builder::{OsStringValueParser, TypedValueParser};
use sha2::{Digest, Sha256};
use skewguard_cluster::file::name as named;
use skewguard_cluster::file::{self, cause};
use skewguard_cluster::files::input;
use skewguard_core::command::{Failure, Io};
use std::path::{Path, PathBuf};

/// The variable that stands for `--policy`: one place in a pipeline.
pub(super) const POLICY_VARIABLE: &str = "SKEWGUARD_POLICY";

/// The place of a mistake in JSON, and what is wrong: the place is not said twice.
pub(super) fn json_mistake(error: &serde_json::Error) -> ((usize, usize), String) {
    let says = error.to_string();
    let what = says.split(" at line ").next().unwrap_or(&says);
    let place = (error.line().max(1), error.column().max(1));
    (place, printable(what))
}

/// A policy that a person named. A node makes the best of a policy's mistakes; here each of them is
/// an error.
///
/// # Errors
/// It cannot be read, or lint finds an error in it. The text names the file.
pub(super) fn named_policy(path: &Path) -> Result<PolicyInput, Failure> {
    let file = named(path);
    let (bytes, mut report) =
        read_policy(path).map_err(|error| format!("--policy {file}: {error}"))?;
    if report.is_misread() {
        report.forget(Rule::OldReleasesRefused);
        let errors: String = report
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| format!("\n{}", finding.shown(&file).trim_end()))
            .collect();
        return Err(format!("--policy {file}: nodes would ignore parts of it{errors}").into());
    }
    Ok(policy_input(&file, &for_nodes(bytes)))
}

/// The remedy for what is no policy.
pub(super) const INIT: &str = "`oc skewguard policy init` writes one";

/// Reads what is to be a policy, which may have mistakes, and what lint says of it.
///
/// # Errors
/// It cannot be read, or is something else. The text does not name it.
pub(super) fn read_policy(path: &Path) -> Result<(Vec<u8>, LintReport), String> {
    let bytes = read_file(path, MAX_BYTES, INIT)?;
    if let Some(what) = no_policy(&bytes) {
        return Err(what);
    }
    if std::str::from_utf8(&bytes).is_err() {
        return Err(format!("is not UTF-8, so not a policy; {INIT}"));
    }
    let report = lint(&bytes);
    let mut findings = report.findings.iter();
    // Neither JSON nor YAML.
    match findings.find(|finding| finding.is_of(&INVALID)) {
        None => Ok((bytes, report)),
        Some(finding) => Err(format!(
            "line {}, column {}: {}; {}",
            finding.line, finding.column, finding.message, finding.help
        )),
    }
}

/// The name of a policy. An empty variable is a mistake of a pipeline: judged by another policy than its
/// own it would lie.
pub(super) fn policy_name() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| {
        if name.is_empty() {
            Err(format!("is empty: name a file, or unset {POLICY_VARIABLE}"))
        } else {
            Ok(PathBuf::from(name))
        }
    })
}

/// Endings and beginnings of what is meant as a file, also where there is none.
const OF_FILES: [&str; 9] = [
    ".json", ".yaml", ".yml", ".tar", ".gz", ".xz", ".tgz", ".log", "/",
];

/// The files of --from, and the names, also those behind it: its first value is a file, and what of the
/// others is none, and is not written as one, is a name.
pub(super) fn files_and_names(from: &[PathBuf], names: &[String]) -> (Vec<PathBuf>, Vec<String>) {
    let mut files: Vec<PathBuf> = from.iter().take(1).cloned().collect();
    let mut names = names.to_vec();
    for value in from.iter().skip(1) {
        let is_missing = matches!(value.try_exists(), Ok(false)) && value.as_os_str() != "-";
        let is_path = |text: &str| {
            text.starts_with(['/', '.', '~']) || OF_FILES.iter().any(|end| text.ends_with(end))
        };
        match value.to_str().filter(|text| is_missing && !is_path(text)) {
            Some(name) => names.push(name.to_owned()),
            None => files.push(value.clone()),
        }
    }
    (files, names)
}

/// Refuses names that are files, where none was named with --from.
pub(super) fn check_names(from: &[PathBuf], names: &[String]) -> Result<(), String> {
    let is_file = |name: &&String| from.is_empty() && Path::new(name.as_str()).is_file();
    match names.iter().find(is_file) {
        Some(name) => Err(format!(
            "{}: this is a file; name it with --from",
            printable(name)
        )),
        None => Ok(()),
    }
}

/// The name of a file that is no policy at all, not even one with mistakes.
pub(super) fn no_policy(bytes: &[u8]) -> Option<String> {
    let what = match bytes {
        _ if bytes.len() as u64 <= MAX_BYTES && bytes.trim_ascii().is_empty() => {
            "is empty, so".to_owned()
        }
        [0x1f, 0x8b, ..] => "is packed by gzip, so".to_owned(),
        _ => format!("this is a {},", other_kind(bytes)?),
    };
    Some(format!("{what} not a policy; {INIT}"))
}

/// The kind of an object that is something else: a cluster's, or what this program prints.
pub(super) fn other_kind(bytes: &[u8]) -> Option<String> {
    let bytes = for_nodes(bytes.to_vec());
    let object: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let kind = object.get("kind")?.as_str().filter(|kind| *kind != KIND)?;
    let of = object
        .get("items")
        .and_then(|items| items.get(0)?.get("kind")?.as_str());
    let is_policy = object.get("mode").is_some() || object.get("limits").is_some();
    (!is_policy).then(|| match of {
        Some(of) => format!("{} of {}", printable(kind), printable(of)),
        None => printable(kind),
    })
}

/// A policy as nodes get it.
pub(super) fn policy_input(name: &str, bytes: &[u8]) -> PolicyInput {
    let digest = format!("sha256:{}", hex(&Sha256::digest(bytes)));
    PolicyInput::new(name, digest, bytes)
}

/// The policy of a cluster for which none was named: what `policy init` writes for it.
pub(super) fn starter_of(okd: bool) -> PolicyInput {
    match okd {
        true => policy_input(STARTER_NAME_OKD, STARTER_OKD.as_bytes()),
        false => policy_input(STARTER_NAME, STARTER.as_bytes()),
    }
}

/// [`file::read_start`], with the remedy where the file is missing: what makes such a file.
///
/// # Errors
/// It cannot be read. The text does not name it.
pub(super) fn read_start(path: &Path, max: u64, remedy: &str) -> Result<Vec<u8>, String> {
    let bytes = file::read_start(path, max).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{}; {remedy}", cause(&error)),
        _ => cause(&error),
    })?;
    Ok(match bytes.as_slice() {
        // Windows PowerShell redirects as UTF-16, and its editors mark UTF-8.
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0xef, 0xbb, 0xbf, ..] => {
            input::decode(bytes.clone()).map_or(bytes, String::into_bytes)
        }
        _ => bytes,
    })
}

/// [`read_start`] of a whole file.
///
/// # Errors
/// It cannot be read, or is larger than `max` bytes. The text does not name it.
pub(super) fn read_file(path: &Path, max: u64, remedy: &str) -> Result<Vec<u8>, String> {
    let bytes = read_start(path, max, remedy)?;
    if bytes.len() as u64 > max {
        Err(format!("is larger than {} bytes", figure(max)))
    } else {
        Ok(bytes)
    }
}

/// Warns of a release to ask about that is not known.
pub(super) fn warn_of_target(target: Option<&str>, io: &mut Io<'_>) {
    if let Some(unknown) = target.and_then(crate::operator::unknown_release) {
        io.say(format_args!("warning: --target {unknown}"));
    }
}

/// The remedy for what is no stream metadata.
pub(super) const PRINTED: &str = "`openshift-install coreos print-stream-json` prints what is read";

/// A text that a person named, which is no object of the cluster.
///
/// # Errors
/// It cannot be read.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read_file(path, input::MAX_FILE, PRINTED)?;
    String::from_utf8(bytes).map_err(|_| format!("is not UTF-8; {PRINTED}"))
}
