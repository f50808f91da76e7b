//! The noise floor of a place, as printed by `plumb noise --json` (`plumb.noise/1`).

use crate::compare::{LeftOut, Mode, Replicate};
use crate::finding::Finding;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form of a noise floor.
pub const NOISE_SCHEMA: &str = "plumb.noise/1";

/// The noise floor of a place: the place compared with itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// Name and version of this form: `plumb.noise/1`.
    pub schema: String,
    /// The smallest differences detectable here and what limits them, as a sentence.
    pub note: String,
    /// Path of the place, as typed.
    pub place: String,
    /// Time of the measurement, RFC 3339, UTC.
    pub measured_at: String,
    /// One floor for each workload and headline metric.
    pub floors: Vec<NoiseFloor>,
    /// Numbers without a floor, because the checks rejected a run of every block. They are shown, and limit nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedNumber>,
    /// Number of floors planned; `floors` contains those that were measured.
    pub planned: u32,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// Order of the two sides, which are the same place; one string for each block.
    pub order: Vec<String>,
    /// Number of provisionings of each side.
    pub plots: u32,
    /// Ids of the runs, in execution order.
    pub runs: Vec<String>,
    /// Runs that were left out because checks rejected them.
    pub left_out: Vec<LeftOut>,
    /// Requests that could not be met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Findings about all runs together: drift, several speeds, too few runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
}

/// A number from rejected runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RejectedNumber {
    /// Name of the measured workload.
    pub workload: String,
    /// Name of the workload's phase.
    pub phase: String,
    /// The metric, which determines the unit.
    pub metric: Metric,
    /// Geometric mean over the rejected runs.
    pub value: f64,
    /// Smallest value of any rejected run.
    pub least: f64,
    /// Largest value of any rejected run.
    pub most: f64,
    /// Number of rejected runs that have the metric.
    pub runs: u32,
}

/// The smallest difference that can be claimed in one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseFloor {
    /// Name of the measured workload.
    pub workload: String,
    /// Name of the workload's phase.
    pub phase: String,
    /// The metric, which determines the unit.
    pub metric: Metric,
    /// Geometric mean of all runs, in the metric's unit.
    pub value: Option<f64>,
    /// Spread of the runs, as a coefficient of variation.
    pub cv: Option<f64>,
    /// Floor for a comparison with the same number of blocks or plots, as a share: 0.03 is ×
    /// or ÷ 1.03. See [`NoiseFloor::at`].
    pub floor: f64,
    /// Logarithm of the ratio measured between the place and itself.
    pub log_ratio: f64,
    /// Half-width of the ratio's 95 % interval, in logarithms.
    pub log_half_width: f64,
    /// Number of blocks or plots measured.
    pub blocks: u32,
    /// Kind of sample that `blocks` counts.
    pub unit: Replicate,
    /// The speeds of the runs and their shares; absent if the runs have only one speed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
}

impl NoiseFloor {
    /// Computes the floor from a ratio and its interval: the far end of the interval, as a share. Equal sides
    /// differed by this ratio, and the interval allows a difference that is larger by its half-width.
    pub fn compute(log_ratio: f64, log_half_width: f64) -> f64 {
        (log_ratio.abs() + log_half_width).exp_m1()
    }

    /// Returns the floor for a comparison of `blocks` blocks. With fewer blocks than the A/A comparison had, its
    /// interval would be wider by the root of their ratio. With more blocks the floor stays: differences between
    /// equal sides (order, place, leftovers of the last run) do not average out. Plots are few and their number is
    /// part of the measurement, so their floor is not scaled.
    pub fn at(&self, blocks: u32) -> f64 {
        if self.unit == Replicate::Plot || blocks >= self.blocks {
            return self.floor;
        }
        let wider = (f64::from(self.blocks) / f64::from(blocks.max(1))).sqrt();
        NoiseFloor::compute(self.log_ratio, self.log_half_width * wider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::OpKind;

    fn floor(unit: Replicate) -> NoiseFloor {
        NoiseFloor {
            workload: "random-read".to_owned(),
            phase: "random-read".to_owned(),
            metric: Metric::rate(OpKind::Read),
            value: None,
            cv: None,
            floor: NoiseFloor::compute(-0.01, 0.02),
            log_ratio: -0.01,
            log_half_width: 0.02,
            blocks: 8,
            unit,
            modes: Vec::new(),
        }
    }

    /// Protects: swapping the sides of an A/A comparison does not change its floor.
    #[test]
    fn the_floor_is_symmetric_in_the_sides() {
        assert_eq!(NoiseFloor::compute(-0.01, 0.02), NoiseFloor::compute(0.01, 0.02));
        assert!((NoiseFloor::compute(0.01, 0.02) - 0.03f64.exp_m1()).abs() < 1e-12);
    }

    #[test]
    fn fewer_blocks_raise_the_floor_and_more_blocks_keep_it() {
        let blocks = floor(Replicate::Block);
        assert!(blocks.at(6) > blocks.at(8));
        assert_eq!((blocks.at(8), blocks.at(30)), (blocks.floor, blocks.floor));
        assert!((blocks.at(2) - 0.05f64.exp_m1()).abs() < 1e-12, "a quarter of the blocks, twice the half-width");
        assert_eq!(floor(Replicate::Plot).at(2), blocks.floor);
    }
}
