//! Runs of short commands: each waits in a file beside the database until a command opens the database.
//!
//! Opening SQLite, finding its statements and writing a run into a dozen tables takes some ten times as long as one file, and scripts
//! call `dd` a thousand times. A run's file is there before its first op, and a kill leaves it. Its result is not flushed: a script measures
//! on, and a flush of a journal writes what the command before it left in memory. A run that lasts for a second goes to the database at its first heartbeat.
//!
//! A file has a line of JSON for the beginning of its run and two more for its end. `docs/store.md` tells users of it.

use crate::facts::FactRows;
use crate::open::{Durability, SCHEMA_VERSION, has_our_header};
use crate::owner::{Life, Owner};
use crate::queue_directory::{Damaged, Waiting, count_in, directory_of, file_name, files_in, is_plain_directory};
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

/// What the lines of a file look like. Another Plumb leaves a file of a format that it does not know where it is.
const FORMAT: u32 = 1;

/// Each time that this many more files wait, the run that finds them takes them into the database: listing the directory stays cheap,
/// and no command that follows has thousands of them to take in. Files that must wait on do not make every run try.
const WAITING_MAX: usize = 128;

/// Files that are taken in with one transaction: each is in memory as a whole until then.
const TAKEN_AT_ONCE: usize = 32;

/// How long taking in waits for another writer; if that takes longer, the files stay where they are.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

/// An empty file is left alone for this long: its process may be about to write.
const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// Where the runs of one command wait.
#[derive(Debug)]
pub struct Queue {
    database: PathBuf,
    directory: PathBuf,
    /// The run that goes on.
    run: Option<(String, File)>,
    /// Open once a run has lasted; later runs of the command go straight to it.
    store: Option<Store>,
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

/// What a file says, and whether its run is over: then nobody writes to it any more.
struct Found {
    says: Says,
    is_over: bool,
}

/// What a file says.
enum Says {
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
        let database = Database::at(database).ok()?;
        if !has_our_header(&database, SCHEMA_VERSION) {
            return None;
        }
        let database = database.path();
        let directory = directory_of(database);
        is_plain_directory(&directory).ok().filter(|is_plain| *is_plain)?;
        Some(Queue { database: database.to_owned(), directory, run: None, store: None })
    }

    /// The database, opened for a run that lasts: it takes in the run's beginning, and nothing else, since a clock may run. Nothing is
    /// flushed either.
    fn promote(&mut self) -> Result<&mut Store, StoreError> {
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert(Store::open_beside_queue(&self.database)?),
        };
        if let Some((id, _)) = &self.run {
            let path = self.directory.join(file_name(id));
            store.take_in(std::slice::from_ref(&path), Durability::Process, Damaged::Stays)?;
            let _ = fs::remove_file(path);
            self.run = None;
        }
        Ok(store)
    }

    /// Writes to the run's file. What cannot be written is cut off again: the run goes to the database then.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let Some((_, file)) = &mut self.run else { return Err(io::ErrorKind::NotFound.into()) };
        let length = file.metadata()?.len();
        file.write_all(lines).inspect_err(|_| {
            let _ = file.set_len(length);
        })
    }

    /// Takes in what waits where it has become much. What cannot be taken in now waits on, and what is damaged waits for a command that
    /// can say so.
    fn keep_short(&self) {
        let is_long = count_in(&self.directory).is_ok_and(|files| files > 0 && files % WAITING_MAX == 0);
        if is_long && let Ok(mut store) = Store::open_beside_queue(&self.database) {
            store.take_in_queue(Damaged::Stays);
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
            let lines =
                [line("the result", result)?, line("what was measured", &what_is_stored(measurement))?].concat();
            if self.append(&lines).is_ok() {
                self.run = None;
                self.keep_short();
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
    pub(crate) fn take_in_queue(&mut self, damaged: Damaged) {
        self.take_in_directory(&directory_of(&self.path), damaged);
    }

    /// Imports runs queued next to a symbolic link to this database, where earlier versions put them.
    pub fn take_in_queue_of_link(&mut self, link: &Path) {
        // An in-memory store would lose the runs.
        if self.in_file {
            self.take_in_directory(&directory_of(link), Damaged::IsPutAside);
        }
    }

    fn take_in_directory(&mut self, directory: &Path, damaged: Damaged) {
        let Ok(files) = files_in(directory) else { return };
        if files.is_empty() {
            return;
        }
        let taken = self.wait_at_most(BUSY_TIMEOUT).and_then(|()| {
            files.chunks(TAKEN_AT_ONCE).try_for_each(|files| {
                let done = match self.take_in(files, Durability::Power, damaged) {
                    Err(error) if !error.is_of_database() => self.take_in_one_by_one(files, damaged)?,
                    taken => taken?,
                };
                // A file that cannot be removed is passed over the next time: its run is there.
                done.iter().for_each(|path| drop(fs::remove_file(path)));
                Ok(())
            })
        });
        let _ = self.wait_at_most(crate::BUSY_TIMEOUT);
        self.waiting = taken.err().map(|reason| Box::new(Waiting { directory: directory.to_owned(), reason }));
    }

    /// A run that the database does not take must not keep the others waiting.
    fn take_in_one_by_one(&mut self, files: &[PathBuf], damaged: Damaged) -> Result<Vec<PathBuf>, StoreError> {
        let mut done = Vec::new();
        for path in files {
            match self.take_in(std::slice::from_ref(path), Durability::Power, damaged) {
                Ok(taken) => done.extend(taken),
                Err(error) if error.is_of_database() => return Err(error),
                Err(_) => self.put_aside(path, damaged),
            }
        }
        Ok(done)
    }

    /// Writes runs of files in one transaction; the answer is which files are no longer needed.
    fn take_in(
        &mut self,
        files: &[PathBuf],
        durability: Durability,
        damaged: Damaged,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let mut runs = Vec::new();
        let mut done = Vec::new();
        for path in files {
            let Found { says, is_over } = found(path);
            match says {
                Says::Run(begun, end) => {
                    done.extend(is_over.then(|| path.clone()));
                    runs.push((path, begun, end));
                }
                Says::NotNow => {}
                Says::Unreadable => self.put_aside(path, damaged),
            }
        }
        let mut rows = Vec::new();
        for (path, begun, end) in &runs {
            match TakenIn::of(begun, end) {
                Ok(row) => rows.push(row),
                Err(_) => {
                    done.retain(|done| done != *path);
                    self.put_aside(path, damaged);
                }
            }
        }
        if !rows.is_empty() {
            self.write("taking in queued runs", durability, |transaction| {
                rows.iter().try_for_each(|row| row.write(transaction))
            })?;
        }
        Ok(done)
    }

    /// Gives a file a name under which it is not read again.
    fn put_aside(&mut self, path: &Path, damaged: Damaged) {
        let aside = path.with_extension("unreadable");
        if damaged == Damaged::IsPutAside && fs::rename(path, &aside).is_ok() {
            self.set_aside.push(aside);
        }
    }

    /// Says that what is in the queue is not in this database, which was opened without it because of this error.
    pub(crate) fn leaves_queue(&mut self, reason: StoreError) {
        let directory = directory_of(&self.path);
        if files_in(&directory).is_ok_and(|files| !files.is_empty()) {
            self.waiting = Some(Box::new(Waiting { directory, reason }));
        }
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

fn found(path: &Path) -> Found {
    match read(path) {
        // Its process may have written its end between the reading and its own end.
        Says::Run(begun, End::None) if begun.owner.life() == Life::Dead => Found { says: read(path), is_over: true },
        says => Found { is_over: matches!(says, Says::Run(_, End::Result(..) | End::Failed(_))), says },
    }
}

fn read(path: &Path) -> Says {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Says::Unreadable,
        Err(_) => return Says::NotNow,
    };
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let Some(first) = lines.next() else {
        let age = fs::metadata(path).and_then(|file| file.modified()).map(|time| time.elapsed().unwrap_or_default());
        return if age.is_ok_and(|age| age > SETTLED_AFTER) { Says::Unreadable } else { Says::NotNow };
    };
    match json::from_str::<Format>(first) {
        Ok(Format { format: FORMAT }) => {}
        Ok(_) => return Says::NotNow,
        Err(_) => return Says::Unreadable,
    }
    let Ok(begun) = former::read_json::<Begun>(first) else { return Says::Unreadable };
    let end = match (lines.next(), lines.next()) {
        (None, _) => End::None,
        (Some(second), third) => match (json::from_str::<Failed>(second), third) {
            (Ok(Failed { failed }), _) => End::Failed(failed),
            // Its last line is still being written, or was when it was killed.
            (Err(_), None) => End::None,
            (Err(_), Some(third)) => match (former::read_json(second), former::read_json(third)) {
                (Ok(result), Ok(measurement)) => End::Result(Box::new(result), Box::new(measurement)),
                _ => return Says::Unreadable,
            },
        },
    };
    Says::Run(Box::new(begun), end)
}

/// What a database keeps of a measurement.
fn what_is_stored(measurement: &Measurement) -> Measurement {
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
        let owner = Owner::of(child.id());
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

    // Protects: a file is given up only when its process is gone; until then an end may follow.
    #[test]
    fn a_run_is_over_when_it_has_an_end_or_its_process_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.run");
        begun(&Owner::this(), &path);
        assert!(!found(&path).is_over);
        begun(&owner_that_is_gone(), &path);
        assert!(found(&path).is_over);
        let end = line("an end", &Failed { failed: "no reason".to_owned() }).unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&end).unwrap();
        let found = found(&path);
        assert!(found.is_over && matches!(found.says, Says::Run(_, End::Failed(reason)) if reason == "no reason"));
    }

    // Protects: who reads a database that cannot be written is told of the runs that are not in it.
    #[test]
    fn runs_that_are_left_out_are_said() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("plumb.db");
        let mut store = Store::open_beside_queue(&database).unwrap();
        let busy = || StoreError::Busy { path: database.clone(), doing: "opening it" };
        store.leaves_queue(busy());
        assert!(store.waiting().is_none());
        fs::create_dir(directory_of(&database)).unwrap();
        begun(&Owner::this(), &directory_of(&database).join("a.run"));
        store.leaves_queue(busy());
        assert!(store.waiting().is_some());
    }
}
