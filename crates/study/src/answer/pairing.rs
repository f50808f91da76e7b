//! What is held against what: the values of two levels of a factor, by their units.

use super::values::{CountedValue, WorkNumber};
use crate::plan::Levels;
use crate::plan::power::PlannedUnit;
use plumb_stats::verdict::Sides;
use std::collections::BTreeMap;

/// The values of both sides, by the levels of all other factors.
pub(super) type ByOthers = BTreeMap<Levels, [Vec<f64>; 2]>;

/// What is held against what, in one number of one context.
pub(super) struct Pairing {
    pub(super) number: WorkNumber,
    pub(super) within: Levels,
    pub(super) candidate: String,
    /// What `groups` holds.
    pub(super) unit: PlannedUnit,
    /// Of each side: one entry a plot (or one for all, where a pair is the unit), and in it one value a run or a pair. Only what
    /// both sides have.
    pub(super) groups: [Vec<Vec<f64>>; 2],
    /// Runs that count and lack this number, though their likes have it.
    pub(super) lacking: u32,
    /// Steps in which the values come; 0 of what is measured and not counted.
    pub(super) granularity: f64,
    /// Every value, also of units that have one side only.
    pub(super) all: [Vec<CountedValue>; 2],
    /// What is counted, and cannot or need not be judged by its spread.
    pub(super) exact: Option<Exact>,
}

impl Pairing {
    /// As the statistics want it.
    pub(super) fn sides(&self) -> Sides<'_> {
        let [baseline, candidate] = &self.groups;
        match self.unit {
            PlannedUnit::Plot => Sides::Plots { baseline, candidate },
            PlannedUnit::PairsOnPlot => Sides::PairsOnPlots { baseline, candidate },
            PlannedUnit::Pair => {
                let [baseline, candidate] =
                    [baseline, candidate].map(|groups| groups.first().map_or(&[][..], Vec::as_slice));
                Sides::Blocks { baseline, candidate }
            }
        }
    }
}

/// What counts say without statistics.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Exact {
    /// Every run of a side counted the same as its likes on all other plots.
    Same {
        /// Sums over the levels of the other factors: of the baseline, of the candidate.
        sums: [f64; 2],
        /// Candidate / baseline; `None` where one of them is 0.
        ratio: Option<f64>,
        /// Plots a side, or pairs of runs.
        units: u32,
    },
    /// Every run of a side counted the same, in fewer units than show that this is no chance.
    TooFew {
        /// Plots a side, or pairs of runs.
        units: u32,
        /// How many it takes.
        needed: u32,
        /// Whether both sides counted the same.
        are_equal: bool,
    },
    /// They vary, and some are 0: there is no ratio.
    Zeros {
        /// Plots a side, or pairs of runs.
        units: u32,
    },
}
