//! What is asked of a comparison, and how it may end.

use super::plan::CompareSide;
use plumb_stats::stop::{StopReason, StopRule};
use plumb_trust::Factor;
use plumb_workload_text::named::{NamedWorkload, Scale};
use std::time::Duration;

/// What to compare.
pub struct CompareRequest<'a> {
    /// What the candidate is held against.
    pub baseline: CompareSide,
    /// What is held against it.
    pub candidate: CompareSide,
    /// For which work.
    pub workloads: Vec<&'static NamedWorkload>,
    /// Size of a run; `place` is set for each side.
    pub scale: Scale,
    /// How long it may take altogether, preparation included.
    pub budget: Duration,
    /// When to stop; counted in whole rounds over the plots.
    pub rule: StopRule,
    /// The only factor that was meant to differ.
    pub varying: Option<&'static Factor>,
    /// Seed of the order and of every op.
    pub seed: u64,
    /// As typed, for the record.
    pub command: &'a str,
    /// Phases whose numbers are compared; all where there are none.
    pub phases: &'a [String],
}

/// A phase that no work has.
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

    /// Places of the side that has more of them.
    pub fn plots_of_a_side(&self) -> usize {
        self.plots().into_iter().max().unwrap_or(1)
    }

    /// Checks that each phase of [`CompareRequest::phases`] is one of a work.
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

/// Why a comparison ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComparisonEnded {
    /// The stop rule, or the budget.
    By(StopReason),
    /// A signal.
    Interrupted,
    /// No block had two runs that the checks accept.
    NothingAccepted,
}
