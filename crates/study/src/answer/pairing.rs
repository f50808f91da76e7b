//! What is held against what: the values of two levels of a factor, by their units.

use super::values::{CountedValue, WorkNumber};
use crate::plan::Levels;
use std::collections::BTreeMap;

/// The values of both sides, by the levels of all other factors.
pub(super) type ByOthers = BTreeMap<Levels, [Vec<f64>; 2]>;

/// What is held against what, in one number of one context.
pub(super) struct Pairing {
    pub(super) number: WorkNumber,
    pub(super) within: Levels,
    pub(super) candidate: String,
    /// One entry a plot, or a pair of runs; those that have both sides.
    pub(super) units: [Vec<Vec<f64>>; 2],
    /// Every value, also of units that have one side only.
    pub(super) all: [Vec<CountedValue>; 2],
    /// What is counted, and cannot or need not be judged by its spread.
    pub(super) exact: Option<Exact>,
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
    },
    /// They vary, and some are 0: there is no ratio.
    Zeros {
        /// Plots a side, or pairs of runs.
        units: u32,
    },
}
