//! Recovery of killed runs: they are marked as aborted and keep the intervals from their heartbeats.

use crate::open::Durability;
use crate::owner::{KILLED, Owner};
use crate::write::write_intervals;
use crate::{Store, StoreError};
use plumb_document::json;
use plumb_result::Interval;
use rusqlite::params;
use std::collections::BTreeMap;

/// A run that [`Store::recover`] has marked as aborted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredRun {
    pub id: String,
    /// Number of intervals (seconds) that its heartbeats stored, over all phases.
    pub intervals: usize,
}

struct RecoveredPhase {
    name: String,
    intervals: Vec<Interval>,
}

impl Store {
    /// Marks runs whose process is gone as `aborted`, and turns their heartbeats into series. Runs of other hosts,
    /// other containers and living processes are left alone.
    pub fn recover(&mut self) -> Result<Vec<RecoveredRun>, StoreError> {
        let failed = self.failed("looking for runs that were killed");
        let mut statement = self
            .connection
            .prepare("SELECT id, owner FROM run WHERE status = 'running' ORDER BY id")
            .map_err(&failed)?;
        let running: Vec<(String, Option<String>)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .map_err(&failed)?;
        drop(statement);
        let mut recovered = Vec::new();
        for (id, owner) in running {
            if owner.is_some_and(|owner| Owner::is_dead(&owner)) {
                let intervals = self.heartbeats(&id)?.values().map(|phase| phase.intervals.len()).sum();
                self.end_without_result(&id, "aborted", KILLED)?;
                recovered.push(RecoveredRun { id, intervals });
            }
        }
        Ok(recovered)
    }

    /// Ends a run that has no result, and turns its heartbeats into series.
    pub(crate) fn end_without_result(
        &mut self,
        run: &str,
        status: &'static str,
        reason: &str,
    ) -> Result<(), StoreError> {
        let phases = self.heartbeats(run)?;
        self.write("ending a run", Durability::Power, |transaction| {
            // In the meantime, another process may have recovered the run, or it may have ended.
            let changed = transaction.execute(
                "UPDATE run SET status = ?2, reason = ?3, owner = NULL WHERE id = ?1 AND status = 'running'",
                params![run, status, reason],
            )?;
            if changed == 0 {
                return Ok(());
            }
            for (seq, phase) in &phases {
                transaction.execute(
                    "INSERT INTO phase (run_id, seq, name) VALUES (?1, ?2, ?3)",
                    params![run, seq, phase.name],
                )?;
                write_intervals(run, *seq, &phase.intervals, transaction)?;
            }
            transaction.execute("DELETE FROM heartbeat WHERE run_id = ?1", [run])?;
            Ok(())
        })
    }

    /// Returns the intervals from a run's heartbeats, by phase number.
    fn heartbeats(&self, run: &str) -> Result<BTreeMap<i64, RecoveredPhase>, StoreError> {
        let failed = self.failed("reading heartbeats");
        let mut statement = self
            .connection
            .prepare("SELECT phase, phase_name, intervals FROM heartbeat WHERE run_id = ?1 ORDER BY seq")
            .map_err(&failed)?;
        let mut rows = statement.query([run]).map_err(&failed)?;
        let mut phases: BTreeMap<i64, RecoveredPhase> = BTreeMap::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            let read = || Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?));
            let (seq, name, text): (i64, String, String) = read().map_err(&failed)?;
            let intervals: Vec<Interval> =
                json::from_str(&text).map_err(|error| self.unreadable(run, "a heartbeat", error))?;
            phases.entry(seq).or_insert(RecoveredPhase { name, intervals: Vec::new() }).intervals.extend(intervals);
        }
        Ok(phases)
    }
}
