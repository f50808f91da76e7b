//! Arranges stored runs as samples, by their times. Neighbours of two sides are pairs, and stretches of one side are
//! one sample each. Runs of one side after those of the other are compared without pairs. Pure.

use crate::compare::claims::Sample;
use crate::compare::plan::side_index;
use plumb_result::compare::{Replicate, StoredOrder};
use plumb_stats::schedule::{Interleaving, Side, interleaving, stretches};
use std::collections::BTreeMap;

/// An accepted run of one work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimedRun {
    pub(super) side: Side,
    /// Start time in ns since the epoch.
    pub(super) at: i64,
    /// The plot that it ran on.
    pub(super) plot: String,
}

/// Position of a run among the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SamplePlace {
    pub(super) block: u32,
    pub(super) plot: u32,
}

/// The samples of a work's runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arranged {
    pub(super) order: StoredOrder,
    pub(super) sample: Sample,
    /// The sampling unit.
    pub(super) unit: Replicate,
    /// Whether samples of both sides are pairs in their order; then one without a counterpart does not count.
    pub(super) paired: bool,
    /// By run, in the given order; `None` for a run without a neighbour on the other side.
    pub(super) places: Vec<Option<SamplePlace>>,
    /// The order in letters: one text for each block or stretch.
    pub(super) letters: Vec<String>,
    /// The number of pairs whose baseline came first, and of all pairs; `None` if runs are not paired.
    pub(super) baseline_first: Option<(u32, u32)>,
}

/// A run, or all runs of a plot if a side has several plots.
struct Unit {
    side: Side,
    runs: Vec<usize>,
}

/// Whether the times of runs are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// All times are known.
    Known,
    /// Some times are unknown, so apparent neighbours may not have been neighbours.
    Unknown,
}

/// Arranges runs that are in time order.
pub(super) fn arrange(runs: &[TimedRun], times: Times) -> Arranged {
    let has_plots = [Side::A, Side::B].into_iter().any(|side| {
        let mut plots = runs.iter().filter(|run| run.side == side).map(|run| &run.plot);
        plots.next().is_some_and(|first| plots.any(|plot| plot != first))
    });
    let units = units(runs, has_plots);
    let sides: Vec<Side> = units.iter().map(|unit| unit.side).collect();
    let mut arranged = Arranged {
        order: StoredOrder::Apart,
        sample: Sample::Apart,
        unit: if has_plots { Replicate::Plot } else { Replicate::Run },
        paired: false,
        places: vec![None; runs.len()],
        letters: Vec::new(),
        baseline_first: None,
    };
    let of_runs: Vec<Side> = runs.iter().map(|run| run.side).collect();
    arranged.letters = stretches(&of_runs).iter().map(|stretch| letters(&of_runs[stretch.clone()])).collect();
    let found = match times {
        Times::Known => interleaving(&sides),
        Times::Unknown => Interleaving::Apart,
    };
    match found {
        Interleaving::Pairs(pairs) => {
            for (number, pair) in (0..).zip(&pairs) {
                for unit in pair.map(|position| &units[position]) {
                    arranged.place(unit, SamplePlace { block: number, plot: if has_plots { number } else { 0 } });
                }
            }
            let first = pairs.iter().filter(|[baseline, candidate]| baseline < candidate).count();
            arranged.baseline_first = Some((first as u32, pairs.len() as u32));
            (arranged.order, arranged.paired) = (StoredOrder::Pairs, true);
            if !has_plots {
                (arranged.sample, arranged.unit) = (Sample::Blocks, Replicate::Block);
                arranged.letters = pairs.iter().map(|pair| letters_of_pair(*pair)).collect();
            } else {
                arranged.sample = Sample::Plots;
            }
        }
        Interleaving::Stretches(ranges) => {
            let mut counts = [0u32; 2];
            for range in &ranges {
                let count = &mut counts[side_index(sides[range.start])];
                for unit in &units[range.clone()] {
                    arranged.place(unit, SamplePlace { block: *count, plot: *count });
                }
                *count += 1;
            }
            (arranged.order, arranged.sample) = (StoredOrder::Stretches, Sample::Plots);
            (arranged.unit, arranged.paired) = (Replicate::Stretch, counts[0] == counts[1]);
        }
        Interleaving::Apart => {
            for (number, unit) in (0..).zip(&units) {
                arranged.place(unit, SamplePlace { block: number, plot: number });
            }
        }
    }
    arranged
}

impl Arranged {
    fn place(&mut self, unit: &Unit, place: SamplePlace) {
        for &run in &unit.runs {
            self.places[run] = Some(place);
        }
    }
}

/// Groups runs one by one, or by plot in the order of the plots' first runs.
fn units(runs: &[TimedRun], by_plot: bool) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut known: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        let of_plot = known.get(&(side_index(run.side), run.plot.as_str())).copied().filter(|_| by_plot);
        match of_plot {
            Some(unit) => units[unit].runs.push(number),
            None => {
                known.insert((side_index(run.side), &run.plot), units.len());
                units.push(Unit { side: run.side, runs: vec![number] });
            }
        }
    }
    units
}

fn letters(sides: &[Side]) -> String {
    sides.iter().map(|side| if *side == Side::A { 'A' } else { 'B' }).collect()
}

fn letters_of_pair([baseline, candidate]: [usize; 2]) -> String {
    letters(&if baseline < candidate { [Side::A, Side::B] } else { [Side::B, Side::A] })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses runs in this order, each on the plot of its digit: `A0 B0 A1`.
    fn runs(text: &str) -> Vec<TimedRun> {
        let run = |(at, word): (usize, &str)| TimedRun {
            side: if word.starts_with('A') { Side::A } else { Side::B },
            at: at as i64,
            plot: word[1..].to_owned(),
        };
        text.split(' ').enumerate().map(run).collect()
    }

    fn arranged(text: &str) -> Arranged {
        arrange(&runs(text), Times::Known)
    }

    // Protects: alternating files are not alternating runs.
    #[test]
    fn without_times_there_are_no_pairs() {
        let found = arrange(&runs("A B A B A B A B"), Times::Unknown);
        assert_eq!((found.order, found.sample, found.paired), (StoredOrder::Apart, Sample::Apart, false));
    }

    fn plots(arranged: &Arranged) -> Vec<Option<u32>> {
        arranged.places.iter().map(|place| place.map(|place| place.plot)).collect()
    }

    #[test]
    fn neighbours_of_two_sides_are_blocks() {
        let found = arranged("A B B A A B B A A B A");
        assert_eq!((found.order, found.sample, found.unit), (StoredOrder::Pairs, Sample::Blocks, Replicate::Block));
        assert_eq!(found.letters, ["AB", "BA", "AB", "BA", "AB"]);
        let blocks: Vec<Option<u32>> = found.places.iter().map(|place| place.map(|place| place.block)).collect();
        assert_eq!(blocks[..4], [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(blocks[10], None, "the last has no neighbour");
        assert_eq!(found.baseline_first, Some((3, 5)));
    }

    #[test]
    fn a_stretch_is_one_sample() {
        let found = arranged("A A B B A A B B");
        // Neighbours at the ends of stretches are pairs, if that leaves few runs out.
        assert_eq!(arranged("A A B B A A B B A A B B").order, StoredOrder::Pairs);
        assert_eq!(
            (found.order, found.sample, found.unit),
            (StoredOrder::Stretches, Sample::Plots, Replicate::Stretch)
        );
        assert_eq!(plots(&found), [0, 0, 0, 0, 1, 1, 1, 1].map(Some));
        assert!(found.paired && found.letters == ["AA", "BB", "AA", "BB"]);
        assert!(!arranged("A A A B B B A A A B B B A A A").paired, "three stretches and two are not pairs");
    }

    // Protects: runs in a row are many samples of one time, but one sample of changes over time.
    #[test]
    fn one_side_after_the_other_has_no_pairs() {
        let found = arranged("A A A A B B B B");
        assert_eq!((found.order, found.sample, found.unit), (StoredOrder::Apart, Sample::Apart, Replicate::Run));
        assert_eq!((found.paired, found.letters), (false, vec!["AAAA".to_owned(), "BBBB".to_owned()]));
    }

    /// Ten runs on one mkfs are one sample of mkfs, stored or not.
    #[test]
    fn several_provisionings_of_a_side_are_the_samples() {
        let found = arranged("A0 A0 B1 B1 B2 B2 A3 A3");
        assert_eq!((found.order, found.sample, found.unit), (StoredOrder::Pairs, Sample::Plots, Replicate::Plot));
        assert_eq!(plots(&found), [0, 0, 0, 0, 1, 1, 1, 1].map(Some));
        assert_eq!(found.letters, ["AA", "BBBB", "AA"]);
        let apart = arranged("A0 A0 A1 A1 B2 B2 B3 B3");
        assert_eq!((apart.order, apart.unit, apart.sample), (StoredOrder::Apart, Replicate::Plot, Sample::Apart));
        assert_eq!(plots(&apart), [0, 0, 1, 1, 2, 2, 3, 3].map(Some));
    }
}
