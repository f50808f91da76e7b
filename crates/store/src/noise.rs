//! Noise floors, stored with the conditions that they hold for, and found again by place and workload.

use crate::open::Durability;
use crate::write::{nanos, rfc3339};
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_document::json::{self, JsonError};
use plumb_result::observe::{Environment, TargetFacts};
use plumb_result::{Noise, NoiseFloor};
use rusqlite::params;
use serde_json::Value;
use std::collections::BTreeMap;

/// The storage under each target of a workload, by target name.
pub type Targets = BTreeMap<String, TargetFacts>;

/// A noise floor to store.
#[derive(Debug, Clone, Copy)]
pub struct NoiseIn<'a> {
    /// Id of the noise floor, a UUIDv7.
    pub id: &'a str,
    /// The place in a form independent of the working directory: an absolute path, or a simulated device.
    pub place: &'a str,
    /// The noise floor as printed.
    pub noise: &'a Noise,
    pub environment: &'a Environment,
    /// Measured workloads by name.
    pub works: &'a BTreeMap<String, NoiseWork>,
}

/// A workload whose noise was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseWork {
    /// The workload without seed, place and length of phases.
    pub print: Value,
    /// Storage that the workload ran on.
    pub targets: Targets,
}

/// A stored noise floor of a workload at a place.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFloors {
    /// Time of the measurement, RFC 3339, UTC.
    pub measured_at: String,
    /// The machine at that time.
    pub environment: Environment,
    /// The storage at that time.
    pub targets: Targets,
    /// Floors of the workload's numbers.
    pub floors: Vec<NoiseFloor>,
}

impl Store {
    /// Stores a noise floor, flushed to the storage.
    pub fn save_noise(&mut self, noise: &NoiseIn<'_>) -> Result<(), StoreError> {
        let body = canonical::text(&canonical::value("the noise floor", noise.noise)?);
        let environment = canonical::text(&canonical::value("the environment", noise.environment)?);
        let targets: BTreeMap<&String, &Targets> =
            BTreeMap::from_iter(noise.works.iter().map(|(name, work)| (name, &work.targets)));
        let targets = canonical::text(&canonical::value("the targets", &targets)?);
        let measured_at = noise
            .noise
            .measured_at
            .parse::<Timestamp>()
            .map_err(|_| StoreError::Time { id: noise.id.to_owned(), text: noise.noise.measured_at.clone() })?;
        let floors = noise
            .noise
            .floors
            .iter()
            .filter_map(|floor| Some((floor, noise.works.get(&floor.workload)?)))
            .map(|(floor, work)| {
                let body = canonical::text(&canonical::value("a noise floor", floor)?);
                Ok((floor, canonical::address(&canonical::text(&work.print)), body))
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        self.write("storing a noise floor", Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO noise (id, measured_at, place, environment, targets, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![noise.id, nanos(measured_at), noise.place, environment, targets, body],
            )?;
            let mut insert = transaction.prepare(
                "INSERT INTO noise_floor (noise_id, workload, work_hash, phase, metric, floor, blocks, cv, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?;
            for (floor, work_hash, body) in &floors {
                insert.execute(params![
                    noise.id,
                    floor.workload,
                    work_hash,
                    floor.phase,
                    floor.metric.to_string(),
                    floor.floor,
                    floor.blocks,
                    floor.cv,
                    body
                ])?;
            }
            Ok(())
        })
    }

    /// Returns the newest noise floor of a workload at a place. `print` is the workload without seed, place and
    /// length of phases. The caller judges whether it still holds for the current machine and storage.
    pub fn noise_floors(&self, place: &str, print: &Value) -> Result<Option<StoredFloors>, StoreError> {
        let failed = self.failed("looking for a noise floor");
        let work_hash = canonical::address(&canonical::text(print));
        let mut statement = self
            .connection
            .prepare(
                "SELECT noise.id, measured_at, environment, targets, noise_floor.workload, noise_floor.body
                 FROM noise JOIN noise_floor ON noise_id = noise.id
                 WHERE place = ?1 AND work_hash = ?2
                 ORDER BY measured_at DESC, noise.id DESC, phase, metric",
            )
            .map_err(&failed)?;
        let mut rows = statement.query(params![place, work_hash]).map_err(&failed)?;
        let mut newest: Option<(String, StoredFloors)> = None;
        while let Some(row) = rows.next().map_err(&failed)? {
            let read = || -> rusqlite::Result<(String, i64, String, String, String, String)> {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
            };
            let (id, measured_at, environment, targets, workload, body) = read().map_err(&failed)?;
            let damaged = |error: JsonError| self.unreadable(&id, "a noise floor", error);
            let floor: NoiseFloor = json::from_str(&body).map_err(damaged)?;
            match &mut newest {
                Some((known, stored)) if *known == id => stored.floors.push(floor),
                Some(_) => break,
                None => {
                    let environment = json::from_str(&environment).map_err(damaged)?;
                    let mut works: BTreeMap<String, Targets> = json::from_str(&targets).map_err(damaged)?;
                    let stored = StoredFloors {
                        measured_at: rfc3339(measured_at),
                        environment,
                        targets: works.remove(&workload).unwrap_or_default(),
                        floors: vec![floor],
                    };
                    newest = Some((id, stored));
                }
            }
        }
        Ok(newest.map(|(_, stored)| stored))
    }
}
