//! Marks on runs that have ended. The result itself is never changed.

use crate::open::Durability;
use crate::{ResultStore, Store, StoreError};
use rusqlite::params;
use serde::{Deserialize, Serialize};

/// Longest reason or note, in bytes.
const REASON_BYTES_MAX: usize = 4096;

/// A mark on a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Id of the mark, a UUIDv7.
    pub id: String,
    pub kind: MarkKind,
    /// Reason for the retraction or reinstatement; of a note its text.
    pub reason: String,
    /// Time of the mark, Unix nanoseconds.
    pub at: i64,
    /// User and host of the command that made it.
    pub author: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MarkKind {
    /// The result is wrong: comparisons leave the run out.
    Retraction,
    /// An earlier retraction was wrong.
    Reinstatement,
    /// A remark that changes nothing.
    Note,
}

impl MarkKind {
    /// Returns the name that is stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Returns the retraction that is in force among marks in the order of their times.
pub fn retraction(marks: &[Mark]) -> Option<&Mark> {
    marks.iter().rfind(|mark| mark.kind != MarkKind::Note).filter(|mark| mark.kind == MarkKind::Retraction)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the last word counts, and a note says nothing about a retraction.
    #[test]
    fn the_last_mark_decides() {
        let mark = |kind, at| Mark { id: String::new(), kind, reason: format!("{at}"), at, author: String::new() };
        let (wrong, right, note) = (MarkKind::Retraction, MarkKind::Reinstatement, MarkKind::Note);
        for (kinds, expected) in [
            (vec![], None),
            (vec![note], None),
            (vec![wrong, note], Some("0")),
            (vec![wrong, right], None),
            (vec![wrong, right, wrong, note], Some("2")),
        ] {
            let marks: Vec<Mark> = kinds.iter().zip(0..).map(|(kind, at)| mark(*kind, at)).collect();
            assert_eq!(retraction(&marks).map(|mark| mark.reason.as_str()), expected, "{kinds:?}");
        }
    }
}
