//! Statements that are prepared once a connection.

use rusqlite::{Params, Transaction};

/// Executes a statement that is prepared once: a run's beginning and its end have some in common.
pub(crate) fn execute(transaction: &Transaction<'_>, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
    transaction.prepare_cached(sql)?.execute(values)
}
