//! The order of runs of two sides.
//!
//! Running all of A and then all of B takes drift for a difference: at 0.5 % a run and six runs a side, in
//! 56 % of comparisons. Plain alternation still leaks. Blocks of one A and one B, in balanced order and
//! analysed as pairs, do not.

use crate::orders::balanced_orders;
use std::ops::Range;

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The baseline.
    A,
    /// The candidate.
    B,
}

/// One run of each side, next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
pub enum Block {
    /// The baseline first.
    AB,
    /// The candidate first.
    BA,
}

impl Block {
    /// Returns the sides in run order.
    pub const fn sides(self) -> [Side; 2] {
        match self {
            Block::AB => [Side::A, Side::B],
            Block::BA => [Side::B, Side::A],
        }
    }

    /// Returns the printed name, `AB` or `BA`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the same sides in the other order.
    pub const fn swapped(self) -> Block {
        match self {
            Block::AB => Block::BA,
            Block::BA => Block::AB,
        }
    }
}

/// Number of blocks after which each side has followed itself and the other one equally often: AA, AB, BA and BB.
pub const COMPLETE_BLOCKS: u32 = 2;

/// Returns the order of blocks: `AB` and `BA` in turn, so that linear drift and the debt that a run leaves to the
/// next one cancel after every [`COMPLETE_BLOCKS`]. The first of them is random. In random order of each two blocks,
/// A would run after B more often than after itself. A longer schedule of the same seed begins with the shorter one.
pub fn blocked_order(seed: u64, blocks: u32) -> Vec<Block> {
    let is_a_first = |order: Vec<usize>| if order[0] == 0 { Block::AB } else { Block::BA };
    balanced_orders(seed, 2, blocks as usize).into_iter().map(is_a_first).collect()
}

/// Arrangement in time of two sides' runs, if their order was not planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interleaving {
    /// At least four of five runs belong to a pair of neighbours, one of each side: such pairs are blocks. Holds
    /// positions in the sequence, the baseline's first.
    Pairs(Vec<[usize; 2]>),
    /// Each side has two or more stretches of runs, in turn. A stretch is one sample, since changes over time affect
    /// all of its runs alike. In order; all runs of a range are of one side.
    Stretches(Vec<Range<usize>>),
    /// All runs of a side are one stretch: changes over time cannot be separated from the difference of the sides.
    Apart,
}

/// Classifies a sequence of runs, in the order in which they happened.
pub fn interleaving(sides: &[Side]) -> Interleaving {
    let mut pairs = Vec::new();
    let mut next = 0;
    while next + 1 < sides.len() {
        let [first, second] = [sides[next], sides[next + 1]];
        if first == second {
            next += 1;
            continue;
        }
        pairs.push(if first == Side::A { [next, next + 1] } else { [next + 1, next] });
        next += 2;
    }
    let unpaired = sides.len() - 2 * pairs.len();
    if !pairs.is_empty() && unpaired * 5 <= sides.len() {
        return Interleaving::Pairs(pairs);
    }
    let stretches = stretches(sides);
    let of = |side: Side| stretches.iter().filter(|stretch| sides[stretch.start] == side).count();
    if of(Side::A).min(of(Side::B)) > 1 { Interleaving::Stretches(stretches) } else { Interleaving::Apart }
}

/// Returns the maximal ranges of runs of one side.
pub fn stretches(sides: &[Side]) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for (position, side) in sides.iter().enumerate() {
        match all.last_mut().filter(|stretch| sides[stretch.start] == *side) {
            Some(stretch) => stretch.end = position + 1,
            None => all.push(position..position + 1),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn either_side_may_be_first() {
        let firsts: Vec<Block> = (0..20).map(|seed| blocked_order(seed, 1)[0]).collect();
        assert!(firsts.contains(&Block::AB) && firsts.contains(&Block::BA));
    }

    #[test]
    fn a_seed_always_gives_the_same_order() {
        let names: Vec<&str> = blocked_order(42, 6).into_iter().map(Block::name).collect();
        assert_eq!(names, ["AB", "BA", "AB", "BA", "AB", "BA"]);
    }

    fn sides(text: &str) -> Vec<Side> {
        text.chars().map(|c| if c == 'A' { Side::A } else { Side::B }).collect()
    }

    // Protects: all of A and then all of B must never pass for a comparison in blocks.
    #[test]
    fn runs_in_any_order_are_pairs_or_stretches_or_apart() {
        for text in ["AB", "ABBA", "ABABABAB", "ABBABAABA", "ABBAABBAABBA"] {
            let Interleaving::Pairs(pairs) = interleaving(&sides(text)) else { panic!("{text}") };
            assert_eq!(pairs.len(), text.len() / 2, "{text}");
            let sides = sides(text);
            assert!(pairs.iter().all(|[a, b]| sides[*a] == Side::A && sides[*b] == Side::B && a.abs_diff(*b) == 1));
        }
        for (text, count) in [("AABBAABB", 4), ("AAABAAABAAB", 6), ("BBBAAABBBA", 4), ("AAAABBBBABBB", 4)] {
            let Interleaving::Stretches(stretches) = interleaving(&sides(text)) else { panic!("{text}") };
            assert_eq!(stretches.len(), count, "{text}");
        }
        for text in ["", "A", "AAAABBBB", "AABB", "ABA", "AAABBBBAAA", "AAAB"] {
            assert_eq!(interleaving(&sides(text)), Interleaving::Apart, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_second_block_the_sides_are_even(seed: u64, blocks in 0..40u32) {
            let order = blocked_order(seed, blocks);
            prop_assert_eq!(order.len(), blocks as usize);
            for pair in order.chunks_exact(2) {
                prop_assert_ne!(pair[0], pair[1]);
            }
        }

        /// In complete blocks, the pairs AA, AB, BA and BB are equally frequent, except for the
        /// one into the first run.
        #[test]
        fn a_side_follows_itself_and_the_other_equally_often(seed: u64, complete in 1..20u32) {
            let order = blocked_order(seed, complete * COMPLETE_BLOCKS);
            let runs: Vec<Side> = order.iter().flat_map(|block| block.sides()).collect();
            for previous in [Side::A, Side::B] {
                for next in [Side::A, Side::B] {
                    let count = runs.windows(2).filter(|pair| **pair == [previous, next]).count() as u32;
                    let leads_to_first = previous == runs[0] && next == runs[0];
                    prop_assert_eq!(count + u32::from(leads_to_first), complete);
                }
            }
        }

        #[test]
        fn a_longer_schedule_begins_with_the_shorter_one(seed: u64, blocks in 0..40u32, more in 0..10u32) {
            let longer = blocked_order(seed, blocks + more);
            prop_assert_eq!(&longer[..blocks as usize], blocked_order(seed, blocks));
        }
    }
}
