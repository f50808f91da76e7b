//! Documents in lists: conformance reports and gates.

use crate::StoredDocument;
use crate::time::rfc3339;
use plumb_document::json::{self, JsonError};
use plumb_result::{Conformance, Gate, PosixOutcome};
use serde::Serialize;

/// Largest number of documents in a list, which are read whole.
pub(crate) const LISTED_MAX: u32 = 300;

/// A conformance report in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConformanceRow {
    pub id: String,
    /// When it was stored, RFC 3339, UTC.
    pub tested_at: String,
    pub path: String,
    pub filesystem: String,
    pub kernel: String,
    pub user: String,
    pub level: String,
    /// Number of cases that fail at this level.
    pub failures: u64,
    pub passed: u64,
    pub skipped: u64,
}

impl ConformanceRow {
    pub(crate) fn new(document: &StoredDocument) -> Result<ConformanceRow, JsonError> {
        let report: Conformance = json::from_str(&document.body)?;
        Ok(ConformanceRow {
            id: document.id.clone(),
            tested_at: rfc3339(document.stored_ns),
            failures: report.failures() as u64,
            passed: report.count(PosixOutcome::Pass) as u64,
            skipped: report.count(PosixOutcome::Skip) as u64,
            path: report.path,
            filesystem: report.filesystem,
            kernel: report.kernel,
            user: report.user,
            level: report.level,
        })
    }
}

/// A gate in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateRow {
    pub id: String,
    /// When it was stored, RFC 3339, UTC.
    pub answered_at: String,
    /// `pass`, `regression`, `cannot tell` or `suspected`.
    pub answer: String,
    /// Name of the side that the candidate is judged against, as typed.
    pub baseline: String,
    /// Name of the side that is judged, as typed.
    pub candidate: String,
    /// The judged workloads, in order.
    pub workloads: Vec<String>,
    /// The number with the worst ratio, and that ratio: below 1, the candidate is worse.
    pub worst: Option<(String, f64)>,
    /// The answer and its limits, as a sentence.
    pub note: String,
}

impl GateRow {
    pub(crate) fn new(document: &StoredDocument) -> Result<GateRow, JsonError> {
        let gate: Gate = json::from_str(&document.body)?;
        let mut workloads: Vec<String> = gate.numbers.iter().map(|number| number.workload.clone()).collect();
        workloads.dedup();
        let ratios = gate.numbers.iter().filter_map(|number| Some((number.name(), number.ratio?)));
        let worst = ratios.min_by(|(_, one), (_, other)| one.total_cmp(other));
        Ok(GateRow {
            id: document.id.clone(),
            answered_at: rfc3339(document.stored_ns),
            answer: gate.word().to_owned(),
            workloads,
            worst,
            baseline: gate.baseline.name,
            candidate: gate.candidate.name,
            note: gate.note,
        })
    }
}
