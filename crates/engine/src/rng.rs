//! Random numbers with streams that never change: xoshiro256++ seeded by SplitMix64. Source: Blackman and Vigna,
//! "Scrambled linear pseudorandom number generators", 2021 (both algorithms are in the public domain).
//!
//! Implemented here instead of using a crate, because "the same seed always gives the same ops" must not depend on
//! the release policy of others.
//!
//! [`fio`] has fio's generators, for values that must match fio's.

pub(crate) mod fio;

pub use plumb_stats::random::splitmix64;

/// A stream of random numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

/// Purpose of a random stream. Each purpose of each worker of each phase has its own stream, so that a change in one
/// (another block size, for example) does not affect the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Offsets, or choices of files.
    Offset = 1,
    Size = 2,
    /// Choice of read, write or trim, and choices in a flow.
    Mix = 3,
    Arrival = 4,
    Content = 5,
    /// Sizes of a file set's files.
    Layout = 6,
    /// Behaviour of the simulated device.
    Device = 7,
    /// A backend's own choices: which ops are polled, and which have a priority.
    Backend = 8,
}

/// Identifies a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamId {
    pub seed: u64,
    pub phase: u32,
    /// Number of the worker within the phase, over all groups.
    pub worker: u32,
}

impl StreamId {
    /// Returns the stream for one purpose.
    pub fn rng(self, purpose: Purpose) -> Rng {
        let place = (u64::from(self.phase) << 40) | (u64::from(self.worker) << 8) | purpose as u64;
        Rng::new(splitmix64(self.seed) ^ splitmix64(place.wrapping_mul(0xd6e8_feb8_6659_fd93)))
    }
}

impl Rng {
    /// Creates the stream of a seed.
    pub fn new(seed: u64) -> Rng {
        let mut state = [0; 4];
        let mut counter = seed;
        for word in &mut state {
            *word = splitmix64(counter);
            counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
        Rng { state }
    }

    /// Returns 64 random bits.
    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let t = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= t;
        *s3 = s3.rotate_left(45);
        result
    }

    /// Returns a number in `0..bound` (0 for a bound of 0), uniformly distributed. Uses multiplication; the bias
    /// is below bound / 2^64.
    #[inline(always)]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in [0, 1), uniformly distributed, with 53 bits.
    #[inline(always)]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns an exponentially distributed number with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        // 1 - unit() is in (0, 1], so the logarithm is finite.
        -crate::math::ln(1.0 - self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_xoshiro256_plus_plus() {
        // First outputs of the reference implementation for the state 1, 2, 3, 4.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn streams_of_different_purpose_phase_or_worker_differ() {
        let id = StreamId { seed: 42, phase: 0, worker: 0 };
        let other_worker = StreamId { worker: 1, ..id };
        let other_phase = StreamId { phase: 1, ..id };
        let firsts = [
            id.rng(Purpose::Offset).next_u64(),
            id.rng(Purpose::Size).next_u64(),
            other_worker.rng(Purpose::Offset).next_u64(),
            other_phase.rng(Purpose::Offset).next_u64(),
        ];
        for (i, a) in firsts.iter().enumerate() {
            assert!(firsts[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn below_stays_below() {
        let mut rng = Rng::new(7);
        assert!((0..10_000).all(|_| rng.below(10) < 10));
        assert_eq!(rng.below(0), 0);
    }
}
