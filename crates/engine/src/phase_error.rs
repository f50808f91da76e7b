//! Why a phase could not run.

use std::io;

/// Why a phase could not run.
#[derive(Debug, thiserror::Error)]
pub enum PhaseError {
    /// Shared memory, threads or processes could not be obtained.
    #[error("cannot start {what}: {source}; lower `count` or raise the limit on processes and memory")]
    Start {
        /// What was started.
        what: String,
        /// The system's word.
        source: io::Error,
    },
    /// No end in sight.
    #[error(
        "phase `{phase}` has reached seven days of virtual time; give it a `stop` or its workers a `limit`, or soften \
         the device's faults"
    )]
    Endless {
        /// The phase.
        phase: String,
    },
    /// A worker panicked: a defect of Plumb, which the hook has reported with a backtrace.
    #[error("worker {worker} {reason}; this is a defect of Plumb: please report it with the backtrace above")]
    Panicked {
        /// Its name.
        worker: String,
        /// Where, and with which message.
        reason: String,
    },
    /// A worker could not make itself ready.
    #[error("{worker}: {reason}")]
    Worker {
        /// Its name.
        worker: String,
        /// In words.
        reason: String,
    },
}
