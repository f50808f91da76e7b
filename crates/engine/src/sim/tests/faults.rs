//! Every fault has its effect, and a probe detects it in the same place as on a real machine.

use super::*;
use plumb_result::observe::{DeviceCounters, OwnIo};

/// Returns the throughputs of 30 runs of 300 reads.
fn run_thirty_times(device: &str) -> Vec<f64> {
    let limit = Limit { ops: Some(300), ..Limit::default() };
    (0..30)
        .map(|index| {
            let workers = vec![SimWorker { limit, ..worker(TestSource::random(4096), 1) }];
            rate(&simulate(device, index, &phase(3600), workers).measurement)
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn cv(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt() / mean
}

/// Change of the device's counters, and of Plumb's own, during a phase.
struct Delta {
    read_bytes: u64,
    write_bytes: u64,
    flushes: u64,
    busy_ms: u64,
    weighted_ms: u64,
    own: OwnIo,
}

fn delta(observations: &PhaseObservations) -> Delta {
    let device =
        |counters: &plumb_result::observe::Counters| -> DeviceCounters { *counters.devices["sim0"].value().unwrap() };
    let (before, after) = (device(&observations.before), device(&observations.after));
    Delta {
        read_bytes: after.read_bytes - before.read_bytes,
        write_bytes: after.write_bytes - before.write_bytes,
        flushes: after.flushes.unwrap() - before.flushes.unwrap(),
        busy_ms: after.busy_ms - before.busy_ms,
        weighted_ms: after.weighted_ms - before.weighted_ms,
        own: *observations.after.own.value().unwrap(),
    }
}

fn one(device: &str, cache: CachePolicy, source: TestSource) -> SimPhaseOutcome {
    simulate(device, 0, &Phase { cache, ..phase(10) }, vec![worker(source, 1)])
}

#[test]
fn a_healthy_device_moves_exactly_what_the_program_moves() {
    let source = TestSource { write_share: 0.5, ..TestSource::random(4096) };
    let SimPhaseOutcome { measurement, observations, .. } = one("sim:ssd", CachePolicy::Cold, source);
    let seen = delta(&observations);
    assert_eq!(seen.read_bytes, measurement.ops[&OpKind::Read].bytes);
    assert_eq!(seen.write_bytes, measurement.ops[&OpKind::Write].bytes);
    assert_eq!((seen.own.read_bytes, seen.own.write_bytes), (seen.read_bytes, seen.write_bytes));
    assert_eq!(seen.own.rchar_bytes + seen.own.wchar_bytes, measurement.bytes());
    assert_eq!(seen.flushes, 1, "the flush of the end policy");
    assert_eq!(observations.resident_before["disk"].value().unwrap().resident_bytes, 0);
    assert_eq!(observations.dirty_after["disk"].value().unwrap().dirty_bytes, 0);
    assert_eq!(observations.other_io.value().unwrap(), &[]);
    assert_eq!(observations.kernel_log.value().unwrap(), &[] as &[String]);
    assert!(seen.busy_ms.abs_diff(measurement.wall_ns / 1_000_000) < 10, "the device is always busy");
    assert_eq!((measurement.fault_count, measurement.short_count), (0, 0));
}

#[test]
fn weighted_time_shows_the_depth() {
    let outcome = simulate("sim:ssd", 0, &phase(2), vec![worker(TestSource::random(4096), 8)]);
    let seen = delta(&outcome.observations);
    let depth = seen.weighted_ms as f64 / 2_000.0;
    assert!((depth - 8.0).abs() < 0.1, "{depth}");
    assert!((outcome.measurement.in_flight_mean - 8.0).abs() < 0.1);
}

#[test]
fn slow_lowers_the_mean_by_its_share() {
    let ratio = mean(&run_thirty_times("sim:ssd?slow=5%")) / mean(&run_thirty_times("sim:ssd"));
    assert!((ratio - 1.0 / 1.05).abs() < 0.003, "{ratio}");
}

#[test]
fn cv_spreads_runs_and_keeps_their_mean() {
    let (calm, spread) = (run_thirty_times("sim:ssd?cv=0"), run_thirty_times("sim:ssd?cv=10%"));
    assert!(cv(&calm) < 0.012, "only jitter: {}", cv(&calm));
    assert!((0.06..0.15).contains(&cv(&spread)), "{}", cv(&spread));
    assert!((mean(&spread) / mean(&calm) - 1.0).abs() < 0.06);
}

#[test]
fn drift_slows_each_run_a_little_more() {
    let runs = run_thirty_times("sim:ssd?cv=0&drift=2%");
    let ratio = runs[29] / runs[0];
    assert!((ratio - 1.02f64.powi(-29)).abs() < 0.02, "{ratio}");
}

#[test]
fn a_debt_slows_the_following_runs_but_not_its_own() {
    let owing = |device: &str, share: f64| {
        let (target, debt) = (target(device), CarriedDebt::of_share(share).unwrap());
        let mut simulation = Simulation::new([("disk", &target)], run(0)).owing(debt);
        let workers = vec![worker(TestSource::random(4096), 1)];
        let outcome = simulation.run_phase(&phase(1), workers, None, &mut |_| ControlFlow::Continue(()));
        rate(&outcome.unwrap().measurement)
    };
    let (clean, leaves) = ("sim:ssd?cv=0", "sim:ssd?cv=0&carry=10%");
    let ratio = owing(clean, 0.1) / owing(clean, 0.0);
    assert!((ratio - 1.0 / 1.1).abs() < 0.002, "{ratio}");
    assert_eq!(owing(leaves, 0.0), owing(clean, 0.0));
}

#[test]
fn bimodal_has_two_levels_and_the_configured_share_of_slow_runs() {
    let runs = run_thirty_times("sim:ssd?cv=0&bimodal=30%&bimodal-slow=50%");
    let fast = runs.iter().cloned().fold(0.0, f64::max);
    let slow = runs.iter().filter(|&&rate| rate < fast * 0.75).count();
    assert!((3..=16).contains(&slow), "{slow} of 30");
    assert!(runs.iter().all(|rate| !(0.72..0.95).contains(&(rate / fast))), "no run is in between: {runs:?}");
}

#[test]
fn plots_differ_and_runs_of_one_plot_do_not() {
    let target = target("sim:ssd?cv=0&plot=20%");
    let of = |plot_index, run_index| {
        let mut simulation = Simulation::new([("disk", &target)], SimRun { seed: 42, run_index, plot_index });
        let workers = vec![worker(TestSource::random(4096), 1)];
        let outcome = simulation.run_phase(&phase(1), workers, None, &mut |_| ControlFlow::Continue(()));
        rate(&outcome.unwrap().measurement)
    };
    assert!((of(0, 0) / of(0, 1) - 1.0).abs() < 0.02);
    let plots: Vec<f64> = (0..12).map(|plot| of(plot, 0)).collect();
    assert!((0.1..0.35).contains(&cv(&plots)), "{}", cv(&plots));
}

#[test]
fn a_neighbor_takes_its_share_and_is_observed() {
    let healthy = one("sim:ssd?cv=0", CachePolicy::Direct, TestSource::sequential(1 << 20));
    let shared = one("sim:ssd?cv=0&background=20%", CachePolicy::Direct, TestSource::sequential(1 << 20));
    let ratio = bandwidth(&shared.measurement) / bandwidth(&healthy.measurement);
    assert!((ratio - 0.8).abs() < 0.01, "{ratio}");
    let seen = delta(&shared.observations);
    let others = seen.read_bytes + seen.write_bytes - seen.own.read_bytes - seen.own.write_bytes;
    let share = others as f64 / (seen.read_bytes + seen.write_bytes) as f64;
    assert!((0.15..0.35).contains(&share), "{share}");
    let processes = shared.observations.other_io.value().unwrap();
    assert_eq!(processes.len(), 1);
    assert_eq!(processes[0].command, "neighbour");
    assert!((processes[0].read_bytes + processes[0].write_bytes).abs_diff(others) < 1 << 20);
}

#[test]
fn a_resync_shows_in_the_counters_and_in_the_stack() {
    let outcome = one("sim:hdd?resync=30%", CachePolicy::Direct, TestSource::sequential(1 << 20));
    assert_eq!(outcome.observations.other_io.value().unwrap()[0].command, "sim0_resync");
    let seen = delta(&outcome.observations);
    assert!(seen.read_bytes > seen.own.read_bytes * 11 / 10);
    let facts = target_facts(0, &target("sim:hdd?resync=30%"));
    assert_eq!(facts.stack[0].settings["sync_action"], "resync");
    assert!(!target_facts(0, &target("sim:hdd")).stack[0].settings.contains_key("sync_action"));
}

#[test]
fn throttling_begins_after_the_busy_time_and_shows_in_the_series() {
    let hot = measure("sim:ssd?cv=0&throttle=4s&throttle-slow=100%", 10, TestSource::random(4096), 1);
    let counts: Vec<u64> = hot.intervals.iter().map(|interval| interval.ops[&OpKind::Read].count).collect();
    assert!(counts[..4].iter().all(|&count| count > 11_500), "{counts:?}");
    assert!(counts[4..10].iter().all(|&count| count < 6_600), "{counts:?}");
}

#[test]
fn cached_reads_are_fast_and_do_not_reach_the_device() {
    let outcome = one("sim:ssd?cached=60%", CachePolicy::Cold, TestSource::random(4096));
    let seen = delta(&outcome.observations);
    let share = 1.0 - seen.read_bytes as f64 / outcome.measurement.bytes() as f64;
    assert!((share - 0.6).abs() < 0.02, "{share}");
    assert_eq!(seen.own.read_bytes, seen.read_bytes);
    assert_eq!(seen.own.rchar_bytes, outcome.measurement.bytes());
    assert!(service(&outcome.measurement, OpKind::Read).quantile(0.5) < Some(3_000));
    let resident = outcome.observations.resident_before["disk"].value().unwrap();
    assert!(resident.resident_bytes * 2 > resident.total_bytes, "the failed eviction is visible");
}

#[test]
fn direct_bypasses_the_page_cache_and_warm_never_leaves_it() {
    let direct = one("sim:ssd?cached=60%&write-cache=1GiB", CachePolicy::Direct, TestSource::random(4096));
    assert_eq!(delta(&direct.observations).read_bytes, direct.measurement.bytes());
    let warm = one("sim:ssd", CachePolicy::Warm, TestSource::random(4096));
    assert_eq!(delta(&warm.observations).read_bytes, 0);
    let resident = warm.observations.resident_before["disk"].value().unwrap();
    assert_eq!(resident.resident_bytes, resident.total_bytes);
}

/// Writes a burst of 64 MiB under an end policy.
fn burst(device: &str, flush: plumb_workload::Flush) -> SimPhaseOutcome {
    let limit = Limit { bytes: Some(Bytes(64 << 20)), ..Limit::default() };
    let end = plumb_workload::End { flush, ..Default::default() };
    let phase = Phase { cache: CachePolicy::AsIs, end, ..phase(60) };
    simulate(device, 0, &phase, vec![SimWorker { limit, ..worker(TestSource::sequential(1 << 16).writing(), 1) }])
}

#[test]
fn the_page_cache_absorbs_writes_until_a_flush() {
    use plumb_workload::Flush;
    let unflushed = burst("sim:ssd?write-cache=256MiB", Flush::None);
    assert!(bandwidth(&unflushed.measurement) > 2e9, "memory speed");
    assert_eq!(delta(&unflushed.observations).write_bytes, 0);
    assert_eq!(
        delta(&unflushed.observations).own.write_bytes,
        64 << 20,
        "dirtied bytes, which may not have been written"
    );
    assert_eq!(unflushed.observations.dirty_after["disk"].value().unwrap().dirty_bytes, 64 << 20);
    assert_eq!(unflushed.measurement.end.flush_ns, None);

    let flushed = burst("sim:ssd?write-cache=256MiB", Flush::Fsync);
    assert!(bandwidth(&flushed.measurement) < 551e6, "device speed: {}", bandwidth(&flushed.measurement));
    assert_eq!(delta(&flushed.observations).write_bytes, 64 << 20);
    assert_eq!(delta(&flushed.observations).own.write_bytes, 64 << 20, "counted once");
    assert_eq!(flushed.observations.dirty_after["disk"].value().unwrap().dirty_bytes, 0);
}

#[test]
fn a_full_page_cache_writes_at_the_devices_speed() {
    let source = TestSource::sequential(1 << 20).writing();
    let outcome = one("sim:ssd?write-cache=256MiB&cv=0", CachePolicy::AsIs, source);
    let seconds: Vec<u64> = outcome.measurement.intervals.iter().map(|i| i.ops[&OpKind::Write].bytes).collect();
    assert!(seconds[0] > 700_000_000, "{seconds:?}");
    assert!(seconds[5] < 551_000_000, "{seconds:?}");
}

#[test]
fn a_flush_outside_the_clock_is_measured_but_not_counted() {
    let limit = Limit { bytes: Some(Bytes(64 << 20)), ..Limit::default() };
    let end = plumb_workload::End { clock: plumb_workload::ClockScope::Outside, ..Default::default() };
    let phase = Phase { cache: CachePolicy::AsIs, end, ..phase(60) };
    let workers = vec![SimWorker { limit, ..worker(TestSource::sequential(1 << 16).writing(), 1) }];
    let outcome = simulate("sim:ssd?write-cache=256MiB", 0, &phase, workers);
    assert!(outcome.measurement.end.flush_ns > Some(100_000_000));
    assert!(bandwidth(&outcome.measurement) > 2e9);
    assert_eq!(outcome.observations.dirty_after["disk"].value().unwrap().dirty_bytes, 64 << 20);
}

#[test]
fn a_lying_flush_returns_at_once_and_writes_nothing() {
    let source = || TestSource { fsync_every: 4, ..TestSource::random(4096).writing() };
    let lying = one("sim:ssd?lying-flush", CachePolicy::Direct, source());
    assert!(service(&lying.measurement, OpKind::Fsync).quantile(0.5) < Some(20_000));
    assert_eq!(delta(&lying.observations).flushes, 0);
    let honest = one("sim:ssd", CachePolicy::Direct, source());
    assert!(service(&honest.measurement, OpKind::Fsync).quantile(0.5) > Some(300_000));
    let flushes = honest.measurement.ops[&OpKind::Fsync].count;
    assert!(delta(&honest.observations).flushes.abs_diff(flushes) <= 1, "plus the flush of the end policy");
    let dirty = burst("sim:ssd?lying-flush&write-cache=256MiB", plumb_workload::Flush::Fsync);
    assert_eq!(dirty.observations.dirty_after["disk"].value().unwrap().dirty_bytes, 64 << 20);
}

#[test]
fn errors_are_counted_partly_kept_and_logged_by_the_kernel() {
    let outcome = one("sim:ssd?errors=1%", CachePolicy::Direct, TestSource::random(4096));
    let measurement = &outcome.measurement;
    let share = measurement.fault_count as f64 / (measurement.count() + measurement.fault_count) as f64;
    assert!((share - 0.01).abs() < 0.002, "{share}");
    assert_eq!(measurement.faults.len(), plumb_result::Fault::KEPT);
    assert_eq!(measurement.faults[0].errno, Some(libc::EIO));
    assert!(outcome.observations.kernel_log.value().unwrap()[0].contains("I/O error, dev sim0"));
    assert_eq!(delta(&outcome.observations).read_bytes, measurement.bytes(), "a failed read moves nothing");
}

#[test]
fn an_error_ends_the_phase_if_the_worker_is_configured_so() {
    let stopping = SimWorker { on_error: OnError::Stop, ..worker(TestSource::random(4096), 4) };
    let outcome = simulate("sim:ssd?errors=1%", 0, &phase(10), vec![stopping]);
    assert!(outcome.measurement.wall_ns < SECOND);
    let ended_by = outcome.measurement.workers[0].ended_by.as_deref().unwrap();
    assert!(ended_by.starts_with("read of disk at byte "), "{ended_by}");
}

#[test]
fn short_reads_return_half() {
    let outcome = one("sim:ssd?short=10%", CachePolicy::Direct, TestSource::random(4096));
    let (ops, bytes) = (outcome.measurement.count(), outcome.measurement.bytes());
    assert_eq!(bytes, (ops - outcome.measurement.short_count) * 4096 + outcome.measurement.short_count * 2048);
    assert!((outcome.measurement.short_count as f64 / ops as f64 - 0.1).abs() < 0.01);
}

#[test]
fn a_stall_is_one_op_and_empty_seconds() {
    let stalled = measure("sim:ssd?stall=3s", 10, TestSource::random(4096), 1);
    let reads = service(&stalled, OpKind::Read);
    assert!(reads.max() >= Some(3 * SECOND));
    assert!(reads.quantile(0.999) < Some(1_000_000), "only one");
    assert_eq!(stalled.intervals.iter().filter(|interval| interval.ops[&OpKind::Read].count == 0).count(), 2);
}

#[test]
fn a_stall_shows_in_response_times_of_an_open_load_and_not_in_service_times() {
    use plumb_workload::{Arrival, PerSecond};
    for arrival in [Arrival::Fixed, Arrival::Poisson] {
        let pace = Pace::open(PerSecond(2_000.0), arrival, false);
        let workers = vec![SimWorker { pace, ..worker(TestSource::random(4096), 1) }];
        let outcome = simulate("sim:ssd?stall=1s", 0, &phase(10), workers);
        let reads = &outcome.measurement.ops[&OpKind::Read];
        let response = reads.response.as_ref().unwrap();
        assert!(reads.service.quantile(0.99) < Some(200_000), "the service time omits the wait");
        assert!(response.quantile(0.99) > Some(500 * 1_000_000), "the response time does not");
        assert_eq!(response.count(), reads.service.count());
        assert!(response.sum() >= reads.service.sum());
        assert!(outcome.measurement.start_lag.as_ref().unwrap().max() > Some(900 * 1_000_000));
    }
}
