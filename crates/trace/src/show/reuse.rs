//! The working set, and the miss ratios of caches of each size, from a sample of blocks. Source: Waldspurger, Park,
//! Garthwaite, Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015: blocks whose hash is below a threshold are
//! followed, all others are ignored. The threshold falls so that the number of followed blocks stays bounded.

use super::burst::slope;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a block.
pub(super) const BLOCK_BYTES: u64 = 4096;

/// Maximum number of followed blocks.
const FOLLOWED_MAX: usize = 8192;

/// Maximum number of blocks counted in a request: 256 MiB.
const REQUEST_BLOCKS_MAX: u64 = 1 << 16;

/// Number of followed accesses after which the threshold is halved, if enough blocks remain. This bounds the time.
const ACCESSES_MAX: u64 = 1 << 21;
const FOLLOWED_MIN: usize = 2048;

/// Number of bits by which hashes are compared.
const HASH_BITS: u32 = 32;

/// Buckets of distances: eight per doubling.
const BUCKETS: usize = 8 * 44;

/// Identity hasher: keys are hashes already.
#[derive(Debug, Default, Clone, Copy)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A followed block.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// Last use: a place in the order of uses.
    place: u32,
    reads: u32,
    writes: u32,
}

/// The followed blocks and their reuse distances.
#[derive(Debug)]
pub(super) struct Reuse {
    threshold: u64,
    blocks: HashMap<u64, Block, BuildHasherDefault<IdentityHasher>>,
    /// Fenwick tree over places: 1 for each block's last use.
    tree: Vec<u32>,
    next_place: u32,
    /// Accesses by distance, weighted for the ignored blocks.
    distances: Vec<f64>,
    cold: f64,
    /// Number of accesses to any block.
    accesses: u64,
    followed: u64,
    next_limit: u64,
}

impl Default for Reuse {
    fn default() -> Reuse {
        Reuse {
            threshold: 1 << HASH_BITS,
            blocks: HashMap::default(),
            tree: vec![0; FOLLOWED_MAX * 4 + 1],
            next_place: 0,
            distances: vec![0.0; BUCKETS],
            cold: 0.0,
            accesses: 0,
            followed: 0,
            next_limit: ACCESSES_MAX,
        }
    }
}

/// Mixes all bits of a number. Source: MurmurHash3's 64-bit finalizer.
#[inline]
fn mixed(mut key: u64) -> u64 {
    key ^= key >> 33;
    key = key.wrapping_mul(0xff51_afd7_ed55_8ccd);
    key ^= key >> 33;
    key = key.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ key >> 33
}

fn bucket(distance: f64) -> usize {
    ((distance.max(1.0).log2() * 8.0) as usize).min(BUCKETS - 1)
}

impl Reuse {
    /// Adds the use of a file's bytes.
    #[inline]
    pub(super) fn add(&mut self, file: u32, offset: u64, length: u64, is_write: bool) {
        let first = offset / BLOCK_BYTES;
        let last = offset.saturating_add(length.saturating_sub(1)) / BLOCK_BYTES;
        let count = (last - first + 1).min(REQUEST_BLOCKS_MAX);
        self.accesses += count;
        let salt = (u64::from(file) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for block in first..first + count {
            let hash = mixed(block ^ salt);
            if hash >> (64 - HASH_BITS) < self.threshold {
                self.follow(hash, is_write);
            }
        }
    }

    fn follow(&mut self, hash: u64, is_write: bool) {
        if self.next_place as usize + 1 == self.tree.len() {
            self.renumber();
        }
        let weight = (1_u64 << HASH_BITS) as f64 / self.threshold as f64;
        let place = self.next_place;
        let found = self.blocks.get(&hash).map(|block| block.place);
        if let Some(before) = found {
            // Blocks used since: all, minus those used before it and itself.
            let distance = self.blocks.len() as u32 - self.sum(before);
            self.distances[bucket(f64::from(distance + 1) * weight)] += weight;
            self.change(before, u32::MAX);
        } else {
            self.cold += weight;
        }
        self.change(place, 1);
        self.next_place += 1;
        let block = self.blocks.entry(hash).or_default();
        block.place = place;
        if is_write {
            block.writes = block.writes.saturating_add(1);
        } else {
            block.reads = block.reads.saturating_add(1);
        }
        self.followed += 1;
        if self.blocks.len() > FOLLOWED_MAX {
            self.lower(self.threshold / 8 * 7);
        } else if self.followed >= self.next_limit {
            self.next_limit += ACCESSES_MAX;
            if self.blocks.len() > FOLLOWED_MIN {
                self.lower(self.threshold / 2);
            }
        }
    }

    /// Returns the number of blocks last used at or before this place.
    fn sum(&self, place: u32) -> u32 {
        let (mut node, mut sum) = (place as usize + 1, 0_u32);
        while node > 0 {
            sum = sum.wrapping_add(self.tree[node]);
            node &= node - 1;
        }
        sum
    }

    fn change(&mut self, place: u32, by: u32) {
        let mut node = place as usize + 1;
        while node < self.tree.len() {
            self.tree[node] = self.tree[node].wrapping_add(by);
            node += node & node.wrapping_neg();
        }
    }

    #[cold]
    fn lower(&mut self, threshold: u64) {
        self.threshold = threshold;
        self.blocks.retain(|hash, _| hash >> (64 - HASH_BITS) < threshold);
        self.renumber();
    }

    /// Renumbers the places from 0, in the order of uses.
    #[cold]
    fn renumber(&mut self) {
        let mut order: Vec<(u32, u64)> = self.blocks.iter().map(|(hash, block)| (block.place, *hash)).collect();
        order.sort_unstable();
        self.tree.fill(0);
        for (place, (_, hash)) in order.iter().enumerate() {
            if let Some(block) = self.blocks.get_mut(hash) {
                block.place = place as u32;
            }
            self.change(place as u32, 1);
        }
        self.next_place = order.len() as u32;
    }

    fn weight(&self) -> f64 {
        (1_u64 << HASH_BITS) as f64 / self.threshold as f64
    }

    /// Returns the bytes of all used blocks: read only, written only, both.
    pub(super) fn working_set(&self) -> [f64; 3] {
        let mut kinds = [0.0; 3];
        for block in self.blocks.values() {
            kinds[if block.writes == 0 { 0 } else { 1 + usize::from(block.reads > 0) }] +=
                self.weight() * BLOCK_BYTES as f64;
        }
        kinds
    }

    /// Whether every block was followed.
    pub(super) fn is_exact(&self) -> bool {
        self.threshold == 1 << HASH_BITS
    }

    /// Returns the share of accesses to the most used 1 %, 10 % and 20 % of blocks, and the
    /// best-fitting exponent of Zipf's law.
    pub(super) fn concentration(&self) -> Option<([f64; 3], Option<f64>)> {
        let mut counts: Vec<f64> =
            self.blocks.values().map(|block| f64::from(block.reads) + f64::from(block.writes)).collect();
        counts.sort_unstable_by(f64::total_cmp);
        counts.reverse();
        let total: f64 = counts.iter().sum();
        if counts.len() < 100 {
            return None;
        }
        let share = |part: f64| {
            let most = (counts.len() as f64 * part).ceil() as usize;
            counts[..most].iter().sum::<f64>() / total
        };
        // Blocks used once only reflect the length of the recording.
        let points: Vec<(f64, f64)> = counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 1.0)
            .map(|(rank, count)| ((rank as f64 + 1.0).ln(), count.ln()))
            .collect();
        let zipf = slope(&points).filter(|_| points.len() >= 100).map(|slope| (-slope).max(0.0));
        Some(([share(0.01), share(0.1), share(0.2)], zipf))
    }

    /// Returns the miss ratio of an LRU cache for each doubling of its size, from 1 MiB to the working set. Excludes
    /// the first use of each block, which every cache misses; see [`Reuse::cold_share`].
    pub(super) fn miss_ratios(&self) -> Vec<(f64, f64)> {
        let sampled: f64 = self.distances.iter().sum::<f64>() + self.cold;
        // The sample may have more or fewer accesses than its share. The difference belongs
        // to the shortest distances (SHARDS-adj).
        let total = self.accesses as f64;
        if total == 0.0 || sampled == 0.0 {
            return Vec::new();
        }
        let whole: f64 = self.working_set().iter().sum();
        let mut points = Vec::new();
        let mut size = (1 << 20) as f64;
        loop {
            let blocks = size / BLOCK_BYTES as f64;
            let hits: f64 = self.distances.iter().take(bucket(blocks) + 1).sum();
            let misses = (sampled - hits).max(0.0);
            points.push((size, (misses / total.max(misses)).clamp(0.0, 1.0)));
            if size >= whole {
                return points;
            }
            size *= 2.0;
        }
    }

    /// Returns the share of accesses that are the first to their block.
    pub(super) fn cold_share(&self) -> f64 {
        if self.accesses == 0 { 0.0 } else { (self.cold / self.accesses as f64).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop over 8 MiB: a cache of 4 MiB misses everything, one of 16 MiB only the first round.
    #[test]
    fn a_loop_misses_only_in_smaller_caches() {
        let mut reuse = Reuse::default();
        for _ in 0..10 {
            (0..2048).for_each(|block| reuse.add(0, block * 4096, 4096, false));
        }
        let ratios = reuse.miss_ratios();
        let at = |size: u64| ratios.iter().find(|(known, _)| *known >= size as f64).or(ratios.last()).unwrap().1;
        assert!(reuse.is_exact());
        assert!(at(4 << 20) > 0.99, "{ratios:?}");
        assert!((at(16 << 20) - 0.1).abs() < 0.01, "{ratios:?}");
        assert_eq!(reuse.working_set(), [8.0 * 1_048_576.0, 0.0, 0.0]);
        assert!((reuse.cold_share() - 0.1).abs() < 1e-9);
    }

    /// Ten times the followed maximum: the results are right within a few percent.
    #[test]
    fn a_sample_represents_all_blocks() {
        let mut reuse = Reuse::default();
        for round in 0..5 {
            (0..100_000).for_each(|block| reuse.add(0, block * 4096, 4096, round > 2));
        }
        assert!(!reuse.is_exact());
        let size: f64 = reuse.working_set().iter().sum();
        assert!((size / (100_000.0 * 4096.0) - 1.0).abs() < 0.05, "{size}");
        let ratios = reuse.miss_ratios();
        let last = ratios.last().unwrap().1;
        assert!((last - 0.2).abs() < 0.02, "{ratios:?}");
        assert!(ratios[6].1 > 0.95, "64 MiB hold none of a loop over 390 MiB: {ratios:?}");
    }

    #[test]
    fn a_request_without_end_ends() {
        let mut reuse = Reuse::default();
        reuse.add(0, u64::MAX - 5, u64::MAX, true);
        reuse.add(0, 0, u64::MAX, true);
        assert!(reuse.accesses <= 2 * REQUEST_BLOCKS_MAX);
    }
}
