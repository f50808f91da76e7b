//! Runs that wait next to the database are stored like others under all conditions. Child processes are this test
//! binary; an environment variable tells them to play the child of one of the tests below.

#![allow(clippy::disallowed_methods)] // tests write files

mod common;

use common::{FIRST, SECOND, intervals, measurement, result, started};
use plumb_store::{Filter, Partial, Queue, ResultStore, RunLog, RunStatus, Store, StoreError};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const FILE: &str = "PLUMB_STORE_TEST_FILE";

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        drop(Store::open(&place.database()).unwrap());
        place
    }

    fn database(&self) -> PathBuf {
        self.directory.path().join("plumb.db")
    }

    fn file_of(&self, id: &str) -> PathBuf {
        self.directory.path().join("plumb.db-queue").join(format!("{id}.run"))
    }

    fn queue(&self) -> Queue {
        Queue::open(&self.database()).expect("a database of this version has a queue")
    }

    /// Begins and finishes a run in the queue.
    fn run(&self, id: &str) {
        let mut queue = self.queue();
        started(id, |start| queue.begin_run(start)).unwrap();
        queue.finish_run(&result(id, 1), &measurement()).unwrap();
    }
}

fn statuses(store: &Store) -> Vec<RunStatus> {
    store.list(&Filter::default()).unwrap().iter().map(|row| row.status).collect()
}

// Protects: a queued run leaves the same rows in the database as a run without the queue.
#[test]
fn a_queued_run_is_stored_like_any_other() {
    let (queued, direct) = (Place::new(), Place::new());
    queued.run(FIRST);
    let mut store = Store::open(&direct.database()).unwrap();
    started(FIRST, |start| store.begin_run(start)).unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    drop(store);
    assert!(queued.file_of(FIRST).exists(), "the run waits in the queue");

    let [queued_store, direct_store] = [&queued, &direct].map(|place| Store::open(&place.database()).unwrap());
    assert!(queued_store.waiting().is_none());
    assert!(!queued.file_of(FIRST).exists(), "the run was imported");
    assert_eq!(queued_store.get(FIRST).unwrap(), result(FIRST, 1));
    let tables = queued_store.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap().rows;
    assert!(tables.len() > 20);
    for table in tables {
        let name = format!("{:?}", table[0]).replace("Text(\"", "").replace("\")", "");
        let rows = |store: &Store| format!("{:?}", store.query(&format!("SELECT * FROM {name}")).unwrap().rows);
        assert_eq!(rows(&queued_store), rows(&direct_store), "{name}");
    }
}

#[test]
fn a_killed_run_is_marked_and_a_running_one_is_shown() {
    if let Some(file) = std::env::var_os(FILE).map(PathBuf::from) {
        let mut queue = Queue::open(&file).unwrap();
        started(FIRST, |start| queue.begin_run(start)).unwrap();
        println!("begun");
        std::io::stdout().flush().unwrap();
        let _ = std::io::stdin().read_line(&mut String::new());
        unreachable!("the process is killed before");
    }
    let place = Place::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_run_is_marked_and_a_running_one_is_shown", "--nocapture"])
        .env(FILE, place.database())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.as_mut().unwrap());
    assert!(output.lines().map_while(Result::ok).any(|line| line.ends_with("begun")));
    let mut store = Store::open(&place.database()).unwrap();
    assert_eq!(statuses(&store), [RunStatus::Running]);
    assert!(store.recover().unwrap().is_empty(), "its process is alive");
    assert!(place.file_of(FIRST).exists(), "its process may still write to the file");
    drop(store);

    child.kill().unwrap();
    child.wait().unwrap();
    let mut store = Store::open(&place.database()).unwrap();
    assert_eq!(store.recover().unwrap().len(), 1);
    assert_eq!(statuses(&store), [RunStatus::Aborted]);
    assert!(!place.file_of(FIRST).exists());
}

// Protects: a reader during the run does not remove the file of the run.
#[test]
fn a_run_listed_as_running_ends_well() {
    let place = Place::new();
    let mut queue = place.queue();
    started(FIRST, |start| queue.begin_run(start)).unwrap();
    assert_eq!(statuses(&Store::open(&place.database()).unwrap()), [RunStatus::Running]);
    queue.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    let store = Store::open(&place.database()).unwrap();
    assert_eq!(statuses(&store), [RunStatus::Ok]);
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
}

#[test]
fn a_run_that_lasts_goes_to_the_database() {
    let place = Place::new();
    let mut queue = place.queue();
    started(FIRST, |start| queue.begin_run(start)).unwrap();
    queue.heartbeat(FIRST, &Partial { phase: 1, name: "seq-write", intervals: &intervals(0, 1) }).unwrap();
    assert!(!place.file_of(FIRST).exists());
    assert_eq!(statuses(&Store::open(&place.database()).unwrap()), [RunStatus::Running]);
    queue.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    // The next run of the same command does so, too.
    started(SECOND, |start| queue.begin_run(start)).unwrap();
    queue.fail_run(SECOND, "no reason").unwrap();
    assert!(!place.file_of(SECOND).exists());
    let rows = Store::open(&place.database()).unwrap().list(&Filter::default()).unwrap();
    let seen: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.status, row.reason.as_deref())).collect();
    assert!(seen.contains(&(FIRST, RunStatus::Ok, None)), "{seen:?}");
    assert!(seen.contains(&(SECOND, RunStatus::Failed, Some("no reason"))), "{seen:?}");
}

// Protects: while measurement may be in progress, no data of other runs is read, written or flushed.
#[test]
fn a_run_that_lasts_imports_no_other() {
    let place = Place::new();
    place.run(SECOND);
    let mut queue = place.queue();
    started(FIRST, |start| queue.begin_run(start)).unwrap();
    queue.heartbeat(FIRST, &Partial { phase: 1, name: "seq-write", intervals: &intervals(0, 1) }).unwrap();
    assert!(place.file_of(SECOND).exists() && !place.file_of(FIRST).exists());
    queue.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    assert_eq!(Store::open(&place.database()).unwrap().list(&Filter::default()).unwrap().len(), 2);
}

// Protects: a run that the database rejects does not block other runs, and is not lost.
#[test]
fn a_run_that_cannot_be_stored_does_not_block_others() {
    let place = Place::new();
    let third = "018f0000-0000-7000-8000-0000000000cc";
    for id in [FIRST, SECOND, third] {
        place.run(id);
    }
    let change = |id: &str, from: &str, to: &str| {
        let text = fs::read_to_string(place.file_of(id)).unwrap();
        assert!(text.contains(from));
        fs::write(place.file_of(id), text.replace(from, to)).unwrap();
    };
    change(FIRST, "\"started_at\":\"2024", "\"started_at\":\"no time\",\"was\":\"2024");
    change(SECOND, "{\"phases\":", "{\"phases\":7,\"were\":");
    let store = Store::open(&place.database()).unwrap();
    assert!(store.waiting().is_none());
    assert_eq!(store.get(third).unwrap(), result(third, 1));
    let aside = [FIRST, SECOND].map(|id| place.file_of(id).with_extension("unreadable"));
    let mut reported = store.set_aside().to_vec();
    reported.sort();
    assert_eq!(reported, aside);
    assert!(aside.iter().all(|path| path.exists()));
}

#[test]
fn a_failed_run_keeps_its_reason() {
    let place = Place::new();
    let mut queue = place.queue();
    started(FIRST, |start| queue.begin_run(start)).unwrap();
    queue.fail_run(FIRST, "the disk is gone").unwrap();
    let rows = Store::open(&place.database()).unwrap().list(&Filter::default()).unwrap();
    assert_eq!((rows[0].status, rows[0].reason.as_deref()), (RunStatus::Failed, Some("the disk is gone")));
    assert_eq!(rows[0].command, "plumb run seq.toml");
}

// Protects: another writer neither delays a short run nor loses it.
#[test]
fn a_locked_database_does_not_delay_a_run() {
    let place = Place::new();
    let holder = rusqlite::Connection::open(place.database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    place.run(FIRST);
    let store = Store::open(&place.database()).unwrap();
    let waiting = store.waiting().expect("a run that could not be imported");
    assert!(matches!(waiting.reason, StoreError::Busy { .. }), "{:?}", waiting.reason);
    assert!(statuses(&store).is_empty());
    drop(store);
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(Store::open(&place.database()).unwrap().get(FIRST).unwrap(), result(FIRST, 1));
}

#[test]
fn the_queue_does_not_grow_without_end() {
    let place = Place::new();
    let waiting = || fs::read_dir(place.directory.path().join("plumb.db-queue")).unwrap().count();
    let mut most = 0;
    for i in 0..300 {
        place.run(&format!("018f0000-0000-7000-8000-{i:012}"));
        most = most.max(waiting());
    }
    assert!((100..200).contains(&most), "{most}");
    assert_eq!(Store::open(&place.database()).unwrap().list(&Filter::default()).unwrap().len(), 300);
    assert_eq!(waiting(), 0);
}

#[test]
fn an_incomplete_or_foreign_file_loses_no_other() {
    let place = Place::new();
    for id in [FIRST, SECOND] {
        place.run(id);
    }
    // A kill in the middle of the result: this process is alive, so it might still be writing.
    let whole = fs::read(place.file_of(FIRST)).unwrap();
    fs::write(place.file_of(FIRST), &whole[..whole.len() - 10]).unwrap();
    let damaged = age(&place.file_of("damaged"), &[0; 4096]);
    let young = place.file_of("young");
    fs::write(&young, "").unwrap();
    let newer = age(&place.file_of("newer"), b"{\"format\":2,\"anything\":1}\n");

    let store = Store::open(&place.database()).unwrap();
    assert_eq!(store.get(SECOND).unwrap(), result(SECOND, 1));
    assert_eq!(store.set_aside(), [damaged.with_extension("unreadable")]);
    assert!(store.set_aside()[0].exists() && !damaged.exists());
    assert!(young.exists() && newer.exists() && place.file_of(FIRST).exists());
    drop(store);
    fs::write(place.file_of(FIRST), whole).unwrap();
    let store = Store::open(&place.database()).unwrap();
    assert_eq!(store.get(FIRST).unwrap(), result(FIRST, 1));
    assert!(store.set_aside().is_empty(), "a damaged file is reported only once");
}

/// Creates a file with an old modification time.
fn age(path: &Path, content: &[u8]) -> PathBuf {
    fs::write(path, content).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    path.to_owned()
}

// Protects: the queue does not silently accept a run that the database would reject.
#[test]
fn other_databases_have_no_queue() {
    let place = Place::new();
    let changed = |sql: &str| {
        let path = place.directory.path().join(format!("{}.db", sql.len()));
        fs::copy(place.database(), &path).unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        path
    };
    assert!(Queue::open(&place.database()).is_some());
    assert!(Queue::open(&changed("PRAGMA user_version = 99")).is_none(), "newer");
    assert!(Queue::open(&changed("PRAGMA application_id = 1")).is_none(), "another program's");
    assert!(Queue::open(&place.directory.path().join("absent.db")).is_none());
    let text = place.directory.path().join("text.db");
    fs::write(&text, "x".repeat(200)).unwrap();
    assert!(Queue::open(&text).is_none());
    let blocked = changed("SELECT 1");
    fs::write(blocked.with_extension("db-queue"), "a file").unwrap();
    let mut queue = Queue::open(&blocked).expect("a taken name is noticed only when a run begins");
    started(FIRST, |start| queue.begin_run(start)).unwrap();
    queue.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    assert_eq!(Store::open(&blocked).unwrap().get(FIRST).unwrap(), result(FIRST, 1));
}
