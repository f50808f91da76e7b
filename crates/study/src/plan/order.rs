//! In which order things run, and which seeds they have: a pure function of the study's seed.
//!
//! Random choices are BLAKE3 of the seed and of what is chosen, so that no choice depends on how many were made before it.

use plumb_sorted::short_list;

/// How the order of a block is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOrder {
    /// Random, and the next block in the opposite order: linear drift cancels after every second block.
    Randomized,
    /// As listed, then in the opposite order.
    Abba,
    /// As listed.
    Listed,
}

/// JSON readers of other languages keep integers up to here.
const SEED_BITS: u32 = 53;

fn draw(seed: u64, what: &str, numbers: &[u64]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(&(what.len() as u64).to_le_bytes());
    hasher.update(what.as_bytes());
    for number in numbers {
        hasher.update(&number.to_le_bytes());
    }
    let bytes: [u8; 8] = hasher.finalize().as_bytes()[..8].try_into().expect("a hash has 32 bytes");
    u64::from_le_bytes(bytes)
}

/// The seed of a study that names none.
pub fn seed_of(name: &str) -> u64 {
    draw(0, name, &[]) >> (64 - 32)
}

/// The seed of the runs of a block's repetition: the same for all cells, so that they do the same ops.
pub fn run_seed(seed: u64, block: u32, repeat: u32) -> u64 {
    draw(seed, "run", &[u64::from(block), u64::from(repeat)]) >> (64 - SEED_BITS)
}

/// So many blocks, each with the numbers from 0 to `things` once. `what` is what is ordered: other things have other orders.
pub fn blocks(order: RunOrder, things: usize, blocks: u32, seed: u64, what: &str) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::with_capacity(blocks as usize);
    for block in 0..blocks {
        let listed = || (0..things).collect::<Vec<usize>>();
        let is_second = block % 2 == 1;
        let sequence = match (order, found.last()) {
            (RunOrder::Randomized | RunOrder::Abba, Some(before)) if is_second => {
                before.iter().rev().copied().collect()
            }
            (RunOrder::Randomized, _) => {
                let mut sequence = listed();
                short_list::sort_by_key(&mut sequence, |&thing| draw(seed, what, &[u64::from(block), thing as u64]));
                sequence
            }
            (RunOrder::Abba | RunOrder::Listed, _) => listed(),
        };
        found.push(sequence);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn abba_is_abba() {
        let order: Vec<usize> = blocks(RunOrder::Abba, 2, 4, 1, "x").concat();
        assert_eq!(order, [0, 1, 1, 0, 0, 1, 1, 0]);
    }

    /// Whoever resumes a study of an older version finds the same plan.
    #[test]
    fn a_seed_keeps_its_order_for_ever() {
        assert_eq!(blocks(RunOrder::Randomized, 3, 4, 42, "plots").concat(), [1, 0, 2, 2, 0, 1, 1, 2, 0, 0, 2, 1]);
        assert_eq!(seed_of("mirrors"), 482_967_235);
        assert_eq!(run_seed(42, 1, 0), 736_157_682_130_460);
    }

    proptest! {
        #[test]
        fn each_block_has_each_thing_once(things in 0..12usize, count in 0..9u32, seed: u64) {
            for order in [RunOrder::Randomized, RunOrder::Abba, RunOrder::Listed] {
                let found = blocks(order, things, count, seed, "x");
                prop_assert_eq!(found.len(), count as usize);
                for mut block in found {
                    block.sort_unstable();
                    prop_assert_eq!(block, (0..things).collect::<Vec<_>>());
                }
            }
        }

        /// The sum of places of each thing is the same over every two blocks, so that linear drift favours none.
        #[test]
        fn drift_cancels_after_two_blocks(things in 1..12usize, seed: u64) {
            let found = blocks(RunOrder::Randomized, things, 2, seed, "x").concat();
            for thing in 0..things {
                let places: usize = (0..found.len()).filter(|&place| found[place] == thing).sum();
                prop_assert_eq!(places, 2 * things - 1);
            }
        }

        #[test]
        fn more_blocks_begin_with_the_fewer(things in 0..8usize, count in 0..6u32, seed: u64) {
            let more = blocks(RunOrder::Randomized, things, count + 2, seed, "x");
            prop_assert_eq!(&more[..count as usize], blocks(RunOrder::Randomized, things, count, seed, "x"));
        }
    }
}
