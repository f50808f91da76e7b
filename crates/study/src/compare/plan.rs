//! The places of both sides, and the order of blocks over them.

use plumb_bench::Place;
use plumb_stats::schedule::{Block, COMPLETE_BLOCKS, Side, blocked_order};
use plumb_stats::stop::StopRule;

/// A side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSide {
    /// Its name: the path as typed.
    pub name: String,
    /// Its places; each of several is a plot of its own. At least one.
    pub plots: Vec<SidePlot>,
}

/// One plot of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct SidePlot {
    /// Its name: the path as typed.
    pub name: String,
    pub place: Place,
    /// The plot number of a simulated device: plots of one number are identical. Real places ignore it.
    pub number: u32,
}

impl CompareSide {
    /// Creates a side with one place.
    pub fn at(side: Side, name: &str, place: Place) -> CompareSide {
        CompareSide::over(side, name, vec![(name.to_owned(), place)])
    }

    /// Creates a side with several named places. Plots of the two sides never share a number.
    pub fn over(side: Side, name: &str, places: Vec<(String, Place)>) -> CompareSide {
        let number = |position: usize| 2 * position as u32 + side_index(side) as u32;
        let plot =
            |(position, (name, place)): (usize, (String, Place))| SidePlot { name, place, number: number(position) };
        CompareSide { name: name.to_owned(), plots: places.into_iter().enumerate().map(plot).collect() }
    }

    /// Creates a side that provisions a simulated device `plots` times.
    pub fn provisioned(side: Side, name: &str, place: &Place, plots: u32) -> CompareSide {
        let one = |number: u32| match plots {
            0 | 1 => (name.to_owned(), place.clone()),
            _ => (format!("{name} #{}", number + 1), place.clone()),
        };
        CompareSide::over(side, name, (0..plots.max(1)).map(one).collect())
    }

    /// Returns its places in a form that does not depend on the working directory; several are separated by commas.
    pub(crate) fn key(&self) -> String {
        let key = |plot: &SidePlot| match &plot.place {
            Place::Directory(path) => {
                std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()).display().to_string()
            }
            Place::Sim(device) => device.to_string(),
        };
        self.plots.iter().map(key).collect::<Vec<_>>().join(",")
    }
}

/// Returns the index of a side in arrays: the baseline first.
pub(crate) const fn side_index(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

/// One run of each side for every work, with their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedBlock {
    /// The side that runs first; with several works, for the first of them, see [`pairs`].
    pub(crate) block: Block,
    /// Plot of each side, by [`side_index`].
    pub(crate) plots: [usize; 2],
}

/// Returns the order of `blocks` blocks. Plots come in pairs, one of each side, and every round visits each
/// pair once, in a random order. Within a round, and from block to block, the sides alternate in running first.
/// So neither drift, nor the order of the plots, nor the debt of a run to the next one favours a side. A
/// comparison may end after any number of [`complete`] blocks with equally many runs on every plot. With one
/// place a side this is [`blocked_order`].
pub(crate) fn order(seed: u64, blocks: u32, plots: [usize; 2]) -> Vec<PlannedBlock> {
    let pairs = plots[0].max(plots[1]).max(1);
    let mut rounds = Vec::with_capacity(blocks as usize + pairs);
    while rounds.len() < blocks as usize {
        let round = (rounds.len() / pairs) as u64;
        let mut order: Vec<usize> = (0..pairs).collect();
        order.sort_by_key(|&pair| mixed(seed ^ mixed(round << 32 | pair as u64)));
        rounds.extend(order);
    }
    let planned = |(block, pair): (Block, usize)| PlannedBlock { block, plots: plots.map(|plots| pair % plots.max(1)) };
    blocked_order(seed, blocks).into_iter().zip(rounds).map(planned).collect()
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014):
/// equal seeds give equal orders.
const fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Returns the pairs of runs of a block in run order: the index of their work in the list, and the side that runs
/// first. Over all pairs of a comparison the sides alternate in running first, so that each side follows itself and
/// the other one equally often. An even number of works runs in reverse order in every second block: otherwise a work
/// would have the same side first in all of them.
pub(crate) fn pairs(block: Block, number: u32, works: usize) -> Vec<(usize, Block)> {
    let first = |work: usize| if work.is_multiple_of(2) { block } else { block.swapped() };
    let mut pairs: Vec<(usize, Block)> = (0..works).map(|work| (work, first(work))).collect();
    if works.is_multiple_of(2) && number % 2 == 1 {
        pairs.reverse();
    }
    pairs
}

/// Returns the number of blocks after which all plots and sides have had a turn: a comparison ends
/// after a multiple of it.
pub(crate) fn complete(plots: [usize; 2]) -> u32 {
    let rounds = u32::try_from(plots[0].max(plots[1])).unwrap_or(u32::MAX / 2).max(1);
    if rounds.is_multiple_of(COMPLETE_BLOCKS) { rounds } else { rounds * COMPLETE_BLOCKS }
}

/// Rounds the stop rule up to complete blocks. Several plots are visited at least twice each: one run cannot separate
/// a plot from its runs.
pub(crate) fn in_complete_blocks(rule: StopRule, plots: [usize; 2]) -> StopRule {
    let complete = complete(plots);
    let blocks_min = rule.blocks_min.max(1).next_multiple_of(complete);
    let visited_twice = if plots.iter().any(|&plots| plots > 1) { 2 * plots[0].max(plots[1]) as u32 } else { 0 };
    let blocks_min = blocks_min.max(visited_twice);
    StopRule {
        blocks_min,
        step: rule.step.max(1).next_multiple_of(complete),
        blocks_max: rule.blocks_max.max(blocks_min) / complete * complete,
        ..rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn one_place_a_side_keeps_the_order_of_blocks() {
        let blocks: Vec<Block> = order(7, 12, [1, 1]).into_iter().map(|one| one.block).collect();
        assert_eq!(blocks, blocked_order(7, 12));
        assert!(order(7, 12, [1, 1]).iter().all(|one| one.plots == [0, 0]));
    }

    #[test]
    fn every_round_visits_every_plot_once_in_an_order_of_its_own() {
        for seed in 0..20 {
            let order = order(seed, 30, [3, 3]);
            for round in order.chunks_exact(3) {
                let mut visited: Vec<usize> = round.iter().map(|one| one.plots[0]).collect();
                visited.sort_unstable();
                assert_eq!(visited, [0, 1, 2]);
                assert!(round.iter().all(|one| one.plots[0] == one.plots[1]), "plots come in pairs");
            }
            let rounds: Vec<Vec<usize>> =
                order.chunks_exact(3).map(|round| round.iter().map(|one| one.plots[0]).collect()).collect();
            assert!(rounds.iter().any(|round| round != &rounds[0]), "{rounds:?}");
        }
    }

    #[test]
    fn uneven_sides_share_their_plots_as_evenly_as_can_be() {
        let mut visits: BTreeMap<usize, u32> = BTreeMap::new();
        for one in order(1, 30, [2, 3]) {
            *visits.entry(one.plots[0]).or_default() += 1;
        }
        assert_eq!(visits.len(), 2);
    }

    #[test]
    fn the_stop_rule_counts_complete_blocks() {
        let rule = StopRule::default();
        assert_eq!(in_complete_blocks(rule, [1, 1]), rule);
        let odd = StopRule { blocks_min: 7, blocks_max: 7, step: 1, ..rule };
        let even = in_complete_blocks(odd, [1, 1]);
        assert_eq!((even.blocks_min, even.blocks_max, even.step), (8, 8, 2));
        for plots in [2usize, 3, 5, 7, 40] {
            let rounds = in_complete_blocks(rule, [plots, 1]);
            let plots = plots as u32;
            assert!(rounds.blocks_min >= (2 * plots).max(rule.blocks_min), "{rounds:?}");
            for blocks in [rounds.blocks_min, rounds.step, rounds.blocks_max] {
                assert!(blocks > 0 && blocks.is_multiple_of(plots) && blocks.is_multiple_of(2), "{plots}: {rounds:?}");
            }
            assert!(rounds.blocks_max >= rounds.blocks_min);
        }
    }

    /// Returns the side of every run of each work, with the side of the run before it.
    fn followed(works: usize, blocks: u32) -> Vec<Vec<(Option<Side>, Side)>> {
        let mut of_works = vec![Vec::new(); works];
        let mut previous = None;
        for (number, one) in order(3, blocks, [1, 1]).into_iter().enumerate() {
            for (work, pair) in pairs(one.block, number as u32, works) {
                for side in pair.sides() {
                    of_works[work].push((previous, side));
                    previous = Some(side);
                }
            }
        }
        of_works
    }

    /// For any number of works, each side of each of them runs first, and runs after both sides, equally often.
    #[test]
    fn every_work_is_balanced_for_what_runs_before_it() {
        for works in 1..6 {
            for runs in followed(works, 6) {
                for side in [Side::A, Side::B] {
                    for before in [Side::A, Side::B] {
                        let count = runs.iter().filter(|run| **run == (Some(before), side)).count();
                        let is_led_to_first = runs[0] == (None, side) && before == side;
                        assert_eq!(count + usize::from(is_led_to_first), 3, "{works} works: {runs:?}");
                    }
                    let first = runs.chunks_exact(2).filter(|pair| pair[0].1 == side).count();
                    assert_eq!(first, 3, "{works} works: {runs:?}");
                }
            }
        }
    }

    /// Two plots of one simulated device differ; a plot is identical to itself.
    #[test]
    fn the_plots_of_the_two_sides_have_numbers_of_their_own() {
        let place = Place::parse("sim:ssd").unwrap();
        let numbers = |side| -> Vec<u32> {
            CompareSide::provisioned(side, "x", &place, 3).plots.iter().map(|plot| plot.number).collect()
        };
        assert_eq!((numbers(Side::A), numbers(Side::B)), (vec![0, 2, 4], vec![1, 3, 5]));
    }
}
