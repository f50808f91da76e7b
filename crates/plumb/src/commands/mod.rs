//! One file a command, or a few that belong together.

pub mod agent;
pub mod audit;
pub mod check;
pub mod clean;
pub mod compare;
pub mod completion;
pub mod dialect;
pub mod explain;
pub mod noise;
pub mod run;
pub mod schema;
pub mod shell;
pub mod store;
pub mod study;
pub mod sweep;
pub mod try_storage;
pub mod watch;

use crate::common::Common;
use crate::exit::{End, Stopped};
use crate::output;
use crate::session;
use plumb_report::run::{KeptResult, page};
use plumb_result::RunVerdict;
use plumb_study::{RunError, RunOutcome};

/// The same for a run that an error may have ended after some of its phases: what they measured is presented too.
pub fn present_what_there_is(run: Result<RunOutcome, RunError>, common: &Common) -> Result<End, Stopped> {
    match run {
        Err(RunError::EndedEarly { error, outcome }) => {
            present(&outcome, common)?;
            Err(Stopped::io(error))
        }
        run => present(&run?, common),
    }
}

/// Prints a result and says how the command ends.
pub fn present(outcome: &RunOutcome, common: &Common) -> Result<End, Stopped> {
    if common.json {
        session::print_json(&outcome.result)?;
    } else {
        let kept =
            if common.no_store || outcome.not_stored.is_some() { KeptResult::Nowhere } else { KeptResult::Stored };
        output::print(&page(&outcome.result, kept, &session::style()));
    }
    Ok(ended(outcome, common))
}

/// How a run ends. Where the store did not take its result, says so.
pub fn ended(outcome: &RunOutcome, common: &Common) -> End {
    if let Some(not_stored) = &outcome.not_stored {
        session::report_unstored(not_stored, "the result", common);
        return End::Io;
    }
    if outcome.result.partial {
        End::Interrupted
    } else if outcome.measurement.phases.iter().any(|phase| phase.fault_count > 0) {
        End::Io
    } else if outcome.result.verdict == RunVerdict::Reject {
        End::Rejected
    } else {
        End::Done
    }
}
