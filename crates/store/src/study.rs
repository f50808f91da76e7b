//! Studies: the frozen plan, and each run, committed with its result as it ends.

use crate::conformance::ConformanceIn;
use crate::open::Durability;
use crate::owner::{Life, Owner};
use crate::time::{nanos, rfc3339};
use crate::write::ResultIn;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::{Conformance, Measurement, RunResult};
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A study to be stored.
#[derive(Debug, Clone, Copy)]
pub struct StudyIn<'a> {
    /// Id of the study, a UUIDv7.
    pub id: &'a str,
    pub name: &'a str,
    pub plan_hash: &'a str,
    /// The plan, as JSON.
    pub plan: &'a str,
    /// Absolute path of the study file.
    pub file: &'a str,
    /// Content of the study file.
    pub text: &'a str,
    /// Options of the command line, as JSON.
    pub options: &'a str,
    pub plots: u32,
    /// The plot of each run, in the plan's order.
    pub runs: &'a [u32],
}

/// A study in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyRow {
    /// Id of the study, a UUIDv7.
    pub id: String,
    pub name: String,
    pub plan_hash: String,
    /// Path of the study file.
    pub file: String,
    /// Time when the study was begun, RFC 3339, UTC.
    pub created_at: String,
    /// Whether every run has ended, successfully or not.
    pub done: bool,
    /// Whether a living process is conducting it now.
    pub running: bool,
    /// Number of all planned runs.
    pub runs: u32,
    /// Number of runs that have ended, successfully or not.
    pub ended: u32,
    /// Number of ended runs that failed.
    pub failed: u32,
    /// Number of ended runs that the checks rejected.
    pub rejected: u32,
}

/// A study as it was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredStudy {
    pub row: StudyRow,
    /// The frozen plan, as JSON.
    pub plan: String,
    /// Content of the study file.
    pub text: String,
    /// Options of the command line, as JSON.
    pub options: String,
}

/// A study with all its rows, in the form that another database takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedStudy {
    pub row: StudyRow,
    /// The frozen plan, as JSON.
    pub plan: String,
    /// Content of the study file.
    pub text: String,
    /// Options of the command line, as JSON.
    pub options: String,
    pub runs: Vec<StudyRunRow>,
    pub plots: Vec<StudyPlotRow>,
    /// Every run with a result, also those that were rejected and repeated.
    pub places: Vec<SharedPlace>,
}

/// A run of a study, by its position in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedPlace {
    pub run: String,
    pub seq: u32,
}

/// State of a run of a study.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum StudyRunStatus {
    /// Still to come.
    Planned,
    /// In progress, or interrupted.
    Running,
    /// Has a result that the checks accept.
    Done,
    /// Has a result that the checks reject.
    Rejected,
    /// Has no result that counts; the reason is stored.
    Failed,
    /// An optional repetition that was not needed.
    Skipped,
}

impl StudyRunStatus {
    /// Returns the name that is stored and printed.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns `true` if nothing is left to do for the run.
    pub const fn has_ended(self) -> bool {
        !matches!(self, StudyRunStatus::Planned | StudyRunStatus::Running)
    }
}

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum StudyPlotState {
    /// Still to come.
    Planned,
    /// Being built or measured, or interrupted.
    Running,
    /// All its runs have ended.
    Done,
    /// The plot could not be built.
    Failed,
}

impl StudyPlotState {
    /// Returns the name that is stored and printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A run of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyRunRow {
    /// Position in the plan, from 0.
    pub seq: u32,
    pub plot: u32,
    pub status: StudyRunStatus,
    /// Number of times that it was begun.
    pub attempts: u32,
    /// Number of attempts in which the host was lost.
    pub losses: u32,
    /// Number of earlier results that were rejected; they are kept in addition to the last one.
    pub rejected_before: u32,
    /// Build of its plot on which it ran, from 1.
    pub build: Option<u32>,
    /// Reason why it failed, was rejected, or is to be run again.
    pub reason: Option<String>,
    /// Exit code of the command.
    pub exit_code: Option<i32>,
    /// Id of its result in the store.
    pub run_id: Option<String>,
    /// Id of its conformance report in the store, if it tested conformance.
    pub conformance_id: Option<String>,
    /// Activity of each block device during the run, as JSON.
    pub devices: Option<String>,
    /// Duration of the run, s.
    pub seconds: Option<f64>,
}

/// Position of a run within a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyPlace {
    pub study: String,
    /// Position in the plan, from 0.
    pub seq: u32,
}

/// A plot of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyPlotRow {
    /// Position in the plan, from 0.
    pub seq: u32,
    pub state: StudyPlotState,
    /// Number of times that it was built.
    pub builds: u32,
    /// Reason why it failed, or was built again.
    pub reason: Option<String>,
    /// Duration of the last build, s, including the user's commands before it.
    pub build_s: Option<f64>,
    /// Time from the end of the last run until the plot was taken down completely, s.
    pub take_down_s: Option<f64>,
    /// Commands of the last build, as JSON.
    pub built: Option<String>,
}

/// Outcome of a run of a study.
#[derive(Debug, Clone, Copy)]
pub struct StudyRunEnd<'a> {
    /// Done, rejected, failed or skipped.
    pub status: StudyRunStatus,
    /// Reason why it failed, was rejected or skipped.
    pub reason: Option<&'a str>,
    /// Exit code of the command.
    pub exit_code: Option<i32>,
    /// The result, if there is one; it is stored as a run in the same transaction.
    pub result: Option<&'a RunResult>,
    /// The conformance report, if conformance was tested; it is stored in the same transaction.
    pub conformance: Option<&'a Conformance>,
    /// The command that was run.
    pub command: &'a str,
    /// The tool whose command line was used, such as `fio`; `None` for Plumb's own.
    pub dialect: Option<&'a str>,
    /// Activity of each block device during the run, as JSON.
    pub devices: Option<&'a str>,
    /// Duration of the run, s.
    pub seconds: f64,
}

/// Selects rows of `study` with the counts of their runs.
const SELECT_STUDY: &str = "SELECT id, name, plan_hash, file, created_at, state, owner,
   (SELECT count(*) FROM study_run WHERE study_id = study.id),
   (SELECT count(*) FROM study_run WHERE study_id = study.id AND status NOT IN ('planned', 'running')),
   (SELECT count(*) FROM study_run WHERE study_id = study.id AND status = 'failed'),
   (SELECT count(*) FROM study_run WHERE study_id = study.id AND status = 'rejected'),
   plan, text, options
 FROM study";

impl Store {
    /// Stores the frozen plan of a study, with every plot and run as planned. Claims nothing yet.
    pub fn begin_study(&mut self, study: &StudyIn<'_>) -> Result<(), StoreError> {
        let at = nanos(Timestamp::now());
        self.write("beginning a study", Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO study (id, name, plan_hash, plan, file, text, options, created_at, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'open')",
                params![study.id, study.name, study.plan_hash, study.plan, study.file, study.text, study.options, at],
            )?;
            let mut plots =
                transaction.prepare("INSERT INTO study_plot (study_id, seq, state) VALUES (?1, ?2, 'planned')")?;
            for plot in 0..study.plots {
                plots.execute(params![study.id, plot])?;
            }
            let mut runs = transaction
                .prepare("INSERT INTO study_run (study_id, seq, plot, status) VALUES (?1, ?2, ?3, 'planned')")?;
            for (seq, plot) in study.runs.iter().enumerate() {
                runs.execute(params![study.id, seq as i64, plot])?;
            }
            Ok(())
        })
    }

    /// Returns all studies, newest first.
    pub fn studies(&self) -> Result<Vec<StudyRow>, StoreError> {
        let failed = self.failed("listing studies");
        let mut statement =
            self.connection.prepare(&format!("{SELECT_STUDY} ORDER BY created_at DESC, id DESC")).map_err(&failed)?;
        statement.query_map([], study_row).and_then(Iterator::collect).map_err(&failed)
    }

    /// Returns a study. `id` is a whole id.
    pub fn study(&self, id: &str) -> Result<StoredStudy, StoreError> {
        self.connection
            .query_row(&format!("{SELECT_STUDY} WHERE id = ?1"), [id], |row| {
                Ok(StoredStudy { row: study_row(row)?, plan: row.get(11)?, text: row.get(12)?, options: row.get(13)? })
            })
            .optional()
            .map_err(self.failed("reading a study"))?
            .ok_or_else(|| StoreError::NoStudy { path: self.path.clone(), text: id.to_owned() })
    }

    /// Returns the runs of a study, in the plan's order.
    pub fn study_runs(&self, id: &str) -> Result<Vec<StudyRunRow>, StoreError> {
        let failed = self.failed("reading the runs of a study");
        let mut statement = self
            .connection
            .prepare(
                "SELECT seq, plot, status, attempts, losses, build, reason, exit_code, run_id, devices, seconds,
                   (SELECT count(*) FROM study_rejected r WHERE r.study_id = s.study_id AND r.seq = s.seq), conformance_id
                 FROM study_run s WHERE study_id = ?1 ORDER BY seq",
            )
            .map_err(&failed)?;
        let row = |row: &Row<'_>| {
            let status: String = row.get(2)?;
            Ok(StudyRunRow {
                seq: row.get(0)?,
                plot: row.get(1)?,
                // The schema's CHECK allows no other words.
                status: status.parse().unwrap_or(StudyRunStatus::Failed),
                attempts: row.get(3)?,
                losses: row.get(4)?,
                build: row.get(5)?,
                reason: row.get(6)?,
                exit_code: row.get(7)?,
                run_id: row.get(8)?,
                devices: row.get(9)?,
                seconds: row.get(10)?,
                rejected_before: row.get(11)?,
                conformance_id: row.get(12)?,
            })
        };
        statement.query_map([id], row).and_then(Iterator::collect).map_err(&failed)
    }

    /// Returns the study and position of each run that belongs to a study, even if it was rejected and repeated.
    pub(crate) fn places_of(&self, runs: &[String]) -> rusqlite::Result<BTreeMap<String, StudyPlace>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT study_id, seq FROM study_run WHERE run_id = ?1
             UNION ALL SELECT study_id, seq FROM study_rejected WHERE run_id = ?1 LIMIT 1",
        )?;
        let mut places = BTreeMap::new();
        for run in runs {
            let place = |row: &Row<'_>| Ok(StudyPlace { study: row.get(0)?, seq: row.get(1)? });
            if let Some(place) = statement.query_row([run], place).optional()? {
                places.insert(run.clone(), place);
            }
        }
        Ok(places)
    }

    /// Returns the plots of a study, in the plan's order.
    pub fn study_plots(&self, id: &str) -> Result<Vec<StudyPlotRow>, StoreError> {
        let failed = self.failed("reading the plots of a study");
        let mut statement = self
            .connection
            .prepare(
                "SELECT seq, state, builds, reason, build_s, take_down_s, built FROM study_plot
                 WHERE study_id = ?1 ORDER BY seq",
            )
            .map_err(&failed)?;
        let row = |row: &Row<'_>| {
            let state: String = row.get(1)?;
            Ok(StudyPlotRow {
                seq: row.get(0)?,
                state: state.parse().unwrap_or(StudyPlotState::Failed),
                builds: row.get(2)?,
                reason: row.get(3)?,
                build_s: row.get(4)?,
                take_down_s: row.get(5)?,
                built: row.get(6)?,
            })
        };
        statement.query_map([id], row).and_then(Iterator::collect).map_err(&failed)
    }

    /// Claims a study for this process. Runs that a dead process left running are planned again. Returns an error if
    /// a living process is conducting the study.
    pub fn claim_study(&mut self, id: &str) -> Result<(), StoreError> {
        let owner = canonical::text(&canonical::value("the owner", &Owner::this())?);
        self.write("claiming a study", Durability::Power, |transaction| {
            let known: Option<Option<String>> =
                transaction.query_row("SELECT owner FROM study WHERE id = ?1", [id], |row| row.get(0)).optional()?;
            if is_alive(known.flatten().filter(|known| *known != owner).as_deref()) {
                return Ok(Err(StoreError::StudyRuns { id: id.to_owned() }));
            }
            transaction.execute("UPDATE study SET owner = ?2 WHERE id = ?1", params![id, owner])?;
            transaction.execute(
                "UPDATE study_run SET status = 'planned', reason = 'cut short, to be run again'
                 WHERE study_id = ?1 AND status = 'running'",
                [id],
            )?;
            transaction
                .execute("UPDATE study_plot SET state = 'planned' WHERE study_id = ?1 AND state = 'running'", [id])?;
            Ok(Ok(()))
        })?
    }

    /// Releases a study, and marks it as done if every run has ended.
    pub fn release_study(&mut self, id: &str) -> Result<(), StoreError> {
        self.write("releasing a study", Durability::Power, |transaction| {
            transaction.execute(
                "UPDATE study SET owner = NULL, state =
                   CASE WHEN EXISTS (SELECT 1 FROM study_run WHERE study_id = ?1 AND status IN ('planned', 'running'))
                   THEN 'open' ELSE 'done' END
                 WHERE id = ?1",
                [id],
            )?;
            Ok(())
        })
    }

    /// Marks a plot as being built, and returns how many times it has been built including this one.
    pub fn begin_study_plot(&mut self, id: &str, plot: u32) -> Result<u32, StoreError> {
        self.write("beginning a plot", Durability::Process, |transaction| {
            transaction.query_row(
                "UPDATE study_plot SET state = 'running', builds = builds + 1 WHERE study_id = ?1 AND seq = ?2
                 RETURNING builds",
                params![id, plot],
                |row| row.get(0),
            )
        })
    }

    /// Records the duration of a build, s, and its commands, as JSON.
    pub fn record_build(&mut self, id: &str, plot: u32, seconds: f64, built: &str) -> Result<(), StoreError> {
        self.write("storing a build", Durability::Process, |transaction| {
            transaction.execute(
                "UPDATE study_plot SET build_s = ?3, built = ?4 WHERE study_id = ?1 AND seq = ?2",
                params![id, plot, seconds, built],
            )?;
            Ok(())
        })
    }

    /// Records how long taking down a plot took, s.
    pub fn record_take_down(&mut self, id: &str, plot: u32, seconds: f64) -> Result<(), StoreError> {
        self.write("storing the time of a plot", Durability::Process, |transaction| {
            transaction.execute(
                "UPDATE study_plot SET take_down_s = ?3 WHERE study_id = ?1 AND seq = ?2",
                params![id, plot, seconds],
            )?;
            Ok(())
        })
    }

    /// Sets the state of a plot, with the reason.
    pub fn end_study_plot(
        &mut self,
        id: &str,
        plot: u32,
        state: StudyPlotState,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        self.write("ending a plot", Durability::Power, |transaction| {
            transaction.execute(
                "UPDATE study_plot SET state = ?3, reason = coalesce(?4, reason) WHERE study_id = ?1 AND seq = ?2",
                params![id, plot, state.name(), reason],
            )?;
            Ok(())
        })
    }

    /// Marks a run as running, on this build of its plot.
    pub fn begin_study_run(&mut self, id: &str, seq: u32, build: u32) -> Result<(), StoreError> {
        self.write("beginning a run of a study", Durability::Process, |transaction| {
            transaction.execute(
                "UPDATE study_run SET status = 'running', attempts = attempts + 1, build = ?3
                 WHERE study_id = ?1 AND seq = ?2",
                params![id, seq, build],
            )?;
            Ok(())
        })
    }

    /// Ends a run of a study: stores its state and result in one transaction, flushed to the storage. A run that has
    /// ended before is not changed, and an error is returned, because nothing is measured twice.
    pub fn end_study_run(&mut self, id: &str, seq: u32, end: &StudyRunEnd<'_>) -> Result<(), StoreError> {
        let nothing = Measurement::default();
        let result = end.result.map(|result| ResultIn::new(result, &nothing)).transpose()?;
        let conformance = end.conformance.map(ConformanceIn::new).transpose()?;
        self.write("storing a run of a study", Durability::Power, |transaction| {
            let status: String = transaction.query_row(
                "SELECT status FROM study_run WHERE study_id = ?1 AND seq = ?2",
                params![id, seq],
                |row| row.get(0),
            )?;
            if status != "planned" && status != "running" {
                return Ok(Err(StoreError::Begun { id: format!("{seq} of study {id}"), status }));
            }
            if let Some(result) = &result {
                result.write(transaction)?;
                transaction.execute(
                    "UPDATE run SET command = ?2, dialect = ?3 WHERE id = ?1",
                    params![result.id(), end.command, end.dialect],
                )?;
            }
            if let Some(conformance) = &conformance {
                conformance.write(transaction)?;
            }
            transaction.execute(
                "UPDATE study_run SET status = ?3, reason = ?4, exit_code = ?5, run_id = ?6, devices = ?7, seconds = ?8, conformance_id = ?9
                 WHERE study_id = ?1 AND seq = ?2",
                params![
                    id,
                    seq,
                    end.status.name(),
                    end.reason,
                    end.exit_code,
                    result.as_ref().map(ResultIn::id),
                    end.devices,
                    end.seconds,
                    conformance.as_ref().map(ConformanceIn::id)
                ],
            )?;
            Ok(Ok(()))
        })?
    }

    /// Plans every failed run again, with the plots that failed with them. Returns the number of runs.
    pub fn replan_failed_runs(&mut self, id: &str) -> Result<u32, StoreError> {
        self.write("replanning failed runs", Durability::Power, |transaction| {
            transaction.execute(
                "UPDATE study_plot SET state = 'planned' WHERE study_id = ?1 AND seq IN
                   (SELECT plot FROM study_run WHERE study_id = ?1 AND status = 'failed')",
                [id],
            )?;
            let runs = transaction.execute(
                "UPDATE study_run SET status = 'planned', losses = 0 WHERE study_id = ?1 AND status = 'failed'",
                [id],
            )?;
            Ok(u32::try_from(runs).unwrap_or(u32::MAX))
        })
    }

    /// Plans rejected runs again, all of a study or only one. Their previous results are kept. Returns the number of runs.
    pub fn replan_rejected_runs(&mut self, id: &str, only: Option<u32>) -> Result<u32, StoreError> {
        self.write("replanning rejected runs", Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO study_rejected (study_id, seq, attempt, reason, run_id)
                 SELECT study_id, seq, attempts, reason, run_id FROM study_run
                 WHERE study_id = ?1 AND status = 'rejected' AND (?2 IS NULL OR seq = ?2)",
                params![id, only],
            )?;
            transaction.execute(
                "UPDATE study_plot SET state = 'planned' WHERE study_id = ?1 AND state = 'done' AND seq IN
                   (SELECT plot FROM study_run WHERE study_id = ?1 AND status = 'rejected' AND (?2 IS NULL OR seq = ?2))",
                params![id, only],
            )?;
            let runs = transaction.execute(
                "UPDATE study_run SET status = 'planned', losses = 0
                 WHERE study_id = ?1 AND status = 'rejected' AND (?2 IS NULL OR seq = ?2)",
                params![id, only],
            )?;
            Ok(u32::try_from(runs).unwrap_or(u32::MAX))
        })
    }

    /// Plans a run again; `lost` if its host was lost. Returns how many times it was lost.
    pub fn replan_study_run(&mut self, id: &str, seq: u32, reason: &str, lost: bool) -> Result<u32, StoreError> {
        self.write("replanning a run of a study", Durability::Power, |transaction| {
            transaction.query_row(
                "UPDATE study_run SET status = 'planned', reason = ?3, losses = losses + ?4
                 WHERE study_id = ?1 AND seq = ?2 AND status IN ('planned', 'running') RETURNING losses",
                params![id, seq, reason, i64::from(lost)],
                |row| row.get(0),
            )
        })
    }
}

fn is_alive(owner: Option<&str>) -> bool {
    owner
        .and_then(|text| plumb_document::json::from_str::<Owner>(text).ok())
        .is_some_and(|owner| owner.life() == Life::Alive)
}

fn study_row(row: &Row<'_>) -> rusqlite::Result<StudyRow> {
    let state: String = row.get(5)?;
    let owner: Option<String> = row.get(6)?;
    Ok(StudyRow {
        id: row.get(0)?,
        name: row.get(1)?,
        plan_hash: row.get(2)?,
        file: row.get(3)?,
        created_at: rfc3339(row.get(4)?),
        done: state == "done",
        running: is_alive(owner.as_deref()),
        runs: row.get(7)?,
        ended: row.get(8)?,
        failed: row.get(9)?,
        rejected: row.get(10)?,
    })
}
