//! Queries from users: one statement, in a transaction that cannot write, with limits on time and memory.

use crate::ShareError;
use plumb_store::{QueryCell, QueryLimits, QueryTable, StoreError};
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::Type;
use postgres::{Client, Row, Transaction};

/// SQLSTATE of a statement that the server cancelled, here only for its time limit.
const QUERY_CANCELED: &str = "57014";

/// Runs a statement that only reads.
///
/// The statement becomes a table of another one, which turns every column into text. So it cannot be a command, nor end the
/// transaction; the transaction keeps functions from writing, and the server's rights do the rest.
pub(crate) fn run(
    client: &mut Client,
    destination: &str,
    sql: &str,
    limits: &QueryLimits,
) -> Result<QueryTable, StoreError> {
    let failed = |error: postgres::Error| query_error(&error, destination, limits);
    let mut transaction = client.build_transaction().read_only(true).start().map_err(failed)?;
    let millis = limits.time.as_millis().clamp(1, i32::MAX as u128);
    transaction.batch_execute(&format!("SET LOCAL statement_timeout = {millis}")).map_err(failed)?;
    let table = table_of(&mut transaction, sql.trim().trim_end_matches(';'), limits, &failed)?;
    transaction.rollback().map_err(failed)?;
    Ok(table)
}

fn table_of(
    transaction: &mut Transaction<'_>,
    sql: &str,
    limits: &QueryLimits,
    failed: &impl Fn(postgres::Error) -> StoreError,
) -> Result<QueryTable, StoreError> {
    let statement = transaction.prepare(sql).map_err(failed)?;
    let columns: Vec<String> = statement.columns().iter().map(|column| column.name().to_owned()).collect();
    let types: Vec<Type> = statement.columns().iter().map(|column| column.type_().clone()).collect();
    if columns.is_empty() || !statement.params().is_empty() {
        return Err(match columns.is_empty() {
            true => StoreError::WouldWrite { sql: sql.to_owned() },
            false => StoreError::Query { reason: "a statement has no parameters here".to_owned() },
        });
    }
    let names: Vec<String> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
    // One character more than the limit shows that a value was cut.
    let texts: Vec<String> =
        names.iter().map(|name| format!("left({name}::text, {})", u64::from(limits.value_bytes) + 1)).collect();
    let wrapped = format!("SELECT {} FROM (\n{sql}\n) AS answer ({})", texts.join(", "), names.join(", "));
    let mut table = QueryTable { columns, rows: Vec::new() };
    let mut bytes = 0;
    // Rows arrive one by one, so that an answer beyond the limit does not fill the memory.
    let mut rows = transaction.query_raw(wrapped.as_str(), std::iter::empty::<&str>()).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let cells = cells_of(&row, &types, limits, failed)?;
        bytes += cells.iter().map(QueryCell::bytes).sum::<u64>();
        if bytes > limits.answer_bytes {
            let limit = format!("{} MiB", limits.answer_bytes >> 20);
            return Err(StoreError::QuerySize { what: "the answer", limit });
        }
        table.rows.push(cells);
    }
    Ok(table)
}

fn cells_of(
    row: &Row,
    types: &[Type],
    limits: &QueryLimits,
    failed: &impl Fn(postgres::Error) -> StoreError,
) -> Result<Vec<QueryCell>, StoreError> {
    let mut cells = Vec::with_capacity(types.len());
    for (at, of) in types.iter().enumerate() {
        let text: Option<&str> = row.try_get(at).map_err(failed)?;
        if text.is_some_and(|text| text.len() > limits.value_bytes as usize) {
            let limit = format!("{} MiB", limits.value_bytes >> 20);
            return Err(StoreError::QuerySize { what: "a value", limit });
        }
        cells.push(text.map_or(QueryCell::Null, |text| cell(text, of)));
    }
    Ok(cells)
}

/// Returns the cell of a value as the server prints it.
fn cell(text: &str, of: &Type) -> QueryCell {
    let of_text = || QueryCell::Text(text.to_owned());
    match *of {
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => text.parse().map_or_else(|_| of_text(), QueryCell::Integer),
        Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC => text.parse().map_or_else(|_| of_text(), QueryCell::Real),
        Type::BYTEA => bytes(text).map_or_else(of_text, QueryCell::Blob),
        _ => of_text(),
    }
}

/// Parses `\x0a0b`.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?;
    (0..digits.len())
        .step_by(2)
        .map(|at| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect()
}

/// Distinguishes a faulty statement and an exceeded limit from a lost connection.
fn query_error(error: &postgres::Error, destination: &str, limits: &QueryLimits) -> StoreError {
    match error.as_db_error() {
        Some(db_error) if db_error.code().code() == QUERY_CANCELED => StoreError::QueryTime { time: limits.time },
        Some(db_error) => {
            let text: String = db_error.message().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            StoreError::Query { reason: text }
        }
        None => ShareError::server(destination, "a query", error).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: numbers stay numbers, and what is not one is printed as the server prints it.
    #[test]
    fn values_are_read_by_their_type() {
        assert_eq!(cell("-7", &Type::INT8), QueryCell::Integer(-7));
        assert_eq!(cell("0.5", &Type::NUMERIC), QueryCell::Real(0.5));
        assert_eq!(cell("-Infinity", &Type::FLOAT8), QueryCell::Real(f64::NEG_INFINITY));
        assert_eq!(cell("\\x0aff", &Type::BYTEA), QueryCell::Blob(vec![10, 255]));
        assert_eq!(cell("\\x0", &Type::BYTEA), QueryCell::Text("\\x0".to_owned()));
        assert_eq!(cell("7", &Type::TEXT), QueryCell::Text("7".to_owned()));
    }
}
