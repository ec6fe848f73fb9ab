//! Files that a person names on the command line: not the node's, so neither under its root nor
//! limited to regular files.

use super::{FileError, Problem};
use crate::text::printable;
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a file, a FIFO as a shell's `<(command)` makes one, or standard input where the name is
/// `-`: at most one byte more than `max`, which shows that it is too large.
///
/// # Errors
/// It is a directory, or cannot be opened or read.
pub fn read_start(path: &Path, max: u64) -> Result<Vec<u8>, Problem> {
    let file: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(Problem::NotAFile("directory"));
        }
        Box::new(file)
    };
    // Reserved at once: growing would leave copies behind, and a kubeconfig has secrets.
    let mut bytes = Vec::with_capacity(usize::try_from(max.min(1 << 20) + 1).unwrap_or(0));
    file.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// [`read_start`] of a whole file.
///
/// # Errors
/// It cannot be read, is empty, or is larger than `max` bytes.
pub fn read(path: &Path, max: u64) -> Result<Vec<u8>, FileError> {
    // An error makes the path printable by itself.
    let error = |problem| FileError::new(&shown(path), problem);
    let bytes = read_start(path, max).map_err(error)?;
    match bytes.len() as u64 {
        0 => Err(error(Problem::Content("is empty".to_owned()))),
        size if size > max => Err(error(Problem::Content(format!(
            "is larger than {max} bytes"
        )))),
        _ => Ok(bytes),
    }
}

/// The name, printable.
pub fn name(path: &Path) -> String {
    printable(&shown(path))
}

/// The name as it is, for errors.
pub(super) fn shown(path: &Path) -> Cow<'_, str> {
    if path == Path::new("-") {
        "<stdin>".into()
    } else {
        path.to_string_lossy()
    }
}
