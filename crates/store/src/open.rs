//! Opening of database files: ownership, schema version, and durability of writes.

use crate::StoreError;
use crate::facts::FactRows;
use crate::queue_directory::{DamagedFiles, Waiting, make_queue_private, with_suffix};
use plumb_guard::Database;
use plumb_result::{Better, Metric};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Longest time that a writer waits for another one.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Length in bytes above which the command that grew the log checkpoints it. Every later command has to read the log.
const LOG_BYTES_MAX: u64 = 1 << 20;

/// `PRAGMA application_id`: "PLUM". It distinguishes Plumb's files from those of other programs.
const APPLICATION_ID: i64 = 0x504c_554d;

/// Migrations in order; a released one is never changed. `PRAGMA user_version` counts those that were applied.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_noise.sql"),
    include_str!("migrations/0003_study.sql"),
    include_str!("migrations/0004_rejected.sql"),
    include_str!("migrations/0005_take_down.sql"),
    include_str!("migrations/0006_built.sql"),
    include_str!("migrations/0007_over_time.sql"),
    include_str!("migrations/0008_server_tier.sql"),
    include_str!("migrations/0009_conformance.sql"),
    include_str!("migrations/0010_study_conformance.sql"),
    include_str!("migrations/0011_network.sql"),
    include_str!("migrations/0012_repeat.sql"),
    include_str!("migrations/0013_pushed.sql"),
    include_str!("migrations/0014_marks.sql"),
    include_str!("migrations/0015_serve.sql"),
    include_str!("migrations/0016_gate.sql"),
];

/// Schema version that this program writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    /// Path of the file; `:memory:` without a file.
    pub(crate) path: PathBuf,
    pub(crate) in_file: bool,
    /// Whether the log's directory entry is durable. For an existing log this is assumed; it is wrong only if its
    /// creator was killed and power fails before the kernel writes the directory back.
    log_is_named: Cell<bool>,
    /// Facts of the last run, because those of the next run are mostly equal.
    pub(crate) facts: Option<Arc<FactRows>>,
    /// Whether the schema differs from the one that the first page of the file states. The next result then
    /// checkpoints the log, so that readers of the first page alone recognise the file.
    is_changed: Cell<bool>,
    pub(crate) waiting: Option<Box<Waiting>>,
    pub(crate) set_aside: Vec<PathBuf>,
}

/// Whether a transaction survives a power loss. Every transaction survives a kill of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Nothing is flushed: a flush would disturb the device under measurement.
    Process,
    /// The write-ahead log is flushed. A long log is also checkpointed. A short one is left to a later command,
    /// because a checkpoint takes two more flushes and most writing commands are short.
    Power,
}

impl Store {
    /// Opens a database file, and creates it and its directory if needed.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, is damaged, belongs to another program, or was written by a
    /// newer Plumb. In all of these cases the file is not changed.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let mut store = Store::open_without_queue(path)?;
        store.import_queue(DamagedFiles::SetAside);
        Ok(store)
    }

    /// Opens the database like [`Store::open`], but leaves queued runs in the queue.
    pub(crate) fn open_without_queue(path: &Path) -> Result<Store, StoreError> {
        let refused = |reason: String| StoreError::Open { path: path.to_owned(), reason };
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory).map_err(|error| refused(error.to_string()))?;
        }
        let database = Database::at(path)?;
        refuse_foreign(&database)?;
        database.make()?;
        let log_is_named = Cell::new(with_suffix(database.path(), "-wal").exists());
        let connection = connect(database.path(), OpenFlags::SQLITE_OPEN_READ_WRITE);
        let connection = connection.map_err(|error| refused(error.to_string()))?;
        let store = Store::prepare(Store { log_is_named, ..Store::on(connection, database.path(), true) })?;
        // Earlier versions left the queue readable by other users.
        make_queue_private(database.path());
        Ok(store)
    }

    /// Opens a database for commands that only read. If it cannot be opened for writing, because the disk is full or
    /// read-only or another process holds it, opens it read-only. Treats a missing or empty file as an empty database,
    /// without creating or changing it.
    ///
    /// # Errors
    /// Returns the same errors as [`Store::open`].
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        let nothing = || Ok(Store { path: path.to_owned(), ..Store::open_in_memory()? });
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return nothing();
        }
        let database = Database::at(path)?;
        refuse_foreign(&database)?;
        if has_no_content(&database) {
            return nothing();
        }
        match Store::open(path) {
            Err(error @ (StoreError::Open { .. } | StoreError::Busy { .. } | StoreError::Sqlite { .. })) => {
                // The error from opening it for writing is more useful than the one from reading it.
                match Store::open_without_writing(path) {
                    Ok(mut store) => {
                        store.report_unread_queue(error);
                        Ok(store)
                    }
                    Err(_) => Err(error),
                }
            }
            opened => opened,
        }
    }

    /// Opens another connection to a database that is open already, for reading alone. It creates, migrates and folds nothing.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or has another schema.
    pub fn open_reader(path: &Path) -> Result<Store, StoreError> {
        let refused = |error: rusqlite::Error| StoreError::Open { path: path.to_owned(), reason: error.to_string() };
        let database = Database::at(path)?;
        let connection = connect(database.path(), OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(refused)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(refused)?;
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;").map_err(refused)?;
        let store = Store::on(connection, database.path(), true);
        match store.schema_version()? {
            SCHEMA_VERSION => Ok(store),
            found => Err(StoreError::Newer { path: store.path, found, known: SCHEMA_VERSION }),
        }
    }

    /// Opens the database without writing a byte. SQLite shares its index of the write-ahead log through a file, and there
    /// may be no space for one. A connection that locks the database keeps the index in memory instead. Source: "Use of WAL
    /// Without Shared-Memory", <https://sqlite.org/wal.html>. On a read-only file system there are no writers to lock out.
    fn open_without_writing(path: &Path) -> Result<Store, StoreError> {
        let attempt = |path: &Path, flags: OpenFlags, immutable: bool| -> Result<Store, StoreError> {
            let refused =
                |error: rusqlite::Error| StoreError::Open { path: path.to_owned(), reason: error.to_string() };
            let connection = match immutable {
                true => connect(&immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_URI),
                false => connect(path, flags),
            };
            let connection = connection.map_err(refused)?;
            connection.busy_timeout(Duration::from_secs(1)).map_err(refused)?;
            connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON;").map_err(refused)?;
            // Queries have to use this connection: a second one would fail as the first attempt did.
            let store = Store::on(connection, path, false);
            match store.schema_version()? {
                SCHEMA_VERSION => Ok(store),
                found => Err(StoreError::Newer { path: store.path, found, known: SCHEMA_VERSION }),
            }
        };
        let path = &Database::at(path)?.path().to_owned();
        let no_log = std::fs::metadata(with_suffix(path, "-wal")).map_or(true, |log| log.len() == 0);
        attempt(path, OpenFlags::SQLITE_OPEN_READ_WRITE, false).or_else(|error| {
            let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY;
            attempt(path, read_only, false)
                .or_else(|_| if no_log { attempt(path, read_only, true) } else { Err(error) })
        })
    }

    /// Sets how long later writes wait for another process; [`BUSY_TIMEOUT`] by default.
    pub fn wait_at_most(&self, time: Duration) -> Result<(), StoreError> {
        self.connection.busy_timeout(time).map_err(self.failed("setting its timeout"))
    }

    /// Opens a database that ends with the process.
    pub fn open_in_memory() -> Result<Store, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory()
            .map_err(|error| StoreError::Open { path: path.clone(), reason: error.to_string() })?;
        Store::prepare(Store::on(connection, &path, false))
    }

    fn on(connection: Connection, path: &Path, in_file: bool) -> Store {
        Store {
            connection,
            path: path.to_owned(),
            in_file,
            log_is_named: Cell::default(),
            facts: None,
            is_changed: Cell::default(),
            waiting: None,
            set_aside: Vec::new(),
        }
    }

    /// Returns the path of the database; `:memory:` without a file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Limits the growth of the file to this many pages, to simulate a full disk in tests.
    #[doc(hidden)]
    pub fn limit_growth(&self, pages: u32) -> Result<(), StoreError> {
        let failed = self.failed("limiting its size");
        let now: u32 = self.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(&failed)?;
        let limit = format!("PRAGMA max_page_count = {}", now.saturating_add(pages));
        self.connection.query_row(&limit, [], |_| Ok(())).map_err(&failed)
    }

    fn prepare(mut store: Store) -> Result<Store, StoreError> {
        let failed = store.failed("opening it");
        store.connection.busy_timeout(BUSY_TIMEOUT).map_err(&failed)?;
        // Write nothing before the owner of the file is known.
        let version = store.schema_version()?;
        if store.in_file {
            store.enter_wal()?;
        }
        // Checkpoint the log when a run ends (see [`Durability`]), and not at an arbitrary point during a run. When
        // the log restarts from its beginning, SQLite truncates it to its content.
        store
            .connection
            .execute_batch(
                "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;
                 PRAGMA journal_size_limit = 0;",
            )
            .map_err(&failed)?;
        if version < SCHEMA_VERSION {
            store.migrate()?;
            store.is_changed.set(true);
        }
        // Check the metric names only if there may be too few: here by their count, and after a write that lacks one.
        if store.count_metrics()? < Metric::all().len() {
            store.fill_metrics()?;
        }
        Ok(store)
    }

    /// Returns the schema version, 0 for an empty file; an error if the file is not Plumb's or is too new.
    fn schema_version(&self) -> Result<i64, StoreError> {
        let failed = self.failed("reading its header");
        let number = |sql: &str| self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(&failed);
        let version = number("PRAGMA user_version")?;
        let application = number("PRAGMA application_id")?;
        if application != APPLICATION_ID {
            let is_empty = application == 0 && version == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0;
            if !is_empty {
                return Err(StoreError::Foreign { path: self.path.clone() });
            }
        }
        if version > SCHEMA_VERSION {
            return Err(StoreError::Newer { path: self.path.clone(), found: version, known: SCHEMA_VERSION });
        }
        Ok(version)
    }

    /// Enters WAL mode, in which readers and one writer do not wait for each other. The switch needs the whole file
    /// for a moment, and SQLite does not apply its busy timeout there.
    fn enter_wal(&self) -> Result<(), StoreError> {
        let pause = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        loop {
            match self.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
                // A file system without shared memory keeps another mode, which is slower and equally safe.
                Ok(_) => return Ok(()),
                Err(error) if is_busy(&error) && waited < BUSY_TIMEOUT => {
                    std::thread::sleep(pause);
                    waited += pause;
                }
                Err(error) => return Err(self.failed("entering WAL mode")(error)),
            }
        }
    }

    fn migrate(&mut self) -> Result<(), StoreError> {
        let failed = self.failed("migrating its schema");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        // Another process may have migrated it while this one waited.
        let applied: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(&failed)?;
        for migration in MIGRATIONS.iter().skip(usize::try_from(applied).unwrap_or(0)) {
            transaction.execute_batch(migration).map_err(&failed)?;
        }
        let version = SCHEMA_VERSION.max(applied);
        transaction
            .execute_batch(&format!("PRAGMA user_version = {version}; PRAGMA application_id = {APPLICATION_ID};"))
            .map_err(&failed)?;
        transaction.commit().map_err(&failed)
    }

    fn count_metrics(&self) -> Result<usize, StoreError> {
        let count = self.connection.query_row("SELECT count(*) FROM metric", [], |row| row.get::<_, i64>(0));
        count.map(|count| usize::try_from(count).unwrap_or(0)).map_err(self.failed("counting the metrics"))
    }

    /// Adds missing metrics to the table. The vocabulary belongs to the program, and the table mirrors it for
    /// queries. Metrics that only an older program knew stay.
    fn fill_metrics(&mut self) -> Result<(), StoreError> {
        let failed = self.failed("reading the metrics");
        let mut statement = self.connection.prepare("SELECT name FROM metric").map_err(&failed)?;
        let known: HashSet<String> =
            statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(&failed)?;
        drop(statement);
        let mut metrics = Metric::all();
        metrics.retain(|metric| !known.contains(&metric.to_string()));
        if metrics.is_empty() {
            return Ok(());
        }
        self.write_once("writing the metrics", Durability::Process, |transaction| {
            let mut insert = transaction
                .prepare("INSERT OR IGNORE INTO metric (name, unit, better, kind, doc) VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for metric in &metrics {
                let better = match metric.better() {
                    Better::Higher => "higher",
                    Better::Lower => "lower",
                };
                insert.execute((metric.to_string(), metric.unit().symbol(), better, kind(*metric), metric.doc()))?;
            }
            Ok(())
        })
    }

    /// Runs a transaction that takes the write lock at once, so that two processes wait for each other instead of
    /// failing half-way. If a metric is missing because the database was written by another version, it is added
    /// and the transaction is repeated.
    pub(crate) fn write<T>(
        &mut self,
        doing: &'static str,
        durability: Durability,
        body: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        match self.write_once(doing, durability, &body) {
            Err(StoreError::Sqlite { source, .. }) if is_missing_row(&source) => {
                self.fill_metrics()?;
                self.write_once(doing, durability, body)
            }
            written => written,
        }
    }

    fn write_once<T>(
        &mut self,
        doing: &'static str,
        durability: Durability,
        body: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let failed = self.failed(doing);
        // With NORMAL, the header of a new log would be flushed together with its directory. Only the transaction
        // runs without flushes: a checkpoint, such as the one when the file is closed, must flush.
        if durability == Durability::Process {
            self.connection.execute_batch("PRAGMA synchronous = OFF").map_err(&failed)?;
        }
        let outcome = (|| {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = body(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })()
        .map_err(&failed);
        match durability {
            Durability::Process => self.connection.execute_batch("PRAGMA synchronous = NORMAL").map_err(&failed)?,
            // Errors cannot undo the committed transaction.
            Durability::Power => {
                let is_left = self.in_file && !self.is_changed.take() && self.flush_short_log().unwrap_or(false);
                if !is_left {
                    self.fold_log();
                }
                // Closing the file would checkpoint as well. If the flag cannot be set, closing does so.
                let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_left);
            }
        }
        outcome
    }

    /// Flushes the log unless it is long. Returns whether it flushed.
    fn flush_short_log(&self) -> io::Result<bool> {
        let log = File::open(with_suffix(&self.path, "-wal"))?;
        if log.metadata()?.len() > LOG_BYTES_MAX {
            return Ok(false);
        }
        log.sync_data()?;
        if !self.log_is_named.get() {
            let directory = self.path.parent().filter(|directory| !directory.as_os_str().is_empty());
            File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
            self.log_is_named.set(true);
        }
        Ok(true)
    }

    /// Checkpoints the log: SQLite flushes the log first and the file after it. Pages that a reader still needs stay
    /// in the log for the next checkpoint, and the log is flushed nevertheless.
    fn fold_log(&self) {
        let folded = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        let is_whole = matches!(folded, Ok((0, in_log, done)) if in_log == done);
        if self.in_file && !is_whole {
            let log = File::open(with_suffix(&self.path, "-wal"));
            let _ = log.and_then(|log| log.sync_all());
        }
    }

    /// Converts SQLite's errors, with the name of the failed operation.
    pub(crate) fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |source| {
            let path = path.clone();
            match source.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                    StoreError::Corrupt { path, reason: source.to_string() }
                }
                Some(ErrorCode::CannotOpen) => StoreError::Open { path, reason: source.to_string() },
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path, doing },
                _ => StoreError::Sqlite { path, doing, source },
            }
        }
    }
}

/// Returns `true` if a file is Plumb's and has this schema, judging by its first page alone, without starting SQLite.
/// A file whose first page is still in its log is not recognised. Source: <https://sqlite.org/fileformat2.html>, 1.3.
pub(crate) fn has_our_header(database: &Database, schema: i64) -> bool {
    Header::read(database).is_some_and(|header| header.number(60) == schema && header.number(68) == APPLICATION_ID)
}

/// Opens a connection that does not follow symbolic links, for the database and its side files.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that opens databases, all of whose paths come from `Database`"
)]
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let always = OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags | always)
}

/// The database header and B-tree page header of an SQLite file. Source: <https://sqlite.org/fileformat2.html>, 1.3 and 1.6.
struct Header([u8; 108]);

impl Header {
    /// Reads the header. Returns `None` if the file is not an SQLite database.
    fn read(database: &Database) -> Option<Header> {
        let mut header = [0; 108];
        database.open_to_read().and_then(|mut file| file.read_exact(&mut header)).ok()?;
        header.starts_with(b"SQLite format 3\0").then_some(Header(header))
    }

    fn number(&self, at: usize) -> i64 {
        i64::from(i32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]]))
    }

    /// Returns `true` if the database has tables, indexes or views: the first page's B-tree has cells, or is not a leaf.
    fn has_schema(&self) -> bool {
        const LEAF: u8 = 13;
        self.0[100] != LEAF || self.0[103..105] != [0, 0]
    }
}

/// Refuses another program's database before SQLite opens it: opening could already roll back its journal or checkpoint its
/// WAL, which changes the file.
fn refuse_foreign(database: &Database) -> Result<(), StoreError> {
    let is_foreign = Header::read(database).is_some_and(|header| match header.number(68) {
        APPLICATION_ID => false,
        0 => header.has_schema(),
        _ => true,
    });
    match is_foreign {
        true => Err(StoreError::Foreign { path: database.path().to_owned() }),
        false => Ok(()),
    }
}

/// Returns `true` for an empty file, and for a database without a schema or WAL.
fn has_no_content(database: &Database) -> bool {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    let is_blank = || {
        Header::read(database).is_some_and(|header| header.number(68) == 0 && !header.has_schema())
            && length(&with_suffix(database.path(), "-wal")) == 0
    };
    length(database.path()) == 0 || is_blank()
}

/// Returns the path as a URI that declares the file immutable to SQLite. Source: <https://sqlite.org/uri.html>.
fn immutable_uri(path: &Path) -> PathBuf {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut uri = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.extend(format!("%{byte:02x}").bytes()),
            byte => uri.push(byte),
        }
    }
    uri.extend(b"?immutable=1");
    std::ffi::OsString::from_vec(uri).into()
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Returns `true` if a statement failed because a referenced row does not exist.
fn is_missing_row(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}

/// Returns the family of a metric for queries: `bandwidth`, `rate`, `latency`, `response`, `cpu`, `device`.
fn kind(metric: Metric) -> &'static str {
    use plumb_result::Quantity;
    match metric.quantity {
        Quantity::Bandwidth => "bandwidth",
        Quantity::Rate => "rate",
        Quantity::Latency(_) => "latency",
        Quantity::Response(_) => "response",
        Quantity::User | Quantity::System => "cpu",
        Quantity::Count(_) => "device",
    }
}
