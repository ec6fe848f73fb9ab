//! Problems with files, of a node or of a person.

use nix::unistd::geteuid;
use serde_json::error::Category;
use std::io::ErrorKind;

/// A problem with a file. A missing file is not a problem: it is `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A directory, FIFO, socket or device.
    #[error("is a {0}, not a regular file")]
    NotAFile(&'static str),
    /// A symlink whose target does not exist inside the root.
    #[error("is a symlink to nothing inside the root")]
    Dangling,
    /// Larger than the limit for this file.
    #[error("is {size} bytes long; at most {max} are read")]
    TooLarge { size: u64, max: u64 },
    #[error("{0}{remedy}", remedy = remedy(.0))]
    Io(#[from] std::io::Error),
    /// The content is not what it should be.
    #[error("{0}")]
    Content(String),
}

const AS_ROOT: &str = "; run it with sudo";

/// The remedy for an error of the kernel, where there is one.
fn remedy(error: &std::io::Error) -> &'static str {
    if error.kind() == ErrorKind::PermissionDenied && !geteuid().is_root() {
        return AS_ROOT;
    }
    ""
}

/// Finds an error that root would not have had.
pub(crate) fn is_denied(text: &str) -> bool {
    text.contains(AS_ROOT)
}

/// A problem, and the file that has it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", crate::text::printable(path))]
pub struct FileError {
    /// The file, absolute within the root.
    pub path: String,
    #[source]
    pub problem: Problem,
}

impl FileError {
    pub(crate) fn new(path: &str, problem: impl Into<Problem>) -> Self {
        Self {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    /// The content of `path` is not what it should be.
    pub(crate) fn content(path: &str, what: impl std::fmt::Display) -> Self {
        Self::new(
            path,
            Problem::Content(crate::text::printable(&what.to_string())),
        )
    }

    /// The content of `path` is not JSON, or not the object that it should be (`what`). The text is
    /// not quoted, as serde_json does: a served config has secrets.
    pub(crate) fn json(path: &str, what: &str, error: &serde_json::Error) -> Self {
        let why = match error.classify() {
            Category::Data if error.to_string().starts_with("duplicate field") => {
                "a field is duplicate"
            }
            Category::Data => "a field has the wrong type, or is missing",
            Category::Syntax => "it is not JSON",
            Category::Eof => "it ends too early",
            Category::Io => "it cannot be read",
        };
        let (line, column) = (error.line(), error.column());
        Self::content(
            path,
            format_args!("{what}: {why}, at line {line} column {column}"),
        )
    }
}

/// Files that could not be read.
#[derive(Clone, Default)]
pub(super) struct Doubts {
    /// In words; also files that are odd.
    pub(super) warnings: Vec<String>,
    /// One of them may show that the node has left its boot image.
    pub(super) is_open: bool,
}

impl Doubts {
    /// Unwraps what was read. An error becomes a warning, leaves open what the file may show, and
    /// gives the default.
    pub(super) fn or_default<T: Default>(&mut self, found: Result<T, FileError>) -> T {
        found.unwrap_or_else(|error| {
            self.is_open = true;
            self.warnings.push(error.to_string());
            T::default()
        })
    }
}
