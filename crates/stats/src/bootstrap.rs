//! Intervals by resampling, for 20 units and more, and for numbers that t on logarithms does not fit: runs
//! with modes, percentiles. With fewer units they are wrong (at ten, a percentile bootstrap of the mean
//! covers 89 %), and are refused.

use crate::StatsError;
use crate::estimate::ConfidenceInterval;
use crate::random::SplitMix;
use crate::summary::logs;

/// Fewer units are left to t on logarithms, see [`crate::estimate`].
pub(crate) const UNITS_MIN: usize = 20;

/// Settings of the bootstrap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Number of resamples; at least 100.
    pub resamples: u32,
    /// Coverage, strictly between 0 and 1.
    pub confidence: f64,
    /// Seed of all random choices; store it with the result.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Resampling {
        Resampling { resamples: 10_000, confidence: 0.95, seed: 0 }
    }
}

/// Values of one side: `side[i][j]` are the interval blocks of run `j` on plot `i`. A run with a single number is one
/// block. With one plot, runs are the units; otherwise plots are.
pub type SideValues<'a> = &'a [Vec<Vec<f64>>];

/// Returns the geometric mean of one side with its interval. The value of a run is the mean of its blocks; the value
/// of a plot is the geometric mean of its runs.
///
/// Resampling is hierarchical: plots are drawn from the side, runs from each drawn plot, blocks from each drawn run,
/// so that values that vary together are drawn together (Davison and Hinkley, "Bootstrap methods and their
/// application", 1997, §3.8; for blocks Künsch, "The jackknife and the bootstrap for general stationary
/// observations", Annals of Statistics 17, 1989). It is studentised: the interval is read from the distribution of
/// (resample − estimate) / error of the resample, with errors from the units alone (Efron, "Nonparametric standard
/// errors and confidence intervals", 1981; Davison and Hinkley, §5.2).
///
/// Errors: fewer than [`UNITS_MIN`] units, an empty plot or run, a value not above 0, a setting out of range.
pub fn mean(side: SideValues<'_>, resampling: &Resampling) -> Result<ConfidenceInterval, StatsError> {
    resample(&[Drawn::from_side(side, 1.0)?], resampling)
}

/// Returns the ratio of geometric means of two independent sides, candidate over baseline, computed like [`mean`].
pub fn ratio(
    baseline: SideValues<'_>,
    candidate: SideValues<'_>,
    resampling: &Resampling,
) -> Result<ConfidenceInterval, StatsError> {
    resample(&[Drawn::from_side(baseline, -1.0)?, Drawn::from_side(candidate, 1.0)?], resampling)
}

enum Unit {
    /// The blocks of a run.
    Run(Vec<f64>),
    /// The runs of a plot.
    Plot(Vec<Vec<f64>>),
}

/// The units of one side, with its sign in the sum of logarithms.
struct Drawn {
    units: Vec<Unit>,
    sign: f64,
}

/// Mean of one side's logarithms of units, with its squared error.
#[derive(Clone, Copy)]
struct Part {
    mean: f64,
    squared_error: f64,
}

impl Drawn {
    fn from_side(side: SideValues<'_>, sign: f64) -> Result<Drawn, StatsError> {
        for run in side.iter().flatten() {
            logs(run)?;
        }
        if side.iter().any(|plot| plot.is_empty()) || side.iter().flatten().any(|run| run.is_empty()) {
            return Err(StatsError::TooFew { needed: 1, found: 0 });
        }
        let units = match side {
            [only] => only.iter().cloned().map(Unit::Run).collect(),
            plots => plots.iter().cloned().map(Unit::Plot).collect(),
        };
        Drawn::checked(units, sign)
    }

    fn checked(units: Vec<Unit>, sign: f64) -> Result<Drawn, StatsError> {
        if units.len() < UNITS_MIN {
            return Err(StatsError::TooFew { needed: UNITS_MIN, found: units.len() });
        }
        Ok(Drawn { units, sign })
    }

    /// Returns the side without resampling.
    fn whole(&self) -> Part {
        let run = |blocks: &Vec<f64>| (blocks.iter().sum::<f64>() / blocks.len() as f64).ln();
        self.part(self.units.iter().map(|unit| match unit {
            Unit::Run(blocks) => run(blocks),
            Unit::Plot(runs) => runs.iter().map(run).sum::<f64>() / runs.len() as f64,
        }))
    }

    /// Returns a resample of the side.
    fn draw(&self, stream: &mut SplitMix) -> Part {
        let n = self.units.len();
        self.part((0..n).map(|_| match &self.units[stream.below(n)] {
            Unit::Run(blocks) => draw_run(blocks, stream),
            Unit::Plot(runs) => {
                (0..runs.len()).map(|_| draw_run(&runs[stream.below(runs.len())], stream)).sum::<f64>()
                    / runs.len() as f64
            }
        }))
    }

    fn part(&self, logs: impl Iterator<Item = f64>) -> Part {
        let n = self.units.len() as f64;
        let (mut mean, mut squares, mut seen) = (0.0, 0.0, 0.0);
        for log in logs {
            // Welford's update, to avoid a list for each resample.
            seen += 1.0;
            let step = log - mean;
            mean += step / seen;
            squares += step * (log - mean);
        }
        Part { mean: self.sign * mean, squared_error: squares / (n - 1.0) / n }
    }
}

/// Returns the logarithm of the mean of drawn blocks. A run of one block is that block.
fn draw_run(blocks: &[f64], stream: &mut SplitMix) -> f64 {
    if let [only] = blocks {
        return only.ln();
    }
    (blocks.iter().map(|_| blocks[stream.below(blocks.len())]).sum::<f64>() / blocks.len() as f64).ln()
}

fn resample(sides: &[Drawn], resampling: &Resampling) -> Result<ConfidenceInterval, StatsError> {
    let Resampling { resamples, confidence, seed } = *resampling;
    if resamples < 100 {
        return Err(StatsError::Setting { name: "resamples", value: f64::from(resamples), allowed: "100 and more" });
    }
    if !(confidence > 0.0 && confidence < 1.0) {
        let allowed = "0 to 1, both excluded";
        return Err(StatsError::Setting { name: "confidence", value: confidence, allowed });
    }
    let sum = |parts: &mut dyn Iterator<Item = Part>| {
        parts.fold(Part { mean: 0.0, squared_error: 0.0 }, |a, b| Part {
            mean: a.mean + b.mean,
            squared_error: a.squared_error + b.squared_error,
        })
    };
    let whole = sum(&mut sides.iter().map(Drawn::whole));
    let error = whole.squared_error.sqrt();
    if error == 0.0 {
        let value = whole.mean.exp();
        return Ok(ConfidenceInterval { value, lo: value, hi: value, confidence });
    }
    let mut stream = SplitMix::new(seed);
    let mut distances: Vec<f64> = (0..resamples)
        .map(|_| {
            let drawn = sum(&mut sides.iter().map(|side| side.draw(&mut stream)));
            // A resample without spread counts as the largest distance on its side.
            (drawn.mean - whole.mean) / drawn.squared_error.sqrt().max(f64::MIN_POSITIVE)
        })
        .collect();
    distances.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        // Quantile at share × (B + 1), as is usual for studentised intervals.
        let position = share * f64::from(resamples + 1) - 1.0;
        distances[(position.round().max(0.0) as usize).min(distances.len() - 1)]
    };
    let tail = (1.0 - confidence) / 2.0;
    Ok(ConfidenceInterval {
        value: whole.mean.exp(),
        lo: (whole.mean - at(1.0 - tail) * error).exp(),
        hi: (whole.mean - at(tail) * error).exp(),
        confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{sample, welch};
    use proptest::prelude::*;

    const FEW: Resampling = Resampling { resamples: 600, confidence: 0.95, seed: 5 };

    /// Puts runs of one block each on one plot.
    fn runs(values: &[f64]) -> Vec<Vec<Vec<f64>>> {
        vec![values.iter().map(|&value| vec![value]).collect()]
    }

    fn normal(noise: &mut SplitMix, n: usize, spread: f64) -> Vec<f64> {
        (0..n).map(|_| 100.0 * (spread * noise.normal()).exp()).collect()
    }

    #[test]
    fn on_normal_logarithms_it_agrees_with_t() {
        let mut noise = SplitMix::new(1);
        let (a, b) = (normal(&mut noise, 40, 0.05), normal(&mut noise, 30, 0.08));
        let all = Resampling::default();
        for (found, expected) in [
            (mean(&runs(&a), &all).unwrap(), sample(&a).unwrap().interval(0.95).unwrap()),
            (ratio(&runs(&a), &runs(&b), &all).unwrap(), welch(&a, &b).unwrap().interval(0.95).unwrap()),
        ] {
            assert!((found.value / expected.value - 1.0).abs() < 1e-12);
            let width = expected.hi - expected.lo;
            assert!((found.lo - expected.lo).abs() < 0.08 * width, "{found:?} {expected:?}");
            assert!((found.hi - expected.hi).abs() < 0.08 * width, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        let values = normal(&mut SplitMix::new(3), 25, 0.1);
        let found = mean(&runs(&values), &FEW).unwrap();
        assert_eq!(mean(&runs(&values), &FEW).unwrap(), found);
        assert_ne!(mean(&runs(&values), &Resampling { seed: 6, ..FEW }).unwrap(), found);
    }

    #[test]
    fn runs_with_a_slow_mode_are_covered() {
        // 20 runs, a fifth of them slower by a quarter: the true geometric mean is 0.75^0.2.
        let mut noise = SplitMix::new(4);
        let held = (0..400).filter(|_| {
            let values: Vec<f64> =
                (0..20).map(|_| if noise.below(5) == 0 { 0.75 } else { 1.0 } * (0.02 * noise.normal()).exp()).collect();
            mean(&runs(&values), &FEW).unwrap().contains(0.75f64.powf(0.2))
        });
        let held = held.count();
        assert!(held >= 364, "{held} of 400");
    }

    #[test]
    fn plots_are_units_and_their_runs_are_not_replicates() {
        let mut noise = SplitMix::new(5);
        let held = (0..300).filter(|_| {
            let plots: Vec<Vec<Vec<f64>>> = (0..20)
                .map(|_| {
                    let plot = 0.06 * noise.normal();
                    (0..4).map(|_| (0..3).map(|_| (plot + 0.02 * noise.normal()).exp()).collect()).collect()
                })
                .collect();
            mean(&plots, &Resampling { resamples: 300, ..FEW }).unwrap().contains(1.0)
        });
        let held = held.count();
        assert!((272..=297).contains(&held), "{held} of 300");
    }

    #[test]
    fn few_units_and_bad_settings_are_refused_and_equal_values_are_a_point() {
        assert_eq!(mean(&runs(&[1.0; 19]), &FEW), Err(StatsError::TooFew { needed: 20, found: 19 }));
        assert!(mean(&[vec![], vec![vec![1.0]]], &FEW).is_err());
        assert!(mean(&runs(&[0.0; 20]), &FEW).is_err());
        assert!(mean(&runs(&[1.0; 20]), &Resampling { resamples: 10, ..FEW }).is_err());
        assert!(mean(&runs(&[1.0; 20]), &Resampling { confidence: 1.0, ..FEW }).is_err());
        let point = mean(&runs(&[7.0; 20]), &FEW).unwrap();
        assert_eq!((point.lo, point.hi), (point.value, point.value));
    }

    proptest! {
        #[test]
        fn the_unit_does_not_matter(values in prop::collection::vec(1.0..2.0f64, 20..40), scale in 1e-3..1e6f64) {
            let few = Resampling { resamples: 100, ..FEW };
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let (a, b) = (mean(&runs(&values), &few).unwrap(), mean(&runs(&scaled), &few).unwrap());
            prop_assert!((b.lo / a.lo / scale - 1.0).abs() < 1e-9 && (b.hi / a.hi / scale - 1.0).abs() < 1e-9);
            prop_assert!(a.lo <= a.value && a.value <= a.hi);
        }
    }
}
