//! Tracks the used random blocks of a file: a map, or a shift register that needs none.

/// A set of blocks with one bit each. A word of each level shows which words of the level below are full. So the next
/// free block is found in a few steps, however full the map is.
#[derive(Debug, Clone)]
pub(super) struct Map {
    levels: Box<[Box<[u64]>]>,
    blocks: u64,
}

impl Map {
    pub(super) fn new(blocks: u64) -> Map {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(64).max(1);
            levels.push(vec![0; words as usize].into_boxed_slice());
            if words == 1 {
                break;
            }
            bits = words;
        }
        Map { levels: levels.into(), blocks }
    }

    pub(super) fn clear(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(0));
    }

    #[inline]
    fn is_used(&self, block: u64) -> bool {
        self.levels[0].get((block >> 6) as usize).is_some_and(|word| word >> (block & 63) & 1 == 1)
    }

    /// Marks a block. The map also has bits for the rest of the word after the last block.
    #[inline]
    fn mark(&mut self, block: u64) {
        let mut index = block;
        for level in &mut self.levels {
            let Some(word) = level.get_mut((index >> 6) as usize) else { return };
            *word |= 1 << (index & 63);
            if *word != u64::MAX {
                return;
            }
            index >>= 6;
        }
    }

    /// Marks up to `wanted` blocks from `block` on, stopping at the first used one. Returns how many it marked.
    pub(super) fn mark_run(&mut self, block: u64, wanted: u64) -> u64 {
        let free = (0..wanted).take_while(|step| !self.is_used(block + step)).count() as u64;
        (0..free).for_each(|step| self.mark(block + step));
        free
    }

    /// Returns `block` itself if it is free, else the first free one after it, wrapping around to
    /// 0; `None` if all are used.
    #[inline]
    pub(super) fn free_from(&self, block: u64) -> Option<u64> {
        if !self.is_used(block) {
            return Some(block);
        }
        self.first_free(block + 1).or_else(|| self.first_free(0))
    }

    /// Like [`Map::free_from`], and marks the block found.
    #[inline]
    pub(super) fn take_from(&mut self, block: u64) -> Option<u64> {
        let free = self.free_from(block)?;
        self.mark(free);
        Some(free)
    }

    fn first_free(&self, from: u64) -> Option<u64> {
        let mut index = from;
        let mut height = 0;
        // Go up until a word has a free bit at or after the index.
        loop {
            let word = *self.levels.get(height)?.get((index >> 6) as usize)?;
            let free = !word & (u64::MAX << (index & 63));
            if free != 0 {
                index = (index & !63) + u64::from(free.trailing_zeros());
                break;
            }
            index = (index >> 6) + 1;
            height += 1;
        }
        // Go down again, to the first free bit of each word.
        while height > 0 {
            height -= 1;
            let word = *self.levels[height].get(index as usize)?;
            index = (index << 6) + u64::from((!word).trailing_zeros());
        }
        (index < self.blocks).then_some(index)
    }
}

/// A [`Map`] of few blocks without heap memory: a job can have a hundred thousand small files.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SmallMap(u64);

impl SmallMap {
    /// Maximum number of blocks.
    pub(super) const BLOCKS_MAX: u64 = u64::BITS as u64;

    pub(super) fn clear(&mut self) {
        self.0 = 0;
    }

    #[inline]
    fn is_used(self, block: u64) -> bool {
        block < Self::BLOCKS_MAX && self.0 >> block & 1 == 1
    }

    /// Like [`Map::mark_run`].
    pub(super) fn mark_run(&mut self, block: u64, wanted: u64) -> u64 {
        let free = (0..wanted).take_while(|step| !self.is_used(block + step)).count() as u64;
        let marked = (block..block + free).take_while(|block| *block < Self::BLOCKS_MAX);
        marked.for_each(|block| self.0 |= 1 << block);
        free
    }

    /// Like [`Map::free_from`], for a map of this many blocks.
    #[inline]
    pub(super) fn free_from(self, block: u64, blocks: u64) -> Option<u64> {
        if !self.is_used(block) {
            return Some(block);
        }
        let first_free = |from: u64| {
            let from_here = u32::try_from(from).ok().and_then(|from| u64::MAX.checked_shl(from)).unwrap_or(0);
            Some(u64::from((!self.0 & from_here).trailing_zeros())).filter(|free| *free < blocks)
        };
        first_free(block + 1).or_else(|| first_free(0))
    }
}

/// Bit positions, from 1, that feed a maximal shift register of each width from 3 bits on. Source: tables of primitive
/// polynomials, such as Ward and Molteno, "Table of linear feedback shift registers"; fio uses the same ones.
const TAPS: [&[u8]; 61] = [
    &[3, 2],
    &[4, 3],
    &[5, 3],
    &[6, 5],
    &[7, 6],
    &[8, 6, 5, 4],
    &[9, 5],
    &[10, 7],
    &[11, 9],
    &[12, 6, 4, 1],
    &[13, 4, 3, 1],
    &[14, 5, 3, 1],
    &[15, 14],
    &[16, 15, 13, 4],
    &[17, 14],
    &[18, 11],
    &[19, 6, 2, 1],
    &[20, 17],
    &[21, 19],
    &[22, 21],
    &[23, 18],
    &[24, 23, 22, 17],
    &[25, 22],
    &[26, 6, 2, 1],
    &[27, 5, 2, 1],
    &[28, 25],
    &[29, 27],
    &[30, 6, 4, 1],
    &[31, 28],
    &[32, 31, 29, 1],
    &[33, 20],
    &[34, 27, 2, 1],
    &[35, 33],
    &[36, 25],
    &[37, 5, 4, 3, 2, 1],
    &[38, 6, 5, 1],
    &[39, 35],
    &[40, 38, 21, 19],
    &[41, 38],
    &[42, 41, 20, 19],
    &[43, 42, 38, 37],
    &[44, 43, 18, 17],
    &[45, 44, 42, 41],
    &[46, 45, 26, 25],
    &[47, 42],
    &[48, 47, 21, 20],
    &[49, 40],
    &[50, 49, 24, 23],
    &[51, 50, 36, 35],
    &[52, 49],
    &[53, 52, 38, 37],
    &[54, 53, 18, 17],
    &[55, 31],
    &[56, 55, 35, 34],
    &[57, 50],
    &[58, 39],
    &[59, 58, 38, 37],
    &[60, 59],
    &[61, 60, 46, 45],
    &[62, 61, 6, 5],
    &[63, 62],
];

/// A shift register with inverted feedback that visits all blocks of a file once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Register {
    blocks: u64,
    top: u64,
    taps: u64,
    seed: u64,
    value: u64,
    given: u64,
    /// Whether the very first draw, which takes two steps, is still to come.
    first: bool,
}

impl Register {
    /// Creates a register; `None` if there are too many blocks, or the seed is the one
    /// state that the register never leaves.
    pub(super) fn new(blocks: u64, seed: u64) -> Option<Register> {
        let taps = TAPS.iter().find(|taps| 1 << taps[0] > blocks)?;
        let top = 1 << (taps[0] - 1);
        let mask = (top << 1) - 1;
        let seed = seed & mask;
        (seed != mask).then(|| Register {
            blocks,
            top,
            taps: taps.iter().fold(0, |taps, tap| taps | 1 << (tap - 1)),
            seed,
            value: seed,
            given: 0,
            first: true,
        })
    }

    /// Returns to the seed. Only the very first draw of a run takes two steps.
    pub(super) fn reset(&mut self) {
        self.value = self.seed;
        self.given = 0;
    }

    #[inline]
    fn step(&mut self) {
        let feedback = if self.value & 1 == 0 { self.taps } else { 0 };
        self.value = ((self.value >> 1) | self.top) ^ feedback;
    }

    /// Returns the next block; `None` after all of them.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u64> {
        if self.given == self.blocks {
            return None;
        }
        self.given += 1;
        if std::mem::take(&mut self.first) {
            self.step();
        }
        loop {
            self.step();
            if self.value < self.blocks {
                return Some(self.value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_gives_each_block_once_and_the_nearest_free_one() {
        for blocks in [1, 2, 63, 64, 65, 4095, 4096, 4097, 5000] {
            let mut map = Map::new(blocks);
            let mut used = vec![false; blocks as usize];
            for step in 0..blocks {
                let drawn = step * 7919 % blocks;
                let expected = (0..blocks).map(|ahead| (drawn + ahead) % blocks).find(|&b| !used[b as usize]);
                let taken = map.take_from(drawn);
                assert_eq!(taken, expected, "of {blocks} blocks, draw {step} of block {drawn}");
                used[taken.expect("a free block") as usize] = true;
            }
            assert_eq!(map.take_from(0), None);
            map.clear();
            assert_eq!(map.take_from(blocks - 1), Some(blocks - 1));
        }
    }

    #[test]
    fn a_run_ends_at_the_first_used_block() {
        let mut map = Map::new(200);
        assert_eq!(map.mark_run(66, 1), 1);
        assert_eq!(map.mark_run(60, 10), 6);
        assert_eq!(map.free_from(60), Some(67));
    }

    #[test]
    fn a_small_map_is_a_map() {
        for blocks in [1, 2, 63, 64] {
            let (mut map, mut small) = (Map::new(blocks), SmallMap::default());
            for step in 0..4 * blocks {
                let drawn = step * 7919 % blocks;
                let free = map.free_from(drawn);
                assert_eq!(small.free_from(drawn, blocks), free, "of {blocks} blocks, from block {drawn}");
                let Some(free) = free else { continue };
                let wanted = step % 3 + 1;
                let marked = map.mark_run(free, wanted);
                assert_eq!(small.mark_run(free, wanted), marked, "{wanted} of {blocks} blocks, from block {free}");
            }
            assert_eq!((map.free_from(0), small.free_from(0, blocks)), (None, None));
            map.clear();
            small.clear();
            assert_eq!(small.free_from(blocks - 1, blocks), map.free_from(blocks - 1));
        }
    }

    #[test]
    fn a_register_gives_each_block_once() {
        for blocks in [1, 5, 7, 8, 255, 256, 1000, 65535, 65536] {
            let mut register = Register::new(blocks, 0x1234_5670).expect("small enough");
            for round in 0..2 {
                let mut seen = vec![false; blocks as usize];
                while let Some(block) = register.next() {
                    assert!(!std::mem::replace(&mut seen[block as usize], true), "block {block} of {blocks} twice");
                }
                assert!(seen.iter().all(|&seen| seen), "round {round} of {blocks} blocks skipped some");
                register.reset();
            }
        }
    }

    #[test]
    fn a_register_that_could_not_move_is_refused() {
        assert_eq!(Register::new(200, 255), None);
        assert_eq!(Register::new(u64::MAX, 1), None);
    }
}
