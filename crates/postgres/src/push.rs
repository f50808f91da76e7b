//! Push: one run, one transaction.

use crate::error::Cause;
use crate::{ShareError, SharedStore};
use plumb_result::reader;
use plumb_store::{LocalDocument, LocalRun, LocalTable, is_same_result};
use postgres::types::ToSql;
use postgres::{Statement, Transaction};
use std::collections::HashMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The run was new there.
    Added,
    /// The same result was there already; nothing changed.
    Present,
}

/// Tables that grow after a run has ended, by what people say of it.
const REMARKS: [&str; 2] = ["run_tag", "mark"];

/// Tables whose rows are addressed by their content, or are the vocabulary. Runs of one host share them.
const CONTENT_ADDRESSED: [&str; 4] = ["machine", "environment", "target", "metric"];

/// Attempts for a transaction that conflicts with others.
const ATTEMPTS: u32 = 3;

impl SharedStore {
    /// Copies a run to the database, unless the same result is there already.
    ///
    /// # Errors
    /// Returns [`ShareError::OtherResult`] if another result has the same id. Nothing of a failed run is stored.
    pub fn push(&mut self, run: &LocalRun) -> Result<Pushed, ShareError> {
        let mut attempt = 1;
        loop {
            // The first push of a month locks tables that pushes of other hosts have locked in another order.
            match self.ensure_month(&run.id).and_then(|()| self.push_once(run)) {
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
                // `plumb expire` may have deleted rows that no other run referred to.
                Err(ShareError::Server { cause: Cause::Run, .. }) if !self.present.is_empty() => self.present.clear(),
                outcome => return outcome,
            }
        }
    }

    /// Creates the partitions of the run's month, in a transaction of its own: it takes locks that pushes of other
    /// clients wait for.
    fn ensure_month(&mut self, id: &str) -> Result<(), ShareError> {
        // The first 8 digits are the time in units of 65.5 s.
        let key = id.chars().take(8).collect::<String>();
        if self.months.contains(&key) {
            return Ok(());
        }
        let failed = self.failed("creating the partitions of a month");
        self.client.get_mut().execute("SELECT plumb.ensure_month($1::text::uuid)", &[&id]).map_err(failed)?;
        self.months.insert(key);
        Ok(())
    }

    fn push_once(&mut self, run: &LocalRun) -> Result<Pushed, ShareError> {
        let failed = self.failed("pushing a run");
        let is_shared = |table: &&LocalTable| CONTENT_ADDRESSED.contains(&table.name);
        let is_present = |table: &LocalTable| self.present.contains(&(table.name, table.rows.clone()));
        let tables: Vec<&LocalTable> = run.tables.iter().filter(|table| !is_present(table)).collect();
        let mut inserts = Inserts {
            statements: &mut self.inserts,
            transaction: self.client.get_mut().transaction().map_err(&failed)?,
        };
        let mut there = None;
        for table in &tables {
            if table.name == "run" {
                let columns = table.columns.join(", ");
                let sql = format!(
                    "INSERT INTO plumb.run ({columns}, document, document_blake3)
                     SELECT {columns}, $2::text::jsonb, $3::text
                     FROM jsonb_populate_recordset(NULL::plumb.run, $1::text::jsonb) ON CONFLICT (id) DO NOTHING"
                );
                let rows = inserts.execute(sql, &[&table.rows, &run.document, &run.blake3]).map_err(&failed)?;
                if rows == 0 {
                    let sql = "SELECT document_blake3, document::text FROM plumb.run WHERE id = $1::text::uuid";
                    let row = inserts.transaction.query_one(sql, &[&run.id]).map_err(&failed)?;
                    there = Some((row.get::<_, String>(0), row.get::<_, String>(1)));
                    break;
                }
            } else {
                inserts.insert(table).map_err(&failed)?;
            }
        }
        let Some((hash, document)) = there else {
            inserts.transaction.commit().map_err(&failed)?;
            self.present.extend(tables.into_iter().filter(is_shared).map(|table| (table.name, table.rows.clone())));
            return Ok(Pushed::Added);
        };
        if hash == run.blake3 || is_same(&run.document, &document) {
            for table in run.tables.iter().filter(|table| REMARKS.contains(&table.name)) {
                inserts.insert(table).map_err(&failed)?;
            }
            inserts.transaction.commit().map_err(&failed)?;
            return Ok(Pushed::Present);
        }
        inserts.transaction.rollback().map_err(&failed)?;
        Err(ShareError::OtherResult {
            destination: self.destination.clone(),
            id: run.id.clone(),
            here: run.blake3.clone(),
            there: hash,
        })
    }
}

impl SharedStore {
    /// Copies a document to the database, unless the same one is there already.
    ///
    /// # Errors
    /// Returns [`ShareError::OtherDocument`] if another document of this kind has the same id.
    pub fn push_document(&mut self, document: &LocalDocument) -> Result<Pushed, ShareError> {
        let failed = self.failed("pushing a document");
        let LocalDocument { kind, id, made_at, tag, runs, body, blake3 } = document;
        let client = self.client.get_mut();
        let sql = "INSERT INTO plumb.document (kind, id, made_at, tag, runs, body, body_blake3)
                   VALUES ($1, $2::text::uuid, $3, $4, $5::text[]::uuid[], $6::text::jsonb, $7) ON CONFLICT DO NOTHING";
        if client.execute(sql, &[kind, id, made_at, tag, runs, body, blake3]).map_err(&failed)? > 0 {
            return Ok(Pushed::Added);
        }
        let sql = "SELECT body_blake3 FROM plumb.document WHERE kind = $1 AND id = $2::text::uuid";
        let there: String = client.query_one(sql, &[kind, id]).map_err(&failed)?.get(0);
        match there == *blake3 {
            true => Ok(Pushed::Present),
            false => Err(ShareError::OtherDocument { destination: self.destination.clone(), kind, id: id.clone() }),
        }
    }
}

/// The inserts of a transaction, which the connection prepares once.
struct Inserts<'a> {
    statements: &'a mut HashMap<String, Statement>,
    transaction: Transaction<'a>,
}

impl Inserts<'_> {
    /// Inserts rows. A row that is there already has the same content: ids of these tables are hashes, and the run is new.
    fn insert(&mut self, table: &LocalTable) -> Result<u64, postgres::Error> {
        let (name, columns) = (table.name, table.columns.join(", "));
        let sql = format!(
            "INSERT INTO plumb.{name} ({columns}) SELECT {columns}
             FROM jsonb_populate_recordset(NULL::plumb.{name}, $1::text::jsonb) ON CONFLICT DO NOTHING"
        );
        self.execute(sql, &[&table.rows])
    }

    fn execute(&mut self, sql: String, values: &[&(dyn ToSql + Sync)]) -> Result<u64, postgres::Error> {
        let statement = match self.statements.get(&sql) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.transaction.prepare(&sql)?;
                self.statements.insert(sql, statement.clone());
                statement
            }
        };
        self.transaction.execute(&statement, values)
    }
}

/// Returns `true` if two texts are the same result. The text of one result differs between versions of Plumb.
fn is_same(here: &str, there: &str) -> bool {
    match (reader::read(here.as_bytes()).as_deref(), reader::read(there.as_bytes()).as_deref()) {
        (Ok([here]), Ok([there])) => is_same_result(here, there),
        _ => false,
    }
}
