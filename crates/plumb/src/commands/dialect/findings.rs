//! What people should know before they believe the numbers of a dialect's run. Scripts take anything on standard error for
//! a failure, so that findings are printed only on a terminal.

use crate::common::Common;
use crate::output::error_line;
use crate::session;
use plumb_report::run::short_id;
use plumb_result::Level;
use plumb_study::RunOutcome;
use std::io::IsTerminal;

/// Says why a result is not stored, and to a terminal what speaks against it.
pub fn tell(outcome: &RunOutcome, common: &Common) {
    if let Some(not_stored) = &outcome.not_stored {
        session::report_unstored(not_stored, "the result", common);
    }
    if !std::io::stderr().is_terminal() {
        return;
    }
    let told: Vec<String> = outcome
        .result
        .checks
        .iter()
        .filter(|finding| finding.level > Level::Note)
        .map(|finding| format!("{} {}", finding.code, finding.message))
        .collect();
    if !told.is_empty() {
        let id = short_id(&outcome.result.id);
        error_line!("plumb: {}: {}; `plumb show {id}`", outcome.result.verdict.name(), told.join(" "));
    }
}
