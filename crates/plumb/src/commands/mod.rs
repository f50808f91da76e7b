//! One file a command, or a few that belong together.

pub mod agent;
pub mod audit;
pub mod capacity;
pub mod check;
pub mod clean;
pub mod compare;
pub mod completion;
pub mod config;
pub mod explain;
pub mod fit_for;
pub mod gate;
pub mod measure;
pub mod names;
pub mod net;
pub mod noise;
#[cfg(target_os = "linux")]
pub mod posix;
#[cfg(not(target_os = "linux"))]
#[path = "posix/not_linux.rs"]
pub mod posix;
pub mod repeat;
pub mod report;
pub mod run;
pub mod schema;
pub mod shell;
pub mod store;
pub mod study;
pub mod sweep;
pub mod tool;
pub mod trace;
pub mod try_storage;
pub mod watch;
pub mod workloads;

use plumb_bench::RunOutcome;
use plumb_cli::common::Common;
use plumb_cli::exit::End;
use plumb_cli::session;
use plumb_result::RunVerdict;

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
