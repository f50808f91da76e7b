//! Sweeps, stored as printed next to their runs.

use crate::open::Durability;
use crate::write::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::Sweep;
use rusqlite::{OptionalExtension, params};

impl Store {
    /// Stores a sweep as printed, under an id (UUIDv7).
    pub fn save_sweep(&mut self, id: &str, sweep: &Sweep) -> Result<(), StoreError> {
        let body = canonical::text(&canonical::value("the sweep", sweep)?);
        let at = nanos(Timestamp::now());
        self.write("storing a sweep", Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO sweep (id, made_at, tag, body) VALUES (?1, ?2, ?3, ?4)",
                params![id, at, sweep.tag, body],
            )?;
            Ok(())
        })
    }

    /// Returns the id of the sweep that `text` selects: its tag, a whole id, or the beginning or end of one. `None`
    /// if none or several match.
    pub fn find_sweep(&self, text: &str) -> Result<Option<String>, StoreError> {
        self.find_only(
            "looking for a sweep",
            "SELECT id FROM sweep WHERE tag = ?1 OR substr(id, 1, length(?1)) = lower(?1) OR substr(id, -length(?1)) = lower(?1) LIMIT 2",
            text,
        )
    }

    /// Returns the newest sweep that contains a run. `run` is a whole id.
    pub fn sweep_of(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .query_row(
                "SELECT sweep.id FROM sweep, json_each(sweep.body, '$.runs') AS of
                 WHERE of.value = ?1 ORDER BY made_at DESC LIMIT 1",
                [run],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.failed("looking for a sweep"))
    }

    /// Returns a stored sweep. `id` is a whole id.
    pub fn sweep(&self, id: &str) -> Result<Sweep, StoreError> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT body FROM sweep WHERE id = ?1", [id], |row| row.get(0))
            .optional()
            .map_err(self.failed("reading a sweep"))?;
        let text = text.ok_or_else(|| StoreError::NotFound { path: self.path.clone(), text: id.to_owned() })?;
        plumb_document::json::from_str(&text).map_err(|error| self.unreadable(id, "the sweep", error))
    }
}
