//! Noise floors, stored with the conditions that they hold for, and found again by place and workload.

use crate::open::Durability;
use crate::rows::FloorRow;
use crate::time::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::observe::{Environment, TargetFacts};
use plumb_result::{Noise, NoiseFloor};
use rusqlite::{Row, params};
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

    /// Returns the noise floors of a place and a work, the newest first.
    pub(crate) fn floors_of(&self, place: &str, work_hash: &str) -> rusqlite::Result<Vec<FloorRow>> {
        let mut statement = self.connection.prepare(
            "SELECT noise.id, measured_at, environment, targets, noise_floor.workload, noise_floor.body
             FROM noise JOIN noise_floor ON noise_id = noise.id
             WHERE place = ?1 AND work_hash = ?2
             ORDER BY measured_at DESC, noise.id DESC, phase, metric",
        )?;
        let row = |row: &Row<'_>| {
            Ok(FloorRow {
                noise: row.get(0)?,
                measured_ns: row.get(1)?,
                environment: row.get(2)?,
                targets: row.get(3)?,
                workload: row.get(4)?,
                body: row.get(5)?,
            })
        };
        statement.query_map([place, work_hash], row)?.collect()
    }
}
