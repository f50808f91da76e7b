//! Sizes of reads and writes.

use super::Histogram;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Maximum number of distinct sizes.
const SIZES_MAX: usize = 4096;

/// Slots for finding sizes without a search.
const SIZE_SLOTS: usize = 64;

/// Counts of sizes of reads and writes.
pub(super) struct Sizes {
    pub(super) all: Histogram,
    /// Reads and writes of each size.
    by_size: HashMap<u64, [u64; 2]>,
    /// Recent sizes, with counts that are not in `by_size` yet.
    recent: Vec<(u64, [u64; 2])>,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { all: Histogram::default(), by_size: HashMap::new(), recent: vec![(0, [0; 2]); SIZE_SLOTS] }
    }
}

impl Sizes {
    /// Counts a read or write of this many bytes.
    pub(super) fn add(&mut self, length: u64, is_write: bool) {
        self.all.add(length);
        let slot = (length.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        if self.recent[slot].0 != length {
            self.keep(slot);
            self.recent[slot].0 = length;
        }
        self.recent[slot].1[usize::from(is_write)] += 1;
    }

    /// Moves the counts of a slot to those of all sizes.
    fn keep(&mut self, slot: usize) {
        let (length, counts) = self.recent[slot];
        self.recent[slot].1 = [0; 2];
        if counts != [0; 2] && (self.by_size.len() < SIZES_MAX || self.by_size.contains_key(&length)) {
            let all = self.by_size.entry(length).or_default();
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
    }

    /// Moves the counts of all slots to those of all sizes, after the last op.
    pub(super) fn finish(&mut self) {
        (0..SIZE_SLOTS).for_each(|slot| self.keep(slot));
    }

    /// Returns the most frequent sizes with their reads and writes, at most `rows`.
    pub(super) fn most_frequent(&self, rows: usize) -> Vec<(u64, [u64; 2])> {
        let mut sizes: Vec<(u64, [u64; 2])> = self.by_size.iter().map(|(size, counts)| (*size, *counts)).collect();
        sizes.sort_by_key(|(size, [reads, writes])| (Reverse(reads + writes), *size));
        sizes.truncate(rows);
        sizes
    }
}
