//! The C library's `rand`, reproduced exactly so that tools that use it do the same on every system.

/// Words of state, and the distance between the two words that are added.
const DEGREE: usize = 31;
const SEPARATION: usize = 3;
/// Numbers that the generator discards after seeding.
const DISCARDED: usize = 10 * DEGREE;

/// glibc's `rand`. Source: glibc, stdlib/random_r.c, TYPE_3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryRandom {
    words: [u32; DEGREE],
    /// Index of the next word to replace.
    at: usize,
}

impl LibraryRandom {
    /// Largest number that can be drawn: `RAND_MAX`.
    pub const MAX: u32 = 0x7fff_ffff;

    /// Returns the generator in its state after `srand`.
    pub fn seeded(seed: u32) -> LibraryRandom {
        let mut words = [0u32; DEGREE];
        let mut word = i64::from(seed.max(1).cast_signed());
        for place in &mut words {
            *place = word as u32;
            word = (16807 * word) % 0x7fff_ffff;
            if word < 0 {
                word += 0x7fff_ffff;
            }
        }
        let mut numbers = LibraryRandom { words, at: SEPARATION };
        for _ in 0..DISCARDED {
            numbers.draw();
        }
        numbers
    }

    /// Draws the next number, from 0 to [`LibraryRandom::MAX`].
    pub fn draw(&mut self) -> u32 {
        // r[i] = r[i − 31] + r[i − 3]: the word to be replaced is r[i − 31].
        let word = self.words[self.at].wrapping_add(self.words[(self.at + DEGREE - SEPARATION) % DEGREE]);
        self.words[self.at] = word;
        self.at = (self.at + 1) % DEGREE;
        word >> 1
    }
}

/// glibc's `rand_r`: advances the state and returns the next number. Source: glibc, stdlib/rand_r.c.
pub fn rand_r(state: &mut u32) -> u32 {
    let mut step = || {
        *state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        *state >> 16
    };
    let mut number = step() % 2048;
    for _ in 0..2 {
        number = (number << 10) ^ (step() % 1024);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects every order and name drawn with this generator: the expected numbers are glibc's.
    #[test]
    fn numbers_match_glibc() {
        let mut numbers = LibraryRandom::seeded(1);
        assert_eq!([numbers.draw(), numbers.draw(), numbers.draw()], [1_804_289_383, 846_930_886, 1_681_692_777]);
        assert_eq!(LibraryRandom::seeded(0), LibraryRandom::seeded(1));
        assert_eq!([rand_r(&mut 1), rand_r(&mut 42)], [476_707_713, 681_191_333]);
    }
}
