//! Temporary files: what they are called, and the removal of those that a killed process left.
//!
//! Whoever writes one holds its lock (flock(2)), which ends with the process, however that ends. So a file whose lock can be had is nobody's.
//! Process numbers would not tell: they are used again, and a container that writes to the host's files counts its own.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Error;
use std::os::fd::OwnedFd;

/// Most entries of a directory that are looked at.
const ENTRIES_MAX: usize = 4096;

/// Most names that are tried for one temporary file.
const NAMES_MAX: u32 = 16;

/// Creates the temporary file for `name` in the same directory, locked for as long as it is open.
pub(super) fn create(dir: &OwnedFd, name: &str) -> Result<(CString, File), Error> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    for n in 0..NAMES_MAX {
        let temporary = CString::new(format!(".{name}.skewguard-{}-{n}", std::process::id()))?;
        let file = match openat(dir, temporary.as_c_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR) {
            Ok(fd) => File::from(fd),
            // A process of another PID namespace writes it.
            Err(Errno::EEXIST) => continue,
            Err(error) => return Err(error.into()),
        };
        // Where locks cannot be had no file is ever swept.
        let _ = file.lock();
        // A sweep may have come between the two.
        if is_at(&file, dir, &temporary) {
            return Ok((temporary, file));
        }
    }
    Err(Errno::EEXIST.into())
}

/// Removes from `dir` the temporary files that nobody writes any more. What cannot be looked at or removed is in nobody's way.
pub(super) fn sweep(dir: &OwnedFd) {
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let Ok(mut entries) = Dir::openat(dir, ".", flags | OFlag::O_DIRECTORY, Mode::empty()) else { return };
    for entry in entries.iter().flatten().take(ENTRIES_MAX) {
        let name = entry.file_name();
        if !is_temporary(name) {
            continue;
        }
        let Ok(fd) = openat(dir, name, flags | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW, Mode::empty()) else { continue };
        let file = File::from(fd);
        // Only the one who has the lock may rename or remove the file, so what is checked under it stays true.
        if file.try_lock().is_ok() && is_at(&file, dir, name) {
            let _ = unlinkat(dir, name, UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Whether this is the name of a temporary file of ours: `.NAME.skewguard-`, then a process number and how many such names were taken.
fn is_temporary(name: &CStr) -> bool {
    let numbers = name.to_bytes().strip_prefix(b".").and_then(|rest| {
        let at = rest.windows(SUFFIX.len()).rposition(|window| window == SUFFIX)?;
        rest.get(at + SUFFIX.len()..)
    });
    numbers.is_some_and(|numbers| {
        numbers.first().is_some_and(u8::is_ascii_digit) && numbers.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
    })
}

const SUFFIX: &[u8] = b".skewguard-";

/// Whether `name` still is this file.
fn is_at(file: &File, dir: &OwnedFd, name: &CStr) -> bool {
    match (fstat(file), fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW)) {
        (Ok(file), Ok(name)) => (file.st_dev, file.st_ino) == (name.st_dev, name.st_ino),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Root;
    use std::fs;

    fn names(dir: &std::path::Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("listed");
        let mut names: Vec<String> = entries.map(|e| e.expect("entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    #[test]
    fn only_temporary_files_are_known() {
        let known = |file: &str| is_temporary(&CString::new(file).expect("a name"));
        // The second is of agents without a counter.
        for ours in [".issue.skewguard-17-0", ".issue.skewguard-17", ".skewguard.skewguard-1-2"] {
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

    /// Whatever process number is in its name: one that was used again, that of this process, or one that is not of this PID namespace.
    #[test]
    fn what_nobody_writes_is_swept_and_what_somebody_writes_is_not() {
        type Change = fn(&Root);
        let changes: [Change; 2] = [|root| root.write("/issue", b"new", 0o644).expect("written"), |root| root.sweep("/")];
        for change in changes {
            let dir = tempfile::tempdir().expect("temporary directory");
            let (own, unused) = (format!(".issue.skewguard-{}-0", std::process::id()), ".motd.skewguard-4194304-0");
            for name in [&own, ".issue.skewguard-1", unused, "issue.skewguard-saved", ".issue.skewguard-1-7"] {
                fs::write(dir.path().join(name), "half").expect("written");
            }
            // What another process writes at this moment, as this one sees it.
            let writing = File::open(dir.path().join(".issue.skewguard-1-7")).expect("opened");
            writing.lock().expect("locked");

            let root = Root::open(dir.path()).expect("opened");
            change(&root);
            let left: Vec<String> = names(dir.path()).into_iter().filter(|name| name.contains("skewguard")).collect();
            assert_eq!(left, [".issue.skewguard-1-7", "issue.skewguard-saved"]);
            drop(writing);
            root.write("/issue", b"newer", 0o644).expect("written");
            assert_eq!(names(dir.path()).iter().filter(|name| name.contains("skewguard-1")).count(), 0);
        }
    }

    /// Two PID namespaces count alike.
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
                        root.write_soon("/file", &byte.repeat(4096), 0o644).expect("written");
                    }
                });
            }
        });
        let text = fs::read(dir.path().join("file")).expect("there");
        assert!(text.len() == 4096 && text.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(names(dir.path()), ["file"]);
    }
}
