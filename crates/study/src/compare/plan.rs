//! Who runs where and in which order: the places of both sides, and the blocks over them.

use crate::place::Place;
use plumb_sorted::short_list;
use plumb_stats::schedule::{Block, Side, blocked_order};
use plumb_stats::stop::StopRule;

/// One of the two.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSide {
    /// How it is called: the path as typed.
    pub name: String,
    /// Where it is; several where each is a provisioning of its own. At least one.
    pub plots: Vec<SidePlot>,
}

/// One provisioning of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct SidePlot {
    /// How it is called: the path as typed.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Which provisioning of a simulated device it is: plots of one number are one and the same. Real places are what they
    /// are, whatever their number.
    pub number: u32,
}

impl CompareSide {
    /// A side in one place.
    pub fn at(side: Side, name: &str, place: Place) -> CompareSide {
        CompareSide::over(side, name, vec![(name.to_owned(), place)])
    }

    /// A side in several places, each with its name. The plots of the two sides are never of one number.
    pub fn over(side: Side, name: &str, places: Vec<(String, Place)>) -> CompareSide {
        let number = |position: usize| 2 * position as u32 + side_index(side) as u32;
        let plot =
            |(position, (name, place)): (usize, (String, Place))| SidePlot { name, place, number: number(position) };
        CompareSide { name: name.to_owned(), plots: places.into_iter().enumerate().map(plot).collect() }
    }

    /// A place provisioned anew so many times, for a simulated device.
    pub fn provisioned(side: Side, name: &str, place: &Place, plots: u32) -> CompareSide {
        let one = |number: u32| match plots {
            0 | 1 => (name.to_owned(), place.clone()),
            _ => (format!("{name} #{}", number + 1), place.clone()),
        };
        CompareSide::over(side, name, (0..plots.max(1)).map(one).collect())
    }

    /// Where it is, in a form that does not depend on the working directory; several places with commas.
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

/// The number of a side in arrays: the baseline first.
pub(crate) const fn side_index(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

/// One run of each side, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedBlock {
    /// Which side runs first.
    pub(crate) block: Block,
    /// On which plot of each side, by [`side_index`].
    pub(crate) plots: [usize; 2],
}

/// The order of so many blocks. Plots come in pairs, one of each side, and every round visits each pair once, in an order
/// of its own; within a round, and from block to block, which side is first is balanced and random. So neither drift
/// nor the order of the plots can favour a side, and a comparison may end after any round with equally many runs on
/// every plot. With one place a side this is [`blocked_order`].
pub(crate) fn order(seed: u64, blocks: u32, plots: [usize; 2]) -> Vec<PlannedBlock> {
    let pairs = plots[0].max(plots[1]).max(1);
    let mut rounds = Vec::with_capacity(blocks as usize + pairs);
    while rounds.len() < blocks as usize {
        let round = (rounds.len() / pairs) as u64;
        let mut order: Vec<usize> = (0..pairs).collect();
        short_list::sort_by_key(&mut order, |&pair| mixed(seed ^ mixed(round << 32 | pair as u64)));
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

/// The stop rule in whole rounds, with at least two of them: one run cannot tell a plot from its runs.
pub(crate) fn in_rounds(rule: StopRule, plots: [usize; 2]) -> StopRule {
    let pairs = u32::try_from(plots[0].max(plots[1])).unwrap_or(u32::MAX).max(1);
    if pairs == 1 {
        return rule;
    }
    let blocks_min = rule.blocks_min.max(pairs.saturating_mul(2)).next_multiple_of(pairs);
    StopRule {
        blocks_min,
        step: rule.step.max(1).next_multiple_of(pairs),
        blocks_max: rule.blocks_max.max(blocks_min) / pairs * pairs,
        ..rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_sorted::SortedMap;

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
        let mut visits: SortedMap<usize, u32> = SortedMap::new();
        for one in order(1, 30, [2, 3]) {
            *visits.entry(one.plots[0]).or_default() += 1;
        }
        assert_eq!(visits.len(), 2);
    }

    #[test]
    fn the_stop_rule_counts_whole_rounds() {
        let rule = StopRule::default();
        assert_eq!(in_rounds(rule, [1, 1]), rule);
        for plots in [2usize, 3, 5, 7, 40] {
            let rounds = in_rounds(rule, [plots, 1]);
            let plots = plots as u32;
            assert!(rounds.blocks_min >= (2 * plots).max(rule.blocks_min), "{rounds:?}");
            for blocks in [rounds.blocks_min, rounds.step, rounds.blocks_max] {
                assert!(blocks > 0 && blocks.is_multiple_of(plots), "{plots}: {rounds:?}");
            }
            assert!(rounds.blocks_max >= rounds.blocks_min);
        }
    }

    /// Two provisionings of one simulated device differ; one and itself does not.
    #[test]
    fn the_plots_of_the_two_sides_have_numbers_of_their_own() {
        let place = Place::parse("sim:ssd").unwrap();
        let numbers = |side| -> Vec<u32> {
            CompareSide::provisioned(side, "x", &place, 3).plots.iter().map(|plot| plot.number).collect()
        };
        assert_eq!((numbers(Side::A), numbers(Side::B)), (vec![0, 2, 4], vec![1, 3, 5]));
    }
}
