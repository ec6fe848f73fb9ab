//! Temporary files: what they are called, and what becomes of those that a killed process leaves.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::kill;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, UnlinkatFlags, unlinkat};
use std::os::fd::OwnedFd;

/// Most entries of a directory that are looked at.
const ENTRIES_MAX: usize = 4096;

/// The temporary file for `name` of the process `id`, in the same directory. Two processes may write the same file at once, so each has its own.
pub(super) fn temporary(name: &str, id: u32) -> String {
    format!(".{name}.skewguard-{id}")
}

/// Removes from `dir` the temporary files for `name` whose process is gone. What cannot be looked at or removed is in nobody's way.
pub(super) fn sweep(dir: &OwnedFd, name: &str) {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let Ok(mut entries) = Dir::openat(dir, ".", flags, Mode::empty()) else { return };
    for entry in entries.iter().flatten().take(ENTRIES_MAX) {
        let found = entry.file_name();
        if found.to_str().ok().and_then(|found| process(found, name)).is_some_and(is_gone) {
            let _ = unlinkat(dir, found, UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// The process whose temporary file for `name` this is.
fn process(file: &str, name: &str) -> Option<Pid> {
    let id = file.strip_prefix('.')?.strip_prefix(name)?.strip_prefix(".skewguard-")?;
    let id: u32 = id.parse().ok().filter(|_| !id.starts_with('+'))?;
    i32::try_from(id).ok().filter(|id| *id > 0).map(Pid::from_raw)
}

fn is_gone(process: Pid) -> bool {
    kill(process, None) == Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Root;
    use std::fs;

    #[test]
    fn only_temporary_files_of_this_name_are_known() {
        let known = |file| process(file, "issue").map(Pid::as_raw);
        assert_eq!(known(".issue.skewguard-17"), Some(17));
        for other in [
            "issue.skewguard-17",
            ".issue.skewguard-saved",
            ".issue.skewguard-",
            ".issue.skewguard-0",
            ".issue.skewguard-+1",
            ".issue.skewguard--1",
            ".issue.skewguard-4294967295",
            ".issue.net.skewguard-17",
            ".issue",
        ] {
            assert_eq!(known(other), None, "{other}");
        }
    }

    #[test]
    fn a_write_takes_away_what_a_killed_one_left_and_nothing_else() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let mut child = std::process::Command::new("true").spawn().expect("true starts");
        let gone = child.id();
        child.wait().expect("it ended");
        let mine = temporary("issue", 1);
        for name in [&temporary("issue", gone), &mine, "issue.skewguard-saved", &temporary("motd", gone)] {
            fs::write(dir.path().join(name), "x").expect("written");
        }

        Root::open(dir.path()).expect("opened").write("/issue", b"new", 0o644).expect("written");
        let mut left: Vec<String> =
            fs::read_dir(dir.path()).expect("listed").map(|e| e.expect("entry").file_name().into_string().expect("UTF-8")).collect();
        left.sort();
        let mut expected = vec!["issue".to_owned(), "issue.skewguard-saved".to_owned(), mine, temporary("motd", gone)];
        expected.sort();
        assert_eq!(left, expected);
    }
}
