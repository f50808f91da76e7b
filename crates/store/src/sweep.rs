//! Sweeps, stored as printed next to their runs.

use crate::open::Durability;
use crate::time::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::Sweep;
use rusqlite::params;

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
}
