//! Unplanned ends: Ctrl-C, `kill`, `kill -9`.

use crate::common::{Home, assert_no_test_data, test_directories, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::time::{Duration, Instant};

/// Returns a run that lasts far longer than any test.
fn long(run_as: &str) -> String {
    format!(
        "name = \"long\"\n[target.data.file]\npath = \"data\"\nsize = \"8MiB\"\n[[phase]]\nname = \"read\"\n\
         stop.time = \"10m\"\n[[phase.workers]]\ntarget = \"data\"\ncount = 2\nrun-as = \"{run_as}\"\n\
         pace = {{ think = {{ time = \"1ms\" }} }}\nwork.blocks.pattern = \"random\"\n"
    )
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Starts a run and waits until `seconds` of it are in the store.
pub(crate) fn start_and_measure(home: &Home, line: &str, seconds: i64) -> Child {
    let child = home.start(line);
    wait_until("heartbeats are stored", || {
        // The database may not exist yet.
        let output = home.plumb_args(["query", "SELECT count(*) FROM heartbeat", "--json"]);
        output.code == 0 && output.json()["rows"][0][0].as_i64().unwrap() >= seconds
    });
    child
}

/// Waits for the end; returns the exit code and the time taken.
pub(crate) fn end(child: Child) -> (i32, String, Duration) {
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stdout).unwrap(), start.elapsed())
}

/// Returns the processes that use this home.
fn processes(home: &Home) -> Vec<String> {
    let mark = format!("XDG_DATA_HOME={}", home.registry().parent().unwrap().parent().unwrap().display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_signal_ends_a_run_keeps_what_was_measured_and_cleans_up() {
    for (number, run_as) in [(Signal::INT, "thread"), (Signal::TERM, "process"), (Signal::HUP, "thread")] {
        let home = Home::new();
        home.file("long.toml", &long(run_as));
        let child = start_and_measure(&home, "run long.toml --json", 1);
        assert_eq!(test_directories(&home.work()).len(), 1);
        signal(&child, number);
        let (code, out, took) = end(child);
        assert_eq!(code, 130, "{number:?}");
        eprintln!("{number:?}: ended {took:?} after the signal");
        // Two seconds are promised; a busy test machine gets more.
        assert!(took < Duration::from_secs(15), "{took:?}");

        let printed: serde_json::Value = plumb_document::json::from_str(&out).unwrap();
        assert_eq!(printed["partial"], true);
        let stored = home.plumb("show last --json").expect(0).json();
        assert_eq!(stored, printed);
        assert!(stored["phases"][0]["wall_ns"].as_u64().unwrap() > 0);
        assert!(stored["phases"][0]["metrics"]["read.iops"]["value"].as_f64().unwrap() > 0.0);
        let row = &home.plumb("list --json").expect(0).json()[0];
        assert_eq!(row["status"], "aborted");
        home.plumb("show last").expect(0).expect_stdout(&["The run was interrupted"]);
        assert_no_test_data(&home.work());
        assert_eq!(processes(&home), [""; 0], "no process is left");
        home.plumb("clean").expect(0).expect_stdout(&["nothing to clean"]);
    }
}

#[test]
fn a_signal_while_files_are_laid_out_ends_it_too() {
    let home = Home::new();
    home.file("long.toml", &long("thread").replace("8MiB", "512MiB"));
    let child = home.start("run long.toml --json");
    wait_until("the file grows", || {
        let file = test_directories(&home.work()).first().map(|dir| dir.join("data"));
        file.and_then(|file| file.metadata().ok()).is_some_and(|file| file.len() > 0)
    });
    signal(&child, Signal::INT);
    let (code, out, _) = end(child);
    assert_eq!(code, 130, "{out}");
    assert_no_test_data(&home.work());
}

#[test]
fn a_signal_ends_a_comparison_with_what_it_has() {
    let home = Home::new();
    let child = start_and_measure(&home, "compare . . --size 16MiB --time 3s --for random-read --json", 1);
    signal(&child, Signal::INT);
    let (code, out, _) = end(child);
    assert_eq!(code, 130);
    let comparison: serde_json::Value = plumb_document::json::from_str(&out).unwrap();
    let note = comparison["verdict_note"].as_str().unwrap();
    assert!(note.contains("Interrupted") && !note.contains("budget"), "{note}");
    assert_no_test_data(&home.work());
}

/// The promise for `kill -9`: the database opens, the measurements so far are there, and cleaning removes the rest.
#[test]
fn what_kill_9_leaves_is_kept_and_cleaned() {
    for run_as in ["thread", "process"] {
        let home = Home::new();
        home.file("long.toml", &long(run_as));
        let mut child = start_and_measure(&home, "run long.toml", 2);
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("its worker processes are gone", || processes(&home).is_empty());
        let left = test_directories(&home.work());
        assert_eq!(left.len(), 1, "a killed run leaves its test directory");

        let removed = format!("removed {}", left[0].canonicalize().unwrap().display());
        home.plumb("clean").expect(0).expect_stdout(&[&removed, "was killed; the"]);
        assert_no_test_data(&home.work());
        home.plumb("clean").expect(0).expect_stdout(&["nothing to clean"]);

        assert_eq!(home.query("PRAGMA integrity_check")[0][0], "ok");
        let row = &home.plumb("list --json").expect(0).json()[0];
        assert_eq!((&row["status"], &row["reason"]), (&"aborted".into(), &"its process was killed".into()));
        assert_eq!(home.query("SELECT count(*) FROM heartbeat")[0][0], 0);
        assert!(home.query("SELECT count(*) FROM series")[0][0].as_i64().unwrap() > 0);
        let id = row["id"].as_str().unwrap();
        home.plumb(&format!("show {id}")).expect(0).expect_stdout(&[
            "has no result: aborted: its process was killed",
            "second by second",
            "read 1.00 s",
        ]);
        let series = home.plumb(&format!("show {id} --json")).expect(0).json();
        let intervals = series["phases"][0]["intervals"].as_array().unwrap();
        assert!(intervals.len() >= 2, "{series:#}");
        assert!(intervals.iter().all(|interval| interval["ops"]["read"]["count"].as_u64().unwrap() > 0));
    }
}

#[test]
fn cleaning_leaves_a_living_run_alone() {
    let home = Home::new();
    home.file("long.toml", &long("thread"));
    let child = start_and_measure(&home, "run long.toml --json", 1);
    let dirs = test_directories(&home.work());
    for line in ["clean", "clean .", "clean . . /tmp"] {
        let output = home.plumb(line);
        let left = format!(
            "kept {}: process {} is still running `long`",
            dirs[0].canonicalize().unwrap().display(),
            child.id()
        );
        assert_eq!(output.out.matches(&left).count(), 1, "{}", output.out);
        assert_eq!(test_directories(&home.work()), dirs);
    }
    signal(&child, Signal::TERM);
    assert_eq!(end(child).0, 130);
    assert_no_test_data(&home.work());
}

/// A directory that only looks like test data is not removed.
#[test]
fn cleaning_does_not_touch_what_plumb_did_not_mark() {
    let home = Home::new();
    let alien = home.work().join("plumb-test-0123456789abcdef");
    std::fs::create_dir(&alien).unwrap();
    std::fs::write(alien.join("precious"), "x").unwrap();
    home.plumb("clean .").expect(4).expect_stdout(&["could not remove"]);
    assert_eq!(std::fs::read_to_string(alien.join("precious")).unwrap(), "x");
}
