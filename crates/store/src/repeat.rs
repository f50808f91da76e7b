//! Repeated workloads, in rounds or at the loads of a ladder, stored as printed next to their runs.

use crate::open::Durability;
use crate::write::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_document::json;
use plumb_result::repeat::Repeated;
use rusqlite::{OptionalExtension, params};

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
                params![id, at, kind, repeated.of().tag, body],
            )?;
            Ok(())
        })
    }

    /// Returns the id of the rounds or ladder that `text` selects: its tag, a whole id, or the beginning or end of
    /// one. `None` if none or several match.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read.
    pub fn find_repeated(&self, text: &str) -> Result<Option<String>, StoreError> {
        self.find_only(
            "looking for repeated runs",
            "SELECT id FROM repeat WHERE tag = ?1 OR substr(id, 1, length(?1)) = lower(?1) OR substr(id, -length(?1)) = lower(?1) LIMIT 2",
            text,
        )
    }

    /// Returns the newest rounds or ladder that contain a run. `run` is a whole id.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read.
    pub fn repeated_of(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .query_row(
                "SELECT repeat.id FROM repeat, json_each(repeat.body, '$.runs') AS of
                 WHERE of.value = ?1 ORDER BY made_at DESC LIMIT 1",
                [run],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.failed("looking for repeated runs"))
    }

    /// Returns stored rounds or a stored ladder. `id` is a whole id.
    ///
    /// # Errors
    /// Returns an error if none has this id, or it cannot be read.
    pub fn repeated(&self, id: &str) -> Result<Repeated, StoreError> {
        let found: Option<(String, String)> = self
            .connection
            .query_row("SELECT kind, body FROM repeat WHERE id = ?1", [id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(self.failed("reading repeated runs"))?;
        let Some((kind, body)) = found else {
            return Err(StoreError::NotFound { path: self.path.clone(), text: id.to_owned() });
        };
        let read = match kind == LADDER {
            true => json::from_str(&body).map(|ladder| Repeated::Ladder(Box::new(ladder))),
            false => json::from_str(&body).map(|rounds| Repeated::Rounds(Box::new(rounds))),
        };
        read.map_err(|error| self.unreadable(id, "the repeated runs", error))
    }
}
