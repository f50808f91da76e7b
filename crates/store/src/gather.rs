//! Studies whose plots were measured by several processes at once, each with a database of its own.

use crate::open::Durability;
use crate::{ResultStore, Store, StoreError, StudyPlotRow, StudyRunEnd, StudyRunRow};
use rusqlite::params;

/// Numbers of plots that a store took of a study from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatheredPlots {
    /// Plots of which at least one run was new here.
    pub taken: u32,
    /// Plots with a run that had not ended there. They are left out: the runs of a plot share its build.
    pub unfinished: u32,
}

/// An earlier result of a run, which checks rejected.
struct RejectedBefore {
    attempt: u32,
    reason: Option<String>,
    run: Option<String>,
}

impl Store {
    /// Takes every finished plot of a study from another store, except runs that have ended here. Both studies must have the
    /// same plan. May be repeated, also after it was interrupted.
    ///
    /// # Errors
    /// Returns an error if a result cannot be read there or stored here.
    pub fn take_study_plots(&mut self, id: &str, part: &Store, part_id: &str) -> Result<GatheredPlots, StoreError> {
        let mut gathered = GatheredPlots::default();
        let here = self.study_runs(id)?;
        let there = part.study_runs(part_id)?;
        let has_ended = |seq: u32| here.iter().any(|run| run.seq == seq && run.status.has_ended());
        for plot in part.study_plots(part_id)? {
            let runs: Vec<&StudyRunRow> = there.iter().filter(|run| run.plot == plot.seq).collect();
            if runs.iter().all(|run| !run.status.has_ended()) {
                continue;
            }
            if runs.iter().any(|run| !run.status.has_ended()) {
                gathered.unfinished += 1;
                continue;
            }
            let missing: Vec<&StudyRunRow> = runs.into_iter().filter(|run| !has_ended(run.seq)).collect();
            for run in &missing {
                self.take_study_run(id, part, part_id, run)?;
            }
            if !missing.is_empty() {
                self.take_study_plot(id, &plot)?;
                gathered.taken += 1;
            }
        }
        Ok(gathered)
    }

    fn take_study_run(&mut self, id: &str, part: &Store, part_id: &str, row: &StudyRunRow) -> Result<(), StoreError> {
        let result = row.run_id.as_deref().map(|run| part.get(run)).transpose()?;
        let conformance = row.conformance_id.as_deref().map(|report| part.conformance(report)).transpose()?;
        let (command, dialect) = row.run_id.as_deref().map(|run| part.typed(run)).transpose()?.unwrap_or_default();
        for RejectedBefore { attempt, reason, run } in part.rejected_before(part_id, row.seq)? {
            if let Some(run) = &run {
                self.import(&part.get(run)?)?;
            }
            self.write("gathering a study", Durability::Process, |transaction| {
                transaction.execute(
                    "INSERT OR IGNORE INTO study_rejected (study_id, seq, attempt, reason, run_id) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![id, row.seq, attempt, reason, run],
                )?;
                Ok(())
            })?;
        }
        self.write("gathering a study", Durability::Process, |transaction| {
            transaction.execute(
                "UPDATE study_run SET attempts = ?3, losses = ?4, build = ?5 WHERE study_id = ?1 AND seq = ?2",
                params![id, row.seq, row.attempts, row.losses, row.build],
            )?;
            Ok(())
        })?;
        let end = StudyRunEnd {
            status: row.status,
            reason: row.reason.as_deref(),
            exit_code: row.exit_code,
            result: result.as_ref(),
            conformance: conformance.as_ref(),
            command: &command,
            dialect: dialect.as_deref(),
            devices: row.devices.as_deref(),
            seconds: row.seconds.unwrap_or(0.0),
        };
        self.end_study_run(id, row.seq, &end)
    }

    /// Returns the command of a run, and the tool whose language it is in.
    fn typed(&self, run: &str) -> Result<(String, Option<String>), StoreError> {
        let sql = "SELECT coalesce(command, ''), dialect FROM run WHERE id = ?1";
        let row = self.connection.query_row(sql, [run], |row| Ok((row.get(0)?, row.get(1)?)));
        row.map_err(self.failed("reading a run"))
    }

    fn rejected_before(&self, id: &str, seq: u32) -> Result<Vec<RejectedBefore>, StoreError> {
        let failed = self.failed("reading the runs of a study");
        let sql =
            "SELECT attempt, reason, run_id FROM study_rejected WHERE study_id = ?1 AND seq = ?2 ORDER BY attempt";
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        let row = |row: &rusqlite::Row<'_>| {
            Ok(RejectedBefore { attempt: row.get(0)?, reason: row.get(1)?, run: row.get(2)? })
        };
        statement.query_map(params![id, seq], row).and_then(Iterator::collect).map_err(&failed)
    }

    fn take_study_plot(&mut self, id: &str, plot: &StudyPlotRow) -> Result<(), StoreError> {
        self.write("gathering a study", Durability::Power, |transaction| {
            transaction.execute(
                "UPDATE study_plot SET state = ?3, builds = ?4, reason = ?5, build_s = ?6, take_down_s = ?7, built = ?8
                 WHERE study_id = ?1 AND seq = ?2",
                params![
                    id,
                    plot.seq,
                    plot.state.name(),
                    plot.builds,
                    plot.reason,
                    plot.build_s,
                    plot.take_down_s,
                    plot.built
                ],
            )?;
            Ok(())
        })
    }
}
