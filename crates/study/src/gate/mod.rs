//! Gates: whether a candidate is worse than its baseline, for continuous integration.
//!
//! Where both can be measured, they are measured in interleaved blocks ([`places`]). Where the baseline was measured before, its
//! history says how much sessions differ ([`history`]). The decision itself is [`plumb_stats::gate`].

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

/// The share of wrong answers that is promised.
pub(crate) const ERROR_RATE: f64 = 0.05;

/// What a gate came to.
pub struct GateOutcome {
    /// The answer.
    pub gate: Gate,
    /// The candidate's runs that were measured for it and count, to be kept as a baseline.
    pub measured: Vec<RunResult>,
    /// A signal ended it early.
    pub interrupted: bool,
}
