//! Machines, environments and targets, stored once each and addressed by their content.

use crate::statement::execute;
use crate::{StoreError, canonical};
use plumb_result::observe::{Environment, TargetFacts};
use rusqlite::{Transaction, params};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Facts prepared for writing: ids and texts are computed before the write lock is taken.
#[derive(Debug)]
pub(crate) struct FactRows {
    machine: Row,
    environment: Row,
    environment_of: Environment,
    targets: Vec<TargetRow>,
}

#[derive(Debug)]
struct Row {
    id: String,
    facts: String,
}

#[derive(Debug)]
struct TargetRow {
    name: String,
    row: Row,
    of: TargetFacts,
}

impl FactRows {
    pub(crate) fn new(
        environment: &Environment,
        targets: &BTreeMap<String, TargetFacts>,
    ) -> Result<FactRows, StoreError> {
        let machine = row(json!({
            "hostname": environment.hostname,
            "arch": environment.arch,
            "cpu": environment.cpu,
            "cpus": environment.cpus,
            "ram_bytes": environment.ram_bytes,
            "virtualisation": canonical::value("the virtualisation", &environment.virtualisation)?,
        }));
        let mut value = canonical::value("the environment", environment)?;
        remove_momentary_facts(value.pointer_mut("/facts"));
        let environment_row = under(&machine.id, value);
        let targets = targets
            .iter()
            .map(|(name, facts)| {
                let mut value = canonical::value("the target", facts)?;
                if let Some(filesystem) = value.pointer_mut("/filesystem/yes").and_then(Value::as_object_mut) {
                    filesystem.remove("free_bytes");
                    remove_momentary_facts(filesystem.get_mut("features"));
                }
                let row = under(&environment_row.id, value);
                Ok(TargetRow { name: name.clone(), row, of: facts.clone() })
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(FactRows { machine, environment: environment_row, environment_of: environment.clone(), targets })
    }

    /// Returns `true` if these rows were prepared from the given facts.
    pub(crate) fn matches(&self, environment: &Environment, targets: &BTreeMap<String, TargetFacts>) -> bool {
        self.environment_of == *environment
            && self.targets.iter().map(|target| (&target.name, &target.of)).eq(targets.iter())
    }

    pub(crate) fn environment_id(&self) -> &str {
        &self.environment.id
    }

    /// Inserts rows that do not exist yet, and links the targets to the run.
    pub(crate) fn write(&self, run: &str, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let of = &self.environment_of;
        execute(
            transaction,
            "INSERT OR IGNORE INTO machine (id, hostname, arch, cpu, cores, ram_bytes, virt, facts)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                self.machine.id,
                of.hostname,
                of.arch,
                of.cpu,
                of.cpus,
                i64::try_from(of.ram_bytes).ok(),
                of.virtualisation.value(),
                self.machine.facts
            ],
        )?;
        execute(
            transaction,
            "INSERT OR IGNORE INTO environment (id, machine_id, os, kernel, kernel_cmdline, libc, facts)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                self.environment.id,
                self.machine.id,
                of.os,
                of.kernel,
                of.kernel_cmdline.value(),
                of.libc,
                self.environment.facts
            ],
        )?;
        for target in &self.targets {
            self.write_target(run, target, transaction)?;
        }
        Ok(())
    }

    fn write_target(&self, run: &str, target: &TargetRow, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let filesystem = target.of.filesystem.value();
        let features = filesystem.filter(|fs| !fs.features.is_empty());
        let features = features.map(|fs| canonical::value("the features", &fs.features).unwrap_or_default());
        let leaf = target.of.leaves.first();
        let scheduler =
            target.of.stack.iter().find(|layer| Some(&layer.name) == leaf).and_then(|l| l.scheduler.as_ref());
        execute(
            transaction,
            "INSERT OR IGNORE INTO target
               (id, environment_id, path, fs, fs_uuid, mkfs_facts, mount_options, scheduler, facts)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                target.row.id,
                self.environment.id,
                target.of.path,
                filesystem.map(|fs| &fs.kind),
                filesystem.and_then(|fs| fs.uuid.value()),
                features.map(|features| canonical::text(&features)),
                filesystem.map(|fs| fs.options.join(",")),
                scheduler,
                target.row.facts
            ],
        )?;
        let sized = filesystem.filter(|fs| fs.size_bytes > 0);
        execute(
            transaction,
            "INSERT OR REPLACE INTO run_target (run_id, name, target_id, free_bytes, fs_used_fraction)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                run,
                target.name,
                target.row.id,
                sized.and_then(|fs| i64::try_from(fs.free_bytes).ok()),
                sized.map(|fs| 1.0 - fs.free_share())
            ],
        )?;
        Ok(())
    }
}

/// Removes facts that change from moment to moment. With the load or the time since boot in it, no row would ever be
/// reused. The result still contains them.
fn remove_momentary_facts(facts: Option<&mut Value>) {
    if let Some(facts) = facts.and_then(Value::as_object_mut) {
        facts.retain(|name, _| !name.starts_with("now."));
    }
}

fn row(facts: Value) -> Row {
    let facts = canonical::text(&facts);
    Row { id: canonical::address(&facts), facts }
}

/// Creates a row whose address depends on its parent: the same stack on another machine is another row.
fn under(parent: &str, facts: Value) -> Row {
    let facts = canonical::text(&facts);
    Row { id: canonical::address(&format!("{parent}\n{facts}")), facts }
}
