//! Gates, stored as printed.

use crate::open::Durability;
use crate::time::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::Gate;
use rusqlite::params;

impl Store {
    /// Stores a gate as printed, under an id (UUIDv7).
    ///
    /// # Errors
    /// Returns an error if the database cannot be written.
    pub fn save_gate(&mut self, id: &str, gate: &Gate) -> Result<(), StoreError> {
        let body = canonical::text(&canonical::value("the gate", gate)?);
        let at = nanos(Timestamp::now());
        self.write("storing a gate", Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO gate (id, made_at, answer, body) VALUES (?1, ?2, ?3, ?4)",
                params![id, at, gate.word(), body],
            )?;
            Ok(())
        })
    }
}
