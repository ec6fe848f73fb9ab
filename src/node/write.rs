//! Changes the files of a node. Each file is written as a whole or not at all.
//!
//! A file is first written under a temporary name, and its writer holds a lock on it (flock(2))
//! that ends with the process. So an unlocked temporary file has no writer any more, and is
//! removed. The PID in its name would not show that: PIDs are reused, and a container has its own.

use super::root::{Root, assert_regular, split};
use super::{FileError, Problem};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, fchmod, fstat, fstatat, mkdirat, mode_t};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, linkat, symlinkat, unlinkat};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

/// Limit of the directory entries that a sweep looks at.
const ENTRIES_MAX: usize = 4096;

/// Limit of the names that are tried for a temporary file.
const NAMES_MAX: u32 = 16;

/// The mark in a temporary file's name: `.NAME.skewguard-PID-N`.
const SUFFIX: &str = ".skewguard-";

impl Root {
    /// Writes a file as a whole: creates a temporary file in the same directory (for the SELinux
    /// label), sets its mode, syncs it and renames it. Missing directories are created with mode
    /// 0755. A symlink at `path` is replaced, not followed. The directory is not synced, so after a
    /// power cut the file may be the old or the new one. Sweeps the directory, see [`Root::sweep`].
    ///
    /// # Errors
    /// It cannot be written; the old file is untouched, and no temporary file stays behind.
    pub fn write(&self, path: &str, bytes: &[u8], mode: mode_t) -> Result<(), FileError> {
        self.replace(path, bytes, mode, None, File::sync_all)
    }

    /// [`Root::write`] with the mode of the regular file `like`, and with its owner as far as that
    /// may be given: the units have no CAP_CHOWN, and a file of root is better than none. With mode
    /// 0644 if there is no such file.
    pub(crate) fn write_like(&self, path: &str, bytes: &[u8], like: &str) -> Result<(), FileError> {
        let stat = || {
            let (parent, name) = split(like);
            let dir = self.directory(parent).ok()??;
            let stat = fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
            assert_regular(&stat).ok().map(|()| stat)
        };
        match stat() {
            Some(stat) => {
                let owner = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
                let mode = stat.st_mode & 0o7777;
                self.replace(path, bytes, mode, Some(owner), File::sync_all)
            }
            None => self.write(path, bytes, 0o644),
        }
    }

    /// [`Root::write`], and syncs the directory: after a power cut the file is the new one.
    pub(crate) fn write_synced(
        &self,
        path: &str,
        bytes: &[u8],
        mode: mode_t,
    ) -> Result<(), FileError> {
        self.write(path, bytes, mode)?;
        self.sync_dir(split(path).0)
            .map_err(|error| FileError::new(path, error))
    }

    /// [`Root::write`] without fsync: the kernel decides when the file reaches the disk, and a
    /// power cut before that may leave it empty.
    pub(crate) fn write_soon(
        &self,
        path: &str,
        bytes: &[u8],
        mode: mode_t,
    ) -> Result<(), FileError> {
        self.replace(path, bytes, mode, None, |_| Ok(()))
    }

    fn replace(
        &self,
        path: &str,
        bytes: &[u8],
        mode: mode_t,
        owner: Option<(Uid, Gid)>,
        sync: fn(&File) -> std::io::Result<()>,
    ) -> Result<(), FileError> {
        let (parent, name) = split(path);
        change(path, || {
            if matches!(name, "" | "." | "..") {
                return Err(Errno::EISDIR.into());
            }
            let dir = self.make_dirs(parent)?;
            sweep(&dir);
            let (temporary, mut file) = create(&dir, name)?;
            let mut write = || {
                if let Some((user, group)) = owner {
                    // Before the mode, because it takes set-id bits away.
                    let _ = fchown(&file, Some(user), Some(group));
                }
                fchmod(&file, Mode::from_bits_truncate(mode))?;
                file.write_all(bytes)?;
                sync(&file)?;
                Ok(renameat(&dir, temporary.as_c_str(), &dir, name)?)
            };
            write().inspect_err(|_| {
                let _ = unlinkat(&dir, temporary.as_c_str(), UnlinkatFlags::NoRemoveDir);
            })
        })
    }

    /// Opens a file to be locked (flock(2)), and makes it if it does not exist. Only its owner can
    /// open it.
    pub(super) fn open_lock(&self, path: &str) -> Result<File, FileError> {
        let open = || {
            let (parent, name) = split(path);
            let flags = OFlag::O_RDWR
                | OFlag::O_CREAT
                | OFlag::O_NONBLOCK
                | OFlag::O_NOFOLLOW
                | OFlag::O_CLOEXEC;
            let file = openat(
                self.make_dirs(parent)?,
                name,
                flags,
                Mode::S_IRUSR | Mode::S_IWUSR,
            )?;
            assert_regular(&fstat(&file)?)?;
            Ok(File::from(file))
        };
        open().map_err(|problem: Problem| FileError::new(path, problem))
    }

    /// Removes temporary files that killed processes left in a directory.
    pub(crate) fn sweep(&self, path: &str) {
        if let Ok(Some(dir)) = self.directory(path) {
            sweep(&dir);
        }
    }

    /// Makes `to` another name of the file or symlink `from`; a symlink is not followed. `to` must
    /// not exist.
    pub(crate) fn hard_link(&self, from: &str, to: &str) -> Result<(), FileError> {
        change(to, || {
            let ((from_dir, from), (to_dir, to)) = (self.parent(from)?, self.parent(to)?);
            Ok(linkat(from_dir, from, to_dir, to, AtFlags::empty())?)
        })
    }

    /// Renames the file or symlink `from` to `to`, and replaces what is there. Returns whether
    /// there was a `from`.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<bool, FileError> {
        change(to, || {
            let ((from_dir, from), (to_dir, to)) = (self.parent(from)?, self.parent(to)?);
            was_there(renameat(from_dir, from, to_dir, to))
        })
    }

    /// Removes a file or symlink. Returns whether there was one.
    pub fn remove(&self, path: &str) -> Result<bool, FileError> {
        self.unlink(path, UnlinkatFlags::NoRemoveDir)
    }

    /// Removes an empty directory. Returns whether there was one.
    pub(crate) fn remove_dir(&self, path: &str) -> Result<bool, FileError> {
        self.unlink(path, UnlinkatFlags::RemoveDir)
    }

    /// Makes `path` a symlink to `target`, unless something is there. Missing directories are
    /// created.
    pub(crate) fn link(&self, path: &str, target: &str) -> Result<(), FileError> {
        let (parent, name) = split(path);
        change(path, || {
            match symlinkat(target, self.make_dirs(parent)?, name) {
                Ok(()) | Err(Errno::EEXIST) => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn unlink(&self, path: &str, flag: UnlinkatFlags) -> Result<bool, FileError> {
        change(path, || {
            was_there(
                self.parent(path)
                    .and_then(|(dir, name)| unlinkat(dir, name, flag)),
            )
        })
    }

    fn make_dirs(&self, path: &str) -> Result<OwnedFd, Errno> {
        if let Some(dir) = self.directory(path)? {
            return Ok(dir);
        }
        let (parent, name) = split(path);
        match mkdirat(
            self.make_dirs(parent)?,
            name,
            Mode::from_bits_truncate(0o755),
        ) {
            Ok(()) | Err(Errno::EEXIST) => self.directory(path)?.ok_or(Errno::ENOENT),
            Err(error) => Err(error),
        }
    }
}

/// Tells if the file or directory existed. ENOTDIR is absent: there is nothing below a file.
fn was_there(done: Result<(), Errno>) -> Result<bool, Problem> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Every change of a file or directory goes through here, so that tests can make it fail.
fn change<T>(path: &str, make: impl FnOnce() -> Result<T, Problem>) -> Result<T, FileError> {
    #[cfg(test)]
    let make = || fault::change(make);
    make().map_err(|problem| FileError::new(path, problem))
}

/// Creates the temporary file for `name` in the same directory, locked for as long as it is open.
fn create(dir: &OwnedFd, name: &str) -> std::io::Result<(CString, File)> {
    let flags =
        OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    for n in 0..NAMES_MAX {
        let temporary = CString::new(format!(".{name}{SUFFIX}{}-{n}", std::process::id()))?;
        let file = match openat(
            dir,
            temporary.as_c_str(),
            flags,
            Mode::S_IRUSR | Mode::S_IWUSR,
        ) {
            Ok(fd) => File::from(fd),
            // Another writer has it, such as a process with the same PID in another PID namespace.
            Err(Errno::EEXIST) => continue,
            Err(error) => return Err(error.into()),
        };
        // This may fail: on a file system without locks no file is ever swept.
        let _ = file.lock();
        // A sweep may have removed the file before it was locked.
        if is_at(&file, dir, &temporary) {
            return Ok((temporary, file));
        }
    }
    Err(Errno::EEXIST.into())
}

/// Removes the temporary files in `dir` that nobody is writing any more. One that cannot be removed
/// does no harm.
fn sweep(dir: &OwnedFd) {
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let Ok(mut entries) = Dir::openat(dir, ".", flags | OFlag::O_DIRECTORY, Mode::empty()) else {
        return;
    };
    for entry in entries.iter().flatten().take(ENTRIES_MAX) {
        let name = entry.file_name();
        if !is_temporary(name) {
            continue;
        }
        let Ok(fd) = openat(
            dir,
            name,
            flags | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW,
            Mode::empty(),
        ) else {
            continue;
        };
        let file = File::from(fd);
        // Only the holder of the lock renames or removes the file, so what is checked here stays
        // true.
        if file.try_lock().is_ok() && is_at(&file, dir, name) {
            let _ = unlinkat(dir, name, UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Recognizes the name of a temporary file of ours.
fn is_temporary(name: &CStr) -> bool {
    let numbers = name
        .to_str()
        .ok()
        .and_then(|name| Some(name.strip_prefix('.')?.rsplit_once(SUFFIX)?.1));
    numbers.is_some_and(|numbers| {
        numbers.starts_with(|c: char| c.is_ascii_digit())
            && numbers
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
}

/// Asks if `name` in `dir` still is this file.
fn is_at(file: &File, dir: &OwnedFd, name: &CStr) -> bool {
    match (
        fstat(file),
        fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW),
    ) {
        (Ok(file), Ok(name)) => (file.st_dev, file.st_ino) == (name.st_dev, name.st_ino),
        _ => false,
    }
}

/// Makes changes of files fail, for tests.
#[cfg(test)]
pub(crate) mod fault {
    use super::Problem;
    use nix::errno::Errno;
    use std::cell::Cell;

    /// The fault to come.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Fault {
        /// Number of changes that succeed first.
        pub(crate) left: usize,
        /// The change is made, but reported as failed.
        pub(crate) done: bool,
        /// Only this change fails, as on a full disk. Otherwise all later ones fail too, as after a
        /// kill.
        pub(crate) once: bool,
    }

    thread_local! {
        static NEXT: Cell<Option<Fault>> = const { Cell::new(None) };
        static MET: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `work` with a fault set. Returns its result, and whether the fault was met.
    pub(crate) fn during<T>(fault: Fault, work: impl FnOnce() -> T) -> (T, bool) {
        NEXT.set(Some(fault));
        MET.set(false);
        let given = work();
        NEXT.set(None);
        (given, MET.get())
    }

    pub(super) fn change<T>(make: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        let Some(fault) = NEXT.get() else {
            return make();
        };
        if MET.get() {
            return if fault.once {
                make()
            } else {
                Err(Errno::ENOSPC.into())
            };
        }
        if fault.left > 0 {
            NEXT.set(Some(Fault {
                left: fault.left - 1,
                ..fault
            }));
            return make();
        }
        MET.set(true);
        if fault.done {
            make()?;
        }
        Err(Errno::ENOSPC.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Root;
    use std::fs;

    fn names(dir: &std::path::Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("listed");
        let mut names: Vec<String> = entries
            .map(|e| e.expect("entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_temporary_files_are_known() {
        let known = |file: &str| is_temporary(&CString::new(file).expect("a name"));
        // The second name is from older agents, which had no counter.
        for ours in [
            ".issue.skewguard-17-0",
            ".issue.skewguard-17",
            ".skewguard.skewguard-1-2",
        ] {
            assert!(known(ours), "{ours}");
        }
        for other in [
            "issue.skewguard-17",
            ".issue.skewguard-saved",
            ".issue.skewguard-",
            ".issue.skewguard-+1",
            ".issue.skewguard--1",
            ".issue",
            ".",
        ] {
            assert!(!known(other), "{other}");
        }
    }

    /// The PID in the name does not matter: it may be reused, this process's own, or unknown in
    /// this PID namespace.
    #[test]
    fn what_nobody_writes_is_swept_and_what_somebody_writes_is_not() {
        type Change = fn(&Root);
        let changes: [Change; 2] = [
            |root| root.write("/issue", b"new", 0o644).expect("written"),
            |root| root.sweep("/"),
        ];
        for change in changes {
            let dir = tempfile::tempdir().expect("temporary directory");
            let (own, unused) = (
                format!(".issue.skewguard-{}-0", std::process::id()),
                ".motd.skewguard-4194304-0",
            );
            for name in [
                &own,
                ".issue.skewguard-1",
                unused,
                "issue.skewguard-saved",
                ".issue.skewguard-1-7",
            ] {
                fs::write(dir.path().join(name), "half").expect("written");
            }
            // The lock makes this a file that another process is writing.
            let writing = File::open(dir.path().join(".issue.skewguard-1-7")).expect("opened");
            writing.lock().expect("locked");

            let root = Root::open(dir.path()).expect("opened");
            change(&root);
            let left: Vec<String> = names(dir.path())
                .into_iter()
                .filter(|name| name.contains("skewguard"))
                .collect();
            assert_eq!(left, [".issue.skewguard-1-7", "issue.skewguard-saved"]);
            drop(writing);
            root.write("/issue", b"newer", 0o644).expect("written");
            assert_eq!(
                names(dir.path())
                    .iter()
                    .filter(|name| name.contains("skewguard-1"))
                    .count(),
                0
            );
        }
    }

    /// Processes in two PID namespaces can have the same PID.
    #[test]
    fn a_name_that_is_taken_is_left_to_whoever_has_it() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let fd = OwnedFd::from(File::open(dir.path()).expect("opened"));
        let (first, _first) = create(&fd, "issue").expect("created");
        let (second, _second) = create(&fd, "issue").expect("created");
        assert_ne!(first, second);
        sweep(&fd);
        assert_eq!(names(dir.path()).len(), 2);
    }

    #[test]
    fn writers_of_the_same_file_do_not_disturb_each_other() {
        let dir = tempfile::tempdir().expect("temporary directory");
        std::thread::scope(|scope| {
            for byte in [b"a", b"b", b"c"] {
                let path = dir.path();
                scope.spawn(move || {
                    let root = Root::open(path).expect("opened");
                    for _ in 0..300 {
                        root.write_soon("/file", &byte.repeat(4096), 0o644)
                            .expect("written");
                    }
                });
            }
        });
        let text = fs::read(dir.path().join("file")).expect("there");
        assert!(text.len() == 4096 && text.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(names(dir.path()), ["file"]);
    }
}
