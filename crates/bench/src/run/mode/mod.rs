//! The modes of a run: by this process alone, by ranks of which it is one, or by hosts that it only leads.

mod alone;
mod hosts;
mod ranks;

pub(super) use alone::Alone;
pub(super) use hosts::Hosts;
pub(super) use ranks::Ranks;

use super::begun::{BegunRun, OwnEvidence};
use super::{Bench, RunRequest};
use crate::fit::NotHad;
use crate::outcome::RunError;
use crate::progress::Progress;
use crate::ranks::OfRanks;
use plumb_engine::EngineError;
use plumb_result::Measurement;
use plumb_result::observe::Environment;
use plumb_trust::Measured;
use plumb_workload::Workload;

/// The steps of a run that depend on who makes it.
pub(super) trait Mode {
    /// Resolves the sizes of the workload to bytes. If its cache policies are Plumb's own, also
    /// adapts them to the storage.
    ///
    /// # Errors
    /// A size depends on something that cannot be read, or hosts do not answer.
    fn resolve(&self, bench: &Bench, request: &RunRequest<'_>) -> Result<ResolvedRun, RunError>;

    /// Returns the workloads that are run, if they are not the resolved one.
    fn apart(&self) -> Option<&[Workload]> {
        None
    }

    /// Measures, with all ranks or hosts that take part.
    ///
    /// # Errors
    /// The run ended before anything was measured.
    fn measure(
        &self,
        bench: &mut Bench,
        run: &BegunRun<'_>,
        progress: &mut dyn Progress,
    ) -> Result<MeasuredRun, RunError>;

    /// Returns the part of a run's measurement that the evidence of its first host belongs to; the whole by default.
    fn of_first_host<'m>(
        &self,
        _workload: &'m Workload,
        _ranks: &'m MeasuredByRanks,
        whole: Measured<'m>,
    ) -> Measured<'m> {
        whole
    }

    /// Returns the environment of the machine that made the run, if it is not this one.
    fn environment_elsewhere<'m>(&self, _measured: &'m MeasuredRun) -> Option<&'m Environment> {
        None
    }
}

pub(super) struct ResolvedRun {
    pub(super) workload: Workload,
    /// Requests that the storage cannot meet.
    pub(super) not_had: Vec<NotHad>,
}

/// A run before it is judged.
pub(super) struct MeasuredRun {
    /// Sum of all that took part.
    pub(super) measurement: Measurement,
    /// Evidence of this process.
    pub(super) own: OwnEvidence,
    /// The measurements of the other ranks.
    pub(super) of_ranks: Option<MeasuredByRanks>,
}

pub(super) struct MeasuredByRanks {
    pub(super) all: OfRanks,
    /// The share of this rank.
    pub(super) own: Measurement,
}

/// Returns the reason if a rank's part of a run ended before its last phase.
pub(super) fn early_end(measured: &Result<Measurement, EngineError>) -> Option<String> {
    match measured {
        Ok(measurement) => measurement.error.clone(),
        Err(error) => Some(error.to_string()),
    }
}
