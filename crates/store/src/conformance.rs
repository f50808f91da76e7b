//! Conformance of file systems, stored as printed, with a row for each case so that SQL can compare them.

use crate::open::Durability;
use crate::time::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::{Conformance, PosixOutcome};
use rusqlite::{Transaction, params};

/// A conformance report, prepared for a transaction.
pub(crate) struct ConformanceIn<'a> {
    conformance: &'a Conformance,
    body: String,
}

impl<'a> ConformanceIn<'a> {
    pub(crate) fn new(conformance: &'a Conformance) -> Result<ConformanceIn<'a>, StoreError> {
        let body = canonical::text(&canonical::value("the conformance report", conformance)?);
        Ok(ConformanceIn { conformance, body })
    }

    pub(crate) fn id(&self) -> &str {
        &self.conformance.id
    }

    pub(crate) fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let conformance = self.conformance;
        let at = nanos(Timestamp::now());
        let Conformance { id, path, filesystem, kernel, user, level, seconds, .. } = conformance;
        let count = |outcome| conformance.count(outcome) as i64;
        let counts = [conformance.failures() as i64, count(PosixOutcome::Pass), count(PosixOutcome::Skip)];
        transaction.execute(
            "INSERT INTO conformance (id, tested_at, path, filesystem, kernel, user, level, failures, passed, skipped, seconds, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![id, at, path, filesystem, kernel, user, level, counts[0], counts[1], counts[2], seconds, self.body],
        )?;
        let mut insert = transaction.prepare(
            "INSERT INTO conformance_case (conformance_id, name, level, outcome, expected, got, reason)
             VALUES (?1, ?2, ?3, ?4, nullif(?5, ''), nullif(?6, ''), nullif(?7, ''))",
        )?;
        for case in &conformance.cases {
            let outcome = case.outcome.name();
            insert.execute(params![id, case.id, case.level, outcome, case.expected, case.got, case.reason])?;
        }
        Ok(())
    }
}

impl Store {
    /// Stores the result of `plumb posix` under its id.
    pub fn save_conformance(&mut self, conformance: &Conformance) -> Result<(), StoreError> {
        let row = ConformanceIn::new(conformance)?;
        self.write("storing a conformance report", Durability::Power, |transaction| row.write(transaction))
    }
}
