//! Objects that were seen, for what is read twice (pure).

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, RandomState};

/// Objects that were seen, by hashes of what tells them apart: there may be many, with long names.
#[derive(Debug, Default)]
pub struct SeenObjects {
    hashers: [RandomState; 2],
    hashes: HashSet<[u64; 2]>,
}

impl SeenObjects {
    /// Adds one, and tells whether it is new.
    pub fn add(&mut self, identity: &impl Hash) -> bool {
        let hash = |hasher: &RandomState| hasher.hash_one(identity);
        self.hashes.insert(self.hashers.each_ref().map(hash))
    }
}
