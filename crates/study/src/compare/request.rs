//! What is asked of a comparison, and how it may end.

use super::plan::CompareSide;
use plumb_stats::stop::{StopReason, StopRule};
use plumb_trust::Factor;
use plumb_workload::named::{NamedWorkload, Scale};
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
}

impl CompareRequest<'_> {
    pub(crate) fn sides(&self) -> [&CompareSide; 2] {
        [&self.baseline, &self.candidate]
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
