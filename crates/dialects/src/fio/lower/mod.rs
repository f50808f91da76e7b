//! From fio's jobs to a workload: copies are made, groups and waits resolved, sizes become bytes, and what one option
//! implies for another is put in, as fio 3.42 does it before a job starts.
//!
//! [`lower`] is pure but for [`Places`]. What fio finds out at its start is an error here; what it would find out while
//! running (a missing file) is left to running. A job of an engine that Plumb does not run is lowered all the same, to a
//! [`Foreign`](plumb_workload::Backend::Foreign) backend, and told among [`Lowered::unrunnable`].

mod backend;
mod clone;
mod error;
mod facts;
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
pub use error::{LowerError, LowerErrors, Wrong};
pub use facts::PlanLine;
pub use lowered::{Entropy, Lowered, LoweredJob, PhaseMember, Unrunnable};
pub use places::{AskedRecording, Found, Places, RecordedFile, RecordedFiles, RecordedName, RecordingPart};
pub use plan::{PlannedJob, plan};
pub use replay::{Merge, merges};

/// Lowers all jobs.
///
/// # Errors
/// Everything that fio would refuse at its start, and what Plumb cannot do without changing the work, all together.
pub fn lower(fio: &Fio, places: &mut dyn Places, entropy: Entropy) -> Result<Lowered, LowerErrors> {
    order::lower(fio, places, entropy)
}
