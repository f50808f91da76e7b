//! Runs companions without a phase: the tests tell them to stop.

use super::busy::random_numbers;
use super::*;
use crate::clock::Clock;
use crate::terms::Ended;
use plumb_workload::{Busy, Exec, Nanos};
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

const MS: u64 = 1_000_000;

/// Runs `work` until `stops` returns `true`, or for `longest` at most.
fn run_for<T>(
    longest: Duration,
    stops: impl Fn() -> bool,
    io_done: impl Fn() -> u64,
    work: impl FnOnce(&mut Context<'_>) -> T,
) -> T {
    let began = Instant::now();
    work(&mut Context {
        clock: Clock::monotonic(),
        stops_at: &mut |_| stops() || began.elapsed() > longest,
        io_done: &io_done,
    })
}

/// Returns this thread's CPU time divided by the elapsed time of `work`.
fn cpu_share(work: impl FnOnce()) -> f64 {
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
    };
    let (wall, before) = (Instant::now(), used());
    work();
    (used() - before).as_secs_f64() / wall.elapsed().as_secs_f64()
}

fn busy(percent: u8, sorts: bool) -> BusyCompanion {
    BusyCompanion { busy: Busy { percent, piece: Nanos(2 * MS), sorts, ends_with_others: false }, workers: 1 }
}

#[test]
fn a_busy_worker_uses_its_share_of_a_cpu() {
    for sorts in [false, true] {
        let mut numbers = if sorts { random_numbers() } else { Vec::new() };
        let mut worker = busy(30, sorts);
        // End after a sleep, so that a piece during which the machine stalled also has its idle time.
        worker.busy.ends_with_others = true;
        let began = Instant::now();
        let io_done = || u64::from(began.elapsed() > Duration::from_millis(400));
        let share = cpu_share(|| {
            let ended = run_for(Duration::MAX, || false, io_done, |context| worker.run(context, &mut numbers));
            assert_eq!(ended, Ended::Done);
        });
        // The share cannot be higher. It is lower if others use the CPU, or if one sort takes long.
        assert!((0.02..0.45).contains(&share), "sorts: {sorts}, asked for 0.30, had {share:.2}");
    }
}

#[test]
fn a_busy_worker_without_idle_time_never_sleeps() {
    let checks = Cell::new(0u32);
    let stops = || {
        checks.set(checks.get() + 1);
        checks.get() > 1_000_000
    };
    assert_eq!(
        run_for(Duration::from_secs(60), stops, || 0, |context| busy(100, false).run(context, &mut [])),
        Ended::Stopped
    );
    assert!(checks.get() > 1_000_000, "it checks for a stop all the time, also within a piece");
}

#[test]
fn a_busy_worker_ends_with_the_last_worker_that_does_io() {
    let mut worker = busy(50, false);
    (worker.busy.ends_with_others, worker.workers) = (true, 3);
    let done = Cell::new(0);
    let one_more = || {
        done.set(done.get() + 1);
        done.get()
    };
    assert_eq!(
        run_for(Duration::from_secs(60), || false, one_more, |context| worker.run(context, &mut [])),
        Ended::Done
    );
    assert_eq!(done.get(), 3);
}

fn program(program: &str, arguments: &str, output: &Path) -> ExecCompanion {
    let (program, arguments) = (program.to_owned(), arguments.to_owned());
    let exec = Exec { program, arguments, grace: Nanos(60_000 * MS), keeps_output: true };
    ExecCompanion { exec, name: output.display().to_string() }
}

fn run(worker: &ExecCompanion, stops: impl Fn() -> bool) -> Result<Ended, exec::ExecFault> {
    let mut command = worker.command().unwrap();
    run_for(Duration::from_secs(60), stops, || 0, |context| worker.run(context, &mut command))
}

#[test]
fn a_program_runs_with_its_arguments_and_its_output_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let worker = program("sh", r#"-c 'echo "$1"; echo two >&2' sh "a b"  "#, &dir.path().join("job"));
    assert_eq!(run(&worker, || false).unwrap(), Ended::Done);
    let kept = |stream: &str| std::fs::read_to_string(dir.path().join(format!("job.{stream}"))).unwrap();
    assert_eq!((kept("stdout").as_str(), kept("stderr").as_str()), ("a b\n", "two\n"));
}

#[test]
fn a_failing_or_missing_program_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("job");
    let failed = run(&program("sh", "-c 'exit 3'", &output), || false).unwrap_err();
    assert_eq!(failed.message, "the program ended with status 3");
    let killed = run(&program("sh", "-c 'kill -9 $$'", &output), || false).unwrap_err();
    assert_eq!(killed.message, "the program was killed by signal 9");
    let missing = run(&program("/there/is/no/such/program", "", &output), || false).unwrap_err();
    assert_eq!(missing.errno, Some(libc::ENOENT));
    let unclosed = program("sh", "-c 'exit", &output).command().unwrap_err();
    assert!(unclosed.to_string().contains("an unclosed quote"), "{unclosed}");
}

#[test]
fn stopping_a_program_with_its_phase_is_not_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("job");
    // The script prints when it is ready for the signal, and when it received it.
    let script = r#"-c 'trap "echo asked; exit 7" TERM; echo ready; while :; do sleep 0.01; done'"#;
    let worker = program("sh", script, &output);
    let output = || std::fs::read_to_string(dir.path().join("job.stdout")).unwrap_or_default();
    assert_eq!(run(&worker, || output().contains("ready")).unwrap(), Ended::Stopped);
    assert_eq!(output(), "ready\nasked\n");
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("job");
    let script = r#"-c 'trap "" TERM; sleep 1000 & echo $!; wait; while :; do sleep 1000; done'"#;
    let mut worker = program("sh", script, &output);
    worker.exec.grace = Nanos(30 * MS);
    let output = || std::fs::read_to_string(dir.path().join("job.stdout")).unwrap_or_default();
    assert_eq!(run(&worker, || output().ends_with('\n')).unwrap(), Ended::Stopped);
    let child: i32 = output().trim().parse().unwrap();
    let began = Instant::now();
    // A zombie is dead too: its new parent may not have reaped it yet.
    let lives = || std::fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|stat| !stat.contains(") Z"));
    while lives() {
        assert!(began.elapsed() < Duration::from_secs(30), "process {child} still exists");
        std::thread::sleep(Duration::from_millis(5));
    }
}
