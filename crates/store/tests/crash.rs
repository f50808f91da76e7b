//! Tests kills at any moment, and concurrent writers. Child processes are this test binary; an environment variable
//! tells them to play the child of one of the tests below.

#![allow(clippy::disallowed_methods)] // tests write files

mod common;

use common::{FIRST, intervals, measurement, result, started};
use plumb_store::{Filter, Partial, ResultStore, RunStatus, Store};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const FILE: &str = "PLUMB_STORE_TEST_FILE";
const ID: &str = "PLUMB_STORE_TEST_ID";

/// Returns the file to write to if this process is a child.
fn as_child() -> Option<PathBuf> {
    std::env::var_os(FILE).map(PathBuf::from)
}

fn child(test: &str, file: &Path, id: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FILE, file)
        .env(ID, id)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the child has printed `heartbeat N`.
fn wait_for_heartbeat(child: &mut Child, number: u64) {
    let wanted = format!("heartbeat {number}");
    let output = BufReader::new(child.stdout.as_mut().unwrap());
    assert!(output.lines().map_while(Result::ok).any(|line| line.ends_with(&wanted)), "the child never printed it");
}

fn write_heartbeats_forever(file: &Path) -> ! {
    let mut store = Store::open(file).unwrap();
    started(&std::env::var(ID).unwrap(), |start| store.begin_run(start)).unwrap();
    for i in 0.. {
        let partial = Partial { phase: 1, name: "seq-write", intervals: &intervals(i, 1) };
        store.heartbeat(&std::env::var(ID).unwrap(), &partial).unwrap();
        println!("heartbeat {}", i + 1);
        std::io::stdout().flush().unwrap();
    }
    unreachable!()
}

#[test]
fn a_kill_leaves_a_readable_database_with_what_was_measured() {
    if let Some(file) = as_child() {
        write_heartbeats_forever(&file);
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plumb.db");
    // Kill at several moments. The child writes without a pause, so most kills interrupt a write.
    for (round, heartbeats) in [1, 3, 10, 40].into_iter().enumerate() {
        let id = format!("018f0000-0000-7000-8000-0000000001{round:02}");
        let mut child = child("a_kill_leaves_a_readable_database_with_what_was_measured", &file, &id);
        wait_for_heartbeat(&mut child, heartbeats);

        let mut store = Store::open(&file).unwrap();
        assert!(store.recover().unwrap().is_empty(), "its process is alive");
        assert_eq!(
            store.list(&Filter::default()).unwrap().iter().filter(|r| r.status == RunStatus::Running).count(),
            1
        );
        drop(store);

        child.kill().unwrap();
        child.wait().unwrap();
        let mut store = Store::open(&file).unwrap();
        assert_eq!(format!("{:?}", store.query("PRAGMA integrity_check").unwrap().rows), r#"[[Text("ok")]]"#);
        let recovered = store.recover().unwrap();
        assert_eq!(recovered.len(), 1);
        assert_eq!(recovered[0].id, id);
        assert!(recovered[0].intervals as u64 >= heartbeats, "heartbeats that it reported as stored are missing");
        let phases = store.intervals(&id).unwrap();
        assert_eq!(phases[0].name, "seq-write");
        assert_eq!(phases[0].intervals, intervals(0, recovered[0].intervals as u64));
        let rows = store.list(&Filter { limit: Some(1), ..Filter::default() }).unwrap();
        assert_eq!((rows[0].status, rows[0].reason.as_deref()), (RunStatus::Aborted, Some("its process was killed")));
        assert!(store.recover().unwrap().is_empty(), "a run is recovered only once");
    }
}

#[test]
fn two_processes_make_one_new_file_and_write_into_it_together() {
    const RUNS: u32 = 10;
    if let Some(file) = as_child() {
        let mut store = Store::open(&file).unwrap();
        let prefix = std::env::var(ID).unwrap();
        for i in 0..RUNS {
            let id = format!("{prefix}{i:04}");
            started(&id, |start| store.begin_run(start)).unwrap();
            store.heartbeat(&id, &Partial { phase: 1, name: "p", intervals: &intervals(0, 1) }).unwrap();
            store.finish_run(&result(&id, i), &measurement()).unwrap();
        }
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plumb.db");
    let test = "two_processes_make_one_new_file_and_write_into_it_together";
    let children = ["018f0000-0000-7000-8000-0000000a", "018f0000-0000-7000-8000-0000000b"]
        .map(|prefix| child(test, &file, prefix));
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = Store::open(&file).unwrap();
    let rows = store.list(&Filter { status: Some(RunStatus::Ok), ..Filter::default() }).unwrap();
    assert_eq!(rows.len(), 2 * RUNS as usize);
    assert!(rows.iter().all(|row| store.get(&row.id).is_ok()));
}

#[test]
fn a_run_considered_dead_may_still_finish() {
    // The owner's process cannot be faked from outside, so end the run by hand, as recovery does.
    let mut store = Store::open_in_memory().unwrap();
    started(FIRST, |start| store.begin_run(start)).unwrap();
    store.heartbeat(FIRST, &Partial { phase: 1, name: "p", intervals: &intervals(0, 2) }).unwrap();
    store.fail_run(FIRST, "considered dead").unwrap();
    store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap()[0].status, RunStatus::Ok);
    assert_eq!(store.intervals(FIRST).unwrap()[0].intervals, measurement().phases[0].intervals);
}

// Protects: stored runs are in the file and its log, which stays short; opening the database to read
// merges both into the file.
#[test]
fn results_stay_in_a_short_log_until_the_next_reader() {
    let directory = tempfile::tempdir().unwrap();
    let [file, log] = ["plumb.db", "plumb.db-wal"].map(|name| directory.path().join(name));
    let log_bytes = || std::fs::metadata(&log).map_or(0, |log| log.len());
    let mut store = Store::open(&file).unwrap();
    let mut longest = 0;
    for _ in 0..60 {
        store.finish_run(&result(FIRST, 1), &measurement()).unwrap();
        longest = longest.max(log_bytes());
    }
    assert!(longest > 1 << 20, "the test must write enough for a checkpoint of the log: {longest}");
    assert!(longest < 3 << 20, "the log was not checkpointed: {longest}");
    drop(store);
    assert!(
        log_bytes() > 0 && log_bytes() < 1 << 20,
        "the log restarts from its beginning after that: {}",
        log_bytes()
    );

    let copy = tempfile::tempdir().unwrap();
    for name in ["plumb.db", "plumb.db-wal"] {
        std::fs::copy(directory.path().join(name), copy.path().join(name)).unwrap();
    }
    assert_eq!(Store::open_to_read(&copy.path().join("plumb.db")).unwrap().get(FIRST).unwrap(), result(FIRST, 1));

    drop(Store::open_to_read(&file).unwrap());
    assert!(!log.exists());
    let alone = copy.path().join("alone.db");
    std::fs::copy(&file, &alone).unwrap();
    assert_eq!(Store::open_to_read(&alone).unwrap().get(FIRST).unwrap(), result(FIRST, 1));
}
