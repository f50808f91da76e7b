//! Measured periods: the ramp, the series of seconds, ops in flight, the steady state.

use super::common::*;
use plumb_workload::OpKind;

const SECOND_NS: u64 = 1_000_000_000;

fn null(phase: &str, workers: &str) -> String {
    format!(
        "name = \"series\"\n[target.nothing.null]\nsize = \"1GiB\"\n[[phase]]\nname = \"only\"\n{phase}\n[[phase.workers]]\ntarget = \"nothing\"\nwork.blocks.pattern = \"random\"\n{workers}"
    )
}

#[test]
fn ops_of_the_ramp_run_and_are_not_measured() {
    let place = Place::new();
    for run_as in ["thread", "process"] {
        let mut spy = Spy::default();
        let text =
            null("ramp = \"1s\"\nstop.time = \"1s\"", &format!("run-as = \"{run_as}\"\npace.open.rate = \"100/s\""));
        let phase = place.watch(&text, &mut spy).phases.remove(0);
        consistent(&phase);
        let read = &phase.ops[&OpKind::Read];
        assert_eq!(read.response.as_ref().map(|response| response.count()), Some(read.count), "{run_as}");
        let lag = phase.start_lag.as_ref().unwrap();
        assert_eq!(lag.count(), read.count, "{run_as}");
        // One op is due every 10 ms; an op due in the ramp counts only if it started late, after the ramp.
        let due = (phase.wall_ns + lag.max().unwrap()).div_ceil(SECOND_NS / 100) + 1;
        assert!((1..=due).contains(&phase.count()), "{run_as}: {} of the 200 starts, {due} due", phase.count());
        assert_eq!(spy.log, ["ready", "begins only", "clock only", "stopped only"]);
        assert!(phase.wall_ns < 2 * SECOND_NS, "{run_as}: the ramp is excluded: {}", phase.wall_ns);
    }
}

#[test]
fn a_phase_that_ends_in_its_ramp_has_measured_nothing() {
    let place = Place::new();
    let mut spy = Spy::default();
    let phase = place.watch(&null("ramp = \"1s\"\nstop.time = \"1s\"", "limit.ops = 100"), &mut spy).phases.remove(0);
    assert_eq!((phase.count(), phase.bytes(), phase.wall_ns), (0, 0, 0));
    assert_eq!(phase.workers[0].count, 0);
    assert_eq!((phase.start_lag, phase.in_flight_mean), (None, 0.0));
}

#[test]
fn limits_of_the_phase_count_from_the_end_of_the_ramp() {
    let place = Place::new();
    let phase = place.phase(&null("ramp = \"300ms\"\nstop = { time = \"1m\", ops = 500 }", "count = 2"));
    consistent(&phase);
    // A few ops fall between the reading that ends the ramp and the limit that begins with it.
    assert!(phase.count() >= 500, "{}", phase.count());
    assert!(phase.workers.iter().all(|worker| worker.ended_by.is_none()));
}

#[test]
fn errors_in_the_ramp_are_counted() {
    let place = Place::new();
    let mut spy = Spy::at_begin(|_, targets| {
        tree_files(targets[0].path).iter().for_each(|path| std::fs::remove_file(path).unwrap());
    });
    let measurement = place.watch(
        r#"
        name = "ramp-error"
        [target.set.tree]
        path = "set"
        files = 10
        size = "4KiB"
        preallocated-percent = 100
        [[phase]]
        name = "only"
        ramp = "1s"
        stop.time = "1s"
        [[phase.workers]]
        target = "set"
        work.flow.steps = ["stat"]
        "#,
        &mut spy,
    );
    let phase = &measurement.phases[0];
    assert_eq!((phase.fault_count, phase.faults.len(), phase.count()), (1, 1, 0));
    assert_eq!(phase.faults[0].errno, Some(libc::ENOENT));
}

fn delayed(run_as: &str) -> String {
    format!(
        r#"
        name = "gaps"
        [target.set.tree]
        path = "set"
        files = 10
        size = "4KiB"
        preallocated-percent = 100
        [[phase]]
        name = "only"
        [[phase.workers]]
        target = "set"
        run-as = "{run_as}"
        limit.passes = 2
        work.flow = {{ count-transactions = true, steps = ["stat", {{ delay = {{ time = "2500ms" }} }}] }}
        "#
    )
}

#[test]
fn a_second_without_ops_is_listed_with_zeros() {
    let place = Place::new();
    let mut spy = Spy::default();
    let phase = place.watch(&delayed("process"), &mut spy).phases.remove(0);
    consistent(&phase);
    assert_eq!(
        (count(&phase, OpKind::Stat), phase.count(), phase.transactions),
        (2, 2, Some(2)),
        "a delay does not count as an op"
    );
    assert!(phase.wall_ns >= 5 * SECOND_NS, "delays take time");
    assert!(phase.intervals.len() >= 5);
    let empty = |interval: &&plumb_result::Interval| interval.ops.values().all(|counts| counts.count == 0);
    let empties: Vec<_> = phase.intervals.iter().filter(empty).collect();
    assert!(empties.len() >= 2, "{:?}", phase.intervals);
    assert!(empties.iter().any(|interval| interval.length_ns == SECOND_NS));
    assert_eq!(spy.intervals.len(), phase.intervals.iter().filter(|interval| interval.length_ns == SECOND_NS).count());
    assert_eq!(spy.intervals[0].elapsed_ns, SECOND_NS);
    let covered: u64 = phase.intervals.iter().map(|interval| interval.length_ns).sum();
    assert!(covered >= phase.workers[0].wall_ns, "the series covers the phase");
}

#[test]
fn ops_in_flight_are_as_many_as_asked_for() {
    let place = Place::new();
    for (workers, depth) in [
        ("backend = \"psync\"", 1.0),
        ("backend = \"psync\"\ncount = 4", 4.0),
        ("backend = \"io-uring\"\ndepth = 8", 8.0),
        ("backend = \"io-uring\"\ndepth = 8\nbatch.submit = 1", 8.0),
        ("backend = \"io-uring\"\ndepth = 8\nbatch = { submit = 4, complete = 4 }", 8.0),
        ("backend = \"io-uring\"\ndepth = 4\ncount = 2\nrun-as = \"process\"", 8.0),
    ] {
        let phase = place.phase(&format!(
            r#"
            name = "in-flight"
            [target.data.file]
            path = "data"
            size = "64MiB"
            [[phase]]
            name = "only"
            cache = "direct"
            stop.time = "1s"
            [[phase.workers]]
            target = "data"
            work.blocks.pattern = "random"
            {workers}
            "#
        ));
        consistent(&phase);
        let mean = phase.in_flight_mean;
        assert!((0.5 * depth..=1.05 * depth).contains(&mean), "{workers}: {mean} in flight");
        let each = depth / phase.workers.len() as f64;
        for worker in &phase.workers {
            assert_eq!(f64::from(worker.depth_asked), each);
            assert!((0.4 * each..=1.05 * each).contains(&worker.in_flight_mean), "{workers}: {worker:?}");
        }
    }
}

#[test]
fn a_steady_load_ends_a_phase_that_waits_for_it() {
    let place = Place::new();
    let steady = "stop.steady = { round = \"1s\", window = 3, range = 0.5, slope = 0.5, max-rounds = 10 }";
    let phase = place.phase(&null(steady, "pace.open.rate = \"1000/s\""));
    consistent(&phase);
    assert_eq!(phase.steady, Some(true));
    assert!(phase.wall_ns >= 3 * SECOND_NS, "a window is three rounds");
}
