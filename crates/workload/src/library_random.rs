//! The C library's `rand`, number by number: tools that draw from it do the same everywhere.

/// Words that the generator keeps, and how far back it adds.
const DEGREE: usize = 31;
const SEPARATION: usize = 3;
/// Numbers that it throws away after its seed.
const DISCARDED: usize = 10 * DEGREE;

/// glibc's `rand`. Source: glibc, stdlib/random_r.c, TYPE_3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryRandom {
    /// The last words.
    words: [u32; DEGREE],
    /// Where the next one goes.
    at: usize,
}

impl LibraryRandom {
    /// The largest number that it draws: `RAND_MAX`.
    pub const MAX: u32 = 0x7fff_ffff;

    /// The generator's state after `srand`.
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

    /// The next number, from 0 to [`LibraryRandom::MAX`].
    pub fn draw(&mut self) -> u32 {
        // r[i] = r[i − 31] + r[i − 3]: the place to write holds the one 31 back.
        let word = self.words[self.at].wrapping_add(self.words[(self.at + DEGREE - SEPARATION) % DEGREE]);
        self.words[self.at] = word;
        self.at = (self.at + 1) % DEGREE;
        word >> 1
    }
}

/// glibc's `rand_r`: the next number of a state. Source: glibc, stdlib/rand_r.c.
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

    // Protects every order and name that is drawn with it: the numbers of glibc itself.
    #[test]
    fn numbers_are_those_of_glibc() {
        let mut numbers = LibraryRandom::seeded(1);
        assert_eq!([numbers.draw(), numbers.draw(), numbers.draw()], [1_804_289_383, 846_930_886, 1_681_692_777]);
        assert_eq!(LibraryRandom::seeded(0), LibraryRandom::seeded(1));
        assert_eq!([rand_r(&mut 1), rand_r(&mut 42)], [476_707_713, 681_191_333]);
    }
}
