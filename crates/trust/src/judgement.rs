//! The result of judging a run, and the verdict from its findings.

use crate::tier::PhaseTiers;
use plumb_result::{Finding, Level, Limiter, RunVerdict, UnderLoad};

/// Checks that show what was measured: if one of them lacks its evidence, a run cannot pass.
const DECISIVE: &[&str] = &["A1", "A3"];

/// The result of judging a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Findings, worst first; equals in the order of [`CHECKS`](crate::CHECKS), then of the phases.
    pub findings: Vec<Finding>,
    /// Tiers of all rates, one entry for each measured phase.
    pub tiers: Vec<PhaseTiers>,
    /// The limiter of every measured phase, in the same order.
    pub limiters: Vec<Limiter>,
    /// Whether the run can be believed.
    pub verdict: RunVerdict,
    /// The load of other processes, if it was a part of the numbers.
    pub under_load: Option<UnderLoad>,
}

pub(crate) fn worst_first(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
}

/// Returns the verdict that follows from the findings of a run. It passes only if the checks that show what was measured had
/// their evidence.
pub fn verdict(findings: &[Finding]) -> RunVerdict {
    let decisive_unseen =
        findings.iter().any(|finding| finding.level == Level::Skipped && DECISIVE.contains(&finding.code.as_str()));
    match RunVerdict::from_findings(findings) {
        RunVerdict::Pass if decisive_unseen => RunVerdict::Unknown,
        verdict => verdict,
    }
}
