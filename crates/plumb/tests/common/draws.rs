//! Seeded random draws, for tests of properties of any mix of options.

/// A seeded random generator.
pub struct Draws(u64);

impl Draws {
    /// Returns the generator of one case, which is independent of other cases' draws.
    pub fn for_case(seed: u64, number: u64) -> Draws {
        let mut draws = Draws(seed);
        Draws(draws.next() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns the next number, by `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn number(&mut self, among: std::ops::RangeInclusive<u64>) -> u64 {
        among.start() + self.next() % (among.end() - among.start() + 1)
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.number(0..=of.len() as u64 - 1) as usize]
    }

    /// Returns `true` with this percentage.
    pub fn percent(&mut self, of: u64) -> bool {
        self.number(1..=100) <= of
    }
}
