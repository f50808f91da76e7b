//! The order of plots and runs, and their seeds: a pure function of the study's seed.
//!
//! Random choices are BLAKE3 of the seed and of the chosen object, so that no choice depends on
//! the number of earlier ones.

use plumb_stats::{balanced_orders, orders_in_complete_block};

/// The method that orders a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOrder {
    /// Random, and balanced for the debt that a thing leaves to the next one, see [`balanced_orders`].
    Randomized,
    /// As listed, then in reverse.
    Abba,
    Listed,
}

/// JSON readers of other languages keep integers up to this many bits.
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

/// Returns the seed of a study that sets none.
pub(crate) fn seed_of(name: &str) -> u64 {
    draw(0, name, &[]) >> (64 - 32)
}

/// Returns the seed of the runs of a block's repetition: the same for all cells, so that they do the same ops.
pub fn run_seed(seed: u64, block: u32, repeat: u32) -> u64 {
    draw(seed, "run", &[u64::from(block), u64::from(repeat)]) >> (64 - SEED_BITS)
}

/// Returns `blocks` orders, each with the numbers from 0 to `things` once. `what` names the ordered objects:
/// different names get different orders.
pub fn blocks(order: RunOrder, things: usize, blocks: u32, seed: u64, what: &str) -> Vec<Vec<usize>> {
    let listed = || 0..things;
    match order {
        RunOrder::Randomized => balanced_orders(draw(seed, what, &[things as u64]), things, blocks as usize),
        RunOrder::Listed => (0..blocks).map(|_| listed().collect()).collect(),
        RunOrder::Abba => {
            let one = |block: u32| if block % 2 == 1 { listed().rev().collect() } else { listed().collect() };
            (0..blocks).map(one).collect()
        }
    }
}

/// Returns the number of orders in a complete block: repetitions end after a multiple of it.
pub fn complete(order: RunOrder, things: usize) -> u32 {
    match order {
        RunOrder::Randomized => orders_in_complete_block(things) as u32,
        RunOrder::Abba => 2,
        RunOrder::Listed => 1,
    }
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

    /// A study file gives the same plan on every machine and in every version; frozen plans stay as they are.
    #[test]
    fn a_seed_always_gives_the_same_order() {
        assert_eq!(blocks(RunOrder::Randomized, 3, 4, 42, "plots").concat(), [0, 1, 2, 2, 0, 1, 1, 2, 0, 0, 2, 1]);
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

        /// Orders of different things differ, and either of two things may be first.
        #[test]
        fn orders_depend_on_the_name_of_the_things(seed: u64) {
            let first = |what: &str| blocks(RunOrder::Randomized, 2, 1, seed, what)[0][0];
            let firsts: Vec<usize> = (0..40).map(|number| first(&format!("plot {number}"))).collect();
            prop_assert!(firsts.contains(&0) && firsts.contains(&1));
        }

        #[test]
        fn drift_cancels_after_a_complete_block(things in 1..12usize, seed: u64) {
            for order in [RunOrder::Randomized, RunOrder::Abba] {
                let found = blocks(order, things, complete(order, things), seed, "x").concat();
                let sum = |thing: usize| -> usize { (0..found.len()).filter(|&at| found[at] == thing).sum() };
                prop_assert!((1..things).all(|thing| sum(thing) == sum(0)));
            }
        }

        #[test]
        fn a_longer_list_begins_with_the_shorter_one(things in 0..8usize, count in 0..6u32, seed: u64) {
            let more = blocks(RunOrder::Randomized, things, count + 2, seed, "x");
            prop_assert_eq!(&more[..count as usize], blocks(RunOrder::Randomized, things, count, seed, "x"));
        }
    }
}
