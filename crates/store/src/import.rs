//! Imports results from files: runs that the database could not store when they ended, or that are in another database.

use crate::open::Durability;
use crate::owner::{KILLED, Life, Owner};
use crate::result_store::ResultStore;
use crate::write::ResultIn;
use crate::{Store, StoreError};
use plumb_document::json;
use plumb_result::{Measurement, RunResult};
use rusqlite::OptionalExtension;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Imported {
    Added,
    /// The run existed without a result.
    Completed,
    /// The same result existed already; nothing changed.
    Unchanged,
    /// The file of another tool had been imported already, and this version of Plumb reads it differently.
    Reread,
}

/// Returns `true` if two results are the same. The name of an imported file does not matter, nor does an answer
/// that a gate added later.
pub fn is_same_result(stored: &RunResult, result: &RunResult) -> bool {
    let without_name = |result: &RunResult| {
        let mut result = result.clone();
        result.gated = None;
        if let Some(imported) = &mut result.imported {
            imported.file.clear();
        }
        result
    };
    without_name(stored) == without_name(result)
}

/// Returns `true` if both results were read from the same file of another tool.
fn is_of_same_file(stored: &RunResult, result: &RunResult) -> bool {
    match (&stored.imported, &result.imported) {
        (Some(one), Some(other)) => one.raw.blake3 == other.raw.blake3,
        _ => false,
    }
}

impl Store {
    /// Imports the result of a run that ended elsewhere or could not be stored. A run that exists without a result
    /// receives this one, and keeps its command and the series from its heartbeats.
    ///
    /// # Errors
    /// Returns [`StoreError::OtherResult`] if the run has a different result, and [`StoreError::Begun`]
    /// if it is still running.
    pub fn import(&mut self, result: &RunResult) -> Result<Imported, StoreError> {
        let nothing = Measurement::default();
        let result_in = ResultIn::new(result, &nothing)?;
        let known = self.known(&result.id)?;
        let outcome = match known {
            None => Imported::Added,
            Some(Known { has_result: true, .. }) => {
                let stored = self.get(&result.id)?;
                match (is_same_result(&stored, result), is_of_same_file(&stored, result)) {
                    (true, _) => return Ok(Imported::Unchanged),
                    (false, true) => Imported::Reread,
                    (false, false) => return Err(StoreError::OtherResult { id: result.id.clone() }),
                }
            }
            Some(Known { status, lives: true, .. }) => {
                return Err(StoreError::Begun { id: result.id.clone(), status });
            }
            Some(Known { status, .. }) => {
                if status == "running" {
                    // Turn its heartbeats into series first; those stay.
                    self.end_without_result(&result.id, "aborted", KILLED)?;
                }
                Imported::Completed
            }
        };
        self.write("importing a result", Durability::Power, |transaction| {
            match outcome {
                Imported::Reread => result_in.write(transaction)?,
                _ => result_in.write_keeping_series(transaction)?,
            }
            if outcome == Imported::Added {
                transaction.execute("UPDATE run SET origin = 'import' WHERE id = ?1", [&result.id])?;
            }
            if let Some(command) = result.imported.as_ref().and_then(|imported| imported.command.as_ref()) {
                transaction.execute("UPDATE run SET command = ?2 WHERE id = ?1", [&result.id, command])?;
            }
            Ok(())
        })?;
        Ok(outcome)
    }

    fn known(&self, id: &str) -> Result<Option<Known>, StoreError> {
        self.connection
            .query_row(
                "SELECT status, owner, EXISTS (SELECT 1 FROM artifact WHERE run_id = id AND name = 'result.json')
                 FROM run WHERE id = ?1",
                [id],
                |row| {
                    let owner: Option<String> = row.get(1)?;
                    let owner = owner.and_then(|owner| json::from_str::<Owner>(&owner).ok());
                    Ok(Known {
                        status: row.get(0)?,
                        lives: owner.is_some_and(|owner| owner.life() == Life::Alive),
                        has_result: row.get(2)?,
                    })
                },
            )
            .optional()
            .map_err(self.failed("looking for a run"))
    }
}

/// A run that exists in the database.
struct Known {
    status: String,
    /// Whether its process still exists.
    lives: bool,
    has_result: bool,
}
