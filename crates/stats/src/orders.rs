//! Orders of several things that are balanced for first-order carry-over.
//!
//! A run may be slower because of the run before it. In a Williams design every thing follows every other thing
//! equally often, so that such a debt favours none of them. Source: E. J. Williams, "Experimental designs balanced
//! for the estimation of residual effects of treatments", Australian Journal of Scientific Research A 2, 1949: one
//! Latin square for an even number of things, two for an odd one.
//!
//! Williams' rows belong to different subjects. Here all rows follow each other on one machine, so the order of rows
//! counts too. Where possible, a row begins with the thing that the row before it ended with. With two things that is
//! ABBA ABBA or BAAB BAAB, in which AA, AB, BA and BB are equally frequent.

use crate::random::SplitMix;

/// Returns the number of orders in a complete block, in which every thing follows every other one equally often.
pub const fn orders_in_complete_block(things: usize) -> usize {
    match things {
        0 | 1 => 1,
        even if even.is_multiple_of(2) => even,
        odd => 2 * odd,
    }
}

/// Returns `orders` orders, each with the numbers from 0 to `things` once. Things get random positions in the
/// design, drawn again for every complete block of more than two things. A longer list of the same seed
/// begins with the shorter one.
pub fn balanced_orders(seed: u64, things: usize, orders: usize) -> Vec<Vec<usize>> {
    if things == 0 {
        return vec![Vec::new(); orders];
    }
    let mut stream = SplitMix::new(seed);
    let mut found: Vec<Vec<usize>> = Vec::with_capacity(orders);
    while found.len() < orders {
        let ended_with = found.last().and_then(|order| order.last()).copied();
        let names = names(&mut stream, things, ended_with);
        let rows = if things.is_multiple_of(2) { even_square(&mut stream, things) } else { odd_squares(things) };
        found.extend(rows.into_iter().map(|row| row.into_iter().map(|place| names[place]).collect()));
    }
    found.truncate(orders);
    found
}

/// Returns a random thing for each position of the design; that of position 0 is `first`, if given.
fn names(stream: &mut SplitMix, things: usize, first: Option<usize>) -> Vec<usize> {
    let mut names: Vec<usize> = (0..things).collect();
    for last in (1..things).rev() {
        names.swap(last, stream.below(last + 1));
    }
    if let Some(at) = first.and_then(|first| names.iter().position(|&name| name == first)) {
        names.swap(0, at);
    }
    names
}

/// Returns Williams' first row from `start`: `start`, then alternately one more and one less, modulo the
/// number of things. The differences of neighbours are all different, so that the rows from all starts
/// contain each ordered pair once.
fn row(things: usize, start: usize) -> Vec<usize> {
    (0..things)
        .map(|place| {
            let distance = place.div_ceil(2);
            let step = if place % 2 == 1 { distance } else { things - distance };
            (start + step) % things
        })
        .collect()
}

/// Returns the square of an even number of things. A row and the one that starts half of the things further are each
/// other's reverse. Put one after the other, the second begins where the first ended, and linear drift cancels.
fn even_square(stream: &mut SplitMix, things: usize) -> Vec<Vec<usize>> {
    let half = things / 2;
    let mut starts: Vec<usize> = (0..half).collect();
    // The first pair stays first: it begins with the thing that the last block ended with.
    for last in (2..half).rev() {
        starts.swap(last, 1 + stream.below(last));
    }
    starts.iter().flat_map(|&start| [row(things, start), row(things, (start + half) % things)]).collect()
}

/// Returns both squares of an odd number of things, the second with all rows reversed. A row from `start` ends half
/// of the things further, so that all rows of a square can be joined end to end, and lead back to their start.
fn odd_squares(things: usize) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::with_capacity(2 * things);
    let mut start = 0;
    for _ in 0..things {
        let row = row(things, start);
        start = row[things - 1];
        rows.push(row);
    }
    let reversed: Vec<Vec<usize>> = rows.iter().rev().map(|row| row.iter().rev().copied().collect()).collect();
    rows.extend(reversed);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts how often each thing follows each other one, by `previous * things + next`;
    /// `within` counts only inside orders.
    fn pairs(things: usize, orders: &[Vec<usize>], within: bool) -> Vec<u32> {
        let mut counts = vec![0; things * things];
        let all = orders.concat();
        for (at, pair) in all.windows(2).enumerate() {
            if !within || (at + 1) % things != 0 {
                counts[pair[0] * things + pair[1]] += 1;
            }
        }
        counts
    }

    #[test]
    fn two_things_alternate_in_pairs() {
        let text = |seed: u64| -> String {
            balanced_orders(seed, 2, 6).concat().iter().map(|&thing| if thing == 0 { 'A' } else { 'B' }).collect()
        };
        let all: Vec<String> = (0..40).map(text).collect();
        assert!(all.iter().all(|one| one == "ABBAABBAABBA" || one == "BAABBAABBAAB"), "{all:?}");
        assert!(all.iter().any(|one| one.starts_with('A')) && all.iter().any(|one| one.starts_with('B')));
    }

    #[test]
    fn a_seed_always_gives_the_same_orders() {
        assert_eq!(balanced_orders(42, 3, 2).concat(), [1, 0, 2, 2, 1, 0]);
        assert_eq!(balanced_orders(42, 4, 2).concat(), [1, 3, 2, 0, 0, 2, 3, 1]);
    }

    #[test]
    fn zero_and_one_thing_have_orders() {
        assert_eq!(balanced_orders(1, 0, 2), [vec![], Vec::<usize>::new()]);
        assert_eq!(balanced_orders(1, 1, 3), [[0], [0], [0]]);
    }

    #[test]
    fn names_and_pairs_of_rows_differ_between_seeds() {
        let first: Vec<Vec<usize>> = (0..200).map(|seed| balanced_orders(seed, 6, 1).concat()).collect();
        for place in 0..6 {
            for thing in 0..6 {
                let count = first.iter().filter(|order| order[place] == thing).count();
                assert!((15..=60).contains(&count), "thing {thing} has place {place} in {count} of 200");
            }
        }
    }

    proptest! {
        #[test]
        fn each_order_has_each_thing_once(seed: u64, things in 0..14usize, orders in 0..40usize) {
            let found = balanced_orders(seed, things, orders);
            prop_assert_eq!(found.len(), orders);
            for mut order in found {
                order.sort_unstable();
                prop_assert_eq!(order, (0..things).collect::<Vec<_>>());
            }
        }

        /// Within the orders of a complete block, every ordered pair of different things is equally frequent.
        #[test]
        fn every_ordered_pair_is_equally_frequent_in_complete_blocks(seed: u64, things in 2..14usize, blocks in 1..4usize) {
            let rows = orders_in_complete_block(things) * blocks;
            let counts = pairs(things, &balanced_orders(seed, things, rows), true);
            let expected = rows as u32 / things as u32;
            for previous in 0..things {
                for next in 0..things {
                    let count = counts[previous * things + next];
                    prop_assert_eq!(count, if previous == next { 0 } else { expected });
                }
            }
        }

        /// Across the ends of orders too, for two things and for odd numbers: all pairs, including those of a thing
        /// with itself, except the one that would lead to the very first run.
        #[test]
        fn across_the_ends_of_orders_pairs_are_equally_frequent(seed: u64, odd in 0..6usize, blocks in 1..4usize) {
            let things = if odd == 0 { 2 } else { 2 * odd + 1 };
            let rows = orders_in_complete_block(things) * blocks;
            let orders = balanced_orders(seed, things, rows);
            let mut counts = pairs(things, &orders, false);
            let first = orders[0][0];
            counts[first * things + first] += 1;
            let expected = (rows / things) as u32;
            prop_assert!(counts.iter().all(|&count| count == expected), "{:?}", counts);
        }

        /// The sum of positions of each thing is the same over a complete block, so that linear drift favours none.
        #[test]
        fn drift_cancels_over_a_complete_block(seed: u64, things in 1..14usize) {
            let rows = orders_in_complete_block(things);
            let all = balanced_orders(seed, things, rows).concat();
            let sum = |thing: usize| -> usize { (0..all.len()).filter(|&place| all[place] == thing).sum() };
            prop_assert!((1..things).all(|thing| sum(thing) == sum(0)));
        }

        /// With an even number of things, drift cancels over every two orders.
        #[test]
        fn even_numbers_cancel_drift_over_two_orders(seed: u64, half in 1..7usize, pairs in 1..12usize) {
            for two in balanced_orders(seed, 2 * half, 2 * pairs).chunks_exact(2) {
                let reversed: Vec<usize> = two[1].iter().rev().copied().collect();
                prop_assert_eq!(&two[0], &reversed);
            }
        }

        #[test]
        fn a_longer_list_begins_with_the_shorter_one(seed: u64, things in 0..12usize, orders in 0..30usize, more in 0..30usize) {
            let longer = balanced_orders(seed, things, orders + more);
            prop_assert_eq!(&longer[..orders], balanced_orders(seed, things, orders));
        }
    }
}
