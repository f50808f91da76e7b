//! Shuffled orders that are the same on every machine.

use crate::rng::splitmix64;
use plumb_workload::program::Shuffle;

/// Returns the numbers of `count` records, shuffled.
pub(super) fn shuffled(shuffle: Shuffle, count: u64) -> Vec<u32> {
    match shuffle {
        Shuffle::Iozone => {
            let mut order: Vec<u32> = (0..count).map(|number| number as u32).collect();
            let mut random = Mt64::by_array(&[0x12345, 0x23456, 0x34567, 0x45678]);
            for left in (1..=count).rev() {
                order.swap((random.next() % left) as usize, left as usize - 1);
            }
            order
        }
    }
}

/// Shuffles by a seed with the Fisher-Yates algorithm.
pub(super) fn shuffled_by_seed(seed: u64, count: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).map(|number| number as u32).collect();
    for left in (1..=count).rev() {
        order.swap((splitmix64(seed.wrapping_add(left)) % left) as usize, left as usize - 1);
    }
    order
}

const WORDS: usize = 312;
const SHIFT: usize = 156;

/// MT19937-64. Source: Matsumoto and Nishimura, "Mersenne Twister: A 623-dimensionally equidistributed uniform
/// pseudo-random number generator", and their 64-bit variant of 2000.
struct Mt64 {
    words: [u64; WORDS],
    at: usize,
}

impl Mt64 {
    fn new(seed: u64) -> Mt64 {
        let mut words = [seed; WORDS];
        for at in 1..WORDS {
            let last = words[at - 1];
            words[at] = 6_364_136_223_846_793_005u64.wrapping_mul(last ^ (last >> 62)).wrapping_add(at as u64);
        }
        Mt64 { words, at: WORDS }
    }

    /// `init_by_array64` of the reference implementation.
    fn by_array(key: &[u64]) -> Mt64 {
        let mut random = Mt64::new(19_650_218);
        let words = &mut random.words;
        let (mut at, mut of_key) = (1, 0);
        for _ in 0..WORDS.max(key.len()) {
            let last = words[at - 1];
            words[at] = (words[at] ^ (last ^ (last >> 62)).wrapping_mul(3_935_559_000_370_003_845))
                .wrapping_add(key[of_key])
                .wrapping_add(of_key as u64);
            at += 1;
            of_key = (of_key + 1) % key.len();
            if at == WORDS {
                words[0] = words[WORDS - 1];
                at = 1;
            }
        }
        for _ in 0..WORDS - 1 {
            let last = words[at - 1];
            words[at] =
                (words[at] ^ (last ^ (last >> 62)).wrapping_mul(2_862_933_555_777_941_757)).wrapping_sub(at as u64);
            at += 1;
            if at == WORDS {
                words[0] = words[WORDS - 1];
                at = 1;
            }
        }
        words[0] = 1 << 63;
        random
    }

    fn refill(&mut self) {
        const HIGH: u64 = 0xffff_ffff_8000_0000;
        const LOW: u64 = 0x7fff_ffff;
        for at in 0..WORDS {
            let mixed = (self.words[at] & HIGH) | (self.words[(at + 1) % WORDS] & LOW);
            let twist = if mixed & 1 == 1 { 0xb502_6f5a_a966_19e9 } else { 0 };
            self.words[at] = self.words[(at + SHIFT) % WORDS] ^ (mixed >> 1) ^ twist;
        }
        self.at = 0;
    }

    fn next(&mut self) -> u64 {
        if self.at == WORDS {
            self.refill();
        }
        let mut word = self.words[self.at];
        self.at += 1;
        word ^= (word >> 29) & 0x5555_5555_5555_5555;
        word ^= (word << 17) & 0x71d6_7fff_eda6_0000;
        word ^= (word << 37) & 0xfff7_eee0_0000_0000;
        word ^ (word >> 43)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of IOzone 3.489 under strace, the same in every run and on every machine.
    #[test]
    fn sixteen_records_are_shuffled_as_in_iozone() {
        let order = shuffled(Shuffle::Iozone, 16);
        assert_eq!(order, [1, 5, 7, 13, 10, 6, 0, 8, 14, 3, 11, 2, 4, 12, 9, 15]);
    }

    #[test]
    fn every_record_comes_once() {
        let mut order = shuffled(Shuffle::Iozone, 1000);
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
        assert!(shuffled(Shuffle::Iozone, 0).is_empty());
    }
}
