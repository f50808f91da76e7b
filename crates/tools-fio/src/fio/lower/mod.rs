//! Lowers fio's jobs to a workload.
//!
//! Lowering makes copies, resolves groups, waits and sizes, and applies the values that one option implies for another,
//! as fio 3.42 does before a job starts.
//!
//! [`lower`] is pure except for [`Places`]. A condition that fio checks at startup is an error here. A condition that
//! fio finds at run time (a missing file) is left to the run. A job of an unsupported engine becomes a
//! [`Foreign`](plumb_workload::Backend::Foreign) backend, listed in [`Lowered::unrunnable`].

mod backend;
mod clone;
mod error;
mod facts;
mod foreseen;
mod lowered;
mod names;
mod order;
mod pace;
mod parts;
mod places;
mod plan;
mod random;
mod replay;
mod sizes;
mod stream;
#[cfg(test)]
mod tests;
mod verify;

use super::Fio;
pub use error::{JobFault, LowerError, LowerErrors};
pub use facts::PlanLine;
pub use lowered::{Entropy, Lowered, LoweredJob, PhaseMember, Unrunnable};
pub use places::{Found, Places, RecordedFile, RecordedFiles, RecordedName, RecordingPart, RecordingRequest};
pub use plan::{PlannedJob, plan};
use plumb_workload::{Problem, Workload};
pub use random::stream_seeds;
pub use replay::{Merge, merges};

/// Whether an engine keeps one op in flight, whatever `iodepth` says.
pub fn has_one_op_in_flight(engine: &str) -> bool {
    backend::traits(engine).one_at_a_time
}

/// Validates a workload: `plumb_workload_text::validate::validate`. It is a parameter so that a changed message
/// rebuilds neither this crate nor its dependents.
pub type Check = fn(&Workload) -> Vec<Problem>;

/// Lowers all jobs, and checks the workload that they make.
///
/// # Errors
/// Everything that fio would refuse at its start, and what Plumb cannot do without changing the work, all together.
pub fn lower(fio: &Fio, places: &mut dyn Places, entropy: Entropy, check: Check) -> Result<Lowered, LowerErrors> {
    order::lower(fio, places, entropy, check)
}
