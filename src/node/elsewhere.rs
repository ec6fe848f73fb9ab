//! What stands in for `root` on systems other than Linux.

use super::{FileError, Problem};
use std::ffi::OsString;
use std::fs::{File, metadata};
use std::io::{Error, ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

/// The files of this computer, by whatever path a person names. It is no node's: what only nodes
/// have is not here, and nothing is written.
#[derive(Debug)]
pub struct Root;

impl Root {
    /// # Errors
    /// `path` is a node's tree, and not `/`.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        if path == Path::new("/") {
            Ok(Self)
        } else {
            Err(Error::new(
                ErrorKind::Unsupported,
                "the files of a node are read on Linux only",
            ))
        }
    }

    /// Reads a regular file of at most `max` bytes; `None` where there is none.
    ///
    /// # Errors
    /// It is not a regular file, is too large, or cannot be read.
    pub fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, FileError> {
        let read = || {
            let about = match metadata(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                about => about?,
            };
            if !about.is_file() {
                return Err(Problem::NotAFile(if about.is_dir() {
                    "directory"
                } else {
                    "device"
                }));
            }
            let mut bytes = Vec::new();
            File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
            match bytes.len() as u64 {
                size if size > max => Err(Problem::TooLarge {
                    size: size.max(about.len()),
                    max,
                }),
                _ => Ok(Some(bytes)),
            }
        };
        read().map_err(|problem: Problem| FileError::new(path, problem))
    }

    pub(crate) fn read_text(&self, path: &str, max: u64) -> Result<Option<String>, FileError> {
        let text = self.read(path, max)?.map(String::from_utf8).transpose();
        text.map_err(|_| FileError::content(path, "is not UTF-8 text"))
    }

    pub fn exists(&self, _: &str) -> Result<bool, FileError> {
        Ok(false)
    }

    pub(crate) fn read_start(&self, _: &str, _: u64) -> Result<Option<Vec<u8>>, FileError> {
        Ok(None)
    }

    pub(crate) fn read_link(&self, _: &str) -> Result<Option<OsString>, FileError> {
        Ok(None)
    }

    pub(crate) fn free(&self, _: &str) -> Result<Option<u64>, FileError> {
        Ok(None)
    }

    pub(crate) fn written(&self, _: &str) -> Result<Option<SystemTime>, FileError> {
        Ok(None)
    }

    pub(crate) fn version(&self, _: &str) -> Result<Option<String>, FileError> {
        Ok(None)
    }

    pub(crate) fn write(&self, path: &str, _: &[u8], _: u32) -> Result<(), FileError> {
        let problem = Problem::Io(Error::new(
            ErrorKind::Unsupported,
            "is written on Linux only",
        ));
        Err(FileError::new(path, problem))
    }

    pub(crate) fn write_soon(&self, path: &str, _: &[u8], _: u32) -> Result<(), FileError> {
        self.write(path, &[], 0)
    }
}
