//! What can go wrong with a store.

use plumb_guard::OutputError;
use plumb_result::histogram::HdrError;
use rusqlite::ErrorCode;
use std::path::PathBuf;

/// Why the store could not do what it was asked. None of these loses anything that was stored before.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened or made.
    #[error("cannot open the database {}: {reason}; name another file with --db", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The path is not usable for a database, such as a device or a link.
    #[error(transparent)]
    Output(OutputError),
    /// The file is damaged, or is no database.
    #[error(
        "{} is damaged or not a database ({reason}); it was not changed. Move it away to start a new one, restore a \
         backup, or try `sqlite3 FILE .recover`",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// The file is a database of another program.
    #[error("{} is another program's database; name another file with --db", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was made by a later version.
    #[error(
        "{} was made by a newer Plumb (schema {found}, this one supports up to {known}); use that version, or name \
         another file with --db",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The latest schema of this program.
        known: i64,
    },
    /// Another process holds the write lock for longer than [`crate::BUSY_TIMEOUT`].
    #[error("{} is locked by another process ({doing} waited in vain)", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
    },
    /// SQLite reports anything else.
    #[error("{}: {doing} failed: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// No run has this id.
    #[error("no run {text:?} in {}; `plumb list` shows the stored runs", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
    },
    /// Several runs have this beginning or end.
    #[error("{text:?} is ambiguous: {}; give more of the id", candidates.join(", "))]
    Ambiguous {
        /// What was looked for.
        text: String,
        /// The newest runs that match, at most [`crate::CANDIDATES_MAX`].
        candidates: Vec<String>,
    },
    /// No study has this id or name.
    #[error("no study {text:?} in {}; `plumb study list` shows the stored studies", path.display())]
    NoStudy {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
    },
    /// A living process conducts the study.
    #[error("study {id} is being run by another process; wait for it, or stop it")]
    StudyRuns {
        /// The study.
        id: String,
    },
    /// The run has begun before, or is still running.
    #[error("run {id} is already {status}")]
    Begun {
        /// The run.
        id: String,
        /// Its status.
        status: String,
    },
    /// The run has a result, which differs from the one to be imported.
    #[error("run {id} is stored with another result, which was left as it is")]
    OtherResult {
        /// The run.
        id: String,
    },
    /// The run is there, and has no result.
    #[error("run {id} has no result: it is {status}{}", reason.as_ref().map(|r| format!(" ({r})")).unwrap_or_default())]
    NoResult {
        /// The run.
        id: String,
        /// Its status.
        status: String,
        /// Why, where it is known.
        reason: Option<String>,
    },
    /// A query exceeded its time limit.
    #[error("the query was ended after {:?}, its limit; make it read less, or set --timeout", time)]
    QueryTime {
        /// The time limit of the query.
        time: std::time::Duration,
    },
    /// A query exceeded a memory limit.
    #[error("{what} of the query is larger than {limit}, its limit; select less, or add LIMIT")]
    QuerySize {
        /// The part that is too large: `a value`, `the answer` or `its work`.
        what: &'static str,
        /// The limit, with its unit.
        limit: String,
    },
    /// A stored blob or document cannot be read.
    #[error("{}: {what} of {id} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Run or comparison.
        id: String,
        /// Which part.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// A time is not RFC 3339.
    #[error("run {id}: {text:?} is not an RFC 3339 time such as 2024-05-01T12:00:00Z")]
    Time {
        /// The run.
        id: String,
        /// What was given.
        text: String,
    },
    /// A value does not turn into JSON.
    #[error("{what} cannot be written as JSON: {source}")]
    Json {
        /// What it was.
        what: &'static str,
        /// Why.
        source: plumb_document::WriteError,
    },
    /// A histogram does not turn into HdrHistogram.
    #[error(transparent)]
    Histogram(#[from] HdrError),
    /// A query would write.
    #[error("queries are read-only, and this one would write; it was not run: {sql}")]
    WouldWrite {
        /// The query.
        sql: String,
    },
    /// A query is not valid SQL, or fails.
    #[error("the query failed: {reason}; `SELECT name, sql FROM sqlite_schema` shows the tables")]
    Query {
        /// What SQLite said.
        reason: String,
    },
    /// A tag is empty, or has characters that would break lists of tags.
    #[error("invalid tag {tag:?}: a tag is not empty and contains no comma, space or control character")]
    Tag {
        /// What was given.
        tag: String,
    },
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
    /// Whether the storage that the database lies on has no room left.
    pub fn is_full(&self) -> bool {
        let StoreError::Sqlite { source, .. } = self else { return false };
        // Where not even the index of the log has room, SQLite calls it an I/O error.
        let no_index =
            source.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE);
        no_index || source.sqlite_error_code() == Some(ErrorCode::DiskFull)
    }

    /// Whether the database takes nothing at the moment, whatever it is: it is locked, full, read-only, damaged or not there.
    pub(crate) fn is_of_database(&self) -> bool {
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
