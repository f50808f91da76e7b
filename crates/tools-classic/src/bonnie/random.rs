//! Random numbers for names, sizes, orders and positions, from the C library's `rand` or from a file.

use plumb_workload::library_random::LibraryRandom;

/// A source of numbers from 0 to 2³¹ − 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberSource {
    /// glibc's `rand` generator.
    Library(LibraryRandom),
    /// The numbers of a file, repeated.
    File {
        /// All numbers; never empty.
        numbers: Vec<u32>,
        at: usize,
    },
}

impl NumberSource {
    /// Creates a generator in the state after `srand`.
    pub fn seeded(seed: u32) -> NumberSource {
        NumberSource::Library(LibraryRandom::seeded(seed))
    }

    /// Reads the numbers of a file: big-endian words of four bytes, as absolute
    /// values. Returns `None` if there are none.
    pub fn of_file(bytes: &[u8]) -> Option<NumberSource> {
        let words = bytes.chunks_exact(4).filter_map(|word| word.first_chunk::<4>());
        // The most negative number has no positive counterpart; C keeps it negative, which has no meaning here.
        let numbers: Vec<u32> = words.map(|word| i32::from_be_bytes(*word).unsigned_abs() & 0x7fff_ffff).collect();
        (!numbers.is_empty()).then_some(NumberSource::File { numbers, at: 0 })
    }

    pub fn draw(&mut self) -> u32 {
        match self {
            NumberSource::Library(numbers) => numbers.draw(),
            NumberSource::File { numbers, at } => {
                let number = numbers[*at];
                *at = (*at + 1) % numbers.len();
                number
            }
        }
    }

    /// Returns the next number modulo `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::from(self.draw()) % bound.max(1)
    }
}
