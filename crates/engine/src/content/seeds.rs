//! Seeds of a worker's writes, drawn as fio does: the product of two random numbers per write.

use crate::rng::fio::Taus;

/// Number of writes between two saved states.
const STRIDE: u32 = 16;
/// Number of states allocated at once, so that the hot loop rarely allocates.
const CHUNK: usize = 4096;

/// Provides the seed of every write of a worker, in any order.
#[derive(Debug, Clone)]
pub(super) struct WriteSeeds {
    /// Generator states before every sixteenth write.
    kept: Vec<Vec<Taus>>,
    /// Generator state before the first write. Write numbers wrap, and the seeds start over with them.
    first: Taus,
    /// Position after the newest write so far.
    newest: Cursor,
    /// Position after the last requested seed.
    recent: Cursor,
}

#[derive(Debug, Clone)]
struct Cursor {
    taus: Taus,
    /// Number of the write whose seed is next.
    next: u32,
}

impl Cursor {
    #[inline]
    fn step(&mut self) -> u64 {
        self.next = self.next.wrapping_add(1);
        // Two draws, as fio does, although a 64-bit generator would need only one.
        self.taus.next().wrapping_mul(self.taus.next())
    }
}

impl WriteSeeds {
    /// Creates the seeds from a generator in its initial state.
    pub(super) fn new(taus: Taus) -> WriteSeeds {
        let start = Cursor { taus, next: 0 };
        WriteSeeds { kept: Vec::new(), first: taus, newest: start.clone(), recent: start }
    }

    /// Returns the seed of write `number`.
    #[inline]
    pub(super) fn seed(&mut self, number: u32) -> u64 {
        if number != self.recent.next {
            self.seek(number);
        }
        if self.recent.next == self.newest.next { self.advance() } else { self.recent.step() }
    }

    /// Moves the newest position forward by one write.
    #[inline]
    fn advance(&mut self) -> u64 {
        if self.newest.next.is_multiple_of(STRIDE) {
            self.keep();
        }
        let seed = self.newest.step();
        if self.newest.next == 0 {
            self.newest.taus = self.first;
        }
        self.recent = self.newest.clone();
        seed
    }

    #[cold]
    fn keep(&mut self) {
        if (self.newest.next / STRIDE) as usize / CHUNK + 1 < self.kept.len() {
            return;
        }
        if self.kept.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.kept.push(Vec::with_capacity(CHUNK));
        }
        if let Some(chunk) = self.kept.last_mut() {
            chunk.push(self.newest.taus);
        }
    }

    /// Moves `recent` to `number`.
    fn seek(&mut self, number: u32) {
        if number >= self.newest.next {
            while self.newest.next < number {
                self.advance();
            }
            self.recent = self.newest.clone();
            return;
        }
        if !(self.recent.next <= number && number - self.recent.next < STRIDE) {
            let place = (number / STRIDE) as usize;
            let taus = self.kept[place / CHUNK][place % CHUNK];
            self.recent = Cursor { taus, next: number / STRIDE * STRIDE };
        }
        while self.recent.next < number {
            self.recent.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::fio::{Seeds, Width};
    use plumb_workload::blocks::fio::Seeding;

    #[test]
    fn the_first_seed_matches_fio() {
        // From the header of the first block that fio 3.33 writes with `verify=crc32c` and its default seed, 0x89.
        let seeds = Seeds::new(0x89, 1, Seeding::AllButOffsets);
        let mut seeds = WriteSeeds::new(Taus::new(seeds.stamps, Width::Narrow));
        assert_eq!(seeds.seed(0), 0x00a4_cc01_c509_543c);
    }

    #[test]
    fn seeds_come_in_any_order() {
        let taus = Taus::new(99, Width::Narrow);
        let mut drawn = taus;
        let expected: Vec<u64> = (0..70_000).map(|_| drawn.next().wrapping_mul(drawn.next())).collect();
        let mut seeds = WriteSeeds::new(taus);
        for number in [0, 1, 2, 40, 41, 3, 69_999, 65_535, 65_536, 16, 15, 17, 31, 32, 69_999] {
            assert_eq!(seeds.seed(number), expected[number as usize], "write {number}");
        }
        assert!((0..70_000).all(|number| seeds.seed(number) == expected[number as usize]));
    }
}
