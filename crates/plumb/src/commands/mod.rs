//! The commands: one file each, or one for a few that belong together.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod bundle;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod completion;
pub(crate) mod config;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fit_for;
pub(crate) mod gate;
pub(crate) mod k8s;
pub(crate) mod key;
pub(crate) mod marks;
pub(crate) mod measure;
pub(crate) mod names;
pub(crate) mod net;
pub(crate) mod noise;
#[cfg(target_os = "linux")]
pub(crate) mod posix;
#[cfg(not(target_os = "linux"))]
#[path = "posix/not_linux.rs"]
pub(crate) mod posix;
pub(crate) mod repeat;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod share;
pub(crate) mod shell;
pub(crate) mod site;
pub(crate) mod store;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod tool;
pub(crate) mod trace;
pub(crate) mod try_storage;
pub(crate) mod watch;
pub(crate) mod workloads;

use plumb_bench::RunOutcome;
use plumb_cli::common::Common;
use plumb_cli::exit::End;
use plumb_cli::session;
use plumb_result::RunVerdict;

/// Returns how a run ended, and reports a result that could not be stored.
pub(crate) fn ended(outcome: &RunOutcome, common: &Common) -> End {
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
