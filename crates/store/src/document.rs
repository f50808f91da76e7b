//! Documents about several runs, stored as printed: comparisons, gates, sweeps, repeated runs and conformance reports.

use crate::Store;
use plumb_document::json::{self, JsonError};
use plumb_result::repeat::{LADDER_SCHEMA, Repeated};
use rusqlite::{OptionalExtension, Row};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum DocumentKind {
    /// `plumb.compare/1`.
    Comparison,
    /// `plumb.sweep/1`.
    Sweep,
    /// `plumb.rounds/1` or `plumb.ladder/1`.
    Repeat,
    /// `plumb.posix/1`.
    Conformance,
    /// `plumb.gate/1`.
    Gate,
}

/// A document as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    pub id: String,
    /// When it was stored, Unix nanoseconds.
    pub stored_ns: i64,
    pub body: String,
}

impl DocumentKind {
    /// Returns the name that is stored, which is also that of the table of a local store.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Reads rounds or a ladder, whichever its schema names.
pub(crate) fn repeated_of_text(text: &str) -> Result<Repeated, JsonError> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = json::from_str(text)?;
    match head.schema == LADDER_SCHEMA {
        true => json::from_str(text).map(|ladder| Repeated::Ladder(Box::new(ladder))),
        false => json::from_str(text).map(|rounds| Repeated::Rounds(Box::new(rounds))),
    }
}

impl DocumentKind {
    /// Column with the time by which documents are ordered.
    pub(crate) fn time(self) -> &'static str {
        if self == DocumentKind::Conformance { "tested_at" } else { "made_at" }
    }

    /// Expression of the tag that all runs of a document have.
    fn tag(self) -> &'static str {
        match self {
            DocumentKind::Sweep | DocumentKind::Repeat => "tag",
            DocumentKind::Comparison | DocumentKind::Conformance | DocumentKind::Gate => "NULL",
        }
    }
}

impl Store {
    pub(crate) fn document_body(&self, kind: DocumentKind, id: &str) -> rusqlite::Result<Option<String>> {
        let sql = format!("SELECT body FROM {} WHERE id = ?1", kind.name());
        self.connection.query_row(&sql, [id], |row| row.get(0)).optional()
    }

    pub(crate) fn documents_like(&self, kind: DocumentKind, text: &str) -> rusqlite::Result<Vec<String>> {
        let sql = format!(
            "SELECT id FROM {} WHERE {} = ?1 OR substr(id, 1, length(?1)) = lower(?1)
               OR substr(id, -length(?1)) = lower(?1) LIMIT 2",
            kind.name(),
            kind.tag()
        );
        self.connection.prepare(&sql)?.query_map([text], |row| row.get(0))?.collect()
    }

    pub(crate) fn newest_of(&self, kind: DocumentKind, run: Option<&str>) -> rusqlite::Result<Option<String>> {
        let (table, time) = (kind.name(), kind.time());
        let sql = format!(
            "SELECT id FROM {table}
             WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM json_each({table}.body, '$.runs') AS of WHERE of.value = ?1)
             ORDER BY {time} DESC, id DESC LIMIT 1"
        );
        self.connection.query_row(&sql, [run], |row| row.get(0)).optional()
    }

    pub(crate) fn newest_bodies(&self, kind: DocumentKind, limit: u32) -> rusqlite::Result<Vec<StoredDocument>> {
        let (table, time) = (kind.name(), kind.time());
        let sql = format!("SELECT id, {time}, body FROM {table} ORDER BY {time} DESC, id DESC LIMIT ?1");
        let document =
            |row: &Row<'_>| Ok(StoredDocument { id: row.get(0)?, stored_ns: row.get(1)?, body: row.get(2)? });
        self.connection.prepare_cached(&sql)?.query_map([limit], document)?.collect()
    }
}
