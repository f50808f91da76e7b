//! Overviews of the shared database.

use crate::SharedStore;
use plumb_store::{
    MachineRow, OVERVIEW_ROWS_MAX, Overviews, PLACE_RUNS_MAX, PlaceRow, STORAGE_MAX, StorageRow, StoreError, rfc3339,
};
use postgres::Row;
use std::collections::BTreeMap;

impl Overviews for SharedStore {
    fn run_before(&self, run: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT before.id::text FROM run AS given
                   JOIN environment AS here ON here.id = given.environment_id
                   JOIN run AS before ON before.name = given.name
                     AND (before.started_at, before.id) < (given.started_at, given.id)
                   JOIN environment AS there ON there.id = before.environment_id AND there.machine_id = here.machine_id
                   WHERE given.id = $1::text::uuid AND before.status = 'ok'
                   ORDER BY before.started_at DESC, before.id DESC LIMIT 1";
        Ok(self.rows("looking for the run before", sql, &[&run], |row| row.try_get(0))?.pop())
    }

    fn places(&self) -> Result<Vec<PlaceRow>, StoreError> {
        let sql = "SELECT run.name, coalesce(machine.hostname, ''), coalesce(target.path, ''), count(DISTINCT run.id),
                     max(run.started_at) AS last
                   FROM (SELECT id, name, environment_id, started_at FROM run WHERE status = 'ok'
                         ORDER BY started_at DESC LIMIT $2) AS run
                   JOIN environment ON environment.id = run.environment_id
                   JOIN machine ON machine.id = environment.machine_id
                   JOIN run_target ON run_target.run_id = run.id JOIN target ON target.id = run_target.target_id
                   GROUP BY run.name, machine.hostname, target.path
                   HAVING count(DISTINCT run.id) > 1 ORDER BY last DESC LIMIT $1";
        let limits = [i64::from(OVERVIEW_ROWS_MAX), i64::from(PLACE_RUNS_MAX)];
        self.rows("listing places", sql, &[&limits[0], &limits[1]], |row| {
            Ok(PlaceRow {
                workload: row.try_get(0)?,
                host: row.try_get(1)?,
                path: row.try_get(2)?,
                runs: count(row.try_get(3)?),
                last_at: rfc3339(row.try_get(4)?),
            })
        })
    }

    fn machines(&self) -> Result<Vec<MachineRow>, StoreError> {
        // Runs are counted by environment first: there are few of them.
        let sql = "WITH used AS (SELECT environment_id, count(*) AS runs, max(started_at) AS last FROM run GROUP BY 1)
                   SELECT machine.id, hostname, coalesce(arch, ''), coalesce(cpu, ''), coalesce(cores, 0),
                     coalesce(ram_bytes, 0), virt, sum(used.runs)::bigint, max(used.last) AS last,
                     ARRAY(SELECT DISTINCT kernel COLLATE \"C\" AS kernel FROM environment AS other
                           WHERE other.machine_id = machine.id AND kernel <> '' ORDER BY kernel)
                   FROM used JOIN environment ON environment.id = used.environment_id
                   JOIN machine ON machine.id = environment.machine_id
                   WHERE hostname <> '' GROUP BY machine.id ORDER BY last DESC LIMIT $1";
        let mut machines = self.rows("listing machines", sql, &[&i64::from(OVERVIEW_ROWS_MAX)], machine_row)?;
        let ids: Vec<&str> = machines.iter().map(|machine| machine.id.as_str()).collect();
        let mut storage = self.storage(&ids)?;
        for machine in &mut machines {
            machine.storage = storage.remove(&machine.id).unwrap_or_default();
        }
        Ok(machines)
    }
}

impl SharedStore {
    /// Returns the storage of machines, by their ids, the last used first.
    fn storage(&self, machines: &[&str]) -> Result<BTreeMap<String, Vec<StorageRow>>, StoreError> {
        let sql = "WITH used AS (
                     SELECT run_target.target_id, count(*) AS runs, max(run.started_at) AS last
                     FROM run_target JOIN run ON run.id = run_target.run_id GROUP BY 1)
                   SELECT environment.machine_id, coalesce(target.path, ''), target.facts::text,
                     sum(used.runs)::bigint, max(used.last) AS last
                   FROM used JOIN target ON target.id = used.target_id
                   JOIN environment ON environment.id = target.environment_id
                   WHERE environment.machine_id = ANY ($1)
                   GROUP BY environment.machine_id, target.path, target.facts ORDER BY last DESC";
        let row = |row: &Row| {
            let storage = StorageRow {
                path: row.try_get(1)?,
                facts: StorageRow::parse_facts(row.try_get(2)?),
                runs: count(row.try_get(3)?),
                last_at: rfc3339(row.try_get(4)?),
            };
            Ok((row.try_get::<_, String>(0)?, storage))
        };
        let mut found: BTreeMap<String, Vec<StorageRow>> = BTreeMap::new();
        for (machine, storage) in self.rows("listing storage", sql, &[&machines], row)? {
            let of_machine = found.entry(machine).or_default();
            if of_machine.len() < STORAGE_MAX as usize {
                of_machine.push(storage);
            }
        }
        Ok(found)
    }
}

fn machine_row(row: &Row) -> Result<MachineRow, postgres::Error> {
    Ok(MachineRow {
        id: row.try_get(0)?,
        host: row.try_get(1)?,
        arch: row.try_get(2)?,
        cpu: row.try_get(3)?,
        cpus: u64::try_from(row.try_get::<_, i32>(4)?).unwrap_or(0),
        ram_bytes: count(row.try_get(5)?),
        virtualisation: row.try_get(6)?,
        kernels: row.try_get(9)?,
        runs: count(row.try_get(7)?),
        last_at: rfc3339(row.try_get(8)?),
        storage: Vec::new(),
    })
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
