//! Pairs the values of two levels of a factor, by their units.

use super::values::{CountedValue, WorkNumber};
use crate::plan::Levels;
use crate::plan::power::PlannedUnit;
use plumb_stats::verdict::Sides;
use std::collections::BTreeMap;

/// The values of both sides, by the levels of all other factors.
pub(super) type ByOthers = BTreeMap<Levels, [Vec<f64>; 2]>;

/// The values to compare, for one number in one context.
pub(super) struct Pairing {
    pub(super) number: WorkNumber,
    pub(super) within: Levels,
    pub(super) candidate: String,
    /// The unit in `groups`.
    pub(super) unit: PlannedUnit,
    /// For each side, one entry per plot (or a single one if a pair is the unit), with one value per run or pair.
    /// Only values that both sides have.
    pub(super) groups: [Vec<Vec<f64>>; 2],
    /// Number of accepted runs without this number, although similar runs have it.
    pub(super) lacking: u32,
    /// Step of the values; 0 if they are measured, not counted.
    pub(super) granularity: f64,
    /// Every value, also of units that have only one side.
    pub(super) all: [Vec<CountedValue>; 2],
    /// Set for counts that cannot or need not be judged by their spread.
    pub(super) exact: Option<Exact>,
}

impl Pairing {
    /// Converts the values to the input of the statistics.
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

/// A result of counts without statistics.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Exact {
    /// Every run of a side counted the same as similar runs on all other plots.
    Same {
        /// Sums over the levels of the other factors: of the baseline, of the candidate.
        sums: [f64; 2],
        /// Candidate / baseline; `None` if one of them is 0.
        ratio: Option<f64>,
        /// Plots a side, or pairs of runs.
        units: u32,
    },
    /// Every run of a side counted the same, but in too few units to rule out chance.
    TooFew {
        /// Plots a side, or pairs of runs.
        units: u32,
        /// Number of units that it takes.
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
