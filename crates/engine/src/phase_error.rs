//! Errors from running a phase.

use std::io;

/// Error from running a phase.
#[derive(Debug, thiserror::Error)]
pub enum PhaseError {
    /// Shared memory, threads or processes could not be created.
    #[error("cannot start {what}: {source}; lower `count` or raise the limit on processes and memory")]
    Start {
        /// Description of the object that was started.
        what: String,
        source: io::Error,
    },
    /// The phase does not end on virtual time.
    #[error(
        "phase `{phase}` has reached seven days of virtual time; give it a `stop` or its workers a `limit`, or soften \
         the device's faults"
    )]
    Endless { phase: String },
    /// A worker panicked: a bug of Plumb, which the hook has reported with a backtrace.
    #[error("worker {worker} {reason}; this is a defect of Plumb: please report it with the backtrace above")]
    Panicked {
        worker: String,
        /// Location and message of the panic.
        reason: String,
    },
    /// A worker failed to prepare itself.
    #[error("{worker}: {reason}")]
    Worker { worker: String, reason: String },
}
