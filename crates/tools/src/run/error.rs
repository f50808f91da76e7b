//! Failures outside the measurement: result files, recordings, steps between phases.

use plumb_cli::exit::Stopped;
use plumb_engine::guard::OutputError;
use plumb_trace::TraceError;
use std::io;

/// Why a dialect cannot go on, or cannot tell what it has measured.
#[derive(Debug, thiserror::Error)]
pub enum DialectError {
    /// A file that the words name, or that the tool makes by itself.
    #[error("{what}: {source}")]
    File {
        /// The option, what was to be done, and the path.
        what: String,
        /// The system's word.
        source: io::Error,
    },
    /// An output could not be written, or Plumb refused it.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A recording that cannot be read, or not be merged.
    #[error(transparent)]
    Recording(#[from] TraceError),
    /// Standard output cannot be written.
    #[error("{}", .0.message)]
    Print(Stopped),
    /// Files end before they should.
    #[error("{count} short {what}(s): files are shorter than {length}; write them first, or use --trunctosize")]
    Short {
        /// How often.
        count: u64,
        /// A read, a write.
        what: &'static str,
        /// What they should hold.
        length: String,
    },
    /// A CSV file of something else.
    #[error(
        "--csvfile: {path} has {found} columns in its first line, and results have {wanted}; name another file, or remove \
         it first"
    )]
    OtherColumns {
        /// The file.
        path: String,
        /// In its first line.
        found: usize,
        /// Of results.
        wanted: usize,
    },
    /// The time to begin at is over.
    #[error("--start is in the past; give a future time, in seconds since the epoch")]
    StartPassed,
    /// The system's caches stay.
    #[error("--dropcache: /proc/sys/vm/drop_caches: {0}; run as root, or remove the option")]
    DropCaches(io::Error),
}

impl DialectError {
    /// Returns `true` if Plumb itself refused an output, rather than the system.
    pub fn is_refusal(&self) -> bool {
        matches!(self, DialectError::Output(error) if error.is_refusal())
    }

    /// For the errors of one file.
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
