//! Another command that reads the audit's input, and keeps more of it (pure).

use serde_json::Value;
use std::fmt::Debug;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When a listener gets objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    Never,
    /// At once, as they are read: what is large, or must not be kept.
    AtOnce,
    /// Once all files are read: of several objects of one name, the newest.
    TheNewest,
}

/// Listener to objects and logs.
pub trait Listener: Debug {
    fn hears(&self, group: &str, kind: &str) -> Hears;

    fn hear(&mut self, group: &str, kind: &str, object: &Value);

    /// Tells whether a file of this name that has such a kind may have something for it.
    fn hears_in(&self, path: &Path, kind: &str) -> bool;

    /// Takes note of a list without items: of this kind where it says that.
    fn hear_empty(&mut self, place: &Path, kind: &str);

    /// Tells whether it reads a log of this name.
    fn hears_log(&self, path: &Path) -> bool;

    /// Tells whether a text begins as a log that it reads.
    fn knows_log(&self, head: &[u8]) -> bool;

    /// Reads a log.
    ///
    /// # Errors
    /// It cannot be read to its end, or ([`io::ErrorKind::Unsupported`]) is no log that is known.
    fn hear_log(&mut self, path: &Path, log: &mut dyn Read) -> io::Result<()>;
}

/// A listener, and who started it.
pub type Shared = Arc<Mutex<dyn Listener + Send>>;

/// Whoever holds it does not panic, and what was heard before stays.
pub fn held<T: ?Sized>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
