//! The report of a gate.

use super::FullReport;
use crate::gate::all_parts;
use plumb_result::Gate;
use plumb_result::tidy::TidyTable;

/// Creates the report of a gate: its page with every warning, and the numbers of its runs.
pub fn gate_report(gate: &Gate, numbers: TidyTable) -> FullReport {
    let title = format!("Gate: {} against {}", gate.candidate.name, gate.baseline.name);
    FullReport::new(title, all_parts(gate), numbers)
}
