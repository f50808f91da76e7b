//! This crate's own stream of random bits, so that a schedule or a permutation test depends only on its seed.
//! SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.

/// Increment of SplitMix64's state with each step: 2⁶⁴ over the golden ratio, made odd.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns one step of SplitMix64; also a good hash of a counter.
#[inline]
pub const fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(INCREMENT);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers determined by its seed.
#[derive(Debug, Clone)]
pub struct SplitMix {
    state: u64,
}

impl SplitMix {
    pub fn new(seed: u64) -> SplitMix {
        SplitMix { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        let drawn = splitmix64(self.state);
        self.state = self.state.wrapping_add(INCREMENT);
        drawn
    }

    /// Returns a number below `bound`, which must be above 0. It is the high word of a product: its bias
    /// is below bound / 2⁶⁴.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Returns a uniform number strictly between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Returns a standard normal number, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // First outputs of the reference implementation (https://prng.di.unimi.it/splitmix64.c) for the seed 1234567.
        let mut stream = SplitMix::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| stream.next()).collect();
        assert_eq!(first, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }
}
