//! Confined file access: every file of a node is found and read through a [`Root`]. `write.rs` has
//! the methods that change files.
//!
//! Symlinks are resolved as in a chroot: absolute ones start at the root, and `..` stops there.
//! From Linux 5.6 on the kernel does this (openat2(2)). Boot images go back to Linux 4.18; on those
//! the path is walked here, one component at a time.

use super::{FileError, Problem};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat, openat2, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, stat};
use nix::sys::statvfs::fstatvfs;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Flag of open(2) for what is only looked at: opening a device for that has no effects.
const LOOK: OFlag = OFlag::O_PATH;

/// Limit of symlinks followed in one path, as in the kernel (path_resolution(7)).
const MAX_SYMLINKS: usize = 40;

/// A directory that all paths are relative to: `/`, or a tree to examine.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    live: bool,
    /// openat2(2) is there: neither the kernel nor a seccomp filter refuses it.
    has_openat2: bool,
}

impl From<Errno> for Problem {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl Root {
    /// Opens the directory.
    ///
    /// # Errors
    /// It does not exist, is not a directory, or may not be entered or examined.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let flags = LOOK | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let opened = openat2(AT_FDCWD, path, OpenHow::new().flags(flags));
        let has_openat2 = opened.is_ok();
        let dir = opened.or_else(|_| openat(AT_FDCWD, path, flags, Mode::empty()))?;
        // `/` is always live. If it were mistaken for another tree, the node would be held by files
        // alone, and nothing would verify the hold.
        let live = path == Path::new("/") || {
            let (root, slash) = (fstat(&dir)?, stat("/")?);
            (root.st_dev, root.st_ino) == (slash.st_dev, slash.st_ino)
        };
        Ok(Self {
            dir,
            live,
            has_openat2,
        })
    }

    /// Asks if this is the running system, with its D-Bus, journal and console. `/` by any name
    /// counts.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Reads a regular file of at most `max` bytes; `None` if it is absent.
    ///
    /// # Errors
    /// It is not a regular file, is a dangling symlink, is too large, or cannot be read. A FIFO is
    /// an error at once: nothing waits for its writer.
    pub fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, FileError> {
        let bytes = self.read_up_to(path, max, max + 1)?;
        // A file may grow while it is read.
        match bytes.as_ref().map(|bytes| bytes.len() as u64) {
            Some(size) if size > max => Err(FileError::new(path, Problem::TooLarge { size, max })),
            _ => Ok(bytes),
        }
    }

    /// The first `max` bytes of a regular file; otherwise as [`Root::read`].
    pub(super) fn read_start(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, FileError> {
        self.read_up_to(path, u64::MAX, max)
    }

    /// Reads the first `most` bytes of a file of at most `max` bytes.
    fn read_up_to(&self, path: &str, max: u64, most: u64) -> Result<Option<Vec<u8>>, FileError> {
        let read = || {
            let Some((file, size)) = self.open_entry(path)? else {
                return Ok(None);
            };
            if size > max {
                return Err(Problem::TooLarge { size, max });
            }
            // Files in /proc have size 0.
            let room = usize::try_from(size.min(most)).unwrap_or(0);
            let mut bytes = Vec::with_capacity(room);
            file.take(most).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        };
        read().map_err(|problem: Problem| FileError::new(path, problem))
    }

    /// Space that is free for root in the file system that is mounted at the directory `path`, in
    /// bytes; `None` where none is mounted there.
    pub(super) fn free(&self, path: &str) -> Result<Option<u64>, FileError> {
        let free = || {
            let Some(dir) = self.directory(path)? else {
                return Ok(None);
            };
            if fstat(&dir)?.st_dev == fstat(&self.dir)?.st_dev {
                return Ok(None);
            }
            let found = fstatvfs(&dir)?;
            Ok(Some(
                found.blocks_free().saturating_mul(found.fragment_size()),
            ))
        };
        free().map_err(|error: Errno| FileError::new(path, error))
    }

    /// A regular file, and its size as the file system gives it.
    fn open_entry(&self, path: &str) -> Result<Option<(File, u64)>, Problem> {
        // A symlink is looked at first: most files are none, and many are not there at all.
        let Some(found) = self.find(path, LOOK | OFlag::O_NOFOLLOW)? else {
            return Ok(None);
        };
        let mut stat = fstat(found)?;
        if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFLNK {
            stat = fstat(self.find(path, LOOK)?.ok_or(Problem::Dangling)?)?;
        }
        // The type is checked before the file is opened, because opening a device can have effects.
        assert_regular(&stat)?;
        let Some(file) = self.find(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY)?
        else {
            return Ok(None);
        };
        let stat = fstat(&file)?;
        assert_regular(&stat)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Ok(Some((File::from(file), size)))
    }

    /// [`Root::read`] for UTF-8 text.
    pub(crate) fn read_text(&self, path: &str, max: u64) -> Result<Option<String>, FileError> {
        let text = self.read(path, max)?.map(String::from_utf8).transpose();
        text.map_err(|_| FileError::content(path, "is not UTF-8 text"))
    }

    /// Asks if the path exists, whatever its type. A dangling symlink does not exist.
    pub fn exists(&self, path: &str) -> Result<bool, FileError> {
        let found = self.find(path, LOOK);
        let found = found.map_err(|error| FileError::new(path, error))?;
        Ok(found.is_some())
    }

    fn stat(&self, path: &str) -> Result<Option<FileStat>, FileError> {
        let found = self.find(path, LOOK);
        let stat = found.and_then(|found| found.map(fstat).transpose());
        stat.map_err(|error| FileError::new(path, error))
    }

    /// When the content, mode or name of `path` last changed (`st_ctime`, inode(7)); `None` where
    /// it does not exist.
    pub(crate) fn changed(&self, path: &str) -> Result<Option<SystemTime>, FileError> {
        let seconds = self.stat(path)?;
        let seconds = seconds.map(|stat| u64::try_from(stat.st_ctime).unwrap_or(0));
        Ok(seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)))
    }

    /// When the content of a file changed last (`st_mtim`, inode(7)): a new label, or a place in
    /// another file system, does not touch that. `None` where it does not exist.
    pub(crate) fn written(&self, path: &str) -> Result<Option<SystemTime>, FileError> {
        Ok(self.stat(path)?.map(|stat| {
            let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
            let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
            UNIX_EPOCH + Duration::new(seconds, nanoseconds)
        }))
    }

    /// The file system of `path`; `None` where that does not exist.
    pub(super) fn device(&self, path: &str) -> Result<Option<u64>, FileError> {
        Ok(self.stat(path)?.map(|stat| stat.st_dev))
    }

    /// Syncs a directory.
    pub(super) fn sync_dir(&self, path: &str) -> Result<(), Problem> {
        let dir = self.find(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
        let dir = dir.ok_or(Problem::Io(Errno::ENOENT.into()))?;
        Ok(File::from(dir).sync_all()?)
    }

    /// The target of the symlink at `path`; `None` where there is no symlink. Symlinks on the way
    /// to it are followed.
    pub fn read_link(&self, path: &str) -> Result<Option<OsString>, FileError> {
        match self
            .parent(path)
            .and_then(|(dir, name)| readlinkat(dir, name))
        {
            Ok(target) => Ok(Some(target)),
            Err(Errno::EINVAL | Errno::ENOENT) => Ok(None),
            Err(error) => Err(FileError::new(path, error)),
        }
    }

    /// At most `max` names in a directory, sorted; empty where there is no such directory.
    pub(crate) fn list(&self, path: &str, max: usize) -> Result<Vec<OsString>, FileError> {
        let names = || {
            let Some(dir) = self.find(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)? else {
                return Ok(Vec::new());
            };
            let mut dir = Dir::from_fd(dir)?;
            let names = dir
                .iter()
                .map(|entry| Ok(OsString::from_vec(entry?.file_name().to_bytes().to_vec())));
            let mut names: Vec<_> = names
                .filter(|name| !name.as_ref().is_ok_and(|name| name == "." || name == ".."))
                .take(max)
                .collect::<Result<_, Errno>>()?;
            names.sort_unstable();
            Ok(names)
        };
        names().map_err(|error: Errno| FileError::new(path, error))
    }

    /// The directory that holds `path`, with symlinks followed, and the last name in `path`,
    /// unresolved.
    pub(super) fn parent<'a>(&self, path: &'a str) -> Result<(OwnedFd, &'a str), Errno> {
        let (parent, name) = split(path);
        Ok((self.directory(parent)?.ok_or(Errno::ENOENT)?, name))
    }

    /// The directory at `path`, opened with `O_PATH`; `None` where it does not exist.
    pub(super) fn directory(&self, path: &str) -> Result<Option<OwnedFd>, Errno> {
        self.find(path, LOOK | OFlag::O_DIRECTORY)
    }

    /// Opens what `path` leads to, with every symlink followed inside the root; `None` where it
    /// does not exist. With `O_NOFOLLOW` a symlink at the end is opened itself.
    fn find(&self, path: &str, flags: OFlag) -> Result<Option<OwnedFd>, Errno> {
        if self.has_openat2 {
            let inside = ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS;
            let how = OpenHow::new()
                .flags(flags | OFlag::O_CLOEXEC)
                .resolve(inside);
            // The walk ignores a trailing slash, so it is removed here too.
            let path = path.trim_end_matches('/');
            match openat2(&self.dir, if path.is_empty() { "." } else { path }, how) {
                Ok(found) => return Ok(Some(found)),
                Err(Errno::ENOENT) => return Ok(None),
                // EAGAIN: something was renamed during the lookup. ELOOP: a link in /proc that only
                // the kernel can follow. Whatever the error, the walk succeeds or gives the reason.
                Err(_) => {}
            }
        }
        self.walk(path, flags)
    }

    /// [`Root::find`] without openat2(2).
    fn walk(&self, path: &str, flags: OFlag) -> Result<Option<OwnedFd>, Errno> {
        let mut todo: VecDeque<Cow<'_, OsStr>> =
            components(OsStr::new(path)).map(Cow::Borrowed).collect();
        let mut dirs: Vec<OwnedFd> = Vec::new();
        let mut links = 0;
        while let Some(name) = todo.pop_front() {
            if *name == *".." {
                dirs.pop();
                continue;
            }
            let here = dirs.last().unwrap_or(&self.dir);
            let is_last = todo.is_empty();
            match openat(
                here,
                &*name,
                LOOK | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC,
                Mode::empty(),
            ) {
                Ok(dir) => dirs.push(dir),
                Err(Errno::ENOENT) => return Ok(None),
                Err(Errno::ENOTDIR) => match readlinkat(here, &*name) {
                    Ok(_) if is_last && flags.contains(OFlag::O_NOFOLLOW) => {
                        return enter(here, &name, flags);
                    }
                    Ok(target) => {
                        links += 1;
                        if links > MAX_SYMLINKS {
                            return Err(Errno::ELOOP);
                        }
                        if target.as_bytes().starts_with(b"/") {
                            dirs.clear();
                        }
                        let parts: Vec<&OsStr> = components(&target).collect();
                        for part in parts.into_iter().rev() {
                            todo.push_front(Cow::Owned(part.to_owned()));
                        }
                    }
                    Err(Errno::EINVAL) if is_last => return enter(here, &name, flags),
                    Err(Errno::EINVAL) => return Err(Errno::ENOTDIR),
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        match dirs.pop() {
            Some(dir) if flags.contains(LOOK) => Ok(Some(dir)),
            dir => enter(dir.as_ref().unwrap_or(&self.dir), OsStr::new("."), flags),
        }
    }
}

/// Opens the last component of a walk. It is not a symlink, or `O_NOFOLLOW` asks for the symlink
/// itself.
fn enter(dir: &OwnedFd, name: &OsStr, flags: OFlag) -> Result<Option<OwnedFd>, Errno> {
    match openat(
        dir,
        name,
        flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC,
        Mode::empty(),
    ) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Splits a path into its directory and its last name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn components(path: &OsStr) -> impl Iterator<Item = &OsStr> {
    let parts = path.as_bytes().split(|byte| *byte == b'/');
    parts
        .filter(|part| !part.is_empty() && *part != b".")
        .map(OsStr::from_bytes)
}

pub(super) fn assert_regular(stat: &FileStat) -> Result<(), Problem> {
    Err(Problem::NotAFile(
        match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => return Ok(()),
            SFlag::S_IFDIR => "directory",
            SFlag::S_IFIFO => "FIFO",
            SFlag::S_IFSOCK => "socket",
            SFlag::S_IFCHR => "character device",
            SFlag::S_IFBLK => "block device",
            _ => "symlink",
        },
    ))
}

#[cfg(test)]
#[path = "root_tests.rs"]
mod tests;
