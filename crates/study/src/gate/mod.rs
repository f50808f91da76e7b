//! Gates for continuous integration: is a candidate worse than its baseline?
//!
//! If both sides can be measured, they are measured in interleaved blocks ([`places`]). If the
//! baseline was measured before, its history shows the spread between sessions ([`history`]). The
//! decision itself is in [`plumb_stats::gate`].

mod candidate;
mod history;
mod numbers;
mod places;
mod sessions;
pub(crate) mod words;

pub use crate::compare::stored::history::results;
pub use candidate::{Alone, AloneRequest, measure_alone, newest, works_at};
pub use history::{HistoryRequest, HistorySide, gate_history};
pub use numbers::{WantedError, planned};
pub use places::{PlacesRequest, gate_places};
pub use sessions::{SESSION_GAP, SESSIONS_KEPT, newest_sessions, session_count, suspected};

use plumb_result::{Gate, RunResult};

/// The promised limit for the share of wrong answers.
pub(crate) const ERROR_RATE: f64 = 0.05;

/// The outcome of a gate.
pub struct GateOutcome {
    pub gate: Gate,
    /// The candidate's accepted runs that were measured for it, to be kept as a baseline.
    pub measured: Vec<RunResult>,
    /// Whether a signal ended it early.
    pub interrupted: bool,
}
