//! Files that a person names on the command line.

use crate::text::printable;
use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

/// Text of an error of the operating system, without its number.
pub fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next();
    printable(text.unwrap_or_default())
}

/// Reads a file, a FIFO as a shell's `<(command)` makes one, or standard input where the name is
/// `-`: at most one byte more than `max`, which shows that it is too large.
///
/// # Errors
/// It is a directory, or cannot be opened or read.
pub fn read_start(path: &Path, max: u64) -> Result<Vec<u8>> {
    if path.is_dir() {
        return Err(std::io::Error::other("is a directory, not a regular file"));
    }
    let mut bytes = Vec::new();
    opened(path)?.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that is open, or standard input where the name is `-`.
///
/// # Errors
/// It cannot be opened.
pub fn opened(path: &Path) -> Result<Box<dyn Read>> {
    Ok(match path == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(File::open(path)?),
    })
}

/// [`read_start`] of a whole file.
///
/// # Errors
/// It cannot be read, is empty, or is larger than `max` bytes. The text names the file.
pub fn read(path: &Path, max: u64) -> std::result::Result<Vec<u8>, String> {
    let error = |what: String| format!("{}: {what}", name(path));
    let bytes = read_start(path, max).map_err(|problem| error(cause(&problem)))?;
    match bytes.len() as u64 {
        0 => Err(error("is empty".to_owned())),
        size if size > max => Err(error(format!("is larger than {max} bytes"))),
        _ => Ok(bytes),
    }
}

/// The name, printable.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "<stdin>".to_owned()
    } else {
        printable(&path.to_string_lossy())
    }
}
