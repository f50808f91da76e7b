//! Errors outside the measurement: result files, recordings, steps between phases.

use plumb_cli::exit::Stopped;
use plumb_engine::guard::OutputError;
use plumb_trace::TraceError;
use std::io;

/// Error that ends a tool's run, or keeps its result from being reported.
#[derive(Debug, thiserror::Error)]
pub enum DialectError {
    /// Error on a file that the arguments name, or that the tool creates by itself.
    #[error("{what}: {source}")]
    File {
        /// The option, the action and the path.
        what: String,
        source: io::Error,
    },
    /// An output could not be written, or Plumb refused to write it.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A recording could not be read or merged.
    #[error(transparent)]
    Recording(#[from] TraceError),
    /// Standard output could not be written.
    #[error("{}", .0.message)]
    Print(Stopped),
    /// Files are shorter than the reads expect.
    #[error("{count} short {what}(s): files are shorter than {length}; write them first, or use --trunctosize")]
    Short {
        /// Number of short operations.
        count: u64,
        /// `read` or `write`.
        what: &'static str,
        length: String,
    },
    /// The CSV file has other columns than results have.
    #[error(
        "--csvfile: {path} has {found} columns in its first line, and results have {wanted}; name another file, or remove \
         it first"
    )]
    OtherColumns {
        path: String,
        /// Columns in its first line.
        found: usize,
        /// Columns of a result.
        wanted: usize,
    },
    /// The requested start time has passed.
    #[error("--start is in the past; give a future time, in seconds since the epoch")]
    StartPassed,
    /// The system's caches could not be dropped.
    #[error("--dropcache: /proc/sys/vm/drop_caches: {0}; run as root, or remove the option")]
    DropCaches(io::Error),
}

impl DialectError {
    /// Returns `true` if Plumb itself refused an output, rather than the system.
    pub fn is_refusal(&self) -> bool {
        matches!(self, DialectError::Output(error) if error.is_refusal())
    }

    /// Returns a `map_err` closure that adds a description to an I/O error.
    pub fn file(what: impl Into<String>) -> impl FnOnce(io::Error) -> DialectError {
        let what = what.into();
        move |source| DialectError::File { what, source }
    }
}

impl From<Stopped> for DialectError {
    fn from(stopped: Stopped) -> DialectError {
        DialectError::Print(stopped)
    }
}
