//! Errors of the store.

use plumb_guard::OutputError;
use plumb_result::histogram::HdrError;
use rusqlite::ErrorCode;
use std::path::PathBuf;

/// Error of a store operation. None of these errors loses data that was stored before.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened or created.
    #[error("cannot open the database {}: {reason}; name another file with --db", path.display())]
    Open { path: PathBuf, reason: String },
    /// The path is not usable for a database, such as a device or a link.
    #[error(transparent)]
    Output(OutputError),
    /// The file is damaged or is not a database.
    #[error(
        "{} is damaged or not a database ({reason}); it was not changed. Move it away to start a new one, restore a \
         backup, or try `sqlite3 FILE .recover`",
        path.display()
    )]
    Corrupt { path: PathBuf, reason: String },
    /// The file is a database of another program.
    #[error("{} is another program's database; name another file with --db", path.display())]
    Foreign { path: PathBuf },
    /// The file was written by a later version.
    #[error(
        "{} was made by a newer Plumb (schema {found}, this one supports up to {known}); use that version, or name \
         another file with --db",
        path.display()
    )]
    Newer {
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// Latest schema version that this program supports.
        known: i64,
    },
    /// Another process holds the write lock for longer than [`crate::BUSY_TIMEOUT`].
    #[error("{} is locked by another process ({doing} timed out)", path.display())]
    Busy {
        path: PathBuf,
        /// The operation that timed out.
        doing: &'static str,
    },
    /// SQLite reported any other error.
    #[error("{}: {doing} failed: {source}", path.display())]
    Sqlite { path: PathBuf, doing: &'static str, source: rusqlite::Error },
    /// The database of a team failed; the message names it.
    #[error(transparent)]
    Shared(Box<dyn std::error::Error + Send + Sync>),
    /// No run has this id.
    #[error("no run {text:?} in {}; `plumb list` shows the stored runs", path.display())]
    NotFound {
        path: PathBuf,
        /// The id that was searched for.
        text: String,
    },
    /// Several ids begin or end with this text.
    #[error("{text:?} is ambiguous: {}; give more of the id", candidates.join(", "))]
    Ambiguous {
        /// The text that was searched for.
        text: String,
        /// The newest matching runs, at most [`crate::CANDIDATES_MAX`].
        candidates: Vec<String>,
    },
    /// No study has this id or name.
    #[error("no study {text:?} in {}; `plumb study list` shows the stored studies", path.display())]
    NoStudy {
        path: PathBuf,
        /// The text that was searched for.
        text: String,
    },
    /// A living process is conducting the study.
    #[error("study {id} is being run by another process; wait for it, or stop it")]
    StudyRuns { id: String },
    /// The run was begun before, or is still running.
    #[error("run {id} is already {status}")]
    Begun { id: String, status: String },
    /// The run has a result that differs from the imported one.
    #[error("run {id} is already stored with a different result, which was not changed")]
    OtherResult { id: String },
    /// The run exists but has no result.
    #[error("run {id} has no result: it is {status}{}", reason.as_ref().map(|r| format!(" ({r})")).unwrap_or_default())]
    NoResult {
        id: String,
        status: String,
        /// Reason why the run has no result, if known.
        reason: Option<String>,
    },
    /// A query exceeded its time limit.
    #[error("the query exceeded its time limit of {:?}; make it read less, or set --timeout", time)]
    QueryTime { time: std::time::Duration },
    /// A query exceeded a memory limit.
    #[error("{what} of the query is larger than {limit}, the limit; select less, or add LIMIT")]
    QuerySize {
        /// The part that is too large: `a value`, `the answer` or `the working memory`.
        what: &'static str,
        /// The limit, with its unit.
        limit: String,
    },
    /// A stored blob or document cannot be read.
    #[error("{}: {what} of {id} cannot be read: {reason}", path.display())]
    Unreadable {
        path: PathBuf,
        /// Id of the run or comparison.
        id: String,
        /// The part that cannot be read, such as `the result`.
        what: &'static str,
        reason: String,
    },
    /// A time is not RFC 3339.
    #[error("run {id}: {text:?} is not an RFC 3339 time such as 2024-05-01T12:00:00Z")]
    Time { id: String, text: String },
    /// A value cannot be converted to JSON.
    #[error("{what} cannot be written as JSON: {source}")]
    Json {
        /// Name of the value, such as `the result`.
        what: &'static str,
        source: plumb_document::WriteError,
    },
    /// A histogram cannot be converted to HdrHistogram.
    #[error(transparent)]
    Histogram(#[from] HdrError),
    /// A query would write to the database.
    #[error("queries are read-only, and this one would write; it was not run: {sql}")]
    WouldWrite { sql: String },
    /// A query is not valid SQL, or failed.
    #[error("the query failed: {reason}; `plumb query` without a statement shows the tables")]
    Query { reason: String },
    /// A reason or note is empty, too long, or has several lines.
    #[error("a reason or note is one line of text, of at most 4096 bytes")]
    Mark,
    /// A tag is empty, or contains characters that would break lists of tags.
    #[error("invalid tag {tag:?}: a tag is not empty and contains no comma, space or control character")]
    Tag { tag: String },
}

impl From<OutputError> for StoreError {
    fn from(error: OutputError) -> StoreError {
        match error {
            OutputError::Io { path, source, .. } => StoreError::Open { path, reason: source.to_string() },
            refusal => StoreError::Output(refusal),
        }
    }
}

impl StoreError {
    /// Returns `true` if the storage of the database is full.
    pub fn is_full(&self) -> bool {
        let StoreError::Sqlite { source, .. } = self else { return false };
        // If there is no space even for the index of the log, SQLite reports an I/O error.
        let no_index =
            source.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE);
        no_index || source.sqlite_error_code() == Some(ErrorCode::DiskFull)
    }

    /// Returns `true` if the database accepts no writes at the moment: it is locked, full, read-only, damaged or missing.
    pub(crate) fn is_database_unavailable(&self) -> bool {
        match self {
            StoreError::Sqlite { source, .. } => !matches!(
                source.sqlite_error_code(),
                Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
            ),
            StoreError::Open { .. }
            | StoreError::Output(_)
            | StoreError::Corrupt { .. }
            | StoreError::Foreign { .. }
            | StoreError::Newer { .. }
            | StoreError::Busy { .. } => true,
            _ => false,
        }
    }
}
