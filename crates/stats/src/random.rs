//! A stream of random bits of this crate's own, so that a schedule or a permutation test depends on its seed and on
//! nothing else. SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.

/// Increment of SplitMix64's state with each step: 2⁶⁴ over the golden ratio, made odd.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of SplitMix64; also a good hash of a counter.
#[inline]
pub const fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(INCREMENT);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers that follows from its seed.
#[derive(Debug, Clone)]
pub struct SplitMix {
    state: u64,
}

impl SplitMix {
    /// The stream of a seed.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        let drawn = splitmix64(self.state);
        self.state = self.state.wrapping_add(INCREMENT);
        drawn
    }

    /// A number below `bound`, which is above 0. The high word of a product: its bias is below bound / 2⁶⁴.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Uniform between 0 and 1, never either.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
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
