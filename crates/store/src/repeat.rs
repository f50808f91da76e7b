//! Repeated workloads, in rounds or at the loads of a ladder, stored as printed next to their runs.

use crate::open::Durability;
use crate::time::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::repeat::Repeated;
use rusqlite::params;

const ROUNDS: &str = "rounds";
const LADDER: &str = "ladder";

impl Store {
    /// Stores rounds or a ladder as printed, under an id (UUIDv7).
    ///
    /// # Errors
    /// Returns an error if the database cannot be written.
    pub fn save_repeated(&mut self, id: &str, repeated: &Repeated) -> Result<(), StoreError> {
        let (kind, body) = match repeated {
            Repeated::Rounds(rounds) => (ROUNDS, canonical::value("the rounds", &**rounds)?),
            Repeated::Ladder(ladder) => (LADDER, canonical::value("the ladder", &**ladder)?),
        };
        let (body, at) = (canonical::text(&body), nanos(Timestamp::now()));
        self.write("storing repeated runs", Durability::Power, |transaction| {
            transaction.execute(
                "INSERT INTO repeat (id, made_at, kind, tag, body) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, at, kind, repeated.runs().tag, body],
            )?;
            Ok(())
        })
    }
}
