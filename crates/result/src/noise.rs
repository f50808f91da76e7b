//! The noise floor of a place, as printed by `plumb noise --json` (`plumb.noise/1`).

use crate::compare::{LeftOut, Mode, Replicate};
use crate::finding::Finding;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form of a noise floor.
pub const NOISE_SCHEMA: &str = "plumb.noise/1";

/// A place against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// [`NOISE_SCHEMA`].
    pub schema: String,
    /// In words: what can be seen here, and what limits it.
    pub note: String,
    /// The place, as typed.
    pub place: String,
    /// RFC 3339, UTC.
    pub measured_at: String,
    /// One for each work and headline metric.
    pub floors: Vec<NoiseFloor>,
    /// Numbers that have no floor, because the checks rejected a run of every block. They are shown, and limit nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedNumber>,
    /// How many numbers were planned; `floors` has those that were had.
    pub planned: u32,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// The order in which the two sides ran, both of them the same place, a block a string.
    pub order: Vec<String>,
    /// Provisionings of each side.
    pub plots: u32,
    /// Ids of the runs, in the order they ran.
    pub runs: Vec<String>,
    /// Runs that were rejected by checks and left out.
    pub left_out: Vec<LeftOut>,
    /// What was asked for and not had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the checks say of the runs together: drift, several speeds, too few runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
}

/// A number of rejected runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RejectedNumber {
    /// Name of the workload.
    pub workload: String,
    /// Name of its phase.
    pub phase: String,
    /// The metric; its unit follows from it.
    pub metric: Metric,
    /// Geometric mean over the rejected runs.
    pub value: f64,
    /// Smallest value of a rejected run.
    pub least: f64,
    /// Largest value of a rejected run.
    pub most: f64,
    /// Count of rejected runs that have the metric.
    pub runs: u32,
}

/// The smallest difference that can be claimed of one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseFloor {
    /// Of which work.
    pub workload: String,
    /// Of which phase.
    pub phase: String,
    /// Which number.
    pub metric: Metric,
    /// Geometric mean of all runs.
    pub value: Option<f64>,
    /// Spread (coefficient of variation) of the runs.
    pub cv: Option<f64>,
    /// The floor for a comparison of as many blocks (or plots), as a share: 0.03 is × or ÷ 1.03. See [`NoiseFloor::at`].
    pub floor: f64,
    /// Logarithm of the ratio that was found between the place and itself.
    pub log_ratio: f64,
    /// Half-width of its 95 % interval, in logarithms.
    pub log_half_width: f64,
    /// Blocks or plots that it rests on.
    pub blocks: u32,
    /// What `blocks` counts.
    pub unit: Replicate,
    /// Where the runs have several speeds: each with its share of the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
}

impl NoiseFloor {
    /// The floor of a ratio with its interval: the far end of the interval, as a share. Equal sides were found this far
    /// from 1, and the interval does not exclude that they lie as far again as its half-width.
    pub fn of(log_ratio: f64, log_half_width: f64) -> f64 {
        (log_ratio.abs() + log_half_width).exp_m1()
    }

    /// The floor for a comparison of so many blocks. With fewer blocks than the A/A had, its interval would have been
    /// wider, by the root of their ratio. With more it counts as it is: what makes equal sides differ (order, place,
    /// what the last run left) does not average out. Plots are few and their number is part of what was measured, so that
    /// their floor is not scaled.
    pub fn at(&self, blocks: u32) -> f64 {
        if self.unit == Replicate::Plot || blocks >= self.blocks {
            return self.floor;
        }
        let wider = (f64::from(self.blocks) / f64::from(blocks.max(1))).sqrt();
        NoiseFloor::of(self.log_ratio, self.log_half_width * wider)
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
            floor: NoiseFloor::of(-0.01, 0.02),
            log_ratio: -0.01,
            log_half_width: 0.02,
            blocks: 8,
            unit,
            modes: Vec::new(),
        }
    }

    /// The sides of an A/A can be swapped.
    #[test]
    fn the_floor_is_the_far_end_of_the_interval_on_either_side() {
        assert_eq!(NoiseFloor::of(-0.01, 0.02), NoiseFloor::of(0.01, 0.02));
        assert!((NoiseFloor::of(0.01, 0.02) - 0.03f64.exp_m1()).abs() < 1e-12);
    }

    #[test]
    fn fewer_blocks_see_less_and_more_blocks_no_more() {
        let blocks = floor(Replicate::Block);
        assert!(blocks.at(6) > blocks.at(8));
        assert_eq!((blocks.at(8), blocks.at(30)), (blocks.floor, blocks.floor));
        assert!((blocks.at(2) - 0.05f64.exp_m1()).abs() < 1e-12, "a quarter of the blocks, twice the half-width");
        assert_eq!(floor(Replicate::Plot).at(2), blocks.floor);
    }
}
