//! Runs of short commands: each waits in a file beside the database until a command opens the database.
//!
//! Opening SQLite, finding its statements and writing a run into a dozen tables takes some ten times as long as one file, and scripts
//! call `dd` a thousand times. What is promised of a run is the same: its file is there before its first op, a kill leaves it, and its
//! result is flushed. A run that lasts for a second goes to the database at its first heartbeat.
//!
//! A file has a line of JSON for the beginning of its run and two more for its end. `docs/store.md` tells users of it.

use crate::facts::FactRows;
use crate::open::{Durability, SCHEMA_VERSION, has_our_header, with_suffix};
use crate::owner::{Life, Owner};
use crate::write::{Partial, ResultIn, RunLog, RunRowIn, RunStart};
use crate::{Store, StoreError};
use plumb_document::json;
use plumb_result::observe::{Environment, TargetFacts};
use plumb_result::{Measurement, OpMeasurement, PhaseMeasurement, RunResult, Tool};
use plumb_workload::{Workload, former};
use rusqlite::{OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the lines of a file look like. Another Plumb leaves a file of a format that it does not know where it is.
const FORMAT: u32 = 1;

/// So many files may wait; the run that finds more takes them into the database. Listing the directory stays cheap, and no command
/// that follows has thousands of them to take in.
const WAITING_MAX: usize = 128;

/// Files that are taken in with one transaction: each is in memory as a whole until then.
const TAKEN_AT_ONCE: usize = 32;

/// How long taking in waits for another writer: what waits can wait on.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

/// A file that says nothing is left alone for so long: whoever made it may be about to write.
const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// The name of a run's file ends so.
const EXTENSION: &str = "run";

/// Where the runs of one command wait.
#[derive(Debug)]
pub struct Queue {
    database: PathBuf,
    directory: PathBuf,
    /// The run that goes on.
    run: Option<(String, File)>,
    /// Once a run was long, there is no more to be saved.
    store: Option<Store>,
}

/// Runs that are not in the database yet although it was opened.
#[derive(Debug)]
pub struct Waiting {
    /// Where they are.
    pub directory: PathBuf,
    /// Why the database did not take them.
    pub reason: StoreError,
}

/// The first line of a file, as it is written.
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

/// The same, as it is read.
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

/// What every format begins with.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// How the run of a file ended.
enum End {
    /// It goes on, or was killed.
    None,
    /// With its result.
    Result(Box<RunResult>, Box<Measurement>),
    /// Without one.
    Failed(String),
}

/// The second line of a run that has no result.
#[derive(Serialize, Deserialize)]
struct Failed {
    failed: String,
}

/// What a file says.
enum Read {
    Run(Box<Begun>, End),
    /// It is not whole yet, or of another version of Plumb.
    NotNow,
    /// It is damaged.
    Unreadable,
}

impl Queue {
    /// The queue of a database; `None` where runs must go to the database itself: it is not there yet, it is no file of this version of
    /// Plumb, or its directory cannot be written.
    pub fn of(database: &Path) -> Option<Queue> {
        if !has_our_header(database, SCHEMA_VERSION) {
            return None;
        }
        let directory = directory_of(database);
        match fs::create_dir(&directory) {
            // The names in it are flushed with the files; its own is flushed once.
            Ok(()) => flush_directory(parent_of(database)).ok()?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return None,
        }
        Some(Queue { database: database.to_owned(), directory, run: None, store: None })
    }

    /// The database, opened for a run that lasts: it takes in the run's beginning.
    fn promote(&mut self) -> Result<&mut Store, StoreError> {
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert(Store::open(&self.database)?),
        };
        if let Some((id, _)) = self.run.take() {
            let path = self.directory.join(file_name(&id));
            if store.waiting().is_some() {
                store.take_in(std::slice::from_ref(&path))?;
            }
            let _ = fs::remove_file(path);
        }
        Ok(store)
    }

    /// Writes to the run's file. What cannot be written is cut off again: the run goes to the database then.
    fn append(&mut self, lines: &[u8], flush: bool) -> io::Result<()> {
        let Some((_, file)) = &mut self.run else { return Err(io::ErrorKind::NotFound.into()) };
        let length = file.metadata()?.len();
        let written = file.write_all(lines).and_then(|()| if flush { file.sync_all() } else { Ok(()) });
        written.inspect_err(|_| {
            let _ = file.set_len(length);
        })
    }

    /// Takes in what waits where it has become much.
    fn keep_short(&self) {
        if files_in(&self.directory).is_ok_and(|files| files.len() > WAITING_MAX) {
            // What cannot be taken in now waits on.
            let _ = Store::open(&self.database);
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
        let made = OpenOptions::new().append(true).create_new(true).open(&path);
        let written = made.and_then(|file| {
            self.run = Some((start.id.to_owned(), file));
            self.append(&line, false)
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
            let lines =
                [line("the result", result)?, line("what was measured", &what_is_stored(measurement))?].concat();
            if self.append(&lines, true).is_ok() {
                self.run = None;
                self.keep_short();
                return Ok(());
            }
        }
        self.promote()?.finish_run(result, measurement)
    }

    fn fail_run(&mut self, run: &str, reason: &str) -> Result<(), StoreError> {
        let is_begun = self.run.as_ref().is_some_and(|(id, _)| id == run);
        if is_begun && self.append(&line("why a run failed", &Failed { failed: reason.to_owned() })?, true).is_ok() {
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
    /// Takes in all that waits beside the database. Where it does not take it, it waits on.
    pub(crate) fn take_in_queue(&mut self) {
        let Ok(files) = files_in(&directory_of(&self.path)) else { return };
        if files.is_empty() {
            return;
        }
        let taken = self.wait_at_most(BUSY_TIMEOUT).and_then(|()| {
            files.chunks(TAKEN_AT_ONCE).try_for_each(|files| {
                let done = self.take_in(files)?;
                // A file that cannot be removed is passed over the next time: its run is there.
                done.iter().for_each(|path| drop(fs::remove_file(path)));
                Ok(())
            })
        });
        let _ = self.wait_at_most(crate::BUSY_TIMEOUT);
        self.waiting = taken.err().map(|reason| Box::new(Waiting { directory: directory_of(&self.path), reason }));
    }

    /// Writes runs of files in one transaction, flushed; the answer is which files are no longer needed.
    fn take_in(&mut self, files: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError> {
        let mut runs = Vec::new();
        for path in files {
            match read(path) {
                Read::Run(begun, end) => runs.push((path, begun, end)),
                Read::NotNow => {}
                Read::Unreadable => {
                    let aside = path.with_extension("unreadable");
                    if fs::rename(path, &aside).is_ok() {
                        self.set_aside.push(aside);
                    }
                }
            }
        }
        let mut rows = Vec::new();
        let mut done = Vec::new();
        for (path, begun, end) in &runs {
            let is_over = !matches!(end, End::None) || begun.owner.life() == Life::Dead;
            done.extend(is_over.then(|| (*path).clone()));
            rows.push(TakenIn::of(begun, end)?);
        }
        if !rows.is_empty() {
            self.write("taking in queued runs", Durability::Power, |transaction| {
                rows.iter().try_for_each(|row| row.write(transaction))
            })?;
        }
        Ok(done)
    }

    /// Runs that wait beside the database because it did not take them when it was opened.
    pub fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_deref()
    }

    /// Files of runs that could not be read when the database was opened, under their new names.
    pub fn set_aside(&self) -> &[PathBuf] {
        &self.set_aside
    }
}

/// A run with everything that is written of it, made before the write lock is taken.
struct TakenIn<'a> {
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

impl<'a> TakenIn<'a> {
    fn of(begun: &'a Begun, end: &'a End) -> Result<TakenIn<'a>, StoreError> {
        Ok(TakenIn {
            row: RunRowIn::of(&begun.id, &begun.started_at, &begun.tool, &begun.workload)?,
            facts: FactRows::of(&begun.environment, &begun.targets)?,
            command: &begun.command,
            dialect: begun.dialect.as_deref(),
            owner: begun.owner.text()?,
            end: match end {
                End::None => EndIn::None,
                End::Result(result, measurement) => EndIn::Result(Box::new(ResultIn::of(result, measurement)?)),
                End::Failed(reason) => EndIn::Failed(reason),
            },
        })
    }

    fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let known: Option<String> = transaction
            .query_row("SELECT status FROM run WHERE id = ?1", [self.row.id], |row| row.get(0))
            .optional()?;
        // Another process may have taken it in, and a run that was taken for dead may have ended well.
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

fn read(path: &Path) -> Read {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Read::Unreadable,
        Err(_) => return Read::NotNow,
    };
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let Some(first) = lines.next() else {
        let age = fs::metadata(path).and_then(|file| file.modified()).map(|time| time.elapsed().unwrap_or_default());
        return if age.is_ok_and(|age| age > SETTLED_AFTER) { Read::Unreadable } else { Read::NotNow };
    };
    match json::from_str::<Format>(first) {
        Ok(Format { format: FORMAT }) => {}
        Ok(_) => return Read::NotNow,
        Err(_) => return Read::Unreadable,
    }
    let Ok(begun) = former::read_json::<Begun>(first) else { return Read::Unreadable };
    let end = match (lines.next(), lines.next()) {
        (None, _) => End::None,
        (Some(second), third) => match (json::from_str::<Failed>(second), third) {
            (Ok(Failed { failed }), _) => End::Failed(failed),
            // Its last line is still being written, or was when it was killed.
            (Err(_), None) => End::None,
            (Err(_), Some(third)) => match former::read_json::<RunResult>(second) {
                // The result is what counts; without what was measured it has no histograms and no series.
                Ok(result) => End::Result(Box::new(result), Box::new(json::from_str(third).unwrap_or_default())),
                Err(_) => return Read::Unreadable,
            },
        },
    };
    Read::Run(Box::new(begun), end)
}

/// What a database keeps of a measurement.
fn what_is_stored(measurement: &Measurement) -> Measurement {
    let of_phase = |phase: &PhaseMeasurement| PhaseMeasurement {
        name: phase.name.clone(),
        ops: phase
            .ops
            .iter()
            .map(|(kind, op)| {
                let histograms = OpMeasurement {
                    service: op.service.clone(),
                    response: op.response.clone(),
                    ..OpMeasurement::default()
                };
                (*kind, histograms)
            })
            .collect(),
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

fn directory_of(database: &Path) -> PathBuf {
    with_suffix(database, "-queue")
}

fn parent_of(database: &Path) -> &Path {
    database.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn flush_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn file_name(id: &str) -> String {
    format!("{id}.{EXTENSION}")
}

/// The files of runs, the oldest first: their names are UUIDv7.
fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    paths.sort();
    Ok(paths)
}
