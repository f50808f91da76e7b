//! What trust says of a run, and how findings add up to a verdict.

use crate::tier::PhaseTiers;
use plumb_result::{Finding, Level, Limiter, RunVerdict, UnderLoad};

/// Checks without which it is not known what was measured: where one of them could not look, a run cannot pass.
const DECISIVE: &[&str] = &["A1", "A3"];

/// What trust says of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// What the checks say, worst first; equals in the order of [`CHECKS`](crate::CHECKS), then of the phases.
    pub findings: Vec<Finding>,
    /// What every rate measured, one entry for each measured phase.
    pub tiers: Vec<PhaseTiers>,
    /// What bounded every measured phase, in the same order.
    pub limiters: Vec<Limiter>,
    /// Whether the run can be believed.
    pub verdict: RunVerdict,
    /// The load of other processes, where it was a part of the numbers.
    pub under_load: Option<UnderLoad>,
}

pub(crate) fn worst_first(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
}

pub(crate) fn verdict(findings: &[Finding]) -> RunVerdict {
    let decisive_unseen =
        findings.iter().any(|finding| finding.level == Level::Skipped && DECISIVE.contains(&finding.code.as_str()));
    match RunVerdict::of(findings) {
        RunVerdict::Pass if decisive_unseen => RunVerdict::Unknown,
        verdict => verdict,
    }
}
