//! Prepared statements.

use rusqlite::{Params, Transaction};

/// Executes a cached prepared statement. The start and the end of a run share some statements.
pub(crate) fn execute(transaction: &Transaction<'_>, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
    transaction.prepare_cached(sql)?.execute(values)
}
