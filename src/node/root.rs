//! Confined file access: every file of a node is found and read through a [`Root`]. `write.rs` has the methods that change files.
//!
//! openat2(2) with `RESOLVE_IN_ROOT` would resolve paths in the kernel, but only from Linux 5.6 on; boot images go back to 4.18. So paths
//! are walked here, one component at a time, with symlinks resolved as in a chroot: absolute ones start at the root, and `..` stops there.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, stat};
use nix::unistd::geteuid;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most symlinks followed in one path, as in the kernel (path_resolution(7)).
const MAX_SYMLINKS: usize = 40;

/// A directory that all paths are relative to: `/`, or a tree to examine.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    live: bool,
}

/// What is wrong with a file. A file that does not exist is no problem, but `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A directory, FIFO, socket or device.
    #[error("is a {0}, not a regular file")]
    NotAFile(&'static str),
    /// A symlink whose target does not exist inside the root.
    #[error("is a symlink to nothing inside the root")]
    Dangling,
    /// Larger than is read of this file.
    #[error("is {size} bytes long; at most {max} are read")]
    TooLarge { size: u64, max: u64 },
    #[error("{0}{remedy}", remedy = remedy(.0))]
    Io(#[from] std::io::Error),
    /// The content is not what it should be.
    #[error("{0}")]
    Content(String),
}

impl From<Errno> for Problem {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// The remedy for an error of the kernel, where there is one.
fn remedy(error: &std::io::Error) -> &'static str {
    if error.kind() == ErrorKind::PermissionDenied && !geteuid().is_root() { "; run it with sudo" } else { "" }
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
        Self { path: path.to_owned(), problem: problem.into() }
    }

    /// The content of `path` is not what it should be.
    pub(crate) fn content(path: &str, what: impl std::fmt::Display) -> Self {
        Self::new(path, Problem::Content(crate::text::printable(&what.to_string())))
    }
}

/// What a path leads to, with every symlink followed.
pub(super) enum Found {
    Directory(OwnedFd),
    /// Neither a directory nor a symlink: the directory that it is in, and its name there.
    Entry(OwnedFd, OsString),
    /// It does not exist. `dangling`: the path itself is a symlink.
    Nothing {
        dangling: bool,
    },
}

impl Found {
    pub(super) fn into_directory(self) -> Result<OwnedFd, Errno> {
        match self {
            Self::Directory(dir) => Ok(dir),
            Self::Entry(..) => Err(Errno::ENOTDIR),
            Self::Nothing { .. } => Err(Errno::ENOENT),
        }
    }
}

impl Root {
    /// Opens the directory.
    ///
    /// # Errors
    /// It does not exist, is not a directory, or may not be entered or examined.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let dir = openat(AT_FDCWD, path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        // `/` is live without asking: if it were mistaken for another tree, the node would be held by files alone, unverified.
        let live = path == Path::new("/") || {
            let (root, slash) = (fstat(&dir)?, stat("/")?);
            (root.st_dev, root.st_ino) == (slash.st_dev, slash.st_ino)
        };
        Ok(Self { dir, live })
    }

    /// Whether this is the running system, with its D-Bus, journal and console. `/` by any name counts.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Reads a regular file of at most `max` bytes; `None` where there is none.
    ///
    /// # Errors
    /// It is not a regular file, a dangling symlink or too large, or it cannot be read. A FIFO is an error, too, and never waited for.
    pub fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, FileError> {
        self.read_entry(path, max).map_err(|problem| FileError::new(path, problem))
    }

    fn read_entry(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, Problem> {
        let (dir, name) = match self.find(path)? {
            Found::Entry(dir, name) => (dir, name),
            Found::Directory(_) => return Err(Problem::NotAFile("directory")),
            Found::Nothing { dangling: true } => return Err(Problem::Dangling),
            Found::Nothing { dangling: false } => return Ok(None),
        };
        // The type is checked before the file is opened, because opening a device can have effects.
        assert_regular(&fstatat(&dir, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?)?;
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&dir, name.as_os_str(), flags, Mode::empty())?;
        let stat = fstat(&file)?;
        assert_regular(&stat)?;
        let fits = |size: u64| if size > max { Err(Problem::TooLarge { size, max }) } else { Ok(size) };
        let size = fits(u64::try_from(stat.st_size).unwrap_or(0))?;
        // Files in /proc have size 0, and a file may grow while it is read.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        File::from(file).take(max + 1).read_to_end(&mut bytes)?;
        fits(bytes.len() as u64)?;
        Ok(Some(bytes))
    }

    /// [`Root::read`] for UTF-8 text.
    pub(crate) fn read_text(&self, path: &str, max: u64) -> Result<Option<String>, FileError> {
        let text = self.read(path, max)?.map(String::from_utf8).transpose();
        text.map_err(|_| FileError::content(path, "is not UTF-8 text"))
    }

    /// Whether the path exists, whatever its type. A dangling symlink does not.
    pub fn exists(&self, path: &str) -> Result<bool, FileError> {
        let found = self.find(path).map_err(|error| FileError::new(path, error))?;
        Ok(!matches!(found, Found::Nothing { .. }))
    }

    /// When the content, mode or name of `path` last changed (`st_ctime`, inode(7)); `None` where it does not exist.
    pub(crate) fn changed(&self, path: &str) -> Result<Option<SystemTime>, FileError> {
        let stat = self.find(path).and_then(|found| match found {
            Found::Directory(dir) => fstat(dir).map(Some),
            Found::Entry(dir, name) => fstatat(dir, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW).map(Some),
            Found::Nothing { .. } => Ok(None),
        });
        let seconds = stat.map_err(|error| FileError::new(path, error))?.map(|stat| u64::try_from(stat.st_ctime).unwrap_or(0));
        Ok(seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)))
    }

    /// The target of the symlink at `path`; `None` where there is no symlink. Symlinks on the way to it are followed.
    pub fn read_link(&self, path: &str) -> Result<Option<OsString>, FileError> {
        match self.parent(path).and_then(|(dir, name)| readlinkat(dir, name)) {
            Ok(target) => Ok(Some(target)),
            Err(Errno::EINVAL | Errno::ENOENT) => Ok(None),
            Err(error) => Err(FileError::new(path, error)),
        }
    }

    /// At most `max` names in a directory, sorted; empty where there is no such directory.
    pub(crate) fn list(&self, path: &str, max: usize) -> Result<Vec<OsString>, FileError> {
        let names = || {
            let dir = match self.find(path)? {
                Found::Nothing { .. } => return Ok(Vec::new()),
                found => found.into_directory()?,
            };
            let mut dir = Dir::openat(&dir, ".", OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
            let names = dir.iter().map(|entry| Ok(OsString::from_vec(entry?.file_name().to_bytes().to_vec())));
            let mut names: Vec<_> = names
                .filter(|name| !name.as_ref().is_ok_and(|name| name == "." || name == ".."))
                .take(max)
                .collect::<Result<_, Errno>>()?;
            names.sort();
            Ok(names)
        };
        names().map_err(|error: Errno| FileError::new(path, error))
    }

    /// The directory that holds `path`, with symlinks followed, and the last name in `path`, as it is.
    pub(super) fn parent<'a>(&self, path: &'a str) -> Result<(OwnedFd, &'a str), Errno> {
        let (parent, name) = split(path);
        Ok((self.find(parent)?.into_directory()?, name))
    }

    /// Walks to `path`, following every symlink inside the root.
    pub(super) fn find(&self, path: &str) -> Result<Found, Errno> {
        let mut todo: VecDeque<OsString> = components(OsStr::new(path)).collect();
        let mut dirs: Vec<OwnedFd> = Vec::new();
        let (mut links, mut dangling) = (0, false);
        while let Some(name) = todo.pop_front() {
            if name == ".." {
                dirs.pop();
                continue;
            }
            let here = dirs.last().unwrap_or(&self.dir);
            let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            match openat(here, name.as_os_str(), flags, Mode::empty()) {
                Ok(dir) => dirs.push(dir),
                Err(Errno::ENOENT) => return Ok(Found::Nothing { dangling }),
                Err(Errno::ENOTDIR) => match readlinkat(here, name.as_os_str()) {
                    Ok(target) => {
                        links += 1;
                        if links > MAX_SYMLINKS {
                            return Err(Errno::ELOOP);
                        }
                        dangling |= todo.is_empty();
                        if target.as_bytes().starts_with(b"/") {
                            dirs.clear();
                        }
                        for part in components(&target).collect::<Vec<_>>().into_iter().rev() {
                            todo.push_front(part);
                        }
                    }
                    Err(Errno::EINVAL) if todo.is_empty() => return Ok(Found::Entry(self.last(dirs)?, name)),
                    Err(Errno::EINVAL) => return Err(Errno::ENOTDIR),
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        self.last(dirs).map(Found::Directory)
    }

    /// The directory that a walk through `dirs` ended in.
    fn last(&self, mut dirs: Vec<OwnedFd>) -> Result<OwnedFd, Errno> {
        dirs.pop().map_or_else(|| openat(&self.dir, ".", OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()), Ok)
    }
}

/// Splits a path into its directory and its last name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn components(path: &OsStr) -> impl Iterator<Item = OsString> + '_ {
    let parts = path.as_bytes().split(|byte| *byte == b'/');
    parts.filter(|part| !part.is_empty() && *part != b".").map(|part| OsStr::from_bytes(part).to_owned())
}

pub(super) fn assert_regular(stat: &FileStat) -> Result<(), Problem> {
    Err(Problem::NotAFile(match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => return Ok(()),
        SFlag::S_IFDIR => "directory",
        SFlag::S_IFIFO => "FIFO",
        SFlag::S_IFSOCK => "socket",
        SFlag::S_IFCHR => "character device",
        SFlag::S_IFBLK => "block device",
        _ => "symlink",
    }))
}
