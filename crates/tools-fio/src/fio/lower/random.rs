//! Random numbers that fio draws before a job starts: file sizes and delays.
//!
//! The Tausworthe generators are those of fio 3.42, so that the same seed gives the same sizes. Source: L'Ecuyer,
//! "Tables of maximally equidistributed combined LFSR generators" (1999); the seeding is fio's.

/// A random stream of a job; the discriminant is fio's stream number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamOf {
    FileSizes = 7,
    StartDelay = 13,
}

/// State width of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Taus88,
    Taus258,
}

#[derive(Debug, Clone)]
pub(super) enum Draws {
    Narrow([u32; 3]),
    Wide([u64; 5]),
}

const GOLDEN: u64 = 0x9e37_0001;

/// Number of random streams in fio 3.42.
const STREAMS: u64 = 24;

/// Returns the seeds of all streams of one copy of a job, in fio's order.
pub fn stream_seeds(seed: u64, thread_number: u32) -> Vec<u64> {
    (0..STREAMS).map(|index| stream_seed(seed, thread_number, index)).collect()
}

/// Returns the seed of a stream of one copy of a job.
fn stream_seed(seed: u64, thread_number: u32, index: u64) -> u64 {
    let spread = (0..4 + index).fold(seed, |seed, _| seed.wrapping_mul(GOLDEN));
    spread.wrapping_mul(u64::from(thread_number)).wrapping_add(index)
}

impl Draws {
    /// Creates a stream of one copy of a job.
    pub(super) fn new(seed: u64, thread_number: u32, stream: StreamOf, width: Width) -> Draws {
        /// fio's source writes a sum of powers, but `^` is exclusive or: (2^31)+(2^17)+(2^7) is 29+19+5.
        const START: u64 = 53;
        let seed = stream_seed(seed, thread_number, stream as u64);
        let mut draws = match width {
            Width::Taus88 => {
                // fio uses the lower half of the seed.
                let seed = seed as u32;
                let mut before = START as u32;
                Draws::Narrow([1, 7, 15].map(|least: u32| {
                    let next = before.wrapping_mul(69_069) ^ seed;
                    before = if next < least { next + least } else { next };
                    before
                }))
            }
            Width::Taus258 => {
                let mut before = START;
                Draws::Wide([1, 7, 15, 33, 49].map(|least: u64| {
                    let next = before.wrapping_mul(6_906_969_069) ^ seed;
                    before = if next < least { next + least } else { next };
                    before
                }))
            }
        };
        for _ in 0..6 {
            draws.share();
        }
        draws
    }

    /// Returns the next draw in [0, 1).
    pub(super) fn share(&mut self) -> f64 {
        match self {
            Draws::Narrow(state) => {
                let [a, b, c] = *state;
                *state = [
                    ((a & !1) << 12) ^ (((a << 13) ^ a) >> 19),
                    ((b & !7) << 4) ^ (((b << 2) ^ b) >> 25),
                    ((c & !15) << 17) ^ (((c << 3) ^ c) >> 11),
                ];
                f64::from(state[0] ^ state[1] ^ state[2]) / 4_294_967_296.0
            }
            Draws::Wide(state) => {
                let [a, b, c, d, e] = *state;
                *state = [
                    ((a & !1) << 10) ^ (((a << 1) ^ a) >> 53),
                    ((b & !0x1ff) << 5) ^ (((b << 24) ^ b) >> 50),
                    ((c & !0xfff) << 29) ^ (((c << 3) ^ c) >> 23),
                    ((d & !0x1_ffff) << 23) ^ (((d << 5) ^ d) >> 24),
                    ((e & !0x7f_ffff) << 8) ^ (((e << 3) ^ e) >> 33),
                ];
                state.iter().fold(0, |all, part| all ^ part) as f64 / 18_446_744_073_709_551_616.0
            }
        }
    }

    /// Returns a number between `low` and `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low);
        let drawn = (span as f64 + 1.0) * self.share();
        low.saturating_add((drawn as u64).min(span))
    }
}
