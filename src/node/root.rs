//! Confined file access: every file of a node is read and written through a [`Root`].
//!
//! openat2(2) with `RESOLVE_IN_ROOT` would do this in the kernel, but only from Linux 5.6 on; boot images go back to 4.18. So the path is
//! walked here, one component at a time, and symlinks are resolved as a chroot would: absolute ones start at the root, `..` stops there.

use super::leftover;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, geteuid, linkat, unlinkat};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Symlinks followed in one path, as in the kernel (path_resolution(7)).
const MAX_SYMLINKS: usize = 40;

/// A directory that all paths are relative to: `/`, or a tree to look into.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    live: bool,
}

/// What is wrong with a file. Absence is not: it is an `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A directory, FIFO, socket or device.
    #[error("is a {0}, not a regular file")]
    NotAFile(&'static str),
    /// A symlink to nothing; one that points out of the root ends here.
    #[error("is a symlink to nothing inside the root")]
    Dangling,
    /// Longer than its kind of file can be.
    #[error("is {size} bytes long; at most {max} are read")]
    TooLarge {
        /// Bytes found.
        size: u64,
        /// Bytes allowed.
        max: u64,
    },
    /// The kernel says no.
    #[error("{0}{remedy}", remedy = remedy(.0))]
    Io(#[source] std::io::Error),
    /// The content is not what it should be.
    #[error("{0}")]
    Content(String),
}

/// What helps against an error of the kernel, where that is plain.
fn remedy(error: &std::io::Error) -> &'static str {
    if error.kind() == ErrorKind::PermissionDenied && !geteuid().is_root() { "; run it with sudo" } else { "" }
}

/// A problem, and the file that has it (as a path within the root).
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", crate::text::word(path))]
pub struct FileError {
    /// The file, absolute within the root.
    pub path: String,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

impl FileError {
    /// The content of `path` is not what it should be.
    pub(crate) fn content(path: &str, what: impl std::fmt::Display) -> Self {
        Self { path: path.to_owned(), problem: Problem::Content(crate::text::word(&what.to_string())) }
    }

    /// The kernel said no to something done to `path`.
    pub(crate) fn io(path: &str, error: impl Into<std::io::Error>) -> Self {
        Self { path: path.to_owned(), problem: Problem::Io(error.into()) }
    }
}

impl Root {
    /// Opens the directory.
    ///
    /// # Errors
    /// It does not exist, is no directory or may not be entered; or the kernel does not say whether it is the running system's.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let dir = openat(AT_FDCWD, path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        // Never in doubt for `/` itself: taken for another tree, a node would be held by files alone, and nothing verified.
        let live = path == Path::new("/") || {
            let (root, slash) = (fstat(&dir)?, nix::sys::stat::stat("/")?);
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
    /// Not a regular file (never waits for a FIFO's writer), a dangling symlink, too large, or the kernel says no.
    pub fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, FileError> {
        let at = |problem| FileError { path: path.to_owned(), problem };
        let Some(place) = self.find(path).map_err(|e| FileError::io(path, e))? else {
            return if self.read_link(path)?.is_some() { Err(at(Problem::Dangling)) } else { Ok(None) };
        };
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = match &place.name {
            // The type is asked for first: opening a device can have effects.
            Some(name) => {
                let kind = fstatat(&place.dir, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW).map_err(|e| FileError::io(path, e))?;
                regular(&kind).map_err(at)?;
                openat(&place.dir, name.as_os_str(), flags, Mode::empty()).map_err(|e| FileError::io(path, e))?
            }
            None => return Err(at(Problem::NotAFile("directory"))),
        };
        let stat = fstat(&fd).map_err(|e| FileError::io(path, e))?;
        regular(&stat).map_err(at)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > max {
            return Err(at(Problem::TooLarge { size, max }));
        }
        // Files in /proc say size 0; a file may grow while it is read.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        File::from(fd).take(max + 1).read_to_end(&mut bytes).map_err(|e| FileError::io(path, e))?;
        let size = bytes.len() as u64;
        if size > max {
            return Err(at(Problem::TooLarge { size, max }));
        }
        Ok(Some(bytes))
    }

    /// [`Root::read`] for text.
    ///
    /// # Errors
    /// As there, and where the bytes are not UTF-8.
    pub(crate) fn read_text(&self, path: &str, max: u64) -> Result<Option<String>, FileError> {
        let Some(bytes) = self.read(path, max)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| FileError::content(path, "is not UTF-8 text"))
    }

    /// Whether something is there, of whatever type; a dangling symlink counts as nothing.
    ///
    /// # Errors
    /// The kernel says no.
    pub fn exists(&self, path: &str) -> Result<bool, FileError> {
        self.find(path).map(|place| place.is_some()).map_err(|e| FileError::io(path, e))
    }

    /// When the inode at `path` last changed: its content, its mode or its name (`st_ctime`, inode(7)); `None` where there is nothing.
    ///
    /// # Errors
    /// The kernel says no.
    pub(crate) fn changed(&self, path: &str) -> Result<Option<SystemTime>, FileError> {
        let Some(Place { dir, name }) = self.find(path).map_err(|e| FileError::io(path, e))? else { return Ok(None) };
        let name = name.unwrap_or_else(|| OsString::from("."));
        let stat = fstatat(&dir, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW).map_err(|e| FileError::io(path, e))?;
        Ok(Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_ctime).unwrap_or(0))))
    }

    /// The target of the symlink at `path` itself (its directory is resolved, the link is not); `None` where there is no symlink.
    ///
    /// # Errors
    /// The kernel says no.
    pub fn read_link(&self, path: &str) -> Result<Option<OsString>, FileError> {
        let Some((dir, name)) = self.parent(path)? else { return Ok(None) };
        match readlinkat(&dir, name.as_os_str()) {
            Ok(target) => Ok(Some(target)),
            Err(Errno::EINVAL | Errno::ENOENT) => Ok(None),
            Err(error) => Err(FileError::io(path, error)),
        }
    }

    /// Names in a directory, sorted, at most `max`; empty where there is none.
    ///
    /// # Errors
    /// Not a directory, or the kernel says no.
    pub(crate) fn list(&self, path: &str, max: usize) -> Result<Vec<OsString>, FileError> {
        let Some(dir) = self.find_dir(path)? else { return Ok(Vec::new()) };
        let mut dir = nix::dir::Dir::openat(&dir, ".", OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())
            .map_err(|e| FileError::io(path, e))?;
        let mut names = Vec::new();
        for entry in dir.iter() {
            let entry = entry.map_err(|e| FileError::io(path, e))?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name.to_vec()));
                if names.len() == max {
                    break;
                }
            }
        }
        names.sort();
        Ok(names)
    }

    /// Writes a file as a whole: a temporary file in the same directory (which keeps its SELinux label), mode, fsync, rename.
    /// Directories on the way are made with mode 0755. A symlink at `path` itself is replaced, not followed. After a power cut the file is the
    /// old or the new one: the directory is not synced, a file lost to that is one not yet written. The directory is
    /// swept, see [`Root::sweep`].
    ///
    /// # Errors
    /// The kernel says no; then the old file is untouched and no temporary file stays behind.
    pub fn write(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), FileError> {
        self.replace(path, bytes, mode, File::sync_all)
    }

    /// [`Root::write`] for what nobody has to wait for: the kernel decides when it reaches the disk, and a power cut before that may leave the
    /// file empty.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn write_soon(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), FileError> {
        self.replace(path, bytes, mode, |_| Ok(()))
    }

    /// Opens a file to be locked (flock(2)), which only its owner can open; it is made, empty, where there is none.
    ///
    /// # Errors
    /// The kernel says no, or something else has that name.
    pub(super) fn open_lock(&self, path: &str) -> Result<File, FileError> {
        let failed = |error: std::io::Error| FileError::io(path, error);
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.make_dirs(parent).map_err(failed)?;
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = openat(&dir, name, flags, Mode::S_IRUSR | Mode::S_IWUSR).map_err(|error| failed(error.into()))?;
        regular(&fstat(&fd).map_err(|error| failed(error.into()))?).map_err(|problem| FileError { path: path.to_owned(), problem })?;
        Ok(File::from(fd))
    }

    /// Removes from a directory the temporary files that killed processes left.
    pub(crate) fn sweep(&self, path: &str) {
        if let Ok(Some(dir)) = self.find_dir(path) {
            leftover::sweep(&dir);
        }
    }

    /// Makes `to`, which must not exist, another name of the file or symlink `from` (the link itself, not what it points to).
    ///
    /// # Errors
    /// The kernel says no; `from` is a directory or does not exist.
    pub(crate) fn hard_link(&self, from: &str, to: &str) -> Result<(), FileError> {
        let missing = |path: &str| FileError::io(path, Errno::ENOENT);
        let (from_dir, from_name) = self.parent(from)?.ok_or_else(|| missing(from))?;
        let (to_dir, to_name) = self.parent(to)?.ok_or_else(|| missing(to))?;
        let link = || linkat(&from_dir, from_name.as_os_str(), &to_dir, to_name.as_os_str(), AtFlags::empty());
        change(to, || link().map_err(|e| FileError::io(to, e)))
    }

    /// Renames the file or symlink `from` to `to`, in place of what is there; whether there was a `from`.
    ///
    /// # Errors
    /// The kernel says no; then nothing has changed.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<bool, FileError> {
        let (Some((from_dir, from_name)), Some((to_dir, to_name))) = (self.parent(from)?, self.parent(to)?) else { return Ok(false) };
        change(to, || match renameat(&from_dir, from_name.as_os_str(), &to_dir, to_name.as_os_str()) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(error) => Err(FileError::io(to, error)),
        })
    }

    /// Removes a file or symlink; whether there was one.
    ///
    /// # Errors
    /// The kernel says no.
    pub fn remove(&self, path: &str) -> Result<bool, FileError> {
        self.unlink(path, UnlinkatFlags::NoRemoveDir)
    }

    /// Removes an empty directory; whether there was one.
    ///
    /// # Errors
    /// It is not empty, or the kernel says no.
    pub(crate) fn remove_dir(&self, path: &str) -> Result<bool, FileError> {
        self.unlink(path, UnlinkatFlags::RemoveDir)
    }

    fn unlink(&self, path: &str, flag: UnlinkatFlags) -> Result<bool, FileError> {
        let (dir, name) = match self.parent(path) {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(false),
            // Below a file there is nothing.
            Err(FileError { problem: Problem::Io(error), .. }) if error.kind() == ErrorKind::NotADirectory => return Ok(false),
            Err(error) => return Err(error),
        };
        change(path, || match unlinkat(&dir, name.as_os_str(), flag) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(error) => Err(FileError::io(path, error)),
        })
    }

    fn replace(&self, path: &str, bytes: &[u8], mode: u32, sync: fn(&File) -> std::io::Result<()>) -> Result<(), FileError> {
        let failed = |error: std::io::Error| FileError::io(path, error);
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if matches!(name, "" | "." | "..") {
            return Err(failed(Errno::EISDIR.into()));
        }
        change(path, || {
            let dir = self.make_dirs(parent).map_err(failed)?;
            leftover::sweep(&dir);
            let (temporary, mut file) = leftover::create(&dir, name).map_err(failed)?;
            let mut write = || {
                fchmod(&file, Mode::from_bits_truncate(mode))?;
                file.write_all(bytes)?;
                sync(&file)?;
                Ok(renameat(&dir, temporary.as_c_str(), &dir, name)?)
            };
            write().map_err(|error| {
                let _ = unlinkat(&dir, temporary.as_c_str(), UnlinkatFlags::NoRemoveDir);
                failed(error)
            })
        })
    }

    fn make_dirs(&self, path: &str) -> std::io::Result<OwnedFd> {
        let mut so_far = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let parent = self.find(&so_far)?.ok_or(Errno::ENOENT)?.into_dir()?;
            so_far = format!("{so_far}/{part}");
            if self.find(&so_far)?.is_none() {
                match mkdirat(&parent, part, Mode::from_bits_truncate(0o755)) {
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(self.find(&so_far)?.ok_or(Errno::ENOENT)?.into_dir()?)
    }

    fn find_dir(&self, path: &str) -> Result<Option<OwnedFd>, FileError> {
        let failed = |e: std::io::Error| FileError::io(path, e);
        match self.find(path).map_err(failed)? {
            None => Ok(None),
            Some(place) => place.into_dir().map(Some).map_err(|e| failed(e.into())),
        }
    }

    /// The directory that holds `path`, resolved, and its last name, not resolved.
    fn parent(&self, path: &str) -> Result<Option<(OwnedFd, OsString)>, FileError> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok(self.find_dir(parent)?.map(|dir| (dir, OsString::from(name))))
    }

    /// Walks to `path`, following every symlink inside the root; `None` where a component does not exist.
    fn find(&self, path: &str) -> std::io::Result<Option<Place>> {
        let mut todo: VecDeque<OsString> = components(OsStr::new(path)).collect();
        let mut dirs: Vec<OwnedFd> = Vec::new();
        let mut links = 0;
        while let Some(name) = todo.pop_front() {
            if name == ".." {
                dirs.pop();
                continue;
            }
            let here = dirs.last().unwrap_or(&self.dir);
            let stat = match fstatat(here, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::ENOENT) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if is(&stat, SFlag::S_IFLNK) {
                links += 1;
                if links > MAX_SYMLINKS {
                    return Err(Errno::ELOOP.into());
                }
                let target = readlinkat(here, name.as_os_str())?;
                if target.as_bytes().first() == Some(&b'/') {
                    dirs.clear();
                }
                for (n, part) in components(&target).enumerate() {
                    todo.insert(n, part);
                }
            } else if is(&stat, SFlag::S_IFDIR) {
                let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
                dirs.push(openat(here, name.as_os_str(), flags, Mode::empty())?);
            } else if todo.is_empty() {
                let dir = here.as_fd().try_clone_to_owned()?;
                return Ok(Some(Place { dir, name: Some(name) }));
            } else {
                return Err(Errno::ENOTDIR.into());
            }
        }
        let dir = match dirs.pop() {
            Some(dir) => dir,
            None => self.dir.try_clone()?,
        };
        Ok(Some(Place { dir, name: None }))
    }
}

/// Something that exists: a directory, or a name in one that is neither directory nor symlink.
struct Place {
    dir: OwnedFd,
    name: Option<OsString>,
}

impl Place {
    fn into_dir(self) -> Result<OwnedFd, Errno> {
        match self.name {
            None => Ok(self.dir),
            Some(_) => Err(Errno::ENOTDIR),
        }
    }
}

/// A change of a file or directory; where tests let it fail.
fn change<T>(path: &str, make: impl FnOnce() -> Result<T, FileError>) -> Result<T, FileError> {
    #[cfg(test)]
    return fault::change(path, make);
    #[cfg(not(test))]
    {
        let _ = path;
        make()
    }
}

fn components(path: &OsStr) -> impl Iterator<Item = OsString> + '_ {
    let parts = path.as_bytes().split(|b| *b == b'/');
    parts.filter(|part| !part.is_empty() && *part != b".").map(|part| OsStr::from_bytes(part).to_owned())
}

fn is(stat: &FileStat, kind: SFlag) -> bool {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == kind
}

fn regular(stat: &FileStat) -> Result<(), Problem> {
    let kinds = [
        (SFlag::S_IFDIR, "directory"),
        (SFlag::S_IFIFO, "FIFO"),
        (SFlag::S_IFSOCK, "socket"),
        (SFlag::S_IFCHR, "character device"),
        (SFlag::S_IFBLK, "block device"),
        (SFlag::S_IFLNK, "symlink"),
    ];
    match kinds.into_iter().find(|(kind, _)| is(stat, *kind)) {
        Some((_, name)) => Err(Problem::NotAFile(name)),
        None => Ok(()),
    }
}

/// Faults in the changes that a test makes.
#[cfg(test)]
pub(crate) mod fault {
    use super::{Errno, FileError};
    use std::cell::Cell;

    /// The fault to come.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Fault {
        /// How many changes work before.
        pub(crate) left: usize,
        /// The change happens, and is said to have failed.
        pub(crate) done: bool,
        /// Only that one fails, as without space; else everything after it does too, as after a kill.
        pub(crate) once: bool,
    }

    thread_local! {
        static NEXT: Cell<Option<Fault>> = const { Cell::new(None) };
        static MET: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `work` under a fault; what it gives, and whether it met the fault.
    pub(crate) fn during<T>(fault: Fault, work: impl FnOnce() -> T) -> (T, bool) {
        NEXT.set(Some(fault));
        MET.set(false);
        let given = work();
        NEXT.set(None);
        (given, MET.get())
    }

    pub(super) fn change<T>(path: &str, make: impl FnOnce() -> Result<T, FileError>) -> Result<T, FileError> {
        let Some(fault) = NEXT.get() else { return make() };
        let failed = || FileError::io(path, Errno::ENOSPC);
        if MET.get() {
            return if fault.once { make() } else { Err(failed()) };
        }
        if fault.left > 0 {
            NEXT.set(Some(Fault { left: fault.left - 1, ..fault }));
            return make();
        }
        MET.set(true);
        if fault.done {
            make()?;
        }
        Err(failed())
    }
}
