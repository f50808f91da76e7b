//! What an earlier study of the same name says about the next.

use crate::answer::{StudyEvidence, answer};
use plumb_store::{Store, StoreError};

/// How much the numbers of an earlier study spread.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierSpread {
    /// The study.
    pub id: String,
    /// Spread from one provisioning to the next, the mean of `repeats` runs each, as a coefficient of variation: the median
    /// over its numbers.
    pub plots: f64,
    /// Spread from one run to the next on one provisioning.
    pub runs: f64,
}

/// The spread of the newest study of this name whose runs suffice to see one: a pilot's, or the last time's.
///
/// # Errors
/// The store's.
pub fn spread(store: &Store, name: &str, repeats: u32) -> Result<Option<EarlierSpread>, StoreError> {
    for row in store.studies()?.into_iter().filter(|row| row.name == name) {
        let found = answer(&StudyEvidence::load(store, &row.id)?).spread;
        let primary = found.iter().filter(|one| one.metric.device_count().is_none());
        let (plots, runs): (Vec<f64>, Vec<f64>) = primary
            .map(|one| {
                let of_runs = one.runs_cv * one.runs_cv / f64::from(repeats.max(1));
                ((one.plots_cv * one.plots_cv + of_runs).sqrt(), one.runs_cv)
            })
            .unzip();
        if let (Some(plots), Some(runs)) = (plumb_stats::median(&plots), plumb_stats::median(&runs)) {
            return Ok(Some(EarlierSpread { id: row.id, plots, runs }));
        }
    }
    Ok(None)
}
