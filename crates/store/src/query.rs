//! Anybody's SQL, to read with.

use crate::open::{BUSY_TIMEOUT, connect};
use crate::{Store, StoreError};
use plumb_document::{ToDocument, Value, WriteError};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, ToDocument)]
pub struct QueryTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<QueryCell>>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryCell {
    /// Missing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl ToDocument for QueryCell {
    /// As JSON has it; a blob as hex digits.
    fn to_document(&self) -> Result<Value, WriteError> {
        match self {
            QueryCell::Null => Ok(Value::Null),
            QueryCell::Integer(number) => number.to_document(),
            QueryCell::Real(number) => number.to_document(),
            QueryCell::Text(text) => text.to_document(),
            QueryCell::Blob(bytes) => Ok(Value::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())),
        }
    }
}

impl Store {
    /// Runs one statement that only reads, on a connection that cannot write.
    ///
    /// Errors: [`StoreError::WouldWrite`] for a statement that changes anything, [`StoreError::Query`] for one that is
    /// wrong, or more than one.
    pub fn query(&self, sql: &str) -> Result<QueryTable, StoreError> {
        if self.in_file {
            let reader = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY);
            let reader = reader.map_err(self.failed("opening it for a query"))?;
            reader.busy_timeout(BUSY_TIMEOUT).map_err(self.failed("opening it for a query"))?;
            return read(&reader, sql);
        }
        // A second connection would see another database in memory.
        let guard = |on: bool| {
            self.connection.pragma_update(None, "query_only", on).map_err(self.failed("guarding against writes"))
        };
        guard(true)?;
        let table = read(&self.connection, sql);
        guard(false)?;
        table
    }
}

fn read(connection: &Connection, sql: &str) -> Result<QueryTable, StoreError> {
    let wrong = |error: rusqlite::Error| StoreError::Query { reason: error.to_string() };
    let mut statement = connection.prepare(sql).map_err(wrong)?;
    // Statements that SQLite counts as reading and that yet change something (ATTACH, BEGIN, most PRAGMAs) return no
    // columns.
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(StoreError::WouldWrite { sql: sql.to_owned() });
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = Vec::new();
    let mut rows = statement.query([]).map_err(wrong)?;
    while let Some(row) = rows.next().map_err(wrong)? {
        let cells = (0..columns.len()).map(|i| row.get_ref(i).map(cell)).collect::<Result<_, _>>().map_err(wrong)?;
        found.push(cells);
    }
    drop(rows);
    Ok(QueryTable { columns, rows: found })
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
