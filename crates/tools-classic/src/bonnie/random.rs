//! The random numbers for names, sizes, orders and positions: the C library's `rand`, or those of a file.

use plumb_workload::library_random::LibraryRandom;

/// A source of numbers from 0 to 2³¹ − 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberSource {
    /// glibc's `rand`.
    Library(LibraryRandom),
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
        NumberSource::Library(LibraryRandom::seeded(seed))
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
            NumberSource::Library(numbers) => numbers.draw(),
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
