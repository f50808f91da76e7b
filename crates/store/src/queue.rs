//! Queue for runs of short commands: each run waits in a file next to the database until a command opens the database.
//!
//! Opening SQLite, preparing its statements and writing a run into a dozen tables takes some ten times as long as
//! writing one file, and scripts call `dd` a thousand times. The file of a run exists before its first op and survives a
//! kill. Its result is not flushed: a script continues to measure, and flushing a journal would also write data that the
//! previous command left in memory. A run that lasts longer than a second moves to the database at its first heartbeat.
//!
//! A file has one line of JSON for the start of its run and two more for the end. `docs/store.md` describes it for users.

use crate::facts::FactRows;
use crate::open::{Durability, SCHEMA_VERSION, has_our_header};
use crate::owner::{Life, Owner};
use crate::queue_directory::{DamagedFiles, Waiting, count_in, directory_of, file_name, files_in, is_plain_directory};
use crate::write::{Partial, ResultIn, RunLog, RunRowIn, RunStart};
use crate::{Store, StoreError};
use plumb_document::json;
use plumb_guard::{Database, OutputFile};
use plumb_result::observe::{Environment, TargetFacts};
use plumb_result::{Measurement, OpMeasurement, PhaseMeasurement, RunResult, Tool};
use plumb_workload::{Workload, former};
use rusqlite::{OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Format of the lines of a file. Files of an unknown format are left where they are.
const FORMAT: u32 = 1;

/// Whenever the number of waiting files reaches a multiple of this, the current run imports them. Listing the
/// directory stays cheap, and no later command has to import thousands of files. Because only
/// multiples trigger an import, files that cannot be imported do not make every run try again.
const WAITING_MAX: usize = 128;

/// Number of files imported per transaction; all of them are in memory until it is committed.
const IMPORT_BATCH: usize = 32;

/// Longest time that an import waits for another writer; after it, the files stay in the queue.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

/// Age below which an empty file is left alone, because its process may be about to write to it.
const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// Queue for the runs of one command.
#[derive(Debug)]
pub struct Queue {
    database: PathBuf,
    directory: PathBuf,
    /// The current run and its file.
    run: Option<(String, File)>,
    /// Open once a run has lasted; later runs of the command go straight to the database.
    store: Option<Store>,
}

/// The first line of a file, for writing.
#[derive(Serialize)]
struct BegunOut<'a> {
    format: u32,
    owner: &'a Owner,
    id: &'a str,
    started_at: &'a str,
    tool: &'a Tool,
    command: &'a str,
    dialect: Option<&'a str>,
    workload: &'a Workload,
    environment: &'a Environment,
    targets: &'a BTreeMap<String, TargetFacts>,
}

/// The first line of a file, for reading.
#[derive(Deserialize)]
struct Begun {
    owner: Owner,
    id: String,
    started_at: String,
    tool: Tool,
    command: String,
    dialect: Option<String>,
    workload: Workload,
    environment: Environment,
    targets: BTreeMap<String, TargetFacts>,
}

/// The part that every format begins with.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// Outcome of the run of a file.
enum End {
    /// The run is in progress, or was killed.
    None,
    /// The run ended with a result.
    Result(Box<RunResult>, Box<Measurement>),
    /// The run failed with this reason.
    Failed(String),
}

/// The second line of a run that has no result.
#[derive(Serialize, Deserialize)]
struct Failed {
    failed: String,
}

/// A file of the queue. Once its run is over, nothing more is written to it.
struct QueueFile {
    content: QueueContent,
    is_over: bool,
}

/// Content of a queue file.
enum QueueContent {
    Run(Box<Begun>, End),
    /// The file is incomplete or of another version of Plumb, so it is left for later.
    Deferred,
    Unreadable,
}

impl Queue {
    /// Opens the queue of a database. Returns `None` if runs must go to the database itself: the database does not
    /// exist yet or is not of this version of Plumb, or its directory is not writable.
    pub fn open(database: &Path) -> Option<Queue> {
        let database = Database::at(database).ok()?;
        if !has_our_header(&database, SCHEMA_VERSION) {
            return None;
        }
        let database = database.path();
        let directory = directory_of(database);
        is_plain_directory(&directory).ok().filter(|is_plain| *is_plain)?;
        Some(Queue { database: database.to_owned(), directory, run: None, store: None })
    }

    /// Opens the database for a run that lasts, and writes the start of the run. Does nothing else, because
    /// measurement may be in progress, and does not flush.
    fn promote(&mut self) -> Result<&mut Store, StoreError> {
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert(Store::open_without_queue(&self.database)?),
        };
        if let Some((id, _)) = &self.run {
            let path = self.directory.join(file_name(id));
            store.import_files(std::slice::from_ref(&path), Durability::Process, DamagedFiles::Keep)?;
            let _ = fs::remove_file(path);
            self.run = None;
        }
        Ok(store)
    }

    /// Appends to the run's file. A partial write is truncated again, and the run then goes to the database.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let Some((_, file)) = &mut self.run else { return Err(io::ErrorKind::NotFound.into()) };
        let length = file.metadata()?.len();
        file.write_all(lines).inspect_err(|_| {
            let _ = file.set_len(length);
        })
    }

    /// Imports waiting files if there are many. Files that cannot be imported now stay, and damaged files wait for a
    /// command that can report them.
    fn import_if_long(&self) {
        let is_long = count_in(&self.directory).is_ok_and(|files| files > 0 && files % WAITING_MAX == 0);
        if is_long && let Ok(mut store) = Store::open_without_queue(&self.database) {
            store.import_queue(DamagedFiles::Keep);
        }
    }
}

impl RunLog for Queue {
    fn begin_run(&mut self, start: &RunStart<'_>) -> Result<(), StoreError> {
        if let Some(store) = &mut self.store {
            return store.begin_run(start);
        }
        let begun = BegunOut {
            format: FORMAT,
            owner: &Owner::this(),
            id: start.id,
            started_at: start.started_at,
            tool: start.tool,
            command: start.command,
            dialect: start.dialect,
            workload: start.workload,
            environment: start.environment,
            targets: start.targets,
        };
        let line = line("the beginning of a run", &begun)?;
        let path = self.directory.join(file_name(start.id));
        let made = OutputFile::made_up("the queue", &path).private().create_new();
        let written = made.map_err(io::Error::from).and_then(|file| {
            self.run = Some((start.id.to_owned(), file));
            self.append(&line)
        });
        written.or_else(|_| {
            self.run = None;
            let _ = fs::remove_file(&path);
            self.promote()?.begin_run(start)
        })
    }

    fn heartbeat(&mut self, run: &str, partial: &Partial<'_>) -> Result<(), StoreError> {
        self.promote()?.heartbeat(run, partial)
    }

    fn finish_run(&mut self, result: &RunResult, measurement: &Measurement) -> Result<(), StoreError> {
        let is_begun = self.run.as_ref().is_some_and(|(id, _)| *id == result.id);
        if is_begun {
            let lines = [line("the result", result)?, line("the measurement", &stored_part(measurement))?].concat();
            if self.append(&lines).is_ok() {
                self.run = None;
                self.import_if_long();
                return Ok(());
            }
        }
        self.promote()?.finish_run(result, measurement)
    }

    fn fail_run(&mut self, run: &str, reason: &str) -> Result<(), StoreError> {
        let is_begun = self.run.as_ref().is_some_and(|(id, _)| id == run);
        if is_begun && self.append(&line("why a run failed", &Failed { failed: reason.to_owned() })?).is_ok() {
            self.run = None;
            return Ok(());
        }
        match (&self.run, &self.store) {
            (None, None) => Ok(()),
            _ => self.promote()?.fail_run(run, reason),
        }
    }

    fn path(&self) -> &Path {
        &self.database
    }

    fn wait_at_most(&self, time: Duration) -> Result<(), StoreError> {
        self.store.as_ref().map_or(Ok(()), |store| store.wait_at_most(time))
    }
}

impl Store {
    /// Imports all queued runs of the database. Runs that it does not accept stay queued.
    pub(crate) fn import_queue(&mut self, damaged: DamagedFiles) {
        self.import_directory(&directory_of(&self.path), damaged);
    }

    /// Returns `true` if runs wait next to a database, which [`Store::open`] takes in.
    pub fn has_queued_runs(path: &Path) -> bool {
        files_in(&directory_of(path)).is_ok_and(|files| !files.is_empty())
    }

    /// Imports runs queued next to a symbolic link to this database, where earlier versions put them.
    pub fn import_queue_of_link(&mut self, link: &Path) {
        // An in-memory store would lose the runs.
        if self.in_file {
            self.import_directory(&directory_of(link), DamagedFiles::SetAside);
        }
    }

    fn import_directory(&mut self, directory: &Path, damaged: DamagedFiles) {
        let Ok(files) = files_in(directory) else { return };
        if files.is_empty() {
            return;
        }
        let taken = self.wait_at_most(BUSY_TIMEOUT).and_then(|()| {
            files.chunks(IMPORT_BATCH).try_for_each(|files| {
                let done = match self.import_files(files, Durability::Power, damaged) {
                    Err(error) if !error.is_database_unavailable() => self.import_one_by_one(files, damaged)?,
                    taken => taken?,
                };
                // If a file cannot be removed, the next import skips it, because its run exists.
                done.iter().for_each(|path| drop(fs::remove_file(path)));
                Ok(())
            })
        });
        let _ = self.wait_at_most(crate::BUSY_TIMEOUT);
        self.waiting = taken.err().map(|reason| Box::new(Waiting { directory: directory.to_owned(), reason }));
    }

    /// Imports files one by one, so that a run that the database rejects does not block the others.
    fn import_one_by_one(&mut self, files: &[PathBuf], damaged: DamagedFiles) -> Result<Vec<PathBuf>, StoreError> {
        let mut done = Vec::new();
        for path in files {
            match self.import_files(std::slice::from_ref(path), Durability::Power, damaged) {
                Ok(taken) => done.extend(taken),
                Err(error) if error.is_database_unavailable() => return Err(error),
                Err(_) => self.rename_damaged(path, damaged),
            }
        }
        Ok(done)
    }

    /// Writes the runs of files in one transaction. Returns the files that are no longer needed.
    fn import_files(
        &mut self,
        files: &[PathBuf],
        durability: Durability,
        damaged: DamagedFiles,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let mut runs = Vec::new();
        let mut done = Vec::new();
        for path in files {
            let QueueFile { content, is_over } = read_file(path);
            match content {
                QueueContent::Run(begun, end) => {
                    done.extend(is_over.then(|| path.clone()));
                    runs.push((path, begun, end));
                }
                QueueContent::Deferred => {}
                QueueContent::Unreadable => self.rename_damaged(path, damaged),
            }
        }
        let mut rows = Vec::new();
        for (path, begun, end) in &runs {
            match QueuedRun::new(begun, end) {
                Ok(row) => rows.push(row),
                Err(_) => {
                    done.retain(|done| done != *path);
                    self.rename_damaged(path, damaged);
                }
            }
        }
        if !rows.is_empty() {
            self.write("importing queued runs", durability, |transaction| {
                rows.iter().try_for_each(|row| row.write(transaction))
            })?;
        }
        Ok(done)
    }

    /// Renames a file so that it is not read again.
    fn rename_damaged(&mut self, path: &Path, damaged: DamagedFiles) {
        let aside = path.with_extension("unreadable");
        if damaged == DamagedFiles::SetAside && fs::rename(path, &aside).is_ok() {
            self.set_aside.push(aside);
        }
    }

    /// Records that the queued runs are not in this database, because it was opened without them after this error.
    pub(crate) fn report_unread_queue(&mut self, reason: StoreError) {
        let directory = directory_of(&self.path);
        if files_in(&directory).is_ok_and(|files| !files.is_empty()) {
            self.waiting = Some(Box::new(Waiting { directory, reason }));
        }
    }

    /// Returns the runs that still wait next to the database because it could not import them when it was opened.
    pub fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_deref()
    }

    /// Returns the files that could not be read when the database was opened, under their new names.
    pub fn set_aside(&self) -> &[PathBuf] {
        &self.set_aside
    }
}

/// A queued run with all its rows, prepared before the write lock is taken.
struct QueuedRun<'a> {
    row: RunRowIn<'a>,
    facts: FactRows,
    command: &'a str,
    dialect: Option<&'a str>,
    owner: String,
    end: EndIn<'a>,
}

enum EndIn<'a> {
    None,
    Result(Box<ResultIn<'a>>),
    Failed(&'a str),
}

impl<'a> QueuedRun<'a> {
    fn new(begun: &'a Begun, end: &'a End) -> Result<QueuedRun<'a>, StoreError> {
        Ok(QueuedRun {
            row: RunRowIn::new(&begun.id, &begun.started_at, &begun.tool, &begun.workload)?,
            facts: FactRows::new(&begun.environment, &begun.targets)?,
            command: &begun.command,
            dialect: begun.dialect.as_deref(),
            owner: begun.owner.text()?,
            end: match end {
                End::None => EndIn::None,
                End::Result(result, measurement) => EndIn::Result(Box::new(ResultIn::new(result, measurement)?)),
                End::Failed(reason) => EndIn::Failed(reason),
            },
        })
    }

    fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let known: Option<String> = transaction
            .query_row("SELECT status FROM run WHERE id = ?1", [self.row.id], |row| row.get(0))
            .optional()?;
        // Another process may have imported it, and a run considered dead may have ended well.
        if known.is_none() {
            self.row.begin(&self.facts, self.command, self.dialect, &self.owner, transaction)?;
        }
        match &self.end {
            EndIn::Result(result) if known.is_none_or(|status| status == "running" || status == "aborted") => {
                result.write(transaction)
            }
            EndIn::Failed(reason) => transaction
                .execute(
                    "UPDATE run SET status = 'failed', reason = ?2, owner = NULL WHERE id = ?1 AND status = 'running'",
                    (self.row.id, reason),
                )
                .map(drop),
            EndIn::Result(_) | EndIn::None => Ok(()),
        }
    }
}

fn read_file(path: &Path) -> QueueFile {
    match read(path) {
        // Its process may have written the end of the run between our read and its exit, so read again.
        QueueContent::Run(begun, End::None) if begun.owner.life() == Life::Dead => {
            QueueFile { content: read(path), is_over: true }
        }
        content => {
            QueueFile { is_over: matches!(content, QueueContent::Run(_, End::Result(..) | End::Failed(_))), content }
        }
    }
}

fn read(path: &Path) -> QueueContent {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return QueueContent::Unreadable,
        Err(_) => return QueueContent::Deferred,
    };
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let Some(first) = lines.next() else {
        let age = fs::metadata(path).and_then(|file| file.modified()).map(|time| time.elapsed().unwrap_or_default());
        return if age.is_ok_and(|age| age > SETTLED_AFTER) {
            QueueContent::Unreadable
        } else {
            QueueContent::Deferred
        };
    };
    match json::from_str::<Format>(first) {
        Ok(Format { format: FORMAT }) => {}
        Ok(_) => return QueueContent::Deferred,
        Err(_) => return QueueContent::Unreadable,
    }
    let Ok(begun) = former::read_json::<Begun>(first) else { return QueueContent::Unreadable };
    let end = match (lines.next(), lines.next()) {
        (None, _) => End::None,
        (Some(second), third) => match (json::from_str::<Failed>(second), third) {
            (Ok(Failed { failed }), _) => End::Failed(failed),
            // The last line is still being written, or was when the process was killed.
            (Err(_), None) => End::None,
            (Err(_), Some(third)) => match (former::read_json(second), former::read_json(third)) {
                (Ok(result), Ok(measurement)) => End::Result(Box::new(result), Box::new(measurement)),
                _ => return QueueContent::Unreadable,
            },
        },
    };
    QueueContent::Run(Box::new(begun), end)
}

/// Returns the part of a measurement that the database stores.
fn stored_part(measurement: &Measurement) -> Measurement {
    let of_phase = |phase: &PhaseMeasurement| PhaseMeasurement {
        name: phase.name.clone(),
        ops: BTreeMap::from_iter(phase.ops.iter().map(|(kind, op)| {
            let histograms = OpMeasurement {
                service: op.service.clone(),
                response: op.response.clone(),
                ..OpMeasurement::default()
            };
            (*kind, histograms)
        })),
        intervals: phase.intervals.clone(),
        latency_map: phase.latency_map.clone(),
        lanes: phase.lanes.clone(),
        start_lag: phase.start_lag.clone(),
        steady: phase.steady,
        ..PhaseMeasurement::default()
    };
    Measurement { phases: measurement.phases.iter().map(of_phase).collect(), ..Measurement::default() }
}

fn line(what: &'static str, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut line = json::to_vec(value).map_err(|source| StoreError::Json { what, source })?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner_that_is_gone() -> Owner {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let owner = Owner::for_process(child.id());
        child.wait().unwrap();
        owner
    }

    fn begun(owner: &Owner, path: &Path) {
        let begun = BegunOut {
            format: FORMAT,
            owner,
            id: "018f0000-0000-7000-8000-00000000000a",
            started_at: "2024-05-01T12:00:00Z",
            tool: &Tool { name: "plumb".to_owned(), version: "0.1.0".to_owned() },
            command: "dd",
            dialect: Some("dd"),
            workload: &Workload {
                name: "dd".to_owned(),
                description: String::new(),
                seed: 1,
                target: BTreeMap::new(),
                phase: Vec::new(),
                repeat: None,
            },
            environment: &Environment::default(),
            targets: &BTreeMap::new(),
        };
        fs::write(path, line("the beginning", &begun).unwrap()).unwrap();
    }

    // Protects: a file is given up only when its process is gone; until then, an end may follow.
    #[test]
    fn a_run_is_over_once_it_has_an_end_or_its_process_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.run");
        begun(&Owner::this(), &path);
        assert!(!read_file(&path).is_over);
        begun(&owner_that_is_gone(), &path);
        assert!(read_file(&path).is_over);
        let end = line("an end", &Failed { failed: "no reason".to_owned() }).unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&end).unwrap();
        let found = read_file(&path);
        assert!(
            found.is_over
                && matches!(found.content, QueueContent::Run(_, End::Failed(reason)) if reason == "no reason")
        );
    }

    // Protects: a reader of a database that cannot be written learns which runs are missing from it.
    #[test]
    fn runs_missing_from_a_read_only_database_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("plumb.db");
        let mut store = Store::open_without_queue(&database).unwrap();
        let busy = || StoreError::Busy { path: database.clone(), doing: "opening it" };
        store.report_unread_queue(busy());
        assert!(store.waiting().is_none());
        fs::create_dir(directory_of(&database)).unwrap();
        begun(&Owner::this(), &directory_of(&database).join("a.run"));
        store.report_unread_queue(busy());
        assert!(store.waiting().is_some());
    }
}
