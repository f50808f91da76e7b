//! Several runs, one after the other.

use super::{Bench, RunRequest};
use crate::outcome::{RunError, RunOutcome};
use crate::progress::Progress;
use crate::settle::Settling;
use plumb_engine::sim::CarriedDebt;
use plumb_workload::Target;
use std::time::Instant;

/// State that one run of a process leaves to the next.
#[derive(Default)]
pub struct Series {
    /// Debt of the next run on simulated devices, see [`Bench::begin_comparison`].
    pub carried: CarriedDebt,
    /// Pauses between the runs of a comparison.
    pub settling: Settling,
    /// Set if the last of several runs ended early.
    pub cut_by: Option<String>,
    /// Whether a run was completed.
    pub(super) has_run: bool,
}

impl Bench {
    /// Forgets earlier runs, which must not influence a new comparison.
    pub fn begin_comparison(&mut self) {
        self.series.carried = CarriedDebt::default();
        self.series.settling.begin();
    }

    /// Makes one of many runs. If it ends early, as when a host is lost, the runs before it are worth a report. Then
    /// it returns `None`, and [`Series::cut_by`] has the reason.
    ///
    /// # Errors
    /// See [`Bench::run`]. Before the first completed run, any error is returned.
    pub fn run_of_many(
        &mut self,
        request: &RunRequest<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Option<RunOutcome>, RunError> {
        let is_simulated = request.workload.target.values().any(|target| matches!(target, Target::Sim(_)));
        self.settle(is_simulated);
        let began = Instant::now();
        match self.run(request, progress) {
            Ok(outcome) => {
                let took = if is_simulated { outcome.simulated() } else { began.elapsed() };
                // The devices of hosts that this process only leads are not on this machine.
                let is_here = self.partners.led().is_none();
                self.series.settling.record_run(took, outcome.observations.targets.values().filter(|_| is_here));
                Ok(Some(outcome))
            }
            Err(error @ (RunError::EndedEarly { .. } | RunError::EndedByRank(_) | RunError::Ranks(_)))
                if self.series.has_run =>
            {
                self.series.cut_by = Some(error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the storage has finished the last run's leftover work. Simulated devices do so in their own time.
    fn settle(&mut self, is_simulated: bool) {
        let Series { carried, settling, .. } = &mut self.series;
        if !is_simulated {
            settling.wait(self.stop);
            return;
        }
        let last = settling.last().unwrap_or_default();
        *carried = carried.after_pause(settling.simulated_pause(), last);
    }
}
