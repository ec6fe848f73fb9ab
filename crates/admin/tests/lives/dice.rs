//! Chance that comes again: a seed gives the same numbers on every machine (splitmix64).

pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    /// From `low` to `high`, both included.
    pub(super) fn range(&mut self, low: i64, high: i64) -> i64 {
        let width = u64::try_from(high - low + 1).unwrap();
        low + i64::try_from(self.next() % width).unwrap()
    }

    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.next() % 100 < chance
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// Of the letters that Kubernetes makes names of.
    pub(super) fn word(&mut self, length: usize) -> String {
        let letters = b"bcdfghjklmnpqrstvwxz2456789";
        (0..length)
            .map(|_| char::from(letters[self.below(letters.len())]))
            .collect()
    }

    pub(super) fn hex(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| char::from(b"0123456789abcdef"[self.below(16)]))
            .collect()
    }

    pub(super) fn shuffle<T>(&mut self, all: &mut [T]) {
        for n in (1..all.len()).rev() {
            all.swap(n, self.below(n + 1));
        }
    }
}
