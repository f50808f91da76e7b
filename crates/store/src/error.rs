//! What can go wrong with a store.

use plumb_result::histogram::HdrError;
use std::path::PathBuf;

/// Why the store could not do what it was asked. Nothing that was stored before is lost by any of these.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened or made.
    #[error("the database {} cannot be opened: {reason}; give another file with --db", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is damaged, or is no database.
    #[error(
        "{} is damaged or no database ({reason}); it was left as it is. Move it away to begin anew, restore a copy, or \
         try `sqlite3 FILE .recover`",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// The file is a database of another program.
    #[error("{} is a database, but not one of Plumb's; give another file with --db", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was made by a later version.
    #[error(
        "{} has schema {found}, and this Plumb knows schemas up to {known}: a newer Plumb made it. Use that one, or \
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
    #[error("{}: another process has been writing for too long while {doing}; end it, or try again", path.display())]
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
    #[error("no run {text:?} in {}; `plumb list` shows what is there", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
    },
    /// Several runs have this beginning or end.
    #[error("{text:?} could be any of {}; give more of the id", candidates.join(", "))]
    Ambiguous {
        /// What was looked for.
        text: String,
        /// The newest runs that match, at most [`crate::CANDIDATES_MAX`].
        candidates: Vec<String>,
    },
    /// No study has this id or name.
    #[error("no study {text:?} in {}; `plumb study list` shows what is there", path.display())]
    NoStudy {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        text: String,
    },
    /// A living process conducts the study.
    #[error("study {id} is being conducted by another process; wait for it, or end it")]
    StudyRuns {
        /// The study.
        id: String,
    },
    /// The run has been begun before.
    #[error("run {id} is {status} already and cannot begin again; a run needs a new id")]
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
    #[error("run {id}: {text:?} is no RFC 3339 time such as 2024-05-01T12:00:00Z")]
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
    #[error("a query can only read, and this one would write; it was not run: {sql}")]
    WouldWrite {
        /// The query.
        sql: String,
    },
    /// A query is no SQL, or fails.
    #[error("the query failed: {reason}; `SELECT name, sql FROM sqlite_schema` shows the tables")]
    Query {
        /// What SQLite said.
        reason: String,
    },
    /// A tag is empty, or has characters that would break lists of tags.
    #[error("{tag:?} is no tag: a tag is not empty and has no comma, blank or control character")]
    Tag {
        /// What was given.
        tag: String,
    },
}

impl StoreError {
    /// Whether the storage that the database lies on has no room left.
    pub fn is_full(&self) -> bool {
        let StoreError::Sqlite { source, .. } = self else { return false };
        source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
    }
}
