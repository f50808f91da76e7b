//! Reads the spread for a plan from an earlier study of the same name.

use crate::answer::{StudyEvidence, answer};
pub use crate::earlier_spread::{EarlierSpread, FoundSpread};
use crate::plan::power::{PlannedUnit, PlannedVerdicts};
use plumb_result::Contrast;
use plumb_result::compare::Replicate;
use plumb_result::study::StudyReport;
use plumb_stats::estimate::spread_of_interval;
use plumb_store::{ResultStore, StoreError};

/// Returns the spread of the newest study of this name with enough runs to estimate it: a pilot, or the
/// previous run of the study.
///
/// # Errors
/// The store failed.
pub fn spread(store: &dyn ResultStore, name: &str) -> Result<Option<EarlierSpread>, StoreError> {
    for row in store.studies()?.into_iter().filter(|row| row.name == name) {
        let evidence = StudyEvidence::load(store, &row.id)?;
        let report = answer(&evidence);
        let times = || report.spread.iter().filter(|one| one.metric.device_count().is_none());
        let plots = median(times().map(|one| (one.plots_cv, one.plots_freedom)));
        let runs = median(times().map(|one| (one.runs_cv, one.runs_freedom)));
        if let (Some(plots), Some(runs)) = (plots, runs) {
            let effects = effects(&report, PlannedVerdicts::of_plan(&evidence.plan), runs);
            return Ok(Some(EarlierSpread { id: row.id, plots, runs, effects }));
        }
    }
    Ok(None)
}

/// Returns `None` without values, or if the degrees of freedom are unknown.
fn median(found: impl Iterator<Item = (f64, u32)>) -> Option<FoundSpread> {
    let (all, freedom): (Vec<f64>, Vec<u32>) = found.filter(|(_, freedom)| *freedom > 0).unzip();
    Some(FoundSpread { cv: plumb_stats::median(&all)?, freedom: freedom.into_iter().min()? })
}

/// Computes the variation of effects between plots from the intervals of contrasts whose units are plots, less
/// the variation of their runs.
fn effects(report: &StudyReport, planned: PlannedVerdicts, runs: FoundSpread) -> Option<FoundSpread> {
    let of_runs = 2.0 * runs.cv.powi(2) / f64::from(planned.runs.max(1));
    let of_contrast = |contrast: &Contrast| {
        let (lo, hi) = (contrast.lo?, contrast.hi?);
        let spread = spread_of_interval(lo, hi, contrast.confidence, contrast.blocks)?;
        Some(((spread * spread - of_runs).max(0.0).sqrt(), contrast.blocks - 1))
    };
    let by_plots = report.contrasts.iter().map(|one| &one.contrast);
    let by_plots = by_plots.filter(|one| one.unit == Replicate::Plot && one.metric.device_count().is_none());
    (planned.unit == PlannedUnit::PairsOnPlot).then(|| median(by_plots.filter_map(of_contrast))).flatten()
}
