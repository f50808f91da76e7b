//! The schema: numbered migrations, applied once, under a lock.

use crate::{ShareError, SharedStore};

/// Migrations in order; a released one is never changed. `plumb.schema_version` has a row for each that was applied.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_documents.sql"),
    include_str!("migrations/0003_serve.sql"),
];

/// Schema version that this program writes.
pub const SCHEMA_VERSION: i32 = MIGRATIONS.len() as i32;

/// Key of the advisory lock under which migrations run: "PLUM", 1. Partitions use "PLUM", 2.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1347179853, 1)";

/// Creates or migrates the schema if it is older than this program and the user may.
pub(crate) fn prepare(store: &mut SharedStore) -> Result<(), ShareError> {
    let found = supported(store)?;
    if found == SCHEMA_VERSION {
        return Ok(());
    }
    if !may_change(store, found)? {
        return Err(older(store, found));
    }
    let failed = store.failed("migrating its schema");
    let mut transaction = store.client.get_mut().transaction().map_err(&failed)?;
    transaction.batch_execute(LOCK).map_err(&failed)?;
    // Another process may have migrated it while this one waited.
    let mut applied = 0;
    if let Some(table) = transaction.query_one(TABLE, &[]).map_err(&failed)?.get::<_, Option<String>>(0) {
        let sql = format!("SELECT coalesce(max(version), 0) FROM {table}");
        applied = transaction.query_one(&sql, &[]).map_err(&failed)?.get(0);
    }
    if applied == 0 {
        transaction.batch_execute("CREATE SCHEMA IF NOT EXISTS plumb").map_err(&failed)?;
    }
    for (number, migration) in (1..).zip(MIGRATIONS).skip(usize::try_from(applied).unwrap_or(0)) {
        transaction.batch_execute(migration).map_err(&failed)?;
        let insert = "INSERT INTO plumb.schema_version (version, program) VALUES ($1, $2)";
        transaction.execute(insert, &[&number, &env!("CARGO_PKG_VERSION")]).map_err(&failed)?;
    }
    transaction.commit().map_err(&failed)
}

/// Requires the schema of this program, without changing it.
pub(crate) fn require(store: &mut SharedStore) -> Result<(), ShareError> {
    match supported(store)? {
        SCHEMA_VERSION => Ok(()),
        found => Err(older(store, found)),
    }
}

/// Finds the table of versions; `NULL` before the first migration.
const TABLE: &str =
    "SELECT (SELECT 'plumb.schema_version' FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                     WHERE nspname = 'plumb' AND relname = 'schema_version')::text";

/// Returns the schema version, 0 without a schema; an error if it is newer than this program.
fn supported(store: &mut SharedStore) -> Result<i32, ShareError> {
    let failed = store.failed("reading its schema version");
    let mut found = 0;
    if let Some(table) = store.client.get_mut().query_one(TABLE, &[]).map_err(&failed)?.get::<_, Option<String>>(0) {
        let sql = format!("SELECT coalesce(max(version), 0) FROM {table}");
        found = store.client.get_mut().query_one(&sql, &[]).map_err(&failed)?.get(0);
    }
    match found > SCHEMA_VERSION {
        true => Err(ShareError::Newer { destination: store.destination.clone(), found, known: SCHEMA_VERSION }),
        false => Ok(found),
    }
}

/// Returns `true` if this user may create the schema, or owns it.
fn may_change(store: &mut SharedStore, found: i32) -> Result<bool, ShareError> {
    let failed = store.failed("reading the rights of its user");
    let sql = match found {
        0 => "SELECT has_database_privilege(current_database(), 'CREATE')",
        _ => "SELECT pg_has_role(nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'plumb'",
    };
    Ok(store.client.get_mut().query_one(sql, &[]).map_err(&failed)?.get(0))
}

fn older(store: &SharedStore, found: i32) -> ShareError {
    ShareError::Older { destination: store.destination.clone(), found, known: SCHEMA_VERSION }
}
