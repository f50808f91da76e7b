//! Marks on runs that have ended. The result itself is never changed.

use crate::open::Durability;
use crate::rows::Mark;
use crate::{ResultStore, Store, StoreError};
use rusqlite::params;

/// Longest reason or note, in bytes.
const REASON_BYTES_MAX: usize = 4096;

impl Store {
    /// Adds a mark to a run. `run` is as in [`ResultStore::find`]. Returns the whole id of the run, which the next push takes
    /// again.
    ///
    /// # Errors
    /// Returns [`StoreError::Mark`] for an empty, long or multi-line reason.
    pub fn mark(&mut self, run: &str, mark: &Mark) -> Result<String, StoreError> {
        let is_plain = !mark.reason.trim().is_empty() && !mark.reason.chars().any(char::is_control);
        if !is_plain || mark.reason.len() > REASON_BYTES_MAX {
            return Err(StoreError::Mark);
        }
        let run = self.find(run)?;
        self.write("marking a run", Durability::Power, |transaction| {
            let added = transaction.execute(
                "INSERT OR IGNORE INTO mark (id, run_id, kind, reason, at, author) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![mark.id, run, mark.kind.name(), mark.reason, mark.at, mark.author],
            )?;
            if added > 0 {
                transaction.execute("DELETE FROM pushed WHERE run_id = ?1", [&run])?;
            }
            Ok(())
        })?;
        Ok(run)
    }
}
