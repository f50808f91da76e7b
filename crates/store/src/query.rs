//! Anybody's SQL, to read with.

use crate::open::BUSY_TIMEOUT;
use crate::{Store, StoreError};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde::{Serialize, Serializer};

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
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

impl Serialize for Cell {
    /// As JSON has it; a blob as hex digits.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Null => serializer.serialize_none(),
            Cell::Integer(number) => serializer.serialize_i64(*number),
            Cell::Real(number) => serializer.serialize_f64(*number),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Blob(bytes) => {
                serializer.collect_str(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            }
        }
    }
}

impl Store {
    /// Runs one statement that only reads, on a connection that cannot write.
    ///
    /// Errors: [`StoreError::WouldWrite`] for a statement that changes anything, [`StoreError::Query`] for one that is
    /// wrong, or more than one.
    pub fn query(&self, sql: &str) -> Result<Table, StoreError> {
        if self.in_file {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let reader =
                Connection::open_with_flags(&self.path, flags).map_err(self.failed("opening it for a query"))?;
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

fn read(connection: &Connection, sql: &str) -> Result<Table, StoreError> {
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
    Ok(Table { columns, rows: found })
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(bytes) => Cell::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
    }
}
