//! Open loads keep their schedule: no op starts before its time on any machine, and late ones are detected.

use super::common::*;
use super::jobs::assert_no_faults;
use plumb_engine::rng::{Purpose, StreamId};
use plumb_engine::{LoggedOp, Observer};
use plumb_result::PhaseMeasurement;
use plumb_workload::OpKind;

fn text(phase: &str, workers: &str) -> String {
    format!(
        r#"
        name = "paced"
        [target.data.file]
        path = "data"
        size = "1MiB"
        [[phase]]
        name = "only"
        {phase}
        [[phase.workers]]
        target = "data"
        work.blocks.pattern = "random"
        {workers}
        "#
    )
}

const MANNERS: &[&str] =
    &["", "depth = 4", "run-as = \"process\"", "depth = 4\nrun-as = \"process\"", "backend = \"mmap\""];

/// Checks that response times, which start at the intended start, include service time and lag.
fn has_response(phase: &PhaseMeasurement, manner: &str) {
    consistent(phase);
    let read = &phase.ops[&OpKind::Read];
    let response = read.response.as_ref().expect("an open load has response times");
    let lag = phase.start_lag.as_ref().expect("an open load has a start lag");
    assert_eq!((response.count(), lag.count()), (read.count, read.count), "{manner}");
    assert!(response.sum() >= read.service.sum(), "{manner}: the response time includes the service time");
    assert!(response.min() >= read.service.min() && response.max() >= read.service.max(), "{manner}");
    assert!(response.sum() >= lag.sum(), "{manner}: the response time includes the lag");
}

#[test]
fn a_fixed_rate_is_never_exceeded() {
    let place = Place::new();
    for manner in MANNERS {
        let phase = place.phase(&text("stop.time = \"500ms\"", &format!("{manner}\npace.open.rate = \"400/s\"")));
        has_response(&phase, manner);
        // Starts at 0, 2.5 ms … 497.5 ms.
        assert!((1..=200).contains(&phase.count()), "{manner}: {} ops", phase.count());
    }
}

#[test]
fn ops_are_not_ahead_of_their_schedule_at_any_depth() {
    let place = Place::new();
    for manner in MANNERS {
        let phase = place.phase(&text("", &format!("{manner}\npace.open.rate = \"200/s\"\nlimit.ops = 60")));
        has_response(&phase, manner);
        assert_eq!(phase.count(), 60, "{manner}");
        assert!(phase.wall_ns >= 295_000_000, "{manner}: the last op starts at 295 ms");
    }
}

#[test]
fn a_shared_rate_is_the_groups_and_an_own_rate_is_each_workers() {
    let place = Place::new();
    for manner in MANNERS {
        let paced = |pace: &str, stop: &str| place.phase(&text(stop, &format!("{manner}\ncount = 4\n{pace}")));
        let shared = paced("pace.open = { rate = \"200/s\", shared = true }", "stop.time = \"500ms\"");
        has_response(&shared, manner);
        assert!(shared.count() <= 100, "{manner}: {} ops in total", shared.count());
        let shared = paced("pace.open = { rate = \"200/s\", shared = true }", "stop.ops = 60");
        assert_eq!(shared.count(), 60, "{manner}");
        // Each of the other three workers may hold a start that it never uses.
        assert!(shared.wall_ns >= 295_000_000, "{manner}: {} ns", shared.wall_ns);

        let own = paced("pace.open.rate = \"200/s\"", "stop.time = \"500ms\"");
        has_response(&own, manner);
        assert!(own.workers.iter().all(|worker| worker.count <= 100), "{manner}: {:?}", own.workers);
    }
}

/// Returns the number of starts of a worker's Poisson process before the end, computed from the seed.
fn poisson_starts(seed: u64, worker: u32, rate: f64, end_ns: f64) -> u64 {
    let mut rng = StreamId { seed, phase: 0, worker }.rng(Purpose::Arrival);
    let mut at = 0.0;
    let mut starts = 0;
    loop {
        at += rng.exponential() * 1e9 / rate;
        // A tick is not exactly a nanosecond.
        if at > end_ns + 1e4 {
            return starts;
        }
        starts += 1;
    }
}

#[test]
fn poisson_arrivals_match_the_seed() {
    let place = Place::new();
    for manner in MANNERS {
        let phase = place.phase(&text(
            "stop.time = \"500ms\"",
            &format!("{manner}\npace.open = {{ rate = \"400/s\", arrival = \"poisson\" }}"),
        ));
        has_response(&phase, manner);
        let most = poisson_starts(42, 0, 400.0, 5e8);
        assert!((1..=most).contains(&phase.count()), "{manner}: {} of {most}", phase.count());

        let phase = place.phase(&text(
            "stop.time = \"500ms\"",
            &format!("{manner}\ncount = 2\npace.open = {{ rate = \"400/s\", arrival = \"poisson\", shared = true }}"),
        ));
        has_response(&phase, manner);
        for (number, worker) in (0..).zip(&phase.workers) {
            // Two processes of half the rate each are one of the whole rate.
            assert!(worker.count <= poisson_starts(42, number, 200.0, 5e8), "{manner}: {worker:?}");
        }
    }
}

#[test]
fn think_time_is_not_an_open_load() {
    let place = Place::new();
    for manner in MANNERS {
        let phase =
            place.phase(&text("", &format!("{manner}\npace.think = {{ time = \"20ms\", every = 5 }}\nlimit.ops = 21")));
        consistent(&phase);
        assert_eq!(phase.count(), 21, "{manner}");
        assert!(phase.wall_ns >= 80_000_000, "{manner}: four pauses");
        assert_eq!(phase.start_lag, None, "{manner}");
        assert_eq!(phase.ops[&OpKind::Read].response, None, "{manner}");
    }
}

#[test]
fn a_worker_that_has_done_enough_does_not_wait_for_a_start_it_will_not_use() {
    let place = Place::new();
    for manner in MANNERS {
        for limit in ["limit.ops = 1", "limit.passes = 1\nwork.blocks.block = \"1MiB\""] {
            // The next start would be in 100 s.
            let phase = place.phase(&text("", &format!("{manner}\npace.open.rate = \"0.01/s\"\n{limit}")));
            assert_eq!(phase.count(), 1, "{manner} {limit}");
            assert!(phase.wall_ns < 50_000_000_000, "{manner} {limit}");
            let phase = place.phase(&text("", &format!("{manner}\npace.think.time = \"100s\"\n{limit}")));
            assert_eq!(phase.count(), 1, "{manner} {limit}");
            assert!(phase.wall_ns < 50_000_000_000, "{manner} {limit}");
        }
    }
}

#[test]
fn a_flow_is_paced_op_by_op() {
    let place = Place::new();
    let phase = place.phase(
        r#"
        name = "paced-flow"
        [target.set.tree]
        path = "set"
        files = 50
        size = "4KiB"
        preallocated-percent = 100
        [[phase]]
        name = "only"
        stop.time = "500ms"
        [[phase.workers]]
        target = "set"
        count = 2
        pace.open = { rate = "200/s", shared = true }
        work.flow.steps = ["stat"]
        "#,
    );
    consistent(&phase);
    assert!((1..=100).contains(&phase.count()), "{}", phase.count());
    assert!(phase.ops[&OpKind::Stat].response.is_some());
}

/// Returns a job on a null target, with more settings for its group, stream and job.
fn paced_job(group: &str, stream: &str, job: &str) -> String {
    use super::jobs::{JobText, on_target};
    on_target("[target.data.null]\nsize = \"1GiB\"", &[JobText::with("job", stream, job).group(group)])
}

// Protects: each kind of a mix keeps its own rate, regardless of its share of the draws.
#[test]
fn the_rates_of_a_mix_take_precedence_over_it() {
    for group in ["", "\ndepth = 4"] {
        let group = format!("limit.time = \"600ms\"{group}");
        let stream = "read-percent = 50\nrepeat-until-time = true\norder = { random = {} }";
        let text = paced_job(&group, stream, "pace.ops-per-second = { read = 1000, write = 250 }");
        let phase = Place::new().phase(&text);
        assert_no_faults(&phase);
        let (reads, writes) = (count(&phase, OpKind::Read), count(&phase, OpKind::Write));
        // Never ahead of its rate. On a busy machine it may be behind, but then the time is longer too.
        let seconds = phase.workers[0].wall_ns as f64 / 1e9;
        assert!(reads as f64 <= seconds * 1000.0 + 2.0 && writes as f64 <= seconds * 250.0 + 2.0);
        assert!((reads as f64 / writes as f64 - 4.0).abs() < 0.25, "{reads} reads, {writes} writes");
    }
}

/// Keeps the single ops of the only worker.
#[derive(Default)]
struct Logs(Vec<LoggedOp>);

impl Observer for Logs {
    fn op_log(&mut self, _phase: &str, _worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.0.extend(ops);
    }
}

// Protects: the ramp counts toward a job's bytes, and its limit of ops starts at the end of the ramp. Source: fio 3.42.
#[test]
fn a_ramp_uses_up_bytes_and_no_ops() {
    for (stream, group, bytes) in [
        ("max-ops = 150", "", false),
        ("io-bytes = \"600KiB\"\norder = { random = {} }", "", true),
        ("io-bytes = \"600KiB\"\norder = { random = {} }", "\ndepth = 4", true),
        ("ranges = [{ start = \"0\", length = \"600KiB\" }]\nloops = 1", "", true),
    ] {
        let group = format!("ramp = \"100ms\"\nlog-ops = true{group}");
        let stream = format!("read-percent = 100\n{stream}");
        let text = paced_job(&group, &stream, "pace.ops-per-second = { read = 1000 }");
        let mut logs = Logs::default();
        let phase = Place::new().watch(&text, &mut logs).phases.remove(0);
        assert_no_faults(&phase);
        let ops = &logs.0;
        let done = |in_ramp| ops.iter().filter(|op| op.kind == OpKind::Read && op.in_ramp == in_ramp).count() as u64;
        assert!(done(true) > 0, "{stream}");
        assert_eq!(done(false), count(&phase, OpKind::Read), "{stream}");
        assert_eq!(done(false) + if bytes { done(true) } else { 0 }, 150, "{stream}");
    }
}

// Protects: the result of a job with a latency goal is that of the depth found, and excludes the search.
#[test]
fn a_search_for_a_depth_is_excluded_from_the_result() {
    let text = paced_job(
        "depth = 8\nsample = \"20ms\"",
        "read-percent = 100\nrepeat-until-time = true",
        "pace.latency-goal = { latency = \"1h\", window = \"60ms\", percent = 100.0 }",
    );
    let phase = Place::new().phase(&text);
    let job = &phase.workers[0];
    let found = job.depth_search.as_ref().unwrap();
    assert_eq!((found.depth, found.found), (8, true));
    // Four depths were tried before, each for a window; the phase's own time begins after them.
    assert_eq!(job.started_ns, 0);
    assert!(job.wall_ns >= 60_000_000 && job.wall_ns.abs_diff(phase.wall_ns) < 1_000_000, "{phase:?}");
    let in_intervals: u64 = phase.intervals.iter().flat_map(|one| one.ops.values()).map(|ops| ops.count).sum();
    assert!(in_intervals <= job.count, "{in_intervals} of {}", job.count);
    assert_eq!(job.ops[&OpKind::Read].count, job.ops[&OpKind::Read].service.count());
    let sampled: u64 = job.samples.iter().flat_map(|sample| sample.ops.values()).map(|moved| moved.count).sum();
    assert_eq!(sampled, job.count, "the series covers only the last trial");
    assert_eq!(job.samples.first().map(|sample| sample.start_ns), Some(0));
}
