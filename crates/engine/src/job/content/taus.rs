//! fio's random numbers, as far as stamps need them.
//!
//! Facts, found in what fio 3.33 does: the generators are Tausworthe's taus88 and taus258 (L'Ecuyer, "Tables of maximally
//! equidistributed combined LFSR generators", Mathematics of Computation 68, 1999). A state is filled from a seed by a
//! multiplicative chain that begins at 53, each word is raised above the number of bits that its step drops, and six
//! numbers are thrown away.

/// A generator in some state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taus {
    /// Of 32 bits.
    Narrow([u32; 3]),
    /// Of 64 bits.
    Wide([u64; 5]),
}

/// How many bits a generator has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Narrow,
    Wide,
}

impl Taus {
    pub(super) fn new(seed: u64, width: Width) -> Taus {
        let mut taus = match width {
            Width::Narrow => {
                let mut word = 53u32;
                Taus::Narrow([1, 7, 15].map(|least| {
                    word = word.wrapping_mul(69069) ^ seed as u32;
                    word += if word < least { least } else { 0 };
                    word
                }))
            }
            Width::Wide => {
                let mut word = 53u64;
                Taus::Wide([1, 7, 15, 33, 49].map(|least| {
                    word = word.wrapping_mul(6_906_969_069) ^ seed;
                    word += if word < least { least } else { 0 };
                    word
                }))
            }
        };
        for _ in 0..6 {
            taus.next();
        }
        taus
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        match self {
            Taus::Narrow([a, b, c]) => {
                *a = ((*a & !0x1) << 12) ^ (((*a << 13) ^ *a) >> 19);
                *b = ((*b & !0x7) << 4) ^ (((*b << 2) ^ *b) >> 25);
                *c = ((*c & !0xf) << 17) ^ (((*c << 3) ^ *c) >> 11);
                u64::from(*a ^ *b ^ *c)
            }
            Taus::Wide([a, b, c, d, e]) => {
                *a = ((*a & !0x1) << 10) ^ (((*a << 1) ^ *a) >> 53);
                *b = ((*b & !0x1ff) << 5) ^ (((*b << 24) ^ *b) >> 50);
                *c = ((*c & !0xfff) << 29) ^ (((*c << 3) ^ *c) >> 23);
                *d = ((*d & !0x1_ffff) << 23) ^ (((*d << 5) ^ *d) >> 24);
                *e = ((*e & !0x7f_ffff) << 8) ^ (((*e << 3) ^ *e) >> 33);
                *a ^ *b ^ *c ^ *d ^ *e
            }
        }
    }
}

/// The seed of the draws that stamps hold, of a worker: the fourth of the seeds that follow from a job's.
pub(super) fn stamp_seed(seed: u64, worker: u32) -> u64 {
    const STEP: u64 = 0x9e37_0001;
    const PLACE: u64 = 3;
    let stepped = (0..4 + PLACE).fold(seed, |seed, _| seed.wrapping_mul(STEP));
    stepped.wrapping_mul(u64::from(worker)).wrapping_add(PLACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seed_is_that_of_fio() {
        // The header of the first block that fio 3.33 writes with `verify=crc32c` and its own seed, 0x89, holds it.
        let mut taus = Taus::new(stamp_seed(0x89, 1), Width::Narrow);
        assert_eq!(taus.next().wrapping_mul(taus.next()), 0x00a4_cc01_c509_543c);
    }
}
