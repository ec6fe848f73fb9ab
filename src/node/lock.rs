//! A lock for everything that is changed on a refused node: its hold, its stamp, its override and
//! its message.

use super::{FileError, Root};
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// The file that is locked. It is empty, and stays until the next boot.
pub(crate) const LOCK_PATH: &str = "/run/skewguard/lock";

/// Pause before a lock that is taken is tried again.
const PAUSE: Duration = Duration::from_millis(10);

/// The lock, held until this is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

impl Lock {
    /// Time that `enforce` and the report wait for another skewguard. `skewguard.service` has 50
    /// seconds in all, and holding the node may take most of them.
    pub(crate) const BOOT: Duration = Duration::from_secs(3);

    /// Time that `allow` waits: longer than `skewguard.service` may take.
    pub(crate) const PERSON: Duration = Duration::from_secs(55);

    /// Takes the lock. If another process holds it, waits for at most `patience`.
    ///
    /// # Errors
    /// The file cannot be made, or another process still holds the lock. Neither stops a boot:
    /// `enforce` and `allow` say so and go on without the lock; the report leaves the console as it
    /// is.
    pub(crate) fn take(root: &Root, patience: Duration) -> Result<Self, FileError> {
        let file = root.open_lock(LOCK_PATH)?;
        let until = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(PAUSE)
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(FileError::content(
                        LOCK_PATH,
                        "is locked by another skewguard",
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(FileError::new(LOCK_PATH, error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const SHORT: Duration = Duration::from_millis(50);

    fn root() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn one_at_a_time_and_the_next_when_it_is_dropped() {
        let (dir, root) = root();
        let first = Lock::take(&root, SHORT).unwrap();
        let error = Lock::take(&root, SHORT).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/run/skewguard/lock: is locked by another skewguard"
        );
        let waiting =
            std::thread::spawn(move || Lock::take(&root, Duration::from_secs(20)).map(drop));
        std::thread::sleep(SHORT);
        drop(first);
        waiting.join().unwrap().unwrap();
        // Only root can open the file, so nobody else can keep the lock.
        let mode = std::fs::metadata(dir.path().join("run/skewguard/lock"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_process_that_is_killed_gives_it_back() {
        let (dir, root) = root();
        drop(Lock::take(&root, SHORT).unwrap());
        let path = dir.path().join("run/skewguard/lock");
        let mut other = std::process::Command::new("flock")
            .arg("--no-fork")
            .arg(&path)
            .args(["sleep", "1000"])
            .spawn()
            .unwrap();
        while Lock::take(&root, Duration::ZERO).is_ok() {
            std::thread::sleep(PAUSE);
        }
        other.kill().unwrap();
        other.wait().unwrap();
        Lock::take(&root, Duration::from_secs(20)).unwrap();
    }

    #[test]
    fn what_is_in_the_way_is_an_error_and_nothing_is_waited_for() {
        for what in ["directory", "fifo", "symlink"] {
            let (dir, root) = root();
            let path = dir.path().join("run/skewguard/lock");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match what {
                "directory" => std::fs::create_dir(&path).unwrap(),
                "fifo" => nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap(),
                _ => std::os::unix::fs::symlink("/etc/passwd", &path).unwrap(),
            }
            assert!(
                Lock::take(&root, Duration::from_secs(100_000)).is_err(),
                "{what}"
            );
        }
    }
}
