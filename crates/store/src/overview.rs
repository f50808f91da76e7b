//! Overviews of what is stored: places with a history, and machines with their storage.

use crate::time::rfc3339;
use crate::{ResultStore, Store, StoreError};
use plumb_document::json;
use plumb_result::observe::TargetFacts;
use rusqlite::OptionalExtension;
use serde::Serialize;

/// Largest number of rows of an overview.
pub const OVERVIEW_ROWS_MAX: u32 = 500;

/// Number of the newest runs with a result that [`Overviews::places`] groups. All runs would take seconds of a large database.
pub const PLACE_RUNS_MAX: u32 = 50_000;

/// Largest number of storage stacks of a machine in [`Overviews::machines`].
pub const STORAGE_MAX: u32 = 50;

/// A workload at a place, and how often it ran there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlaceRow {
    pub workload: String,
    pub host: String,
    pub path: String,
    /// Number of runs that ended with a result.
    pub runs: u64,
    /// Start of the last one, RFC 3339, UTC.
    pub last_at: String,
}

/// Hardware, and what ran on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineRow {
    /// blake3 of its facts.
    pub id: String,
    pub host: String,
    pub arch: String,
    pub cpu: String,
    pub cpus: u64,
    pub ram_bytes: u64,
    /// Name of the hypervisor, or `none`; `None` if unknown.
    pub virtualisation: Option<String>,
    /// Kernels of its runs, sorted.
    pub kernels: Vec<String>,
    pub runs: u64,
    /// Start of the last run, RFC 3339, UTC.
    pub last_at: String,
    /// Storage of its runs, the last used first.
    pub storage: Vec<StorageRow>,
}

/// Storage under a path of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StorageRow {
    pub path: String,
    /// The file system and its stack, without the free space; `None` if this version cannot read it.
    pub facts: Option<TargetFacts>,
    pub runs: u64,
    /// Start of the last run, RFC 3339, UTC.
    pub last_at: String,
}

/// Lists of the places, machines and storage of a database.
pub trait Overviews: ResultStore {
    /// Returns the id of the run with a result before another one, of the same workload on the same machine. `run` is a whole id.
    fn run_before(&self, run: &str) -> Result<Option<String>, StoreError>;

    /// Returns workloads that ran several times at a place, the last used first, at most [`OVERVIEW_ROWS_MAX`]: of the newest
    /// [`PLACE_RUNS_MAX`] runs.
    fn places(&self) -> Result<Vec<PlaceRow>, StoreError>;

    /// Returns the machines of all runs, the last used first, at most [`OVERVIEW_ROWS_MAX`].
    fn machines(&self) -> Result<Vec<MachineRow>, StoreError>;
}

impl Overviews for Store {
    fn run_before(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT before.id FROM run AS of
                 JOIN environment AS here ON here.id = of.environment_id
                 JOIN run AS before ON before.name = of.name AND (before.started_at, before.id) < (of.started_at, of.id)
                 JOIN environment AS there ON there.id = before.environment_id AND there.machine_id = here.machine_id
                 WHERE of.id = ?1 AND before.status = 'ok' ORDER BY before.started_at DESC, before.id DESC LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row([run], |row| row.get(0)).optional())
            .map_err(self.failed("looking for the run before"))
    }

    fn places(&self) -> Result<Vec<PlaceRow>, StoreError> {
        let failed = self.failed("listing places");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT run.name, machine.hostname, target.path, count(DISTINCT run.id), max(run.started_at) AS last
                 FROM (SELECT * FROM run WHERE status = 'ok' ORDER BY started_at DESC LIMIT ?2) AS run
                 JOIN environment ON environment.id = run.environment_id
                 JOIN machine ON machine.id = machine_id
                 JOIN run_target ON run_target.run_id = run.id JOIN target ON target.id = target_id
                 GROUP BY run.name, machine.hostname, target.path
                 HAVING count(DISTINCT run.id) > 1 ORDER BY last DESC LIMIT ?1",
            )
            .map_err(&failed)?;
        let place = |row: &rusqlite::Row<'_>| {
            Ok(PlaceRow {
                workload: row.get(0)?,
                host: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
                path: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
                runs: count(row.get(3)?),
                last_at: rfc3339(row.get(4)?),
            })
        };
        statement.query_map([OVERVIEW_ROWS_MAX, PLACE_RUNS_MAX], place).and_then(Iterator::collect).map_err(&failed)
    }

    fn machines(&self) -> Result<Vec<MachineRow>, StoreError> {
        let failed = self.failed("listing machines");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT machine.id, hostname, arch, cpu, cores, ram_bytes, virt, count(*), max(run.started_at) AS last,
                   (SELECT group_concat(kernel, char(31)) FROM (SELECT DISTINCT kernel FROM environment AS of
                      WHERE of.machine_id = machine.id ORDER BY kernel))
                 FROM run JOIN environment ON environment.id = run.environment_id JOIN machine ON machine.id = machine_id
                 WHERE hostname != '' GROUP BY machine.id ORDER BY last DESC LIMIT ?1",
            )
            .map_err(&failed)?;
        let machine = |row: &rusqlite::Row<'_>| {
            let text =
                |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.unwrap_or_default());
            let kernels = text(9)?;
            Ok(MachineRow {
                id: row.get(0)?,
                host: text(1)?,
                arch: text(2)?,
                cpu: text(3)?,
                cpus: count(row.get::<_, Option<i64>>(4)?.unwrap_or(0)),
                ram_bytes: count(row.get::<_, Option<i64>>(5)?.unwrap_or(0)),
                virtualisation: row.get(6)?,
                kernels: kernels.split('\u{1f}').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
                runs: count(row.get(7)?),
                last_at: rfc3339(row.get(8)?),
                storage: Vec::new(),
            })
        };
        let mut machines: Vec<MachineRow> =
            statement.query_map([OVERVIEW_ROWS_MAX], machine).and_then(Iterator::collect).map_err(&failed)?;
        for machine in &mut machines {
            machine.storage = self.read_storage(&machine.id)?;
        }
        Ok(machines)
    }
}

impl Store {
    fn read_storage(&self, machine: &str) -> Result<Vec<StorageRow>, StoreError> {
        let failed = self.failed("listing storage");
        // Stacks that differ only in the environment above them are one: SQLite takes the other columns of the row with the maximum.
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT target.path, target.facts, count(*), max(run.started_at) AS last
                 FROM target JOIN environment ON environment.id = target.environment_id
                 JOIN run_target ON run_target.target_id = target.id JOIN run ON run.id = run_target.run_id
                 WHERE environment.machine_id = ?1 GROUP BY target.path, target.facts ORDER BY last DESC LIMIT ?2",
            )
            .map_err(&failed)?;
        let storage = |row: &rusqlite::Row<'_>| {
            Ok(StorageRow {
                path: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
                facts: StorageRow::parse_facts(&row.get::<_, String>(1)?),
                runs: count(row.get(2)?),
                last_at: rfc3339(row.get(3)?),
            })
        };
        statement.query_map((machine, STORAGE_MAX), storage).and_then(Iterator::collect).map_err(&failed)
    }
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

impl StorageRow {
    /// Parses the stored facts of a target, which lack the free space because it differs from run to run.
    pub fn parse_facts(text: &str) -> Option<TargetFacts> {
        let mut value: serde_json::Value = json::from_str(text).ok()?;
        if let Some(filesystem) = value.pointer_mut("/filesystem/yes").and_then(serde_json::Value::as_object_mut) {
            filesystem.insert("free_bytes".to_owned(), 0.into());
        }
        serde_json::from_value(value).ok()
    }
}
