//! Read-only SQL queries from users, with limits on time and memory.

use crate::open::{BUSY_TIMEOUT, connect};
use crate::{Store, StoreError};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement};
use serde::{Serialize, Serializer};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time and memory limits of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    /// Time after which the query is interrupted.
    pub time: Duration,
    /// Size of the largest answer, in bytes of memory.
    pub answer_bytes: u64,
    /// Length of the longest text or blob, in bytes.
    pub value_bytes: u32,
    /// Memory that SQLite may use for sorting and intermediate tables, in bytes.
    pub memory_bytes: u64,
}

impl Default for QueryLimits {
    fn default() -> QueryLimits {
        QueryLimits {
            time: Duration::from_secs(30),
            answer_bytes: 256 << 20,
            value_bytes: 64 << 20,
            memory_bytes: 512 << 20,
        }
    }
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryTable {
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<QueryCell>>,
}

/// One cell of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryCell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl QueryCell {
    /// Returns the memory that the cell takes, in bytes.
    pub fn bytes(&self) -> u64 {
        let further = match self {
            QueryCell::Text(text) => text.len(),
            QueryCell::Blob(bytes) => bytes.len(),
            QueryCell::Null | QueryCell::Integer(_) | QueryCell::Real(_) => 0,
        };
        (size_of::<QueryCell>() + further) as u64
    }
}

impl Serialize for QueryCell {
    /// Serializes the cell as the matching JSON type, and a blob as hex digits.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            QueryCell::Null => serializer.serialize_none(),
            QueryCell::Integer(number) => number.serialize(serializer),
            QueryCell::Real(number) => number.serialize(serializer),
            QueryCell::Text(text) => text.serialize(serializer),
            QueryCell::Blob(bytes) => {
                serializer.serialize_str(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            }
        }
    }
}

impl Store {
    /// Runs one read-only statement on a read-only connection.
    ///
    /// # Errors
    /// Returns [`StoreError::WouldWrite`] for a statement that changes anything, [`StoreError::Query`] for invalid SQL or more
    /// than one statement, and [`StoreError::QueryTime`] or [`StoreError::QuerySize`] if a limit is exceeded.
    pub fn query_within(&self, sql: &str, limits: &QueryLimits) -> Result<QueryTable, StoreError> {
        if self.in_file {
            let reader = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY);
            let reader = reader.map_err(self.failed("opening it for a query"))?;
            reader.busy_timeout(BUSY_TIMEOUT).map_err(self.failed("opening it for a query"))?;
            return read(&reader, sql, limits);
        }
        // A second connection would open a different in-memory database.
        let guard = |on: bool| {
            self.connection.pragma_update(None, "query_only", on).map_err(self.failed("guarding against writes"))
        };
        guard(true)?;
        let table = read(&self.connection, sql, limits);
        guard(false)?;
        table
    }
}

fn read(connection: &Connection, sql: &str, limits: &QueryLimits) -> Result<QueryTable, StoreError> {
    let query_error =
        |error: rusqlite::Error| limit_error(&error, limits).unwrap_or(StoreError::Query { reason: error.to_string() });
    let before = set_limits(connection, limits).map_err(query_error)?;
    let (done, ended) = channel::<()>();
    let interrupt = connection.get_interrupt_handle();
    let time = limits.time;
    let table = std::thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                interrupt.interrupt();
            }
        });
        let table = table_of(connection, sql, limits, &query_error);
        drop(done);
        table
    });
    // Restore the length limit for other uses of this connection.
    let _ = connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, before);
    table
}

/// Sets the limits of a connection. Returns its previous `SQLITE_LIMIT_LENGTH`.
fn set_limits(connection: &Connection, limits: &QueryLimits) -> rusqlite::Result<i32> {
    // Sort in memory, which is limited, so that a query cannot fill the disk.
    connection.pragma_update(None, "temp_store", "memory")?;
    // This pragma returns the new limit as a row, so `execute` would fail.
    connection.query_row(&format!("PRAGMA hard_heap_limit = {}", limits.memory_bytes), [], |_| Ok(()))?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(limits.value_bytes).unwrap_or(i32::MAX))
}

/// Converts SQLite's error if a limit ended the statement.
fn limit_error(error: &rusqlite::Error, limits: &QueryLimits) -> Option<StoreError> {
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    match error.sqlite_error_code()? {
        ErrorCode::OperationInterrupted => Some(StoreError::QueryTime { time: limits.time }),
        ErrorCode::TooBig => Some(StoreError::QuerySize { what: "a value", limit: mib(limits.value_bytes.into()) }),
        ErrorCode::OutOfMemory => {
            Some(StoreError::QuerySize { what: "the working memory", limit: mib(limits.memory_bytes) })
        }
        _ => None,
    }
}

fn table_of(
    connection: &Connection,
    sql: &str,
    limits: &QueryLimits,
    query_error: &impl Fn(rusqlite::Error) -> StoreError,
) -> Result<QueryTable, StoreError> {
    let mut statement = connection.prepare(sql).map_err(query_error)?;
    // Statements that SQLite counts as reading and that yet change something (ATTACH, BEGIN, most PRAGMAs) return no
    // columns.
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(StoreError::WouldWrite { sql: sql.to_owned() });
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = rows_of(&mut statement, columns.len(), limits, query_error)?;
    Ok(QueryTable { columns, rows })
}

fn rows_of(
    statement: &mut Statement<'_>,
    columns: usize,
    limits: &QueryLimits,
    query_error: &impl Fn(rusqlite::Error) -> StoreError,
) -> Result<Vec<Vec<QueryCell>>, StoreError> {
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut rows = statement.query([]).map_err(query_error)?;
    while let Some(row) = rows.next().map_err(query_error)? {
        let cells: Vec<QueryCell> =
            (0..columns).map(|i| row.get_ref(i).map(cell)).collect::<Result<_, _>>().map_err(query_error)?;
        bytes += cells.iter().map(QueryCell::bytes).sum::<u64>();
        if bytes > limits.answer_bytes {
            let limit = format!("{} MiB", limits.answer_bytes >> 20);
            return Err(StoreError::QuerySize { what: "the answer", limit });
        }
        found.push(cells);
    }
    Ok(found)
}

fn cell(value: ValueRef<'_>) -> QueryCell {
    match value {
        ValueRef::Null => QueryCell::Null,
        ValueRef::Integer(number) => QueryCell::Integer(number),
        ValueRef::Real(number) => QueryCell::Real(number),
        ValueRef::Text(bytes) => QueryCell::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => QueryCell::Blob(bytes.to_vec()),
    }
}
