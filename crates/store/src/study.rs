//! Studies: the frozen plan, and each run committed as it ends, together with its result.

use crate::conformance::ConformanceIn;
use crate::open::Durability;
use crate::owner::{Life, Owner};
use crate::read::before_last;
use crate::write::{ResultIn, nanos, rfc3339};
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::{Conformance, Measurement, RunResult};
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

/// A study to begin.
#[derive(Debug, Clone, Copy)]
pub struct StudyIn<'a> {
    /// UUIDv7.
    pub id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Hash of the plan.
    pub plan_hash: &'a str,
    /// The plan, as JSON.
    pub plan: &'a str,
    /// Absolute path of the study file.
    pub file: &'a str,
    /// What is in it.
    pub text: &'a str,
    /// What the command line added, as JSON.
    pub options: &'a str,
    /// How many plots it has.
    pub plots: u32,
    /// The plot of each run, in the plan's order.
    pub runs: &'a [u32],
}

/// A study in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StudyRow {
    /// UUIDv7.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Hash of the plan.
    pub plan_hash: String,
    /// The study file.
    pub file: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// Whether every run has ended, well or not.
    pub done: bool,
    /// Whether a living process conducts it now.
    pub running: bool,
    /// Runs that are planned in all.
    pub runs: u32,
    /// Runs that have ended, well or not.
    pub ended: u32,
    /// Those of them that failed.
    pub failed: u32,
    /// Those of them that their checks rejected.
    pub rejected: u32,
}

/// A study as it was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredStudy {
    /// The study in a list.
    pub row: StudyRow,
    /// The frozen plan, as JSON.
    pub plan: String,
    /// What was in the file.
    pub text: String,
    /// What the command line added, as JSON.
    pub options: String,
}

/// How far a run of a study is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum StudyRunStatus {
    /// Still to come.
    Planned,
    /// Going on, or cut.
    Running,
    /// Has a result that its checks accept.
    Done,
    /// Has a result that its checks reject.
    Rejected,
    /// Has no result that counts, for a reason.
    Failed,
    /// An optional repetition that was not needed.
    Skipped,
}

impl StudyRunStatus {
    /// As stored and printed.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether nothing is left to do for it.
    pub const fn has_ended(self) -> bool {
        !matches!(self, StudyRunStatus::Planned | StudyRunStatus::Running)
    }
}

/// How far a plot is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum StudyPlotState {
    /// Still to come.
    Planned,
    /// Being built or measured, or cut.
    Running,
    /// All its runs have ended.
    Done,
    /// It could not be built.
    Failed,
}

impl StudyPlotState {
    /// As stored and printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A run of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRunRow {
    /// Its place in the plan, from 0.
    pub seq: u32,
    /// Its plot.
    pub plot: u32,
    /// How far it is.
    pub status: StudyRunStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// In how many of these the host was lost.
    pub losses: u32,
    /// How many results of it were rejected before, and are kept beside its last.
    pub rejected_before: u32,
    /// On which build of its plot it ran, from 1.
    pub build: Option<u32>,
    /// Why it failed or was rejected, or is to be run again.
    pub reason: Option<String>,
    /// The command's exit code.
    pub exit_code: Option<i32>,
    /// Its result in the store.
    pub run_id: Option<String>,
    /// How the file system conforms, in the store, where that is what it tested.
    pub conformance_id: Option<String>,
    /// What each block device did meanwhile, as JSON.
    pub devices: Option<String>,
    /// How long it took, s.
    pub seconds: Option<f64>,
}

/// A place among the runs of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyPlace {
    /// The study's id.
    pub study: String,
    /// The run's place in the plan, from 0.
    pub seq: u32,
}

/// A plot of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyPlotRow {
    /// Its place in the plan, from 0.
    pub seq: u32,
    /// How far it is.
    pub state: StudyPlotState,
    /// How often it was built.
    pub builds: u32,
    /// Why it failed, or was built again.
    pub reason: Option<String>,
    /// How long the last build took, s: until the plot stood, what the user runs before it included.
    pub build_s: Option<f64>,
    /// How long it took from the last run until nothing stood, s.
    pub take_down_s: Option<f64>,
    /// What the last build ran, as JSON.
    pub built: Option<String>,
}

/// How a run of a study ended.
#[derive(Debug, Clone, Copy)]
pub struct StudyRunEnd<'a> {
    /// Done, rejected, failed or skipped.
    pub status: StudyRunStatus,
    /// Why it failed, was rejected or skipped.
    pub reason: Option<&'a str>,
    /// The command's exit code.
    pub exit_code: Option<i32>,
    /// The result, where there is one; stored as a run in the same transaction.
    pub result: Option<&'a RunResult>,
    /// How the file system conforms, where that was tested; stored in the same transaction.
    pub conformance: Option<&'a Conformance>,
    /// What was run, for the record.
    pub command: &'a str,
    /// The tool whose language it was, `fio`; `None` for Plumb's own.
    pub dialect: Option<&'a str>,
    /// What each block device did meanwhile, as JSON.
    pub devices: Option<&'a str>,
    /// How long it took, s.
    pub seconds: f64,
}

/// A row of `study` with the counts of its runs.
const SELECT_STUDY: &str = "SELECT id, name, plan_hash, file, created_at, state, owner,
   (SELECT count(*) FROM study_run WHERE study_id = study.id),
   (SELECT count(*) FROM study_run WHERE study_id = study.id AND status NOT IN ('planned', 'running')),
   (SELECT count(*) FROM study_run WHERE study_id = study.id AND status = 'failed'),
   (SELECT count(*) FROM study_run WHERE study_id = study.id AND status = 'rejected'),
   plan, text, options
 FROM study";

impl Store {
    /// Freezes a study: its plan, and every plot and run as planned. Nothing is claimed yet.
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

    /// Studies, the newest first.
    pub fn studies(&self) -> Result<Vec<StudyRow>, StoreError> {
        let failed = self.failed("listing studies");
        let mut statement =
            self.connection.prepare(&format!("{SELECT_STUDY} ORDER BY created_at DESC, id DESC")).map_err(&failed)?;
        statement.query_map([], study_row).and_then(Iterator::collect).map_err(&failed)
    }

    /// The id of the study that `text` names: `last`, `last~1` for the one before it; a whole id, or the beginning or end of one; or a study's name or
    /// file, of which the newest is taken.
    pub fn find_study(&self, text: &str) -> Result<String, StoreError> {
        let studies = self.studies()?;
        let none = || StoreError::NoStudy { path: self.path.clone(), text: text.to_owned() };
        let lower = text.to_lowercase();
        let mut matching: Vec<&StudyRow> = match before_last(text) {
            _ if text.is_empty() => Vec::new(),
            Some(before) => studies.iter().skip(before as usize).take(1).collect(),
            None => studies.iter().filter(|study| study.id.starts_with(&lower) || study.id.ends_with(&lower)).collect(),
        };
        if matching.is_empty() {
            matching = studies.iter().filter(|study| study.name == text || study.file == text).take(1).collect();
        }
        match matching.as_slice() {
            [] => Err(none()),
            [only] => Ok(only.id.clone()),
            many => Err(StoreError::Ambiguous {
                text: text.to_owned(),
                candidates: many.iter().take(crate::CANDIDATES_MAX).map(|study| study.id.clone()).collect(),
            }),
        }
    }

    /// A study, by its whole id.
    pub fn study(&self, id: &str) -> Result<StoredStudy, StoreError> {
        self.connection
            .query_row(&format!("{SELECT_STUDY} WHERE id = ?1"), [id], |row| {
                Ok(StoredStudy { row: study_row(row)?, plan: row.get(11)?, text: row.get(12)?, options: row.get(13)? })
            })
            .optional()
            .map_err(self.failed("reading a study"))?
            .ok_or_else(|| StoreError::NoStudy { path: self.path.clone(), text: id.to_owned() })
    }

    /// The runs of a study, in the plan's order.
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

    /// Which run of which study a stored run is the result of, also one that was rejected and repeated; `None` for a run of
    /// none. `run` is a whole id.
    pub fn study_place(&self, run: &str) -> Result<Option<StudyPlace>, StoreError> {
        let place = |row: &Row<'_>| Ok(StudyPlace { study: row.get(0)?, seq: row.get(1)? });
        self.connection
            .prepare_cached(
                "SELECT study_id, seq FROM study_run WHERE run_id = ?1
                 UNION ALL SELECT study_id, seq FROM study_rejected WHERE run_id = ?1 LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row([run], place).optional())
            .map_err(self.failed("looking for a run's study"))
    }

    /// The plots of a study, in the plan's order.
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

    /// Takes a study for this process to conduct, and puts back what a process that died left running: such runs are
    /// planned again. An error where a living process conducts it.
    pub fn claim_study(&mut self, id: &str) -> Result<(), StoreError> {
        let owner = canonical::text(&canonical::value("the owner", &Owner::this())?);
        self.write("taking up a study", Durability::Power, |transaction| {
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

    /// Lets a study go; it is done where every run has ended.
    pub fn release_study(&mut self, id: &str) -> Result<(), StoreError> {
        self.write("leaving a study", Durability::Power, |transaction| {
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

    /// Says that a plot is being built, once more. The answer is how often that makes.
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

    /// Keeps how long a build took, s, and what it ran, as JSON.
    pub fn built_study_plot(&mut self, id: &str, plot: u32, seconds: f64, built: &str) -> Result<(), StoreError> {
        self.write("storing a build", Durability::Process, |transaction| {
            transaction.execute(
                "UPDATE study_plot SET build_s = ?3, built = ?4 WHERE study_id = ?1 AND seq = ?2",
                params![id, plot, seconds, built],
            )?;
            Ok(())
        })
    }

    /// Keeps how long it took to take a plot down, s.
    pub fn took_down_study_plot(&mut self, id: &str, plot: u32, seconds: f64) -> Result<(), StoreError> {
        self.write("storing how long a plot took", Durability::Process, |transaction| {
            transaction.execute(
                "UPDATE study_plot SET take_down_s = ?3 WHERE study_id = ?1 AND seq = ?2",
                params![id, plot, seconds],
            )?;
            Ok(())
        })
    }

    /// Says how a plot stands now, and why.
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

    /// Says that a run begins, on this build of its plot.
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

    /// Ends a run of a study: its state and its result in one transaction, flushed to the storage. A run that has ended
    /// before stays as it is, and that is an error: nothing is measured twice.
    pub fn end_study_run(&mut self, id: &str, seq: u32, end: &StudyRunEnd<'_>) -> Result<(), StoreError> {
        let nothing = Measurement::default();
        let result = end.result.map(|result| ResultIn::of(result, &nothing)).transpose()?;
        let conformance = end.conformance.map(ConformanceIn::of).transpose()?;
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

    /// Puts every failed run back, and the plots that failed with them. The answer is how many runs that makes.
    pub fn replan_failed_runs(&mut self, id: &str) -> Result<u32, StoreError> {
        self.write("putting failed runs back", Durability::Power, |transaction| {
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

    /// Puts rejected runs back to be run again, all of a study or one of them; what they were is kept. The answer is how many
    /// that makes.
    pub fn replan_rejected_runs(&mut self, id: &str, only: Option<u32>) -> Result<u32, StoreError> {
        self.write("putting rejected runs back", Durability::Power, |transaction| {
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

    /// Puts a run back to be run again; `lost` where that is because its host was. The answer is how often it was lost.
    pub fn replan_study_run(&mut self, id: &str, seq: u32, reason: &str, lost: bool) -> Result<u32, StoreError> {
        self.write("putting a run of a study back", Durability::Power, |transaction| {
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
