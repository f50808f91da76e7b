//! Draws from a seed, for tests of what holds for every mix of options.

/// Draws that follow from a seed.
pub struct Draws(u64);

impl Draws {
    /// The draws of one of many, which are its own whatever the others draw.
    pub fn of(seed: u64, number: u64) -> Draws {
        let mut draws = Draws(seed);
        Draws(draws.next() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number, as `SplitMix64` makes them.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of these numbers.
    pub fn number(&mut self, among: std::ops::RangeInclusive<u64>) -> u64 {
        among.start() + self.next() % (among.end() - among.start() + 1)
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.number(0..=of.len() as u64 - 1) as usize]
    }

    /// Yes, so many times in a hundred.
    pub fn percent(&mut self, of: u64) -> bool {
        self.number(1..=100) <= of
    }
}
