//! Retention: what is older than a date, and its deletion by the owner.

use crate::{ShareError, SharedStore};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Start before which runs are old, Unix nanoseconds.
    pub before_ns: i64,
    /// Tags whose runs stay.
    pub keep: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OldRows {
    pub runs: u64,
    /// Hosts that measured these runs.
    pub hosts: u64,
    /// Comparisons, sweeps, ladders, conformance reports and studies that are old and have no other run.
    pub documents: u64,
}

const OLD_RUN: &str =
    "run.started_at < $1 AND NOT EXISTS (SELECT FROM run_tag WHERE run_id = run.id AND tag = ANY ($2))";

/// Selects old documents none of whose runs stays.
const OLD_DOCUMENT: &str = "document.made_at < $1 AND NOT EXISTS (SELECT FROM run WHERE run.id = ANY (document.runs)
   AND NOT (run.started_at < $1 AND NOT EXISTS (SELECT FROM run_tag WHERE run_id = run.id AND tag = ANY ($2))))";

impl SharedStore {
    /// Counts the rows that [`SharedStore::delete_old`] would delete.
    ///
    /// # Errors
    /// Fails if the server does.
    pub fn count_old(&self, retention: &Retention) -> Result<OldRows, ShareError> {
        let sql = format!(
            "SELECT (SELECT count(*) FROM run WHERE {OLD_RUN}),
               (SELECT count(DISTINCT machine_id) FROM run JOIN environment ON environment.id = environment_id
                WHERE {OLD_RUN}),
               (SELECT count(*) FROM document WHERE {OLD_DOCUMENT})"
        );
        let values: &[&(dyn postgres::types::ToSql + Sync)] = &[&retention.before_ns, &retention.keep];
        let row = self.client.borrow_mut().query_one(&sql, values).map_err(self.failed("counting old runs"))?;
        let count = |at: usize| u64::try_from(row.get::<_, i64>(at)).unwrap_or(0);
        Ok(OldRows { runs: count(0), hosts: count(1), documents: count(2) })
    }

    /// Deletes old runs with all their rows, old documents, and machines without runs: all or nothing.
    ///
    /// # Errors
    /// Returns [`ShareError::NotOwner`] if this user may not delete runs.
    pub fn delete_old(&mut self, retention: &Retention) -> Result<OldRows, ShareError> {
        let may = "SELECT has_table_privilege('plumb.run', 'DELETE')";
        let failed = self.failed("deleting old runs");
        if !self.client.get_mut().query_one(may, &[]).map_err(&failed)?.get::<_, bool>(0) {
            return Err(ShareError::NotOwner { destination: self.destination.clone() });
        }
        let old = self.count_old(retention)?;
        let values: &[&(dyn postgres::types::ToSql + Sync)] = &[&retention.before_ns, &retention.keep];
        let mut transaction = self.client.get_mut().transaction().map_err(&failed)?;
        // A million runs take longer than any other statement.
        transaction.batch_execute("SET LOCAL statement_timeout = '2h'").map_err(&failed)?;
        for sql in [format!("DELETE FROM document WHERE {OLD_DOCUMENT}"), format!("DELETE FROM run WHERE {OLD_RUN}")] {
            transaction.execute(&sql, values).map_err(&failed)?;
        }
        // A push that is going on holds the rows that it refers to.
        transaction
            .batch_execute(
                "DELETE FROM target WHERE NOT EXISTS (SELECT FROM run_target WHERE target_id = target.id);
                 DELETE FROM environment WHERE NOT EXISTS (SELECT FROM run WHERE environment_id = environment.id)
                   AND NOT EXISTS (SELECT FROM target WHERE environment_id = environment.id);
                 DELETE FROM machine WHERE NOT EXISTS (SELECT FROM environment WHERE machine_id = machine.id);",
            )
            .map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(old)
    }
}
