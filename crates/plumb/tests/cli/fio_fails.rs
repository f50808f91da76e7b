//! Failing fio jobs: the exit code counts them, machine output stays complete, and the results of the others are kept.

use crate::common::disks::Mounted;
use crate::common::needs::{is_root, root_and};
use crate::common::{CommandOutput, Home, wait_until};
use crate::interrupted::{end, signal, start_and_measure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A device on which every write fails.
const FULL: &str = "--filename=/dev/full --rw=write --size=64k --bs=4k --plumb-allow=/dev/full";

/// A job that does 256 reads without a device.
const GOOD: &str = "--name=good --ioengine=null --rw=read --size=1m --bs=4k";

const ENOENT: u64 = 2;
const EACCES: u64 = 13;
const ENOSPC: u64 = 28;
const EADDRINUSE: u64 = 98;

fn json(home: &Home, words: &str, code: i32) -> (Value, CommandOutput) {
    let output = home.plumb(&format!("as fio --output-format=json {words}")).expect(code);
    (output.json(), output)
}

/// Returns name, error and ops of each job.
fn jobs(root: &Value) -> Vec<(String, u64, u64)> {
    let of = |job: &Value| {
        let ops = ["read", "write"].iter().map(|kind| job[kind]["total_ios"].as_u64().unwrap()).sum();
        (job["jobname"].as_str().unwrap().to_owned(), job["error"].as_u64().unwrap(), ops)
    };
    root["jobs"].as_array().unwrap().iter().map(of).collect()
}

fn good() -> (String, u64, u64) {
    ("good".to_owned(), 0, 256)
}

/// Returns a job that ended before its first op.
fn failed(name: &str, error: u64) -> (String, u64, u64) {
    (name.to_owned(), error, 0)
}

/// A job whose only op failed; fio counts it.
fn failed_in_op(name: &str, error: u64) -> (String, u64, u64) {
    (name.to_owned(), error, 1)
}

#[test]
fn a_missing_directory_fails_its_job_and_no_other() {
    let home = Home::new();
    let (root, output) =
        json(&home, &format!("--name=bad --directory=missing --rw=read --size=64k {GOOD} --directory=."), 1);
    assert_eq!(jobs(&root), [failed("bad", ENOENT), good()]);
    output.expect_stderr(&["missing", "mkdir -p"]);
}

#[test]
fn the_code_is_the_number_of_jobs_that_failed() {
    let home = Home::new();
    let (root, output) = json(&home, &format!("--name=one {FULL} {GOOD} --name=two {FULL}"), 2);
    assert_eq!(jobs(&root), [failed_in_op("one", ENOSPC), good(), failed_in_op("two", ENOSPC)]);
    output.expect_stderr(&["one: pid=", "two: pid=", "err=28"]);
}

/// A worker's error is reported the same way for every kind of worker.
#[test]
fn a_failed_op_is_reported_on_standard_error_and_the_document_is_whole() {
    for run_as in ["", "--thread"] {
        let home = Home::new();
        let words = format!("as fio --output-format=json --output=out.json {run_as} --name=bad {FULL} {GOOD} {run_as}");
        let output =
            home.plumb(&words).expect(1).expect_stderr(&["file:/dev/full", "func=write", "No space left on device"]);
        assert_eq!(output.out, "", "{run_as}: all is in the file");
        let root: Value =
            plumb_document::json::from_str(&std::fs::read_to_string(home.work().join("out.json")).unwrap()).unwrap();
        assert_eq!(jobs(&root), [failed_in_op("bad", ENOSPC), good()], "{run_as}");
    }
}

#[test]
fn pages_and_lines_name_the_error_too() {
    let home = Home::new();
    let page = home.plumb(&format!("as fio --name=bad {FULL}")).expect(1).out;
    let of_job = page.lines().find(|line| line.starts_with("bad: (groupid=0, jobs=1): err=28 "));
    assert!(of_job.is_some_and(|line| line.contains("No space left on device")), "{page}");
    let lines = home.plumb(&format!("as fio --minimal --name=bad {FULL} {GOOD}")).expect(1).out;
    let errors: Vec<Option<&str>> = lines.lines().map(|line| line.split(';').nth(4)).collect();
    assert_eq!(errors, [Some("28"), Some("0")], "{lines}");
}

/// fio ignores its default errors, which exclude a full disk, or those that are listed.
#[test]
fn errors_that_are_passed_over_fail_nobody_and_are_counted() {
    let home = Home::new();
    let (root, output) = json(&home, &format!("--name=goes-on {FULL} --ignore_error=,ENOSPC"), 0);
    let job = &root["jobs"][0];
    assert_eq!((&job["error"], &job["total_err"], &job["first_error"]), (&0.into(), &16.into(), &28.into()));
    assert_eq!(output.err, "");
    let (root, _) = json(&home, &format!("--name=ends {FULL} --continue_on_error=write"), 1);
    let job = &root["jobs"][0];
    assert_eq!((&job["error"], &job["total_err"], &job["first_error"]), (&28.into(), &1.into(), &28.into()));
}

#[test]
fn a_file_that_may_not_be_read_fails_its_job() {
    let home = Home::new();
    let path = home.file("secret", &"x".repeat(64 << 10));
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    // Root can read anything, so its job runs as another user.
    let user = if is_root() { "--uid=65534" } else { "" };
    let words = format!("--name=bad --filename={} --rw=read --size=64k {user} {GOOD}", path.display());
    let (root, output) = json(&home, &words, 1);
    assert_eq!(jobs(&root), [failed("bad", EACCES), good()]);
    output.expect_stderr(&["Permission denied"]);
}

#[test]
fn a_file_system_that_is_too_small_fails_its_job() {
    if !root_and(&["mount"]) {
        return;
    }
    let (home, small) = (Home::new(), Mounted::in_memory(4 << 20));
    let words = format!("--name=bad --directory={} --rw=write --size=8m --bs=64k {GOOD}", small.as_str());
    let (root, output) = json(&home, &words, 1);
    assert_eq!(jobs(&root), [failed("bad", ENOSPC), good()]);
    output.expect_stderr(&["use another file system"]);
}

/// Scripts that check the number expect the system's error, and the other jobs do not wait.
#[test]
fn an_address_that_is_taken_fails_its_job() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let words = format!("--name=bad --ioengine=net --listen --rw=read --size=64k --port={port} {GOOD}");
    let (root, output) = json(&home, &words, 1);
    assert_eq!(jobs(&root), [failed("bad", EADDRINUSE), good()]);
    output.expect_stderr(&["Address already in use"]);
}

/// Workers of a job are processes, and the kernel may kill one of them.
#[test]
fn a_killed_worker_is_a_failed_job_and_the_other_goes_on() {
    let home = Home::new();
    let line =
        "as fio --output-format=json --ioengine=null --rw=read --bs=4k --size=600k --rate_iops=50 --name=a --name=b";
    let child = start_and_measure(&home, line, 1);
    let workers = || {
        let path = format!("/proc/{0}/task/{0}/children", child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)).collect::<Vec<Pid>>()
    };
    wait_until("there are two workers", || workers().len() == 2);
    kill_process(workers()[0], Signal::KILL).unwrap();
    let (code, out, _) = end(child);
    assert_eq!(code, 1, "{out}");
    let mut all = jobs(&plumb_document::json::from_str(&out).unwrap());
    all.sort_by_key(|job| job.1);
    assert_eq!((all[0].1, all[0].2), (0, 150), "{all:?}");
    assert!(all[1].1 != 0 && (1..150).contains(&all[1].2), "what it did before is kept: {all:?}");
}

/// The store contains the failed run, with the failure and the results of the others.
#[test]
fn a_run_with_a_failed_job_is_stored() {
    let home = Home::new();
    json(&home, &format!("--name=bad {FULL} {GOOD}"), 1);
    let row = &home.plumb("list --json").expect(0).json()[0];
    assert_eq!(row["verdict"], "reject", "{row}");
    let stored = home.plumb("show last --json").expect(0).json();
    let text = stored.to_string();
    assert!(text.contains("/dev/full") && text.contains("No space left on device"), "{stored:#}");
    assert_eq!(stored["phases"].as_array().unwrap().len(), 1);
}

#[test]
fn an_interrupted_job_reports_its_work() {
    for number in [Signal::INT, Signal::TERM] {
        let home = Home::new();
        let line = "as fio --output-format=json --name=long --ioengine=null --rw=read --size=1g --rate_iops=100 \
                    --time_based --runtime=600";
        let child = start_and_measure(&home, line, 1);
        signal(&child, number);
        let (code, out, _) = end(child);
        assert_eq!(code, 128, "{number:?}: as fio's: {out}");
        let all = jobs(&plumb_document::json::from_str(&out).unwrap());
        assert!(all.len() == 1 && all[0].2 > 0, "{number:?}: {all:?}");
        assert_eq!(home.plumb("list --json").expect(0).json()[0]["status"], "aborted", "{number:?}");
    }
}

/// Scripts must not mistake an error for a result.
#[test]
fn jobs_that_are_not_understood_print_nothing_but_why() {
    let home = Home::new();
    for words in ["--name=a --size=1m --nonsense=1", "--name=a --rw=sideways --size=1m", "--name=a", "missing.fio"] {
        let output = home.plumb(&format!("as fio --output-format=json {words}")).expect(1);
        assert_eq!(output.out, "", "{words}");
        assert!(output.err.starts_with("fio: "), "{words}: {}", output.err);
    }
    home.plumb("list").expect(0).expect_stdout(&["no runs are stored"]);
}
