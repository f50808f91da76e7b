//! The random numbers for names, sizes, orders and positions: the C library's `rand`, or those of a file.

/// Words that glibc's generator keeps, and how far back it adds.
const DEGREE: usize = 31;
const SEPARATION: usize = 3;
/// Numbers that it throws away after its seed.
const DISCARDED: usize = 10 * DEGREE;

/// A source of numbers from 0 to 2³¹ − 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberSource {
    /// glibc's `rand`. Source: glibc, stdlib/random_r.c, TYPE_3.
    Library {
        /// The last words.
        words: [u32; DEGREE],
        /// Where the next one goes.
        at: usize,
    },
    /// Those of a file, over and over.
    File {
        /// All of them; never empty.
        numbers: Vec<u32>,
        /// The next one.
        at: usize,
    },
}

impl NumberSource {
    /// The generator's state after `srand`.
    pub fn seeded(seed: u32) -> NumberSource {
        let mut words = [0u32; DEGREE];
        let mut word = i64::from(seed.max(1).cast_signed());
        for place in &mut words {
            *place = word as u32;
            word = (16807 * word) % 0x7fff_ffff;
            if word < 0 {
                word += 0x7fff_ffff;
            }
        }
        let mut numbers = NumberSource::Library { words, at: SEPARATION };
        for _ in 0..DISCARDED {
            numbers.draw();
        }
        numbers
    }

    /// The numbers of a file: big-endian words of four bytes, without their signs. `None` where it holds none.
    pub fn of_file(bytes: &[u8]) -> Option<NumberSource> {
        let words = bytes.chunks_exact(4).filter_map(|word| word.first_chunk::<4>());
        // The number that has no positive counterpart stays negative in C, and has no meaning there.
        let numbers: Vec<u32> = words.map(|word| i32::from_be_bytes(*word).unsigned_abs() & 0x7fff_ffff).collect();
        (!numbers.is_empty()).then_some(NumberSource::File { numbers, at: 0 })
    }

    /// The next number.
    pub fn draw(&mut self) -> u32 {
        match self {
            NumberSource::Library { words, at } => {
                // r[i] = r[i − 31] + r[i − 3]: the place to write holds the one 31 back.
                let word = words[*at].wrapping_add(words[(*at + DEGREE - SEPARATION) % DEGREE]);
                words[*at] = word;
                *at = (*at + 1) % DEGREE;
                word >> 1
            }
            NumberSource::File { numbers, at } => {
                let number = numbers[*at];
                *at = (*at + 1) % numbers.len();
                number
            }
        }
    }

    /// The next number below `bound`, as `%` has it.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::from(self.draw()) % bound.max(1)
    }
}
