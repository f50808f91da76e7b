//! The request for a comparison, and its possible ends.

use super::plan::CompareSide;
use plumb_stats::stop::{StopReason, StopRule};
use plumb_trust::Factor;
use plumb_workload_text::named::{NamedWorkload, Scale};
use std::time::Duration;

/// Describes what to compare, and how.
pub struct CompareRequest<'a> {
    /// The reference side.
    pub baseline: CompareSide,
    /// The side that is compared with it.
    pub candidate: CompareSide,
    pub workloads: Vec<&'static NamedWorkload>,
    /// Size of a run; `place` is set for each side.
    pub scale: Scale,
    /// Total time limit, preparation included.
    pub budget: Duration,
    /// When to stop, in complete rounds over the plots.
    pub rule: StopRule,
    /// The only factor that was meant to differ.
    pub varying: Option<&'static Factor>,
    /// Seed of the order and of every op.
    pub seed: u64,
    /// As typed, for the record.
    pub command: &'a str,
    /// Phases whose numbers are compared; all if empty.
    pub phases: &'a [String],
}

/// No work has a phase of this name.
#[derive(Debug, thiserror::Error)]
#[error("--phase {phase}: no work of this comparison has it; its phases: {known}")]
pub struct UnknownPhase {
    phase: String,
    known: String,
}

impl CompareRequest<'_> {
    pub(crate) fn sides(&self) -> [&CompareSide; 2] {
        [&self.baseline, &self.candidate]
    }

    /// Returns the number of places on the side that has more of them.
    pub fn plots_of_a_side(&self) -> usize {
        self.plots().into_iter().max().unwrap_or(1)
    }

    /// Checks that a work has each phase of [`CompareRequest::phases`].
    ///
    /// # Errors
    /// [`UnknownPhase`]
    pub fn phases_exist(&self) -> Result<(), UnknownPhase> {
        let works = self.workloads.iter().map(|named| named.workload(&self.scale));
        let known: Vec<String> = works.flat_map(|workload| workload.phase).map(|phase| phase.name).collect();
        match self.phases.iter().find(|phase| !known.contains(phase)) {
            Some(phase) => Err(UnknownPhase { phase: phase.clone(), known: known.join(", ") }),
            None => Ok(()),
        }
    }

    pub(crate) fn plots(&self) -> [usize; 2] {
        self.sides().map(|side| side.plots.len())
    }
}

/// The reason why a comparison ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComparisonEnded {
    /// The stop rule, or the budget.
    By(StopReason),
    Interrupted,
    /// No block had two accepted runs.
    NothingAccepted,
}
