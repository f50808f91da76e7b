//! fio's random numbers: its generators, and the seed of each draw of a job.
//!
//! Facts, observed in fio 3.33: the generators are Tausworthe's taus88 and taus258 (L'Ecuyer, "Tables of maximally
//! equidistributed combined LFSR generators", Mathematics of Computation 68, 1999). A state is filled from a seed by a
//! multiplicative chain that begins at 53. Each word is raised above the number of bits that its step drops, and the
//! first six numbers are discarded. The seed of draw `i` of a worker is `seed * worker + i`, where the seed is
//! multiplied by a constant four times before the first draw and once after each.

use plumb_workload::blocks::fio::Seeding;

/// Multiplier between the seeds of one job's draws.
const SEED_STEP: u64 = 0x9e37_0001;
/// Seed of the draws that do not depend on the job's seed.
const FIXED_SEED: u64 = 0xb189_9bed;
/// First word of the chain that fills a generator's state.
const FIRST_WORD: u64 = 53;
/// Numbers discarded after a state was filled.
const WARM_UP: u32 = 6;

/// 32-bit Tausworthe generator (taus88).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taus88 {
    words: [u32; 3],
}

/// Returns the initial words of a generator. Words are at most `most`, and each is at
/// least the minimum of its component.
fn seeded<const WORDS: usize>(seed: u64, factor: u64, most: u64, least: [u64; WORDS]) -> [u64; WORDS] {
    let mut word = FIRST_WORD;
    least.map(|least| {
        word = (word.wrapping_mul(factor) ^ seed) & most;
        if word < least {
            word += least;
        }
        word
    })
}

impl Taus88 {
    pub(crate) fn new(seed: u64) -> Taus88 {
        let words = seeded(seed, 69069, u32::MAX.into(), [1, 7, 15]);
        let mut taus = Taus88 { words: words.map(|word| word as u32) };
        for _ in 0..WARM_UP {
            taus.next();
        }
        taus
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u32 {
        let [a, b, c] = &mut self.words;
        *a = ((*a & !1) << 12) ^ (((*a << 13) ^ *a) >> 19);
        *b = ((*b & !7) << 4) ^ (((*b << 2) ^ *b) >> 25);
        *c = ((*c & !15) << 17) ^ (((*c << 3) ^ *c) >> 11);
        *a ^ *b ^ *c
    }

    /// Draws from [0, 1).
    #[inline(always)]
    pub(crate) fn share(&mut self) -> f64 {
        f64::from(self.next()) * (1.0 / (1u64 << 32) as f64)
    }

    /// Draws from 1 to 100.
    #[inline(always)]
    pub(crate) fn percent(&mut self) -> u8 {
        1 + (100.0 * self.share()) as u8
    }
}

/// 64-bit Tausworthe generator (taus258).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taus258 {
    words: [u64; 5],
}

impl Taus258 {
    pub(crate) fn new(seed: u64) -> Taus258 {
        let mut taus = Taus258 { words: seeded(seed, 6_906_969_069, u64::MAX, [1, 7, 15, 33, 49]) };
        for _ in 0..WARM_UP {
            taus.next();
        }
        taus
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d, e] = &mut self.words;
        *a = ((*a & !0x1) << 10) ^ (((*a << 1) ^ *a) >> 53);
        *b = ((*b & !0x1ff) << 5) ^ (((*b << 24) ^ *b) >> 50);
        *c = ((*c & !0xfff) << 29) ^ (((*c << 3) ^ *c) >> 23);
        *d = ((*d & !0x1_ffff) << 23) ^ (((*d << 5) ^ *d) >> 24);
        *e = ((*e & !0x7f_ffff) << 8) ^ (((*e << 3) ^ *e) >> 33);
        *a ^ *b ^ *c ^ *d ^ *e
    }
}

/// A generator of either width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taus {
    Narrow(Taus88),
    Wide(Taus258),
}

/// Width of a generator: 32 or 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Narrow,
    Wide,
}

impl Taus {
    pub(crate) fn new(seed: u64, width: Width) -> Taus {
        match width {
            Width::Narrow => Taus::Narrow(Taus88::new(seed)),
            Width::Wide => Taus::Wide(Taus258::new(seed)),
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        match self {
            Taus::Narrow(taus) => u64::from(taus.next()),
            Taus::Wide(taus) => taus.next(),
        }
    }

    /// Returns the largest number that the generator yields.
    #[inline]
    pub(crate) fn largest(&self) -> u64 {
        match self {
            Taus::Narrow(_) => u64::from(u32::MAX),
            Taus::Wide(_) => u64::MAX,
        }
    }

    /// Draws from [0, 1). The last 2^10 of 2^64 numbers round up to 1.
    #[inline]
    pub(crate) fn share(&mut self) -> f64 {
        match self {
            Taus::Narrow(taus) => taus.share(),
            Taus::Wide(taus) => taus.next() as f64 / (u64::MAX as f64 + 1.0),
        }
    }
}

/// The seeds of one worker's draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seeds {
    /// Sizes of reads, writes and trims.
    pub(crate) sizes: [u64; 3],
    /// Content of verified blocks.
    pub(crate) stamps: u64,
    /// Whether to read or write.
    pub(crate) mix: u64,
    /// Choice of the file.
    pub(crate) file: u64,
    /// Choice of the offset.
    pub(crate) offset: u64,
    /// Choice of the writes that are trimmed later.
    pub(crate) trim: u64,
    /// Whether to go on sequentially or at random.
    pub(crate) order: u64,
    /// Choice of the zone.
    pub(crate) zone: u64,
    /// Choice of the blocks that are overwritten on the way to a steady state.
    pub(crate) again: u64,
}

impl Seeds {
    pub(crate) fn new(seed: u64, worker: u32, seeding: Seeding) -> Seeds {
        let worker = u64::from(worker);
        let fixed = FIXED_SEED.wrapping_mul(worker);
        let of = |index: u64| match seeding {
            Seeding::None => fixed + index,
            Seeding::All | Seeding::AllButOffsets => {
                let steps = (0..4 + index).fold(seed, |seed, _| seed.wrapping_mul(SEED_STEP));
                steps.wrapping_mul(worker).wrapping_add(index)
            }
        };
        Seeds {
            sizes: [of(0), of(1), of(2)],
            stamps: of(3),
            mix: of(4),
            file: of(5),
            offset: if seeding == Seeding::All { of(6) } else { fixed },
            trim: of(8),
            order: of(10),
            zone: of(16),
            again: of(22),
        }
    }
}
